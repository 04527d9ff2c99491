"""Workers on this machine: threads, which start at once, or processes, of which one may die without the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from typing import ParamSpec, TypeVar

from latpcap._core import Progress

P = ParamSpec("P")
T = TypeVar("T")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Threads of this process: reading and analysing release the interpreter for most of their time."""

    lost: tuple[type[BaseException], ...] = ()

    def __init__(self, count: int) -> None:
        self._count = count
        self._progress = Progress()

    def work(self, part: Callable[..., T]) -> Callable[..., T]:
        """It can be cancelled."""
        return partial(part, progress=self._progress)

    @contextmanager
    def workers(self) -> Iterator[Executor]:
        """Threads, which read no further when nobody wants the result."""
        with ThreadPoolExecutor(self._count) as executor:
            try:
                yield executor
            except BaseException:
                self._progress.cancel()
                executor.shutdown(wait=False, cancel_futures=True)
                raise


class Processes:
    """Processes of this machine, each with a memory of its own."""

    lost: tuple[type[BaseException], ...] = (BrokenProcessPool,)

    def __init__(self, count: int) -> None:
        self._count = count

    def work(self, part: Callable[..., T]) -> Callable[..., T]:
        """As it is."""
        return part

    @contextmanager
    def workers(self) -> Iterator[Executor]:
        """New processes, which end with this one."""
        before = set(multiprocessing.active_children())
        with _Undisturbed(self._count, multiprocessing.get_context("spawn"), _begin) as executor:
            try:
                yield executor
            except BaseException:
                for child in set(multiprocessing.active_children()) - before:
                    child.kill()
                raise


class _Undisturbed(ProcessPoolExecutor):
    """Processes that Ctrl-C does not reach."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> Future[T]:
        """It may start a process for that."""
        with without_ctrl_c():
            return super().submit(work, *args, **named)


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Processes that are started meanwhile never get a Ctrl-C: it is for the one that started them, which ends them."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # it would let the signal through again where it began only now
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """In a new process: none outlives the first one, and where Ctrl-C reaches all of them, that one ends the others."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)
