"""Waiting while a service is recorded: until somebody ends it, some time has passed, or the process has ended."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
LOOK_S = 0.2


def wait(seconds: float | None = None, pid: int | None = None) -> None:
    """Return after Ctrl-C (or SIGTERM, SIGHUP), after so many seconds, or when the process has ended."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while (end is None or time.monotonic() < end) and (pid is None or _runs(pid)):
            left = LOOK_S if end is None else min(LOOK_S, max(end - time.monotonic(), 0))
            if signal.sigtimedwait(ENDS, left):
                return
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _runs(pid: int) -> bool:
    """Whether the process is there, and not only its exit status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return os.path.exists(f"/proc/{pid}")
