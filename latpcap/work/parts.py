"""Each part of some work by the workers of an engine; what is lost with a worker is done again by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from typing import Any, TypeVar

from latpcap.errors import WorkersLost
from latpcap.scan import Partition
from latpcap.tables import sources
from latpcap.units import counted
from latpcap.work.engine import Engine

__all__ = ["ATTEMPTS", "each_part", "files_of", "named_by"]

ATTEMPTS = 3
"""So often workers may be lost without a part that was done meanwhile."""

T = TypeVar("T")


def files_of(given: Sequence[str], engine: Engine) -> list[str]:
    """The files that paths and globs name where a worker is: the caller need not see them."""
    with engine.workers() as executor:
        found: list[str] = executor.submit(named_by, given).result()
    return found


def named_by(given: Sequence[str]) -> list[str]:
    """The files that paths and globs name here."""
    return [path for each in given for path in sources.paths(each)]


def each_part(
    work: Callable[..., T],
    files: Sequence[str],
    more: tuple[Any, ...],
    engine: Engine,
    parts: int,
    tell: Callable[[str], None],
) -> dict[Partition, T]:
    """What `work(files, partition, *more)` gives for each of so many parts; `tell` hears which are done.

    What goes wrong in a part is raised, and ends all others. Raises `WorkersLost` where workers die again and again.
    """
    found: dict[Partition, T] = {}
    missing = Partition.all(parts)
    failures = 0
    while missing:
        done = len(found)
        _try(
            lambda executor, each: executor.submit(engine.work(work), files, each, *more), engine, missing, found, tell
        )
        missing = [each for each in missing if each not in found]
        failures = 0 if len(found) > done else failures + 1
        if missing and failures == ATTEMPTS:
            raise WorkersLost(
                f"workers died {ATTEMPTS} times before {_named(missing)} done (no memory left?): "
                "make more and smaller parts (--parts), or use fewer workers at once (--workers)"
            )
        if missing:
            tell(f"a worker died: {_named(missing)} done again")
    return found


def _try(
    begin: Callable[[Any, Partition], Future[T]],
    engine: Engine,
    missing: Sequence[Partition],
    found: dict[Partition, T],
    tell: Callable[[str], None],
) -> None:
    """Compute what is missing, as far as the workers live."""
    with engine.workers() as executor:
        lost: tuple[type[BaseException], ...] = (*engine.lost, MemoryError)  # some die of it, and some can still tell
        futures: dict[Future[T], Partition] = {}
        try:
            for each in missing:
                futures[begin(executor, each)] = each
        except lost:
            pass  # a worker died before all parts were given out
        for future in as_completed(futures):
            try:
                found[futures[future]] = future.result()
            except lost:
                continue
            tell(f"part {futures[future].number + 1} of {futures[future].of} is done")


def _named(parts: Sequence[Partition]) -> str:
    """`part 2 of 4 is`, `3 of 4 parts are`."""
    if len(parts) == 1:
        return f"part {parts[0].number + 1} of {parts[0].of} is"
    return f"{len(parts)} of {counted(parts[0].of, 'part')} are"
