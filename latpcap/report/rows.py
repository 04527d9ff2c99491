"""Tables for a terminal: of the large ones some columns, of all others each; all of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from latpcap.measures.options import GROUPINGS
from latpcap.report.console import print_renderables
from latpcap.report.destination import going_to
from latpcap.report.grid import Grid
from latpcap.report.local_time import local
from latpcap.report.section import WRITERS, Column, Kind
from latpcap.report.text import printable
from latpcap.tables.columnar.table import Table
from latpcap.units import format_ratio, percent

__all__ = ["render"]

ROWS_AT_ONCE = 500

Writer = Callable[[Any], str]


def _short(value: Any) -> str:
    text = printable(str(value))
    return text if len(text) <= MAX_CELLS else f"{text[: MAX_CELLS - 1]}…"


OURS: dict[Kind, Writer] = {
    "short": _short,
    "name": printable,
    "ratio": format_ratio,
    "share": percent,
    "part": lambda is_whole: "" if is_whole else "part",
    "clock": lambda moment: str(moment.astype("datetime64[ms]")).partition("T")[2],
    "day": lambda moment: str(moment.astype("datetime64[ms]")).replace("T", " "),
    "local": local,
    "moment": lambda moment: str(np.datetime_as_string(moment, unit="s")).replace("T", " "),
}
"""How values are written that no section has; times are UTC, the other formats have them whole."""
WRITTEN: dict[Kind, Writer] = WRITERS | OURS | {"text": lambda value: _any(value), "any": lambda value: _any(value)}


EXCHANGES: tuple[Column, ...] = (
    Column("time", "clock", least=12, name="request_time"),
    Column("frames", "frames", least=9, name="request_frame"),
    Column("stream", "id", least=6, name="stream"),
    Column("number", "id", least=6, optional=True, name="exchange"),
    Column("command", "text", least=12, cuts=8, name="command"),
    Column("trips", "count", least=5, name="round_trips"),
    Column("rows", "count", least=7, optional=True, name="rows"),
    Column("service ms", "ms", least=10, name="service_ms"),
    Column("delta ms", "ms", least=10, optional=True, name="delta_ms"),
    Column("client ms", "ms", least=10, optional=True, name="client_ms"),
    Column("seen", "part", least=4, optional=True, name="complete"),
    Column("request spread ms", "ms", least=17, optional=True, name="request_spread_ms"),
    Column("response spread ms", "ms", least=18, optional=True, name="response_spread_ms"),
    Column("statement", "text", least=30, name="statement"),
)
PACE: tuple[Column, ...] = (
    Column("delta p50 ms", "ms", least=12, optional=True, name="delta_p50_ms"),
    Column("delta p95 ms", "ms", least=12, optional=True, name="delta_p95_ms"),
    Column("client p50 ms", "ms", least=13, optional=True, name="client_p50_ms"),
    Column("client p95 ms", "ms", least=13, optional=True, name="client_p95_ms"),
)
CONNECTIONS: tuple[Column, ...] = (
    Column("stream", "id", least=6, name="stream"),
    Column("trips", "count", least=6, name="round_trips"),
    Column("RTT ms", "ms", least=7, name="rtt_baseline_ms"),
    Column("iRTT ms", "ms", least=7, optional=True, name="rtt_handshake_ms"),
    Column("in-stream", "ms", least=9, optional=True, name="rtt_in_stream_median_ms"),
    Column("method", "text", least=14, optional=True, name="rtt_method"),
    Column("state", "text", least=10, optional=True, name="state"),
    Column("a transaction", "ratio", least=13, optional=True, name="round_trips_per_transaction"),
    Column("a row", "ratio", least=7, optional=True, name="round_trips_per_row"),
    *PACE,
    Column("client", "text", least=15, name="client"),
    Column("server", "text", least=14, name="server"),
)
TOTALS: tuple[Column, ...] = (
    Column("share", "share", least=6, optional=True, name="share"),
    Column("cumulative", "share", least=10, optional=True, name="cumulative_share"),
    Column("network s", "s", least=9, name="network_s"),
    Column("service s", "s", least=9, optional=True, name="service_s"),
    Column("runs", "count", least=9, name="executions"),
    Column("round trips", "count", least=11, name="round_trips"),
    Column("p50 ms", "ms", least=9, name="response_p50_ms"),
    Column("p95 ms", "ms", least=9, optional=True, name="response_p95_ms"),
    Column("avg ms", "ms", least=9, optional=True, name="response_avg_ms"),
    Column("stddev ms", "ms", least=9, optional=True, name="response_stddev_ms"),
    *PACE,
    Column("first seen", "moment", least=19, optional=True, name="first_seen"),
    Column("last seen", "moment", least=19, optional=True, name="last_seen"),
)
STATEMENTS: tuple[Column, ...] = (*TOTALS, Column("statement", least=30, name="text"))
FINDINGS: tuple[Column, ...] = (
    Column("severity", "text", least=8, name="severity"),
    Column("code", "text", least=16, name="code"),
    Column("saves trips", "count", least=11, name="round_trips_saved"),
    Column("here s", "s", least=9, optional=True, name="saved_at_baseline_s"),
    Column("first frame", "count", least=11, optional=True, name="first_frame"),
    Column("finding", "text", least=40, name="title"),
)
ERRORS: tuple[Column, ...] = (
    Column("count", "count", least=5, name="count"),
    Column("code", "text", least=12, name="code"),
    Column("what", "text", least=9, name="kind"),
    Column("round trips", "count", least=11, optional=True, name="round_trips"),
    Column("seconds", "s", least=9, optional=True, name="seconds"),
    Column("first frame", "count", least=11, optional=True, name="first_frame"),
    Column("statement", "short", least=20, optional=True, name="statement"),
    Column("message", "text", least=40, name="message"),
)
TASKS: tuple[Column, ...] = (
    Column("task", "count", least=4, name="task"),
    Column("route", "text", least=12, optional=True, name="route"),
    Column("start", "clock", least=12, name="start"),
    Column("seconds", "s", least=9, name="duration_s"),
    Column("round trips", "count", least=11, name="round_trips"),
    Column("statements", "count", least=10, optional=True, name="statements"),
    Column("s per ms", "ms", least=8, name="seconds_per_ms"),
    Column("network s", "s", least=9, optional=True, name="network_s"),
    Column("transactions", "count", least=12, optional=True, name="transactions"),
    Column("connections", "count", least=11, optional=True, name="connections"),
    Column("application", "text", least=12, optional=True, name="application"),
    Column("client", "text", least=12, name="client"),
)
MINUTES: tuple[Column, ...] = (
    Column("start", "clock", least=12, name="start"),
    Column("RTT ms", "ms", least=8, name="baseline_ms"),
    Column("measured ms", "ms", least=11, optional=True, name="rtt_min_ms"),
    Column("fastest ms", "ms", least=10, optional=True, name="fastest_ms"),
    Column("p50 ms", "ms", least=9, optional=True, name="response_p50_ms"),
    Column("p95 ms", "ms", least=9, name="response_p95_ms"),
    Column("round trips", "count", least=11, name="round_trips"),
    Column("connections", "count", least=11, optional=True, name="connections"),
    Column("errors", "count", least=6, optional=True, name="errors"),
    Column("sent again", "count", least=10, name="retransmissions"),
)
HEALTH: tuple[Column, ...] = (
    Column("code", "text", least=8, name="code"),
    Column("severity", "text", least=8, name="severity"),
    Column("count", "count", least=5, name="count"),
    Column("message", "text", least=30, folds=True, name="message"),
)
CAPTURES: tuple[Column, ...] = (
    Column("format", "text", least=6, name="format"),
    Column("packets", "count", least=7, name="packets"),
    Column("bytes", "count", least=9, name="bytes"),
    Column("first packet", "moment", least=19, name="first_time"),
    Column("local time", "local", least=26, optional=True, name="first_time"),
    Column("last packet", "moment", least=19, optional=True, name="last_time"),
    Column("clock resolution ns", "count", least=7, optional=True, name="tick_ns"),
    Column("file", "text", least=20, folds=True, name="path"),
)
SHOWN = {
    "exchanges": EXCHANGES,
    "connections": CONNECTIONS,
    "statements": STATEMENTS,
    "findings": FINDINGS,
    "errors": ERRORS,
    "tasks": TASKS,
    **{f"statements by {name}": (*TOTALS, Column(name, "name", least=20, name=name)) for name in GROUPINGS},
    "minutes": MINUTES,
    "notes": HEALTH,
    "files": CAPTURES,
}

MAX_CELLS = 60
"""Cells that a text gets in a table without chosen columns, on a terminal; the last column gets all it needs."""
TIMES = ("_ms", "_s")
"""How the names of durations end."""
SENTENCE = "message"
"""The column that is read as a whole."""


def render(rows: Table) -> Iterator[str]:
    """Yield `rows` as text, a few hundred rows at a time."""
    if rows.name in SHOWN and not rows.is_chosen:
        yield from _render_some(rows, _with_sorted(rows, _with_days(rows, SHOWN[rows.name])))
    else:
        yield from _render_all(rows)


def _with_days(rows: Table, shown: tuple[Column, ...]) -> tuple[Column, ...]:
    """Times of the day get their day where the rows are of several."""
    clocks = [column.name for column in shown if column.kind == "clock"]
    spans = {name: rows.span(name) for name in clocks}
    several = {name for name, span in spans.items() if len({np.datetime64(end, "D") for end in span}) > 1}
    return tuple(replace(column, kind="day") if column.name in several else column for column in shown)


def _with_sorted(rows: Table, shown: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns that are shown, and before the last of them those that the rows were sorted by.

    One that a narrow terminal would spare stands there, too, with its whole name.
    """
    *others, last = shown
    kinds: dict[str, Kind] = {column.name: column.kind for column in shown}
    more = dict.fromkeys(rows.sorted_by)
    for column in shown:
        if not column.optional:
            more.pop(column.name, None)
    usual: dict[str, Kind] = {name: "ms" if name.endswith(TIMES) else _side(rows, name) for name in more}
    made = (Column(printable(name), kinds.get(name, usual[name]), name=name) for name in more)
    return (*(column for column in others if column.name not in more), *made, last)


def _parts(rows: Table) -> Iterator[tuple[Table, bool]]:
    """A few hundred rows at a time, and whether they are the first."""
    for start in range(0, max(len(rows), 1), ROWS_AT_ONCE):
        yield rows.slice(start, ROWS_AT_ONCE), start == 0


def _render_some(rows: Table, shown: tuple[Column, ...]) -> Iterator[str]:
    """The columns, but for texts that can be spared and that no row has."""
    shown = tuple(each for each in shown if not (each.optional and _is_empty(rows, each)))
    among = rows.column_names if going_to().bounds_lines else []
    told = 0
    for part, first in _parts(rows):
        told += len(part)
        cells = [_cells(part, column) for column in shown]
        grid = Grid(shown, list(zip(*cells, strict=True)), show_header=first, among=among if told == len(rows) else ())
        yield print_renderables([grid])
        *others, _ = grid.settled()
        shown = (*others, shown[-1])


def _is_empty(rows: Table, column: Column) -> bool:
    """A text that no row has, or a local time that is UTC."""
    if column.kind == "local":
        return not any(map(local, rows.span(column.name)))
    return column.kind == "text" and rows.lacks(column.name)


def _cells(part: Table, column: Column) -> list[str]:
    if column.kind != "frames":
        return [_cell(value, column.kind) for value in part.column(column.name)]
    ends = ([_cell(frame, "count").replace(",", "") for frame in part.column(name)] for name in column.names)
    return ["" if first == last == "" else f"{first}→{last}" for first, last in zip(*ends, strict=True)]


def _render_all(rows: Table) -> Iterator[str]:
    """Every column, as wide as it needs, a sentence last: a line too long for the terminal goes on in the next one."""
    names = sorted(rows.column_names, key=lambda name: name == SENTENCE)
    columns = [Column(printable(name), _side(rows, name)) for name in names]
    for part, first in _parts(rows):
        cells = [[_any(value) for value in part.column(name)] for name in names]
        if going_to().bounds_lines:
            cells[:-1] = [[_short(cell) for cell in column] for column in cells[:-1]]
        grid = Grid(columns, list(zip(*cells, strict=True)), show_header=first)
        yield print_renderables([grid], width=grid.width)
        columns = grid.settled()
    if not len(rows):
        yield "No rows.\n"


def _side(rows: Table, name: str) -> Kind:
    return "any" if rows.slice(0, 1).column(name).dtype.kind in "biuf" else "text"


def _any(value: Any) -> str:
    if value is None or value != value:  # NaN and NaT stand for null
        return ""
    if isinstance(value, np.datetime64):
        return f"{np.datetime_as_string(value, unit='ns')}Z"
    if isinstance(value, float | np.floating):
        return f"{value:.9g}"
    return printable(str(value))


def _cell(value: Any, kind: Kind) -> str:
    if value is None or value != value:  # NaN and NaT stand for null
        return "–" if kind == "name" else ""
    return WRITTEN[kind](int(value) if kind == "count" else value)
