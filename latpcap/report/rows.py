"""Tables for a terminal: of the large ones some columns, of all others each; all of their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from latpcap.measures.options import GROUPINGS
from latpcap.report.console import print_renderables
from latpcap.report.destination import going_to
from latpcap.report.grid import Grid
from latpcap.report.local_time import local
from latpcap.report.section import Column, Kind, written
from latpcap.report.sections.connections import CONNECTIONS
from latpcap.report.sections.errors import ERRORS
from latpcap.report.sections.findings import FINDINGS
from latpcap.report.sections.health import HEALTH
from latpcap.report.sections.intervals import INTERVALS
from latpcap.report.sections.opening import CAPTURES
from latpcap.report.sections.statements import GROUPED, STATEMENTS
from latpcap.report.text import printable
from latpcap.tables.columnar.table import Table
from latpcap.units import format_given_ms

ROWS_PER_BLOCK = 500
LEAST: dict[Kind, int] = {"count": 6, "clock": 12, "moment": 19, "local": 26, "ms": 7, "s": 7, "name": 20, "frames": 9}
"""Cells that columns want from the first rows on, so that those of further rows stand below them."""

EXCHANGES: tuple[Column, ...] = (
    Column("time", "clock", name="request_time"),
    Column("frames", "frames", name="request_frame"),
    Column("stream", "id", name="stream"),
    Column("number", "id", optional=True, name="exchange"),
    Column("command", "text", least=12, cuts=8, name="command"),
    Column("trips", "count", full="round trips", name="round_trips"),
    Column("rows", "count", least=7, optional=True, name="rows"),
    Column("server ms", "ms", name="service_ms"),
    Column("request interval ms", "ms", optional=True, name="delta_ms"),
    Column("application ms", "ms", optional=True, name="client_ms"),
    Column("seen", "part", optional=True, name="complete"),
    Column("request spread ms", "ms", optional=True, name="request_spread_ms"),
    Column("response spread ms", "ms", optional=True, name="response_spread_ms"),
    Column("statement", "text", least=30, name="statement"),
)
TASKS: tuple[Column, ...] = (
    Column("task", "count", name="task"),
    Column("route", "text", least=12, optional=True, name="route"),
    Column("start", "clock", name="start"),
    Column("seconds", "s", name="duration_s"),
    Column("round trips", "count", name="round_trips"),
    Column("statements", "count", optional=True, name="statements"),
    Column("+s per ms RTT", "s", name="seconds_per_ms"),
    Column("network s", "s", optional=True, name="network_s"),
    Column("transactions", "count", optional=True, name="transactions"),
    Column("connections", "count", optional=True, name="connections"),
    Column("application", "text", least=12, optional=True, name="application"),
    Column("client", "text", least=12, name="client"),
)
SHOWN = {
    "exchanges": EXCHANGES,
    "connections": CONNECTIONS,
    "statements": STATEMENTS,
    "findings": FINDINGS,
    "errors": ERRORS,
    "tasks": TASKS,
    **{f"statements by {name}": (*GROUPED, Column(name, "name", name=name)) for name in GROUPINGS},
    "intervals": INTERVALS,
    "notes": HEALTH,
    "files": CAPTURES,
}

THERE = re.compile(r"(?:network|duration)_([0-9.e+-]+)ms_s")
"""The name of a column of seconds at another RTT."""
TIMED: tuple[Kind, ...] = ("ms", "s")
"""The kinds of columns whose decimals the first rows decide."""
TIMES = ("_ms", "_s")
"""How the names of durations end."""
SENTENCE = "message"
"""The column that is read as a whole."""


def render(rows: Table) -> Iterator[str]:
    """Yield `rows` as text, a few hundred rows at a time: a line too long for the terminal goes on in the next one."""
    is_whole = rows.name not in SHOWN or rows.is_chosen
    shown = _all(rows) if is_whole else _some(rows)
    for start in range(0, max(len(rows), 1), ROWS_PER_BLOCK):
        part = rows.slice(start, ROWS_PER_BLOCK)
        if start == 0:
            shown = tuple(each.settled(part.column(each.name)) if each.kind in TIMED else each for each in shown)
        cells = [_cells(part, column) for column in shown]
        grid = Grid(shown, [*zip(*cells, strict=True)], show_header=start == 0)
        yield print_renderables([grid], width=grid.width if is_whole else None)
        *others, last = grid.settled()
        shown = (*others, last if is_whole else shown[-1])
    if is_whole and not len(rows):
        yield "No rows.\n"


def _all(rows: Table) -> tuple[Column, ...]:
    """Every column, as wide as it needs, a sentence last; other texts are cut where lines end."""
    names = sorted(rows.column_names, key=lambda name: name == SENTENCE)
    *others, last = [Column(printable(name), _side(rows, name), name=name) for name in names]
    if going_to().bounds_lines:
        others = [replace(each, kind="short") if each.kind == "text" else each for each in others]
    return (*others, last)


def _some(rows: Table) -> tuple[Column, ...]:
    """Return the columns that tell most, but for optional ones that no row has."""
    wide = [replace(each, least=max(each.least, LEAST.get(each.kind, 0))) for each in _with_there(rows)]
    shown = _with_sorted(rows, _with_days(rows, wide))
    return tuple(each for each in shown if not (each.optional and _is_empty(rows, each)))


def _with_there(rows: Table) -> Iterator[Column]:
    """Yield the columns of a table for people; seconds at other RTTs stand behind those of now."""
    there = {match[0]: match[1] for name in rows.column_names if (match := THERE.fullmatch(name))}
    for column in SHOWN[rows.name]:
        yield column
        for name, rtt in there.items():
            if column.name == f"{name.partition('_')[0]}_s":
                yield Column(f"{column.title} at {format_given_ms(float(rtt))}", "s", name=name)


def _with_days(rows: Table, shown: list[Column]) -> tuple[Column, ...]:
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


def _is_empty(rows: Table, column: Column) -> bool:
    """A text that no row has, or a local time that is UTC."""
    if column.kind == "local":
        return not any(map(local, rows.span(column.name)))
    return column.kind == "text" and rows.lacks(column.name)


def _cells(part: Table, column: Column) -> list[str]:
    if column.kind != "frames":
        return [written(column, value) for value in part.column(column.name)]
    ends = (["" if frame != frame else f"{frame:.0f}" for frame in part.column(name)] for name in column.names)
    return ["" if first == last == "" else f"{first}→{last}" for first, last in zip(*ends, strict=True)]


def _side(rows: Table, name: str) -> Kind:
    return "any" if rows.slice(0, 1).column(name).dtype.kind in "biuf" else "text"
