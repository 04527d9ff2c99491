"""The folder of temporary files, and the room they may take there."""

from __future__ import annotations

import os
import shutil

from latpcap.errors import UsageError

MIN_FREE_BYTES = 1_000_000_000
"""Bytes of a disk that stay free."""
USUAL_FOLDER = "/var/tmp"
"""The system's folder for large temporary files: `/tmp` may be in memory."""


def room_in(folder: str | os.PathLike[str] | None, most: int) -> tuple[str, int] | None:
    """A folder, by default the usual one, and bytes: `most`, but never all that is free there; `None` for no room."""
    if most == 0:
        return None
    chosen = usual_folder() if folder is None else os.fspath(folder)
    if not (os.path.isdir(chosen) and os.access(chosen, os.W_OK | os.X_OK)):
        if folder is None:
            return None
        raise UsageError(f"{chosen}: temporary files cannot be written there: name another --temp-folder")
    room = min(most, shutil.disk_usage(chosen).free - MIN_FREE_BYTES)
    return (chosen, room) if room > 0 else None


def usual_folder() -> str:
    """The default folder of large temporary files."""
    if "TMPDIR" not in os.environ and os.path.isdir(USUAL_FOLDER):
        return USUAL_FOLDER
    from tempfile import gettempdir

    return gettempdir()
