#!/usr/bin/env python3
"""`--window` and `--compression` beside runs that had them: benchmarks/results/buffers.md.

    python benchmarks/accuracy/buffers.py FOLDER record   # needs the lab, up, with what record_crowds.py --only grid_.* needs
    python benchmarks/accuracy/buffers.py FOLDER          # projects what is recorded, writes the page's tables

A receive buffer is set by `buffers.c` before the client connects; compression is the MySQL protocol's (`mariadb --compress`).
The part of the bytes that it leaves is read from two captures, and told to latpcap as a user would.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

import latpcap

PAGE = Path(__file__).resolve().parents[1] / "results" / "buffers.md"
PRELOADED = lab.LAB / "bin/buffers.so"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
MARIADB = ["mariadb", "--no-defaults", "-h", lab.DEBIANS, "-ulab", "-plabpw", "lab", "-N", "-s"]
PSQL = ["psql", "-h", lab.DEBIANS, "-p", "5442", "-U", "lab", "-q", "-At", "s10"]


def rows(table: str, key: str, size: int, apart: int, times: int) -> str:
    blocks = (range(1 + number * apart, 1 + number * apart + size) for number in range(times))
    return "".join(f"SELECT * FROM {table} WHERE {key} BETWEEN {each[0]} AND {each[-1]};" for each in blocks)


JOBS: dict[str, tuple[list[str], str]] = {
    "mariadb_bulk": (MARIADB, rows("big", "id", 2500, 5000, 2)),
    "mariadb_100kB": (MARIADB, rows("big", "id", 100, 300, 40)),
    "mariadb_digits": (MARIADB, "".join(f"SELECT * FROM sbtest{number} WHERE id <= 12500;" for number in (1, 2))),
    "mariadb_nplus1": (MARIADB, rows("employees", "emp_no", 1, 17, 150)),
    "psql_bulk": (PSQL, rows("pgbench_accounts", "aid", 25000, 50000, 2)),
    "psql_100kB": (PSQL, rows("pgbench_accounts", "aid", 950, 3000, 40)),
    "psql_copy": (PSQL, "COPY (SELECT * FROM pgbench_accounts WHERE aid <= 50000) TO STDOUT;"),
}
WINDOWED = [name for name in JOBS if not name.endswith(("digits", "nplus1"))]
COMPRESSED = [name for name in JOBS if name.startswith("mariadb")]


@dataclass(frozen=True)
class Run:
    """One run: `window` 0 is the system's own, `rate_bps` 0 no bottleneck."""

    job: str
    rtt_ms: float
    window: int = 0
    rate_bps: int = 0
    compressed: bool = False
    number: int = 0

    @property
    def name(self) -> str:
        return "__".join(str(value) for value in asdict(self).values()) + ".pcapng"


def planned() -> Iterator[Run]:
    yield from (Run(job, 0.5) for job in JOBS)
    for number, job, rtt_ms, window in product((0, 1), WINDOWED, (3.0, 20.0), (0, 16384, 65536, 200000)):
        yield Run(job, rtt_ms, window, number=number)
    for job, rtt_ms, rate, compressed in product(COMPRESSED, (3.0, 20.0), (0, 10**8, 2 * 10**7), (False, True)):
        yield Run(job, rtt_ms, rate_bps=rate, compressed=compressed, number=2)


def record(folder: Path) -> None:
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", PRELOADED, source, "-ldl"], check=True)
    for run in (run for run in planned() if not (folder / run.name).exists()):
        argv, text = JOBS[run.job]
        lab.set_link(run.rtt_ms, rate_bps=run.rate_bps)
        environment = os.environ | ({"LD_PRELOAD": str(PRELOADED), "RCVBUF": str(run.window)} if run.window else {})
        command = lab.inside(lab.CLIENT[0], [*lab.REALTIME, *argv, *(["--compress"] if run.compressed else [])])
        with lab.capturing(lab.CLIENT, folder / run.name, "tcp"):
            subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, env=environment, check=True)
        print(run.name, flush=True)
    lab.set_link()


# --- compared ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What a capture shows."""

    capture: latpcap.Capture
    runtime_s: float
    rtt_ms: float
    response_bytes: int


def seen(path: Path) -> Seen:
    capture = latpcap.read(path, rtt_is="in-stream")
    basis = capture.measures.basis
    sent = int(capture.measures.recording.exchanges.response_wire_bytes.sum())
    return Seen(capture, basis.runtime_s, basis.baseline_ms, sent)


def compared(folder: Path) -> Iterator[dict[str, Any]]:
    """Each run with a small window, or compressed, from captures of the same job without."""
    found = {run: seen(folder / run.name) for run in planned() if (folder / run.name).exists()}
    for told in dict.fromkeys(Run(run.job, run.rtt_ms, run.window, run.rate_bps, run.compressed) for run in found):
        if not (told.window or told.compressed):
            continue
        same = [each for run, each in found.items() if Run(*list(asdict(run).values())[:5]) == told]
        plain = [run for run in found if run.job == told.job and not (run.window or run.compressed or run.rate_bps)]
        alike = next(found[run] for run in plain if run.rtt_ms == told.rtt_ms)
        for run in (run for run in plain if run.number == 0 or run.rtt_ms == told.rtt_ms):
            left = min(same[0].response_bytes / alike.response_bytes, 1.0) if told.compressed else None
            there = {"window_bytes": told.window or None, "compression": left, "bandwidth_bps": told.rate_bps or None}
            [point] = found[run].capture.project([alike.rtt_ms], **there).points  # type: ignore[arg-type]
            measured = statistics.median(each.runtime_s for each in same)
            yield {"told": told, "left": left, "measured": measured, "point": point}


def tables(pairs: list[dict[str, Any]]) -> Iterator[str]:
    head = "pairs | median error | worst | inside | half-width |\n"
    yield f"| `--window` | RTT ms | {head}|--:|--:|--:|--:|--:|--:|--:|\n"
    windows = [pair for pair in pairs if pair["told"].window]
    for window, rtt_ms in sorted({(pair["told"].window, pair["told"].rtt_ms) for pair in windows}):
        group = [pair for pair in windows if (pair["told"].window, pair["told"].rtt_ms) == (window, rtt_ms)]
        yield line(f"{window:,} | {rtt_ms:g}", group)
    yield f"\n| `--compression` | job | bottleneck | {head}|--:|---|---|--:|--:|--:|--:|--:|\n"
    others = [pair for pair in pairs if pair["told"].compressed]
    for job, rate in sorted({(pair["told"].job, pair["told"].rate_bps) for pair in others}):
        group = [pair for pair in others if (pair["told"].job, pair["told"].rate_bps) == (job, rate)]
        yield line(f"{group[0]['left']:.0%} | {job} | {f'{rate / 1e6:g} Mbit/s' if rate else 'none'}", group)


def line(name: str, group: list[dict[str, Any]]) -> str:
    errors = sorted((100 * (pair["point"].runtime_s / pair["measured"] - 1) for pair in group), key=abs)
    inside = sum(pair["point"].optimistic_s <= pair["measured"] <= pair["point"].pessimistic_s for pair in group)
    widths = [(pair["point"].pessimistic_s - pair["point"].optimistic_s) / 2 / pair["measured"] for pair in group]
    middle = statistics.median(map(abs, errors))
    return (
        f"| {name} | {len(group)} | {middle:.1f} % | {errors[-1]:+.0f} % | {inside} of {len(group)} "
        f"| {100 * statistics.median(widths):.0f} % |\n"
    )


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["record"]:
        record(folder)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "".join(tables(list(compared(folder)))) + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
