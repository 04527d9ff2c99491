"""The rows to rank, and their order."""

from __future__ import annotations

from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.measures.options import IDLE_S
from latpcap.units import MAX_MS

RANK_BY = ("server", "application", "driver", "route", "client", "user", "database", "task", "connection")
RANK_SORTS = {
    "added": "added_s",
    "share": "share_per_ms",
    "seconds": "seconds_per_ms",
    "round-trips": "round_trips",
}
DEFAULT_RTT_MS = 15.0
"""Runtimes are projected to this RTT by default."""


class RankOrder(Struct, frozen=True):
    """The rows to rank, by what, and the RTT to project onto; raises `UsageError`."""

    by: str | None = None
    """One of `RANK_BY`; `None` for files."""
    sort: str = "added"
    rtt_ms: float = DEFAULT_RTT_MS
    idle_s: float = IDLE_S

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in RANK_BY:
            raise UsageError(f"nothing is ranked by `{self.by}`: there are {', '.join(RANK_BY)}")
        if self.sort not in RANK_SORTS:
            raise UsageError(f"nothing is sorted by `{self.sort}`: there are {', '.join(RANK_SORTS)}")
        if not all(0 <= value <= MAX_MS for value in (self.rtt_ms, self.idle_s * 1000)):
            raise UsageError(f"an RTT and a rest are 0 or more, and no more than {MAX_MS:g} ms")
