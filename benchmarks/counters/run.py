#!/usr/bin/env python3
"""Service time and runs of each statement beside the server's own counters, on real servers: docs/accuracy.md.

    benchmarks/counters/run.py                     # on loopback; needs root, tcpdump, MariaDB, PostgreSQL
    benchmarks/counters/run.py --rtt 5             # on the link of a lab that is up (benchmarks/lab/up.sh)
    benchmarks/counters/run.py --only 'mariadb|mixed'

Servers, data and captures are made anew in a folder for temporary files, and go with it (--keep FOLDER: they stay).
Servers and jobs have the lab's priority, so that a busy machine does not count. latpcap runs in this Python; the jobs
run in the lab's, which has the drivers, where there is one.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jobs import JOBS
from join import Row, WatchedSoFar, join
from servers import SERVERS, Server

import latpcap
from latpcap.result.analysis import Summary

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

HERE = Path(__file__).resolve().parent
PORT = 23306
RUNS = 3
"""Of each job; the quickest counts, as a busy machine only ever adds."""
WIDEST = 62
SMALL_MS = 1.0
HEAD = """\
| job | statement | runs: capture | server | service ms: capture | server | difference a run, µs | response ms | besides |
|---|---|--:|--:|--:|--:|--:|--:|---|"""


class PacketsLost(RuntimeError):
    """The capture misses packets: this run tells nothing."""


@dataclass(frozen=True)
class Place:
    """Where client and server are."""

    address: str
    device: str
    of_client: Sequence[str] = ()
    """What a command begins with that is to run there."""
    of_server: Sequence[str] = ()


LOOPBACK = Place("127.0.0.1", "lo")
LINK = Place(lab.DEBIANS, lab.CLIENT[1], lab.inside(lab.CLIENT[0], []), lab.inside(lab.SERVER[0], []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rtt", type=float, metavar="MS", help="run on the lab's link, at this RTT (default: on loopback)"
    )
    parser.add_argument("--only", default="", metavar="REGEX", help="of the jobs: SERVER or JOB")
    parser.add_argument("--planning", action="store_true", help="pg_stat_statements counts the time for plans, too")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave captures there")
    options = parser.parse_args()
    place = LOOPBACK if options.rtt is None else LINK
    if options.rtt is not None:
        lab.require_tools()
        lab.set_link(options.rtt)
    for name, jobs in JOBS.items():
        chosen = [job for job in jobs if re.search(options.only, f"{name} {job}")]
        if chosen:
            with tempfile.TemporaryDirectory(prefix="latpcap-counters-") as home:
                report(Path(home), name, chosen, place, options)


def report(home: Path, name: str, jobs: Sequence[str], place: Place, options: argparse.Namespace) -> None:
    """Run the jobs against one server and print its table."""
    home.chmod(0o755)
    folder = options.keep or home
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {"planning": options.planning} if name == "postgresql" else {}
    (home / "server").mkdir()
    rows, rtts_ms = [], []
    with SERVERS[name](home / "server", place.address, PORT, [*place.of_server, *lab.REALTIME], **wanted) as server:
        for job in jobs:
            path = folder / f"{name}-{job}.pcap"
            runs = recorded(server, job, place, path)
            summary, joined = min(runs, key=lambda run: run[0].runtime_s)
            rtts_ms.append(summary.baseline_rtt_ms or 0.0)
            rows += [(job, row) for row in joined]
    print(f"\n{server.version}; the baseline RTTs of the captures were {min(rtts_ms):.3g} to {max(rtts_ms):.3g} ms.\n")
    print_table(rows)


def recorded(server: Server, job: str, place: Place, path: Path) -> list[tuple[Summary, list[Row]]]:
    """Some runs of the job that were captured whole."""
    runs: list[tuple[Summary, list[Row]]] = []
    for _ in range(2 * RUNS):
        with suppress(PacketsLost):
            runs.append(record(server, job, place, path))
        if len(runs) == RUNS:
            return runs
    raise SystemExit(f"{server.name}, {job}: packets were lost while capturing, again and again")


def record(server: Server, job: str, place: Place, path: Path) -> tuple[Summary, list[Row]]:
    python = lab.LAB / "venv/bin/python"
    client = [str(python if python.exists() else sys.executable), str(HERE / "jobs.py"), server.name, job]
    command = [*place.of_client, *lab.REALTIME, *client, place.address, str(PORT)]
    subprocess.run(command, check=True)  # drivers loaded, tables in memory
    with capturing(place, path):
        server.forget()
        subprocess.run(command, check=True)
    capture = latpcap.read(path)
    return capture.analyze().summary, list(join(capture, server.counted(), server.commands()))


@contextmanager
def capturing(place: Place, path: Path) -> Iterator[None]:
    options = ["-i", place.device, "-Z", "root", "--time-stamp-precision=nano", "-B", "65536"]
    command = [*place.of_client, *lab.REALTIME, "tcpdump", *options, "-w", str(path), f"tcp port {PORT}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        if "listening" not in line:
            raise SystemExit(f"no capture: {line}")
        try:
            yield
            time.sleep(1.3)  # the kernel hands packets over in blocks, at most a second late
        finally:
            process.terminate()
        if "\n0 packets dropped by kernel" not in process.stderr.read():
            raise PacketsLost(path.name)


def print_table(rows: Sequence[tuple[str, Row]]) -> None:
    """One line a statement; those of less than a millisecond on both sides are counted where their runs are equal."""
    print(HEAD)
    for job, row in rows:
        if not is_small(row):
            print("| " + " | ".join([job, *cells(row)]) + " |")
    small = [row.seen.runs for _, row in rows if is_small(row) and row.seen]
    print(
        f"\n{len(small)} more statements ran {sum(small)} times by both counts, each for less than {SMALL_MS:g} ms in all."
    )


def is_small(row: Row) -> bool:
    ours, theirs = row.seen, row.counted
    if ours is None or theirs is None or ours.runs != theirs.runs:
        return False
    return max(ours.service_ms, theirs.service_ms) < SMALL_MS


def cells(row: Row) -> list[str]:
    text = row.text if len(row.text) <= WIDEST else f"{row.text[: WIDEST - 1]}…"
    ours, theirs = row.seen, row.counted
    both = ours is not None and theirs is not None and ours.runs
    return [
        text if text.startswith("all ") else f"`{text}`",
        f"{ours.runs:,}" if ours else "–",
        f"{theirs.runs:,}" if theirs else "–",
        f"{ours.service_ms:,.2f}" if ours else "–",
        f"{theirs.service_ms:,.2f}" if theirs else "–",
        f"{1000 * (ours.service_ms - theirs.service_ms) / ours.runs:+,.0f}" if both and ours and theirs else "–",
        f"{ours.spread_ms:,.2f}" if ours else "–",
        besides(ours) if ours else "",
    ]


def besides(seen: WatchedSoFar) -> str:
    if not seen.beside:
        return ""
    return ", ".join(f"{count:,} × {command}" for command, count in seen.beside.items()) + f": {seen.beside_ms:,.2f} ms"


if __name__ == "__main__":
    main()
