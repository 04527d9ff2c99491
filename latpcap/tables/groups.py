"""A recording cut into groups of its database connections, each a `Recording` of its own.

Rows are put in the groups' order once; a group then is a slice of each table, so that all cost no more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from arro3.core import Table

from latpcap.tables import columns
from latpcap.tables.columns import Ints
from latpcap.tables.recording import Recording

__all__ = ["grouped", "names_of"]

OF_STREAMS = ("exchanges", "rtt_samples", "clock_readings")
"""Tables with a row for something on a connection, which they name by its stream."""
OF_ALL = ("captures", "notes", "statements", "tags", "taps")
"""Tables that all groups share."""


def names_of(recording: Recording, by: str) -> list[str | None]:
    """The `user`, `database`, `client` (host), `application` or `server` of each database connection."""
    told = recording.connections.host if by == "client" else recording.said(by)
    return [name or None for name in told.texts()]


def grouped(recording: Recording, names: Sequence[str | None]) -> Iterator[tuple[str | None, Recording]]:
    """Yield the database connections of each name (one name a connection), in the order in which the names appear."""
    distinct = list(dict.fromkeys(names))
    numbers = {name: number for number, name in enumerate(distinct)}
    of_connection = np.array([numbers[name] for name in names], np.int64)
    streams = columns.column(recording.all_connections_table, "stream").values[recording.database_rows]
    of_stream = np.full(int(streams.max(initial=0)) + 1, -1)
    of_stream[streams] = of_connection
    order = np.argsort(of_connection, kind="stable")
    parts = {
        "connections": _Slices(recording.all_connections_table, recording.database_rows[order], of_connection[order])
    }
    for table in OF_STREAMS:
        parts[table] = _of_streams(Table.from_arrow(getattr(recording.tables, table)()), of_stream)
    shared = {table: Table.from_arrow(getattr(recording.tables, table)()) for table in OF_ALL}
    for number, name in enumerate(distinct):
        yield name, Recording(_Part(shared | {table: rows.of(number) for table, rows in parts.items()}))


class _Slices:
    """The rows of a table, one group after the other."""

    def __init__(self, table: Table, rows: Ints, groups: Ints) -> None:
        """Take the rows in their new order, and the group of each, ascending."""
        self._table = columns.rows_of(table, rows)
        self._groups = groups

    def of(self, group: int) -> Table:
        begin, end = np.searchsorted(self._groups, (group, group + 1))
        return self._table.slice(int(begin), int(end - begin))


def _of_streams(table: Table, of_stream: Ints) -> _Slices:
    stream = columns.column(table, "stream").values
    known = stream < len(of_stream)
    group = np.where(known, of_stream[np.where(known, stream, 0)], -1)
    rows = np.flatnonzero(group >= 0)
    rows = rows[np.argsort(group[rows], kind="stable")]
    return _Slices(table, rows, group[rows])


class _Part:
    """The tables of one group: what `Recording` takes."""

    def __init__(self, tables: dict[str, Table]) -> None:
        """Take each by the name of the method that returns it."""
        self._of_group = tables

    def __getattr__(self, name: str) -> Callable[..., Table]:
        table = self.__dict__["_of_group"].get(name)
        if table is None:
            raise AttributeError(name)
        return lambda columns=None: table if columns is None else table.select(columns)
