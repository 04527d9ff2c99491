"""What latpcap says of a fixture, as text that a person can read and a difference shows line by line.

    python tests/golden.py PROTOCOL/NAME…      writes these golden files anew; read the difference before you commit it

First stands what users act on: what the network costs, the projections, the budget, what each fix would save. Then what
was counted, but for the corpus of findings, whose labels say enough. A number with a decimal point was computed and may
differ by `TOLERANCE`; all else is as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from conftest import FIXTURES, analysed, read_fixture

import latpcap

TOLERANCE = 0.001
"""Of a computed number: replays add in another order on another machine, users notice more."""
LEAST = 0.001
"""What a computed number may differ by in any case: a millisecond, where it is seconds."""
SHOWN = 60
"""Exchanges that are shown one by one; the statements sum up all of them."""

SUMMARY = ("baseline_rtt_ms", "network_share", "seconds_per_ms", "runtime_s")
POINT = ("rtt_ms", "optimistic_s", "runtime_s", "pessimistic_s")
CONNECTION = ("stream", "protocol", "server_version", "user", "database", "encryption", "compression", "state")
COUNTS = ("exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes")
FRAMES = ("request_frame", "request_end_frame", "response_frame", "response_end_frame")
EXCHANGE = ("stream", "exchange", "command", *FRAMES, "round_trips", "rows", "affected_rows", "complete", "error")
STATEMENT = ("executions", "exchanges", "round_trips", "rows", "affected_rows", "request_bytes", "response_bytes")


def golden(name: str) -> str:
    """The golden text of the fixture `PROTOCOL/NAME`: nothing in it depends on a clock."""
    try:
        lines = list(_figures(name))
        if not name.startswith("findings/"):
            lines += _counts(read_fixture(name))
    except latpcap.NoDatabaseTraffic:
        lines = ["# no database traffic; health: code count", *_rows(read_fixture(name).health, ("code", "count"))]
    return "\n".join(lines) + "\n"


def _figures(name: str) -> Iterator[str]:
    result = analysed(name)
    yield "# summary: " + " ".join(SUMMARY)
    yield " ".join(_computed(getattr(result.summary, key)) for key in SUMMARY)
    yield "# projection: " + " ".join(POINT)
    for point in result.projection.points:
        yield " ".join(_computed(getattr(point, key)) for key in POINT)
    budget = result.budget.parts()
    yield "# budget: " + " ".join(budget)
    yield " ".join(map(_computed, budget.values()))
    yield "# findings: code round_trips_saved, and saved_s at 15 ms"
    yield from sorted(
        f"{each.code} {each.round_trips_saved} {_computed(each.saved_s.get('15'))}" for each in result.findings
    )


def _counts(capture: latpcap.Capture) -> Iterator[str]:
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


def _computed(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


# --- comparing ------------------------------------------------------------------------------------------------------

COMPUTED = re.compile(r"-?\d+\.\d{4}")


def difference(was: str, now: str) -> str:
    """The lines in which two golden texts differ; empty where each computed number is within its tolerance."""
    old, new = was.splitlines(), now.splitlines()
    agreed = [
        before if _alike(before, after) else after for before, after in zip_longest(old, new) if after is not None
    ]
    return "\n".join(unified_diff(old, agreed, "golden", "now", n=1, lineterm=""))


def _alike(before: str | None, after: str) -> bool:
    if before is None or COMPUTED.sub("", before) != COMPUTED.sub("", after):
        return False
    pairs = zip(COMPUTED.findall(before), COMPUTED.findall(after), strict=True)
    return all(abs(float(old) - float(new)) <= max(LEAST, TOLERANCE * abs(float(old))) for old, new in pairs)


# --- files ----------------------------------------------------------------------------------------------------------


def path_of(name: str) -> Path:
    """Where the golden file of the fixture `PROTOCOL/NAME` lies."""
    return FIXTURES / f"{name}.golden"


def fixtures() -> list[str]:
    """The names of all fixtures."""
    captures = (path for kind in ("pcapng", "pcapng.zst") for path in FIXTURES.glob(f"*/*.{kind}"))
    return sorted(f"{path.parent.name}/{path.name.split('.pcapng')[0]}" for path in captures)


def main(names: list[str]) -> None:
    """Write the golden files of the named fixtures, and of no others, anew."""
    unknown = sorted(set(names) - set(fixtures()))
    if unknown or not names:
        sys.exit(
            f"no such fixture: {' '.join(unknown)}" if unknown else "name the fixtures, for instance mysql/churn-20"
        )
    for name in names:
        path_of(name).write_text(golden(name), "utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
