"""Scope of a recording: ports, servers, or those that a process talks to; as a capture filter, in words, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.live.processes import servers_of
from latpcap.live.routes import interfaces_to
from latpcap.live.server import MAX_LOOKUP_S, Server, addresses
from latpcap.units import ranges


class Watched(Struct, frozen=True):
    """The scope of a recording."""

    capture_filter: str
    text: str
    """The scope in words."""
    ports: tuple[int, ...]
    interfaces: tuple[str, ...] = ()
    """The traffic's interfaces; empty if unknown."""


def watched(ports: Sequence[int] = (), servers: Sequence[str] = (), pid: int | None = None) -> Watched:
    """The scope of these options; without any the usual ports of databases.

    Raises `UsageError` and, where a name is not known, `ServerUnreachable`.
    """
    named = [Server.of(text) for text in servers]
    if pid is not None:
        if ports or named:
            raise UsageError("--pid finds the servers: leave out --port and --server")
        named = servers_of(pid)
        if not named:
            why = f"process {pid} and its children have no connection yet"
            return _of_usual_ports(f"the usual ports of databases, as {why}")
    if not ports and not named:
        return _of_usual_ports("the usual ports of databases")
    hosts = {server: [each.host.partition("%")[0] for each in addresses(server, MAX_LOOKUP_S)] for server in named}
    parts = [f"tcp port {port}" for port in ports]
    parts += [f"(tcp port {server.port} and ({_any_host(at)}))" for server, at in hosts.items()]
    texts = [*(f"TCP port {port}" for port in ports), *map(str, named)]
    reached = [address for at in hosts.values() for address in at]
    all_ports = (*ports, *(server.port for server in named))
    return Watched(" or ".join(parts), ", ".join(texts), all_ports, () if ports else interfaces_to(reached))


def _any_host(hosts: Iterable[str]) -> str:
    return " or ".join(f"host {host}" for host in hosts)


def _of_usual_ports(text: str) -> Watched:
    ports = usual_ports()
    return Watched(" or ".join(f"tcp port {port}" for port in ports), f"{text} ({ranges(ports)})", tuple(ports))


def usual_ports() -> list[int]:
    """The ports that servers of the protocols which latpcap reads usually have."""
    from latpcap._core import protocol_on

    return [port for port in range(1, 1 << 16) if protocol_on(port)]
