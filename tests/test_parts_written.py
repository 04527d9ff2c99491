"""A dataset that workers write: what is read from it is what the captures say, whoever died meanwhile."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path
from random import Random

import pytest
from dying import DyingAlways, DyingOnce
from test_client_groups import PLAIN, moved
from test_datasets import told
from test_workers import run

import latpcap as package
from latpcap.errors import CaptureError, UsageError, WorkersLost
from latpcap.scan import Partition, ScanOptions, part, reduce
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.writing import new_folder
from latpcap.work.dataset_parts import saved, write
from latpcap.work.local import Processes, Threads
from latpcap.work.on_dask import Dask

MANY = 40
"""Captures, each between hosts of its own; the statements are those of few programs."""


def captures(folder: Path, seed: int) -> list[str]:
    names = Random(seed).sample(PLAIN, MANY)
    paths = [folder / f"{number}.pcapng" for number in range(MANY)]
    for number, path in enumerate(paths):
        path.write_bytes(moved(names[number], number))
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return captures(tmp_path_factory.mktemp("captures"), 7)


@pytest.fixture(scope="module")
def whole(files: list[str]) -> str:
    return told(package.read(files))


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_the_number_of_parts_does_not_show(files: list[str], whole: str, parts: int, tmp_path: Path) -> None:
    saved(files, ScanOptions(), Threads(2), parts, str(tmp_path / "saved"))
    assert told(package.read(tmp_path / "saved")) == whole
    assert [each.name for each in tmp_path.iterdir()] == ["saved"]


def test_names_are_replaced_in_all_parts_as_in_the_captures(files: list[str], tmp_path: Path) -> None:
    saved(files, ScanOptions(), Threads(1), 3, str(tmp_path / "saved"))
    assert told(package.read(tmp_path / "saved", pseudonymise=True)) == told(package.read(files, pseudonymise=True))


def test_names_that_statements_alone_have_are_numbered_as_in_the_captures(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.pcapng" for number in range(8, 14)]
    for number, path in enumerate(files):
        user = bytes([ord("a") + number]) * 5
        path.write_bytes(
            moved("postgresql/psycopg2-errors", number).replace(b"SELECT * FROM nowhere", b"grant select to " + user)
        )
    saved([*map(str, files)], ScanOptions(), Threads(1), 3, str(tmp_path / "saved"))
    of_captures = told(package.read(files, pseudonymise=True))
    assert "grant select to user-6" in of_captures
    assert told(package.read(tmp_path / "saved", pseudonymise=True)) == of_captures


def test_each_file_has_one_pseudonym_in_notes_too(tmp_path: Path) -> None:
    """The name of one is part of another one's."""
    files = [tmp_path / f"{number}.pcapng" for number in (1, 21, 321)]
    for number, path in enumerate(files):
        path.write_bytes(moved("postgresql/psycopg2-errors", number)[:-7])
    saved([*map(str, files)], ScanOptions(), Threads(1), 2, str(tmp_path / "saved"))
    of_captures = package.read(files, pseudonymise=True).health.to_dicts()
    assert package.read(tmp_path / "saved", pseudonymise=True).health.to_dicts() == of_captures
    named = [note["message"].partition(":")[0] for note in of_captures if note["code"] == "file-cut"]
    assert named == ["capture-1.pcapng", "capture-2.pcapng", "capture-3.pcapng"]


@pytest.mark.parametrize("seed", [11, 12])
def test_nor_do_the_captures(seed: int, tmp_path: Path) -> None:
    files = captures(tmp_path, seed)
    saved(files, ScanOptions(show_literals=True), Threads(2), 4, str(tmp_path / "saved"))
    assert told(package.read(tmp_path / "saved")) == told(package.read(files, show_literals=True))


def test_workers_of_dask_write_it_too(files: list[str], whole: str, tmp_path: Path) -> None:
    saved(files, ScanOptions(), Dask(1), 3, str(tmp_path / "saved"))
    assert told(package.read(tmp_path / "saved")) == whole


def test_the_command_has_it_written_by_workers(files: list[str], whole: str, tmp_path: Path) -> None:
    output = str(tmp_path / "saved")
    status, out, err = run(*files, "-o", output, "--engine", "processes", "--workers", "2", "--parts", "3")
    assert (status, out) == (0, "")
    assert sorted(line for line in err.splitlines() if "part " in line) == [
        f"latpcap: part {number} of 3 is done" for number in (1, 2, 3)
    ]
    assert told(package.read(output)) == whole


def test_what_a_dead_worker_has_written_counts_once(files: list[str], whole: str, tmp_path: Path) -> None:
    copy = shutil.copy(files[0], tmp_path / "0.pcapng")
    told_: list[str] = []
    saved([copy, *files[1:]], ScanOptions(), DyingOnce(2), 3, str(tmp_path / "saved"), tell=told_.append)
    assert [line for line in told_ if line.startswith("a worker died: ")]
    assert told(package.read(tmp_path / "saved")) == whole
    names = [path.name for path in (tmp_path / "saved").iterdir()]
    assert not [name for name in names if name.endswith(".attempt")]


def test_a_part_that_no_worker_survives_leaves_nothing(files: list[str], tmp_path: Path) -> None:
    with pytest.raises(WorkersLost):
        saved(files, ScanOptions(), DyingAlways(1), 2, str(tmp_path / "saved"))
    assert not active_children()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("engine", [Threads(2), Processes(2)])
def test_what_a_worker_cannot_read_leaves_nothing(
    files: list[str], engine: Threads | Processes, tmp_path: Path
) -> None:
    with pytest.raises(CaptureError, match=r"^[^\n]*missing\.pcapng: no such file$"):
        saved([*files, str(tmp_path / "missing.pcapng")], ScanOptions(), engine, 2, str(tmp_path / "saved"))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_ctrl_c_leaves_nothing(files: list[str], engine: str, tmp_path: Path) -> None:
    """They wait for a pipe that says nothing."""
    pipe, place = tmp_path / "pipe.pcapng", tmp_path / "place"
    os.mkfifo(pipe)
    place.mkdir()
    command = [sys.executable, "-m", "latpcap", "scan", str(pipe), "-o", str(place / "saved")]
    process = subprocess.Popen(
        [*command, "--engine", engine, "--parts", "1"], stderr=subprocess.PIPE, start_new_session=True
    )
    with pipe.open("wb", buffering=0) as writer:
        assert [each.name.startswith(".saved.") for each in place.iterdir()] == [True]
        os.killpg(process.pid, signal.SIGINT)
        if engine == "threads":
            with suppress(BrokenPipeError):
                writer.write(Path(files[0]).read_bytes())  # a thread notices when it reads on, if not before
            writer.close()
        assert process.communicate(timeout=300) == (None, b"")
    assert process.returncode == 128 + signal.SIGINT
    assert not [*place.iterdir()]


def test_a_folder_that_only_some_workers_see_is_told(files: list[str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^/nowhere: a worker does not see what is written there: name a folder"):
        write(files[:1], Partition(), ScanOptions(), "/nowhere/.saved.123.part", b"secret")


def test_a_worker_that_writes_on_when_the_scan_has_ended_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = shutil.rmtree

    def while_somebody_writes(folder: Path, **more: bool) -> None:
        with pytest.raises(FileNotFoundError):
            (of_worker / "exchanges").mkdir()
        remove(folder, **more)

    def interrupted() -> None:
        with new_folder(tmp_path / "saved") as making:
            nonlocal of_worker
            of_worker = making / "0.attempt"
            of_worker.mkdir()
            monkeypatch.setattr(shutil, "rmtree", while_somebody_writes)
            raise KeyboardInterrupt

    of_worker = tmp_path
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not [*tmp_path.iterdir()]


def test_workers_that_read_other_files_under_the_same_names_are_told(files: list[str], tmp_path: Path) -> None:
    class Elsewhere(Threads):
        def work(self, part: object) -> object:
            return lambda files, partition, *more: write([files[partition.number]], partition, *more)

    with pytest.raises(UsageError, match=r"^workers have read different files under the same names"):
        saved(files[:2], ScanOptions(), Elsewhere(1), 2, str(tmp_path / "saved"))
    assert not [*tmp_path.iterdir()]


# --- what of it is read -----------------------------------------------------------------------------------------------


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Parquet files that are read from now on."""
    read: list[str] = []
    checked = manifest.checked

    def noted(folder: str, file: manifest.DataFile) -> object:
        read.append(file.path)
        return checked(folder, file)

    monkeypatch.setattr(manifest, "checked", noted)
    return read


@pytest.mark.parametrize(
    "asked", [{"server": "10.78.3.2"}, {"client": "10.77.9.1"}, {"stream": "0,7"}, {"server": ":3306", "start": "+1s"}]
)
def test_of_a_selection_only_its_own_files_are_read(
    files: list[str], asked: dict[str, str], read_files: list[str], tmp_path: Path
) -> None:
    saved(files, ScanOptions(), Threads(2), 3, str(tmp_path / "saved"))
    whole, part = package.read(files).select(**asked), package.read(tmp_path / "saved").select(**asked)
    assert told(part) == told(whole)
    of_exchanges = [path for path in read_files if path.startswith("exchanges/")]
    all_of_them = [*(tmp_path / "saved").glob("exchanges/*/*/*.parquet")]
    assert 0 < len(of_exchanges) < len(all_of_them) / 2
    ever = package.read(files).select(**{name: value for name, value in asked.items() if name != "start"})
    servers = {f"server={server.replace(':', '%3A')}/" for server in set(ever.connections.column("server"))}
    assert all(any(server in path for server in servers) for path in of_exchanges)


def test_what_was_read_is_not_read_again(files: list[str], read_files: list[str], tmp_path: Path) -> None:
    saved(files, ScanOptions(), Threads(1), 1, str(tmp_path / "saved"))
    capture = package.read(tmp_path / "saved")
    capture.analyze()
    before = len(read_files)
    capture.select(client="10.77.9.1").analyze()
    assert len([path for path in read_files[before:] if path.startswith("exchanges/")]) == 0


def test_a_part_of_a_dataset_loads_no_more_than_its_client_groups(
    files: list[str], read_files: list[str], tmp_path: Path
) -> None:
    output = str(tmp_path / "saved")
    saved(files, ScanOptions(), Threads(2), 3, output)
    of_exchanges = []
    parts = []
    for each in Partition.all(5):
        read_files.clear()
        parts.append(part([output], each))
        of_exchanges.append(sum(path.startswith("exchanges/") for path in read_files))
    assert reduce(parts).json() == reduce([part(files)]).json()
    assert max(of_exchanges) < len([*Path(output).glob("exchanges/*/*/*.parquet")]) * 2 / 3


def test_a_query_reads_what_it_names(files: list[str], read_files: list[str], tmp_path: Path) -> None:
    saved(files, ScanOptions(), Threads(1), 1, str(tmp_path / "saved"))
    capture = package.read(tmp_path / "saved")
    assert capture.sql("select count(*) as files from captures").to_dicts() == [{"files": MANY}]
    assert {path.split("/")[0] for path in read_files} == {"captures"}
    shown = capture.sql("show tables").to_dicts()
    assert sorted(row["name"] for row in shown) == sorted(package.capture.TABLES)


@pytest.mark.parametrize("more", [[], ["--parts", "2"]])
def test_a_disk_that_takes_no_more_is_told_in_one_line(files: list[str], more: list[str], tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    scan = ["scan", files[0], "-o", str(tmp_path / "saved"), "--quiet", *more]
    command = [sys.executable, "-B", "-m", "latpcap", *scan]  # -B: the bytecode that Python caches would be cut, too
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (5, f"latpcap: {tmp_path}/saved: cannot be written: File too large\n")
    assert not [*tmp_path.iterdir()]
