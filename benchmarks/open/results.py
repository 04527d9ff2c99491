#!/usr/bin/env python3
"""The tables of docs/accuracy.md, and benchmarks/results/open.md, from the recordings that are kept: `python benchmarks/open/results.py`.

Another recording's: `results.py FOLDER`, which prints them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from manifest import AS_THEY_ARE, AWAKE, Pair, kept, pairs, read
from open_jobs import DEV, HELD_OUT
from predictors import CURVE, LATPCAP, predictions
from score import classes, is_longer, rows, rtt_pairs, starts, table
from scores import Row, figures

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "open.md"
PAGE = ROOT / "docs" / "accuracy.md"
PART = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
"""Of docs/accuracy.md: tables are generated between the markers, the text around them is written by hand."""
NAMES = {
    LATPCAP: "latpcap",
    CURVE: "latpcap, curve measured",
    "linear-programme": "linear programme of who waits for whom",
    "round-trips": "round trips × ΔRTT",
    "bandwidth": "the same, and bytes ÷ bandwidth",
}
INTRO = f"""\
# The open benchmark: latpcap and what it has to beat

Made by `benchmarks/open/results.py` from the recordings in `benchmarks/open/subset`, first that of a machine as it is, then one kept
{AWAKE}. [benchmarks/open](../open/README.md) says what was run, how a run is checked and what the figures are. *{HELD_OUT}*:
drivers and numbers that were drawn for the recording; *{DEV}*: the other drivers. Of latpcap only the assumed curve of hosts
that rest was chosen after a look at held-out ones ([hosts.md](hosts.md#fitted-on)).
"""

Tools = dict[str, list[Row]]
"""The projections of one split by predictor."""
Scored = dict[str, Tools]
"""By split."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    folder = parser.parse_args().folder
    if folder:
        print("\n".join(part(folder, scored(folder))))
        return
    found = {processors: scored(kept(processors)) for processors in (AS_THEY_ARE, AWAKE)}
    parts = [line for processors, each in found.items() for line in part(kept(processors), each)]
    RESULTS.write_text("\n".join([INTRO, *parts]))
    held_out = {processors: each[HELD_OUT] for processors, each in found.items()}
    tables = {"starts": by_start(held_out[AS_THEY_ARE]), "kinds": by_kind(held_out)}
    PAGE.write_text(PART.sub(lambda place: f"{place[1]}{tables[place[2]]}\n{place[3]}", PAGE.read_text()))


def scored(folder: Path) -> Scored:
    found: Scored = {}
    for split in (HELD_OUT, DEV):
        asked: list[Pair] = list(pairs(folder, split))
        if asked:
            found[split] = {name: rows(asked, said) for name, said in predictions(asked).items()}
    return found


def by_start(tools: Tools) -> str:
    """By the RTT of the capture, to a longer one, without and with the measured curve."""
    groups = [dict(starts([row for row in tools.get(name, []) if is_longer(row)])) for name in (LATPCAP, CURVE)]
    return side_by_side("captured at", ("", "curve measured"), groups)


def by_kind(recordings: dict[str, Tools]) -> str:
    """By kind of work, on machines as they are and on one kept awake."""
    groups = [dict(classes(tools[LATPCAP])) for tools in recordings.values()]
    return side_by_side("projection", tuple(recordings), groups)


def side_by_side(first: str, titles: tuple[str, ...], columns: list[dict[str, list[Row]]]) -> str:
    """A table of both columns' figures; a dash where nothing was projected."""
    heads = [f"{title}: median error".removeprefix(": ") + " | p90" for title in titles]
    lines = [f"| {first} | {' | '.join(heads)} |", "|---" + "|--:" * 2 * len(titles) + "|"]
    for name in columns[0]:
        lines.append(f"| {name} | {' | '.join(brief(column.get(name, [])) for column in columns)} |")
    return "\n".join(lines)


def brief(group: list[Row]) -> str:
    if not group:
        return "– | –"
    of = figures(group)
    return f"{of['median error']:.1f} % | {of['p90']:.1f} %"


def beaten(tools: Tools) -> Iterator[str]:
    """Each predictor, to a longer and to a shorter RTT."""
    yield "| predictor | longer RTT: median error | p90 | shorter: median error | p90 |"
    yield "|---|--:|--:|--:|--:|"
    for name in (name for name in NAMES if name in tools):
        both = (figures(each for each in tools[name] if is_longer(each) == longer) for longer in (True, False))
        cells = " | ".join(f"{of['median error']:.1f} % | {of['p90']:.1f} %" for of in both)
        yield f"| {NAMES[name]} | {cells} |"


def part(folder: Path, found: Scored) -> Iterator[str]:
    """Everything of one recording."""
    manifest = read(folder)
    processors = manifest["processors"].capitalize()
    yield f"## {processors}\n\n{manifest['recorded']}, seed {manifest['seed']}: {', '.join(machine(manifest))}.\n"
    yield from (*curve(manifest), *echoes(manifest))
    for split, tools in found.items():
        yield from (f"### {processors}, {split}\n", *beaten(tools), "")
        for name in (name for name in NAMES if name in tools):
            yield f"#### {NAMES[name][:1].upper() + NAMES[name][1:]}: {processors.lower()}, {split}\n"
            for groups in (classes, starts, rtt_pairs) if name in (LATPCAP, CURVE) else (classes,):
                yield from (*table(groups(tools[name])), "")
    yield from (f"### What was run: {processors.lower()}\n", *ran(manifest), "")
    thrown = [f"- {line}" for line in manifest["thrown_away"]] or ["- nothing"]
    yield from (f"### Thrown away: {processors.lower()}\n", *thrown, "")


def machine(manifest: dict[str, Any]) -> Iterator[str]:
    about = manifest["machine"]
    yield f"{about['count']} processors" + (f" ({about['processor']})" if about.get("processor") else "")
    if about.get("virtual") is not None:
        yield "virtual" if about["virtual"] else "not virtual"
    yield about["system"]
    for name in ("cpuidle_driver", "cpuidle_governor", "cpufreq_governor", "load"):
        if about.get(name) is not None:
            yield f"{name.replace('_', ' ')} {about[name]}"


def curve(manifest: dict[str, Any]) -> Iterator[str]:
    """The machine's rest curve, where it was measured."""
    if manifest.get("rests"):
        rests, extras = zip(*manifest["rests"], strict=True)
        yield f"| rest, ms | {' | '.join(f'{rest:g}' for rest in rests)} |\n|---{'|--:' * len(rests)}|"
        yield f"| answers later by, ms | {' | '.join(f'{extra:.2f}' for extra in extras)} |\n"


def echoes(manifest: dict[str, Any]) -> Iterator[str]:
    """List the link's echoes while nothing else ran, where they were measured."""
    if manifest.get("link_echo_ms"):
        yield "| link, ms | ping, ms | echo over TCP, ms |\n|--:|--:|--:|"
        yield from (f"| {link:g} | {ping:.2f} | {tcp:.2f} |" for link, ping, tcp in manifest["link_echo_ms"])
        yield ""


def ran(manifest: dict[str, Any]) -> Iterator[str]:
    yield "| split | server | kind of work | driver | client | statements | RTTs |"
    yield "|---|---|---|---|---|--:|--:|"
    for split, jobs in groupby(sorted(manifest["jobs"], key=lambda job: job["split"]), key=lambda job: job["split"]):
        for job in jobs:
            times = f" × {job['clients']}" if job["clients"] > 1 else ""
            cells = (split, job["server"], job["kind"] + times, job["driver"], job["client"], job["statements"])
            yield f"| {' | '.join(map(str, cells))} | {len(job['runs'])} |"


if __name__ == "__main__":
    main()
