"""The tables of exchanges, connections and statements for a terminal: some of their columns, all of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from latpcap.report.grid import Grid, Heading
from latpcap.report.terminal import print_renderables
from latpcap.report.text import printable
from latpcap.table import Table

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


def _flag(value: Any) -> str:
    return "" if value else "part"


EXCHANGES: tuple[Shown, ...] = (
    ("stream", Heading("stream", least=6), str),
    ("exchange", Heading("number", least=6), str),
    ("command", Heading("command", "left", least=12), _text),
    ("round_trips", Heading("trips", least=5), _count),
    ("rows", Heading("rows", least=7, optional=True), _count),
    ("service_ms", Heading("service ms", least=10), _ms),
    ("delta_ms", Heading("delta ms", least=10, optional=True), _ms),
    ("complete", Heading("seen", least=4, optional=True), _flag),
    ("statement", Heading("statement", "left", least=30), _text),
)
CONNECTIONS: tuple[Shown, ...] = (
    ("stream", Heading("stream", least=6), str),
    ("round_trips", Heading("round trips", least=11), _count),
    ("rtt_baseline_ms", Heading("RTT ms", least=9), _ms),
    ("rtt_method", Heading("method", "left", least=14, optional=True), _text),
    ("state", Heading("state", "left", least=10, optional=True), _text),
    ("client", Heading("client", "left", least=21), _text),
    ("server", Heading("server", "left", least=30), _text),
)
STATEMENTS: tuple[Shown, ...] = (
    ("network_s", Heading("network s", least=9), _ms),
    ("service_s", Heading("service s", least=9, optional=True), _ms),
    ("executions", Heading("runs", least=9), _count),
    ("round_trips", Heading("round trips", least=11), _count),
    ("response_p50_ms", Heading("p50 ms", least=9), _ms),
    ("response_p95_ms", Heading("p95 ms", least=9, optional=True), _ms),
    ("text", Heading("statement", "left", least=30), _text),
)
FINDINGS: tuple[Shown, ...] = (
    ("severity", Heading("severity", "left", least=8), _text),
    ("code", Heading("code", "left", least=16), _text),
    ("round_trips_saved", Heading("saves trips", least=11), _count),
    ("saved_at_baseline_s", Heading("here s", least=9, optional=True), _ms),
    ("first_frame", Heading("first frame", least=11, optional=True), _count),
    ("title", Heading("finding", "left", least=40), _text),
)
SHOWN = {"exchanges": EXCHANGES, "connections": CONNECTIONS, "statements": STATEMENTS, "findings": FINDINGS}


def render(rows: Table) -> Iterator[str]:
    """Yield `rows` as text, a few hundred rows at a time."""
    shown = SHOWN[rows.name]
    for start in range(0, max(len(rows), 1), ROWS_AT_ONCE):
        yield _render_part(rows.slice(start, ROWS_AT_ONCE), shown, show_header=start == 0)


def _render_part(part: Table, shown: tuple[Shown, ...], *, show_header: bool) -> str:
    columns = [[_cell(value, write) for value in part.column(name)] for name, _, write in shown]
    headings = [heading for _, heading, _ in shown]
    return print_renderables([Grid(headings, list(zip(*columns, strict=True)), show_header=show_header)])


def _cell(value: Any, write: Writer) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if write is _count:
        value = int(value)
    return write(value)
