"""All parts of a scan by the workers of an engine; what is lost with a worker is done again by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed

from latpcap.errors import WorkersLost
from latpcap.scan import Asked, Partial, Partition, Scan, reduce
from latpcap.units import counted
from latpcap.work.engine import Engine

__all__ = ["ATTEMPTS", "scanned"]

ATTEMPTS = 3
"""So often workers may be lost without a part that was done meanwhile."""


def scanned(
    files: Sequence[str],
    asked: Asked,
    engine: Engine,
    parts: int,
    tell: Callable[[str], None] = lambda line: None,
) -> Scan:
    """Scan `files` in so many parts; `tell` hears which are done.

    What goes wrong in a part (a file that its worker does not see) is raised, and ends all others. Raises `WorkersLost`
    where workers die again and again.
    """
    found: dict[Partition, Partial] = {}
    missing = Partition.all(parts)
    failures = 0
    while missing:
        done = len(found)
        _try(files, asked, engine, missing, found, tell)
        missing = [each for each in missing if each not in found]
        failures = 0 if len(found) > done else failures + 1
        if missing and failures == ATTEMPTS:
            raise WorkersLost(
                f"workers died {ATTEMPTS} times before {_named(missing)} done (no memory left?): "
                "make more and smaller parts (--parts), or use fewer workers at once (--workers)"
            )
        if missing:
            tell(f"a worker died: {_named(missing)} done again")
    return reduce(found.values())


def _try(
    files: Sequence[str],
    asked: Asked,
    engine: Engine,
    missing: Sequence[Partition],
    found: dict[Partition, Partial],
    tell: Callable[[str], None],
) -> None:
    """Compute what is missing, as far as the workers live."""
    with engine.workers() as executor:
        futures: dict[Future[Partial], Partition] = {}
        try:
            for each in missing:
                futures[executor.submit(engine.work, files, each, asked)] = each
        except engine.lost:
            pass  # a worker died before all parts were given out
        for future in as_completed(futures):
            try:
                found[futures[future]] = future.result()
            except engine.lost:
                continue
            tell(f"part {futures[future].number + 1} of {futures[future].of} is done")


def _named(parts: Sequence[Partition]) -> str:
    """`part 2 of 4 is`, `3 of 4 parts are`."""
    if len(parts) == 1:
        return f"part {parts[0].number + 1} of {parts[0].of} is"
    return f"{len(parts)} of {counted(parts[0].of, 'part')} are"
