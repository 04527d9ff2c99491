"""The waits for the network, how many and how long: the figures that a sentence about its cost consists of."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from latpcap.units import counted, format_ms, format_s

MAX_SHARED_RATIO = 0.98
"""Waits overlap if together they take less than this share of their sum."""


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
    """The network's time at the two ends of the baselines' ranges."""
    baselines_ms: tuple[float, float] | None
    """The least and the largest baseline among them; `None` where nothing waited."""

    @property
    def count(self) -> int:
        """All of them."""
        return self.round_trips + self.handshakes + self.greetings + self.hang_ups

    @property
    def overlap(self) -> bool:
        """Some of them run at the same time."""
        return self.shared_s < MAX_SHARED_RATIO * self.alone_s

    @property
    def mean_ms(self) -> float:
        """The length of one."""
        return 1000 * self.alone_s / self.count if self.count else 0.0

    def counts(self, round_trips: int) -> str:
        """Return how many waits there are, by their kinds; `round_trips` counts those whose time is unknown, too."""
        trips = counted(round_trips, "round trip")
        if 0 < self.round_trips < round_trips:
            trips = f"{self.round_trips:,} of {trips}"
        things = {
            trips: round_trips,
            counted(self.handshakes, "TCP handshake"): self.handshakes,
            counted(self.greetings, "greeting"): self.greetings,
            counted(self.hang_ups, "wait for the server's FIN", "waits for the server's FIN"): self.hang_ups,
        }
        return " + ".join(thing for thing, count in things.items() if count)

    def text(self, round_trips: int) -> str:
        """Return how many waits, how long each, and their time: the product of the first two is the third.

        >>> Waits(1_003, 1, 1, 0, 1.005, 1.005, (0.9, 1.1), (1.0, 1.0)).text(1_003)
        '1,003 round trips + 1 TCP handshake + 1 greeting, 1.00 ms each: 1.00 s'
        >>> Waits(18, 0, 0, 0, 0.09, 0.03, (0.03, 0.03), (1.0, 9.0)).text(20)
        '18 of 20 round trips, 5.00 ms each on average (RTTs 1.00 to 9.00 ms): 90.0 ms, in parallel 30.0 ms'
        """
        overlap = f", in parallel {format_s(self.shared_s)}" if self.overlap else ""
        return f"{self.counts(round_trips)}, {self._each()}: {format_s(self.alone_s)}{overlap}"

    def _each(self) -> str:
        """Return how long each was: the RTT, or an average where some connections are nearer or some waits shorter."""
        mean = format_ms(self.mean_ms)
        least, most = map(format_ms, self.baselines_ms or (math.nan, math.nan))
        if mean == least == most:
            return f"{mean} each"
        rtts = f"RTT {most}" if least == most else f"RTTs {least.removesuffix(most[most.index(' ') :])} to {most}"
        return f"{mean} each on average ({rtts})"

    @classmethod
    def of(
        cls, counts: tuple[int, int, int, int], nanoseconds: Sequence[float], baselines_ns: Sequence[float] | None
    ) -> Waits:
        """Return the waits as the core has them (`core/src/job/timed.rs`)."""
        alone_s, shared_s, low_s, high_s = (each / 1e9 for each in nanoseconds)
        baselines_ms = None if baselines_ns is None else (baselines_ns[0] / 1e6, baselines_ns[1] / 1e6)
        return cls(*counts, alone_s, shared_s, (low_s, high_s), baselines_ms)
