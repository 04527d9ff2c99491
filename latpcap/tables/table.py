"""`Table`: what the public API hands out, readable by every dataframe library.

Anything with the Arrow PyCapsule interface reads it without a copy: `polars.DataFrame(table)`,
`pandas.DataFrame.from_arrow(table)`, `duckdb.sql("from table")`, `pyarrow.table(table)`.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from arro3.core import Table as ArrowTable
from numpy.typing import NDArray

from latpcap.errors import UsageError
from latpcap.tables import columns
from latpcap.tables.files import FILE_FORMATS

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Table"]

SHOWN_ROWS = 20


class Table:
    """A table with named columns; immutable."""

    def __init__(self, arrow: Any, name: str = "rows", schema: str = "", sorted_by: tuple[str, ...] = ()) -> None:
        """Wrap anything that has `__arrow_c_stream__`; `name` says what its rows are, `schema` what their JSON is.

        `sorted_by` are the columns that somebody sorted the rows by: reports show these.
        """
        self._arrow = ArrowTable.from_arrow(arrow)
        self.name = name
        self.schema = schema or f"latpcap.{name}/1"
        self.sorted_by = sorted_by

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._arrow.__arrow_c_schema__()

    def __len__(self) -> int:
        return self._arrow.num_rows

    def __repr__(self) -> str:
        return f"<latpcap.Table: {len(self):,} {self.name}, columns {', '.join(self.column_names)}>"

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self._arrow.column_names)

    def column(self, name: str) -> NDArray[Any]:
        """Return one column as a numpy array.

        Times are `datetime64[ns]` with NaT for null; numbers with nulls become floats with NaN; text becomes objects
        with None.
        """
        if name not in self.column_names:
            raise UsageError(f"no column `{name}`: there are {', '.join(self.column_names)}")
        chunked = self._arrow.column(name)
        if columns.is_text(chunked):
            return np.array(columns.texts(self._arrow, name), dtype=object)
        values = columns.column(self._arrow, name)
        if "Timestamp" in repr(chunked.type):
            return values.ints(np.iinfo(np.int64).min).view("datetime64[ns]")
        return values.values if values.valid is None else values.floats()

    def slice(self, start: int, length: int) -> Table:
        """Return at most `length` rows from `start` on, without a copy."""
        start = min(start, len(self))
        part = self._arrow.slice(start, min(length, len(self) - start))
        return Table(part, self.name, self.schema, self.sorted_by)

    def head(self, count: int) -> Table:
        """Return the first `count` rows, or all that there are."""
        return self.slice(0, max(count, 0))

    def sort(self, *by: str) -> Table:
        """Return the rows in the order of one or several columns, of `-column` from the largest down.

        What is unknown comes last; rows that are equal in all of them stay in their order.

        >>> capture.statements.sort("-delta_p95_ms").head(5)  # doctest: +SKIP
        """
        rows = columns.rows_of(self._arrow, self.order(*by))
        return Table(rows, self.name, self.schema, tuple(name.removeprefix("-") for name in by))

    def order(self, *by: str) -> NDArray[np.int64]:
        """Return the places of the rows in that order; see `sort`."""
        keys = [_ranks(self.column(name.removeprefix("-")), descending=name.startswith("-")) for name in by]
        return np.lexsort([np.arange(len(self)), *keys[::-1]])

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Return all columns as numpy arrays, by name; see `column`."""
        return {name: self.column(name) for name in self.column_names}

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame (extra `notebook`)."""
        frame: pandas.DataFrame = _library("pandas").DataFrame(self.to_numpy(), columns=self.column_names)
        for name in frame.columns[frame.dtypes == "datetime64[ns]"]:
            frame[name] = frame[name].dt.tz_localize("UTC")
        return frame

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
            with open(target, "wb") as file:
                self.write(file, file_format)
            return
        for part in self.encode(file_format):
            target.write(part)

    def encode(self, file_format: str) -> Iterator[bytes]:
        """Yield the table as `csv`, `jsonl` or `parquet`, piece by piece; see `write`."""
        if file_format not in FILE_FORMATS:
            raise UsageError(f"no format `{file_format}`: there are {', '.join(FILE_FORMATS)}")
        yield from FILE_FORMATS[file_format].encode(self._arrow)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_html_cell(value)}</td>" for value in row.values()) + "</tr>"
            for row in self.to_dicts(SHOWN_ROWS)
        )
        more = f"<p>{len(self):,} {html.escape(self.name)}</p>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _ranks(values: NDArray[Any], *, descending: bool) -> NDArray[np.int64]:
    """The place of each value among the distinct ones, those that are unknown after all others."""
    if values.dtype == object:
        unknown = np.array([value is None for value in values], bool)
    else:
        unknown = np.isnat(values) if values.dtype.kind == "M" else values != values
    ranks = np.full(len(values), np.iinfo(np.int64).max)
    _, known = np.unique(values[~unknown], return_inverse=True)
    ranks[~unknown] = -known if descending else known
    return ranks


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise UsageError(f"{name} is not installed: pip install 'latpcap[notebook]'") from None


def _html_cell(value: object) -> str:
    if value is None:
        return ""
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def _pylist(chunked: Any) -> list[Any]:
    return [value for chunk in chunked.chunks for value in chunk.to_pylist()]
