"""How much room the analysis takes at its peak: numpy tells tracemalloc of its columns, the system of all."""

import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from mysql_wire import OK, capture, message, tcp
from speed.traffic.kinds import KINDS, Wish
from test_datasets import forge_bomb

import latpcap

PACKETS = 200_000
"""50,000 queries with two RTT samples each: enough that columns outweigh code and texts."""
MOST_BYTES = 260
"""An exchange, beside the core's tables and replays, which take the core's memory."""


def test_an_analysis_takes_no_more_than_this_for_an_exchange() -> None:
    file = BytesIO()
    KINDS["nplus1"](Wish(PACKETS, 1, True, 0)).write(file)
    capture = latpcap.read(file.getvalue())
    latpcap.read(sample()).analyze()  # what is loaded and made once is no part of it
    gc.collect()
    tracemalloc.start()
    try:
        analysis = capture.analyze()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / analysis.summary.exchanges < MOST_BYTES


def sample() -> bytes:
    file = BytesIO()
    KINDS["nplus1"](Wish(4_000, 1, True, 0)).write(file)
    return file.getvalue()


LEAST_MB = 64
"""Of memory that reading may keep: no less can be asked for."""
PYTHON_MB = 60
"""What Python takes with all that a command loads."""

BESIDE_MB = 110
"""The same, with what a stage makes at once."""


@pytest.fixture(scope="module")
def flood(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """320,000 requests in 40 packets, with their answers: more exchanges than fit in the least memory."""
    path = tmp_path_factory.mktemp("flood") / "pings.pcap"
    path.write_bytes(capture([(message(0, b"\x0e") * 8_000, message(1, OK) * 8_000)] * 40))
    return path


MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))
"""
"""Runs a command and prints its peak in MB; a small program, since what starts another one counts there, too."""


def peak_mb(arguments: Sequence[str]) -> float:
    """Of `latpcap` with these arguments, as little as it may keep."""
    command = [sys.executable, "-m", "latpcap", *arguments, "--quiet", "--memory", f"{LEAST_MB}MB"]
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, check=True)
    return float(done.stdout)


@pytest.mark.parametrize("file_format", ["csv", "jsonl", "json", "parquet"])
def test_a_table_of_any_length_is_written_within_the_memory(flood: Path, tmp_path: Path, file_format: str) -> None:
    written = str(tmp_path / "exchanges")
    assert (
        peak_mb(["table", "exchanges", str(flood), "--format", file_format, "-o", written]) < 2 * LEAST_MB + PYTHON_MB
    )


def test_comments_of_any_number_are_written_within_the_memory(flood: Path, tmp_path: Path) -> None:
    assert peak_mb(["wireshark", str(flood), "-o", str(tmp_path / "told.pcapng")]) < 2 * LEAST_MB + PYTHON_MB


def test_files_side_by_side_are_read_within_the_memory(tmp_path: Path) -> None:
    """Two thousand of them: with a buffer of the usual size for each they take 130 MB alone."""
    for number in range(2_000):
        wire = tcp.Wire(1_000_000, tcp.client(number))
        first = wire.packet(0, tcp.SYN)
        wire.now_ns += 10_000_000_000
        (tmp_path / f"{number}.pcap").write_bytes(tcp.PCAP_HEADER + first + wire.packet(0, tcp.ACK))
    assert peak_mb(["table", "captures", str(tmp_path / "*.pcap")]) < LEAST_MB + PYTHON_MB


def test_a_text_in_every_row_of_a_dataset_is_read_within_the_memory(tmp_path: Path) -> None:
    """12 KB of Parquet with 16,000 rows of 100 KB: they are there for who queries the files, latpcap needs none."""
    latpcap.read(sample()).save(tmp_path / "saved")
    forge_bomb(tmp_path / "saved", "exchanges", "statement", 16_000, 100_000, dictionary_pagesize_limit=1 << 20)
    assert peak_mb(["analyze", str(tmp_path / "saved")]) < 2 * LEAST_MB + PYTHON_MB


def test_a_scan_of_one_client_takes_no_more_than_the_memory(flood: Path) -> None:
    assert peak_mb(["scan", str(flood), "--totals", "--workers", "1"]) < 2 * LEAST_MB + PYTHON_MB


@pytest.mark.parametrize("command", ["table tasks", "rank"])
def test_what_is_computed_from_a_recording_takes_no_more_than_the_memory(flood: Path, command: str) -> None:
    assert peak_mb([*command.split(), str(flood)]) < LEAST_MB + BESIDE_MB


def test_a_dataset_is_written_within_the_memory(flood: Path, tmp_path: Path) -> None:
    assert peak_mb(["scan", str(flood), "-o", str(tmp_path / "saved")]) < LEAST_MB + BESIDE_MB


def test_a_table_that_does_not_fit_is_told_before_it_is_made(flood: Path) -> None:
    with pytest.raises(latpcap.UsageError, match=r"^[0-9,]+ exchanges take more than 32 MB as a table: select a part"):
        latpcap.read(flood, memory=LEAST_MB * 10**6).sql("select count(*) from exchanges")
