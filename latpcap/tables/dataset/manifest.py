"""`dataset.json`: what a dataset is, how its captures were read, and its files, to the byte."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from latpcap._core import __version__
from latpcap.errors import CaptureError
from latpcap.tables.dataset.layout import MANIFEST, SEVERAL, TABLES, server_of
from latpcap.tables.host_curve import HostCurve
from latpcap.units import counted

SCHEMA = "latpcap.dataset/4"
SERVER = re.compile(r"[!-~]{1,255}:[0-9]{1,5}")
"""An address or a pseudonym, and a port."""
COUNTED = ("exchanges", "connections")
IN_EACH_PART = ("notes", "cases", "statement_texts", "tag_texts", "other_connections")
MAX_MANIFEST_BYTES = 1 << 30
"""The largest manifest: it is read at once."""
MAX_WHOLE_FILE_BYTES = 1 << 25
"""Larger files are processed column by column."""

Kind = TypeVar("Kind")
Size = Annotated[int, Meta(ge=0, le=1 << 53)]
Stream = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]


class ReadWith(Struct, frozen=True):
    """How the captures were read, as far as that shows in the tables."""

    show_literals: bool = False
    pseudonymised: bool = False
    decode_as: dict[int, str] = {}


class DataFile(Struct, frozen=True):
    """One Parquet file."""

    path: str
    """Within the dataset."""
    rows: Size
    size_bytes: Size
    sha256: str
    streams: tuple[Stream, Stream] | None = None
    """The first and the last connection of which it has rows, where it has rows of connections."""

    @property
    def table(self) -> str:
        """The table of which these are rows."""
        return self.path.split("/", 1)[0]


class SavedFile(Struct, frozen=True):
    """A file of one of the parts."""

    folder: str
    scan: int
    """The number of the folder: its parts were written together."""
    file: DataFile
    part: int

    @property
    def path(self) -> str:
        """Path of the file."""
        return f"{self.folder}/{self.file.path}"

    @property
    def server(self) -> str:
        """Whose rows it holds."""
        return server_of(self.file.path)


class SavedPart(Struct, frozen=True, omit_defaults=True):
    """One part of a dataset: a recording, or the client groups of one that a worker has read."""

    files: tuple[DataFile, ...]
    words: dict[str, list[str]]
    """The words of the exchanges' columns, in the order in which they were first met: what is equal stays in it."""
    host_curve: HostCurve | None = None
    """That of the recording."""

    def rows(self, table: str) -> int:
        """How many it has of a table."""
        return sum(each.rows for each in self.files if each.table == table)


class Manifest(Struct, frozen=True):
    """All of it."""

    schema: str
    version: str
    """The version of latpcap that wrote it."""
    read_with: ReadWith
    parts: Annotated[tuple[SavedPart, ...], Meta(min_length=1)]

    @property
    def text(self) -> str:
        """Counts of rows, files and bytes."""
        files = [each for part in self.parts for each in part.files]
        exchanges, connections = (sum(part.rows(table) for part in self.parts) for table in COUNTED)
        rows = f"{counted(exchanges, 'exchange')} of {counted(connections, 'connection')}"
        return f"{rows} in {counted(len(files), 'file')}, {sum(each.size_bytes for each in files):,} bytes"


def write(folder: Path, read_with: ReadWith, parts: tuple[SavedPart, ...]) -> None:
    """The last file of a dataset: what is there before is none yet."""
    content = msgspec.json.encode(Manifest(SCHEMA, __version__, read_with, parts))
    with open(folder / MANIFEST, "wb") as file:
        file.write(msgspec.json.format(content) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def of_folder(folder: str) -> Manifest:
    """Read the folder's manifest; raises `CaptureError` if it is not that of a readable dataset."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(min(size, MAX_MANIFEST_BYTES))  # Python makes room for all that is asked for
        schema = _decoded(content, _Schema).schema
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CaptureError(f"{path}: is not the manifest of a latpcap dataset: scan the captures again") from None
    if schema != SCHEMA:
        raise CaptureError(
            f"{folder}: was written as `{schema[:80]}`, and this latpcap reads `{SCHEMA}`: scan the captures again"
        )
    try:
        manifest = _decoded(content, Manifest)
    except msgspec.DecodeError as error:
        raise CaptureError(f"{path}: is damaged: {error}") from None
    for what in _wrong(manifest):
        raise CaptureError(f"{path}: is damaged: it {what}")
    return manifest


def _decoded(content: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(content, type=kind)
    except RecursionError:
        raise msgspec.DecodeError("its JSON is nested too deeply") from None


def _wrong(manifest: Manifest) -> Iterator[str]:
    """Yield contradictions in the manifest."""
    known: set[str] = set()
    for number, part in enumerate(manifest.parts):
        if part.host_curve is not None and not part.host_curve.is_valid:
            yield "has a host's curve that is none"
        for path in (each.path for each in part.files):
            if path.split("/", 1)[0] not in TABLES or ".." in path.split("/") or not path.isprintable():
                yield f"names `{path[:80]}` as a file"
            if "/server=" in path and server_of(path) != SEVERAL and not SERVER.fullmatch(server_of(path)):
                yield f"names no server in `{path[:80]}`"
            if path in known:
                yield f"names `{path[:80]}` twice"
            known.add(path)
        for table in {*IN_EACH_PART, *(("captures",) if number == 0 else ())} - {each.table for each in part.files}:
            yield f"names no file of `{table}`"


def checked(folder: str, file: DataFile) -> str | io.BytesIO:
    """A file that is there and as it was written, or its path where it is large; raises `CaptureError`."""
    path = os.path.join(folder, file.path)
    try:
        if not os.path.isfile(path):  # reading a pipe or a device might never end
            raise FileNotFoundError
        as_written = os.path.getsize(path) == file.size_bytes
        content = Path(path).read_bytes() if as_written and file.size_bytes <= MAX_WHOLE_FILE_BYTES else None
        if not as_written or file.sha256 != _sha256(path if content is None else content):
            raise CaptureError(f"{path}: is damaged, it is not as it was written: scan the captures again")
    except FileNotFoundError:
        raise CaptureError(f"{path}: is missing from the dataset: scan the captures again") from None
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror}") from None
    return path if content is None else io.BytesIO(content)


def data_file(folder: Path, path: str, rows: int, streams: tuple[int, int] | None = None) -> DataFile:
    """A file that was written."""
    whole = os.path.join(folder, path)
    return DataFile(path, rows, os.path.getsize(whole), _sha256(whole), streams)


class _Schema(Struct):
    schema: str


def _sha256(of: str | bytes) -> str:
    """Hash of a file, or of bytes."""
    from hashlib import file_digest

    with open(of, "rb") if isinstance(of, str) else io.BytesIO(of) as file:
        return file_digest(file, "sha256").hexdigest()
