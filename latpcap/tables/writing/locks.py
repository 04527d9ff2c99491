"""Locks on files and folders, which end with their process at the latest."""

from __future__ import annotations

import sys


def lock(file: int, *, waits: bool) -> None:
    """Hold an open file or folder until it is closed; Windows, where open files cannot be removed, needs no locks.

    Raises `BlockingIOError` where somebody else holds it and this does not wait, `OSError` where nobody can.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
