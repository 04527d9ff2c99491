"""Rows as bytes that can be sent anywhere (Arrow's IPC stream), and back."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from arro3.core import Array, DataType, Table

from latpcap.tables.columnar import columns

TIME = DataType.timestamp("ns", tz="UTC")


def table_of(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, DataType]) -> Table:
    """A table of these columns; times are ns since 1970, `None` is null."""

    def column(name: str, kind: DataType) -> Array:
        values = [row[name] for row in rows]
        if kind is not TIME:
            return Array(values, kind)
        valid = np.array([value is not None for value in values], bool)
        return columns.nullable(np.array([value or 0 for value in values], np.int64), valid).cast(kind)

    return Table.from_pydict({name: column(name, kind) for name, kind in kinds.items()})


def sent(table: Table) -> bytes:
    """The table as bytes."""
    from arro3.io import write_ipc_stream

    buffer = io.BytesIO()
    write_ipc_stream(table, buffer)
    return buffer.getvalue()


def received(sent: bytes) -> Table:
    """The table again."""
    from arro3.io import read_ipc_stream

    return read_ipc_stream(io.BytesIO(sent)).read_all()


def rows_in(tables: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The rows of all tables, one after the other; times as ns since 1970."""
    for each in tables:
        table = received(each)
        values = [_values(table, name) for name in table.column_names]
        yield from (dict(zip(table.column_names, row, strict=True)) for row in zip(*values, strict=True))


def _values(table: Table, name: str) -> list[Any]:
    if not DataType.is_timestamp(table.column(name).type):
        return [value for chunk in table.column(name).chunks for value in chunk.to_pylist()]
    times = columns.column(table, name)
    return [at if known else None for at, known in zip(times.values.tolist(), times.is_valid().tolist(), strict=True)]
