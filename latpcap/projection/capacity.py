"""What more connections, or a shorter RTT, get out of the same hosts: what is busy at once slows each other down.

A worker's turn is away for a while (the network, pauses) and stays a while where it meets others: at the hosts, with
the server's and the client's processors, and at the locks of its transaction. The stay grows with those it meets,

```text
stay = first + each · others        rate ≤ 1 ÷ each, however many work
others = (workers − 1) · stay ÷ (away + stay)
```

(mean value analysis of a closed network: Reiser and Lavenberg 1980, with Schweitzer's approximation of 1979). Whether
hosts have a limit is a regression within the capture, of how long requests stayed over how many were there meanwhile;
where the limit is follows from how long they were busy for each (the utilisation law: Denning and Buzen 1978). Where no
limit shows, the range reaches from no gain at all to hosts without a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from latpcap.projection.job import ClientTimes, Replay
from latpcap.tables.recording import MISSING
from latpcap.units import counted, significant

__all__ = ["ClosedNetwork", "Limit", "Locks", "ServiceCenter", "crowd"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NS = 1e9
SHOWN = 0.5
"""A limit shows where twice as many at once stay longer by this power of two at least: 1 at the limit, 0 with room …"""
SIGMAS = 3.0
"""… by so many standard errors."""
TENDS = 0.5
"""The same power where a capture says nothing of it."""
PARTS = 8
FEWEST = PARTS + PARTS // 2
"""Intervals of each kind below which fewer than half of the parts have two: no slope is known."""
"""Parts of a capture of which each shows for itself how much longer stays become."""
LEAST = 0.82
"""Where a limit shows, what each other one adds is no less than this part of the central value."""
WORSE = 0.1, 0.34, 0.0
"""Hosts with too much to do lose up to this part of their rate (switches, collisions, cache misses), by `side` …"""
WORSE_LOCKS = 0.1, 0.28, 0.0
"""… and transactions that wait for each other this part."""
LONGEST = 0.995
"""Stays beyond this quantile are freezes."""
UNSEEN = 3.0
"""So many times in all, what was never seen may happen (the rule of three: with 95 % confidence)."""
LEAST_WAITS = 10
"""Waits for one kind of lock."""
LOCK_STRAYS = 1.05, 1.1
"""How long locks are held is known within these factors, downwards and upwards."""


class Limit(Struct, frozen=True):
    """What the capture says of a limit to how much more connections get done."""

    kind: Literal["hosts", "locks", "none"]
    per_s: float | None
    """Requests that are answered in a second at most, or transactions of which each holds a lock; `None`: unknown."""
    low: float | None
    high: float | None
    text: str


NO_LIMIT = Limit(
    *("none", None, None, None),
    "The capture shows no limit of the hosts or of locks, so none is known: the range reaches from no gain at all to "
    "full scaling.",
)


class ServiceCenter(Struct, frozen=True):
    """Where turns meet: how long each stays there, by how many others are there."""

    count: int
    """Turns of the capture."""
    stay_s: float
    """The mean of the capture."""
    each_s: float
    """How much longer each other one made that …"""
    least_s: float
    most_s: float
    """… and the range of this."""
    shown: bool
    """The capture shows that there is a limit."""

    def each(self, side: int) -> float:
        """What each other one adds: as measured, or at the optimistic (-1) or the pessimistic (1) end."""
        return (self.each_s, self.most_s, self.least_s)[side]


class Locks(Struct, frozen=True):
    """The locks that transactions hold over round trips."""

    count: int
    """Transactions."""
    held_s: float
    round_trips: float
    """How many of them pass while a lock is held …"""
    others: float
    """… and how many before and after that, in each transaction."""
    waited_s: float
    """What a transaction waited for locks."""
    share: float
    """The chance that two want the same lock …"""
    most: float
    """… and what it is at most."""
    shown: bool
    """The capture shows waits for locks."""

    def at(self, farther_s: Floats | float) -> Floats:
        """How long a lock is held where the RTT is longer by so much."""
        return np.asarray(np.maximum(self.held_s + self.round_trips * farther_s, 0.0))


class ClosedNetwork(Struct, frozen=True):
    """The workers of a capture, where they meet, and what becomes of that with more or fewer of them."""

    workers: float
    """How many worked at once …"""
    runtime_s: float
    """… for so long."""
    hosts: ServiceCenter | None = None
    """The server, or server and clients, whichever have the lower limit."""
    server: ServiceCenter | None = None
    """The server, where it shows a limit: clients that pause may wait for another connection's round trips."""
    locks: Locks | None = None
    unreadable: bool = False
    """Whether transactions hold locks over round trips is unknown."""

    def runtime(self, replayed_s: Floats, farther_s: Floats, connections: int, side: int, work: float = 1.0) -> Floats:
        """The runtime of so many connections, where those of the capture would take `replayed_s`.

        `farther_s` is what the RTT is longer by, `side` as in `ServiceCenter.each`; `work`: which part of the
        hosts' work is left.
        """
        runtime = replayed_s * (self.workers / connections)
        if self.hosts is not None:
            runtime = self._at_hosts(self.hosts, replayed_s, connections, side, work)
        at_locks = np.zeros(len(replayed_s))
        if self.locks is not None:
            at_locks = work * self._at_locks(self.locks, farther_s, connections, side)
        if side > 0 and connections > self.workers and not self._known(connections):
            runtime = np.maximum(runtime, replayed_s)
        return np.maximum(runtime, at_locks)

    def elsewhere(self, replayed_s: Floats, side: int, work: float = 1.0) -> Floats:
        """The runtime at another RTT, where turns that stay at the hosts as long as in the capture take `replayed_s`.

        At a longer RTT fewer are there at once, at a shorter one more; and the hosts get no more done than they can.
        """
        if self.server is None:
            return replayed_s
        hosts = self.server
        _, there_s = self._cycle_s(hosts, replayed_s, self.workers, side, work)
        _, here_s = self._cycle_s(hosts, np.array([self.runtime_s]), self.workers, side, 1.0)
        queued_s = hosts.count / self.workers * (there_s - work * here_s)
        return np.maximum(replayed_s + queued_s, hosts.count * hosts.each(side) * work)

    def _known(self, connections: int) -> bool:
        """Whether what limits so many shows: the hosts, or locks that make them wait longer, as far as is known."""
        if self.hosts is None or self.hosts.shown:
            return self.hosts is not None and not self.unreadable
        if self.locks is None or not self.locks.shown:
            return False
        at_hosts = self._at_hosts(self.hosts, np.array([self.runtime_s]), connections, 0, 1.0)
        return bool(self._at_locks(self.locks, np.zeros(1), connections, 0)[0] >= at_hosts[0])

    def _at_hosts(self, hosts: ServiceCenter, replayed_s: Floats, connections: int, side: int, work: float) -> Floats:
        away_s, stay_s = self._cycle_s(hosts, replayed_s, connections, side, work)
        shared: Floats = hosts.count / connections * (away_s + stay_s)
        if not hosts.shown:
            return shared
        least_s = hosts.count * hosts.each(side) * work * self._worse(WORSE, connections, side)
        return np.maximum(shared, least_s if connections > self.workers else 0.0)

    def _cycle_s(
        self, hosts: ServiceCenter, replayed_s: Floats, connections: float, side: int, work: float
    ) -> tuple[Floats, Floats]:
        """How long a turn of each of so many is away, and how long it stays."""
        cycle_s = replayed_s * (self.workers / hosts.count)
        worked_s = self.runtime_s * self.workers  # none where the capture shows no time that went by
        others = (self.workers - 1) * (min(hosts.stay_s * hosts.count / worked_s, 1.0) if worked_s else 0.0)
        stay_s = hosts.stay_s * work
        each_s = min(hosts.each(side) * work, stay_s / (1 + others))
        away_s = np.maximum(cycle_s - stay_s - self._waited_s / hosts.count, 0.0)
        first_s = stay_s - each_s * others
        each_s *= self._worse(WORSE, connections, side)
        return away_s, _stay_s(away_s, first_s, each_s, connections - 1)

    @property
    def _waited_s(self) -> float:
        """What the capture's transactions waited for locks: for more connections that is worked out anew."""
        return self.locks.waited_s * self.locks.count if self.locks is not None and self.locks.shown else 0.0

    def _worse(self, lost: tuple[float, float, float], connections: float, side: int) -> float:
        return 1 / (1 - lost[side] * max(1 - self.workers / connections, 0.0))

    def _at_locks(self, locks: Locks, farther_s: Floats, connections: int, side: int) -> Floats:
        share = locks.most if side > 0 else locks.share
        away_s = max(self.runtime_s * self.workers / locks.count - locks.held_s - locks.waited_s, 0.0)

        def runtime_s(workers: float, farther_s: Floats) -> Floats:
            held_s, elsewhere_s = locks.at(farther_s), np.maximum(away_s + locks.others * farther_s, 0.0)
            return locks.count / workers * (elsewhere_s + _stay_s(elsewhere_s, held_s, held_s * share, workers - 1))

        as_it_was_s = float(runtime_s(self.workers, np.zeros(1))[0])
        there_s = runtime_s(connections, farther_s) * (self.runtime_s / as_it_was_s)
        limited_s = np.maximum(there_s, locks.count * locks.at(farther_s) * share)
        if not locks.shown:
            return limited_s
        strays = (1.0, LOCK_STRAYS[1], 1 / LOCK_STRAYS[0])[side]
        return limited_s * (strays * self._worse(WORSE_LOCKS, connections, side))

    # --- in words -----------------------------------------------------------------------------------------------------

    def limit(self, farther_s: float, connections: int) -> Limit:
        """The lowest limit that the capture shows, where the RTT is longer by so much."""
        found = [*self._limit_of_hosts(connections), *self._limit_of_locks(farther_s, connections)]
        return min(found, key=lambda limit: limit.per_s or 0.0, default=NO_LIMIT)

    def limited_s(self, farther_s: float, connections: int | None) -> float:
        """The runtime that the limits leave, however many connections there are; `None`: as many as there were."""
        hosts, locks = self.server if connections is None else self.hosts, self.locks
        worse = self._worse(WORSE, connections or self.workers, 0)
        at_hosts_s = hosts.count * hosts.each_s * worse if hosts and hosts.shown else 0.0
        at_locks_s = locks.count * float(locks.at(farther_s)) * locks.share if locks and locks.shown else 0.0
        return max(at_hosts_s, at_locks_s)

    def _limit_of_hosts(self, connections: int) -> Iterator[Limit]:
        if self.hosts is None or not self.hosts.shown:
            return
        per_s, low, high = (1 / (self.hosts.each(side) * self._worse(WORSE, connections, side)) for side in (0, 1, -1))
        text = (
            "Requests slow each other down at the hosts: the projection limits throughput to what that shows, "
            "though more may be possible."
        )
        yield Limit("hosts", per_s, low, high, text)

    def _limit_of_locks(self, farther_s: float, connections: int) -> Iterator[Limit]:
        if self.locks is None or not self.locks.shown:
            return
        most_s = 1 / max(float(self.locks.at(farther_s)) * self.locks.share, 1e-9)
        per_s, low, high = (most_s / self._worse(WORSE_LOCKS, connections, side) for side in (0, 1, -1))
        low, high = low / LOCK_STRAYS[1], high * LOCK_STRAYS[0]
        held = counted(round(self.locks.round_trips), "round trip")
        text = (
            f"Transactions wait for each other's locks, held for {held}: "
            f"at most about {significant(per_s)} a second at that RTT, however many connections share the work."
            f"{'' if self.hosts is not None and self.hosts.shown else ' The capture shows no limit of the hosts.'}"
        )
        yield Limit("locks", per_s, low, high, text)


def _stay_s(away_s: Floats, first_s: float | Floats, each_s: float | Floats, others: float) -> Floats:
    """The stay that solves `stay = first + each · others · stay ÷ (away + stay)`."""
    linear = away_s - first_s - each_s * others
    stay: Floats = (np.sqrt(linear**2 + 4 * first_s * away_s) - linear) / 2
    return stay


def crowd(
    job: ClientTimes, replay: Replay, at_once: float, runtime_s: float, *, unreadable: bool = False
) -> ClosedNetwork:
    """The workers of a capture; `at_once` of them work side by side as far as the RTT is concerned."""
    waiters, holders = (rows.astype(np.int64) for rows in replay.locks())
    at_locks = _locks(job, waiters)
    if at_locks is not None and at_locks.shown:  # who waits for a lock works, too
        at_once = max(at_once, _outstanding_s(job) / runtime_s)
    hosts, server = _hosts(job, waiters, holders)
    return ClosedNetwork(at_once, runtime_s, hosts, server, at_locks, unreadable)


def _asked(job: ClientTimes) -> Bools:
    """Requests that wait for their answers, but for those that open connections."""
    asked: Bools = (job.request_ns != MISSING) & (job.response_ns != MISSING) & (job.round_trips > 0) & ~job.setup
    return asked


def _at_server(job: ClientTimes) -> tuple[Floats, Floats]:
    """When requests arrived there, and when their answers left."""
    half = job.baseline_ns[job.phase] / 2
    return job.request_end_ns + half, job.response_ns - half


def _outstanding_s(job: ClientTimes) -> float:
    """How long requests waited for their answers, all in all."""
    asked = _asked(job)
    return float((job.response_ns[asked] - job.request_ns[asked]).sum()) / NS


# --- the hosts --------------------------------------------------------------------------------------------------------


def _hosts(job: ClientTimes, waiters: Ints, holders: Ints) -> tuple[ServiceCenter | None, ServiceCenter | None]:
    """How requests slow each other down at server and client, and at a server with a limit; no lock's wait is work."""
    seen = _asked(job)
    count = int(seen.sum())
    begin, end = _at_server(job)
    begin[waiters] = np.maximum(begin[waiters], end[holders])
    served = begin[seen], end[seen]
    follows = np.flatnonzero(seen[1:] & seen[:-1] & (job.connection[1:] == job.connection[:-1]))
    paused = job.response_end_ns[follows].astype(float), job.request_ns[follows + 1].astype(float)
    intervals = _Intervals(*(np.concatenate(ends) for ends in zip(served, paused, strict=True)))
    at_server = _stations(count, _Intervals(*served), [slice(0, count)])
    stations = [*at_server, *_stations(count, intervals, [slice(0, count), slice(count, None)])]
    tells = max(stations, key=_tells, default=None)
    if tells is None or not tells.shown:
        return tells, None
    most_s = max(station.most_s for station in stations)
    server = max((station for station in at_server if station.shown), key=_tells, default=None)
    return structs.replace(tells, most_s=most_s), server


def _stations(count: int, intervals: _Intervals, kinds: list[slice]) -> list[ServiceCenter]:
    """A place by how many were there meanwhile, and by how many were found there."""
    if intervals.busy_s <= 0:
        return []
    return [_station(count, intervals, there, kinds) for there in (intervals.met, intervals.found)]


def _tells(station: ServiceCenter) -> tuple[bool, float]:
    """The lowest limit that shows; else where stays grow the most, of what they could."""
    return station.shown, station.each_s if station.shown else station.each_s / station.most_s


def _station(count: int, intervals: _Intervals, there: Callable[[], Floats], kinds: list[slice]) -> ServiceCenter:
    """Turns have an interval of each kind, which is served in its own way; `there`: how many were under way for each.

    The capture is cut into parts of equal length: in each, much the same is asked for.
    """
    stay_s = float((intervals.end - intervals.begin).sum()) / NS / count
    full_s = intervals.busy_s / count
    if min(len(intervals.begin[kind]) for kind in kinds) < FEWEST:
        return ServiceCenter(count, stay_s, TENDS * full_s, 0.0, full_s, shown=False)
    shares = np.array([len(intervals.begin[kind]) / count for kind in kinds])
    at_once = there()
    slopes = shares @ np.array([_slopes(intervals, at_once, kind) for kind in kinds])
    known = slopes[~np.isnan(slopes)]
    if len(known) < PARTS / 2:
        return ServiceCenter(count, stay_s, TENDS * full_s, 0.0, full_s, shown=False)
    slope_s = float(min(max(np.median(known), 0.0), full_s))
    error_s = SIGMAS * float(np.std(known)) / math.sqrt(len(known))
    if slope_s - error_s >= SHOWN * full_s:
        return ServiceCenter(count, stay_s, full_s, full_s * LEAST, full_s, shown=True)
    each_s = slope_s if error_s <= SHOWN * full_s else TENDS * full_s
    return ServiceCenter(count, stay_s, each_s, 0.0, full_s, shown=False)


def _slopes(intervals: _Intervals, there: Floats, kind: slice) -> Floats:
    """How much longer each other one that was there made intervals of a kind, in each part of the capture."""
    begin, stays, at_once = intervals.begin[kind], (intervals.end - intervals.begin)[kind] / NS, there[kind]
    order = np.argsort(begin, kind="stable")
    order = order[(stays[order] > 0) & (stays[order] <= np.quantile(stays, LONGEST))] if len(order) else order
    return np.array([_slope(at_once[part], stays[part]) for part in np.array_split(order, PARTS)])


class _Intervals:
    """What is under way at a place, from when to when (ns)."""

    def __init__(self, begin: Floats, end: Floats) -> None:
        """Intervals in any order."""
        self.begin, self.end = begin, np.maximum(end, begin)

        times = np.concatenate((self.begin, self.end))
        order = np.argsort(times, kind="stable")
        self._times = times[order]
        under_way = np.cumsum(np.repeat((1, -1), len(self.begin))[order])[:-1]
        lasted = np.diff(self._times)
        self.busy_s = float(lasted[under_way > 0].sum()) / NS
        """How long any of them was under way."""
        self._passed = np.concatenate(((0.0,), np.cumsum(under_way * lasted)))

    def met(self) -> Floats:
        """How many were under way during each, on average; itself included."""
        if len(self.begin) == 0:
            return np.zeros(0)
        before, after = (np.interp(times, self._times, self._passed) for times in (self.begin, self.end))
        met: Floats = np.maximum((after - before) / np.maximum(self.end - self.begin, 1.0), 1.0)
        return met

    def found(self) -> Floats:
        """How many were under way when each began; itself included."""
        place = np.empty(len(self.begin))
        place[np.argsort(self.begin, kind="stable")] = np.arange(1, len(self.begin) + 1)
        return np.maximum(place - np.searchsorted(np.sort(self.end), self.begin, side="right"), 1.0)


def _slope(x: Floats, y: Floats) -> float:
    """Of the line of least squares; NaN where all are alike."""
    apart = x - x.mean() if len(x) else x
    spread = float((apart**2).sum())
    return float((apart * y).sum()) / spread if spread > 0 else math.nan


# --- locks ------------------------------------------------------------------------------------------------------------


def _locks(job: ClientTimes, waiters: Ints) -> Locks | None:
    """The locks of transactions of several round trips: those that were waited for, or what may be unseen."""
    asked = _asked(job)
    ends = np.flatnonzero(job.ends_transaction & asked)
    if len(ends) == 0:
        return None
    rows = np.flatnonzero(asked)
    last = ends[np.minimum(np.searchsorted(ends, rows), len(ends) - 1)]
    inside = (job.connection[rows] == job.connection[last]) & (rows < last)
    rows, last = rows[inside], last[inside]
    if len(rows) == 0:
        return None
    trips = np.cumsum(job.round_trips, dtype=np.int64)
    held = _OpenTransactions(*_at_server(job), rows, last, trips[last] - trips[rows])
    waits = np.zeros(len(asked), bool)
    waits[waiters] = True
    waited_s = float(np.maximum(held.answered[waiters] - held.arrived[waiters], 0.0).sum()) / NS / len(ends)
    all_trips = float(job.round_trips[asked].sum()) / len(ends)
    found = list(held.waited_for(waits, len(ends), waited_s, all_trips))
    return max(found, key=lambda each: each.held_s * each.share, default=None) or held.unseen(len(ends), all_trips)


class _OpenTransactions:
    """The statements of transactions that go on: when each arrived and was answered, and which row ends them."""

    def __init__(self, arrived: Floats, answered: Floats, rows: Ints, last: Ints, trips: Ints) -> None:
        """`trips` pass from the answer of each of `rows` to that of `last`, which ends its transaction."""
        self.arrived, self.answered = arrived, answered
        self._rows, self._last, self._trips = rows, last, trips

    def waited_for(self, waits: Bools, count: int, waited_s: float, all_trips: float) -> Iterator[Locks]:
        """Locks that are held over the same number of round trips."""
        waiting = np.bincount(self._trips, waits[self._rows])
        for trips in np.flatnonzero(waiting >= LEAST_WAITS):
            held_s, meetings = self._held(self._trips == trips)
            if meetings > 0 and held_s > 0:
                share, spread = min(waiting[trips] / meetings, 1.0), 2 / math.sqrt(waiting[trips])
                most = min(share * (1 + spread), 1.0)
                yield Locks(count, held_s, float(trips), max(all_trips - trips, 0.0), waited_s, share, most, shown=True)

    def unseen(self, count: int, all_trips: float) -> Locks | None:
        """A lock that each transaction may hold from its first statement on, though nobody was seen to wait for it."""
        first = np.concatenate(((True,), self._last[1:] != self._last[:-1]))
        held_s, meetings = self._held(first)
        trips = float(self._trips[first].mean())
        most = UNSEEN / max(meetings, UNSEEN)
        return (
            Locks(count, held_s, trips, max(all_trips - trips, 0.0), 0.0, 0.0, most, shown=False)
            if held_s > 0
            else None
        )

    def _held(self, which: Bools) -> tuple[float, float]:
        """How long such locks are held, and how many others held one when each was asked for, all in all."""
        rows, last = self._rows[which], self._last[which]
        begin, end, arrived = self.answered[rows], self.answered[last], self.arrived[rows]
        held = np.searchsorted(np.sort(begin), arrived) - np.searchsorted(np.sort(end), arrived)
        return float((end - begin).mean()) / NS, float(np.maximum(held, 0).sum())
