"""Reading with a progress bar on standard error, and with a Ctrl-C that works."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

import click

from latpcap._core import Progress
from latpcap.tables.writing.sigterm import Terminated, unwound_by_sigterm

T = TypeVar("T")

SHOW_AFTER_S = 0.5
REFRESH_INTERVAL_S = 0.1
MAX_CANCEL_S = 2.0
"""A cancelled reading notices within this time."""


def watch(work: Callable[[Progress], T], *, quiet: bool = False, may_stop: bool = False, hashes: bool = False) -> T:
    """Run `work` in a thread and return its result.

    Ctrl-C and SIGTERM cancel its `Progress` and are raised again. Where the work `may_stop`, that takes a second
    Ctrl-C: the first one ends the reading, and what was read so far is the result.
    """
    progress = Progress(hashes=hashes)
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # Python 3.11 takes a thread for ended whose `join` was interrupted

    def run() -> None:
        try:
            results.append(work(progress))
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    reading = threading.Thread(target=run, daemon=True)
    with unwound_by_sigterm():
        try:
            _run(reading, done, progress, quiet=quiet, may_stop=may_stop)
        except KeyboardInterrupt:
            progress.cancel()
            if reading.ident is not None:
                done.wait(MAX_CANCEL_S)
            raise
    if errors:
        raise errors[0]
    return results[0]


def _run(reading: threading.Thread, done: threading.Event, progress: Progress, *, quiet: bool, may_stop: bool) -> None:
    """Run the thread to its end; where the work `may_stop`, the first Ctrl-C ends its reading only."""
    try:
        reading.start()  # which waits: the work may be well under way when it returns
        _wait(done, progress, quiet)
    except KeyboardInterrupt as interrupt:
        if not may_stop or reading.ident is None or isinstance(interrupt, Terminated):
            raise
        progress.stop()
        if not quiet:
            click.echo("latpcap: reading ends here; Ctrl-C again exits at once", err=True)
        _wait(done, progress, quiet=True)


def _wait(done: threading.Event, progress: Progress, quiet: bool) -> None:
    """Wait for the work's end, with a bar where somebody sees it."""
    if not done.wait(SHOW_AFTER_S) and not quiet and sys.stderr is not None and sys.stderr.isatty():
        _show(done, progress)
    while not done.wait(REFRESH_INTERVAL_S):
        pass


def _show(done: threading.Event, progress: Progress) -> None:
    from rich import progress as rich
    from rich.console import Console

    much = (rich.BarColumn(), rich.TaskProgressColumn(), rich.DownloadColumn())
    speed = (rich.TransferSpeedColumn(), rich.TimeRemainingColumn())
    with rich.Progress("reading", *much, *speed, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=progress.total_bytes)
        while not done.wait(REFRESH_INTERVAL_S):
            bar.update(task, completed=progress.bytes_read, total=progress.total_bytes)
