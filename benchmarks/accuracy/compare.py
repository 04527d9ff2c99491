#!/usr/bin/env python3
"""Compare the projections of two versions of latpcap from the same captures, class by class and pair by pair.

    OLD/.venv/bin/python OLD/benchmarks/accuracy/table.py LAB --csv old.csv --stdout >/dev/null
    NEW/.venv/bin/python NEW/benchmarks/accuracy/table.py LAB --csv new.csv --stdout >/dev/null
    python benchmarks/accuracy/compare.py old.csv new.csv            # at the in-stream mean of the target
    python benchmarks/accuracy/compare.py old.csv new.csv --at echo  # at the echo of its link

The old version may run the new `table.py`. `!` marks a figure of a class that is worse. Only pairs that are in both tables, and that both take for the same job, are
compared.
The exit status is 1 where a class is worse, or a pair's error by more than a percentage point.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kept import ECHO, IN_STREAM, key, typed
from page import direction
from scores import Row, figures, how_far, way

WORSE_PCT = 1.0
ROUNDING = {"median error": 0.05, "p90": 0.05, "inside": 0.0, "half-width": 0.25, "score": 0.5}
"""By so much a class may be worse before it is marked, in percentage points: `accuracy.csv` holds five digits."""
MORE_IS_BETTER = "inside"


@dataclass(frozen=True)
class Pair:
    """One projection by both."""

    old: Row
    new: Row

    @property
    def worse_pct(self) -> float:
        return size(self.new) - size(self.old)


CLASSES: tuple[Callable[[Row], str], ...] = (
    lambda row: way(row),
    lambda row: how_far(row),
    lambda row: direction(row),
    lambda row: f"{row['protocol']}, {way(row)}",
    lambda row: f"{row['kind']}, {way(row)}",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--at", choices=(IN_STREAM, ECHO), default=IN_STREAM, help="the RTT that was asked for")
    arguments = parser.parse_args()
    old, new = read(arguments.old, arguments.at), read(arguments.new, arguments.at)
    pairs = [Pair(old[key], new[key]) for key in old if key in new]
    pairs = [pair for pair in pairs if pair.old["same_job"] and pair.new["same_job"]]
    print(f"{len(old)} and {len(new)} pairs, {len(pairs)} of them compared.\n")
    table = classes(pairs)
    print("\n".join(table))
    worse = sorted((pair for pair in pairs if pair.worse_pct > WORSE_PCT), key=lambda pair: -pair.worse_pct)
    print("\n".join(["", f"{len(worse)} pairs are worse by more than {WORSE_PCT:g} percentage point:", *each(worse)]))
    better = sum(pair.worse_pct < -WORSE_PCT for pair in pairs)
    print(f"\n{better} pairs are better by more than that.")
    return int(bool(worse) or any("!" in line for line in table))


def read(path: Path, at: str = IN_STREAM) -> dict[tuple[str, float, float], Row]:
    with path.open(newline="") as file:
        rows = [typed(row, at) for row in csv.DictReader(file) if at != ECHO or row["echo_ms"] != "nan"]
    return {key(row): row for row in rows}


def size(row: Row) -> float:
    return abs(row["error_pct"])


def classes(pairs: list[Pair]) -> list[str]:
    """A line a class: each figure before and after."""
    lines = ["| | pairs | " + " | ".join(ROUNDING) + " |", "|---" + "|--:" * (len(ROUNDING) + 1) + "|"]
    for name_of in CLASSES:
        groups: dict[str, list[Pair]] = {}
        for pair in sorted(pairs, key=lambda pair: (pair.old["from_ms"], pair.old["to_ms"])):
            groups.setdefault(name_of(pair.old), []).append(pair)
        for name, group in groups.items():
            before, after = figures([pair.old for pair in group]), figures([pair.new for pair in group])
            cells = " | ".join(change(figure, before[figure], after[figure]) for figure in ROUNDING)
            lines.append(f"| {name} | {len(group)} | {cells} |")
    return lines


def change(figure: str, before: float, after: float) -> str:
    worse = (before - after if figure == MORE_IS_BETTER else after - before) > ROUNDING[figure]
    return f"{before:.1f} → {after:.1f} %{' !' if worse else ''}"


def each(pairs: list[Pair]) -> list[str]:
    lines = ["", "| workload | RTT | measured s | old: predicted s | error | new: predicted s | error |"]
    lines.append("|---|---|--:|--:|--:|--:|--:|")
    for pair in pairs:
        cells = " | ".join(f"{row['predicted_s']:.3f} | {row['error_pct']:+.1f} %" for row in (pair.old, pair.new))
        lines.append(f"| {pair.old['workload']} | {direction(pair.old)} | {pair.old['measured_s']:.3f} | {cells} |")
    return lines if pairs else []


if __name__ == "__main__":
    sys.exit(main())
