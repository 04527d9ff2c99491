"""The tables of a dataset as the core would give them: what `Recording` takes in its place.

A file is read when somebody asks for what is in it, and its SHA-256 is checked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from arro3.core import Array, DataType, Schema, Table

from latpcap import _core
from latpcap.errors import CaptureError
from latpcap.tables import columns
from latpcap.tables.columns import Ints, rows_of
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.layout import RENAMED, WORDS, server_of
from latpcap.tables.dataset.manifest import DataFile, Manifest

__all__ = ["SavedTables"]

ROWS_AT_ONCE = 1 << 14
NULL = np.iinfo(np.int64).min
CONTENTS = ("size_bytes", "sha256")
SAMPLE = ("stream", "by_server", "time", "rtt_ns", "segments", "in_flight")
READING = {
    "stream": DataType.uint32(),
    "by_server": DataType.bool(),
    "time": DataType.timestamp("ns", tz="UTC"),
    "ticks": DataType.uint32(),
}


class SavedTables:
    """The tables of one dataset."""

    def __init__(self, folder: str, told: Manifest, memory: int, disk: tuple[str, int] | None) -> None:
        """Take the dataset `folder` with the manifest `told`; `memory` and `disk` are those of `_core.read`."""
        self._folder = folder
        self._part = told.parts[0]
        self._memory = memory
        self._disk = disk

    @property
    def is_large(self) -> bool:
        """What is computed from it does not fit in the memory that reading may take."""
        rows = sum(each.rows for each in self._of("exchanges"))
        return self._disk is not None and _core.SavedExchanges.are_too_many(rows, self._memory)

    def captures(self) -> Table:
        """One row a file."""
        table = self._captures
        return table.select([name for name in table.column_names if name not in CONTENTS])

    def contents(self) -> list[tuple[int, str] | None]:
        """Length and SHA-256 of each of them, as they were when they were read."""
        sizes = columns.column(self._captures, "size_bytes").ints(-1).tolist()
        digests = columns.texts(self._captures, "sha256")
        return [(size, digest) if digest else None for size, digest in zip(sizes, digests, strict=True)]

    @cached_property
    def _captures(self) -> Table:
        return self._whole("captures")

    def notes(self) -> Table:
        """What the core noticed."""
        return self._whole("notes")

    @cached_property
    def _connections(self) -> Table:
        tables = [*self._each("other_connections"), *self._each("connections")]
        table = _joined(tables)
        return rows_of(table, np.argsort(columns.column(table, "stream").values, kind="stable"))

    def connections(self) -> Table:
        """Every TCP connection."""
        return self._connections

    def exchanges(self, names: list[str] | None = None) -> Any:
        """One row an exchange; of these columns, where some are named."""
        return self._exchanges.columns(names)

    @cached_property
    def _exchanges(self) -> Any:
        rows = _core.SavedExchanges(self._memory, self._disk)
        names, words = rows.names(), _Words(self._part.words)
        for file in self._of("exchanges"):
            for batch in self._batches(file):
                try:
                    rows.add([words.numbers(batch, name) for name in names])
                except (KeyError, ValueError):
                    raise self._unfit(file) from None
        rows.finish(words.known)
        return rows

    def statements(self) -> Table:
        """Texts by id."""
        return self._whole("statement_texts")

    def tags(self) -> Table:
        """Routes by id."""
        return self._whole("tag_texts")

    def rtt_samples(self) -> Any:
        """One row an in-stream RTT sample."""
        return self._samples

    @cached_property
    def _samples(self) -> Any:
        def columns_of(batch: Table) -> list[Ints]:
            return [np.ascontiguousarray(columns.column(batch, name).ints(NULL)) for name in SAMPLE]

        batches = (columns_of(batch) for file in self._of("rtt_samples") for batch in self._batches(file))
        return _core.saved_samples(batches, self._memory, self._disk)

    def clock_readings(self) -> Table:
        """What senders' clocks read."""
        tables = [*self._each("clock_readings")]
        if not tables:
            return Table.from_pydict({name: columns.empty(kind) for name, kind in READING.items()})
        table = _joined(tables)
        return rows_of(table, np.argsort(columns.column(table, "stream").values, kind="stable"))

    def _of(self, table: str) -> Sequence[DataFile]:
        return [file for file in self._part.files if file.table == table]

    def _whole(self, table: str) -> Table:
        return _joined([*self._each(table)])

    def _each(self, table: str) -> Iterator[Table]:
        for file in self._of(table):
            yield from self._batches(file, at_once=1 << 20)

    def _batches(self, file: DataFile, at_once: int = ROWS_AT_ONCE) -> Iterator[Table]:
        """The rows of a file, some at a time, with the server that its folder names."""
        from arro3.io import read_parquet

        path = manifest.checked(self._folder, file)
        try:
            reader = read_parquet(path, batch_size=at_once)
            tables = (Table.from_batches([batch]) for batch in reader)
            for table in tables if file.rows else [_empty(reader.schema)]:
                if "/server=" in file.path:
                    server = Array([server_of(file.path)], DataType.string())
                    yield table.append_column("server", columns.take(server, np.zeros(len(table), np.int64)))
                else:
                    yield table
        except Exception as error:
            raise CaptureError(f"{path}: is damaged: {error}") from None

    def _unfit(self, file: DataFile) -> CaptureError:
        return CaptureError(f"{self._folder}/{file.path}: its columns are not those of this latpcap: scan again")


class _Words:
    """Texts of the exchanges and their numbers, in the order in which they come."""

    def __init__(self, known: Mapping[str, list[str]]) -> None:
        listed = {name: known.get(name, []) for name in WORDS}
        self._numbers = {name: {word: number for number, word in enumerate(words)} for name, words in listed.items()}

    def numbers(self, batch: Table, name: str) -> Ints:
        """A column of the core as it keeps it: numbers, of which texts have the next that is free."""
        if name not in WORDS:
            return np.ascontiguousarray(columns.column(batch, RENAMED.get(name, name)).ints(NULL), np.int64)
        coded, known = columns.codes(batch, name), self._numbers[name]
        numbers = [known.setdefault(text, len(known)) for text in coded.names]
        table = np.array([*numbers, NULL], np.int64)
        codes: Ints = table[coded.codes]
        return codes

    @property
    def known(self) -> list[tuple[str, list[str]]]:
        """All of them, column by column."""
        return [(name, list(known)) for name, known in self._numbers.items()]


def _empty(schema: Schema) -> Table:
    return Table.from_pydict({name: columns.empty(schema.field(name).type) for name in schema.names})


def _joined(tables: Iterable[Table]) -> Table:
    """The rows of all; the first says in which order the columns are."""
    first, *others = tables
    names = first.column_names
    return Table.from_batches(
        [batch for table in (first, *others) for batch in table.select(names).to_batches()],
        schema=first.select(names).schema,
    )
