"""Waiting while a service is recorded: until somebody ends it, some time has passed, or the process has ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

END_SIGNALS = {signal.SIGINT, signal.SIGTERM}
if sys.platform == "win32":
    END_SIGNALS.add(signal.SIGBREAK)
elif signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # `nohup` asks not to end with the terminal
    END_SIGNALS.add(signal.SIGHUP)
POLL_S = 0.2


def wait(seconds: float | None = None, pid: int | None = None) -> None:
    """Return after Ctrl-C (or SIGTERM, SIGHUP, Ctrl-Break), after so many seconds, or when the process has ended."""
    asked: list[int] = []
    before = {each: signal.signal(each, lambda number, _frame: asked.append(number)) for each in END_SIGNALS}
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while not asked and (end is None or time.monotonic() < end) and (pid is None or _runs(pid)):
            time.sleep(POLL_S if end is None else min(POLL_S, max(end - time.monotonic(), 0)))
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _runs(pid: int) -> bool:
    """Whether the process is there, and not only its exit status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return os.path.exists(f"/proc/{pid}")
