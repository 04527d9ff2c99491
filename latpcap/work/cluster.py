"""A cluster that somebody else has started: whether it is there, and its workers have this latpcap."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, TypeVar
from urllib.parse import urlsplit

from latpcap.errors import LatpcapError, ServerUnreachable, UsageError

T = TypeVar("T")

MAX_CONNECT_S = 5


def reach(address: str, what: str) -> None:
    """Raise `ServerUnreachable` where nobody listens at `[scheme://]host:port`."""
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        if place.hostname is None or place.port is None:
            raise ValueError("an address is host:port")
        socket.create_connection((place.hostname, place.port), MAX_CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise ServerUnreachable(f"{address}: no {what} answers: {why(error)}") from None


def why(error: BaseException) -> str:
    """The first line of what went wrong."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"nothing that it understands in {MAX_CONNECT_S} s"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@contextmanager
def silence_stderr() -> Iterator[None]:
    """Drop what libraries say on standard error meanwhile: what goes wrong is told once, by latpcap."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def with_worker_name(worker: Callable[[], str], part: Callable[..., T], *args: Any) -> T:
    """Return the result of `part`; an error names the worker, since another one may see what this one does not."""
    try:
        return part(*args)
    except LatpcapError as error:
        error.args = (f"worker {worker()}: {error}", *error.args[1:])
        raise


def check(found: Mapping[str, str | BaseException]) -> None:
    """Refuse workers that have another latpcap, or none, by what each told of its version."""
    ours = version("latpcap")
    for worker, theirs in found.items():
        if theirs != ours:
            has = f"latpcap {theirs}" if isinstance(theirs, str) else f"no latpcap ({why(theirs)})"
            raise UsageError(f"{worker}: has {has}, and here is {ours}: install the same on all workers")
