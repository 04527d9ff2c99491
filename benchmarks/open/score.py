#!/usr/bin/env python3
"""Score predictions of any tool against a recording: `python benchmarks/open/score.py FOLDER TOOL.csv… [--split dev]`.

A prediction is a line `pair,predicted_s,low_s,high_s`; the range may be empty. A pair that is missing counts as one that predicts nothing: as
wrong as can be, and outside.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from manifest import LOOPBACK_MS, Pair, pairs
from open_jobs import HELD_OUT, KINDS
from scores import Row, figures, how_far, score_pct, width_pct

COLUMNS = ("pair", "predicted_s", "low_s", "high_s")


@dataclass(frozen=True)
class Prediction:
    """What a tool says of a pair; without a range of its own the range is the prediction."""

    pair: str
    predicted_s: float
    low_s: float | None = None
    high_s: float | None = None

    def cells(self) -> tuple[str, ...]:
        return self.pair, *(
            "" if value is None else f"{value:.6f}" for value in (self.predicted_s, self.low_s, self.high_s)
        )

    @classmethod
    def read(cls, line: dict[str, str]) -> Prediction:
        return cls(line["pair"], *(float(line[name]) if line.get(name) else None for name in COLUMNS[1:]))  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tools", type=Path, nargs="+")
    parser.add_argument("--split", default=HELD_OUT)
    arguments = parser.parse_args()
    asked = list(pairs(arguments.folder, arguments.split))
    for tool in arguments.tools:
        with tool.open(newline="") as file:
            found = [Prediction.read(line) for line in csv.DictReader(file)]
        print(f"{tool.stem}: {missing(asked, found)} of {len(asked)} pairs are missing\n")
        scored = rows(asked, found)
        for grouped in (classes, rtt_pairs):
            print("\n".join(table(grouped(scored))), end="\n\n")


def missing(asked: Iterable[Pair], found: Iterable[Prediction]) -> int:
    return len({pair.id for pair in asked} - {each.pair for each in found})


def rows(asked: Iterable[Pair], found: Iterable[Prediction]) -> list[Row]:
    """Each pair with the error and the range of its prediction, in percent of what was measured."""
    known = {each.pair: each for each in found}
    return [row(pair, known.get(pair.id, Prediction(pair.id, 0.0))) for pair in asked]


def row(pair: Pair, said: Prediction) -> Row:
    low = said.predicted_s if said.low_s is None else said.low_s
    high = said.predicted_s if said.high_s is None else said.high_s
    interval = low, high, pair.measured_s
    return {
        "pair": pair.id,
        "kind": pair.job["kind"],
        "from_ms": pair.from_ms,
        "to_ms": pair.to_ms,
        "measured_s": pair.measured_s,
        "predicted_s": said.predicted_s,
        "error_pct": 100 * (said.predicted_s / pair.measured_s - 1),
        "inside": low <= pair.measured_s <= high,
        "has_range": low < high,
        "width_pct": width_pct(*interval),
        "score_pct": score_pct(*interval),
    }


Groups = Iterable[tuple[str, list[Row]]]
"""Projections by the title of their row in a table."""


def is_longer(row: Row) -> bool:
    """Whether the RTT is longer than in the capture."""
    return bool(row["to_ms"] > row["from_ms"])


def classes(found: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """To a longer RTT by kind of work, then to a shorter one by how far."""
    up = [each for each in found if is_longer(each)]
    yield "to a longer RTT", up
    for kind in KINDS:
        yield f"– {kind}", [each for each in up if each["kind"] == kind]
    for far, words in (
        ("down by 3", "to a shorter RTT: a fifth or more"),
        ("down by 15", "– a twentieth or more"),
        ("down further", "– less"),
    ):
        yield words, [each for each in found if how_far(each) == far]


def rtt_pairs(found: list[Row]) -> Groups:
    """By both RTTs, those to a longer one first."""
    return by(
        found,
        lambda row: (not is_longer(row), row["from_ms"], row["to_ms"]),
        lambda row: f"{start(row)} → {row['to_ms']:g} ms",
    )


def starts(found: list[Row]) -> Groups:
    """By the RTT of the capture and the direction."""
    return by(
        found,
        lambda row: (not is_longer(row), row["from_ms"]),
        lambda row: f"{start(row)} → {'longer' if is_longer(row) else 'shorter'}",
    )


def by(found: list[Row], key: Callable[[Row], tuple[float, ...]], title: Callable[[Row], str]) -> Groups:
    for _, group in groupby(sorted(found, key=key), key=key):
        same = list(group)
        yield title(same[0]), same


def start(row: Row) -> str:
    return "loopback" if row["from_ms"] == LOOPBACK_MS else f"{row['from_ms']:g}"


def table(groups: Groups) -> list[str]:
    """Every figure of every group."""
    lines = [
        "| what | pairs | median error | p90 | worst | inside | half-width | interval score |",
        "|---" + "|--:" * 7 + "|",
    ]
    for title, group in groups:
        if group:
            lines.append(f"| {title} | {len(group)} | {told(group)} |")
    return lines


def told(group: list[Row]) -> str:
    of = figures(group)
    ranged = any(each["has_range"] for each in group)
    inside = f"{of['inside']:.0f} % | {of['half-width']:.1f} %" if ranged else "no range | –"
    return f"{of['median error']:.1f} % | {of['p90']:.1f} % | {of['worst']:.1f} % | {inside} | {of['score']:.1f}"


if __name__ == "__main__":
    main()
