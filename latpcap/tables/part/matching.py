"""Which connections the conditions of a selection hold for, and what is said where they hold for none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from arro3.core import Table
from msgspec import Struct

from latpcap._core import protocols
from latpcap.errors import NothingSelected, did_you_mean
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.part.selection import Condition, Selection, ValuePattern
from latpcap.tables.recording import Recording
from latpcap.units import counted, ranges

MAX_VALUES_LISTED = 10
"""Values that a message names."""
COLUMNS = {
    **{name: (name,) for name in ("stream", "client", "server", "protocol")},
    "application": ("application", "driver", "framework"),
    "user": ("user", "former_users"),
    "database": ("database", "former_databases"),
}
"""The columns that a condition asks; the former names of a connection stand line by line."""
WORDS = {"client": "from client", "server": "to server", "database": "to database"}
"""How a message says which connections; else it is `of`."""


class _DistinctValues(Struct, frozen=True):
    """The distinct values of connections, and which row has which: a row may have several, or none."""

    values: list[str]
    row: Ints
    value: Ints

    @classmethod
    def of(cls, values: Iterable[list[str]]) -> _DistinctValues:
        numbers: dict[str, int] = {}
        pairs = [(row, numbers.setdefault(each, len(numbers))) for row, held in enumerate(values) for each in held]
        row, value = np.array(pairs, np.int64).reshape(-1, 2).T
        return cls(list(numbers), row, value)


class ConnectionNames:
    """The connections of a recording as conditions ask them: by their real names, and by those that are shown."""

    def __init__(self, recording: Recording) -> None:
        """Look at `recording`."""
        self.recording = recording
        self.shown = recording.all_connections_table
        is_renamed = recording.core.is_renamed
        self.real = self._same_rows(Table.from_arrow(recording.core.all_connections())) if is_renamed else None
        self._known_by: dict[str, list[_DistinctValues]] = {}

    def _same_rows(self, table: Table) -> Table:
        real, shown = (columns.column(each, "stream").values for each in (table, self.shown))
        return columns.rows_of(table, np.searchsorted(real, shown))

    def chosen(self, selection: Selection) -> Bools:
        """Which rows all conditions hold for; raises `NothingSelected` where none of them is a database's."""
        is_database = np.zeros(len(self.shown), bool)
        is_database[self.recording.database_rows] = True
        chosen, before = np.ones(len(self.shown), bool), list[Condition]()
        for condition in selection.conditions:
            held = chosen & condition.holds([self._hit(condition.name, pattern) for pattern in condition.patterns])
            if not (held & is_database).any():
                raise NothingSelected(self._none_of(condition, before, np.flatnonzero(chosen & is_database)))
            chosen = held
            before.append(condition)
        return chosen

    def _hit(self, name: str, pattern: ValuePattern) -> Bools:
        """Which connections a pattern names: really, else by the names that are shown."""
        hit = np.zeros(len(self.shown), bool)
        for known in self._known(name):
            named = np.fromiter(map(pattern.matches, known.values), bool, len(known.values))
            hit[known.row[named[known.value]]] = True
            if hit.any():
                break
        return hit

    def _known(self, name: str) -> list[_DistinctValues]:
        """Values that the connections are known by: the real names before those shown."""
        if name not in self._known_by:
            self._known_by[name] = [
                _DistinctValues.of(_values(table, name)) for table in (self.real, self.shown) if table
            ]
        return self._known_by[name]

    def words(self, condition: Condition, quoted: str = "") -> str:
        """The condition as it may be shown: where names are pseudonyms, by the names that it hits."""
        parts = []
        for pattern in condition.patterns:
            text = f"{quoted}{pattern.text}{quoted}"
            if self.real is not None and condition.name not in ("stream", "protocol"):
                names = _counted(self.shown, condition.name, np.flatnonzero(self._hit(condition.name, pattern)))
                text = " or ".join(names) if names else "(no such name)"
            parts.append(f"not {text}" if pattern.negated else text)
        asked = [part for part, each in zip(parts, condition.patterns, strict=True) if not each.negated]
        left_out = [part for part, each in zip(parts, condition.patterns, strict=True) if each.negated]
        return f"{condition.name} {' and '.join(filter(None, [' or '.join(asked), *left_out]))}"

    def _none_of(self, condition: Condition, before: list[Condition], rows: Ints) -> str:
        """No connection of user `app`; there are web (12 connections), batch (3)."""
        counts = _counted(self.shown, condition.name, rows)
        listed = [f"{value} ({counted(count, 'connection')})" for value, count in counts.most_common(MAX_VALUES_LISTED)]
        unnamed = len(rows) - sum(1 for values in _values(self.shown, condition.name, rows) if values)
        more = [f"{len(counts) - MAX_VALUES_LISTED:,} more"] if len(counts) > MAX_VALUES_LISTED else []
        unknown = [f"{counted(unnamed, 'connection')} where it is unknown"] if unnamed else []
        among = f" among those {' and '.join(map(self._which, before))}" if before else ""
        if condition.name == "stream":
            listed, more = [ranges([int(value) for value in counts])], []
        there = ", ".join([*listed, *more, *unknown])
        near = self._meant(condition, counts)
        return f"{files_of(self.recording)}: no connection {self._which(condition)}{among}; there are: {there}{near}"

    @staticmethod
    def _meant(condition: Condition, there: Iterable[str]) -> str:
        """Return a question after what a condition's first value may have meant."""
        known = [*there, *(protocols() if condition.name == "protocol" else ())]
        first = next((each.text for each in condition.patterns if not each.negated), "")
        return "" if condition.name == "stream" else did_you_mean(first, known)

    def _which(self, condition: Condition) -> str:
        kind = WORDS.get(condition.name, f"of {condition.name}").removesuffix(condition.name)
        return kind + self.words(condition, "`")


def _values(table: Table, name: str, rows: Ints | None = None) -> Iterator[list[str]]:
    """Yield the values that each connection is known by; none if unknown."""
    if name == "stream":
        texts = [[str(stream)] for stream in columns.column(table, "stream").values.tolist()]
    else:
        held = [columns.texts(table, column) for column in COLUMNS[name] if column in table.column_names]
        texts = [[each for text in row if text for each in text.split("\n")] for row in zip(*held, strict=True)]
    yield from texts if rows is None else (texts[row] for row in rows.tolist())


def _counted(table: Table, name: str, rows: Ints) -> Counter[str]:
    """How many of `rows` have each name; of clients the host, as their ports differ."""
    counts: Counter[str] = Counter()
    for values in _values(table, name, rows):
        counts.update(set(map(host_of, values)) if name == "client" else set(values))
    return counts


def files_of(recording: Recording) -> str:
    """Return the captures' name for messages."""
    paths = columns.texts(recording.captures_table, "path")
    return paths[0] or "the capture" if len(paths) == 1 else f"{len(paths)} files"
