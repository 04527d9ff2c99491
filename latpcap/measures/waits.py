"""What waited for the network, how often and for how long: the figures that a sentence about its cost consists of."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Waits(Struct, frozen=True):
    """The waits whose time is known: captured whole, on connections with a baseline.

    `count` waits of `mean_ms` are `alone_s` one after the other; the runtime has `shared_s` of that, as some may run
    side by side.
    """

    round_trips: int
    handshakes: int
    greetings: int
    hang_ups: int
    """Waits for the server's FIN."""
    alone_s: float
    shared_s: float
    range_s: tuple[float, float]
    """The same at the two ends of the baselines' ranges."""
    baselines_ms: tuple[float, float] | None
    """The least and the largest baseline among them; `None` where nothing waited."""

    @property
    def count(self) -> int:
        """All of them."""
        return self.round_trips + self.handshakes + self.greetings + self.hang_ups

    @property
    def mean_ms(self) -> float:
        """The length of one."""
        return 1000 * self.alone_s / self.count if self.count else 0.0

    @classmethod
    def of(
        cls, counts: tuple[int, int, int, int], nanoseconds: Sequence[float], baselines_ns: Sequence[float] | None
    ) -> Waits:
        """As the core tells them (`core/src/job/timed.rs`)."""
        alone_s, shared_s, low_s, high_s = (each / 1e9 for each in nanoseconds)
        baselines_ms = None if baselines_ns is None else (baselines_ns[0] / 1e6, baselines_ns[1] / 1e6)
        return cls(*counts, alone_s, shared_s, (low_s, high_s), baselines_ms)
