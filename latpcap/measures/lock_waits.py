"""Which exchanges waited for a lock that another connection held: the server's time, but no work of it.

The capture shows no locks. It shows statements that failed for a conflict (a deadlock, a lock time-out), and others
that were answered right when another connection's transaction was over or had failed so, more often than by chance.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.measures.budget import BudgetTimeline
from latpcap.measures.errors import Failures
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

CONFLICT = "conflict"
"""The category of failures that are due to a lock of another transaction."""
REFUSALS = frozenset(("40001", "3058", "3101", "3960", "3961", "41302", "41305", "41325"))
"""Codes of conflicts that are found when a transaction is checked, not by waiting for a lock."""
MAX_HOLDER_SHARE = 0.5
"""An end that took a larger share of the waiter's time ended with it: a disk wrote the logs of both."""
MIN_WAIT_NS = 10_000_000
"""A shorter answer may be the server's work."""
MAX_LAG_NS = 1_000_000
"""A waiting statement is answered so soon before or after what it waited for."""
MIN_WAITS = 3
MIN_TIMES_CHANCE = 3.0
"""Waits that end with a transaction are believed from so many on, and so many times what chance explains."""


class LockWaits(Struct, frozen=True):
    """The exchanges that waited for a lock."""

    rows: Ints
    seconds: float
    """The part of the server's time that lock waits took."""
    conflicts: int
    """How many of them failed."""

    def is_most_of(self, service_s: float) -> bool:
        """Most of the server's time was spent so."""
        return self.seconds > service_s / 2


def lock_waits(recording: Recording, timeline: BudgetTimeline, failures: Failures) -> LockWaits:
    """Find the waits for locks: by conflicts that failed, and by answers right at another transaction's end."""
    exchanges = recording.exchanges
    answered = exchanges.response != MISSING
    long = answered & (timeline.own_service_ns >= MIN_WAIT_NS) & (exchanges.round_trips > 0) & ~exchanges.is_setup
    conflicts = failures.rows[failures.category.where(CONFLICT.__eq__) & failures.code.where(_is_of_lock)]
    conflicts = conflicts[long[conflicts]]
    conflicts = conflicts if len(conflicts) >= MIN_WAITS else conflicts[:0]
    by_statement = exchanges.is_execution & exchanges.kind.where("end".__eq__)
    ends = np.flatnonzero(answered & ~exchanges.failed & (exchanges.is_for("end") | by_statement))
    long[np.concatenate((ends, conflicts))] = False
    waits = np.flatnonzero(long)
    behind_conflict, _ = _answered_with(recording, timeline, waits, conflicts)
    behind_end, by_chance = _answered_with(recording, timeline, waits, ends)
    believed = len(behind_end) >= max(MIN_WAITS, MIN_TIMES_CHANCE * by_chance)
    rows = passes.occurring(np.concatenate((conflicts, behind_conflict, behind_end if believed else behind_end[:0])))
    return LockWaits(rows, float(timeline.service_ns[rows].sum()) / 1e9, len(conflicts))


def _is_of_lock(code: str) -> bool:
    return code.partition(" ")[0] not in REFUSALS


def _answered_with(recording: Recording, timeline: BudgetTimeline, waits: Ints, others: Ints) -> tuple[Ints, float]:
    """The `waits` that were answered together with one of `others` on another connection to their server.

    And how many would be by chance.
    """
    exchanges, server = recording.exchanges, recording.connections.server.codes
    others = others[np.argsort(exchanges.response[others], kind="stable")]
    at = exchanges.response[others]
    over = exchanges.response[waits]
    nearest = np.minimum(np.searchsorted(at, over - MAX_LAG_NS), max(len(at) - 1, 0))
    if not len(at) or not len(waits):
        return waits[:0], 0.0
    here, there = exchanges.connection[waits], exchanges.connection[others[nearest]]
    together = (np.abs(at[nearest] - over) <= MAX_LAG_NS) & (here != there) & (server[here] == server[there])
    service_ns = timeline.own_service_ns[waits]
    together &= exchanges.failed[others[nearest]] | (
        timeline.own_service_ns[others[nearest]] <= MAX_HOLDER_SHARE * service_ns
    )
    meanwhile = np.searchsorted(at, over) - np.searchsorted(at, over - service_ns)
    chance = np.minimum(meanwhile * 2 * MAX_LAG_NS / service_ns, 1.0)
    return waits[together], float(chance.sum())
