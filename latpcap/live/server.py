"""Which server is meant: `db.example:5432`, `10.0.0.5:5432`, `[fd00::1]:5432`, and at which address it is."""

from __future__ import annotations

import queue
import re
import socket
import threading
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from msgspec import Struct

from latpcap.errors import ServerUnreachable, UsageError

WRITTEN = re.compile(r"(?:\[(?P<bracketed>[^\]\s]+)\]|(?P<host>[^:\[\]\s]+)):(?P<port>[0-9]{1,5})")

MAX_LOOKUP_S = 10.0
"""A name is resolved within this time, or not at all."""


class Server(Struct, frozen=True):
    """A host, by its name or its address, and a port."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> Server:
        """Parse `text`; raises `UsageError`.

        >>> Server.of("db.example:5432"), str(Server.of("[fd00::1]:3306"))
        (Server(host='db.example', port=5432), '[fd00::1]:3306')
        """
        found = WRITTEN.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None or not 0 < int(found["port"]) < 65536:
            raise UsageError(f"`{text}` is not HOST:PORT: write db.example:5432, 10.0.0.5:3306 or [fd00::1]:5432")
        return cls(found["bracketed"] or found["host"], int(found["port"]))

    def __str__(self) -> str:
        return written(self.host, self.port)


def written(host: str, port: int) -> str:
    """An endpoint as tables hold it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Address(Struct, frozen=True):
    """One of the addresses of a server, as sockets take it."""

    family: int
    at: Any

    @property
    def host(self) -> str:
        """The address itself."""
        return str(self.at[0])

    @property
    def port(self) -> int:
        """Its port."""
        return int(self.at[1])

    @property
    def ip(self) -> IPv4Address | IPv6Address:
        """The address as a number; on which link it is, is left out."""
        return ip_address(self.host.partition("%")[0])

    @property
    def is_here(self) -> bool:
        """Whether it is one of this machine's: only then a socket can have it."""
        with socket.socket(self.family, socket.SOCK_DGRAM) as tried:
            try:
                tried.bind((self.host, 0, *self.at[2:]))
            except OSError:
                return False
        return True

    def __str__(self) -> str:
        return written(self.host, self.port)


def addresses(server: Server, seconds: float) -> list[Address]:
    """All addresses of a server, in the order in which clients try them; what looks them up may be slow."""
    found: queue.SimpleQueue[list[Address] | OSError] = queue.SimpleQueue()
    threading.Thread(target=lambda: found.put(_looked_up(server)), daemon=True).start()
    try:
        answer = found.get(timeout=seconds)
    except queue.Empty:
        raise ServerUnreachable(f"{server.host}: the name was not resolved within {seconds:.3g} s") from None
    if isinstance(answer, OSError):
        why = answer.strerror or str(answer)
        raise ServerUnreachable(f"{server.host}: the name cannot be resolved ({why}): check it, or give the address")
    return answer


def _looked_up(server: Server) -> list[Address] | OSError:
    try:
        found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM)
    except UnicodeError:
        return OSError("it is not a host name")
    except OSError as error:
        return error
    return list({at: Address(family, at) for family, _, _, _, at in found}.values())
