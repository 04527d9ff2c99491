#!/usr/bin/env python3
"""The first table of docs/accuracy.md, and benchmarks/results/open.md, from the recording that is kept: `python benchmarks/open/results.py`.

Another recording's: `results.py FOLDER`, which prints them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from manifest import NAME, SUBSET, Pair, pairs
from open_jobs import DEV, HELD_OUT
from predictors import LATPCAP, predictions
from score import classes, rows, table
from scores import DOWN, UP, Row, figures, way

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "open.md"
PAGE = ROOT / "docs" / "accuracy.md"
PART = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""Of docs/accuracy.md: tables are generated between the markers, the text around them is written by hand."""
NAMES = {
    LATPCAP: "latpcap",
    "linear-programme": "linear programme of who waits for whom",
    "round-trips": "round trips × ΔRTT",
    "bandwidth": "the same, and bytes ÷ bandwidth",
}
INTRO = """\
# The open benchmark: latpcap and what it has to beat

Made by `benchmarks/open/results.py` from the recording in `benchmarks/open/subset` ({recorded}, seed {seed}, {machine}).
[benchmarks/open](../open/README.md) says what was run, how a run is checked and what the figures are. *{held}*: drivers and
numbers that were drawn for this recording; *{dev}*: the other drivers, by which the graph of the linear programme was chosen.
Nothing of latpcap was fitted on either.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    folder = parser.parse_args().folder
    found = scored(folder or SUBSET)
    if folder:
        print(page(folder, found))
    else:
        RESULTS.write_text(page(SUBSET, found))
        tables = {"open": summary(found), "baselines": beaten(found)}
        PAGE.write_text(PART.sub(lambda part: f"{part[1]}{tables[part[2]]}\n{part[3]}", PAGE.read_text()))


Scored = dict[str, dict[str, list[Row]]]
"""By split, then by predictor."""


def scored(folder: Path) -> Scored:
    found: Scored = {}
    for split in (HELD_OUT, DEV):
        asked: list[Pair] = list(pairs(folder, split))
        if asked:
            found[split] = {name: rows(asked, said) for name, said in predictions(asked).items()}
    return found


def summary(found: Scored) -> str:
    """What a reader of docs/accuracy.md gets first."""
    lines = ["| projection | pairs | median error | p90 | inside | half-width |", "|---" + "|--:" * 5 + "|"]
    for title, group in classes(found[HELD_OUT][LATPCAP]):
        of = figures(group)
        cells = f"{of['median error']:.1f} % | {of['p90']:.1f} % | {of['inside']:.0f} % | {of['half-width']:.1f} %"
        lines.append(f"| {title} | {len(group)} | {cells} |")
    return "\n".join(lines)


def beaten(found: Scored, split: str = HELD_OUT) -> str:
    """Each predictor, to a longer and to a shorter RTT."""
    lines = ["| predictor | longer RTT: median error | p90 | shorter: median error | p90 |", "|---|--:|--:|--:|--:|"]
    for name, title in NAMES.items():
        both = (figures(each for each in found[split][name] if way(each) == wanted) for wanted in (UP, DOWN))
        cells = " | ".join(f"{of['median error']:.1f} % | {of['p90']:.1f} %" for of in both)
        lines.append(f"| {title} | {cells} |")
    return "\n".join(lines)


def page(folder: Path, found: Scored) -> str:
    manifest = json.loads((folder / NAME).read_text())
    about = {name: manifest[name] for name in ("recorded", "seed", "machine")}
    parts = [INTRO.format(held=HELD_OUT, dev=DEV, **about)]
    for split, tools in found.items():
        parts += [f"## {split.capitalize()}\n", beaten(found, split), ""]
        for name, title in NAMES.items():
            parts += [f"### {title[:1].upper() + title[1:]}, {split}\n", *table(tools[name]), ""]
    parts += ["## What was run\n", *ran(manifest), ""]
    parts += ["## Thrown away\n", *(f"- {line}" for line in manifest["thrown_away"] or ["nothing"]), ""]
    return "\n".join(parts)


def ran(manifest: dict) -> list[str]:
    lines = ["| split | server | kind of work | driver | client | statements | RTTs |", "|---|---|---|---|---|--:|--:|"]
    for split, jobs in groupby(sorted(manifest["jobs"], key=lambda job: job["split"]), key=lambda job: job["split"]):
        for job in jobs:
            times = f" × {job['clients']}" if job["clients"] > 1 else ""
            cells = (split, job["server"], job["kind"] + times, job["driver"], job["client"], job["statements"])
            lines.append(f"| {' | '.join(map(str, cells))} | {len(job['runs'])} |")
    return lines


if __name__ == "__main__":
    main()
