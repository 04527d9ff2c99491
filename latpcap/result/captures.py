"""The files of a recording: what they are called, and what they hold, to the byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import ClassVar

from msgspec import Struct

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.times import iso
from latpcap.tables.recording import Recording


class Contents:
    """Length and SHA-256 of each file, which is read once more when somebody asks for the first."""

    def __init__(self, read: Callable[[], list[tuple[int, str] | None]]) -> None:
        """`read` returns them."""
        self._read = read

    @cached_property
    def each(self) -> list[tuple[int, str] | None]:
        """In the order of the files; `None` where a file has changed since, or a pipe was not read to its end."""
        return self._read()

    def __reduce__(self) -> tuple[object, ...]:
        return _that_are, (self.each,)

    def __repr__(self) -> str:
        return "…"


def _that_are(each: list[tuple[int, str] | None]) -> Contents:
    return Contents(lambda: each)


class CaptureFile(Struct, frozen=True):
    """One file of the recording."""

    json_fields: ClassVar = (
        *("path", "format", "packets", "bytes", "first_time", "last_time"),
        *("size_bytes", "sha256"),
    )

    path: str
    """Its name, without folders but for what tells it from another file."""
    format: str
    packets: int
    bytes: int
    """Bytes of the packets on the wire."""
    first_time: str | None
    last_time: str | None
    contents: Contents
    place: int
    """Among the files."""

    @property
    def size_bytes(self) -> int | None:
        """The file's size on the disk; `None` as for `sha256`."""
        told = self.contents.each[self.place]
        return None if told is None else told[0]

    @property
    def sha256(self) -> str | None:
        """The file's digest; `None` where it has changed since, or a pipe was not read to its end."""
        told = self.contents.each[self.place]
        return None if told is None else told[1]


def capture_files(recording: Recording) -> Iterator[CaptureFile]:
    """The files of `recording`, in the order in which they were named."""
    table, contents = recording.captures_table, Contents(lambda: recording.core.contents())
    paths, formats = (columns.texts(table, name) for name in ("path", "format"))
    packets, sizes = (columns.column(table, name).values for name in ("packets", "bytes"))
    first, last = (iso(columns.column(table, name)) for name in ("first_time", "last_time"))
    for row, path in enumerate(paths):
        facts = int(packets[row]), int(sizes[row]), first[row], last[row]
        yield CaptureFile(path or "", formats[row] or "", *facts, contents, row)
