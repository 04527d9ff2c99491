"""Computations in the background: the core and numpy let go of Python meanwhile, so two processors get on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from latpcap.tables.columnar import columns

T = TypeVar("T")


def run_in_background(work: Callable[[], T], *, is_threaded: bool) -> Callable[[], T]:
    """Return a function that gives the result of `work`, begun now in a thread or (not `is_threaded`) when called."""
    if not is_threaded:
        return work
    from concurrent.futures import ThreadPoolExecutor

    def run() -> T:
        try:
            return work()
        finally:
            columns.give_back()  # what it needed meanwhile, only its thread could use again

    threads = ThreadPoolExecutor(1)
    future = threads.submit(run)
    threads.shutdown(wait=False)
    return future.result
