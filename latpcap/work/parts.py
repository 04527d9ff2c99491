"""Each part of some work by the workers of an engine; what is lost with a worker is done again by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import Any, TypeVar

from latpcap.errors import WorkersLost
from latpcap.scan import Partition, ScanOptions
from latpcap.tables.reading import sources
from latpcap.units import counted
from latpcap.work.engine import Engine
from latpcap.work.weights import weights

MAX_ATTEMPTS = 3
"""Workers may be lost this often without a part done meanwhile."""

T = TypeVar("T")


def files_of(given: Sequence[str], engine: Engine) -> list[str]:
    """The files that paths and globs name where a worker is: the caller need not see them."""
    with engine.workers() as executor:
        found: list[str] = executor.submit(engine.work(named_by), given).result()
    return found


def named_by(given: Sequence[str]) -> list[str]:
    """The files that paths and globs name here."""
    return [path for each in given for path in sources.paths(each)]


def each_part(
    work: Callable[..., T],
    files: Sequence[str],
    asked: ScanOptions,
    more: tuple[Any, ...],
    engine: Engine,
    parts: int,
    tell: Callable[[str], None],
) -> list[T]:
    """Return `work(files, partition, asked, *more)` for each of so many parts; `tell` hears which are done.

    What goes wrong in a part is raised, and ends all others. Raises `WorkersLost` where workers die again and again.
    """
    found: dict[Partition, T] = {}
    divided: list[Partition] = []
    missing = Partition.all(parts)
    failures = 0
    while missing:
        done = len(found)
        with engine.workers() as executor:
            lost: tuple[type[BaseException], ...] = (*engine.lost, MemoryError)  # some die of it, some can still tell
            if not divided:
                missing = divided = _divided(executor, files, asked, parts, lost)

            def begin(each: Partition, executor: Executor = executor) -> Future[T]:
                return executor.submit(engine.work(work), files, each, asked, *more)

            _try(begin, missing, found, lost, tell)
        missing = [each for each in missing if each not in found]
        failures = 0 if len(found) > done else failures + 1
        if missing and failures == MAX_ATTEMPTS:
            raise WorkersLost(
                f"workers died {MAX_ATTEMPTS} times before {_named(missing)} done (no memory left?): "
                "make more and smaller parts (--parts), or use fewer workers at once (--workers)"
            )
        if missing:
            tell(f"a worker died: {_named(missing)} done again")
    return [found[each] for each in divided]


def _divided(
    executor: Executor, files: Sequence[str], asked: ScanOptions, parts: int, lost: tuple[type[BaseException], ...]
) -> list[Partition]:
    """The parts, each with about as much to do, as far as a look at the files tells; each worker looks at some."""
    if parts == 1:
        return Partition.all(parts)
    looks = min(parts, len(files))
    try:
        begun = [executor.submit(weights, files[number::looks], asked.memory) for number in range(looks)]
        found = [look.result() for look in begun]
    except lost:
        return Partition.all(parts)
    known = [each for each in found if each is not None]
    return Partition.weighed(parts, [sum(each) for each in zip(*known, strict=True)]) if known else Partition.all(parts)


def _try(
    begin: Callable[[Partition], Future[T]],
    missing: Sequence[Partition],
    found: dict[Partition, T],
    lost: tuple[type[BaseException], ...],
    tell: Callable[[str], None],
) -> None:
    """Compute what is missing, as far as the workers live."""
    futures: dict[Future[T], Partition] = {}
    try:
        for each in missing:
            futures[begin(each)] = each
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
