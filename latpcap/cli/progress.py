"""Reading with a progress line on standard error, and with a Ctrl-C that works."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from latpcap._core import Progress

__all__ = ["watch"]

T = TypeVar("T")

SHOW_AFTER_S = 0.5
EVERY_S = 0.1
CANCEL_S = 2.0
"""How long a cancelled reading may take to notice."""


def watch(work: Callable[[Progress], T], *, quiet: bool = False) -> T:
    """Run `work` in a thread and return its result; Ctrl-C cancels its `Progress` and is raised again."""
    progress = Progress()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(progress))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        _show(thread, progress, visible=not quiet and sys.stderr.isatty())
    except KeyboardInterrupt:
        progress.cancel()
        thread.join(CANCEL_S)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _show(thread: threading.Thread, progress: Progress, *, visible: bool) -> None:
    started, shown = time.monotonic(), False
    while thread.is_alive():
        thread.join(EVERY_S)
        if visible and thread.is_alive() and time.monotonic() - started > SHOW_AFTER_S:
            shown = True
            sys.stderr.write(f"\r{line(progress.bytes_read, progress.total_bytes)}")
            sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[K")


def line(done: int, total: int | None, width: int = 30) -> str:
    """The progress as one line.

    >>> line(500_000_000, 1_000_000_000, width=10)
    'reading [#####-----]  50%  0.50 of 1.00 GB'
    >>> line(500_000_000, None)
    'reading 0.50 GB'
    """
    if not total:
        return f"reading {done / 1e9:.2f} GB"
    share = min(done / total, 1.0)
    filled = round(share * width)
    return f"reading [{'#' * filled}{'-' * (width - filled)}] {share:4.0%}  {done / 1e9:.2f} of {total / 1e9:.2f} GB"
