"""Captures that are still being written: latpcap and Wireshark get what was there at the start, both the same."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from latpcap.errors import unwritten

T = TypeVar("T")
Check = Callable[[], None]
"""Raises `Grown` where a capture has changed its length."""
PIECE_BYTES = 1 << 20


class Grown(Exception):
    """A capture has another length than at the start."""


def as_at_the_start(paths: Sequence[str], work: Callable[[list[str], Check], T]) -> T:
    """Return what `work` makes of the captures, or of copies of what they held at the start where one has grown."""
    lengths = {path: os.path.getsize(path) for path in paths if os.path.isfile(path)}

    def check() -> None:
        if any(os.path.getsize(path) != length for path, length in lengths.items()):
            raise Grown

    try:
        return work([*paths], check)
    except Grown:
        pass
    with tempfile.TemporaryDirectory(prefix="latpcap-") as folder:
        copies = [_copy(path, lengths[path], Path(folder, str(n))) for n, path in enumerate(paths)]
        return work(copies, lambda: None)


def _copy(path: str, length: int, folder: Path) -> str:
    """The first bytes of a file as one of the same name."""
    folder.mkdir()
    copy = folder / os.path.basename(path)
    try:
        with open(path, "rb") as source, copy.open("xb") as target:
            while length > 0 and (piece := source.read(min(length, PIECE_BYTES))):
                target.write(piece)
                length -= len(piece)
    except OSError as error:
        raise unwritten(copy, error) from None
    return str(copy)
