"""What is computed while something else is: the core and numpy let go of Python meanwhile, so two processors get on."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

from latpcap.tables.columnar import columns

T = TypeVar("T")


class Ahead(Generic[T]):
    """A result that is asked for later: computed in a thread of its own, or (not `apart`) when it is asked for."""

    def __init__(self, work: Callable[[], T], *, apart: bool) -> None:
        """Begin, if that is to go on apart from all else."""
        self._work = work
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run) if apart else None
        if self._thread:
            self._thread.start()

    def _run(self) -> None:
        try:
            self._found.append(self._work())
        except BaseException as error:
            self._error = error
        columns.give_back()  # what it needed meanwhile, only its thread could use again

    def result(self) -> T:
        """Wait for it; raises what it raised."""
        if self._thread is None:
            return self._work()
        self._thread.join()
        if self._error:
            raise self._error
        return self._found[0]
