#!/usr/bin/env python3
"""How often measured runs lay in the range of their projection, by kind of work and direction: what latpcap quotes.

    python benchmarks/accuracy/held.py      # writes latpcap/projection/measured.json from the facts kept in facts/

A pair counts by the RTT that a user knew (the echo), where that was recorded. The kind of work is what latpcap told
from the capture that was projected, not what the job is called here. From 0 ms nothing is counted: there the link
itself is most of the RTT. Nor are the jobs of `overlap`, which were drawn to be hard, sixteen kinds in twenty draws
each: they outnumber the work that people have, and the page has rows of their own for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from kept import names, table

DRAWN_TO_BE_HARD = {"overlap"}
MEASURED = Path(__file__).resolve().parents[2] / "latpcap" / "projection" / "measured.json"

Row = dict[str, str]
WindowLimited = dict[str, dict[str, dict[str, int]]]


def main() -> None:
    """Write the file."""
    ordinary = [name for name in names() if "." not in name and name not in DRAWN_TO_BE_HARD]
    rows = (row for name in ordinary for row in table(f"{name}.csv.xz"))
    MEASURED.write_text(json.dumps(held(rows), indent=1, sort_keys=True) + "\n")


def held(rows: Iterable[Row]) -> WindowLimited:
    """The pairs and those inside, by kind of work and whether the RTT became longer or shorter."""
    found: WindowLimited = {}
    for row in rows:
        if row["same_job"] != "True" or float(row["from_ms"]) == 0 or not row.get("work"):
            continue
        way = "longer" if float(row["to_ms"]) > float(row["from_ms"]) else "shorter"
        counts = found.setdefault(row["work"], {}).setdefault(way, {"inside": 0, "pairs": 0})
        knows_echo = row["echo_ms"] not in {"", "nan"}
        counts["inside"] += row["echo_inside" if knows_echo else "inside"] == "True"
        counts["pairs"] += 1
    return found


if __name__ == "__main__":
    main()
