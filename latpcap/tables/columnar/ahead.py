"""Computations in the background: the core and numpy let go of Python meanwhile, so two processors get on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from latpcap.tables.columnar import columns

T = TypeVar("T")


def ahead(work: Callable[[], T], *, apart: bool) -> Callable[[], T]:
    """What returns the result of `work`: begun now in a thread of its own, or (not `apart`) when it is asked for."""
    if not apart:
        return work
    from concurrent.futures import ThreadPoolExecutor

    def run() -> T:
        try:
            return work()
        finally:
            columns.give_back()  # what it needed meanwhile, only its thread could use again

    threads = ThreadPoolExecutor(1)
    begun = threads.submit(run)
    threads.shutdown(wait=False)
    return begun.result
