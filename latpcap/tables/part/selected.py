"""The one place where a `Selection` is applied: between the core's tables and everything that reads them.

Connections keep their `tcp.stream` numbers, packets their frame numbers. A time window takes the exchanges that begin
in it, so that windows side by side add up to the whole. What is known of a connection stays known, wherever that was
seen: its names, and its RTT, which is estimated from the recording that the window is part of. But a handshake takes
time and round trips only in the window in which it began.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from arro3.core import Table

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Ints, NullableArray, rows_of
from latpcap.tables.columnar.times import iso
from latpcap.tables.connections import CUT, MISSING
from latpcap.tables.part.matching import ConnectionNames
from latpcap.tables.part.selection import Selected, Selection
from latpcap.tables.part.window import Window, begins_of, exchanges_in, reach, utc_span, window
from latpcap.tables.recording import ChangedTables, Recording
from latpcap.units import counted

HANDSHAKE = ("syn_time", "syn_ack_time", "ack_time")
SUMS = ("round_trips", "request_bytes", "response_bytes", "retransmissions")
"""Sums over a connection's exchanges."""
SPANS = ("delta_ns", "client_ns")
"""Columns of an exchange that may span time before the window."""
OF_OTHERS = ("refused", "unanswered", "unrecognised", "other-database")
"""Notes about connections that are no database's, and so are never selected."""


def select(recording: Recording, selection: Selection) -> Recording:
    """Return the selected part of `recording`; raises `NothingSelected` where there is none.

    A recording without database traffic stays as it is: that is what is to be said of it.
    """
    if not selection:
        return recording
    known = recording.without_rows()
    if len(known.database_rows) == 0:
        return recording
    asked = ConnectionNames(known)
    part = _part(recording, asked, selection)
    then = window(part, selection)
    if then is None:
        tables, period, whole = part.tables, part.period, part.whole
    else:
        tables, period, whole = InWindow(part, then), then.period, part.whole or part
    return Recording(tables, _selected(asked, selection, tables, period), period, whole, recording.scratch)


def only(recording: Recording, streams: Ints) -> Recording:
    """The recording with these connections alone, of what was selected."""
    tables = OfStreams(recording.reading_only(streams), streams)
    whole = None if recording.whole is None else only(recording.whole, streams)
    return Recording(tables, recording.selected, recording.period, whole, recording.scratch)


def _part(recording: Recording, asked: ConnectionNames, selection: Selection) -> Recording:
    """The recording with the chosen connections alone, and so the one that it is a window of."""
    chosen = _streams(asked.recording)[asked.chosen(selection)]
    tables, period = OfStreams(recording.reading_only(chosen), chosen), recording.period
    if recording.whole is None or period is None:
        return Recording(tables, scratch=recording.scratch)
    whole = _part(recording.whole, ConnectionNames(recording.whole), selection)
    begins, ends = reach(whole)
    return Recording(tables, None, (max(begins, period[0]), min(ends, period[1])), whole, recording.scratch)


def _streams(recording: Recording) -> Ints:
    return columns.column(recording.all_connections_table, "stream").values.astype(np.int64)


class OfStreams(ChangedTables):
    """The tables of a recording with some of its connections in them.

    Texts, which exchanges refer to, and what is said of files and of taps are those of all.
    """

    def __init__(self, recording: Recording, chosen: Ints) -> None:
        """Take the connections with the numbers `chosen`."""
        super().__init__(recording.tables)
        self._whole = recording
        self._chosen = chosen

    def notes(self) -> Table:
        """The notes on the files."""
        table = self._whole.notes_table
        codes = columns.texts(table, "code")
        return rows_of(table, np.flatnonzero([code not in OF_OTHERS for code in codes]))

    @cached_property
    def _connections(self) -> Table:
        return self._of_chosen(self._whole.all_connections_table)

    def connections(self) -> Table:
        """The chosen connections."""
        return self._connections

    @cached_property
    def _rows(self) -> Ints:
        """Which of the exchanges are theirs."""
        stream = columns.column(self._whole.exchange_columns("stream"), "stream").values
        return np.flatnonzero(np.isin(stream, self._chosen))

    def exchanges(self, names: list[str] | None = None, rows: tuple[int, int] | None = None) -> Table:
        """Theirs; of these columns, and of these rows, where some are named."""
        if names is None:
            return rows_of(self._whole.exchanges_table, self._rows)
        picked = self._rows if rows is None else self._rows[slice(*rows)]
        if rows is None or len(picked) == 0:
            return rows_of(self._whole.exchange_columns(*names), picked)
        first, last = int(picked[0]), int(picked[-1])
        return rows_of(self._whole.exchange_columns(*names, rows=(first, last + 1)), picked - first)

    def rtt_samples(self) -> Table:
        """Theirs."""
        return self._of_chosen(Table.from_arrow(self._tables.rtt_samples()))

    def clock_readings(self) -> Table:
        """Theirs."""
        return self._of_chosen(Table.from_arrow(self._tables.clock_readings()))

    def segments(self) -> Table:
        """Theirs."""
        return self._of_chosen(Table.from_arrow(self._tables.segments()))

    def _of_chosen(self, table: Table) -> Table:
        return rows_of(table, np.flatnonzero(np.isin(columns.column(table, "stream").values, self._chosen)))


class InWindow(OfStreams):
    """The selected connections within a window of time."""

    def __init__(self, recording: Recording, window: Window) -> None:
        """Take the exchanges that begin in `window`; raises `NothingSelected` where there is none."""
        self._window = window
        self._of_window = np.flatnonzero(exchanges_in(recording, window))
        self._under_way = _under_way(recording, window.period[0])
        super().__init__(recording, _streams(recording)[self._was_there(recording)])

    def _was_there(self, recording: Recording) -> Bools:
        """Connections that began in the window, or with an exchange that begins in it or goes on into it."""
        table = recording.all_connections_table
        start, frame = (columns.column(table, name).values for name in ("start", "first_frame"))
        busy = columns.column(recording.exchange_columns("stream"), "stream").values[self._rows]
        began = self._window.holds(start, frame.astype(np.int64))
        there: Bools = np.isin(_streams(recording), busy) | began | self._under_way.is_valid()
        return there

    @cached_property
    def _connections(self) -> Table:
        whole = self._whole.all_connections_table
        kind, there = whole.column("start").type, np.isin(_streams(self._whole), self._chosen)
        until = NullableArray(self._under_way.values[there], self._under_way.is_valid()[there])
        table = _clipped(self._of_chosen(whole), self.exchanges(["stream", *SUMS]), *self._window.edges)
        kept = {name: table.column(name) for name in table.column_names if name != CUT}
        return Table.from_pydict({**kept, CUT: columns.nullable(until.values, until.valid).cast(kind)})

    @property
    def _rows(self) -> Ints:
        return self._of_window

    def exchanges(self, names: list[str] | None = None, rows: tuple[int, int] | None = None) -> Table:
        """The window's exchanges."""
        begins = self._window.period[0]
        if names is None:
            return _without_time_before(super().exchanges(), begins)
        spans = [name for name in names if name in SPANS]
        if not spans:
            return super().exchanges(names, rows)
        more = [*dict.fromkeys((*names, "request_time"))]
        return _without_time_before(super().exchanges(more, rows), begins).select(names)

    def rtt_samples(self) -> Table:
        """The window's samples; all else known of the RTT is that of the whole recording."""
        return self._then(super().rtt_samples())

    def clock_readings(self) -> Table:
        """The window's clock readings."""
        return self._then(super().clock_readings())

    def segments(self) -> Table:
        """The segments of slots that begin in the window."""
        return self._then(super().segments())

    def _then(self, table: Table) -> Table:
        begins, ends = self._window.edges
        time = columns.column(table, "time").values
        return rows_of(table, np.flatnonzero((time >= begins) & (time < ends)))


def _under_way(recording: Recording, begins: int) -> NullableArray:
    """Return until when an exchange of each connection went on that began before the window."""
    table, streams = recording.exchange_columns("stream", "request_end_time", "response_end_time"), _streams(recording)
    stream = columns.column(table, "stream").values.astype(np.int64)
    end = np.maximum(*(columns.column(table, f"{name}_end_time").ints(MISSING) for name in ("request", "response")))
    crosses = (begins_of(recording) < begins) & (end > begins)
    until = np.full(max(int(stream.max(initial=0)), int(streams.max(initial=0))) + 1, MISSING)
    np.maximum.at(until, stream[crosses], end[crosses])
    until = until[streams]
    if CUT in recording.all_connections_table.column_names:
        before = columns.column(recording.all_connections_table, CUT).ints(MISSING)
        until = np.where(before > begins, np.maximum(until, before), until)
    return NullableArray(until, until != MISSING)


def _clipped(table: Table, exchanges: Table, begins: int, ends: int) -> Table:
    """Connections in a window: what is counted is that of the exchanges; a handshake before it is no part of it."""
    syn, start = columns.column(table, "syn_time"), columns.column(table, "start").values
    opened = np.where(syn.is_valid(), syn.values, start)
    shook = (opened >= begins) & (opened < ends)
    handshake = {name: columns.column(table, name) for name in HANDSHAKE}
    times = {name: columns.column(table, name) for name in ("start", "end", "data_end")}
    return _with(
        table,
        {name: NullableArray(each.values, each.is_valid() & shook) for name, each in handshake.items()}
        | {name: NullableArray(np.clip(each.values, begins, ends), each.valid) for name, each in times.items()}
        | {name: NullableArray(values) for name, values in _sums(table, exchanges)},
    )


def _sums(table: Table, exchanges: Table) -> Iterator[tuple[str, Ints]]:
    """Yield sums over the exchanges of each connection."""
    stream = columns.column(exchanges, "stream").values.astype(np.int64)
    streams = columns.column(table, "stream").values.astype(np.int64)
    count = max(int(stream.max(initial=0)), int(streams.max(initial=0))) + 1
    yield "exchanges", np.bincount(stream, minlength=count)[streams]
    for name in SUMS:
        values = columns.column(exchanges, name).values.astype(np.float64)
        yield name, np.bincount(stream, values, count)[streams].astype(np.int64)


def _without_time_before(table: Table, begins: int) -> Table:
    """Time between requests is unknown where it began before the window."""
    asked = columns.column(table, "request_time")
    spans = {name: columns.column(table, name) for name in SPANS if name in table.column_names}
    return _with(
        table,
        {
            name: NullableArray(
                each.values, each.is_valid() & asked.is_valid() & (asked.values - each.values >= begins)
            )
            for name, each in spans.items()
        },
    )


def _with(table: Table, changed: dict[str, NullableArray]) -> Table:
    """`table` with some of its columns changed, each of the type that it was."""

    def column(name: str) -> Any:
        if name not in changed:
            return table.column(name)
        kind, new = table.column(name).type, changed[name]
        return columns.nullable(new.values, new.valid).cast(kind)

    return Table.from_pydict({name: column(name) for name in table.column_names})


def _selected(asked: ConnectionNames, selection: Selection, tables: Any, period: tuple[int, int] | None) -> Selected:
    """Describe the selection."""
    recording, before = asked.recording, asked.recording.selected
    conditions = [*(before.conditions if before else ()), *map(asked.words, selection.conditions)]
    conditions += [f"{word} {edge}" for word, edge in (("from", selection.start), ("to", selection.end)) if edge]
    connections = sum(protocol is not None for protocol in columns.texts(tables.connections(), "protocol"))
    total_connections = before.total_connections if before else len(recording.database_rows)
    exchanges = len(tables.exchanges(["stream"]))
    total_exchanges = before.total_exchanges if before else recording.exchange_count
    start, end = (None, None) if period is None else iso(NullableArray(np.array(period)))
    when = "" if period is None else f", {utc_span(*period)}"
    part = f"{connections:,} of {counted(total_connections, 'connection')}"
    part += f", {exchanges:,} of {counted(total_exchanges, 'exchange')}"
    return Selected(
        conditions=tuple(conditions),
        start=start,
        end=end,
        connections=connections,
        total_connections=total_connections,
        exchanges=exchanges,
        total_exchanges=total_exchanges,
        part=part,
        text=f"{'; '.join(conditions)}: {part}{when}",
    )
