"""SIGTERM while something is written: as much is removed as after Ctrl-C, and the process ends as it would have."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: nothing that was begun is of use any more."""


@contextmanager
def unwound_by_sigterm() -> Iterator[None]:
    """Have SIGTERM unwind the block before it ends the process, where nobody else handles it.

    Only a main thread that runs Python, not the core, hears of a signal at once.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    came: list[int] = []

    def unwind(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
        came.append(number)
        raise Terminated

    signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if came:
            os.kill(os.getpid(), signal.SIGTERM)
