"""A recording saved as Parquet files: read again it gives the same bytes; what is in the way is said in one line."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import duckdb
import numpy as np
import pandas
import polars
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet
import pytest
from arro3.core import Table
from click.testing import CliRunner
from conftest import FIXTURES, Fixture
from test_client_groups import moved, rows

import latpcap as package
from latpcap.capture import TABLES
from latpcap.cli import cli
from latpcap.cli.tables import TABLES as ROW_TABLES
from latpcap.report import FORMATS
from latpcap.scan import ScanOptions
from latpcap.tables.dataset import rows as dataset_rows
from latpcap.tables.dataset import writing
from latpcap.tables.dataset.footer import weighed
from latpcap.work import dataset_parts as parts
from latpcap.work.local import Threads

CORPUS = sorted(path for folder in FIXTURES.iterdir() for path in folder.glob("*.pcapng*"))
if "LATPCAP_WHOLE_CORPUS" not in os.environ:
    CORPUS = CORPUS[::3]
OPTIONS: list[dict[str, Any]] = [{}, {"show_literals": True}, {"pseudonymise": True}]
SEVERAL = "postgresql/several-applications"
"""Two servers."""

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def told(capture: package.Capture) -> str:
    """All of what there is to say of a capture."""
    try:
        parts = [*FORMATS["json"](capture.analyze())]
        parts += [str(getattr(capture, name).to_dicts()) for name in TABLES]
    except package.NoDatabaseTraffic as error:
        return str(error).partition(": ")[2]
    return "".join(part if isinstance(part, str) else part.decode() for part in parts)


@pytest.mark.parametrize("number", range(len(CORPUS)), ids=lambda number: CORPUS[number].name.partition(".")[0])
def test_a_dataset_says_what_its_captures_say(number: int, tmp_path: Path) -> None:
    path, options = CORPUS[number], OPTIONS[number % len(OPTIONS)]
    capture = package.read(path, **options)
    capture.save(tmp_path / "saved")
    saved = told(package.read(tmp_path / "saved"))
    assert saved == told(capture)


@pytest.fixture
def saved(fixture: Callable[[str], Fixture], tmp_path: Path) -> Path:
    """The dataset of a recording with two servers."""
    package.read(fixture(SEVERAL).path).save(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture
def saved_in_parts(fixture: Callable[[str], Fixture], tmp_path: Path) -> Path:
    """The same, written by workers."""
    parts.saved([str(fixture(SEVERAL).path)], ScanOptions(), Threads(1), 3, str(tmp_path / "in-parts"))
    return tmp_path / "in-parts"


def test_it_stays_the_same_where_it_does_not_fit_in_memory(
    saved: Path, fixture: Callable[[str], Fixture], monkeypatch: pytest.MonkeyPatch
) -> None:
    from latpcap.tables.columnar import scratch
    from latpcap.tables.dataset.loading import Dataset

    monkeypatch.setattr(Dataset, "is_large", True)
    monkeypatch.setattr(scratch, "MIN_FILE_BYTES", 1)
    assert told(package.read(saved)) == told(package.read(fixture(SEVERAL).path))


def test_it_stays_the_same_where_it_is_written_piece_by_piece(
    fixture: Callable[[str], Fixture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = package.read(fixture(SEVERAL).path)
    for name, least in (("ROWS_PER_WRITE", 7), ("MAX_TEXT_BYTES", 100)):
        monkeypatch.setattr(dataset_rows, name, least)
    for name, least in (("MIN_BLOCK_ROWS", 5), ("MAX_GROUP_ROWS", 16), ("MAX_GROUP_TEXT_BYTES", 64)):
        monkeypatch.setattr(writing, name, least)
    capture.save(tmp_path / "saved")
    assert told(package.read(tmp_path / "saved")) == told(capture)


def test_files_are_written_together_as_far_as_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MIN_BLOCK_ROWS", 4)
    files = [np.zeros(count, np.int64) for count in (1, 2, 9, 1, 1, 1, 2)]
    found = [(each.start, each.stop) for each in writing._together(files)]
    assert found == [(0, 2), (2, 3), (3, 6), (6, 7)]
    assert [*writing._together([])] == []


def test_a_part_of_it_is_a_part_of_the_captures(saved: Path, fixture: Callable[[str], Fixture]) -> None:
    whole = package.read(fixture(SEVERAL).path)
    for asked in ({"server": ":5433"}, {"start": "+0.2s", "end": "+0.6s"}, {"application": "*", "end": "+0.5s"}):
        assert told(package.read(saved).select(**asked)) == told(whole.select(**asked))


GIVEN = "{}"
SAYS = {
    "analyze": [GIVEN, "--json"],
    "project": [GIVEN, "--rtt", "15ms", "--json"],
    "findings": [GIVEN, "--json"],
    "compare": [GIVEN, GIVEN, "--json"],
    "compare --projected": [GIVEN, GIVEN, "--json"],
    "sql": [GIVEN, "from exchanges", "--json"],
    "scan": [GIVEN, "--totals"],
    **{rows: [GIVEN, "--json"] for rows in ("statements", *(f"table {name}" for name in ROW_TABLES))},
}
"""What each command is asked that takes a capture."""
NEED_PACKETS = {
    "wireshark --verify": ([GIVEN], "is a dataset, which holds no packets"),
    "wireshark -o out.pcapng": ([GIVEN], "is a dataset, which holds no packets"),
    "wireshark": ([GIVEN], "is a dataset, which holds no packets"),
    "watch": ([GIVEN], "is a dataset, which holds no packets"),
}


def test_all_commands_that_take_captures_are_tried_here() -> None:
    context = click.Context(cli)
    takes = {"captures", "capture", "before", "base"}
    commands = {
        name
        for name in cli.list_commands(context)
        if takes & {each.name for each in (cli.get_command(context, name) or cli).params}
    }
    tried = {each.split()[0] for each in (*SAYS, *NEED_PACKETS)}
    assert commands - {"rank", "report"} == tried


@pytest.mark.parametrize("command", SAYS)
def test_commands_take_it_as_they_take_captures(
    command: str, saved_in_parts: Path, fixture: Callable[[str], Fixture]
) -> None:
    path = fixture(SEVERAL).path
    of_captures, of_dataset = (
        CliRunner().invoke(
            cli, [*command.split(), *(each.replace(GIVEN, str(given)) for each in SAYS[command]), "--quiet"]
        )
        for given in (path, saved_in_parts)
    )
    assert (of_captures.exit_code, of_dataset.exit_code) == (0, 0), of_dataset.output
    assert of_dataset.stdout.replace(str(saved_in_parts), str(path)) == of_captures.stdout


@pytest.mark.parametrize("command", NEED_PACKETS)
def test_commands_that_need_packets_say_so(latpcap: Run, command: str, saved: Path, tmp_path: Path) -> None:
    arguments, message = NEED_PACKETS[command]
    refused = latpcap(command, *(each.replace(GIVEN, str(saved)) for each in arguments))
    assert refused.returncode == 2
    assert message in refused.stderr.decode()
    assert refused.stderr.count(b"\n") == 1


def test_rank_and_pages_take_it(latpcap: Run, saved: Path, fixture: Callable[[str], Fixture]) -> None:
    ranked = json.loads(latpcap("rank", str(saved.parent), "--json").stdout)
    assert [row["file"] for row in ranked["rows"]] == [str(saved)]
    pages = [saved.parent / f"{name}.md" for name in ("dataset", "captures")]
    for given, page in zip((saved, fixture(SEVERAL).path), pages, strict=True):
        assert latpcap("analyze", str(given), "-o", str(page)).returncode == 0
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_sql_and_dataframes_read_it(latpcap: Run, saved: Path, fixture: Callable[[str], Fixture]) -> None:
    facts = package.read(fixture(SEVERAL).path).analyze().summary
    files = f"{saved}/exchanges/*/*/*.parquet"
    query = f"select sum(round_trips), count(distinct server) from read_parquet('{files}', hive_partitioning = true)"
    assert duckdb.sql(query).fetchall() == [(facts.round_trips, 2)]
    frame = polars.read_parquet(files, hive_partitioning=True)
    assert frame["round_trips"].sum() == facts.round_trips
    assert sorted(frame["server"].unique()) == ["10.77.0.2:5432", "10.77.0.2:5433"]
    assert str(frame.schema["day"]) == "Date"
    asked = latpcap("sql", str(saved), "select sum(round_trips) as sum from exchanges", "--json")
    assert json.loads(asked.stdout)["rows"] == [{"sum": facts.round_trips}]


def test_pandas_and_pyarrow_read_the_folder(saved_in_parts: Path, fixture: Callable[[str], Fixture]) -> None:
    """Whole, a day and a server each a column."""
    facts = package.read(fixture(SEVERAL).path).analyze().summary
    table = pyarrow.dataset.dataset(saved_in_parts / "exchanges", partitioning="hive").to_table()
    assert pyarrow.compute.sum(table["round_trips"]).as_py() == facts.round_trips
    frame = pandas.read_parquet(saved_in_parts / "exchanges")
    assert frame["round_trips"].sum() == facts.round_trips
    assert sorted(frame["server"].unique()) == ["10.77.0.2:5432", "10.77.0.2:5433"]
    assert len(pandas.read_parquet(saved_in_parts / "connections")) == facts.connections


def test_nothing_secret_is_saved(fixture: Callable[[str], Fixture], tmp_path: Path) -> None:
    """Parameters are numbered, literals are left out, and with pseudonyms no name is in any file."""
    package.read(fixture(SEVERAL).path, pseudonymise=True).save(tmp_path / "saved")
    frame = polars.read_parquet(f"{tmp_path}/saved/exchanges/**/*.parquet")
    assert set(frame["parameters"]) <= set(range(len(frame) + 1))
    names = {user for row in package.read(fixture(SEVERAL).path).connections.to_dicts() if (user := row["user"])}
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert names
    assert not [name for name in ("10.77.0.2", *names) if name.encode() in written]
    assert "10.77.0.2" not in " ".join(map(str, tmp_path.rglob("*")))


def test_parts_that_were_saved_apart_are_read_together(tmp_path: Path) -> None:
    """Each by a worker of its own, with texts and words of its own."""
    names = ("mysql/nplus1-300-client", "postgresql/psycopg2-errors", "mysql/unsorted", "postgresql/psycopg2-cursor10")
    files = [tmp_path / f"{number}.pcapng" for number in range(len(names))]
    for number, path in enumerate(files):
        path.write_bytes(moved(names[number], number))
    folders = [tmp_path / f"part-{number}" for number in range(3)]
    for number, folder in enumerate(folders):
        package.read(files, part=(number, len(folders))).save(folder)
    assert sum(len(package.read(folder).recording.exchanges) > 0 for folder in folders) > 1
    together, whole = package.read(folders), package.read(files)
    assert rows_but_parameters(together) == rows_but_parameters(whole)
    assert together.analyze().budget == whole.analyze().budget
    package.read(files[:1]).save(tmp_path / "another")
    with pytest.raises(package.CaptureError, match="of different captures"):
        package.read([folders[0], tmp_path / "another"]).analyze()


def rows_but_parameters(capture: package.Capture) -> dict[str, list[str]]:
    """The core's rows, with texts in the place of their numbers; each part numbers parameters on its own."""
    tables = capture.recording.core
    at = Table.from_arrow(tables.exchanges()).column_names.index("parameters")
    found = {name: [list(row) for row in each] for name, each in rows(tables).items()}
    for row in found["exchanges"]:
        row[at] = None
    return {name: sorted(map(repr, each)) for name, each in found.items()}


# --- one line ---------------------------------------------------------------------------------------------------------


def test_what_was_read_with_the_captures_cannot_be_asked_of_the_dataset(saved: Path, tmp_path: Path) -> None:
    for options, told_ in (
        ({"decode_as": {5432: "mysql"}}, "its captures are read already: scan them with `decode_as`"),
        ({"link_type": "raw"}, "scan them with `link_type`"),
        ({"show_literals": True}, "holds no literals"),
    ):
        with pytest.raises(package.UsageError, match=told_):
            package.read(saved, **options)
    with pytest.raises(package.UsageError, match="select from the dataset"):
        package.read(saved).select(server=":5433").save(tmp_path / "part")


def change(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: next(folder.glob("exchanges/*/*/*")).unlink(), "is missing from the dataset"),
        (lambda folder: change(next(folder.glob("exchanges/*/*/*")), lambda b: b[:99] + b"?" + b[100:]), "is damaged"),
        (lambda folder: change(next(folder.glob("connections/*/*/*")), lambda bytes_: bytes_[:-9]), "is damaged"),
        (lambda folder: (folder / "dataset.json").unlink(), "is a dataset without its dataset.json"),
        (lambda folder: change(folder / "dataset.json", lambda bytes_: bytes_[:300]), "is not the manifest"),
        (lambda folder: change(folder / "dataset.json", lambda b: b'{"a":' * 10**5), "is not the manifest"),
        (lambda folder: change(folder / "dataset.json", lambda b: b'{"x":' + b"[" * 10**5 + b[1:]), "is not the "
        "manifest"),
        (lambda folder: change(folder / "dataset.json", lambda b: b[:-2] + b',"x":' + b"[" * 10**5), "is not the "
        "manifest"),
        (lambda folder: change(folder / "dataset.json", lambda b: b.replace(b"dataset/4", b"dataset/9")), "reads `"),
        (lambda folder: change(folder / "dataset.json", lambda b: b.replace(b'"captures/', b'"../x/')), "is damaged"),
    ],
)  # fmt: skip
def test_damage_is_told_in_one_line(latpcap: Run, saved: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(saved)
    run = latpcap("analyze", str(saved))
    assert run.returncode == 3
    assert message in run.stderr.decode()
    assert run.stderr.count(b"\n") == 1


def forge(folder: Path, table: str, column: str, value: int | None) -> None:
    """Change the first row of a table, and say in dataset.json that it was written so."""
    manifest = json.loads((folder / "dataset.json").read_text())
    file = next(each for each in manifest["parts"][0]["files"] if each["path"].startswith(f"{table}/"))
    path = folder / file["path"]
    rows = pyarrow.parquet.read_table(path, partitioning=None)
    field = rows.schema.field(column)
    number = pyarrow.int64() if pyarrow.types.is_timestamp(field.type) else field.type
    known = rows.column(column).cast(number).to_pylist()
    values = pyarrow.array([value, *known[1:]], number).cast(field.type)
    field = field.with_nullable(True)
    pyarrow.parquet.write_table(rows.set_column(rows.schema.names.index(column), field, values), path)
    sign(folder, file["path"])


def sign(folder: Path, name: str) -> None:
    """Say in dataset.json that a file was written as it is now."""
    manifest = json.loads((folder / "dataset.json").read_text())
    file, path = next(each for each in files_of(manifest) if each["path"] == name), folder / name
    file |= {"size_bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    (folder / "dataset.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("connections", "stream", 2**32 - 1, "names connection 4294967295: raise --memory, or it is damaged"),
        ("exchanges", "request_wire_bytes", 2**63 - 1, "`request_wire_bytes` is more than any capture has"),
        ("exchanges", "stream", 2**32 - 1, "is damaged: it has rows of connections that are not there"),
        ("rtt_samples", "stream", 2**20, "is damaged: it has rows of connections that are not there"),
        ("exchanges", "statement_id", 2**32 - 1, "is damaged: it names texts that are not there"),
        ("connections", "start", 2**63 - 1, "is damaged: `start` is a time that no capture has"),
        ("exchanges", "stalled_ns", 2**63 - 1, "is damaged: `stalled_ns` is a time that no capture has"),
        ("exchanges", "command", None, "is damaged: `command` is missing in a row"),
        ("connections", "protocol", None, "is damaged: `protocol` is missing in a row"),
    ],
)
def test_a_forged_dataset_is_told_in_one_line(
    saved: Path, table: str, column: str, value: int | None, message: str
) -> None:
    forge(saved, table, column, value)
    with pytest.raises(package.CaptureError, match=rf"^[^\n]*{message}$"):
        package.read(saved).analyze()


def forge_bomb(folder: Path, table: str, column: str, count: int, length: int, **written: Any) -> None:
    """Make of a table so many times its first row, with a text of so many bytes in each: a few KB of Parquet."""
    manifest = json.loads((folder / "dataset.json").read_text())
    file = next(each for each in files_of(manifest) if each["path"].startswith(f"{table}/"))
    path = folder / file["path"]
    rows = pyarrow.parquet.read_table(path, partitioning=None)
    rows = rows.take(pyarrow.array([0] * count))
    same = pyarrow.array([0] * count, pyarrow.int32())
    field = rows.schema.field(column)
    texts = pyarrow.DictionaryArray.from_arrays(same, ["x" * length]).cast(field.type)
    pyarrow.parquet.write_table(
        rows.set_column(rows.schema.names.index(column), field, texts), path, compression="zstd", **written
    )
    file["rows"] = count
    (folder / "dataset.json").write_text(json.dumps(manifest))
    sign(folder, file["path"])


@pytest.mark.parametrize(
    ("table", "column", "count", "length", "message"),
    [
        (
            "statement_texts",
            "text",
            1,
            100_000_000,
            "100 MB of it must be read at once: raise --memory, or it is damaged",
        ),
        (
            "statement_texts",
            "text",
            1_000,
            100_000,
            "its rows take more than [0-9]+ MB: raise --memory, or it is damaged",
        ),
        (
            "connections",
            "database",
            300_000,
            1,
            "its rows take more than [0-9]+ MB: raise --memory, or it is damaged",
        ),
        ("exchanges", "statement", 1_000_000, 1, "holds more exchanges than fit: raise --memory"),
    ],
)
def test_a_file_that_holds_more_than_fits_is_told_in_one_line(
    saved: Path, table: str, column: str, count: int, length: int, message: str
) -> None:
    forge_bomb(saved, table, column, count, length, dictionary_pagesize_limit=1 << 30)
    with pytest.raises(package.CaptureError, match=rf"^[^\n]*\.parquet: {message}$"):
        package.read(saved, memory=64_000_000, disk=0).analyze()


def test_a_file_with_more_rows_than_the_manifest_says_is_told(saved: Path) -> None:
    forge_bomb(saved, "exchanges", "statement", 2_000, 1)
    manifest = json.loads((saved / "dataset.json").read_text())
    next(each for each in files_of(manifest) if each["rows"] == 2_000)["rows"] = 5
    (saved / "dataset.json").write_text(json.dumps(manifest))
    with pytest.raises(package.CaptureError, match=r"is damaged: it has 2,000 rows, and not 5$"):
        package.read(saved).analyze()


@pytest.mark.parametrize("cut", [0, 1, 7, 40])
def test_a_footer_of_any_bytes_is_read_or_refused(saved: Path, cut: int) -> None:
    path = next(saved.glob("exchanges/*/*/*"))
    good = path.read_bytes()
    assert weighed(io.BytesIO(good), 10**9).rows > 0
    length = int.from_bytes(good[-8:-4], "little")
    for at in range(len(good) - 8 - length + cut, len(good), 41):
        for value in (0, 0x1C, 0x7F, 0xFF):
            bad = bytearray(good)
            bad[at] = value
            with suppress(ValueError):
                weighed(io.BytesIO(bad), 10**9)


def test_a_forged_file_that_is_no_parquet_is_told(saved: Path) -> None:
    path = next(saved.glob("exchanges/*/*/*"))
    path.write_bytes(b"PAR1" + bytes(range(100)) + path.read_bytes()[-8:])
    sign(saved, str(path.relative_to(saved)))
    with pytest.raises(package.CaptureError, match=r"part-0\.parquet: is damaged: "):
        package.read(saved).analyze()


def files_of(told_: dict[str, Any]) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = told_["parts"][0]["files"]
    return files


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda told_: told_["parts"].clear(), "Expected `array` of length >= 1"),
        (lambda told_: files_of(told_).clear(), "names no file of `"),
        (lambda told_: files_of(told_).pop(0), "names no file of `captures`"),
        (lambda told_: files_of(told_).append(files_of(told_)[-1]), "twice"),
        (lambda told_: files_of(told_)[0].update(path="captures/a\0b"), "as a file"),
        (lambda told_: files_of(told_)[0].update(path="captures/../../etc/passwd"), "as a file"),
        (lambda told_: files_of(told_)[0].update(rows=10**30), "rows"),
        (lambda told_: files_of(told_)[-1].update(streams=[-1, 10**30]), "streams"),
    ],
)
def test_a_manifest_that_cannot_be_true_is_told(
    saved: Path, harm: Callable[[dict[str, Any]], None], message: str
) -> None:
    told_ = json.loads((saved / "dataset.json").read_text())
    harm(told_)
    (saved / "dataset.json").write_text(json.dumps(told_))
    with pytest.raises(package.CaptureError, match=rf"^[^\n]*dataset\.json: is damaged: [^\n]*{message}[^\n]*$"):
        package.read(saved)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(saved: Path) -> None:
    file = next(saved.glob("exchanges/*/*/*"))
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(package.CaptureError, match="is missing from the dataset"):
        package.read(saved).analyze()
    (saved / "dataset.json").unlink()
    os.mkfifo(saved / "dataset.json")
    with pytest.raises(package.CaptureError, match="no capture in this directory"):
        package.rank(saved)


def test_a_dataset_is_replaced_only_when_asked(latpcap: Run, saved: Path, fixture: Callable[[str], Fixture]) -> None:
    path = str(fixture("mysql/nplus1-300-client").path)
    assert latpcap("scan", path, "-o", str(saved)).returncode == 2
    replaced = latpcap("scan", path, "-o", str(saved), "--force")
    assert replaced.returncode == 0
    assert b"exchanges of 1 connection in" in replaced.stderr
    assert len(package.read(saved).connections) == 1
    (saved.parent / "other").mkdir()
    (saved.parent / "other" / "letter.txt").write_text("mine")
    refused = latpcap("scan", path, "-o", str(saved.parent / "other"), "--force")
    assert refused.returncode == 2
    assert b"holds other files" in refused.stderr
    assert sorted(each.name for each in saved.parent.iterdir()) == ["other", "saved"]


KILLED = """
import os, signal, sys
import latpcap
from latpcap.tables.dataset import writing

wrote = writing.manifest.data_file
def data_file(folder, path, *more):
    if path.startswith("exchanges"):
        os.kill(os.getpid(), signal.SIGKILL)
    return wrote(folder, path, *more)
writing.manifest.data_file = data_file
latpcap.read(sys.argv[1]).save(sys.argv[2])
"""


def test_a_killed_scan_leaves_nothing_in_the_output(fixture: Callable[[str], Fixture], tmp_path: Path) -> None:
    path = fixture(SEVERAL).path
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(tmp_path / "saved")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [each.name.startswith(".saved.") for each in tmp_path.iterdir()] == [True]  # half of it, beside the place
    package.read(path).save(tmp_path / "saved")
    assert [each.name for each in tmp_path.iterdir()] == ["saved"]
