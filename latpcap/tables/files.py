"""Tables as files: each format is one function, from the table to its bytes, and one line in `FILE_FORMATS`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from arro3.core import Table as ArrowTable

__all__ = ["FILE_FORMATS", "FileFormat"]

ROWS_AT_ONCE = 65_536
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class FileFormat(NamedTuple):
    """How a table is written: its bytes piece by piece, the suffixes of such files, and whether it is text."""

    encode: Callable[[ArrowTable], Iterator[bytes]]
    suffixes: tuple[str, ...]
    is_text: bool = True


def _csv(arrow: ArrowTable) -> Iterator[bytes]:
    from arro3.io import write_csv

    for number, part in enumerate(_slices(arrow)):
        buffer = io.BytesIO()
        write_csv(
            _without_formulas(part.combine_chunks()),
            buffer,
            header=number == 0,
            timestamp_tz_format="%Y-%m-%dT%H:%M:%S%.9fZ",
        )
        yield buffer.getvalue()
    if arrow.num_rows == 0:
        yield (",".join(arrow.column_names) + "\n").encode()


def _without_formulas(arrow: ArrowTable) -> ArrowTable:
    from arro3.core import Table as ArrowTable

    from latpcap.tables import columns

    return ArrowTable.from_pydict(
        {
            name: columns.map_text(column, _harmless) if columns.is_text(column) else column
            for name, column in ((name, arrow.column(name)) for name in arrow.column_names)
        }
    )


def _harmless(text: str) -> str:
    """`text`, with an apostrophe before what a spreadsheet takes for a formula (OWASP: CSV injection)."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _jsonl(arrow: ArrowTable) -> Iterator[bytes]:
    from arro3.io import write_ndjson

    for part in _slices(arrow):
        buffer = io.BytesIO()
        write_ndjson(part, buffer, explicit_nulls=True)
        yield buffer.getvalue()


def _parquet(arrow: ArrowTable) -> Iterator[bytes]:
    from arro3.io import write_parquet

    buffer = io.BytesIO()
    write_parquet(arrow, buffer, compression="zstd(3)")
    yield buffer.getvalue()


def _slices(arrow: ArrowTable) -> Iterator[ArrowTable]:
    """The table piece by piece, so that its text is never in memory as a whole."""
    for start in range(0, arrow.num_rows, ROWS_AT_ONCE):
        yield arrow.slice(start, min(ROWS_AT_ONCE, arrow.num_rows - start))


FILE_FORMATS = {
    "csv": FileFormat(_csv, (".csv",)),
    "jsonl": FileFormat(_jsonl, (".jsonl", ".ndjson")),
    "parquet": FileFormat(_parquet, (".parquet",), is_text=False),
}
