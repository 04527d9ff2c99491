"""Dask's workers: a cluster within this machine, or the one of a scheduler somewhere."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

from latpcap.errors import ServerUnreachable, UsageError
from latpcap.work import cluster
from latpcap.work.local import without_ctrl_c

T = TypeVar("T")

SILENT_LEVEL = logging.CRITICAL + 1
"""A failure is reported once, by latpcap."""


class Dask:
    """`scheduler` is an address (`tcp://host:8786`); without it so many processes of this machine."""

    def __init__(self, count: int, scheduler: str | None = None) -> None:
        self._count = count
        self._scheduler = scheduler

    def work(self, part: Callable[..., T]) -> Callable[..., T]:
        """As it is; workers that somebody else has started are named where it goes wrong."""
        return part if self._scheduler is None else partial(cluster.with_worker_name, _address, part)

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """Dask has done the part again already, by other workers, as often as its own configuration says."""
        from distributed import KilledWorker

        return (KilledWorker,)

    @contextmanager
    def workers(self) -> Iterator[Executor]:
        """The cluster's; what was asked of them is taken back in the end."""
        with _distributed().utils.silence_logging_cmgr(SILENT_LEVEL):
            client = _of_this_machine(self._count) if self._scheduler is None else _of_scheduler(self._scheduler)
            try:
                with client.get_executor(pure=False) as executor:
                    try:
                        yield executor
                    except BaseException:
                        executor.shutdown(wait=False)  # takes back what is not done
                        raise
            except CancelledError:  # nobody here has cancelled anything
                where = self._scheduler or "this machine"
                raise ServerUnreachable(f"{where}: the Dask scheduler has gone: nothing is kept") from None
            finally:
                client.close()
                if client.cluster is not None:
                    client.cluster.close()


def _of_this_machine(count: int) -> Any:
    distributed, cluster_here = _distributed(), None
    settings = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": SILENT_LEVEL}
    try:
        with without_ctrl_c():
            cluster_here = distributed.LocalCluster(n_workers=count, **settings)
        return distributed.Client(cluster_here)
    except BaseException:
        if cluster_here is not None:
            cluster_here.close()
        raise


def _of_scheduler(address: str) -> Any:
    distributed = _distributed()
    try:
        distributed.utils.LoopRunner().run_sync(_shake_hands, distributed, address)
        client = distributed.Client(address, timeout=cluster.MAX_CONNECT_S)
    except (OSError, ValueError) as error:
        raise ServerUnreachable(f"{address}: no Dask scheduler answers: {cluster.why(error)}") from None
    try:
        client.wait_for_workers(1, timeout=cluster.MAX_CONNECT_S)
        cluster.check(client.run(version, "latpcap", on_error="return"))
    except TimeoutError:
        client.close()
        raise ServerUnreachable(f"{address}: the Dask scheduler has no workers: start some, and scan again") from None
    except BaseException:
        client.close()
        raise
    return client


async def _shake_hands(distributed: Any, scheduler: str) -> None:
    """Raise `OSError` where somebody else listens there: a client waits for them for ever."""
    shaken = distributed.comm.connect(scheduler, timeout=cluster.MAX_CONNECT_S)
    comm = await asyncio.wait_for(shaken, cluster.MAX_CONNECT_S)
    comm.abort()


def _address() -> str:
    """Return this worker's address."""
    address: str = _distributed().get_worker().address
    return address


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise UsageError('Dask is not installed: pip install "latpcap[dask]"') from None
    return distributed
