"""A dataset, or several that hold parts of one recording, as the recording that its captures gave.

Each file is read once, its SHA-256 before; the core checks what is in it and packs rows as they come.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from arro3.core import Array, DataType, Table

from latpcap import _core
from latpcap.errors import CaptureError
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints, joined
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.footer import weighed
from latpcap.tables.dataset.layout import RENAMED, SERVER_OF_ROW, SEVERAL
from latpcap.tables.dataset.manifest import Manifest, SavedFile

ROWS_PER_BATCH = 1 << 14
MORE = "raise --memory, or it is damaged"
BYTES_PER_NUMBER = 16
"""Bytes of a number or a text's place, with its validity."""
PANIC = "PanicException"
"""The error that arro3 raises if a file ends without a Parquet footer."""
FILES = {
    "notes": ("notes",),
    "cases": ("cases",),
    "connections": ("other_connections", "connections"),
    "statements": ("statement_texts",),
    "tags": ("tag_texts",),
    "taps": ("taps",),
    "clock_readings": ("clock_readings",),
    "segments": ("segments",),
}
"""Tables of the core → those of a dataset that hold their rows."""
NUMBERED = ("statements", "tags")
"""Tables of texts that each part numbers on its own."""
CONTENTS = {"size_bytes": DataType.uint64(), "sha256": DataType.string()}
"""Columns of each capture beside the core's."""
SHA256 = re.compile("[0-9a-f]{64}")


class Dataset:
    """A recording that is not loaded yet."""

    def __init__(self, manifests: Mapping[str, Manifest], memory: int, disk: tuple[str, int] | None) -> None:
        """Take datasets by their folders, with the manifest of each; `memory` and `disk` are those of `_core.read`."""
        self._parts = [(folder, part) for folder, manifest in manifests.items() for part in manifest.parts]
        self._numbers = {folder: number for number, folder in enumerate(manifests)}
        self._memory = memory
        self._disk = disk

    @property
    def exchange_count(self) -> int:
        """How many there are, without reading them."""
        return sum(part.rows("exchanges") for _, part in self._parts)

    @property
    def is_large(self) -> bool:
        """Figures computed from it do not fit in the memory that reading may take."""
        return self._disk is not None and _core.Recording.would_be_large(self.exchange_count, self._memory)

    def captures(self) -> Table:
        """One row a file, without reading anything else."""
        table = _Loading(self._parts, self._numbers, self._memory, None).captures()
        return table.select([name for name in table.column_names if name not in CONTENTS])

    def load(self, chosen: Ints | None = None) -> _core.Recording:
        """Return the recording; with only the rows of the `chosen` connections, whose files alone are read then."""
        return _Loading(self._parts, self._numbers, self._memory, chosen).recording(self._disk)


class _Loading:
    """Reads the files that hold rows of some connections, or of all."""

    def __init__(self, parts: list[Any], numbers: dict[str, int], memory: int, chosen: Ints | None) -> None:
        self._parts = parts
        self._numbers = numbers
        self._memory = memory
        self._chosen = chosen
        self._chosen_in: dict[tuple[int, str], list[Ints]] = {}
        """Which of the chosen ones are in each part, by their servers."""
        self._path: str = parts[0][0]
        """The file that is read."""

    def recording(self, disk: tuple[str, int] | None) -> _core.Recording:
        """The core's recording of what they hold; raises `CaptureError` with the file that is damaged."""
        curve = next((part.host_curve for _, part in self._parts if part.host_curve is not None), None)
        captures = self.captures()
        contents = _contents(captures, self._path)
        try:
            return _core.Recording.of(
                {"captures": [captures]} | {name: self._pieces(name) for name in FILES},
                self._exchanges(),
                (batch for file in self._needed("rtt_samples") for batch in self._batches(file)),
                parts=[(self._numbers[folder], part.words) for folder, part in self._parts],
                chosen=self._chosen,
                host_curve=None if curve is None else (curve.rests_ms, curve.extra_ms, sorted(curve.addresses)),
                contents=contents,
                memory=self._memory,
                disk=disk,
            )
        except _core.CaptureError as error:
            raise CaptureError(f"{self._path}: {error}") from None

    def captures(self) -> Table:
        """One row a file."""
        tables = {place.folder: self._table(place) for place in self._of("captures")}
        rows = {folder: table.to_struct_array().to_pylist() for folder, table in tables.items()}
        first = next(iter(rows))
        for folder, each in rows.items():
            if each != rows[first]:
                raise CaptureError(f"{folder} and {first}: are of different captures, not parts of one scan")
        return tables[first]

    def _pieces(self, name: str) -> Iterator[Table]:
        """The tables of the files of one of the core's tables."""
        files = [place for table in FILES[name] for place in self._needed(table)]
        if name in NUMBERED and [place.part for place in files] != [*range(len(self._parts))]:
            raise CaptureError(f"{self._path}: a part has several files of {name}: scan the captures again")
        for place in files:
            table = self._table(place)
            if place.file.table == "connections":
                self._note_streams(table, place)
                table = _with_server(table, place)
            yield table

    def _note_streams(self, table: Table, place: SavedFile) -> None:
        for name in ("protocol", "stream"):
            if name not in table.column_names or table.column(name).null_count:
                raise CaptureError(f"{place.path}: is damaged: `{name}` is missing in a row")
        if self._chosen is not None:
            streams = columns.column(table, "stream").values
            of_server = self._chosen_in.setdefault((place.part, place.server), [])
            of_server.append(streams[np.isin(streams, self._chosen)])

    def _exchanges(self) -> Iterator[tuple[int, Table]]:
        """Batches of exchanges, each with its part, in the columns of the core."""
        names = _core.Recording.exchange_names()
        called = [RENAMED.get(name, name) for name in names]
        for place in self._needed("exchanges"):
            for batch in self._batches(place):
                if not {*called} <= {*batch.column_names}:
                    raise CaptureError(f"{place.path}: has other columns than those of this latpcap: scan again")
                yield place.part, batch.select(called).rename_columns(names)

    def _of(self, table: str) -> Iterator[SavedFile]:
        for number, (folder, part) in enumerate(self._parts):
            here = self._numbers[folder]
            yield from (SavedFile(folder, here, file, number) for file in part.files if file.table == table)

    def _needed(self, table: str) -> Iterator[SavedFile]:
        """The files that may have rows of the chosen connections; of connections themselves all."""
        for place in self._of(table):
            if self._chosen is None or place.file.streams is None or table == "connections":
                yield place
                continue
            first, last = place.file.streams
            here = self._chosen_in.get((place.part, place.server), [])
            if any(((streams >= first) & (streams <= last)).any() for streams in here):
                yield place

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

    def _batches(self, place: SavedFile, at_once: int = ROWS_PER_BATCH) -> Iterator[Table]:
        """The rows of a file, some at a time."""
        from arro3.io import read_parquet

        checked = manifest.checked(place.folder, place.file)
        read_at_once = self._at_once(checked, place, at_once)
        self._path = place.path
        try:
            reader = read_parquet(checked, batch_size=read_at_once)
            if not place.file.rows:
                yield Table.from_batches([], schema=reader.schema)
            yield from (Table.from_batches([batch]) for batch in reader)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != PANIC:
                raise
            raise CaptureError(f"{place.path}: is damaged: {error}") from None


def _contents(captures: Table, path: str) -> list[tuple[int, str] | None]:
    """Length and SHA-256 of each capture, as they were when they were read."""
    for name, kind in CONTENTS.items():
        if name not in captures.column_names or captures.column(name).type != kind:
            raise CaptureError(f"{path}: is damaged: `{name}` is missing, or of another type than this latpcap writes")
    sizes = columns.column(captures, "size_bytes").ints(-1).tolist()
    digests = columns.texts(captures, "sha256")
    if not all(digest is None or SHA256.fullmatch(digest) for digest in digests):
        raise CaptureError(f"{path}: is damaged: a text of `sha256` is no SHA-256")
    return [(size, digest) if digest else None for size, digest in zip(sizes, digests, strict=True)]


def _with_server(table: Table, place: SavedFile) -> Table:
    """Connections with the server that their folder names, or that they name where several servers share a file."""
    if place.server != SEVERAL:
        server = Array([place.server], DataType.string())
        return table.append_column("server", columns.take(server, np.zeros(len(table), np.int64)))
    if SERVER_OF_ROW not in table.column_names or not columns.is_text(table.column(SERVER_OF_ROW)):
        return table
    if not all(name and manifest.SERVER.fullmatch(name) for name in columns.codes(table, SERVER_OF_ROW).names):
        raise CaptureError(f"{place.path}: is damaged: a text of `{SERVER_OF_ROW}` is not a server")
    return table.append_column("server", table.column(SERVER_OF_ROW))
