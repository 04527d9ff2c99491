"""Columns and rows of a result, which may have a million connections or statements.

What is written of all rows is written from the columns, by the core or as Arrow; an object is made only of a row that
somebody asks for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Self, TypeVar, overload

import numpy as np
from arro3.core import Array, DataType
from numpy.typing import NDArray

from latpcap import _core
from latpcap.display import brief
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Codes, Floats, Ints
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.columnar.times import iso

Value = TypeVar("Value")

ROWS_PER_BATCH = 1_024
"""Rows that become objects, or text, at a time."""


class Values(Sequence[Value]):
    """A sequence whose values are made when they are asked for."""

    __slots__ = ()

    @abstractmethod
    def part(self, start: int, stop: int) -> Sequence[Value]:
        """The values from `start` to `stop`, which are there."""

    @abstractmethod
    def json(self) -> dict[str, Any]:
        """Values that the core writes as JSON."""

    @overload
    def __getitem__(self, place: int) -> Value: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Value, ...]: ...
    def __getitem__(self, place: int | slice) -> Value | tuple[Value, ...]:
        places = range(len(self))[place]
        if isinstance(places, int):
            return self.part(places, places + 1)[0]
        if places.step == 1:
            return tuple(self.part(places.start, places.stop)) if places else ()
        return tuple(self[each] for each in places)

    def __iter__(self) -> Iterator[Value]:
        starts = range(0, len(self), ROWS_PER_BATCH)
        return chain.from_iterable(self.part(start, min(start + ROWS_PER_BATCH, len(self))) for start in starts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal to a list of the same

    def __repr__(self) -> str:
        shown = [*map(brief, self[:3]), *(["…"] if len(self) > 3 else [])]
        return f"<{len(self):,} {type(self).__name__}: {', '.join(shown)}>"


class TableColumn(Values[Value]):
    """One value a row, as a table's column has them."""

    __slots__ = ()

    @abstractmethod
    def arrow(self) -> Array:
        """The column of a table."""


class _Known(TableColumn[Value]):
    """Values in numpy's columns; `None` where one is not known."""

    __slots__ = ("known", "values")

    def __init__(self, values: NDArray[Any], known: Bools | None = None) -> None:
        """Take one a row, and which of them are known."""
        self.values, self.known = values, known

    @classmethod
    def of(cls, column: columns.NullableArray, rows: Ints) -> Self:
        """Some rows of a column."""
        return cls(column.values[rows], column.is_valid()[rows])

    def __len__(self) -> int:
        return len(self.values)

    def part(self, start: int, stop: int) -> Sequence[Value]:
        """Return them as numpy has them."""
        found: list[Any] = self.values[start:stop].tolist()
        if self.known is not None:
            for row in np.flatnonzero(~self.known[start:stop]).tolist():
                found[row] = None
        return found


class Booleans(_Known[bool | None]):
    """Yes or no; `None` where it is not known."""

    __slots__ = ()

    def arrow(self) -> Array:
        """A column of booleans."""
        return columns.nullable(self.values, self.known).cast(DataType.bool())

    def json(self) -> dict[str, Any]:
        """With a null for each that is not known."""
        return {"truths": np.ascontiguousarray(self.values, bool), "known": self.known}


class Numbers(_Known[int | None]):
    """Counts; `None` where one is not known."""

    __slots__ = ()

    def arrow(self) -> Array:
        """A column of unsigned integers."""
        return columns.nullable(self.values, self.known).cast(DataType.uint64())

    def json(self) -> dict[str, Any]:
        """With a null for each that is not known."""
        return {"numbers": np.ascontiguousarray(self.values.astype(np.int64, copy=False)), "known": self.known}


class Fractions(TableColumn[float | None]):
    """Floats; `None` where one is no number, or without end."""

    __slots__ = ("values",)

    def __init__(self, values: Floats) -> None:
        """Take one a row."""
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def part(self, start: int, stop: int) -> list[float | None]:
        """Return them as floats.

        >>> list(Fractions(np.array([1.5, np.nan, np.inf])))
        [1.5, None, None]
        """
        values = self.values[start:stop]
        fractions: list[float | None] = values.tolist()
        for row in np.flatnonzero(~np.isfinite(values)).tolist():
            fractions[row] = None
        return fractions

    def arrow(self) -> Array:
        """A column of floats."""
        return columns.nullable(self.values, np.isfinite(self.values)).cast(DataType.float64())

    def json(self) -> dict[str, Any]:
        """With a null for each that is none."""
        return {"fractions": np.ascontiguousarray(self.values)}


class Times(_Known[str | None]):
    """Timestamps in ISO-8601, from nanoseconds since 1970; `None` where one is not known."""

    __slots__ = ()

    def part(self, start: int, stop: int) -> list[str | None]:
        """Return them as text."""
        return iso(columns.NullableArray(self.values, self.known).picked(slice(start, stop)))

    def arrow(self) -> Array:
        """A column of timestamps."""
        return columns.nullable(self.values, self.known).cast(DataType.timestamp("ns", tz="UTC"))

    def json(self) -> dict[str, Any]:
        """With a null for each that is not known."""
        return {"times": columns.NullableArray(self.values, self.known).ints(np.iinfo(np.int64).min)}


class Names(TableColumn[str | None]):
    """Texts, of which several rows may have the same one."""

    __slots__ = ("rows", "texts")

    def __init__(self, texts: Texts, rows: Ints) -> None:
        """Take the texts and which of them each row has; `None` where that is negative."""
        self.texts, self.rows = texts, rows

    @classmethod
    def of(cls, names: Sequence[str | None]) -> Names:
        """The text of each row.

        >>> list(Names.of(["a", None, "a"]))
        ['a', None, 'a']
        """
        numbers: dict[str | None, int] = {None: -1}
        rows = np.array([numbers.setdefault(name, len(numbers) - 1) for name in names], np.int64)
        return cls(Texts.listed([name for name in numbers if name is not None]), rows)

    @classmethod
    def coded(cls, codes: Codes) -> Names:
        """Return the names of a column of codes."""
        return cls(Texts.listed(codes.names), codes.codes.astype(np.int64))

    @classmethod
    def joined(cls, *columns: Names) -> Names:
        """The rows of one column after those of another.

        >>> list(Names.joined(Names.of(["a"]), Names.of([None, "b"])))
        ['a', None, 'b']
        """
        before = np.cumsum([0, *(len(names.texts) for names in columns)])
        rows = [
            np.where(names.rows >= 0, names.rows + first, -1) for names, first in zip(columns, before, strict=False)
        ]
        return cls(Texts.joined(*(names.texts.array for names in columns)), np.concatenate(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def at(self, places: Ints) -> Names:
        """The texts of these rows."""
        return Names(self.texts, self.rows[places])

    def part(self, start: int, stop: int) -> list[str | None]:
        """Return them as text."""
        rows = self.rows[start:stop].tolist()
        texts = {row: self.texts[row] if row >= 0 else None for row in set(rows)}
        return [texts[row] for row in rows]

    def arrow(self) -> Array:
        """A column of text."""
        return columns.take(self.texts.array, self.rows)

    def json(self) -> dict[str, Any]:
        """Return them as text."""
        rows = np.ascontiguousarray(self.rows.astype(np.int64, copy=False))
        return {"starts": self.texts.starts, "bytes": self.texts.data, "rows": rows}


class Rows(Values[Value]):
    """Several columns as one of objects."""

    __slots__ = ("columns", "kind")

    def __init__(self, columns: Mapping[str, Values[Any]], kind: Callable[..., Value]) -> None:
        """Take columns by their names; `kind` makes something of a row, called with its values by these names."""
        self.columns, self.kind = columns, kind

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def part(self, start: int, stop: int) -> list[Value]:
        """The values of each row together.

        >>> list(Rows({"a": Numbers(np.array([1, 2])), "b": Names.of(["x", None])}, dict))
        [{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}]
        """
        names, kind = tuple(self.columns), self.kind
        rows = zip(*(column.part(start, stop) for column in self.columns.values()), strict=True)
        return [kind(**dict(zip(names, row, strict=True))) for row in rows]

    def json(self) -> dict[str, Any]:
        """An object each."""
        return {"object": [(name, column.json()) for name, column in self.columns.items()]}

    def encode(self, separator: str) -> Iterator[bytes]:
        """Yield the rows as JSON, piece by piece, with `separator` between them."""
        fields = self.json()["object"]
        for start in range(0, len(self), ROWS_PER_BATCH):
            yield separator.encode() if start else b""
            yield _core.json_rows(fields, start, min(start + ROWS_PER_BATCH, len(self)), separator)


def column_of(rows: Sequence[Any], name: str) -> Sequence[Any]:
    """One field of all rows; of `Rows` without making any.

    >>> list(column_of(Rows({"a": Numbers(np.array([1, 2]))}, dict), "a"))
    [1, 2]
    """
    return rows.columns[name] if isinstance(rows, Rows) else [getattr(row, name) for row in rows]
