"""No secret in any output: planted in captures of all protocols, looked for in everything that any command prints."""

from __future__ import annotations

import base64
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import planted
import pytest
from arro3.io import read_parquet
from click.testing import CliRunner

import latpcap
from latpcap.capture import TABLES
from latpcap.cli import cli
from latpcap.cli.tables import TABLES as ROW_TABLES
from latpcap.reading import read

NEVER = re.compile(r"hush\w*", re.IGNORECASE)
LITERAL = re.compile(r"datum\w*|(?<!\d)7310\d{3}(?!\d)", re.IGNORECASE)  # not the digits of a longer number
NAME = re.compile(
    r"(?<![a-z0-9+/]{20})acme\w*|203\.0\.113\.\d+|2001:db8[:\w]*", re.IGNORECASE
)  # no chance letters of base64
WRAPPED = {"base64": base64.b64encode(b"hush")[:5].decode(), "hexadecimal": b"hush".hex()}

PROTOCOLS = ("mysql", "postgresql", "firebird", "oracle", "sqlserver")
DRIVEN = {"oracle": "oracledb", "sqlserver": "pytds"}
"""Those whose messages a driver writes, against a scripted server."""
SECRETS = Path(__file__).parent / "secrets"
RECORDED = ("mariadb", "postgresql", "mariadb-tls", "postgresql-tls")
"""Real servers' messages about secrets, two of them encrypted and read with keys: see record_secrets.py."""
of_encrypted = pytest.mark.parametrize("capture", ["recorded-mariadb-tls", "recorded-postgresql-tls"], indirect=True)
WITHOUT_CAPTURE = {"calibrate", "completion", "explain", "help", "record", "rehearse"}
"""Commands that read no capture, or make their own; that show what Wireshark says of it; that hand on the packets."""
RUNS: dict[str, list[list[str]]] = {
    "compare": [
        ["{capture}"],
        ["{capture}", "--json"],
        ["{capture}", "--projected"],
        ["{capture}", "--projected", "--json"],
    ],
    "report": [["-o", "{tmp}/page.html"], ["-o", "{tmp}/page.md", "--before", "{capture}"]],
    "scan": [["-o", "{tmp}/dataset"]],
    "watch": [[], ["--report", "{tmp}/watch.json"]],
    "wireshark": [["-o", "{tmp}/facts"], ["--verify"], ["--verify", "--json"]],
    "sql": [[f"select * from {table}"] for table in TABLES],
}
"""Commands that need more than a capture."""
SHOW_PACKETS = {"wireshark"}
"""Commands that refuse pseudonyms: Wireshark shows the packets, names and all."""
MORE: dict[str, list[list[str]]] = {
    "analyze": [
        ["--rtt", "1ms,15ms", "--within", "60s"],
        ["-o", "{tmp}/report.md"],
        ["-o", "{tmp}/report.html"],
    ],
    "project": [["--rtt", "15ms"]],
    "rank": [["--by", "user"], ["--by", "database", "--json"], ["--by", "connection"], ["--by", "task"]],
    "statements": [["--by", name] for name in ("user", "database", "client", "application", "server")],
}
"""How else a command is run, `{tmp}` for a directory; one that needs more than a capture must stand here."""
WAYS = {"hidden": [], "shown": ["--show-literals"], "pseudonyms": ["--pseudonymise"]}


@pytest.fixture(scope="module", params=[*PROTOCOLS, *(f"recorded-{name}" for name in RECORDED)])
def capture(request: Any, tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("acmecustomer") / f"acme-{request.param}.pcapng"
    path.write_bytes(capture_of(request.param))
    if request.param.endswith("-tls"):
        path.with_suffix(".keys").write_bytes((SECRETS / f"{request.param[9:]}.keys").read_bytes())
    return path


def keylog(capture: Path | str) -> Path | None:
    keys = Path(capture).with_suffix(".keys")
    return keys if keys.exists() else None


def key_material(keys: Path) -> Iterator[str]:
    """The secrets of a key log, in every form in which one could be seen: a piece of each is enough."""
    for secret in (bytes.fromhex(line.split()[2]) for line in keys.read_text().splitlines() if line[:1].isalpha()):
        yield secret[:8].hex()
        yield secret[-8:].hex()
        yield secret[:8].decode("latin-1")
        yield repr(list(secret[:8]))[1:-1]
        yield from (base64.b64encode(secret[start:24]).decode()[:12] for start in range(3))


def capture_of(name: str) -> bytes:
    if name.startswith("recorded-"):
        return (SECRETS / f"{name.removeprefix('recorded-')}.pcapng").read_bytes()
    if name not in DRIVEN:
        return planted.pcapng(getattr(planted, name)())
    pytest.importorskip(DRIVEN[name])
    with pytest.MonkeyPatch.context() as patch:
        return planted.pcapng(getattr(planted, name)(patch))


@pytest.fixture(scope="module", params=list(WAYS))
def way(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def outputs(capture: Path, way: str, tmp_path_factory: Any) -> dict[str, str]:
    """Everything that the commands print and write, by how they were run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("latpcap.reading.read", ReadOnce())
        return printed(capture, way, tmp_path_factory)


class ReadOnce:
    """`latpcap.read` that reads the same capture in the same way for all commands."""

    def __init__(self) -> None:
        self.captures: dict[tuple[Any, ...], latpcap.Capture] = {}

    def __call__(self, paths: list[str], *, decode_as: object, progress: object, **options: Any) -> latpcap.Capture:
        key = (*paths, *options.values())
        if key not in self.captures:
            self.captures[key] = read(paths, **options)
        return self.captures[key]


def printed(capture: Path | str, way: str, tmp_path_factory: Any) -> dict[str, str]:
    directory = tmp_path_factory.mktemp("out")
    found = {}
    for arguments in runs(directory):
        rest = [part.replace("{capture}", str(capture)) for part in arguments[1:]]
        if keys := keylog(capture):
            rest += ["--keylog", str(keys)]
        result = CliRunner().invoke(cli, [*arguments[0].split(), str(capture), *rest, *WAYS[way]])
        if way == "pseudonyms" and arguments[0] in SHOW_PACKETS:
            assert isinstance(result.exception, latpcap.UsageError), f"{arguments}: takes pseudonyms"
            found[" ".join(arguments)] = f"{result.output}{result.exception}"
            assert [path for path in directory.rglob("*") if path.is_file()] == []
            continue
        if result.exit_code and result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, f"{arguments}: {result.output}: tell in MORE how it is run"
        found[" ".join(arguments)] = result.output
        for file in sorted(path for path in directory.rglob("*") if path.is_file()):
            found[f"{' '.join(arguments)} {file.relative_to(directory)}"] = written(file)
            file.unlink()
        shutil.rmtree(directory / "dataset", ignore_errors=True)
    return found


def runs(directory: Path) -> Iterator[list[str]]:
    """Each command with each format, as text and into a file."""
    for name, command in cli.commands.items():
        options = {option.name: option for option in command.params}
        if name == "table":
            for table in ROW_TABLES:
                yield from (
                    [f"table {table}", "--format", each, "-o", f"{directory}/out.{each}"] for each in ("csv", "parquet")
                )
                yield from ([f"table {table}", *more] for more in ([], ["--json"]))
            yield ["table tasks", "--by", "route", "--json"]
            continue
        if name in WITHOUT_CAPTURE:
            continue
        if name in RUNS:
            yield from ([name, *(part.replace("{tmp}", str(directory)) for part in run)] for run in RUNS[name])
            continue
        assert "captures" in options, f"`{name}` reads no capture? Then it belongs to WITHOUT_CAPTURE or RUNS"
        yield [name]
        if "as_json" in options:
            yield [name, "--json"]
        if "file_format" in options and isinstance(options["file_format"].type, click.Choice):
            for each in options["file_format"].type.choices:
                yield [name, "--format", each, "-o", str(directory / f"out.{each}")]
        for more in MORE.get(name, []):
            yield [name, *(part.replace("{tmp}", str(directory)) for part in more)]


def written(file: Path) -> str:
    raw = file.read_bytes().decode("utf-8", "replace")
    if file.suffix != ".parquet":
        return raw
    table = latpcap.Table(read_parquet(file).read_all(), "rows")
    return raw + "\n".join(map(str, table.to_dicts()))


def leaks(outputs: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    return [f"{run}: {match[0]}" for run, text in outputs.items() for match in pattern.finditer(text)]


def test_no_credential_is_in_any_output(outputs: dict[str, str]) -> None:
    assert leaks(outputs, NEVER) == []
    assert [f"{run}: {how}" for run, text in outputs.items() for how, secret in WRAPPED.items() if secret in text] == []


@of_encrypted
def test_no_key_is_in_any_output(capture: Path, outputs: dict[str, str]) -> None:
    keys = capture.with_suffix(".keys")
    found = [(run, part) for part in key_material(keys) for run, text in outputs.items() if part in text.lower()]
    found += [(run, part) for part in key_material(keys) for run, text in outputs.items() if part in text]
    assert found == []
    opened = [text for run, text in outputs.items() if run == "analyze --json"]
    assert ['"keys": {"connections": 1, "opened": 1}' in text for text in opened] == [True]


@of_encrypted
def test_neither_a_key_nor_a_literal_is_in_what_annotate_and_verify_write(capture: Path, tmp_path: Path) -> None:
    keys = capture.with_suffix(".keys")
    written: dict[str, bytes] = {}
    for name, more in {"plain": [], "literals": ["--show-literals"], "embedded": ["--embed-keys"]}.items():
        out = tmp_path / f"{name}.pcapng"
        done = CliRunner().invoke(cli, ["wireshark", str(capture), "-o", str(out), "--keylog", str(keys), *more])
        assert done.exit_code == 0
        written |= {name: out.read_bytes(), f"{name} says": done.output.encode()}
    embedded = written.pop("embedded")
    verified = CliRunner().invoke(cli, ["wireshark", "--verify", str(capture), "--keylog", str(keys), "--json"])
    written["verify"] = verified.output.encode()
    for secret in (bytes.fromhex(line.split()[2]) for line in keys.read_text().splitlines()):
        forms = (secret[:8], secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret)[:12])
        assert [name for name, text in written.items() if any(form in text for form in forms)] == []
    told = [part for text in written.values() for part in re.findall(rb"latpcap: [^\x00]*", text)]
    assert not any(re.search(rb"(?i)hush|datum|7310\d{3}", text) for text in (*told, written["verify"]))
    assert keys.read_text().split("CLIENT_TRAFFIC_SECRET_0")[1].split()[1].encode() in embedded


def test_literals_are_in_an_output_only_where_they_are_asked_for(outputs: dict[str, str], way: str) -> None:
    found = leaks(outputs, LITERAL)
    assert found if way == "shown" else found == []


def test_names_are_in_no_output_with_pseudonyms(outputs: dict[str, str], way: str) -> None:
    found = leaks(outputs, NAME)
    assert found == [] if way == "pseudonyms" else found


def test_what_parts_found_together_tells_as_little(capture: Path, way: str, tmp_path: Path) -> None:
    keys = ["--keylog", str(keylog(capture))] if keylog(capture) else []
    source, options = str(capture), [*keys, *WAYS[way]]
    if way == "pseudonyms":  # are those of the dataset
        source, options = str(tmp_path / "dataset"), []
        assert CliRunner().invoke(cli, ["scan", str(capture), "-o", source, *keys, *WAYS[way]]).exit_code == 0
    done = CliRunner().invoke(cli, ["scan", source, "--totals", "--workers", "1", *options])
    assert done.exit_code == 0
    assert NEVER.findall(done.output) == []
    assert LITERAL.findall(done.output) == []  # statements are told by their fingerprints, however they were read
    assert bool(NAME.findall(done.output)) == (way != "pseudonyms")


def test_the_dialogues_are_read_and_not_merely_passed_over(capture: Path) -> None:
    found = latpcap.read(capture, keylog=keylog(capture))
    assert len(found.statements) > len(planted.STATEMENTS)
    errors = [error for error in found.exchanges.column("error") if error]
    assert len(errors) >= len(planted.ORACLE_ERRORS)
    assert found.connections.column("user")[0].startswith("acme")
    if any(name in capture.name for name in ("acme-mysql", "acme-postgresql", "firebird")):
        assert "***" in found.connections.column("application")[0]


@pytest.mark.parametrize("options", [{}, {"show_literals": True}, {"pseudonymise": True}])
def test_notebooks_show_no_secret(capture: Path, options: dict[str, bool]) -> None:
    text = "\n".join(shown_in_a_notebook(latpcap.read(capture, keylog=keylog(capture), **options)))
    assert NEVER.findall(text) == []
    assert bool(LITERAL.findall(text)) == bool(options.get("show_literals"))
    assert bool(NAME.findall(text)) == (not options.get("pseudonymise"))


def shown_in_a_notebook(capture: latpcap.Capture) -> Iterator[str]:
    analysis, projection = capture.analyze(), capture.project([1, 15])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the plotting library
        for shown in (capture, analysis, projection):
            yield repr(shown)
            yield shown._repr_html_() if hasattr(shown, "_repr_html_") else ""
            yield shown.plot().to_json() if hasattr(shown, "plot") else ""
    for name in ("captures", "health", "connections", "exchanges", "statements"):
        table = getattr(capture, name)
        yield from (repr(table), table._repr_html_(), str(table.to_dicts()), table.to_pandas().to_string())


def test_an_unreadable_file_is_not_named_with_pseudonyms(tmp_path: Path) -> None:
    path = tmp_path / "acme.pcapng"
    path.write_bytes(b"hushdatum this is no capture at all, but long enough to be looked at")
    result = CliRunner().invoke(cli, ["analyze", str(path), "--pseudonymise"])
    assert str(result.exception).startswith("capture-1.pcapng: ")
    assert not re.search("acme|hush|datum", str(result.exception))


def test_nor_is_one_whose_name_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "acme\udcff.pcapng"
    path.write_bytes(b"hushdatum this is no capture at all, but long enough to be looked at")
    with pytest.raises(latpcap.CaptureError) as raised:
        latpcap.read(path, pseudonymise=True)
    assert str(raised.value).startswith("capture-1.pcapng: ")


def test_parameters_tell_equal_values_apart_from_others_and_nothing_else() -> None:
    import mysql_wire

    asked = [(mysql_wire.query(f"select {value}"), mysql_wire.result(1)) for value in (42, 43, 42)]
    parameters = latpcap.read(mysql_wire.capture(asked)).exchanges.column("parameters")
    assert list(parameters[-3:]) == [1, 2, 1]
