"""A cluster that somebody else has started: whether it is there, and its workers have this latpcap."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from urllib.parse import urlsplit

from latpcap.errors import ServerUnreachable, UsageError

__all__ = ["CONNECT_S", "check", "reach", "unheard", "why"]

CONNECT_S = 5


def reach(address: str, what: str) -> None:
    """Raise `ServerUnreachable` where nobody listens at `[scheme://]host:port`."""
    try:
        place = urlsplit(address if "://" in address else f"//{address}")
        if place.hostname is None or place.port is None:
            raise ValueError("an address is host:port")
        socket.create_connection((place.hostname, place.port), CONNECT_S).close()
    except (OSError, ValueError) as error:
        raise ServerUnreachable(f"{address}: no {what} answers: {why(error)}") from None


def why(error: BaseException) -> str:
    """The first line of what went wrong."""
    if isinstance(error, TimeoutError) and not str(error):
        return f"nothing that it understands in {CONNECT_S} s"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@contextmanager
def unheard() -> Iterator[None]:
    """What libraries say on standard error meanwhile goes nowhere: what goes wrong is told once, by latpcap."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def check(found: Mapping[str, str | BaseException]) -> None:
    """Refuse workers that have another latpcap, or none, by what each told of its version."""
    ours = version("latpcap")
    for worker, theirs in found.items():
        if theirs != ours:
            has = f"latpcap {theirs}" if isinstance(theirs, str) else f"no latpcap ({why(theirs)})"
            raise UsageError(f"{worker}: has {has}, and here is {ours}: install the same on all workers")
