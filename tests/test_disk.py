"""A recording that does not fit in memory: the same result by way of temporary files, and what happens without room."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, load_fixture
from hypothesis import given
from hypothesis import strategies as st
from mysql_wire import message, mysql, tcp

import latpcap
from latpcap import _core
from latpcap.report import FORMATS
from latpcap.tables.columnar import scratch
from latpcap.tables.columnar.scratch import OnDisk, Scratch, spill
from latpcap.tables.reading.disk_space import MIN_FREE_BYTES, room_in

READ = _core.read
TABLES = ("exchanges", "rtt_samples", "connections", "statements")
SMALL = ["mysql/parallel-8", "mysql/unsorted", "postgresql/pgbench-select-simple-c4", "firebird/nplus1-300"]

QUICK = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Thousands of small files take a disk minutes."""

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is read does not fit in memory, and no column is too short for a file."""
    monkeypatch.setattr(_core, "read", lambda *given, **named: READ(*given, **{**named, "in_memory": 0}))
    monkeypatch.setattr(_core.Recording, "is_large", True)
    monkeypatch.setattr(scratch, "MIN_FILE_BYTES", 1)


def told(path: Path, **options: Any) -> str:
    """All of what there is to say of a capture."""
    try:
        capture = latpcap.read(path, **options)
        parts = [*FORMATS["json"](capture.analyze())]
        parts += [str(getattr(capture, name).to_dicts()) for name in TABLES]
    except latpcap.LatpcapError as error:
        return repr(error)
    return "".join(part if isinstance(part, str) else part.decode() for part in parts)


RECORDED = [
    path for folder in ("mysql", "postgresql", "firebird") for path in sorted(FIXTURES.glob(f"{folder}/*.pcapng*"))
]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name.partition('.')[0]}")
def test_the_result_is_the_same_by_way_of_the_disk(path: Path, request: pytest.FixtureRequest) -> None:
    in_memory = told(path)
    request.getfixturevalue("on_disk")
    assert told(path, temp_folder=QUICK) == in_memory


# --- columns ----------------------------------------------------------------------------------------------------------


COLUMN = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50)
FORMULAS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a * 2.5 - 1,
    lambda a, b: (a > b) & ~(b == 3),
    lambda a, b: np.maximum(np.maximum(a, b), 7),
    lambda a, b: np.where(a > b, a, b),
    lambda a, b: np.where(a > b, a, -1),
    lambda a, b: np.where(a > b, 1.5, np.int64(2)),
    lambda a, b: a[b > 0],
    lambda a, b: a[np.argsort(b, kind="stable")],
    lambda a, b: a[np.flatnonzero(b > a)] / 3,
    lambda a, b: a[1:] - b[:-1],
    lambda a, b: np.diff(a, prepend=-1) != 0,
    lambda a, b: a.astype(np.float64) / (np.abs(b) + 1),
    lambda a, b: (a % 100).astype(np.int16) + np.int16(3),
    lambda a, b: a.sum(where=b > 0),
    lambda a, b: np.cumsum(a) - np.add.reduceat(b, [0]),
    lambda a, b: np.concatenate([a, b, a]),
    lambda a, b: np.divmod(a, 7)[1],
    lambda a, b: (a.max(), b.min(initial=0), len(a), int(a[0])),
]


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Scratch:
    monkeypatch.setattr(scratch, "MIN_FILE_BYTES", 1)
    monkeypatch.setattr(scratch, "PIECE_ROWS", 7)
    return Scratch(QUICK or os.curdir, 10**9)


@pytest.mark.parametrize("formula", FORMULAS)
def test_numpy_computes_the_same_of_columns_on_disk(formula: Callable[[Any, Any], Any], room: Scratch) -> None:
    @given(COLUMN, COLUMN)
    def check(first: list[int], second: list[int]) -> None:
        length = min(len(first), len(second))
        one, other = np.array(first[:length]), np.array(second[:length])
        expected, seen = formula(one, other), formula(spill(room, one), spill(room, other))
        assert np.array_equal(expected, seen)
        assert np.asarray(expected).dtype == np.asarray(seen).dtype

    check()


def test_what_is_computed_of_a_column_on_disk_is_there_too(room: Scratch) -> None:
    column = spill(room, np.arange(100))
    others = [column + 1, column > 3, np.where(column > 3, column, 0), column[column > 3], column.astype(np.int16)]
    for made in (column, *others):
        assert isinstance(made, OnDisk)
        assert "mmap" in str(type(made.base if made.base is None else made.base.base or made.base))


def test_in_place_is_in_place(room: Scratch) -> None:
    column = spill(room, np.arange(5))
    same = column
    column += 1
    assert same is column
    assert column.tolist() == [1, 2, 3, 4, 5]


def test_room_that_is_given_back_can_be_used_again(room: Scratch) -> None:
    few = Scratch(room.folder, 8_000)
    column = few.array(800, np.int64)
    with pytest.raises(latpcap.LatpcapError, match="8,000 bytes are not enough"):
        few.array(800, np.int64)
    del column
    assert len(few.array(800, np.int64)) == 800


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_columns_that_were_let_go_come_back(room: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no page of theirs is needed, they take no memory."""
    monkeypatch.setattr(scratch, "PIECE_ROWS", 1 << 18)
    few = Scratch(room.folder, 10**9, memory=scratch.MEMORY_PARTS * 72_000_000)
    columns = [spill(few, np.full(1_000_000, number)) for number in range(8)]
    looked_at = columns[0].sum()
    before = mapped_mb()
    columns.append(spill(few, np.full(1_000_000, 8)))
    assert mapped_mb() < before
    assert looked_at == 0
    assert [int(column.sum()) // 1_000_000 for column in columns] == [*range(9)]


def mapped_mb() -> float:
    """Of columns in files, what is in memory."""
    status = Path("/proc/self/status").read_text()
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith(("RssFile", "RssShmem"))) / 1000


def test_short_columns_and_those_without_a_disk_stay_in_memory(room: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(spill(None, np.arange(9)), OnDisk)
    monkeypatch.setattr(scratch, "MIN_FILE_BYTES", 1_000)
    assert not isinstance(spill(room, np.arange(9)), OnDisk)


# --- the room ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows a file that is open has a name")
def test_files_have_no_name(tmp_path: Path, on_disk: None) -> None:
    capture = latpcap.read(FIXTURES / "mysql/nplus1-300-client.pcapng", temp_folder=tmp_path)
    assert isinstance(capture.recording.exchanges.request, OnDisk)
    assert not [*tmp_path.iterdir()]


def test_what_fits_in_memory_makes_no_file(tmp_path: Path) -> None:
    capture = latpcap.read(FIXTURES / "mysql/nplus1-300-client.pcapng", temp_folder=tmp_path)
    capture.analyze()
    assert capture.recording.scratch is None


def test_never_all_that_is_free_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": MIN_FREE_BYTES + 5_000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    assert room_in(tmp_path, 10**12) == (str(tmp_path), 5_000)
    usage.free = MIN_FREE_BYTES
    assert room_in(tmp_path, 10**12) is None


def test_a_folder_that_cannot_be_used_is_named(latpcap: Run, tmp_path: Path) -> None:
    path = FIXTURES / "mysql/nplus1-300-client.pcapng"
    done = latpcap("analyze", path, "--temp-folder", tmp_path / "none")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().splitlines() == [
        f"latpcap: {tmp_path / 'none'}: temporary files cannot be written there: name another --temp-folder"
    ]


BEYOND = 150_000
"""Exchanges, more than there is room for in the least memory."""


@pytest.fixture(scope="module")
def beyond(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wire = tcp.Wire(1_000_000)
    pings, answers = message(0, b"\x0e") * 1000, mysql.OK * 1000
    asked = (record for _ in range(BEYOND // 1000) for record in wire.ask(pings, answers))
    path = tmp_path_factory.mktemp("beyond") / "x.pcap"
    path.write_bytes(tcp.PCAP_HEADER + b"".join([*mysql.log_in(wire), *asked]))
    return path


def test_what_is_beyond_the_memory_is_the_same_by_way_of_the_disk(latpcap: Run, beyond: Path, tmp_path: Path) -> None:
    enough = latpcap("analyze", "--json", beyond)
    little = latpcap("analyze", "--json", beyond, "--memory", "64MB", "--temp-folder", tmp_path)
    assert little.returncode == 0
    assert little.stdout == enough.stdout
    if sys.platform != "win32":  # under Wine mapped files stay: docs/platforms.md
        assert not [*tmp_path.iterdir()]


def test_without_room_on_disk_reading_ends_where_the_memory_does(latpcap: Run, beyond: Path) -> None:
    def read(*options: str) -> tuple[int, dict[str, str]]:
        done = json.loads(latpcap("analyze", "--json", beyond, "--memory", "64MB", *options).stdout)
        return done["summary"]["exchanges"], {note["code"]: note["message"] for note in done["health"]}

    (without, notes), (none, _) = read("--disk", "0"), read("--disk", "1kB")
    assert 50_000 < without < BEYOND
    assert without == none
    assert "too-many-exchanges" in notes


on_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of a file's length")

FULL = """
import resource, sys
from latpcap.cli import main
from latpcap import _core
from latpcap.tables.columnar import scratch
limit, in_memory = map(int, (sys.argv.pop(1), sys.argv.pop(1)))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
scratch.LONG = 1
read = _core.read
_core.read = lambda *given, **named: read(*given, **{**named, "in_memory": in_memory})
main()
"""


def limited(limit: int, in_memory: int, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """latpcap where no file may be longer, as if the disk were full then, and so many bytes of rows stay in memory.

    Python would cut the bytecode that it caches, too, and all who import the module later would find it cut: `-B`.
    """
    given = map(str, (limit, in_memory, *arguments))
    return subprocess.run([sys.executable, "-B", "-c", FULL, *given], capture_output=True, check=False)


@on_posix
def test_a_disk_that_is_full_while_it_is_read_ends_reading_with_a_note(beyond: Path, tmp_path: Path) -> None:
    told = limited(100_000, 0, "analyze", "--json", "--quiet", beyond, "--memory", "64MB", "--temp-folder", tmp_path)
    assert told.returncode == 0, told.stderr
    seen = json.loads(told.stdout)
    (note,) = [note for note in seen["health"] if note["code"] == "too-many-exchanges"]
    assert f"with no room on disk ({tmp_path}: File too large" in note["message"]
    assert 50_000 < seen["summary"]["exchanges"] < BEYOND
    assert not [*tmp_path.iterdir()]


@on_posix
def test_a_disk_that_is_full_later_ends_latpcap_in_one_line(beyond: Path, tmp_path: Path) -> None:
    told = limited(100_000, 10**9, "analyze", "--quiet", beyond, "--memory", "64MB", "--temp-folder", tmp_path)
    assert (told.returncode, told.stdout) == (5, b"")
    (line,) = told.stderr.decode().splitlines()
    assert line == (
        f"latpcap: {tmp_path}: no room for data that does not fit in memory (File too large): give more --disk, "
        "another --temp-folder, or more --memory"
    )
    assert not [*tmp_path.iterdir()]


@on_posix
def test_an_output_without_room_is_not_left_half_written(tmp_path: Path) -> None:
    made = tmp_path / "made.html"
    told = limited(10_000, 10**9, "analyze", load_fixture("mysql/sql-errors").path, "-o", made)
    assert told.returncode == 5
    assert told.stderr.decode() == f"latpcap: {made}: cannot be written: File too large\n"
    assert not [*tmp_path.iterdir()]
