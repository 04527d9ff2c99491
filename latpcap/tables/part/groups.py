"""A recording cut into groups of its database connections, each a `Recording` of its own.

Rows are put in the groups' order once, and a column becomes numpy once: a group is a slice of each, so that all groups
cost no more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from arro3.core import Table
from msgspec.structs import replace

from latpcap import _core
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Codes, Ints, NullableArray
from latpcap.tables.columnar.table import MAX_PASSES, MIN_BLOCK_ROWS
from latpcap.tables.connections import MISSING, TIMES, Connections
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.host_curve import HostCurve
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.part.selected import only
from latpcap.tables.recording import Gap, Recording

OF_STREAMS = ("rtt_samples", "clock_readings", "segments")
"""Tables with a row for something on a connection, which they name by its stream."""
MAX_EXCHANGES = 1 << 18
"""Exchanges of the groups that are processed together: their numpy columns are kept until all are done."""
OF_ALL = ("captures", "notes", "statements", "tags", "taps")
"""Tables that all groups share."""

Bounds = tuple[int, int]
K = TypeVar("K")
V = TypeVar("V")


def names_of(recording: Recording, by: str) -> list[str | None]:
    """The `user`, `database`, `client` (host), `application` or `server` of each database connection."""
    names = recording.connections.host if by == "client" else recording.said(by)
    return [name or None for name in names.texts()]


def arranged(recording: Recording, names: Sequence[str | None]) -> Iterator[GroupedRecording]:
    """The database connections in the order of their groups, some groups at a time.

    `names` has the group of each database connection; groups are in the order in which their names appear.
    """
    distinct = list(dict.fromkeys(names))
    numbers = {name: number for number, name in enumerate(distinct)}
    of_connection = np.array([numbers[name] for name in names], np.int64)
    streams = recording.connection_column("stream").values
    of_stream = np.full(int(streams.max(initial=0)) + 1, -1)
    of_stream[streams] = of_connection
    order = np.argsort(of_connection, kind="stable")
    connections = columns.rows_of(recording.all_connections_table, recording.database_rows[order])
    parts = {"connections": (connections, of_connection[order])}
    for table in OF_STREAMS:
        parts[table] = _of_streams(Table.from_arrow(getattr(recording.tables, table)()), of_stream)
    parts["exchanges"] = _exchanges(recording, of_stream)
    edges = np.arange(len(distinct) + 1)
    bounds = {name: np.searchsorted(groups, edges) for name, (_, groups) in parts.items()}
    shared = {table: Table.from_arrow(getattr(recording.tables, table)()) for table in OF_ALL}
    tables = {name: table for name, (table, _) in parts.items()}
    for groups in _some(bounds["exchanges"]):
        here = {name: bounds[name][groups.start : groups.stop + 1] for name in tables}
        cut = {
            name: table.slice(int(here[name][0]), int(here[name][-1] - here[name][0])) for name, table in tables.items()
        }
        found = {name: edges - edges[0] for name, edges in here.items()}
        yield GroupedRecording(shared | cut, distinct[groups], found, recording.host_curve)


def some_groups(recording: Recording, names: Sequence[str | None]) -> Iterator[tuple[Recording, Sequence[str | None]]]:
    """The recording and the group of each of its database connections, or where not all rows fit in memory parts of it.

    There a group with many of the rows is a part of its own, and others are in as few parts as may be: each part is
    picked out of all rows.
    """
    is_one = len({*names}) == 1 and len(names) == len(recording.all_connections_table)
    if recording.scratch is None or is_one:
        yield recording, names
        return
    streams = recording.connection_column("stream").values.astype(np.int64)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    of_connection = np.array([numbers[name] for name in names], np.int64)
    counts = np.bincount(of_connection, recording.connection_column("exchanges").values)
    most = max(counts.sum() / MAX_PASSES, MIN_BLOCK_ROWS)
    is_large = counts > most
    small = np.where(is_large, 0, counts)
    part = np.where(is_large, -1 - np.arange(len(counts)), (np.cumsum(small) - small) // most).astype(np.int64)
    for number in np.unique(part):
        here = part[of_connection] == number
        yield only(recording, streams[here]), [name for name, is_here in zip(names, here, strict=True) if is_here]


def _some(begins: Ints) -> Iterator[slice]:
    """Groups that have no more than `MAX_EXCHANGES` exchanges together, or one alone; `begins` are their first ones."""
    first, count = 0, len(begins) - 1
    while first < count:
        last = int(np.searchsorted(begins, begins[first] + MAX_EXCHANGES, side="right")) - 1
        last = min(max(last, first + 1), count)
        yield slice(first, last)
        first = last


class GroupedRecording(Recording):
    """Groups of a recording's database connections, one after the other."""

    def __init__(
        self,
        tables: dict[str, Table],
        names: Sequence[str | None],
        bounds: Mapping[str, Ints],
        host_curve: HostCurve | None,
    ) -> None:
        """Take the tables, the name of each group, and where it begins in each table; at last where all end."""
        super().__init__(_GroupTables(tables))
        self.host_curve = host_curve
        self.names = names
        self._bounds = bounds
        self.of_connection: Ints = np.repeat(np.arange(len(names)), np.diff(bounds["connections"]))
        """The group of each connection, ascending."""
        self._columns: dict[tuple[str, Any], Any] | None = {} if len(tables["exchanges"]) <= MAX_EXCHANGES else None

    def __iter__(self) -> Iterator[Group]:
        """The groups."""
        return (Group(self, number) for number in range(len(self.names)))

    def bounds(self, table: str, group: int) -> Bounds:
        """The rows of a group in a table, from a first one up to another."""
        first, last = self._bounds[table][group : group + 2].tolist()
        return first, last

    def exchange_column(self, name: str, rows: Bounds | None = None) -> NullableArray:
        """Made once."""
        return self._once("column", name, super().exchange_column).picked(slice(*rows or (None,)))

    def exchange_codes(self, name: str, rows: Bounds | None = None) -> Codes:
        """Made once."""
        coded = self._once("codes", name, super().exchange_codes)
        return coded if rows is None else coded.picked(slice(*rows))

    def ints(self, name: str, missing: int) -> Ints:
        """A column of the exchanges as integers, likewise."""
        return self._once("ints", (name, missing), lambda _: self.exchange_column(name).ints(missing))

    def is_for(self, *purposes: str) -> Bools:
        """The exchanges for one of these, likewise."""
        return self._once("is for", purposes, lambda purposes: self.exchanges.is_for(*purposes))

    def connection_column(self, name: str) -> NullableArray:
        """Made once."""
        return self._once("of connections", name, super().connection_column)

    def said(self, name: str) -> Codes:
        """Made once."""
        return self._once("said", name, super().said)

    def _once(self, kind: str, name: K, made: Callable[[K], V]) -> V:
        """Return what many groups ask for, made once; a large one makes it anew, as `Exchanges` does."""
        if self._columns is None:
            return made(name)
        if (kind, name) not in self._columns:
            self._columns[kind, name] = made(name)
        found: V = self._columns[kind, name]
        return found


def _of_all(name: str) -> Any:
    """Make a property that all groups share."""
    return property(lambda group: getattr(group.arranged, name))


class Group(Recording):
    """One group of an arranged recording."""

    def __init__(self, arranged: GroupedRecording, number: int) -> None:
        """Take the group with this number; nothing is made before it is asked for."""
        super().__init__(
            _GroupTables(arranged.tables.all, lambda table: None if table in OF_ALL else arranged.bounds(table, number))
        )
        self.arranged = arranged
        self.number = number
        self._of_connections = slice(*arranged.bounds("connections", number))
        self.exchange_bounds = arranged.bounds("exchanges", number)
        """Which of all exchanges are those of the group."""

    @property
    def name(self) -> str | None:
        """The group's name."""
        return self.arranged.names[self.number]

    captures_table = _of_all("captures_table")
    host_curve = _of_all("host_curve")
    tick_ns = _of_all("tick_ns")
    notes_table = _of_all("notes_table")
    notes = _of_all("notes")
    is_relayed = _of_all("is_relayed")
    statements_table = _of_all("statements_table")
    statement_texts = _of_all("statement_texts")
    statements = _of_all("statements")
    tag_texts = _of_all("tag_texts")

    @cached_property
    def gaps(self) -> list[Gap]:
        """Gaps of the whole recording, in time since the group began."""
        later = self.start_ns - self.arranged.start_ns
        return [replace(gap, begin=gap.begin - later, end=gap.end - later) for gap in self.arranged.gaps]

    @cached_property
    def database_rows(self) -> Ints:
        """All of them."""
        first, last = self._of_connections.start, self._of_connections.stop
        return np.arange(last - first)

    @cached_property
    def connections(self) -> Connections:
        """The group's connections."""
        whole, rows = self.arranged.connections, self._of_connections
        later = self.start_ns - self.arranged.start_ns
        made = {name: _part(getattr(whole, name), rows) for name in Connections.__struct_fields__}
        made |= {name: _since(made[name], later) for name in TIMES}
        return Connections(**made | {"host": made["client"].renamed(host_of)})

    @cached_property
    def exchanges(self) -> Exchanges:
        """The group's exchanges."""
        return _Exchanges(self)

    def exchange_column(self, name: str, rows: Bounds | None = None) -> NullableArray:
        """A slice of what was made of all."""
        return self.arranged.exchange_column(name, self._rows(rows))

    def exchange_codes(self, name: str, rows: Bounds | None = None) -> Codes:
        """A slice of what was made of all."""
        return self.arranged.exchange_codes(name, self._rows(rows))

    def connection_column(self, name: str) -> NullableArray:
        """A slice of what was made of all."""
        return self.arranged.connection_column(name).picked(self._of_connections)

    def said(self, name: str) -> Codes:
        """A slice of what was made of all."""
        found: Codes = _part(self.arranged.said(name), self._of_connections)
        return found

    def _rows(self, rows: Bounds | None) -> Bounds:
        first, last = self.exchange_bounds
        return (first, last) if rows is None else (first + rows[0], min(first + rows[1], last))


class _Exchanges(Exchanges):
    """The exchanges of a group."""

    def __init__(self, group: Group, rows: Bounds | None = None) -> None:
        super().__init__(group, rows)
        self._group = group

    def within(self, begin: int, end: int) -> Exchanges:
        """Some of these rows."""
        return _Exchanges(self._group, (begin, end))

    @cached_property
    def connection(self) -> Ints:
        """Index into the group's `Connections`."""
        return self._group.arranged.exchanges.connection[self._slice] - self._group._of_connections.start

    @cached_property
    def kind(self) -> Codes:
        """The kind of each statement."""
        return self._group.arranged.exchanges.kind.picked(self._slice)

    def is_for(self, *purposes: str) -> Bools:
        """Their purpose is one of these."""
        return self._group.arranged.is_for(*purposes)[self._slice]

    def _ints(self, name: str, missing: int = MISSING) -> Ints:
        return self._group.arranged.ints(name, missing)[self._slice]

    @property
    def _slice(self) -> slice:
        """Their rows among those of all groups."""
        return slice(*self._group._rows(self._rows))


def _part(values: Any, rows: slice) -> Any:
    """Some rows; of texts with the names that these have, in their order: there may be as many as groups."""
    if not isinstance(values, Codes):
        return values[rows]
    codes = values.codes[rows]
    known = {code: number for number, code in enumerate(dict.fromkeys(code for code in codes.tolist() if code >= 0))}
    numbers = np.array([known.get(code, -1) for code in codes.tolist()], codes.dtype)
    return Codes(numbers, [values.names[code] for code in known])


def _since(times: Ints, later: int) -> Ints:
    return np.where(times == MISSING, MISSING, times - later)


def _of_streams(table: Table, of_stream: Ints) -> tuple[Table, Ints]:
    """The rows one group after the other, and the group of each."""
    rows, groups = _in_order(columns.column(table, "stream").values, of_stream)
    return columns.rows_of(table, rows), groups


def _exchanges(recording: Recording, of_stream: Ints) -> tuple[Table, Ints]:
    """Return the exchanges group by group, a column at a time as all may not fit, and the group of each."""
    rows, groups = _in_order(recording.exchange_column("stream").values, of_stream)
    names = _core.Recording.exchange_names()
    picked: dict[str, Any] = {
        name: columns.rows_of(recording.exchange_columns(name), rows).column(name) for name in names
    }
    return Table.from_pydict(picked), groups


def _in_order(stream: Ints, of_stream: Ints) -> tuple[Ints, Ints]:
    known = stream < len(of_stream)
    group = np.where(known, of_stream[np.where(known, stream, 0)], -1)
    rows = np.flatnonzero(group >= 0)
    rows = rows[np.argsort(group[rows], kind="stable")]
    return rows, group[rows]


class _GroupTables:
    """The tables of all groups, or of one: what `Recording` takes."""

    def __init__(self, tables: dict[str, Table], bounds: Callable[[str], Bounds | None] = lambda table: None) -> None:
        """Take each by the name of the method that returns it."""
        self.all = tables
        self._bounds = bounds

    def __getattr__(self, name: str) -> Callable[..., Table]:
        table = self.__dict__["all"].get(name)
        if table is None:
            raise AttributeError(name)

        def made(columns: list[str] | None = None, rows: Bounds | None = None) -> Table:
            first, last = self._bounds(name) or (0, len(table))
            if rows is not None:
                first, last = first + rows[0], min(first + rows[1], last)
            part: Table = table if columns is None else table.select(columns)
            if last - first < len(table):
                part = part.slice(first, last - first)
            return part

        return made
