"""A ring of files: a recording that goes on for days and keeps its last part."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.units import parse_size, whole_number

MAX_FILES = 99_999
"""dumpcap numbers them with five digits."""


class Ring(Struct, frozen=True):
    """A ring of files of one size: the oldest is deleted when a new one is begun."""

    files_kept: int
    bytes_each: int

    def options(self) -> list[str]:
        """As dumpcap takes them; its kB are 1,000 bytes."""
        return ["-b", f"files:{self.files_kept}", "-b", f"filesize:{max(self.bytes_each // 1000, 1)}"]

    def files(self, path: Path) -> list[Path]:
        """The files that dumpcap makes of this name (`app_00001_20261122101530.pcapng`), oldest first."""
        named = re.compile(rf"{re.escape(path.stem)}_[0-9]{{5,}}_[0-9]{{14}}{re.escape(path.suffix)}")
        return sorted((each for each in path.parent.iterdir() if named.fullmatch(each.name)), key=_number)


def _number(path: Path) -> int:
    return int(path.stem.rsplit("_", 2)[1])


def parse_ring(text: str) -> Ring:
    """Parse `10x100MB`.

    >>> parse_ring("10x100MB")
    Ring(files_kept=10, bytes_each=100000000)
    """
    number, _, size = text.partition("x")
    files = whole_number(number, 2, MAX_FILES)
    if files is None or not size:
        raise UsageError(f"`{text}` is not a ring of files: write 10x100MB for ten files of 100 MB")
    return Ring(files, parse_size(size))
