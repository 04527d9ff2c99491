"""Workers that die half-way."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from latpcap.scan import Asked, Partial, Partition, part
from latpcap.work.local import Processes
from latpcap.work.on_dask import Dask


def die() -> None:
    """As the kernel ends a process that has taken too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def dies_once(files: Sequence[str], partition: Partition, asked: Asked) -> Partial:
    """The second part dies when it has read everything, where it does so for the first time."""
    found, mark = part(files, partition, asked), Path(f"{files[0]}.died")
    if partition.number == 1 and not mark.exists():
        mark.touch()
        die()
    return found


def dies_always(files: Sequence[str], partition: Partition, asked: Asked) -> Partial:
    """The second part has too much for any worker."""
    if partition.number == 1:
        die()
    return part(files, partition, asked)


class DyingOnce(Processes):
    """One of these processes dies."""

    work = staticmethod(dies_once)


class DyingAlways(Processes):
    """One part is too much for them."""

    work = staticmethod(dies_always)


class DyingOnDask(Dask):
    """One of Dask's workers dies."""

    work = staticmethod(dies_once)
