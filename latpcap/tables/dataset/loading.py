"""The tables of a dataset as the core would give them: what `Recording` takes in its place.

A file is read when somebody asks for what is in it, and its SHA-256 is checked before.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from arro3.core import Array, DataType, Schema, Table

from latpcap import _core
from latpcap.errors import CaptureError
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Ints, joined, rows_of
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.checks import (
    CONTENTS,
    check_columns,
    check_numbers,
    check_texts,
    check_there,
    core_schemas,
)
from latpcap.tables.dataset.footer import weighed
from latpcap.tables.dataset.layout import SERVER_OF_ROW, SEVERAL, TEXTS
from latpcap.tables.dataset.manifest import DataFile, Manifest, SavedFile
from latpcap.tables.dataset.text_numbers import NULL, NumberedTexts, WordNumbers
from latpcap.tables.notes import together
from latpcap.tables.writing.ipc import received, sent

ROWS_PER_BATCH = 1 << 14
MORE = "raise --memory, or it is damaged"
BYTES_PER_NUMBER = 16
"""Bytes of a number or a text's place, with its validity."""
MIN_BYTES_PER_CONNECTION = 64
"""Every connection up to the highest number needs this much of `--memory`: more could not have been read."""
PANIC = "PanicException"
"""The error that arro3 raises if a file ends without a Parquet footer."""
OF_CONNECTIONS = ("exchanges", "rtt_samples", "clock_readings", "segments")
"""Tables whose rows are each of a connection."""
EVERYWHERE = {"exchanges": ("stream", "command", "purpose"), "connections": ("stream", "client", "protocol")}
"""Columns that have a value in each row of a table."""
SAMPLE = ("stream", "by_server", "time", "rtt_ns", "segments", "in_flight")


class SavedTables:
    """The tables of a dataset, or of several that hold parts of one recording."""

    def __init__(self, manifests: Mapping[str, Manifest], memory: int, disk: tuple[str, int] | None) -> None:
        """Take datasets by their folders, with the manifest of each; `memory` and `disk` are those of `_core.read`."""
        self._parts = [(folder, part) for folder, manifest in manifests.items() for part in manifest.parts]
        self._numbers = {folder: number for number, folder in enumerate(manifests)}
        self._memory = memory
        self._disk = disk
        self._chosen: Ints | None = None
        """The connections whose rows are read; `None` for all."""

    def of_streams(self, chosen: Ints) -> SavedTables:
        """Return these tables with only the rows of the `chosen` connections read from now on: others may be missing.

        What was read already is not read again.
        """
        if "_exchanges" in self.__dict__ or self._chosen is not None:
            return self
        narrow = copy(self)
        narrow._chosen = np.sort(chosen)
        return narrow

    @property
    def exchange_count(self) -> int:
        """How many there are, without reading them."""
        return sum(part.rows("exchanges") for _, part in self._parts)

    @property
    def is_large(self) -> bool:
        """Figures computed from it do not fit in the memory that reading may take."""
        return self._disk is not None and _core.SavedExchanges.are_too_many(self.exchange_count, self._memory)

    def host_curve(self) -> tuple[Sequence[float], Sequence[float], Sequence[str]] | None:
        """The curve of the host that recorded, as the first part that has one says."""
        curve = next((part.host_curve for _, part in self._parts if part.host_curve is not None), None)
        return None if curve is None else (curve.rests_ms, curve.extra_ms, sorted(curve.addresses))

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
        tables = {place.folder: self._table(place) for place in self._of("captures")}
        rows = {folder: table.to_struct_array().to_pylist() for folder, table in tables.items()}
        first = next(iter(rows))
        for folder, each in rows.items():
            if each != rows[first]:
                raise CaptureError(f"{folder} and {first}: are of different captures, not parts of one scan")
        return tables[first]

    def notes(self) -> Table:
        """The core's notes: those on files as each part has them, those on connections summed over the parts."""
        table = self._whole("notes")
        return table if len(self._parts) == 1 else together(table, self.cases())

    def cases(self) -> Table:
        """Counts of the notes that add up."""
        return self._whole("cases")

    @cached_property
    def _connections(self) -> Table:
        table = joined([*self._each("other_connections"), *self._connections_of.values()])
        stream = columns.column(table, "stream").values
        if (highest := int(stream.max(initial=0))) > self._memory // MIN_BYTES_PER_CONNECTION:
            raise CaptureError(f"{self._parts[0][0]}: names connection {highest}: raise --memory, or it is damaged")
        if len(np.unique(stream)) < len(stream):
            raise CaptureError(f"{self._parts[-1][0]}: holds connections of another part: name each part once")
        return rows_of(table, np.argsort(stream, kind="stable"))

    @cached_property
    def _has_rows(self) -> Bools:
        """Which numbers are those of connections."""
        stream = columns.column(self._connections, "stream").values.astype(np.int64)
        known = np.zeros(int(stream.max(initial=-1)) + 1, bool)
        known[stream] = True
        return known

    @cached_property
    def _connections_of(self) -> dict[SavedFile, Table]:
        """Connections by file."""
        return {place: self._table(place) for place in self._of("connections")}

    @cached_property
    def _chosen_in(self) -> dict[tuple[int, str], Ints]:
        """Which of the chosen ones are in each part, by their servers."""
        found: dict[tuple[int, str], list[Ints]] = {}
        for place, table in self._connections_of.items():
            streams = columns.column(table, "stream").values.astype(np.int64)
            here = streams if self._chosen is None else streams[np.isin(streams, self._chosen)]
            found.setdefault((place.part, place.server), []).append(here)
        return {key: np.sort(np.concatenate(streams)) for key, streams in found.items()}

    def connections(self) -> Table:
        """Every TCP connection."""
        return self._connections

    def exchanges(self, names: list[str] | None = None, rows: tuple[int, int] | None = None) -> Any:
        """One row an exchange; of these columns, and of these rows, where some are named."""
        return self._exchanges.columns(names, rows)

    @cached_property
    def _exchanges(self) -> Any:
        rows = _core.SavedExchanges(self._memory, self._disk)
        names, words = rows.names(), WordNumbers(part.words for _, part in self._parts)
        texts = {"fingerprint": self._statements, "text": self._statements, "tags": self._tags}
        for place in self._needed("exchanges"):
            for batch in self._batches(place):
                try:
                    rows.add([words.numbers(batch, name, texts.get(name), place) for name in names])
                except (KeyError, ValueError):
                    raise CaptureError(
                        f"{place.path}: has other columns than those of this latpcap: scan again"
                    ) from None
                if rows.kept_bytes() > self._memory:
                    raise CaptureError(f"{place.path}: holds more exchanges than fit: raise --memory")
        rows.finish(words.known)
        return rows

    def statements(self) -> Table:
        """Texts by id."""
        return self._statements.table

    def tags(self) -> Table:
        """Routes by id."""
        return self._tags.table

    @cached_property
    def _statements(self) -> NumberedTexts:
        return NumberedTexts.joined([*self._each("statement_texts")])

    @cached_property
    def _tags(self) -> NumberedTexts:
        return NumberedTexts.joined([*self._each("tag_texts")])

    def rtt_samples(self) -> Any:
        """One row an in-stream RTT sample."""
        return self._samples

    @cached_property
    def _samples(self) -> Any:
        def columns_of(batch: Table) -> list[Ints]:
            return [np.ascontiguousarray(columns.column(batch, name).ints(NULL)) for name in SAMPLE]

        batches = (columns_of(batch) for file in self._needed("rtt_samples") for batch in self._batches(file))
        try:
            return _core.saved_samples(batches, self._memory, self._disk)
        except (ValueError, OverflowError) as error:
            raise CaptureError(f"{self._parts[0][0]}: is damaged: of `rtt_samples` {error}") from None

    def taps(self) -> Table:
        """Comparisons of each two taps; empty where an earlier latpcap made the dataset."""
        tables = [*self._each("taps")]
        return joined(tables) if tables else Table.from_pydict({})

    def clock_readings(self) -> Table:
        """Readings of senders' clocks."""
        return self._by_stream("clock_readings")

    def segments(self) -> Table:
        """Segments with data over time."""
        return self._by_stream("segments")

    def _by_stream(self, name: str) -> Table:
        schema = core_schemas()[name]
        tables = [self._table(place).select(schema.names) for place in self._needed(name)]
        if not tables:
            return _empty(schema)
        table = joined(tables)
        return rows_of(table, np.argsort(columns.column(table, "stream").values, kind="stable"))

    def _of(self, table: str) -> Iterator[SavedFile]:
        for number, (folder, part) in enumerate(self._parts):
            here = self._numbers[folder]
            yield from (SavedFile(folder, here, file, number) for file in part.files if file.table == table)

    def _needed(self, table: str) -> Iterator[SavedFile]:
        """The files that may have rows of the chosen connections."""
        for place in self._of(table):
            if self._chosen is None or place.file.streams is None:
                yield place
                continue
            first, last = place.file.streams
            here = self._chosen_in.get((place.part, place.server), self._chosen[:0])
            if np.searchsorted(here, first) < np.searchsorted(here, last, "right"):
                yield place

    def _whole(self, table: str) -> Table:
        if not (tables := [*self._each(table)]):
            raise CaptureError(f"{self._parts[0][0]}: has no {table}: scan the captures again")
        return joined(tables)

    def _each(self, table: str) -> Iterator[Table]:
        """The tables of its files."""
        return map(self._table, self._of(table))

    def _table(self, place: SavedFile) -> Table:
        """All rows of a file, which take no more than a quarter of the memory."""
        batches, size = [], 0
        for batch in self._batches(place, at_once=1 << 20):
            if (size := size + batch.nbytes) > self._memory // 4:
                raise CaptureError(f"{place.path}: its rows take more than {size // 1_000_000} MB: {MORE}")
            batches.append(batch)
        return joined(batches)

    def _at_once(self, content: str | io.BytesIO, place: SavedFile, at_once: int) -> int:
        """How many rows of a file are read at once, at most `at_once`: as many as certainly fit."""
        room = self._memory // 8
        try:
            weight = weighed(content, self._memory)
            if weight.rows != place.file.rows:
                raise ValueError(f"it has {weight.rows:,} rows, and not {place.file.rows:,}")
        except ValueError as error:
            raise CaptureError(f"{place.path}: is damaged: {error}") from None
        if weight.pages > room:
            raise CaptureError(f"{place.path}: {weight.pages // 1_000_000} MB of it must be read at once: {MORE}")
        return max(min(at_once, room // (weight.texts + BYTES_PER_NUMBER * weight.columns + 1)), 1)

    def _some(self, batches: Iterable[Any], file: DataFile, at_once: int) -> Iterator[Table]:
        """About so many rows at a time, without the texts that are there for who queries the files."""
        parts: list[Table] = []
        count = size = 0
        for batch in batches:
            table = Table.from_batches([batch])
            if file.table == "exchanges":
                table = table.select([name for name in table.column_names if name not in TEXTS])
            if len(table) < at_once:  # a column, and a dictionary of one, hold all of their batch in memory
                table = received(sent(table))
            parts.append(table)
            count, size = count + len(table), size + table.nbytes
            if count >= at_once or size > self._memory // 64:
                yield joined(parts)
                parts, count, size = [], 0, 0
        if parts:
            yield joined(parts)

    def _batches(self, place: SavedFile, at_once: int = ROWS_PER_BATCH) -> Iterator[Table]:
        """The rows of a file, some at a time, with the server that its folder names."""
        from arro3.io import read_parquet

        file, checked = place.file, manifest.checked(place.folder, place.file)
        read_at_once = self._at_once(checked, place, at_once)
        try:
            reader = read_parquet(checked, batch_size=read_at_once)
            check_columns(reader.schema, file)
            tables = (self._narrowed(part, place) for part in self._some(reader, file, at_once))
            for table in tables if file.rows else [_empty(reader.schema)]:
                check_numbers(table)
                if file.table != "exchanges":  # of which `WordNumbers` knows the words, and no other text is read
                    check_texts(table)
                check_there(table, EVERYWHERE.get(file.table, ()))
                yield _with_server(table, place)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            raise CaptureError(f"{place.path}: is damaged: {error}") from None

    def _narrowed(self, table: Table, place: SavedFile) -> Table:
        """The rows of the chosen connections, where only theirs are read."""
        if place.file.table not in OF_CONNECTIONS:
            return table
        streams = columns.column(table, "stream").values.astype(np.int64)
        if int(streams.max(initial=-1)) >= len(self._has_rows) or not self._has_rows[streams].all():
            raise CaptureError("it has rows of connections that are not there")
        return table if self._chosen is None else rows_of(table, np.flatnonzero(np.isin(streams, self._chosen)))


def _with_server(table: Table, place: SavedFile) -> Table:
    """The rows with the server that their folder names, or that they name where several servers share a file."""
    if "/server=" not in place.file.path:
        return table
    if place.server != SEVERAL:
        server = Array([place.server], DataType.string())
        return table.append_column("server", columns.take(server, np.zeros(len(table), np.int64)))
    if SERVER_OF_ROW not in table.column_names:
        return table
    if not all(name and manifest.SERVER.fullmatch(name) for name in columns.codes(table, SERVER_OF_ROW).names):
        raise CaptureError(f"a text of `{SERVER_OF_ROW}` is not a server")
    check_there(table, (SERVER_OF_ROW,))
    return table.append_column("server", table.column(SERVER_OF_ROW))


def _empty(schema: Schema) -> Table:
    return Table.from_pydict({name: columns.empty(schema.field(name).type) for name in schema.names})
