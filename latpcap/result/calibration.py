"""How far away a server is, measured without a capture."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from latpcap.display import Displayed
from latpcap.units import RttIs


class Series(Struct, frozen=True):
    """Measurements of one kind, in ms."""

    name: str
    """The measurement: `TCP handshake`, `data → its acknowledgment`, `greeting`, …"""
    count: int
    min_ms: float
    median_ms: float
    max_ms: float
    deviation_ms: float
    """The standard deviation."""


class HostRest(Struct, frozen=True):
    """How much later this host answers after a rest."""

    rest_ms: float
    extra_ms: float
    """The extra time of a round trip within it, beyond one without a rest."""


class Calibration(Displayed, Struct, frozen=True):
    """The RTT to a server, where it comes from, and the options that say so to a projection."""

    schema = "latpcap.calibration/1"
    json_fields: ClassVar = (
        *("server", "address", "addresses", "protocol", "connections", "rtt_ms", "low_ms", "high_ms", "rtt_is"),
        *("jitter_ms", "options", "method", "reason", "series", "wake_up_ms", "pause_ms", "rests"),
        *("path_mtu", "mss", "notes", "program"),
    )

    server: str
    """As it was asked for."""
    address: str
    """The address that answered."""
    addresses: int
    """How many addresses the name has."""
    protocol: str | None
    """The protocol that the server proved to speak; null if none was tried, or the answer was another."""
    connections: int
    """How many were made."""
    rtt_ms: float
    low_ms: float
    high_ms: float
    rtt_is: RttIs
    """The RTT's kind for `--rtt-is`."""
    jitter_ms: float
    """How far the RTT deviates, rare freezes left out."""
    is_uneven: bool
    method: str
    """As that of a capture's baseline."""
    reason: str
    series: tuple[Series, ...]
    wake_up_ms: float | None
    """By how much a handshake after a pause was longer than one at once; null where too few were measured."""
    pause_ms: float
    rests: tuple[HostRest, ...]
    """How much later this host answers after rests of 0.2 to 50 ms; empty where it has no loopback."""
    path_mtu: int | None
    """As far as the system knows: nothing large was sent."""
    mss: int | None
    """The most data of one segment."""
    notes: tuple[str, ...] = ()
    """Unusual observations: a line each."""
    program: str = ""
    """`latpcap` and its version."""

    @property
    def options(self) -> str:
        """Options of `latpcap project` for a target that is as far away as this server."""
        jitter = f" --jitter {_written(self.jitter_ms)}" if self.is_uneven else ""
        return f"--rtt {_written(self.rtt_ms)} --rtt-is {self.rtt_is}{jitter}"


def _written(milliseconds: float) -> str:
    """A duration as options take it: microseconds below a tenth of a millisecond.

    >>> _written(15.0834), _written(0.0421), _written(0.5), _written(153.26)
    ('15.08ms', '42.1us', '0.5ms', '153.3ms')
    """
    return f"{milliseconds * 1000:.3g}us" if milliseconds < 0.1 else f"{milliseconds:.4g}ms"
