"""Checks of a dataset's files: the columns that this latpcap writes, with values that a capture may hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from arro3.core import DataType, Schema, Table

from latpcap import _core
from latpcap.errors import CaptureError
from latpcap.tables.columnar import columns
from latpcap.tables.dataset.layout import SERVER_OF_ROW, SEVERAL, server_of
from latpcap.tables.dataset.manifest import DataFile
from latpcap.tables.reading.sources import NOT_SHOWN

MAX_BYTES = 1 << 40
"""The largest file or message."""
MAX_TIME_NS = 4_600_000_000_000_000_000
"""The core knows no later time (`core/src/capture/leap.rs`)."""
CONTENTS = {"size_bytes": DataType.uint64(), "sha256": DataType.string()}
"""Columns of each capture beside the core's."""
NO_PACKET = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
"""A pcap of Ethernet."""
AS_THE_CORE = ("captures", "notes", "cases", "taps", "connections", "rtt_samples", "clock_readings", "segments")
"""Tables that are called as in the core."""


def check_columns(schema: Schema, file: DataFile) -> None:
    """Refuse a file that lacks a column, or has one of another type."""
    there = set(schema.names)
    for name, expected in _expected(file):
        if name not in there or schema.field(name).type != expected:
            raise CaptureError(f"`{name}` is missing, or of another type than this latpcap writes")


def check_texts(table: Table) -> None:
    """Refuse what could steer a terminal: latpcap writes no such text."""
    for name in (name for name in table.column_names if columns.is_text(table.column(name))):
        check_visible(columns.codes(table, name).names, name)


def check_visible(texts: Iterable[str | None], name: str) -> None:
    """Refuse texts that could steer a terminal."""
    if any(text and NOT_SHOWN.search(text) for text in texts):
        raise CaptureError(f"a text of `{name}` has characters that latpcap never writes")


def check_numbers(table: Table) -> None:
    """Refuse what no capture has: what follows from it would take a time without end."""
    for name in table.column_names:
        kind = table.column(name).type
        if name.endswith("_bytes") and (columns.column(table, name).ints(0).view(np.uint64) > MAX_BYTES).any():
            raise CaptureError(f"`{name}` is more than any capture has")
        if DataType.is_timestamp(kind) or (name.endswith("_ns") and DataType.is_integer(kind)):
            times = columns.column(table, name).ints(0)
            if (times > MAX_TIME_NS).any() or (times < -MAX_TIME_NS).any():
                raise CaptureError(f"`{name}` is a time that no capture has")


def check_there(table: Table, names: Iterable[str]) -> None:
    """Refuse a row that lacks a value in one of these columns."""
    for name in names:
        if table.column(name).null_count:
            raise CaptureError(f"`{name}` is missing in a row")


@cache
def core_schemas() -> dict[str, Schema]:
    """The columns of the core's tables, of no capture at all."""
    none: Any = _core.read([NO_PACKET], names=[""])
    of_connections = Table.from_arrow(none.connections()).schema
    made = {name: Table.from_arrow(getattr(none, name)()).schema for name in AS_THE_CORE}
    return {**made, "statement_texts": Table.from_arrow(none.statements()).schema, "other_connections": of_connections}


def _expected(file: DataFile) -> Iterator[tuple[str, DataType]]:
    known = core_schemas().get(file.table)
    for field in [] if known is None else [known.field(name) for name in known.names]:
        if field.name != "server" or "/server=" not in file.path:
            yield field.name, field.type
    if file.table == "connections" and server_of(file.path) == SEVERAL:
        yield SERVER_OF_ROW, DataType.string()
    if file.table == "tag_texts":
        yield "text", DataType.string()
    if file.table == "captures":
        yield from CONTENTS.items()
