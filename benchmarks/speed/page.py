"""benchmarks/results/speed.md: tables are generated between markers, what stands around them is written by hand."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "results" / "speed.md"
PART = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write(told: dict[str, str]) -> None:
    """Every part anew: no figure of the page is older than another."""
    text = PAGE.read_text()
    names = {name for _, name, _ in PART.findall(text)}
    if names != told.keys():
        raise SystemExit(f"{PAGE.name} has other parts than were measured: {', '.join(sorted(names ^ told.keys()))}")
    PAGE.write_text(PART.sub(lambda part: f"{part[1]}{told[part[2]]}{part[3]}", text))


def in_order(told: dict[str, str]) -> str:
    return "\n".join(f"{name}\n\n{text}" for name, text in told.items())
