"""A recording cut into groups of its database connections, each a `Recording` of its own.

The core picks the rows of all groups in one walk, which share the packed rows. What is the same for all groups is made
numpy once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap import _core
from latpcap.tables.columnar.columns import Codes, Ints, NullableArray
from latpcap.tables.columnar.table import MAX_PASSES, MIN_BLOCK_ROWS
from latpcap.tables.part.selected import only
from latpcap.tables.recording import Recording

MAX_EXCHANGES = 1 << 18
"""Exchanges of the groups that are processed together: their numpy columns are kept until all are done."""
OF_ALL = (
    *("captures_table", "notes_table", "notes", "is_relayed", "host_curve", "file_gaps"),
    *("statements_table", "statement_kinds", "statement_texts", "statements", "tag_texts"),
)
"""Attributes of a `Recording` that all groups share."""


def names_of(recording: Recording, by: str) -> list[str | None]:
    """The `user`, `database`, `client` (host), `application` or `server` of each database connection."""
    names = recording.connections.host if by == "client" else recording.said(by)
    return [name or None for name in names.texts()]


def arranged(recording: Recording, names: Sequence[str | None]) -> Iterator[GroupBatch]:
    """The database connections in the order of their groups, some groups at a time.

    `names` has the group of each database connection; groups are in the order in which their names appear.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    streams = recording.connection_column("stream").values
    of_stream = np.full(int(streams.max(initial=0)) + 1, -1, np.int64)
    of_stream[streams] = [numbers[name] for name in names]
    distinct = iter(numbers)
    for together, each in recording.core.groups(of_stream, MAX_EXCHANGES):
        yield GroupBatch(recording, together, [(next(distinct), core) for core in each])


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


class Group(Struct, frozen=True):
    """One of some groups."""

    name: str | None
    recording: Recording
    connections: slice
    """Its connections among those of all these groups."""
    exchanges: slice
    """Its exchanges among those of all these groups."""


class GroupBatch:
    """Groups of a recording's database connections, one after the other."""

    def __init__(
        self, whole: Recording, together: _core.Recording, each: Sequence[tuple[str | None, _core.Recording]]
    ) -> None:
        """Take the recording of all these groups together, and the name and the recording of each."""
        self._each = each
        self._of_all = {name: getattr(whole, name) for name in OF_ALL}
        self.recording = self._with_what_all_share(Recording(together))
        self._columns: dict[tuple[str, str], Any] = {}

    def __iter__(self) -> Iterator[Group]:
        """The groups."""
        begin = (0, 0)
        for (name, core), end in zip(self._each, self._ends, strict=True):
            connections, exchanges = map(slice, begin, end)
            is_alone = len(self._each) == 1
            recording = Recording(core) if is_alone else _OneOfMany(core, self.column, connections, exchanges)
            yield Group(name, self._with_what_all_share(recording), connections, exchanges)
            begin = end

    def rtts(self, given_ms: float | None = None) -> Iterator[tuple[Group, _core.Rtts]]:
        """Each group with its RTTs, as if the others were not there; `given_ms` overrules what was measured."""
        together = self.recording.core.rtts(given_ms, self.of_connection)
        for group in self:
            connections = group.connections
            yield group, together.part(connections.start, connections.stop, group.recording.core)

    @cached_property
    def of_connection(self) -> Ints:
        """The group of each connection, ascending."""
        return np.repeat(np.arange(len(self._each)), np.diff([0, *(connections for connections, _ in self._ends)]))

    @cached_property
    def _ends(self) -> list[tuple[int, int]]:
        """How many connections and how many exchanges there are up to the end of each group."""
        counts = np.array([(len(core.connections()), core.exchange_count) for _, core in self._each])
        return [(connections, exchanges) for connections, exchanges in np.cumsum(counts, axis=0).tolist()]

    def column(self, kind: str, name: str) -> Any:
        """A column of all these groups, made once; `kind` is the method of a `Recording` that makes it."""
        if (kind, name) not in self._columns:
            self._columns[kind, name] = getattr(self.recording, kind)(name)
        return self._columns[kind, name]

    def _with_what_all_share(self, recording: Recording) -> Recording:
        recording.__dict__.update(self._of_all)
        return recording


class _OneOfMany(Recording):
    """A small group, whose columns are slices of those of all groups: from Arrow each takes longer than its rows do."""

    def __init__(
        self, core: _core.Recording, column: Callable[[str, str], Any], connections: slice, exchanges: slice
    ) -> None:
        super().__init__(core)
        self._column, self._of_connections, self._of_exchanges = column, connections, exchanges

    @cached_property
    def database_rows(self) -> Ints:
        """All of them."""
        return np.arange(self._of_connections.stop - self._of_connections.start)

    def exchange_column(self, name: str, rows: tuple[int, int] | None = None) -> NullableArray:
        """One of them, of numbers or times."""
        column: NullableArray = self._column("exchange_column", name).picked(self._of_exchanges)
        return column if rows is None else column.picked(slice(*rows))

    def exchange_codes(self, name: str, rows: tuple[int, int] | None = None) -> Codes:
        """One of them, of texts."""
        codes: Codes = self._column("exchange_codes", name).picked(self._of_exchanges)
        return codes if rows is None else codes.picked(slice(*rows))

    def connection_column(self, name: str) -> NullableArray:
        """A column of the connection table."""
        column: NullableArray = self._column("connection_column", name).picked(self._of_connections)
        return column

    def said(self, name: str) -> Codes:
        """A text column of the connection table, with the names that these have: there may be as many as groups."""
        whole: Codes = self._column("said", name)
        codes = whole.codes[self._of_connections].tolist()
        numbers = {code: number for number, code in enumerate(dict.fromkeys(code for code in codes if code >= 0))}
        return Codes(
            np.array([numbers.get(code, -1) for code in codes], whole.codes.dtype),
            [whole.names[code] for code in numbers],
        )
