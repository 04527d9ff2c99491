"""Waits for what a server pushes (LISTEN/NOTIFY): the client neither works nor thinks, it waits for an event.

Between its last answer and a request that follows a push, a client waited until the push came; what it did then is its
own. Who waits for pushes: `core/src/job/notifications.rs`.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.measures.budget import BudgetTimeline
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

MIN_PUSHES = 3
"""Requests behind a push that tell that a connection waits for pushes."""
MIN_WAITED_SHARE = 0.5
"""The share of the time since its last answers that such a connection had waited when the pushes came."""

MAX_TRIPS_PER_PUSH = 3
"""A connection with more round trips than so many for each push has work of its own."""


class PushWaits(Struct, frozen=True):
    """How long nothing else went on but waits for pushes: in pauses of client time, and of think time."""

    client_s: float = 0.0
    think_s: float = 0.0


def push_waits(recording: Recording, timeline: BudgetTimeline) -> PushWaits:
    """Add up the time in which connections waited for pushes and no exchange was under way."""
    exchanges = recording.exchanges
    since_push = recording.exchange_column("since_push_ns").ints(0)
    rows = np.flatnonzero((since_push > 0) & (exchanges.request != MISSING) & (exchanges.client != MISSING))
    if not len(rows):
        return PushWaits()
    connection, gaps, since = exchanges.connection[rows], exchanges.client[rows], since_push[rows]
    count = len(recording.connections)
    pushes, gap_ns, since_ns = (np.bincount(connection, of, count) for of in (None, gaps, since))
    listens = (pushes >= MIN_PUSHES) & (since_ns <= (1 - MIN_WAITED_SHARE) * gap_ns)
    rows, hears = rows[listens[connection]], listens
    if not len(rows):
        return PushWaits()
    asked = exchanges.request[rows]
    begins, ends = _joined(asked - exchanges.client[rows], asked - since_push[rows])
    under_way = np.flatnonzero((exchanges.request != MISSING) & (exchanges.round_trips > 0))
    over = np.maximum(exchanges.request_end[under_way], exchanges.response_end[under_way])
    trips = np.bincount(exchanges.connection[under_way], minlength=count)
    works = ~hears & (trips > MAX_TRIPS_PER_PUSH * len(rows))  # beside what pushes, which rests in between
    works = works[exchanges.connection[under_way]] & (exchanges.client[under_way] != MISSING)
    before = np.where(works, np.maximum(exchanges.client[under_way], 0), 0)
    busy = _joined(exchanges.request[under_way] - before, over)
    thinks = ends - begins > timeline.think_above_s * 1e9
    idle_ns = np.maximum(ends - begins - _covered(busy, ends) + _covered(busy, begins), 0)
    return PushWaits(float(idle_ns[~thinks].sum()) / 1e9, float(idle_ns[thinks].sum()) / 1e9)


def _joined(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The stretches of time that the intervals cover, none of which overlaps another.

    >>> [edge.tolist() for edge in _joined(np.array([5, 0, 1]), np.array([7, 3, 2]))]
    [[0, 5], [3, 7]]
    """
    if not len(begins):
        return begins, ends
    order = np.argsort(begins, kind="stable")
    begins, reach = begins[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], begins[1:] > reach[:-1]))
    return begins[first], reach[np.concatenate((np.flatnonzero(first)[1:] - 1, [len(begins) - 1]))]


def _covered(stretches: tuple[Ints, Ints], until: Ints) -> Ints:
    """How much of the time before each of `until` the stretches cover.

    >>> _covered((np.array([0, 5]), np.array([3, 7])), np.array([2, 4, 6, 9])).tolist()
    [2, 3, 4, 5]
    """
    begins, ends = stretches
    if not len(begins):
        return np.zeros(len(until), np.int64)
    whole = np.concatenate(([0], np.cumsum(ends - begins)))
    last = np.searchsorted(begins, until, side="right") - 1
    at = np.maximum(last, 0)
    partly = np.minimum(until, ends[at]) - begins[at]
    return np.where(last >= 0, whole[at] + np.maximum(partly, 0), 0)
