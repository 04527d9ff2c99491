"""latpcap against tshark on the same capture, in turn: wall time, CPU time, peak memory, and their ratios.

    python benchmarks/speed.py [CAPTURE] [--packets 1000000] [--runs 5]

Without CAPTURE the classic N+1 is generated (benchmarks/nplus1.py) into the folder for temporary files and kept there.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LATPCAP = [sys.executable, "-m", "latpcap", "analyze", "--json", "--quiet"]
TSHARK = ["tshark", "-T", "fields", "-e", "tcp.stream", "-e", "mysql.query", "-e", "tcp.analysis.initial_rtt", "-r"]


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def main() -> None:
    arguments = parse()
    capture = arguments.capture or generated(arguments.packets)
    print(f"{capture.name}: {capture.stat().st_size / 1e6:,.0f} MB; {os.cpu_count()} processors, {load()}\n")
    runs: dict[str, list[Cost]] = {"latpcap": [], "tshark": []}
    measure([*LATPCAP, str(capture)])  # the first run also fills the file cache
    for _ in range(arguments.runs):
        runs["latpcap"].append(measure([*LATPCAP, str(capture)]))
        runs["tshark"].append(measure([*TSHARK, str(capture)]))
    report(runs)
    print(f"\n{load()}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path, nargs="?")
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if shutil.which("tshark") is None:
        parser.error("tshark is not installed")
    return arguments


def generated(packets: int) -> Path:
    path = Path(tempfile.gettempdir()) / f"latpcap-nplus1-{packets}.pcap"
    if not path.exists():
        part = path.with_suffix(".part")
        generator = Path(__file__).with_name("nplus1.py")
        subprocess.run([sys.executable, str(generator), str(part), "--packets", str(packets)], check=True)
        part.rename(path)
    return path


def measure(command: list[str]) -> Cost:
    """Run `command` to its end; `os.wait4` tells of this child alone."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaint = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(complaint.decode())
    return Cost(wall_s, used.ru_utime + used.ru_stime, peak_mb(used))


def peak_mb(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def report(runs: dict[str, list[Cost]]) -> None:
    """Medians, and the median of the ratios of runs that stood side by side."""
    print(f"{'':10}{'wall s':>10}{'CPU s':>10}{'peak MB':>10}")
    for name, costs in runs.items():
        print(f"{name:10}" + "".join(f"{statistics.median(values):10.2f}" for values in columns(costs)))
    pairs = zip(columns(runs["tshark"]), columns(runs["latpcap"]), strict=True)
    ratios = [
        statistics.median(theirs / ours for theirs, ours in zip(their_column, our_column, strict=True))
        for their_column, our_column in pairs
    ]
    print(f"{'ratio':10}" + "".join(f"{ratio:9.1f}×" for ratio in ratios))


def columns(costs: list[Cost]) -> list[list[float]]:
    return [[getattr(cost, name) for cost in costs] for name in ("wall_s", "cpu_s", "peak_mb")]


def load() -> str:
    return "load averages " + ", ".join(f"{value:.1f}" for value in os.getloadavg())


if __name__ == "__main__":
    main()
