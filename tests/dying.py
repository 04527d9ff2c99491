"""Workers that die half-way."""

import os
import resource
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from latpcap.scan import Partition
from latpcap.work.local import Processes
from latpcap.work.on_dask import Dask
from latpcap.work.on_ray import Ray

Work = Callable[..., Any]


def die() -> None:
    """As the kernel ends a process that has taken too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def dies_once(work: Work, files: Sequence[str], partition: Partition, *more: Any) -> Any:
    """The second part dies when it has done everything, where it does so for the first time."""
    found, mark = work(files, partition, *more), Path(f"{files[0]}.died")
    if partition.number == 1 and not mark.exists():
        mark.touch()
        die()
    return found


def dies_always(work: Work, files: Sequence[str], partition: Partition, *more: Any) -> Any:
    """The second part has too much for any worker."""
    if partition.number == 1:
        die()
    return work(files, partition, *more)


class DyingOnce(Processes):
    """One of these processes dies."""

    def work(self, part: Work) -> Work:
        return partial(dies_once, part)


class DyingAlways(Processes):
    """One part is too much for them."""

    def work(self, part: Work) -> Work:
        return partial(dies_always, part)


def has_no_memory(work: Work, files: Sequence[str], partition: Partition, *more: Any) -> Any:
    """No part gets the memory that it asks for, which Python tells."""
    limit = Path("/proc/self/statm").read_text().split()[0]
    resource.setrlimit(resource.RLIMIT_AS, (int(limit) * resource.getpagesize(),) * 2)
    return work(files, partition, *more, np.zeros(1 << 30))


class WithoutMemory(Processes):
    """These processes get no more memory than they have."""

    def work(self, part: Work) -> Work:
        return partial(has_no_memory, part)


class DyingOnDask(Dask):
    """One of Dask's workers dies."""

    def work(self, part: Work) -> Work:
        return partial(dies_once, part)


class DyingOnRay(Ray):
    """One of Ray's workers dies."""

    def work(self, part: Work) -> Work:
        return partial(dies_once, part)
