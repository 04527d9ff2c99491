"""A dataset that workers write, each its parts, in a hidden folder beside its place; all of it is put there at the end.

A worker writes to a folder of its own within that one. What it has written counts when it has said so, and once: what
a worker leaves that dies, even behind its last file, goes when the scan ends.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from latpcap._core import __version__
from latpcap.errors import UsageError
from latpcap.reading import read
from latpcap.scan import Partition, ScanOptions, check_workers
from latpcap.tables.dataset import manifest
from latpcap.tables.dataset.manifest import ReadWith
from latpcap.tables.dataset.writing import new_folder, write_part
from latpcap.work.engine import Engine
from latpcap.work.parts import each_part

ATTEMPT = ".attempt"
"""How folders of workers end."""
SECRET_BYTES = 32


class Written(Struct, frozen=True):
    """The output of a worker."""

    version: str
    """latpcap's version."""
    captures: str
    """The digest of what it says of the files."""
    folder: str
    part: manifest.SavedPart


def saved(
    files: Sequence[str],
    asked: ScanOptions,
    engine: Engine,
    parts: int,
    output: str,
    *,
    force: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Save `files` as the dataset `output`, written in so many parts; `tell` hears which are done.

    Raises what `scanned` and `Capture.save` raise.
    """
    with new_folder(output, force=force, captures=files) as making:
        # nobody keeps the secret: what it hides cannot be found by guessing afterwards
        more = (str(making), os.urandom(SECRET_BYTES))
        written = each_part(write, files, asked, more, engine, parts, tell)
        check_workers((each.version for each in written), (each.captures for each in written))
        for each in written:
            _take(each, making)
        for left in making.glob(f"*{ATTEMPT}"):
            shutil.rmtree(left)
        read_with = ReadWith(show_literals=asked.show_literals, decode_as=dict(asked.decode_as))
        manifest.write(making, read_with, tuple(each.part for each in written))


def write(
    files: Sequence[str], partition: Partition, asked: ScanOptions, making: str, secret: bytes, *, progress: Any = None
) -> Written:
    """Read one part of `files`, and write it to a folder of its own within `making`: what a worker does."""
    capture = read([*files], part=partition.part, progress=progress, **asked.reading)
    try:
        folder = tempfile.mkdtemp(prefix=f"{partition.number}.", suffix=ATTEMPT, dir=making)
    except FileNotFoundError:
        raise UsageError(
            f"{os.path.dirname(making)}: a worker does not see what is written there: name a folder that all see"
        ) from None
    told = capture.recording.captures_table.to_struct_array().to_pylist()
    return Written(
        __version__,
        hashlib.sha256(repr(told).encode()).hexdigest(),
        folder,
        write_part(capture.recording, Path(folder), partition.number, secret, partition.of),
    )


def _take(written: Written, making: Path) -> None:
    """Move a worker's files to where they belong."""
    for file in written.part.files:
        target = making / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(Path(written.folder) / file.path, target)
