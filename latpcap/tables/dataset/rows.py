"""Rows of a recording's tables as a dataset's files have them, some at a time: all at once may be more than fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from arro3.core import Array, DataType, RecordBatchReader, Table
from numpy.typing import NDArray

from latpcap import _core
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Codes, Ints, nullable, rows_of, take
from latpcap.tables.columnar.scratch import build_column, spill
from latpcap.tables.columnar.table import ROWS_PER_WRITE
from latpcap.tables.dataset.layout import RENAMED, TEXTS
from latpcap.tables.recording import Recording

STATEMENTS = ("text", "fingerprint")
"""Columns of the exchanges that are numbers of statements."""
MAX_TEXT_BYTES = 4_000_000
"""Bytes of statements that are put in their places at a time."""


class TableRows:
    """The rows of a table."""

    def __init__(self, table: Table) -> None:
        """Take the whole of it."""
        self._table = table.combine_chunks()

    def column(self, name: str) -> Ints:
        """One of the numbers, of all rows."""
        return columns.column(self._table, name).values.astype(np.int64, copy=False)

    def picked(self, rows: Ints) -> Iterator[Table]:
        """These rows, which ascend, piece by piece."""
        for begin, block in self._blocks(int(rows[0]), int(rows[-1]) + 1):
            first, last = np.searchsorted(rows, (begin, begin + len(block))).tolist()
            for piece in range(first, last, ROWS_PER_WRITE):
                yield rows_of(block, rows[piece : min(piece + ROWS_PER_WRITE, last)] - begin)

    def among(self, rows: Ints) -> Callable[[Ints], Iterator[Table]]:
        """Pick all of these ascending rows once; return a function that picks some of them."""
        held = TableRows(columns.joined(self.picked(rows)))
        return lambda some: held.picked(np.searchsorted(rows, some))

    def made(self, picked: Table) -> Iterator[Table]:
        """Yield the picked rows as the files have them."""
        yield picked

    def text_bytes(self, rows: Ints) -> int:
        """How long the texts of these are, of those that many rows share."""
        return 0

    def _blocks(self, begin: int, end: int) -> Iterable[tuple[int, Table]]:
        """Blocks of rows, each with its first row: at least those from `begin` up to `end`."""
        return [(0, self._table)]


class SampleRows(TableRows):
    """RTT samples, which come batch by batch: where they are many, they lie on a disk."""

    def __init__(self, recording: Recording) -> None:
        """Take the samples of `recording`."""
        self._recording = recording

    def column(self, name: str) -> Ints:
        """One of the numbers, of all rows."""
        parts = [columns.column(block, name).values for _, block in self._blocks(0, 0)]
        return spill(self._recording.scratch, np.concatenate((np.empty(0, np.int64), *parts)))

    def _blocks(self, begin: int, end: int) -> Iterable[tuple[int, Table]]:
        first = 0
        for batch in RecordBatchReader.from_arrow(self._recording.core.rtt_samples()):
            yield first, Table.from_batches([batch])
            first += batch.num_rows


class ExchangeRows(TableRows):
    """The exchanges, with what the files say in words beside the numbers."""

    def __init__(self, recording: Recording, keyed: Callable[[NDArray[Any]], NDArray[Any]] | None) -> None:
        """Parameters are `keyed`, or numbered: hashing guesses would find a value."""
        self._recording = recording
        self._numbers = keyed or columns.numbering(recording.exchange_column("parameters").values)
        self._protocol = _protocol_of_streams(recording)
        self._lengths = np.append(np.diff(columns.text_buffers(recording.statement_texts)[0]), 0)

    def column(self, name: str) -> Ints:
        """One of the numbers, of all rows."""
        values = self._recording.exchange_column(name).values
        return build_column(self._recording.scratch, len(values), np.int64, lambda rows: values[rows])

    def made(self, picked: Table) -> Iterator[Table]:
        """With the texts, in pieces of which none has more of these than fits."""
        until = np.cumsum(self._text_bytes(picked))
        begin = 0
        while begin < len(until):
            before = int(until[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(until, before + MAX_TEXT_BYTES, side="right")), begin + 1)
            yield self._with_texts(picked.slice(begin, end - begin).combine_chunks())
            begin = end

    def text_bytes(self, rows: Ints) -> int:
        """How long the statements of these are."""
        total, first, last = 0, int(rows[0]), int(rows[-1]) + 1
        for begin in range(first, last, ROWS_PER_WRITE):
            block = self._recording.exchange_columns(*STATEMENTS, rows=(begin, min(begin + ROWS_PER_WRITE, last)))
            here = rows[slice(*np.searchsorted(rows, (begin, begin + ROWS_PER_WRITE)))] - begin
            total += int(self._text_bytes(block)[here].sum())
        return total

    def _blocks(self, begin: int, end: int) -> Iterable[tuple[int, Table]]:
        names = _core.Recording.exchange_names()
        for first in range(begin, end, ROWS_PER_WRITE):
            yield first, self._recording.exchange_columns(*names, rows=(first, min(first + ROWS_PER_WRITE, end)))

    def _text_bytes(self, table: Table) -> Ints:
        """Bytes of each row's statements."""
        ids = (columns.column(table, name).ints(-1) for name in STATEMENTS)
        text, fingerprint = (self._lengths[each] for each in ids)
        total: Ints = text + fingerprint
        return total

    def _with_texts(self, picked: Table) -> Table:
        made: dict[str, Any] = {RENAMED.get(name, name): picked.column(name) for name in picked.column_names}
        made["parameters"] = nullable(self._numbers(columns.column(picked, "parameters").values))
        ids = {name: columns.column(picked, name).ints(-1) for name in RENAMED}
        statements, tags = self._recording.statement_texts, Array(self._recording.tag_texts, DataType.string())
        protocol = self._protocol.codes[columns.column(picked, "stream").values]
        texts: dict[str, Any] = {
            "protocol": take(Array(self._protocol.names, DataType.string()), protocol),
            "statement": take(statements, ids["text"]),
            "fingerprint": take(statements, ids["fingerprint"]),
            "tags": take(tags, ids["tags"]),
        }
        return Table.from_pydict(made | {name: texts[name] for name in TEXTS})


def _protocol_of_streams(recording: Recording) -> Codes:
    """The protocol of each connection by its number; only of databases."""
    connections = recording.connections
    of_stream = np.full(int(connections.stream.max(initial=-1)) + 1, -1, np.int64)
    of_stream[connections.stream] = connections.protocol.codes
    return Codes(of_stream, connections.protocol.names)
