#!/usr/bin/env python3
"""Compare `--loss`, `--jitter` and `--bandwidth` with runs over a link that has them: benchmarks/results/accuracy-conditions.md.

    python benchmarks/accuracy/conditions.py --repeat 5

Needs the lab as `record.py` does, and what that recorded at 1 and 15 ms: jobs are projected from the one onto the RTT that the
other shows. Losses strike at random, so the mean of several runs is compared, and the single runs with the range.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from facts import Facts, facts
from matrix import JOBS, Job
from metronome import Metronome, metronome
from record import Setting, attempt, lab
from table import by_workload, median_run

PAGE = Path(__file__).resolve().parents[1] / "results" / "accuracy-conditions.md"
FROM_MS, TO_MS = 1.0, 15.0
NAMES = (
    *("pymysql_nplus1", "psycopg2_nplus1", "fbclient_nplus1", "psycopg2_cursor10", "pymysql_processes"),
    *("pymysql_connect_each", "psycopg2_tls_connect_each", "pymysql_hundreds", "psycopg2_bulk", "psycopg2_copy_in"),
)


@dataclass(frozen=True)
class Link:
    """What the link is set to, and what latpcap is told of it."""

    option: str
    told: dict[str, float]
    set_to: dict[str, float] = field(default_factory=dict)


LINKS = (
    Link("--loss 0.5%", {"loss": 0.005}, {"loss_percent": 0.5}),
    Link("--loss 2%", {"loss": 0.02}, {"loss_percent": 2}),
    Link("--jitter 4", {"jitter_ms": 4}, {"jitter_ms": 2}),
    Link("--bandwidth 20Mbit", {"bandwidth_bps": 20e6}, {"rate_bps": 20e6}),
)
"""The link's jitter is that of each way: two make the RTT's."""

INTRO = f"""\
# How right the projection is on worse links

Runs over a link that loses packets, is uneven or narrow, at {TO_MS:g} ms, and what latpcap says of them from a capture at
{FROM_MS:g} ms without any of that. `benchmarks/accuracy/conditions.py` makes this page; [accuracy.md](accuracy.md) explains the
words. *inside* counts the single runs.

| link | workload | measured, mean | least … most | predicted | error | optimistic … pessimistic | inside |
|---|---|--:|--:|--:|--:|--:|--:|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs of each job over each link")
    repeat = parser.parse_args().repeat
    jobs = [job for job in JOBS if job.name in NAMES]
    clean = {(job.name, rtt_ms): recorded(job, rtt_ms) for job in jobs for rtt_ms in (FROM_MS, TO_MS)}
    with metronome() as ticking:
        lines = [
            compare(job, link, clean[job.name, FROM_MS], clean[job.name, TO_MS].rtt.in_stream, list(runs))
            for link in LINKS
            for job in jobs
            for runs in [worse(job, link, repeat, ticking)]
        ]
    PAGE.write_text(INTRO + "".join(lines))
    lab.set_link()


def recorded(job: Job, rtt_ms: float) -> Facts:
    """The median run that `record.py` kept."""
    runs = [json.loads(line) for line in (lab.LAB / "truth.jsonl").read_text().splitlines()]
    return facts(lab.LAB / median_run(by_workload(runs)[job.name][rtt_ms])["capture"])


def worse(job: Job, link: Link, repeat: int, ticking: Metronome) -> Iterator[float]:
    """How long the job takes over the worse link, several times."""
    with tempfile.TemporaryDirectory(dir=lab.LAB) as folder:
        for number in range(repeat):
            capture = Path(folder) / f"{number}.pcapng"
            attempt(job, Setting(Path(folder), TO_MS, number, ticking, link=link.set_to), {capture: lab.CLIENT})
            yield facts(capture).runtime_s


def compare(job: Job, link: Link, base: Facts, rtt_ms: float, took: list[float]) -> str:
    """A row of the table."""
    [point] = base.capture.project([rtt_ms], **link.told).points  # type: ignore[arg-type]
    predicted, low, high = (value or 0.0 for value in (point.runtime_s, point.optimistic_s, point.pessimistic_s))
    mean, inside = statistics.mean(took), sum(low <= seconds <= high for seconds in took)
    line = (
        f"| `{link.option}` | {job.name} | {mean:.3f} s | {min(took):.3f} … {max(took):.3f} | {predicted:.3f} s "
        f"| {100 * (predicted / mean - 1):+.1f} % | {low:.3f} … {high:.3f} | {inside} of {len(took)} |\n"
    )
    print(line, end="", flush=True)
    return line


if __name__ == "__main__":
    main()
