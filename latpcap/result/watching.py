"""The sums of a recording that is still under way, without a verdict."""

from __future__ import annotations

from msgspec import Struct


class WaitedFor(Struct, frozen=True):
    """The cost of one statement so far."""

    text: str
    """Its fingerprint; empty for those that had no room of their own."""
    executions: int
    round_trips: int
    waited_s: float


class WatchedSoFar(Struct, frozen=True):
    """The traffic seen so far."""

    seconds: float
    packets: int
    connections: int
    executions: int
    round_trips: int
    waited_s: float
    """For first packets of responses, the waits of all connections together."""
    errors: int
    round_trips_per_s: float | None
    """The latest rate; `None` while too little time has passed to tell."""
    worst: tuple[WaitedFor, ...]
    """Statements that were waited for longest, the longest first."""

    @property
    def per_ms_s(self) -> float:
        """Seconds that a further millisecond of RTT would have added so far, one after the other."""
        return self.round_trips / 1000

    @property
    def per_ms_share(self) -> float | None:
        """Return the part of the time that a further millisecond adds at the present rate."""
        return None if self.round_trips_per_s is None else self.round_trips_per_s / 1000
