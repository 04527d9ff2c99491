"""The settings of a result, so that whoever reads it can get it again."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from latpcap.units import counted, format_given_ms

DEFAULT_THINK_S = 1.0
"""Client time above this is think time by default."""


class KeysUsed(Struct, frozen=True):
    """The effect of the given keys: nothing more is ever told of them."""

    connections: int
    """That speak TLS."""
    opened: int
    """The number of these that were read."""


class Settings(Struct, frozen=True):
    """How the captures were read."""

    think_s: float = DEFAULT_THINK_S
    rtt_baseline_ms: float | None = None
    """`None`: as measured."""
    decode_as: dict[str, str] = field(default_factory=dict)
    """The protocol of a server port, where one was given."""
    keys: KeysUsed | None = None
    """`None`: there were none, neither beside the captures nor in them."""

    @property
    def text(self) -> str:
        """Describe what is not as usual; empty where all is.

        >>> Settings(2.5, 1.0, {"3307": "mysql"}).text
        'think time above 2.5 s, a baseline RTT of 1 ms, port 3307 as mysql'
        """
        return ", ".join(self._unusual())

    def _unusual(self) -> Iterator[str]:
        if self.think_s != DEFAULT_THINK_S:
            yield f"think time above {format_given_ms(self.think_s * 1000)}"
        if self.rtt_baseline_ms is not None:
            yield f"a baseline RTT of {format_given_ms(self.rtt_baseline_ms)}"
        for port, protocol in self.decode_as.items():
            yield f"port {port} as {protocol}"
        if self.keys is not None:
            yield f"keys, which open {self.keys.opened:,} of {counted(self.keys.connections, 'TLS connection')}"
