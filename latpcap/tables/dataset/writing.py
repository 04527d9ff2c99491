"""A recording to Parquet files: written beside the place where they are to be, and put there when all are whole."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from arro3.core import Array, ChunkedArray, DataType, RecordBatchReader, Table
from numpy.typing import NDArray

from latpcap.errors import CaptureError, UsageError, unwritten
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints, rows_of
from latpcap.tables.columnar.table import MAX_PASSES, MIN_BLOCK_ROWS
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.file_plan import Places
from latpcap.tables.dataset.layout import MANIFEST, SERVER_OF_ROW, WORDS, is_dataset, part_path
from latpcap.tables.dataset.manifest import DataFile, ReadWith, SavedPart
from latpcap.tables.dataset.rows import ExchangeRows, SampleRows, TableRows
from latpcap.tables.part.window import begins_of
from latpcap.tables.reading.sources import shown
from latpcap.tables.recording import Recording
from latpcap.tables.writing.locks import lock
from latpcap.tables.writing.outputs import check_here, mode_of_all
from latpcap.tables.writing.sigterm import unwound_by_sigterm

MAX_GROUP_ROWS = 1 << 16
"""Rows that are compressed together."""
MAX_GROUP_TEXT_BYTES = 1 << 24
"""Bytes of statements of such rows: they are kept until all of them are there."""
MIN_GROUP_ROWS = 1 << 10
SAY_SERVER = ("connections", "exchanges")
"""Tables whose rows say their server."""
MAKING = ".part"
"""How folders end that are being written."""
COMPRESSION = "zstd(3)"
NUMBERS = ("Int", "Uint", "Timestamp")


def save(
    recording: Recording,
    folder: str | os.PathLike[str],
    read_with: ReadWith,
    *,
    force: bool = False,
    captures: Iterable[str] = (),
) -> None:
    """Save a recording of `captures` as the dataset `folder`, new or empty; `force` replaces a dataset."""
    with new_folder(folder, force=force, captures=captures) as making:
        manifest.write(making, read_with, (write_part(recording, making),))


@contextmanager
def new_folder(folder: str | os.PathLike[str], *, force: bool = False, captures: Iterable[str] = ()) -> Iterator[Path]:
    """A folder to write a dataset to, which is put in its place when all of it is there.

    Whatever ends the program before leaves `folder` as it was. Nobody opens it who may not read the `captures`.
    """
    place = Path(os.path.realpath(folder))
    check_place(folder, force=force)
    try:
        with unwound_by_sigterm(), _making(place, folder) as making:
            yield making
            making.chmod(0o777 & ~_umask() & mode_of_all(captures))
            _put(making, place, force)
    except OSError as error:
        raise unwritten(folder, error) from None


@contextmanager
def _making(place: Path, folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A hidden folder beside `place`, which this program alone writes to; removed unless it takes that name."""
    with ExitStack() as held:
        if sys.platform == "win32":
            held.enter_context(_claimed(place, folder))
        with _turn(place.parent):
            _forget_abandoned(place, folder)
            making = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=MAKING, dir=place.parent))
            held.enter_context(_held(making))
        try:
            yield making
        finally:
            _remove(making)


@contextmanager
def _claimed(place: Path, folder: str | os.PathLike[str]) -> Iterator[None]:
    """A file that Windows removes with whoever has it open; it has no locks of folders."""
    try:
        claim = os.open(place.with_name(f".{place.name}.claim"), os.O_CREAT | os.O_EXCL | getattr(os, "O_TEMPORARY", 0))
    except FileExistsError:
        raise _in_use(folder) from None
    try:
        yield
    finally:
        os.close(claim)


@contextmanager
def _turn(parent: Path) -> Iterator[None]:
    """No other program looks for folders in `parent`, or makes one, where the file system knows locks."""
    with ExitStack() as held:
        with suppress(OSError):
            held.enter_context(_held(parent, waits=True))
        yield


@contextmanager
def _held(folder: Path, *, waits: bool = False) -> Iterator[None]:
    """A lock, which ends with the program at the latest; Windows has none of folders."""
    if sys.platform == "win32":
        yield
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        lock(file, waits=waits)
        yield
    finally:
        os.close(file)


def _forget_abandoned(place: Path, folder: str | os.PathLike[str]) -> None:
    """Remove what programs have left that were killed while they wrote to the same place; refuse where one still does.

    Windows' claim has told that.
    """
    called = re.compile(rf"\.{re.escape(place.name)}\.[a-z0-9_]{{8}}(\.gone)?{re.escape(MAKING)}")
    for left in place.parent.iterdir():
        if not called.fullmatch(left.name) or left.is_symlink():
            continue
        try:
            with _held(left):
                shutil.rmtree(left, ignore_errors=True)
        except BlockingIOError:
            raise _in_use(folder) from None
        except OSError:
            continue


def _in_use(folder: str | os.PathLike[str]) -> UsageError:
    return UsageError(f"{folder}: another latpcap is writing it: wait for its end, or name another folder")


def check_free(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse what is no place for a new dataset, and what another program writes to: before the captures are read."""
    check_place(folder, force=force)
    place = Path(os.path.realpath(folder))
    try:
        with _turn(place.parent):
            _forget_abandoned(place, folder)
    except OSError as error:
        raise unwritten(folder, error) from None


def check_place(folder: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse what is no place for a new dataset."""
    check_here(folder)
    place = Path(os.path.realpath(folder))
    if place.is_dir():
        if is_dataset(place):
            if not force:
                raise UsageError(f"{folder}: is there already: name another folder, or replace it with --force")
            _check_replaceable(place)
        elif any(place.iterdir()):
            raise UsageError(f"{folder}: holds other files: name a new folder")
    elif place.exists():
        raise UsageError(f"{folder}: is a file: name a folder")
    elif not place.parent.is_dir():
        raise UsageError(f"{folder}: no such directory: {place.parent}")


def _check_replaceable(place: Path) -> None:
    """Refuse a folder with a `dataset.json` that is none of latpcap's, or with more in it than that names."""
    try:
        own = _own(place)
    except CaptureError as error:
        raise UsageError(f"{error}; --force replaces datasets only: remove it yourself, or name a new folder") from None
    for at, folders, files in os.walk(place):
        links = (name for name in folders if os.path.islink(os.path.join(at, name)))
        for path in ((Path(at) / name).relative_to(place).as_posix() for name in (*links, *files)):
            if path not in own:
                raise UsageError(f"{place}: holds {shown(path)}, which is none of the dataset's files: move it first")


def _own(place: Path) -> set[str]:
    """The files of a dataset; raises `CaptureError` where it is none."""
    return {MANIFEST, *(file.path for part in manifest.of_folder(str(place)).parts for file in part.files)}


def _put(making: Path, place: Path, force: bool) -> None:
    """One rename puts all of it there; a dataset that is replaced goes after that."""
    check_place(place, force=force)
    if not is_dataset(place):
        _rename(making, place)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".old", dir=place.parent))
    _rename(place, old)
    _rename(making, place)
    _remove_own(old)


def _rename(folder: Path, to: Path) -> None:
    """To where nothing is, or an empty folder, which Windows does not replace."""
    if sys.platform == "win32" and to.exists():
        to.rmdir()
    os.rename(folder, to)


def _remove_own(place: Path) -> None:
    """Remove the files of a dataset and folders that are empty then: what somebody has put there meanwhile stays."""
    for path in _own(place):
        with suppress(OSError):
            os.unlink(place / path)
    for at, _, _ in os.walk(place, topdown=False):
        with suppress(OSError):
            os.rmdir(at)


def _remove(making: Path) -> None:
    """Whoever writes there still, on another machine, finds the folder no more: nothing new comes while it goes."""
    gone = making.with_name(f"{making.stem}.gone{MAKING}")
    with suppress(FileNotFoundError):  # it is in its place
        os.rename(making, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_part(
    recording: Recording, folder: Path, number: int = 0, secret: bytes | None = None, of: int = 1
) -> SavedPart:
    """Write all tables of a recording as part `number` of the dataset in `folder`, which has `of` parts.

    With a `secret`, equal parameters are equal in all parts that were written with it. The captures are told by part 0.
    """
    files = tuple(_files(_Writer(recording, folder, number, of), secret))
    return SavedPart(files, _words(recording), recording.host_curve)


class _Writer:
    """Writes the tables of one recording."""

    def __init__(self, recording: Recording, folder: Path, number: int, of: int) -> None:
        self.recording = recording
        self.folder = folder
        self.number = number
        self._places = Places.of(recording, of)

    def whole(self, name: str, table: Table) -> Iterator[DataFile]:
        """A table in one file."""
        yield self._write(part_path(name, self.number), table.num_rows, iter([table]))

    def by_day_and_server(self, name: str, rows: TableRows, time: Ints) -> Iterator[DataFile]:
        """The rows of database connections in a file for each day and server."""
        stream = rows.column("stream")
        files = [*self._places.files(stream, time)]
        columns.give_back()
        for some in _together([of_file for _, _, of_file in files]):
            of_all = np.sort(np.concatenate([of_file for _, _, of_file in files[some]]))
            picked = rows.picked if some.stop - some.start == 1 else rows.among(of_all)
            text_bytes = rows.text_bytes(of_all)
            for day, server, here in files[some]:
                path = part_path(name, self.number, day, server)
                streams = int(stream[here].min()), int(stream[here].max())
                made = (self._placed(name, part) for piece in picked(here) for part in rows.made(piece))
                row_group = _row_group(len(here), text_bytes)
                yield self._write(path, len(here), made, streams, row_group)

    def _placed(self, name: str, part: Table) -> Table:
        """The rows with their server, which a file may not tell."""
        parts: dict[str, Any] = {each: part.column(each) for each in part.column_names if each != "server"}
        if name in SAY_SERVER:
            parts[SERVER_OF_ROW] = self._places.servers_of(columns.column(part, "stream").values.astype(np.int64))
        return Table.from_pydict(parts)

    def _write(
        self,
        path: str,
        count: int,
        parts: Iterator[Table],
        streams: tuple[int, int] | None = None,
        row_group: int = MAX_GROUP_ROWS,
    ) -> DataFile:
        from arro3.io import write_parquet

        target = self.folder / path
        for parent in reversed(Path(path).parents[:-1]):
            (self.folder / parent).mkdir(exist_ok=True)
        like = next(parts)
        batches = (batch for part in chain((like,), parts) for batch in part.combine_chunks().to_batches())
        numbers = [name for name in like.column_names if _is_number(like.column(name))]
        with _NeverFailingFile(target) as file:
            write_parquet(
                RecordBatchReader.from_batches(like.schema, batches),
                file,
                compression=COMPRESSION,
                max_row_group_size=row_group,
                column_encoding=dict.fromkeys(numbers, "delta_binary_packed"),
                column_dictionary_enabled=dict.fromkeys(numbers, False),
                created_by="latpcap",
            )
        return manifest.data_file(self.folder, path, count, streams)


def _row_group(rows: int, text_bytes: int) -> int:
    """How many of a file's rows are compressed together, where all text may be theirs."""
    if text_bytes <= MAX_GROUP_TEXT_BYTES:
        return MAX_GROUP_ROWS
    return min(MAX_GROUP_ROWS, max(MAX_GROUP_TEXT_BYTES * rows // text_bytes, MIN_GROUP_ROWS))


def _together(files: list[Ints]) -> Iterator[slice]:
    """Files whose rows are picked in one go: as few goes as may be, each of a part of all rows, or for one file."""
    most = max(sum(map(len, files)) // MAX_PASSES, MIN_BLOCK_ROWS)
    begin = rows = 0
    for number, of_file in enumerate(files):
        if number > begin and rows + len(of_file) > most:
            yield slice(begin, number)
            begin, rows = number, 0
        rows += len(of_file)
    if files:
        yield slice(begin, len(files))


class _NeverFailingFile(io.FileIO):
    """A file that takes everything, and says in the end what it had no room for: arro3 panics where a file refuses."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "wb")
        self._refused: OSError | None = None

    def write(self, data: Any) -> int:
        """All of it, as far as anybody can tell yet."""
        rest = memoryview(data)
        try:
            while rest and self._refused is None:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self._refused = error
        return len(data)

    def __exit__(self, *raised: object) -> None:
        self.close()
        if self._refused is not None:
            raise self._refused


def _is_number(column: ChunkedArray) -> bool:
    return any(kind in str(column.type) for kind in NUMBERS) and "Dictionary" not in str(column.type)


def _files(writer: _Writer, secret: bytes | None) -> Iterator[DataFile]:
    recording = writer.recording
    if writer.number == 0:
        yield from writer.whole("captures", _captures(recording))
    yield from writer.whole("notes", recording.notes_table)
    yield from writer.whole("cases", Table.from_arrow(recording.core.cases()))
    yield from writer.whole("statement_texts", recording.statements_table)
    yield from writer.whole("tag_texts", Table.from_pydict({"text": Array(recording.tag_texts, DataType.string())}))
    yield from writer.whole("taps", Table.from_arrow(recording.core.taps()))
    connections = recording.all_connections_table
    is_other = np.ones(len(connections), bool)
    is_other[recording.database_rows] = False
    yield from writer.whole("other_connections", rows_of(connections, np.flatnonzero(is_other)))
    opened = TableRows(connections)
    yield from writer.by_day_and_server("connections", opened, opened.column("start"))
    exchanges = ExchangeRows(recording, None if secret is None else partial(_keyed, secret=secret))
    yield from writer.by_day_and_server("exchanges", exchanges, begins_of(recording))
    samples = SampleRows(recording)
    yield from writer.by_day_and_server("rtt_samples", samples, samples.column("time"))
    readings = TableRows(Table.from_arrow(recording.core.clock_readings()))
    yield from writer.by_day_and_server("clock_readings", readings, readings.column("time"))
    sent = TableRows(Table.from_arrow(recording.core.segments()))
    yield from writer.by_day_and_server("segments", sent, sent.column("time"))


def _keyed(hashes: NDArray[Any], secret: bytes) -> NDArray[np.uint64]:
    """A number for each hash, which only who knows the secret can compute; 0 stays 0."""
    distinct, index = np.unique(hashes, return_inverse=True)

    def number(each: int) -> int:
        digest = hashlib.blake2b(each.to_bytes(8, "little"), key=secret, digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1 | 1  # a positive one, also where integers have a sign

    return np.array([number(each) if each else 0 for each in distinct.tolist()], np.uint64)[index]


def _words(recording: Recording) -> dict[str, list[str]]:
    """The words of the exchanges in the order in which they were first met."""
    return {name: recording.exchange_codes(name).names for name in WORDS}


def _captures(recording: Recording) -> Table:
    """The files with what they hold: they are read once more for that, and no more afterwards."""
    contents = recording.core.contents()
    size = Array([each and each[0] for each in contents], DataType.uint64())
    digest = Array([each and each[1] for each in contents], DataType.string())
    return recording.captures_table.append_column("size_bytes", size).append_column("sha256", digest)
