"""What latpcap says of a fixture, as text that a person can read and a difference shows line by line.

python tests/golden.py [PROTOCOL/NAME …]      writes the golden files anew; read the difference before you commit it
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import latpcap

FIXTURES = Path(__file__).parent.parent / "fixtures"
SHOWN = 60
"""Exchanges that are shown one by one; the statements sum up all of them."""

CONNECTION = ("stream", "protocol", "server_version", "user", "database", "encryption", "compression", "state")
COUNTS = ("exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes")
FRAMES = ("request_frame", "request_end_frame", "response_frame", "response_end_frame")
EXCHANGE = ("stream", "exchange", "command", *FRAMES, "round_trips", "rows", "affected_rows", "complete", "error")
STATEMENT = ("executions", "exchanges", "round_trips", "rows", "affected_rows", "request_bytes", "response_bytes")


def golden(capture: latpcap.Capture) -> str:
    """The golden text of a capture: nothing in it depends on a clock."""
    return "\n".join(_lines(capture)) + "\n"


def _lines(capture: latpcap.Capture) -> Iterator[str]:
    yield "# connections: " + " ".join(CONNECTION + COUNTS)
    yield from _rows(capture.connections, CONNECTION + COUNTS)
    yield "# statements: " + " ".join(STATEMENT) + " text"
    yield from sorted(_rows(capture.statements, (*STATEMENT, "text")))
    yield f"# exchanges (the first {SHOWN}): " + " ".join(EXCHANGE) + " statement"
    yield from _rows(capture.exchanges, (*EXCHANGE, "statement"), SHOWN)


def _rows(table: latpcap.Table, names: tuple[str, ...], most: int | None = None) -> Iterator[str]:
    columns = [table.column(name) for name in names]
    for row in range(min(len(table), len(table) if most is None else most)):
        yield " ".join(_cell(column[row]) for column in columns)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "-"
    if isinstance(value, float | np.floating):
        return f"{value:.0f}"
    return str(value) or "''"


def path_of(name: str) -> Path:
    """Where the golden file of the fixture `PROTOCOL/NAME` lies."""
    return FIXTURES / f"{name}.golden"


def fixtures() -> dict[str, Path]:
    """Every fixture's capture by its name; the corpus of findings has labels instead of golden files."""
    captures = sorted(path for kind in ("pcapng", "pcapng.zst") for path in FIXTURES.glob(f"*/*.{kind}"))
    captures = [path for path in captures if path.parent.name != "findings"]
    return {f"{path.parent.name}/{path.name.split('.pcapng')[0]}": path for path in captures}


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(fixtures())
    for name in wanted:
        path_of(name).write_text(golden(latpcap.read(fixtures()[name])))
