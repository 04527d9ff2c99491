"""Workloads in other languages than Python: how one is called, and what its numbers are.

A name is `LANGUAGE-SERVER:DRIVER_SHAPE#DRAW`, as in `go-postgresql:pgx_ticker#2`. The draw decides on the pauses, pools and sizes of the
job, so that the same shape can be recorded with numbers that nobody has chosen.
"""

from __future__ import annotations

import random
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "clients"
LANGUAGES = ("go", "node", "php", "ruby", "rust", "python")


def parameters(name: str) -> dict[str, int]:
    """Times are in ms."""
    draw = random.Random(name)
    connections = draw.randint(2, 6)
    return {
        "connections": connections,
        "tasks": connections + draw.randint(0, 10),
        "side": draw.randint(2, 6),
        "think": draw.randint(1, 20),
        "period": draw.randint(10, 60),
        "work": draw.randint(2, 15),
        "ahead": draw.randint(1, 8),
        "rows": draw.randint(1, 9),
        "batch": draw.randint(5, 60),
        "width": draw.randint(2, 15),
    }


def command(language: str, name: str, n: int, lab: Path) -> list[str]:
    """The command line of `DRIVER_SHAPE#DRAW`; jobs of `workloads_overlap.py` draw their numbers themselves, from `n`."""
    if language == "overlap":
        overlap = PROGRAMS.parent / "workloads_overlap.py"
        return [str(lab / "venv/bin/python"), str(overlap), name.partition("#")[0], str(n)]
    driver, _, shape = name.partition("#")[0].partition("_")
    built = lab / "clients"
    program = {
        "go": [str(built / "go/work")],
        "node": ["env", f"NODE_PATH={built}/node/node_modules", "node", str(PROGRAMS / "node/work.js")],
        "php": ["php", str(PROGRAMS / "work.php")],
        "ruby": ["ruby", str(PROGRAMS / "work.rb")],
        "rust": [str(built / "rust/debug/work")],
        "python": [str(built / "venv/bin/python"), str(PROGRAMS / "orms.py")],
    }[language]
    return [*program, driver, shape, str(n), *(f"{key}={value}" for key, value in parameters(name).items())]
