#!/usr/bin/env python3
"""`--connections` against crowds that really ran: statements a second of N clients, from the capture of fewer.

    python benchmarks/accuracy/crowds.py FOLDER [--keep]     # reads FOLDER/truth.jsonl, prints the table; keeps it in facts/

A line of `truth.jsonl` has `workload`, `rtt_ms`, `clients`, `tps` (statements a second, as the clients counted them) and `capture`, which
is empty for crowds that were only counted. Every capture is projected onto all larger crowds of its job at its RTT:
what its clients got done, times how much sooner the job ends than it would with as many as there were. The clients count
from when all are connected, and the capture begins before that: so neither this nor statements that cannot be read (TLS)
count as an error.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kept import keep
from scores import score_pct, width_pct

import latpcap

Run = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the table in facts/")
    parser.add_argument(
        "--before", type=Path, help="to keep with it: the table of the same captures by another version"
    )
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    runs = [json.loads(line) for line in (arguments.folder / "truth.jsonl").read_text().splitlines()]
    text = as_csv(rows(arguments.folder, runs))
    if arguments.keep:
        keep("crowds.rates.csv", text)
        if arguments.before:
            keep("crowds.rates.before.csv", arguments.before.read_text())
    if arguments.csv:
        arguments.csv.write_text(text)
    sys.stdout.write(text)


def rows(folder: Path, runs: list[Run]) -> Iterator[Run]:
    measured: dict[tuple[str, float, int], list[float]] = {}
    for run in runs:
        measured.setdefault((run["workload"], run["rtt_ms"], run["clients"]), []).append(run["tps"])
    for run in (run for run in runs if run["capture"]):
        capture = latpcap.read(folder / run["capture"])
        for (workload, rtt_ms, clients), rates in measured.items():
            if (workload, rtt_ms) == (run["workload"], run["rtt_ms"]) and clients > run["clients"]:
                yield row(run, capture, clients, statistics.median(rates))


def row(run: Run, capture: latpcap.Capture, clients: int, measured: float) -> Run:
    """Rates; the slow end of the range is the pessimistic runtime's."""
    projection = capture.project(connections=clients)
    rtt_ms = [projection.baseline_rtt_ms or run["rtt_ms"]]
    [point], [as_many] = (capture.project(rtt_ms=rtt_ms, connections=each).points for each in (clients, run["clients"]))
    ends = (point.runtime_s, point.pessimistic_s, point.optimistic_s)
    rate, low, high = (run["tps"] * (as_many.runtime_s or 0.0) / end if end else 0.0 for end in ends)
    limit = projection.limit
    return {
        "workload": run["workload"],
        "rtt_ms": run["rtt_ms"],
        "clients": run["clients"],
        "of_clients": clients,
        "measured_per_s": round(measured, 1),
        "predicted_per_s": round(rate, 1),
        "low_per_s": round(low, 1),
        "high_per_s": round(high, 1),
        "limit": limit.kind if limit else "none",
        "limit_per_s": round(limit.per_s, 1) if limit and limit.per_s else "",
        "error_pct": round(100 * (rate / measured - 1), 2),
        "inside": low <= measured <= high,
        "width_pct": round(width_pct(low, high, measured), 2),
        "score_pct": round(score_pct(low, high, measured), 2),
    }


def as_csv(found: Iterator[Run]) -> str:
    text, listed = io.StringIO(), list(found)
    writer = csv.DictWriter(text, list(listed[0]) if listed else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


if __name__ == "__main__":
    main()
