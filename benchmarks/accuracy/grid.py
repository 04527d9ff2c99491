#!/usr/bin/env python3
"""The grid of `project --connections 1,2,4,8,16 --rtt …` beside runs really made: benchmarks/results/grid.md.

    python benchmarks/accuracy/record_crowds.py --only grid_.* --rtt 0.5,3,20 --capture 1,4 --count 1,2,4,8,16 --into FOLDER
    python benchmarks/accuracy/grid.py FOLDER     # projects every capture onto all cells, keeps facts/grid.csv.xz, writes the page
    python benchmarks/accuracy/grid.py            # the page again, from what is kept

A capture is cut to its steady part, as set-up is no work. The RTT that is asked for is what a capture at that setting of the link shows.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import statistics
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from crowds import as_csv
from kept import FACTS, keep
from scores import score_pct, width_pct

import latpcap

Row = dict[str, Any]
PAGE = Path(__file__).resolve().parents[1] / "results" / "grid.md"
STEADY = {"start": timedelta(seconds=1), "end": timedelta(seconds=3.6)}
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


def main() -> None:
    if sys.argv[1:]:
        folder = Path(sys.argv[1])
        runs = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
        keep("grid.csv", as_csv(rows(folder, runs)))
    kept = csv.DictReader(io.StringIO(lzma.decompress((FACTS / "grid.csv.xz").read_bytes()).decode()))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "".join(tables([typed(row) for row in kept])) + END + rest.partition(END)[2])


def typed(row: dict[str, str]) -> Row:
    words = ("workload", "method", "limit")
    return {name: value if name in words else float(value) for name, value in row.items()}


def rows(folder: Path, runs: list[Row]) -> Iterator[Row]:
    """Each capture onto each cell of its job."""
    for run in (run for run in runs if run["capture"]):
        job = [each for each in runs if each["workload"] == run["workload"]]
        shown = {each["rtt_ms"]: baseline(folder, each) for each in job if each["capture"] and each["clients"] == 1}
        counted: dict[tuple[float, int], list[float]] = {}
        for each in (each for each in job if not each["capture"]):
            counted.setdefault((each["rtt_ms"], each["clients"]), []).append(each["tps"])
        capture = latpcap.read(folder / run["capture"], rtt_is="in-stream").select(**STEADY)  # type: ignore[arg-type]
        grid = capture.project_grid(sorted({clients for _, clients in counted}), list(shown.values()))
        settings = {rtt: setting for setting, rtt in shown.items()}
        for cell in grid.cells:
            setting = settings[cell.rtt_ms]
            yield row(run, setting, grid, cell, counted[setting, cell.connections])


def baseline(folder: Path, run: Row) -> float:
    return latpcap.read(folder / run["capture"]).project([]).baseline_rtt_ms or run["rtt_ms"]


def row(run: Row, to_ms: float, grid: Any, cell: Any, rates: list[float]) -> Row:
    measured = statistics.median(rates)
    rate, low, high = (
        run["tps"] * grid.now.runtime_s / s for s in (cell.runtime_s, cell.pessimistic_s, cell.optimistic_s)
    )
    limit = next((each.limit for each in grid.by_connections if each.connections == cell.connections), None)
    return {
        "workload": run["workload"],
        "from_ms": run["rtt_ms"],
        "from_clients": run["clients"],
        "to_ms": to_ms,
        "to_clients": cell.connections,
        "measured_per_s": round(measured, 2),
        "spread_pct": round(100 * (max(rates) / min(rates) - 1), 1),
        "predicted_per_s": round(rate, 2),
        "low_per_s": round(low, 2),
        "high_per_s": round(high, 2),
        "error_pct": round(100 * (rate / measured - 1), 2),
        "inside": int(low <= measured <= high),
        "width_pct": round(width_pct(low, high, measured), 2),
        "score_pct": round(score_pct(low, high, measured), 2),
        "method": cell.method,
        "limit": limit.kind if limit else "",
    }


# --- the page ---------------------------------------------------------------------------------------------------------

HEAD = "pairs | median error | p90 | worst | inside | half-width |\n"


def tables(kept: list[Row]) -> Iterator[str]:
    yield f"| connections | RTT | {HEAD}|---|---|--:|--:|--:|--:|--:|--:|\n"
    for connections in ("same", "fewer", "more"):
        for rtt in ("same", "longer", "shorter"):
            yield line(f"{connections} | {rtt}", [each for each in kept if shape(each) == (connections, rtt)])
    yield line("all | all", kept)
    yield f"\n| job | {HEAD}|---|--:|--:|--:|--:|--:|\n"
    for job in sorted({each["workload"] for each in kept}):
        yield line(job.removeprefix("grid_"), [each for each in kept if each["workload"] == job])
    yield "\n| outside | from | to | measured /s | predicted /s | range | said |\n|---|--:|--:|--:|--:|--:|---|\n"
    for each in sorted((each for each in kept if not each["inside"]), key=lambda each: -each["score_pct"]):
        yield outside(each)


def shape(row: Row) -> tuple[str, str]:
    def way(before: float, after: float, less: str, more: str) -> str:
        return "same" if before == after else more if after > before else less

    rtt = way(row["from_ms"], row["to_ms"], "shorter", "longer")
    return way(row["from_clients"], row["to_clients"], "fewer", "more"), rtt


def line(name: str, group: list[Row]) -> str:
    errors = sorted((abs(each["error_pct"]), each["error_pct"]) for each in group)
    middle: Callable[[list[float]], float] = statistics.median
    return (
        f"| {name} | {len(group)} | {middle([size for size, _ in errors]):.1f} % | {errors[int(0.9 * (len(errors) - 1))][0]:.1f} % "
        f"| {errors[-1][1]:+.0f} % | {100 * sum(each['inside'] for each in group) / len(group):.0f} % "
        f"| {middle([each['width_pct'] for each in group]) / 2:.0f} % |\n"
    )


def outside(each: Row) -> str:
    return (
        f"| {each['workload'].removeprefix('grid_')} | {each['from_clients']:.0f} at {each['from_ms']:g} ms "
        f"| {each['to_clients']:.0f} at {each['to_ms']:g} ms | {each['measured_per_s']:,.4g} | {each['predicted_per_s']:,.4g} "
        f"| {each['low_per_s']:,.4g} … {each['high_per_s']:,.4g} | {each['limit']}, {each['method']} |\n"
    )


if __name__ == "__main__":
    main()
