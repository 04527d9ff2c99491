"""`Table`: what the public API hands out, readable by every dataframe library.

Anything with the Arrow PyCapsule interface reads it without a copy: `polars.DataFrame(table)`,
`pandas.DataFrame.from_arrow(table)`, `duckdb.sql("from table")`, `pyarrow.table(table)`.

At hand it is like a dataframe: `table["service_ms"]`, `table[10:20]`, `table.filter(command="query")`, `len(table)`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from arro3.core import Table as ArrowTable
from numpy.typing import NDArray

from latpcap.display import LINE_COLUMNS, ReprMixin
from latpcap.errors import UsageError, did_you_mean
from latpcap.tables.columnar import columns
from latpcap.tables.writing.files import FILE_FORMATS
from latpcap.tables.writing.ipc import received, sent

if TYPE_CHECKING:
    import pandas
    import polars

MAX_ROWS_SHOWN = 20
MAX_CELL_CHARS = 200
"""Characters of a text in a notebook's cell."""
ROWS_PER_BATCH = 1_024
ROWS_PER_WRITE = 1 << 14
"""Rows written at a time."""
MIN_BLOCK_ROWS = 1 << 16
"""Rows whose columns are made at a time, at least."""
MAX_PASSES = 16
"""Rows in another order are picked by going through all of them at most this often."""


class Pieces(Protocol):
    """Rows that are made when they are needed, some at a time: all of them at once may be more than fits."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in their order."""

    def __len__(self) -> int:
        """How many rows there are."""

    def piece(self, begin: int, end: int, names: Sequence[str] | None = None) -> ArrowTable:
        """The rows from `begin` up to `end`; of these columns, where some are named."""

    def ends(self) -> Iterator[int]:
        """Return the end of each piece, so that all are of a size that fits."""


def _received(rows: bytes, name: str, schema: str, sorted_by: tuple[str, ...], is_chosen: bool) -> Table:
    return Table(received(rows), name, schema, sorted_by, is_chosen=is_chosen)


class Table(ReprMixin):
    """A table with named columns; immutable.

    Columns whose names end with `_ms` and `_s` are milliseconds and seconds, those with `_frame` Wireshark's frame
    numbers, those with `_time`, `start` and `end` moments in UTC with nanoseconds.
    """

    def __init__(
        self,
        arrow: Any,
        name: str = "rows",
        schema: str = "",
        sorted_by: tuple[str, ...] = (),
        *,
        is_chosen: bool = False,
    ) -> None:
        """Wrap anything that has `__arrow_c_stream__`; `name` says what its rows are, `schema` what their JSON is.

        `sorted_by` are the columns that somebody sorted the rows by: reports show these; where
        somebody chose the columns (`is_chosen`), they show all of them. Rows that come as `Pieces` are
        made as a whole only for who asks for the whole.
        """
        self._pieces: Pieces = arrow if hasattr(arrow, "piece") else _Whole(ArrowTable.from_arrow(arrow))
        self.name = name
        self.schema = schema or f"latpcap.{name}/1"
        self.sorted_by = sorted_by
        self.is_chosen = is_chosen

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._arrow.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (sent(self._arrow), self.name, self.schema, self.sorted_by, self.is_chosen)

    @property
    def _arrow(self) -> ArrowTable:
        """All of it, which is kept from then on."""
        whole = self._pieces
        if not isinstance(whole, _Whole):
            self._pieces = whole = _Whole(whole.piece(0, len(self)))
        return whole.arrow

    def _made(self, names: Sequence[str] | None = None) -> Iterator[ArrowTable]:
        """The rows piece by piece: one at least, which may be empty."""
        begin = 0
        for end in self._pieces.ends():
            yield self._pieces.piece(begin, end, names)
            begin = end

    def __len__(self) -> int:
        return len(self._pieces)

    def __repr__(self) -> str:
        names = f"{len(self.column_names)} columns: {', '.join(self.column_names)}"
        return textwrap.fill(
            f"<latpcap.Table: {len(self):,} {self.name}, {names}>", LINE_COLUMNS, subsequent_indent="    "
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), ROWS_PER_BATCH):
            yield from self.slice(start, ROWS_PER_BATCH).to_dicts()

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | list[str] | tuple[str, ...] | NDArray[Any]) -> Table: ...
    def __getitem__(self, key: Any) -> NDArray[Any] | dict[str, Any] | Table:
        """Return a column by its name, a row by its number, or a table of some rows or some columns.

        >>> capture.exchanges["service_ms"].max()  # doctest: +SKIP
        >>> capture.exchanges[10:20][["command", "service_ms"]]  # doctest: +SKIP

        Raises `UsageError` where there is no such column, `IndexError` where there is no such row.
        """
        if isinstance(key, str):
            return self.column(key)
        if isinstance(key, slice):
            return self._rows(range(len(self))[key])
        if isinstance(key, list | tuple) and key and all(isinstance(name, str) for name in key):
            part = _Named(self._pieces, [self._known(name) for name in key])
            return Table(part, self.name, self.schema, is_chosen=True)
        rows = np.asarray(key)
        if rows.ndim == 0 and rows.dtype.kind in "iu":
            row = range(len(self))[int(rows)]  # IndexError
            return self.slice(row, 1).to_dicts()[0]
        return self._picked(rows)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self._pieces.column_names)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns, as dataframes call them."""
        return self.column_names

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return len(self), len(self.column_names)

    def column(self, name: str) -> NDArray[Any]:
        """Return one column as a numpy array.

        Times are `datetime64[ns]` with NaT for null; numbers with nulls become floats with NaN; text becomes objects
        with None.
        """
        made = self._selected([self._known(name)])
        chunked = made.column(name)
        if columns.is_text(chunked):
            return np.array(columns.texts(made, name), dtype=object)
        values = columns.column(made, name)
        if "Timestamp" in repr(chunked.type):
            return values.ints(np.iinfo(np.int64).min).view("datetime64[ns]")
        return values.values if values.valid is None else values.floats()

    def slice(self, start: int, length: int) -> Table:
        """Return at most `length` rows from `start` on, without a copy."""
        start = min(start, len(self))
        part = self._pieces.piece(start, start + min(length, len(self) - start))
        return Table(part, self.name, self.schema, self.sorted_by)

    def head(self, count: int = 5) -> Table:
        """Return the first `count` rows, or all that there are."""
        return self.slice(0, max(count, 0))

    def tail(self, count: int = 5) -> Table:
        """Return the last `count` rows, or all that there are."""
        count = min(max(count, 0), len(self))
        return self.slice(len(self) - count, count)

    def filter(self, rows: Any = None, **equal: Any) -> Table:
        """Return the rows for which `rows`, a truth for each, holds, and in which columns are `equal` to a value.

        >>> exchanges = capture.exchanges  # doctest: +SKIP
        >>> exchanges.filter(exchanges["service_ms"] > 5, command="query")  # doctest: +SKIP

        Raises `UsageError` where there is no such column, or not a truth for each row.
        """
        wanted = np.ones(len(self), bool) if rows is None else np.asarray(rows)
        if wanted.dtype != bool or wanted.shape != (len(self),):
            raise UsageError(f"rows are filtered by a boolean array of length {len(self):,}, such as table[column] > 5")
        for name, value in equal.items():
            column = self.column(name)
            wanted = wanted & (columns.is_missing(column) if value is None else column == value)
        return self._picked(wanted)

    def sort(self, *by: str) -> Table:
        """Return the rows in the order of one or several columns, of `-column` from the largest down.

        What is unknown comes last; rows that are equal in all of them stay in their order.

        >>> capture.statements.sort("-delta_p95_ms").head(5)  # doctest: +SKIP
        """
        rows = _Picked(self._pieces, self.order(*by))
        return Table(rows, self.name, self.schema, tuple(name.removeprefix("-") for name in by))

    def order(self, *by: str) -> NDArray[np.int64]:
        """Return the places of the rows in that order; see `sort`."""
        keys = [_ranks(self.column(name.removeprefix("-")), descending=name.startswith("-")) for name in by]
        return np.lexsort([np.arange(len(self)), *keys[::-1]])

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Return all columns as numpy arrays, by name; see `column`."""
        return {name: self.column(name) for name in self.column_names}

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame (extra `notebook`).

        Counts and frame numbers stay integers: those with nulls are `Int64` (truths `boolean`), pandas' types with NA.
        Times are `datetime64[ns, UTC]`, durations floats with NaN.
        """
        library = _library("pandas")
        series = {name: self._series(library, name) for name in self.column_names}
        frame: pandas.DataFrame = library.DataFrame(series, columns=self.column_names)
        return frame

    def _series(self, pandas: Any, name: str) -> Any:
        chunked = self._arrow.column(name)
        if columns.is_text(chunked):
            text = pandas.Series(["text"]).dtype  # pandas 3 has a type of its own for it, also where all is null
            return pandas.Series(self.column(name), dtype=text)
        if "Timestamp" in repr(chunked.type):
            return pandas.Series(self.column(name)).dt.tz_localize("UTC")
        values = columns.column(self._arrow, name)
        if values.valid is None or values.values.dtype.kind == "f":
            return pandas.Series(self.column(name))
        if values.values.dtype.kind == "b":
            return pandas.Series(pandas.arrays.BooleanArray(values.values.copy(), ~values.valid))
        return pandas.Series(pandas.arrays.IntegerArray(values.ints(0), ~values.valid))

    def to_arrow(self) -> ArrowTable:
        """Return an Arrow table (of arro3), with the types and the nulls as they are."""
        return self._arrow

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars DataFrame without a copy (extra `notebook`)."""
        frame: polars.DataFrame = _library("polars").DataFrame(self)
        return frame

    def to_dicts(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the rows (at most `limit`) as dictionaries: for printing, not for numbers."""
        part = self if limit is None else self.slice(0, limit)
        values = [_pylist(part._arrow.column(name)) for name in self.column_names]
        return [dict(zip(self.column_names, row, strict=True)) for row in zip(*values, strict=True)]

    def write(self, target: str | Path | IO[bytes], file_format: str) -> None:
        """Write `csv`, `jsonl` or `parquet` to a path or a binary file.

        Times are ISO-8601 in UTC with nanoseconds. A CSV text that a spreadsheet would run as a formula gets a leading
        apostrophe.
        """
        if isinstance(target, str | Path):
            from latpcap.tables.writing.outputs import write

            write(target, self.encode(file_format))
            return
        for part in self.encode(file_format):
            target.write(part)

    def to_csv(self, target: str | Path | IO[bytes]) -> None:
        """Write the table as CSV; see `write`."""
        self.write(target, "csv")

    def to_parquet(self, target: str | Path | IO[bytes]) -> None:
        """Write the table as Parquet; see `write`."""
        self.write(target, "parquet")

    def encode(self, file_format: str) -> Iterator[bytes]:
        """Yield the table as `csv`, `jsonl` or `parquet`, piece by piece; see `write`."""
        if file_format not in FILE_FORMATS:
            raise UsageError(f"no format `{file_format}`: there are {', '.join(FILE_FORMATS)}")
        yield from FILE_FORMATS[file_format].encode(self._made())

    def lacks(self, name: str) -> bool:
        """Whether no row has anything in a column."""
        return all(made.column(name).null_count == made.num_rows for made in self._made([self._known(name)]))

    def span(self, name: str) -> tuple[Any, ...]:
        """The first and the last of the times in a column; nothing where it has none."""
        pieces = (Table(made).column(name) for made in self._made([self._known(name)]))
        known = [times for times in (each[~np.isnat(each)] for each in pieces) if len(times)]
        return (min(times.min() for times in known), max(times.max() for times in known)) if known else ()

    def _selected(self, names: list[str]) -> ArrowTable:
        """Some columns of all rows."""
        return columns.joined(self._made(names))

    def _known(self, name: str) -> str:
        if name not in self.column_names:
            raise UsageError(f"no column `{name}`{did_you_mean(name, self.column_names, 'there are')}")
        return name

    def _rows(self, rows: range) -> Table:
        return self.slice(rows.start, len(rows)) if rows.step == 1 else self._picked(np.array(rows, np.int64))

    def _picked(self, rows: NDArray[Any]) -> Table:
        """The rows with these numbers, or those of which it is true."""
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "biu"):
            raise UsageError("index a table by a column's name, a row's number, a slice or a boolean array")
        part = _Picked(self._pieces, np.arange(len(self))[rows if len(rows) else slice(0)])
        return Table(part, self.name, self.schema, self.sorted_by)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{_html_cell(name)}</th>" for name in self.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_html_cell(value)}</td>" for value in row.values()) + "</tr>"
            for row in self.to_dicts(MAX_ROWS_SHOWN)
        )
        more = f"<p>{len(self):,} {_html_cell(self.name)}</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


class _Whole:
    """A table that is there: its pieces are slices of it."""

    def __init__(self, arrow: ArrowTable) -> None:
        self.arrow = arrow

    @property
    def column_names(self) -> list[str]:
        return list(self.arrow.column_names)

    def __len__(self) -> int:
        return self.arrow.num_rows

    def piece(self, begin: int, end: int, names: Sequence[str] | None = None) -> ArrowTable:
        part = self.arrow if names is None else self.arrow.select(names)
        return part if end - begin == len(self) else part.slice(begin, end - begin)

    def ends(self) -> Iterator[int]:
        yield from range(ROWS_PER_WRITE, len(self), ROWS_PER_WRITE)
        yield len(self)


class _Named:
    """Some columns of others."""

    def __init__(self, of: Pieces, names: list[str]) -> None:
        self.column_names = names
        self._of = of
        self.ends = of.ends

    def __len__(self) -> int:
        return len(self._of)

    def piece(self, begin: int, end: int, names: Sequence[str] | None = None) -> ArrowTable:
        return self._of.piece(begin, end, names or self.column_names)


class _Picked:
    """Some rows of others, in any order, each picked when it is needed."""

    def __init__(self, of: Pieces, rows: NDArray[np.int64]) -> None:
        self.column_names = of.column_names
        self._of = of
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def piece(self, begin: int, end: int, names: Sequence[str] | None = None) -> ArrowTable:
        """Make one piece of the others after the other, where some of its rows are picked."""
        wanted = self._rows[begin:end]
        order = np.argsort(wanted, kind="stable")
        ascending, parts, first = wanted[order], [], 0
        for last in self._of.ends():
            here = ascending[np.searchsorted(ascending, first) : np.searchsorted(ascending, last)]
            if len(here):
                parts.append(columns.rows_of(self._of.piece(first, last, names), here - first))
            first = last
        if not parts:
            return self._of.piece(0, 0, names)
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return columns.rows_of(columns.joined(parts), back)

    def ends(self) -> Iterator[int]:
        """Return the number of rows that spares most of the way through the others."""
        step = max(MIN_BLOCK_ROWS, -(-len(self) // MAX_PASSES))
        yield from range(step, len(self), step)
        yield len(self)


class Tabular:
    """A result that is a table as well: dataframe libraries and DuckDB read it as they read a `Table`."""

    __slots__ = ()

    def table(self) -> Table:
        """The rows of it."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame (extra `notebook`); see `Table.to_pandas`."""
        return self.table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return a Polars DataFrame (extra `notebook`)."""
        return self.table().to_polars()

    def to_arrow(self) -> ArrowTable:
        """Return an Arrow table (of arro3)."""
        return self.table().to_arrow()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)


def _ranks(values: NDArray[Any], *, descending: bool) -> NDArray[np.int64]:
    """The place of each value among the distinct ones, those that are unknown after all others."""
    unknown = columns.is_missing(values)
    ranks = np.full(len(values), np.iinfo(np.int64).max)
    _, known = np.unique(values[~unknown], return_inverse=True)
    ranks[~unknown] = -known if descending else known
    return ranks


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f'{name} is not installed: pip install "latpcap[notebook]"') from None


def _html_cell(value: object) -> str:
    from html import escape

    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= MAX_CELL_CHARS else f"{text[: MAX_CELL_CHARS - 1]}…")


def _pylist(chunked: Any) -> list[Any]:
    return [value for chunk in chunked.chunks for value in chunk.to_pylist()]
