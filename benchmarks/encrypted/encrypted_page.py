"""benchmarks/results/encryption.md: what comes out by kind of job, then every run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from encrypted_jobs import PIPELINE, READ_AHEAD

Row = dict[str, Any]

INTRO = """\
# Clear against encrypted, run by run

Each job of the lab was run clear, clear again, with TLS 1.2 and with TLS 1.3 at 1 ms, and clear and encrypted at 15 ms.
`benchmarks/encrypted/twins.py` makes this page; [docs/keys.md](../../docs/keys.md) says what it shows.

- *round trips*: without set-up (connecting, TLS, logging in), of the clear run and of the encrypted one, read **without
  keys**. *set-up* likewise.
- *work*: the projection to 15 ms of what follows the last login, against that of the clear capture. *clear again*: the
  same for the second clear run, which is what the job itself varies by.
- *hidden*: the same without keys, against the same capture with its keys: what not seeing costs, and nothing else.
- *whole*: the projection of the whole against what the encrypted run took at 15 ms. *clear* likewise.
- *with keys*: whether the decrypted capture tells the same statements, executions, rows, errors, round trips, exchanges
  and request bytes as the clear one.

"""

COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("job", lambda row: row["workload"]),
    ("kind", lambda row: row["kind"]),
    ("way", lambda row: row["way"]),
    ("round trips", lambda row: pair(row["clear"], row["seen"])),
    ("off %", lambda row: percent(row["off_pct"])),
    ("set-up", lambda row: pair(row["clear_setup"], row["setup"])),
    ("work: off %", lambda row: percent(row["projected_off_pct"])),
    ("clear again %", lambda row: percent(row["again_off_pct"])),
    ("hidden %", lambda row: percent(row["hidden_off_pct"])),
    ("whole: off %", lambda row: percent(row["error_pct"])),
    ("clear %", lambda row: percent(row["clear_error_pct"])),
    ("with keys", lambda row: row["keys"]),
)


def page(rows: list[Row]) -> str:
    return INTRO + "\n".join([*summary(rows), "", "## Every run", "", *every(rows)]) + "\n"


def groups(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Pipelines and read-ahead by themselves: there, a request is sent before its predecessor is answered."""
    ways = list(dict.fromkeys(row["way"] for row in rows))
    for name, belongs in (
        ("stop and wait, cursors, bulk, pools, parallel", lambda kind: kind not in (PIPELINE, READ_AHEAD)),
        ("pipelines", PIPELINE.__eq__),
        ("read-ahead", READ_AHEAD.__eq__),
    ):
        for way in ways:
            if group := [row for row in rows if row["way"] == way and belongs(row["kind"])]:
                yield f"{name} | {way}", group


def summary(rows: list[Row]) -> list[str]:
    lines = [
        "| jobs | way | runs | round trips right | worst off % | work: median off % | worst | clear again: worst | hidden: worst "
        "| whole: median off % | worst | clear: worst | same with keys |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, group in groups(rows):
        keyed = [row for row in group if row["keys"] != "none"]
        cells = [
            name,
            str(len(group)),
            str(sum(row["clear"] == row["seen"] for row in group)),
            worst(row["off_pct"] for row in group),
            median(row["projected_off_pct"] for row in group),
            worst(row["projected_off_pct"] for row in group),
            worst(row["again_off_pct"] for row in group),
            worst(row["hidden_off_pct"] for row in group),
            median(row["error_pct"] for row in group),
            worst(row["error_pct"] for row in group),
            worst(row["clear_error_pct"] for row in group),
            f"{sum(row['keys'] == 'same' for row in keyed)} of {len(keyed)}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def every(rows: list[Row]) -> list[str]:
    names = [name for name, _ in COLUMNS]
    lines = [f"| {' | '.join(names)} |", "|---|---|---" + "|--:" * (len(names) - 4) + "|---|"]
    return lines + [f"| {' | '.join(cell(row) for _, cell in COLUMNS)} |" for row in rows]


def known(values: Iterable[float]) -> list[float]:
    return [abs(value) for value in values if not np.isnan(value)]


def worst(values: Iterable[float]) -> str:
    return f"{max(numbers):.1f}" if (numbers := known(values)) else ""


def median(values: Iterable[float]) -> str:
    return f"{np.median(numbers):.1f}" if (numbers := known(values)) else ""


def pair(clear: int, seen: int) -> str:
    return str(clear) if clear == seen else f"{clear} / {seen}"


def percent(value: float) -> str:
    return "" if np.isnan(value) else f"{value:+.1f}"
