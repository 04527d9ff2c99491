"""Ray's workers: processes of this machine, or those of a cluster somewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any, ParamSpec, TypeVar

from latpcap.errors import ServerUnreachable, UsageError
from latpcap.work import cluster

P = ParamSpec("P")
T = TypeVar("T")


class Ray:
    """`address` is that of a cluster (`host:6379`, `ray://host:10001`); without it so many processes here."""

    def __init__(self, count: int, address: str | None = None) -> None:
        self._count = count
        self._address = address

    def work(self, part: Callable[..., T]) -> Callable[..., T]:
        """As it is; workers that somebody else has started are named where it goes wrong."""
        return part if self._address is None else partial(cluster.with_worker_name, _node, part)

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """Ray has done the part again already, three times, by other workers."""
        from ray.exceptions import NodeDiedError, OutOfMemoryError, WorkerCrashedError

        return (NodeDiedError, OutOfMemoryError, WorkerCrashedError)

    @contextmanager
    def workers(self) -> Iterator[Executor]:
        """The cluster's; what was asked of them ends with the connection."""
        ray = _ray(self._address)
        try:
            self._begin(ray)
            if self._address is not None:
                cluster.check(_versions(ray))
            with _Tasks(ray) as executor:
                yield executor
        finally:
            ray.shutdown()

    def _begin(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "configure_logging": False}
        if self._address is None:
            with cluster.silence_stderr():
                ray.init(address="local", num_cpus=self._count, include_dashboard=False, **quiet)
            return
        cluster.reach(self._address, "Ray cluster")
        try:
            with cluster.silence_stderr():
                ray.init(address=self._address, **quiet)
        except Exception as error:
            raise ServerUnreachable(
                f"{self._address}: no Ray cluster answers: {cluster.why(error)} "
                "(a cluster that asks for a token: set RAY_AUTH_MODE=token)"
            ) from None


class _Tasks(Executor):
    """Each call is a task of Ray's."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def submit(self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> Future[T]:
        """A future that raises what the work raised, as it did."""
        told: Future[T] = Future()
        task = self._ray.remote(_call).remote(work, args, named).future()
        task.add_done_callback(lambda done: _tell(done, told))
        return told


def _call(work: Callable[..., T], args: tuple[Any, ...], named: dict[str, Any]) -> T:
    """Ray calls functions, and nothing else that can be called."""
    return work(*args, **named)


def _tell(done: Future[T], told: Future[T]) -> None:
    error = done.exception()
    if error is None:
        told.set_result(done.result())
    else:
        told.set_exception(_cause(error))


def _cause(error: BaseException) -> BaseException:
    """Return what the work raised, if Ray tells of it."""
    return getattr(error, "cause", None) or error


def _versions(ray: Any) -> dict[str, str | BaseException]:
    """Return each node's version."""
    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    on = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    asked = {
        f"{address} ({node[:8]})": ray.remote(version).options(num_cpus=0, scheduling_strategy=on(node, soft=False))
        for node, address in nodes.items()
    }
    return {node: _answer(ray, task.remote("latpcap")) for node, task in asked.items()}


def _answer(ray: Any, task: Any) -> str | BaseException:
    try:
        found: str = ray.get(task)
    except Exception as error:
        return _cause(error)
    return found


def _node() -> str:
    """The address of the node that this is."""
    ray: Any = import_module("ray")
    address: str = ray.util.get_node_ip_address()
    return address


SETTINGS = {
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # what goes wrong is told once, by latpcap
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else a warning about GPUs that nobody asks for
}
PATIENCE = {"RAY_NUM_REDIS_GET_RETRIES": "1", "RAY_py_gcs_connect_timeout_s": str(cluster.MAX_CONNECT_S)}
"""The retries of whoever connects to a cluster: else giving up takes a quarter of an hour."""


def _ray(address: str | None) -> Any:
    for name, value in (SETTINGS | ({} if address is None else PATIENCE)).items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError('Ray is not installed: pip install "latpcap[ray]"') from None
    return ray
