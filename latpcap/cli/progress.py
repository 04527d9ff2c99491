"""Reading with a progress bar on standard error, and with a Ctrl-C that works."""

from __future__ import annotations

import sys
import threading
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
        thread.join(SHOW_AFTER_S)
        if thread.is_alive() and not quiet and sys.stderr.isatty():
            _show(thread, progress)
        while thread.is_alive():
            thread.join(EVERY_S)
    except KeyboardInterrupt:
        progress.cancel()
        thread.join(CANCEL_S)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _show(thread: threading.Thread, progress: Progress) -> None:
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("reading"), rich.BarColumn(), rich.TaskProgressColumn(), rich.DownloadColumn())
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=progress.total_bytes)
        while thread.is_alive():
            bar.update(task, completed=progress.bytes_read, total=progress.total_bytes)
            thread.join(EVERY_S)
