"""The kind of work of a job, told from its capture alone, and how often projections of such jobs held.

The kind decides how wide the range is (docs/model.md C.6), and which measured runs a projection is compared with.
`measured.json` is made by benchmarks/accuracy from those runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from msgspec import Struct, json
from numpy.typing import NDArray

from latpcap.measures.budget import BudgetTimeline
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording
from latpcap.units import percent

Work = Literal[
    "connect per query",
    "pipeline",
    "bulk",
    "parallel",
    "pool",
    "think time",
    "slow server",
    "cursor",
    "timing only",
    "stop and wait",
]
WORK: tuple[Work, ...] = get_args(Work)
Direction = Literal["longer", "shorter"]
Floats = NDArray[np.float64]

MEASURED = Path(__file__).with_name("measured.json")

MAJORITY = 0.5
"""Work is of a kind if at least this share of its round trips is for that."""
MIN_CONNECT_SHARE, MIN_CONNECTIONS = 1 / 3, 4
"""Each query has its own connection from this share of round trips and this many connections on."""
MIN_PIPELINED_SHARE = 0.5
"""Work is pipelined if at least this share of the requests is sent before the previous answer has come."""
MIN_WINDOW_ROUNDS = 0.1
"""Work moves bulk data if TCP's window has to grow at least this often per round trip."""
INITIAL_WINDOW_BYTES = 10 * 1448
"""The initial window carries this much without a further round trip (RFC 6928)."""
MIN_CONCURRENCY = 1.3
"""Work is parallel if at least this many round trips overlap on average."""
MIN_CONNECTIONS_PER_WORKER, MIN_POOL_CONNECTIONS = 1.5, 2.5
"""Connections for each that is busy: the others are free just then. Two may be two workers that never met."""
MIN_OWN_MS = 2.0
"""Client or server dominates work on a near network if it takes at least this for each round trip."""


class Shares(Struct, frozen=True):
    """Parts of a job's waiting, none of which depends on the RTT."""

    setup: float
    """The part of the round trips that connect, TCP handshakes among them."""
    unreadable: float
    fetches: float
    """The part that brings further rows, or pieces of a large value."""
    together: float
    """The part of the requests that share the round trip of another one."""
    window_rounds: float
    """How often TCP's window has to double, for each round trip."""
    connections: float
    """How many there are, each counted as much as it is used."""
    opened: int
    client_ms: float
    """The client's time for each round trip that counts, think time among it."""
    service_ms: float

    def work(self, at_once: float) -> Work:
        """The kind of work where so many round trips go side by side: the first that is so.

        >>> Shares(0.01, 0, 0.9, 0, 0, 1, 1, 0.1, 0.2).work(at_once=1)
        'cursor'
        >>> Shares(0.01, 0, 0.9, 0, 0, 8, 8, 0.1, 0.2).work(at_once=8)
        'parallel'
        """
        told: dict[Work, bool] = {
            "connect per query": self.setup >= MIN_CONNECT_SHARE and self.opened >= MIN_CONNECTIONS,
            "pipeline": self.together >= MIN_PIPELINED_SHARE,
            "bulk": self.window_rounds >= MIN_WINDOW_ROUNDS,
            "pool": self.connections >= max(MIN_CONNECTIONS_PER_WORKER * at_once, MIN_POOL_CONNECTIONS),
            "parallel": at_once >= MIN_CONCURRENCY,
            "think time": self.client_ms >= max(MIN_OWN_MS, self.service_ms),
            "slow server": self.service_ms >= MIN_OWN_MS,
            "cursor": self.fetches >= MAJORITY,
            "timing only": self.unreadable >= MAJORITY,
        }
        return next((work for work, so in told.items() if so), "stop and wait")


def shares(recording: Recording, timeline: BudgetTimeline) -> Shares:
    """Return the parts of the waiting of the recording's job."""
    exchanges, budget = recording.exchanges, timeline.budget
    trips: Floats = exchanges.round_trips.astype(float)
    all_trips, waited = max(float(timeline.round_trips.sum()), 1.0), max(float(trips.sum()), 1.0)
    counted = max(float(timeline.effective.sum()), 1.0)
    used: Floats = np.bincount(exchanges.connection, trips).astype(float)
    larger: Floats = np.maximum(exchanges.request_bytes, exchanges.response_bytes).astype(float)
    doublings = np.log2(np.maximum(larger / INITIAL_WINDOW_BYTES, 1))
    together = int(np.count_nonzero(exchanges.wait.where("shared".__eq__)))
    return Shares(
        setup=1 - float(trips[~exchanges.is_setup].sum()) / all_trips,
        unreadable=float(trips[exchanges.is_for("unreadable")].sum()) / waited,
        fetches=float(trips[_fetches(exchanges)].sum()) / waited,
        together=together / max(together + int(np.count_nonzero(trips)), 1),
        window_rounds=float(doublings.sum()) / all_trips,
        connections=float(used.sum()) ** 2 / max(float((used**2).sum()), 1.0),
        opened=len(recording.database_rows),
        client_ms=1000 * (budget.client_s + budget.think_s) / counted,
        service_ms=1000 * budget.service_s / counted,
    )


def _fetches(exchanges: Exchanges) -> NDArray[np.bool_]:
    """By a command or by SQL (FETCH), rows or pieces of a large value."""
    fetches: NDArray[np.bool_] = exchanges.is_for("fetch", "blob") | exchanges.kind.where("fetch".__eq__)
    return fetches


# --- what was measured ------------------------------------------------------------------------------------------------


class Coverage(Struct, frozen=True):
    """How often runs that were really made lay in the range of their projection."""

    pairs: int
    """Runs that were projected from another RTT."""
    inside: float
    """The part of them that lay between optimistic and pessimistic, 0 to 1."""


def coverage(work: Work, direction: Direction) -> Coverage | None:
    """Measured coverage of this kind of work at a longer or a shorter RTT; `None` where there is none."""
    found = _measured().get(work, {}).get(direction)
    return None if found is None else Coverage(found["pairs"], found["inside"] / found["pairs"])


def coverage_text(work: Work, direction: Direction) -> str:
    """Return how often the range held for this kind of work."""
    known = coverage(work, direction)
    if known is None:
        return f"The range is not validated: no test run of this kind was made at a {direction} RTT."
    return f"The range held for {percent(known.inside)} of {known.pairs:,} comparable test runs at a {direction} RTT."


@cache
def _measured() -> dict[str, dict[str, dict[str, int]]]:
    """By kind of work and direction."""
    return json.decode(MEASURED.read_bytes(), type=dict[str, dict[str, dict[str, int]]])
