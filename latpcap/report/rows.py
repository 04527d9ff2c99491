"""Tables for a terminal: of the large ones some columns, of all others each; all of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from latpcap.measures.asked import GROUPINGS
from latpcap.report.console import print_renderables
from latpcap.report.destination import going_to
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import number, printable
from latpcap.tables.table import Table
from latpcap.units import format_ratio, percent

__all__ = ["render"]

ROWS_AT_ONCE = 500

Writer = Callable[[Any], str]
Shown = tuple[str, Heading, Writer]
"""Column, heading, how a value is written."""


def _count(value: Any) -> str:
    return f"{value:,}"


def _ms(value: Any) -> str:
    return f"{value:,.3f}"


def _text(value: Any) -> str:
    return printable(str(value))


def _short(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= MAX_CELLS else f"{text[: MAX_CELLS - 1]}…"


def _clock_time(value: Any) -> str:
    """The time of the day to the millisecond, UTC; the other formats have the whole."""
    return str(value.astype("datetime64[ms]")).partition("T")[2]


def _day_and_time(value: Any) -> str:
    """The same with the day before it."""
    return str(value.astype("datetime64[ms]")).replace("T", " ")


def _flag(value: Any) -> str:
    return "" if value else "part"


def _moment(value: Any) -> str:
    return str(np.datetime_as_string(value, unit="s")).replace("T", " ")


def _name(value: Any) -> str:
    return "–" if value is None else _text(value)


EXCHANGES: tuple[Shown, ...] = (
    ("stream", Heading("stream", least=6), str),
    ("exchange", Heading("number", least=6), str),
    ("command", Heading("command", "left", least=12), _text),
    ("round_trips", Heading("trips", least=5), _count),
    ("rows", Heading("rows", least=7, optional=True), _count),
    ("service_ms", Heading("service ms", least=10), _ms),
    ("delta_ms", Heading("delta ms", least=10, optional=True), _ms),
    ("client_ms", Heading("client ms", least=10, optional=True), _ms),
    ("complete", Heading("seen", least=4, optional=True), _flag),
    ("request_spread_ms", Heading("request spread ms", least=17, optional=True), _ms),
    ("response_spread_ms", Heading("response spread ms", least=18, optional=True), _ms),
    ("statement", Heading("statement", "left", least=30), _text),
)
PACE: tuple[Shown, ...] = (
    ("delta_p50_ms", Heading("delta p50 ms", least=12, optional=True), _ms),
    ("delta_p95_ms", Heading("p95 ms", least=9, optional=True), _ms),
    ("client_p50_ms", Heading("client p50 ms", least=13, optional=True), _ms),
    ("client_p95_ms", Heading("p95 ms", least=9, optional=True), _ms),
)
CONNECTIONS: tuple[Shown, ...] = (
    ("stream", Heading("stream", least=6), str),
    ("round_trips", Heading("trips", least=6), _count),
    ("rtt_baseline_ms", Heading("RTT ms", least=7), _ms),
    ("rtt_handshake_ms", Heading("iRTT ms", least=7, optional=True), _ms),
    ("rtt_in_stream_median_ms", Heading("in-stream", least=9, optional=True), _ms),
    ("rtt_method", Heading("method", "left", least=14, optional=True), _text),
    ("state", Heading("state", "left", least=10, optional=True), _text),
    ("round_trips_per_transaction", Heading("a transaction", least=13, optional=True), format_ratio),
    ("round_trips_per_row", Heading("a row", least=7, optional=True), format_ratio),
    *PACE,
    ("client", Heading("client", "left", least=15), _text),
    ("server", Heading("server", "left", least=14), _text),
)
TOTALS: tuple[Shown, ...] = (
    ("share", Heading("share", least=6, optional=True), percent),
    ("cumulative_share", Heading("cumulative", least=10, optional=True), percent),
    ("network_s", Heading("network s", least=9), number),
    ("service_s", Heading("service s", least=9, optional=True), number),
    ("executions", Heading("runs", least=9), _count),
    ("round_trips", Heading("round trips", least=11), _count),
    ("response_p50_ms", Heading("p50 ms", least=9), _ms),
    ("response_p95_ms", Heading("p95 ms", least=9, optional=True), _ms),
    ("response_avg_ms", Heading("avg ms", least=9, optional=True), _ms),
    ("response_stddev_ms", Heading("stddev ms", least=9, optional=True), _ms),
    *PACE,
    ("first_seen", Heading("first seen", "left", least=19, optional=True), _moment),
    ("last_seen", Heading("last seen", "left", least=19, optional=True), _moment),
)
STATEMENTS: tuple[Shown, ...] = (*TOTALS, ("text", Heading("statement", "left", least=30), _text))
FINDINGS: tuple[Shown, ...] = (
    ("severity", Heading("severity", "left", least=8), _text),
    ("code", Heading("code", "left", least=16), _text),
    ("round_trips_saved", Heading("saves trips", least=11), _count),
    ("saved_at_baseline_s", Heading("here s", least=9, optional=True), number),
    ("first_frame", Heading("first frame", least=11, optional=True), _count),
    ("title", Heading("finding", "left", least=40), _text),
)
ERRORS: tuple[Shown, ...] = (
    ("count", Heading("count", least=5), _count),
    ("code", Heading("code", "left", least=12), _text),
    ("kind", Heading("what", "left", least=9), _text),
    ("round_trips", Heading("round trips", least=11, optional=True), _count),
    ("seconds", Heading("seconds", least=9, optional=True), number),
    ("first_frame", Heading("first frame", least=11, optional=True), _count),
    ("statement", Heading("statement", "left", least=20, optional=True), _short),
    ("message", Heading("message", "left", least=40), _text),
)
TASKS: tuple[Shown, ...] = (
    ("task", Heading("task", least=4), _count),
    ("route", Heading("route", "left", least=12, optional=True), _text),
    ("start", Heading("start", "left", least=12), _clock_time),
    ("duration_s", Heading("seconds", least=9), number),
    ("round_trips", Heading("round trips", least=11), _count),
    ("statements", Heading("statements", least=10, optional=True), _count),
    ("seconds_per_ms", Heading("s per ms", least=8), _ms),
    ("network_s", Heading("network s", least=9, optional=True), number),
    ("transactions", Heading("transactions", least=12, optional=True), _count),
    ("connections", Heading("connections", least=11, optional=True), _count),
    ("application", Heading("application", "left", least=12, optional=True), _text),
    ("client", Heading("client", "left", least=12), _text),
)
MINUTES: tuple[Shown, ...] = (
    ("start", Heading("start", "left", least=12), _clock_time),
    ("baseline_ms", Heading("RTT ms", least=8), _ms),
    ("rtt_min_ms", Heading("measured ms", least=11, optional=True), _ms),
    ("fastest_ms", Heading("fastest ms", least=10, optional=True), _ms),
    ("response_p50_ms", Heading("p50 ms", least=9, optional=True), _ms),
    ("response_p95_ms", Heading("p95 ms", least=9), _ms),
    ("round_trips", Heading("round trips", least=11), _count),
    ("connections", Heading("connections", least=11, optional=True), _count),
    ("errors", Heading("errors", least=6, optional=True), _count),
    ("retransmissions", Heading("sent again", least=10), _count),
)
HEALTH: tuple[Shown, ...] = (
    ("code", Heading("code", "left", least=8), _text),
    ("severity", Heading("severity", "left", least=8), _text),
    ("count", Heading("count", least=5), _count),
    ("message", Heading("message", "left", least=30, folds=True), _text),
)
CAPTURES: tuple[Shown, ...] = (
    ("format", Heading("format", "left", least=6), _text),
    ("packets", Heading("packets", least=7), _count),
    ("bytes", Heading("bytes", least=9), _count),
    ("first_time", Heading("first packet", "left", least=19), _moment),
    ("last_time", Heading("last packet", "left", least=19, optional=True), _moment),
    ("tick_ns", Heading("tick ns", least=7, optional=True), _count),
    ("path", Heading("file", "left", least=20, folds=True), _text),
)
SHOWN = {
    "exchanges": EXCHANGES,
    "connections": CONNECTIONS,
    "statements": STATEMENTS,
    "findings": FINDINGS,
    "errors": ERRORS,
    "tasks": TASKS,
    **{f"statements by {name}": (*TOTALS, (name, Heading(name, "left", least=20), _name)) for name in GROUPINGS},
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
    if rows.name in SHOWN:
        yield from _render_some(rows, _with_sorted(rows, _with_days(rows, SHOWN[rows.name])))
    else:
        yield from _render_all(rows)


def _with_days(rows: Table, shown: tuple[Shown, ...]) -> tuple[Shown, ...]:
    """Times of the day get their day where the rows are of several."""
    days = {name: rows.column(name).astype("datetime64[D]") for name, _, write in shown if write is _clock_time}
    several = {name for name, day in days.items() if len(np.unique(day[~np.isnat(day)])) > 1}
    return tuple((name, head, _day_and_time if name in several else write) for name, head, write in shown)


def _with_sorted(rows: Table, shown: tuple[Shown, ...]) -> tuple[Shown, ...]:
    """The columns that are shown, and before the last of them those that the rows were sorted by.

    One that a narrow terminal would spare stands there, too, with its whole name.
    """
    *others, last = shown
    known = {name for name, heading, _ in shown if not heading.optional}
    more = [name for name in dict.fromkeys(rows.sorted_by) if name not in known]
    others = [each for each in others if each[0] not in more]
    writers = {name: write for name, _, write in shown}
    usual = {name: _ms if name.endswith(TIMES) else _any for name in more}
    made = ((name, Heading(printable(name), _side(rows, name)), writers.get(name, usual[name])) for name in more)
    return (*others, *made, last)


def _parts(rows: Table) -> Iterator[tuple[Table, bool]]:
    """A few hundred rows at a time, and whether they are the first."""
    for start in range(0, max(len(rows), 1), ROWS_AT_ONCE):
        yield rows.slice(start, ROWS_AT_ONCE), start == 0


def _render_some(rows: Table, shown: tuple[Shown, ...]) -> Iterator[str]:
    shown = tuple(each for each in shown if not _is_bare(rows, *each))
    headings = [heading for _, heading, _ in shown]
    for part, first in _parts(rows):
        columns = [[_cell(value, write) for value in part.column(name)] for name, _, write in shown]
        yield print_renderables([Grid(headings, list(zip(*columns, strict=True)), show_header=first)])


def _is_bare(rows: Table, name: str, heading: Heading, write: Writer) -> bool:
    """A text that can be spared, and that no row has."""
    return heading.optional and write is _text and all(value is None for value in rows.column(name))


def _render_all(rows: Table) -> Iterator[str]:
    """Every column, as wide as it needs, a sentence last: a line too long for the terminal goes on in the next one."""
    names = sorted(rows.column_names, key=lambda name: name == SENTENCE)
    headings = [Heading(printable(name), _side(rows, name)) for name in names]
    for part, first in _parts(rows):
        columns = [[_any(value) for value in part.column(name)] for name in names]
        if going_to().bounds_lines:
            for column in columns[:-1]:
                column[:] = [cell if len(cell) <= MAX_CELLS else f"{cell[: MAX_CELLS - 1]}…" for cell in column]
        grid = Grid(headings, list(zip(*columns, strict=True)), show_header=first)
        yield print_renderables([grid], width=grid.width)
        headings = grid.settled()


def _side(rows: Table, name: str) -> str:
    return "right" if rows.slice(0, 1).column(name).dtype.kind in "biuf" else "left"


def _any(value: Any) -> str:
    if value is None or value != value:  # NaN and NaT stand for null
        return ""
    if isinstance(value, np.datetime64):
        return f"{np.datetime_as_string(value, unit='ns')}Z"
    if isinstance(value, float | np.floating):
        return f"{value:.9g}"
    return printable(str(value))


def _cell(value: Any, write: Writer) -> str:
    if write is _name:
        return _name(value)
    if value is None or value != value:  # NaN and NaT stand for null
        return ""
    if write is _count:
        value = int(value)
    return write(value)
