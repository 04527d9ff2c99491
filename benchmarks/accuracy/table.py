#!/usr/bin/env python3
"""Project every recorded run onto the RTTs of its siblings and compare with what they took.

    python benchmarks/accuracy/table.py LAB               # reads LAB/truth.jsonl, writes LAB/accuracy.csv, prints the summaries
    python benchmarks/accuracy/table.py LAB --keep awake  # keeps the facts, makes the pages again

`truth.jsonl` has a line a run (see record.py). Of several runs of one workload at one RTT, the one with the median duration counts.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import io
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import page
from facts import Facts, facts
from kept import Recording, keep
from page import AT_SERVER
from scores import score_pct, width_pct

import latpcap

DIRECTIONS = (
    *((0.5, 3.0), (0.5, 5.0), (0.5, 15.0), (0.5, 50.0), (1.0, 5.0), (1.0, 15.0), (1.0, 50.0)),
    *((3.0, 15.0), (3.0, 50.0), (5.0, 15.0), (5.0, 50.0), (15.0, 50.0)),
    *((15.0, 0.5), (15.0, 1.0), (15.0, 3.0), (15.0, 5.0), (5.0, 0.5), (5.0, 1.0), (3.0, 0.5)),
    *((50.0, 15.0), (50.0, 5.0), (50.0, 3.0), (50.0, 1.0), (50.0, 0.5)),
    *((0.0, 0.5), (0.0, 1.0), (0.0, 5.0), (0.0, 15.0), (0.0, 50.0)),
)
OTHER_JOB = 0.05
"""Two runs whose round trips differ by more were not the same job: such a pair is told, and not counted."""

STILL = 0.01
"""A run during which a CPU stood still for a larger share counts only where there is no other."""

PROJECTED = ("predicted_s", "optimistic_s", "pessimistic_s", "error_pct", "inside", "width_pct", "score_pct")
PLAIN = ("error_pct", "inside")
"""The columns of a projection, and those of one that is only looked at."""

Run = dict[str, Any]


@dataclass(frozen=True)
class Projected:
    """A projection beside what was measured; all NaN where no RTT was known to ask for."""

    measured_s: float
    predicted_s: float = math.nan
    optimistic_s: float = math.nan
    pessimistic_s: float = math.nan
    work: str = ""

    @property
    def error_pct(self) -> float:
        return 100 * (self.predicted_s / self.measured_s - 1)

    @property
    def inside(self) -> bool:
        return self.optimistic_s <= self.measured_s <= self.pessimistic_s

    @property
    def width_pct(self) -> float:
        return width_pct(self.optimistic_s, self.pessimistic_s, self.measured_s)

    @property
    def score_pct(self) -> float:
        return score_pct(self.optimistic_s, self.pessimistic_s, self.measured_s)

    def columns(self, prefix: str, *names: str) -> dict[str, float | bool]:
        return {prefix + name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Row:
    """One projection and its truth."""

    workload: str
    protocol: str
    driver: str
    kind: str
    work: str
    """The kind of work that latpcap tells from the base's capture."""
    processors: str
    """Whether those of the lab were kept awake."""
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
    in_stream: Projected
    echo_ms: float
    """What a user knew of the target's link (`echo.py`), and what the projection onto that comes to; NaN where it was not recorded."""
    echo: Projected
    bare_ms: float
    """The target's RTT by bare ACKs alone, and what the projection onto that comes to."""
    bare: Projected
    median_ms: float
    """Median of the target's acknowledgments."""
    round_trips: int
    target_round_trips: int
    same_job: bool
    spread_pct: float
    """How far the repetitions of the target lie apart, half their range; 0 where there was one."""
    runs: int
    """How many the target is the median of."""


def main() -> None:
    arguments = parse()
    lab = arguments.lab
    runs = [json.loads(line) for line in (lab / "truth.jsonl").read_text().splitlines()]
    rows: list[Row] = []
    for workload, siblings in by_workload(runs).items():
        if re.search(arguments.only, workload):
            rows += compare(lab, siblings)
    table = as_csv(rows)
    (arguments.csv or lab / "accuracy.csv").write_text(table)
    if arguments.keep:
        keep(f"{arguments.keep}.csv", table)
        keep(f"{arguments.keep}.jsonl", "".join(map(told, runs)))
        if arguments.before:
            keep(f"{arguments.keep}.before.csv", arguments.before.read_text())
        page.main()
    if arguments.stdout or not arguments.keep:
        name = page.SLEEPING if any(row.processors == page.SLEEPING for row in rows) else page.AWAKE
        recording = Recording(name, list(csv.DictReader(io.StringIO(table))), [], runs)
        sys.stdout.write(page.page({name: recording}, named=""))


def told(run: Run) -> str:
    """A line of the truth, without what is about this machine's files."""
    return json.dumps({name: value for name, value in run.items() if "capture" not in name}) + "\n"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lab", type=Path, help="folder with truth.jsonl and the captures")
    parser.add_argument("--only", default=".", help="workloads that match this regular expression")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--keep", metavar="NAME", help="keep the facts under that name, and make the pages again")
    parser.add_argument(
        "--before", type=Path, help="to keep with it: the table of the same captures by another version"
    )
    parser.add_argument("--stdout", action="store_true", help="print this recording's page; so without --keep")
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
            yield row(chosen[end], start, known[start], known[end], siblings[end])
    # A capture taken at the server does not see when the client got its last answer: what it predicts is compared with the client's runtime.
    for start, runs in siblings.items():
        at_server = next((run["capture_server"] for run in runs if run["capture_server"]), None)
        ends = [end for begin, end in DIRECTIONS if begin == start and end in known]
        if at_server and ends:
            base = facts(lab / at_server)
            for end in ends:
                yield replace(
                    row(chosen[end], start, base, known[end], siblings[end]),
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


def row(run: Run, start: float, base: Facts, target: Facts, repetitions: list[Run]) -> Row:
    measured = target.runtime_s
    in_stream = projected(base.capture, target.rtt.in_stream, "in-stream", measured)
    return Row(
        workload=run["workload"],
        protocol=run["protocol"],
        driver=run["driver"],
        kind=run["kind"],
        work=in_stream.work,
        processors=run.get("processors", "awake"),
        from_ms=start,
        to_ms=run["rtt_ms"],
        base_ms=base.rtt.in_stream,
        baseline_ms=base.rtt.baseline,
        target_baseline_ms=target.rtt.baseline,
        target_ms=target.rtt.in_stream,
        measured_s=measured,
        application_s=run["total_s"],
        in_stream=in_stream,
        echo_ms=run.get("echo_ms") or math.nan,
        echo=projected(base.capture, run.get("echo_ms") or math.nan, "ping", measured),
        bare_ms=target.rtt.bare,
        bare=projected(base.capture, target.rtt.bare, "in-stream", measured),
        median_ms=target.rtt.median,
        round_trips=base.round_trips,
        target_round_trips=target.round_trips,
        same_job=abs(base.round_trips - target.round_trips) <= OTHER_JOB * base.round_trips,
        spread_pct=spread(repetitions),
        runs=len(repetitions),
    )


def projected(capture: latpcap.Capture, rtt_ms: float, meaning: str, measured_s: float) -> Projected:
    """`meaning`: what the RTT was measured by, where this version of latpcap asks for that."""
    if math.isnan(rtt_ms):
        return Projected(measured_s)
    more = {"rtt_is": meaning} if "rtt_is" in inspect.signature(capture.project).parameters else {}
    point = capture.project(rtt_ms=[rtt_ms], **more).points[0]
    seconds = (each or 0.0 for each in (point.runtime_s, point.optimistic_s, point.pessimistic_s))
    return Projected(measured_s, *seconds, work=getattr(point, "work", None) or "")


def as_csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    table = [columns(each) for each in rows]
    writer.writerows([list(each) for each in table[:1]])
    writer.writerows([shown(value) for value in each.values()] for each in table)
    return text.getvalue()


def columns(row: Row) -> dict[str, Any]:
    """Those of a row; what was projected onto the in-stream mean has plain names, the rest those of its RTT before them."""
    found: dict[str, Any] = {}
    for field in fields(Row):
        value = getattr(row, field.name)
        if isinstance(value, Projected):
            prefix = "" if field.name == "in_stream" else f"{field.name}_"
            found |= value.columns(prefix, *(PLAIN if field.name == "bare" else PROJECTED))
        else:
            found[field.name] = value
    return found


def shown(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value


if __name__ == "__main__":
    main()
