"""Which endpoints are meant: `10.0.0.5`, `10.0.0.5:3306`, `:3306`, `10.0.0.0/24`, `fd00::1`, `[fd00::1]:3306`."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.units import port_number

PSEUDONYM = re.compile(r"(?:client|server|host)-\d+")
"""The pseudonym that `--pseudonymise` shows for an address."""
WRITTEN = re.compile(
    r"(?:\[(?P<bracketed>[^\]]*)\]|(?P<bare>[^:\[\]]*)|(?P<v6>[^\[\]]*:[^\[\]]*:[^\[\]]*))(?::(?P<port>\d+))?"
)
"""An IPv6 address without brackets has two colons at least, and its last part is no port."""


class Endpoints(Struct, frozen=True):
    """A host or a net, a port, or both."""

    network: IPv4Network | IPv6Network | None
    name: str | None
    """A pseudonym in the place of the address."""
    port: int | None

    @classmethod
    def of(cls, text: str) -> Endpoints:
        """Parse `text`; raises `UsageError`."""
        found = WRITTEN.fullmatch(text.strip())
        if not found or text.strip() in ("", ":"):
            raise _no_address(text)
        port = port_number(found["port"]) if found["port"] else None
        host = found["bracketed"] if found["bracketed"] is not None else (found["v6"] or found["bare"])
        if found["port"] and port is None:
            raise _no_address(text)
        if not host and port is not None and found["bracketed"] is None:
            return cls(None, None, port)
        if PSEUDONYM.fullmatch(host):
            return cls(None, host, port)
        try:
            return cls(ip_network(host, strict=False), None, port)
        except ValueError:
            raise _no_address(text) from None

    def matches(self, endpoint: str) -> bool:
        """`endpoint` (`10.0.0.5:3306`, `[fd00::1]:3306`, `server-1:3306`) is one of them.

        >>> [Endpoints.of(text).matches("10.0.0.5:3306") for text in ("10.0.0.0/24", ":3306", "10.0.0.5:3307")]
        [True, True, False]
        >>> [Endpoints.of(text).matches("[fd00::1]:3306") for text in ("fd00::1", "[fd00::1]:3306", "[fd00::]:3306")]
        [True, True, False]
        """
        host, port = _split(endpoint)
        if self.port is not None and self.port != port:
            return False
        if self.name is not None:
            return self.name == host
        address = _address(host)
        return self.network is None or (address is not None and address in self.network)


def _split(endpoint: str) -> tuple[str, int | None]:
    """Host and port of an endpoint as the tables hold it."""
    host, _, port = endpoint.rpartition(":")
    return host.strip("[]"), port_number(port)


def host_of(endpoint: str) -> str:
    """The host alone: the ports of a client differ from connection to connection.

    >>> host_of("10.0.0.5:3306"), host_of("[fd00::1]:3306")
    ('10.0.0.5', 'fd00::1')
    """
    return endpoint.rpartition(":")[0].strip("[]")


def is_loopback(host: str) -> bool:
    """Whether this is an address that no other machine reaches."""
    address = _address(host)
    return address is not None and address.is_loopback


@lru_cache(maxsize=4096)
def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address, an IPv4 one that IPv6 carries as what it is; `None` for a pseudonym."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _no_address(text: str) -> UsageError:
    return UsageError(
        f"`{text}` is not an address: write 10.0.0.5, 10.0.0.5:3306, :3306, 10.0.0.0/24 or [fd00::1]:3306 "
        "(a capture holds no host names)"
    )
