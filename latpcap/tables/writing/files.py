"""Tables as files: each format is one function, from the table to its bytes, and one line in `FILE_FORMATS`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from arro3.core import Table as ArrowTable

MAX_GROUP_ROWS = 1 << 17
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class FileFormat(NamedTuple):
    """How a table is written: its bytes piece by piece, the suffixes of such files, and whether it is text."""

    encode: Callable[[Iterable[ArrowTable]], Iterator[bytes]]
    """Takes the rows in pieces: one at least, which may be empty."""
    suffixes: tuple[str, ...]
    is_text: bool = True


def _csv(pieces: Iterable[ArrowTable]) -> Iterator[bytes]:
    from arro3.io import write_csv

    for number, piece in enumerate(pieces):
        buffer = io.BytesIO()
        plain = _without_formulas(piece.combine_chunks())
        write_csv(plain, buffer, header=number == 0, timestamp_tz_format="%Y-%m-%dT%H:%M:%S%.9fZ")
        yield buffer.getvalue()


def _without_formulas(arrow: ArrowTable) -> ArrowTable:
    from arro3.core import Table as ArrowTable

    from latpcap.tables.columnar import columns

    return ArrowTable.from_pydict(
        {
            name: columns.map_text(column, _harmless) if columns.is_text(column) else column
            for name, column in ((name, arrow.column(name)) for name in arrow.column_names)
        }
    )


def _harmless(text: str) -> str:
    """`text`, with an apostrophe before what a spreadsheet takes for a formula (OWASP: CSV injection)."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _jsonl(pieces: Iterable[ArrowTable]) -> Iterator[bytes]:
    from arro3.io import write_ndjson

    for piece in pieces:
        buffer = io.BytesIO()
        write_ndjson(piece, buffer, explicit_nulls=True)
        yield buffer.getvalue()


def _parquet(pieces: Iterable[ArrowTable]) -> Iterator[bytes]:
    from arro3.core import RecordBatchReader
    from arro3.io import write_parquet

    begun = iter(pieces)
    first = next(begun)
    batches = (batch for piece in chain([first], begun) for batch in piece.combine_chunks().to_batches())
    buffer = io.BytesIO()
    rows = RecordBatchReader.from_batches(first.schema, batches)
    write_parquet(rows, buffer, compression="zstd(3)", max_row_group_size=MAX_GROUP_ROWS)
    yield buffer.getvalue()


FILE_FORMATS = {
    "csv": FileFormat(_csv, (".csv",)),
    "jsonl": FileFormat(_jsonl, (".jsonl", ".ndjson")),
    "parquet": FileFormat(_parquet, (".parquet",), is_text=False),
}
