#!/usr/bin/env python3
"""Project every recorded run onto the RTTs of its siblings and compare with what they took.

    python benchmarks/accuracy/table.py LAB            # reads LAB/truth.jsonl, writes LAB/accuracy.csv and docs/accuracy.md
    python benchmarks/accuracy/table.py LAB --only '^my_' --stdout

`truth.jsonl` has a line a run (see record.py). Of several runs of one workload at one RTT, the one with the median duration counts.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from facts import STATISTIC, Facts, facts
from page import AT_SERVER, page

DIRECTIONS = (
    *((0.5, 5.0), (0.5, 15.0), (0.5, 50.0), (1.0, 5.0), (1.0, 15.0), (1.0, 50.0)),
    *((15.0, 0.5), (15.0, 1.0), (15.0, 5.0)),
    *((0.0, 0.5), (0.0, 1.0), (0.0, 5.0), (0.0, 15.0), (0.0, 50.0)),
)
OTHER_JOB = 0.05
"""Two runs whose round trips differ by more were not the same job: such a pair is told, and not counted."""

STILL = 0.01
"""A run during which a CPU stood still for a larger share counts only where there is no other."""

Run = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One projection and its truth."""

    workload: str
    protocol: str
    driver: str
    kind: str
    from_ms: float
    to_ms: float
    """Asked of the link."""
    base_ms: float
    """In-stream RTT of the base, by the same statistic as the target's."""
    baseline_ms: float
    """What latpcap took the RTT of the base capture for."""
    target_baseline_ms: float
    target_ms: float
    """What the target's capture shows: the RTT that was projected onto."""
    measured_s: float
    """First packet of the first database connection → last data packet of one."""
    application_s: float
    predicted_s: float
    optimistic_s: float
    pessimistic_s: float
    error_pct: float
    inside: bool
    bare_ms: float
    """The target's RTT by bare ACKs alone, and what the projection onto that comes to."""
    bare_error_pct: float
    bare_inside: bool
    median_ms: float
    """Median of the target's acknowledgments."""
    round_trips: int
    target_round_trips: int
    same_job: bool
    spread_pct: float
    """How far the repetitions of the target lie apart, half their range; 0 where there was one."""


def main() -> None:
    arguments = parse()
    lab = arguments.lab
    runs = [json.loads(line) for line in (lab / "truth.jsonl").read_text().splitlines()]
    rows: list[Row] = []
    for workload, siblings in by_workload(runs).items():
        if re.search(arguments.only, workload):
            rows += compare(lab, siblings)
    write_csv(arguments.csv or lab / "accuracy.csv", rows)
    text = page([asdict(row) for row in rows], runs, STATISTIC, validated(lab, by_workload(runs)))
    if arguments.stdout:
        sys.stdout.write(text)
    else:
        arguments.page.write_text(text)


def validated(lab: Path, workloads: dict[str, dict[float, list[Run]]]) -> str:
    """What `latpcap validate` prints of two captures of one job."""
    name = next((name for name, runs in workloads.items() if {1.0, 15.0} <= set(runs)), None)
    if name is None:
        return ""
    files = [median_run(workloads[name][rtt])["capture"] for rtt in (1.0, 15.0)]
    argv = ["-m", "latpcap", "validate", files[0], "--against", files[1]]
    ended = subprocess.run([sys.executable, *argv], cwd=lab, capture_output=True, text=True, check=True)
    return f"$ latpcap {' '.join(argv[2:])}\n{ended.stdout}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lab", type=Path, help="folder with truth.jsonl and the captures")
    parser.add_argument("--only", default=".", help="workloads that match this regular expression")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--page", type=Path, default=Path(__file__).resolve().parents[2] / "docs" / "accuracy.md")
    parser.add_argument("--stdout", action="store_true", help="print the page instead of writing it")
    return parser.parse_args()


def by_workload(runs: list[Run]) -> dict[str, dict[float, list[Run]]]:
    """The runs of each workload by RTT, in the order in which they were recorded."""
    grouped: dict[str, dict[float, list[Run]]] = {}
    for run in runs:
        if run["capture"]:
            grouped.setdefault(run["workload"], {}).setdefault(run["rtt_ms"], []).append(run)
    return grouped


def compare(lab: Path, siblings: dict[float, list[Run]]) -> Iterator[Row]:
    """Every direction for which both captures exist, from the client's and the server's side; each capture is read once."""
    chosen = {rtt: median_run(runs) for rtt, runs in siblings.items()}
    known = {rtt: facts(lab / run["capture"]) for rtt, run in chosen.items()}
    for start, end in DIRECTIONS:
        if start in known and end in known:
            yield row(chosen[end], start, known[start], known[end], spread(siblings[end]))
    # A capture taken at the server does not see when the client got its last answer: what it predicts is compared with the client's runtime.
    for start, runs in siblings.items():
        at_server = next((run["capture_server"] for run in runs if run["capture_server"]), None)
        ends = [end for begin, end in DIRECTIONS if begin == start and end in known]
        if at_server and ends:
            base = facts(lab / at_server)
            for end in ends:
                yield replace(
                    row(chosen[end], start, base, known[end], spread(siblings[end])),
                    workload=f"{chosen[end]['workload']} (at the server)",
                    kind=AT_SERVER,
                )


def median_run(runs: list[Run]) -> Run:
    """The middle one by duration, of those during which the CPUs kept going, if there are any."""
    quiet = [run for run in runs if run.get("still_s", 0) <= STILL * run["total_s"]]
    ordered = sorted(quiet or runs, key=lambda run: float(run["total_s"]))
    return ordered[(len(ordered) - 1) // 2]


def spread(runs: list[Run]) -> float:
    seconds = [float(run["total_s"]) for run in runs]
    return 50 * (max(seconds) - min(seconds)) / float(median_run(runs)["total_s"])


def row(run: Run, start: float, base: Facts, target: Facts, spread_pct: float) -> Row:
    point, bare = base.capture.project(rtt_ms=[target.rtt.in_stream, target.rtt.bare]).points
    predicted, low, high = (value or 0.0 for value in (point.runtime_s, point.optimistic_s, point.pessimistic_s))
    return Row(
        workload=run["workload"],
        protocol=run["protocol"],
        driver=run["driver"],
        kind=run["kind"],
        from_ms=start,
        to_ms=run["rtt_ms"],
        base_ms=base.rtt.in_stream,
        baseline_ms=base.rtt.baseline,
        target_baseline_ms=target.rtt.baseline,
        target_ms=target.rtt.in_stream,
        measured_s=target.runtime_s,
        application_s=run["total_s"],
        predicted_s=predicted,
        optimistic_s=low,
        pessimistic_s=high,
        error_pct=100 * (predicted / target.runtime_s - 1),
        inside=low <= target.runtime_s <= high,
        bare_ms=target.rtt.bare,
        bare_error_pct=100 * ((bare.runtime_s or 0.0) / target.runtime_s - 1),
        bare_inside=(bare.optimistic_s or 0.0) <= target.runtime_s <= (bare.pessimistic_s or 0.0),
        median_ms=target.rtt.median,
        round_trips=base.round_trips,
        target_round_trips=target.round_trips,
        same_job=abs(base.round_trips - target.round_trips) <= OTHER_JOB * base.round_trips,
        spread_pct=spread_pct,
    )


def write_csv(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        writer.writeheader()
        for each in rows:
            writer.writerow(
                {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in asdict(each).items()}
            )


if __name__ == "__main__":
    main()
