"""Whoever computes the parts of a scan: workers behind a `concurrent.futures.Executor`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Engine(Protocol):
    """Workers of one kind."""

    def work(self, part: Callable[..., T]) -> Callable[..., T]:
        """Return a `part` that these workers can compute."""
        ...

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """Return errors of a dead worker's future."""
        ...

    def workers(self) -> AbstractContextManager[Executor]:
        """New workers; where that is left by an exception, they end at once, whatever they are at."""
        ...
