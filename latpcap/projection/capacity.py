"""Throughput of the same hosts with more connections or a shorter RTT: what is busy at once slows each other down.

A worker's turn is away for a while (the network, pauses) and stays a while where it meets others: at the hosts, with
the server's and the client's processors, and at the locks of its transaction. The stay grows with those it meets,

```text
stay = first + each · others        rate ≤ 1 ÷ each, however many work
others = (workers − 1) · stay ÷ (away + stay)
```

(mean value analysis of a closed network: Reiser and Lavenberg 1980, with Schweitzer's approximation of 1979). What a
capture shows of it the core finds (`core/src/job/contention.rs`). That some slow each other down is no limit yet: hosts
that sleep between requests take longer for each. Only where they hardly ever slept, others always waited meanwhile, and
answers came as evenly as one server gives them, a limit is known; else the range reaches from no gain at all to hosts
without a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap._core import Replay
from latpcap.tables.columnar.columns import Floats
from latpcap.units import counted, significant

MIN_UTILISATION = 0.9
"""Capacity of hosts is unknown if they were busy for less than this share of the runtime: the rest slept and woke up
for requests."""
MIN_QUEUE_LENGTH = 3.0
"""Capacity of hosts is unknown if fewer requests were there at a time: a closed loop has a queue of two by itself."""
MIN_LOCKED_SHARE = 0.5
"""When locks become the limit is unknown if they were held for less than this share of the runtime."""
MIN_SHOWN_SLOWDOWN = 0.5
"""If requests slow each other down without a known limit, at least this share of it shows
(`core/src/job/contention.rs`)."""
CONTENTION_LOSS = 0.1, 0.5, 0.0
"""Overloaded hosts lose up to this share of their rate (switches, collisions, cache misses), by `side`."""
LOCK_CONTENTION_LOSS = 0.1, 0.28, 0.0
"""Transactions that wait for each other lose up to this share of their rate, by `side`."""
AWAKE_HOST_SHARE = 0.4
"""At a short RTT hosts hardly sleep while a lock is held, and may need only this share of their own time."""
LOCK_HOLD_ERROR = 1.05, 1.1
"""The time that locks are held is known within these factors, downwards and upwards."""


class Limit(Struct, frozen=True):
    """The limit that the capture shows to the work of more connections."""

    kind: Literal["hosts", "locks", "none"]
    per_s: float | None
    """Requests that are answered in a second at most, or transactions of which each holds a lock; `None`: unknown."""
    low: float | None
    high: float | None
    text: str


NO_LIMIT = Limit(
    *("none", None, None, None),
    "The capture shows no host or lock limit: the range goes from no speed-up to the most that the capture allows.",
)


class ServiceCenter(Struct, frozen=True):
    """A place where turns meet: how long each stays, by how many others are there."""

    count: int
    """Turns of the capture."""
    stay_s: float
    """The mean of the capture."""
    each_s: float
    """How much each other one lengthens the stay."""
    least_s: float
    most_s: float
    """The most of `each_s`, and `least_s` the least."""
    shown: bool
    """The capture shows that they slow each other down, as if there were a limit."""
    may_s: float = 0.0
    """The most that each other one may have added, by what stays show."""

    def limits(self, runtime_s: float) -> bool:
        """That this is a limit is beyond doubt: hardly ever idle, and others always waited meanwhile."""
        busy_s = self.count * self.each_s
        return self.shown and busy_s >= MIN_UTILISATION * runtime_s and self.stay_s >= MIN_QUEUE_LENGTH * self.each_s

    @property
    def without_limit(self) -> ServiceCenter:
        """The center where no limit is known: between what longer stays and what the busy time show."""
        least_s = MIN_SHOWN_SLOWDOWN * self.each_s if self.shown else self.least_s
        return replace(self, each_s=math.sqrt(self.each_s * self.most_s), least_s=least_s, shown=False)

    def each(self, side: int) -> float:
        """Time that each other one adds, as measured or at the optimistic (-1) or pessimistic (1) end."""
        return (self.each_s, self.most_s, self.least_s)[side]


class Locks(Struct, frozen=True):
    """The locks that transactions hold over round trips."""

    count: int
    """Transactions."""
    held_s: float
    round_trips: float
    """Round trips while a lock is held."""
    others: float
    """Round trips of each transaction before and after that."""
    waited_s: float
    """Time that a transaction waited for locks."""
    share: float
    """The chance that two want the same lock."""
    most: float
    """The highest that `share` may be."""
    shown: bool
    """The capture shows waits for locks."""
    rtt_s: float = 0.0
    """That of the capture."""

    def limits(self, runtime_s: float) -> bool:
        """That this is what limits them is beyond doubt: a lock was held most of the time."""
        return self.shown and self.count * self.held_s * self.share >= MIN_LOCKED_SHARE * runtime_s

    def at(self, farther_s: Floats | float, side: int = 0) -> Floats:
        """How long a lock is held where the RTT is longer by so much; optimistic, hosts need less of that nearby."""
        held_s = self.held_s + self.round_trips * farther_s
        if side < 0 and self.rtt_s > 0:
            own_s = max(self.held_s - self.round_trips * self.rtt_s, 0.0)
            held_s = held_s - (1 - AWAKE_HOST_SHARE) * own_s * np.clip(-farther_s / self.rtt_s, 0.0, 1.0)
        return np.asarray(np.maximum(held_s, 0.0))


class ClosedNetwork(Struct, frozen=True):
    """The workers of a capture, where they meet, and what becomes of that with more or fewer of them."""

    workers: float
    """How many worked at once."""
    runtime_s: float
    """How long they worked."""
    hosts: ServiceCenter | None = None
    """The server, or server and clients, whichever have the lower limit."""
    server: ServiceCenter | None = None
    """The server, where it shows a limit: clients that pause may wait for another connection's round trips."""
    locks: Locks | None = None
    unreadable: bool = False
    """Whether transactions hold locks over round trips is unknown."""
    both: ServiceCenter | None = None
    """Server and clients, whatever that shows."""
    rtt_s: float = 0.0
    """That of the capture."""

    def runtime(self, replayed_s: Floats, farther_s: Floats, connections: int, side: int, work: float = 1.0) -> Floats:
        """The runtime of so many connections, where those of the capture would take `replayed_s`.

        `farther_s` is what the RTT is longer by, `side` as in `ServiceCenter.each`; `work`: which part of the
        hosts' work is left.
        """
        runtime = replayed_s * (self.workers / connections)
        if self.hosts is not None:
            runtime = self._at_hosts(self.hosts, replayed_s, farther_s, connections, side, work)
        at_locks = np.zeros(len(replayed_s))
        if self.locks is not None:
            at_locks = work * self._at_locks(self.locks, replayed_s, farther_s, connections, side)
        if side > 0 and connections > self.workers and not self._known(connections):
            runtime = np.maximum(runtime, replayed_s * self._worse(CONTENTION_LOSS, connections, side))
        return np.maximum(runtime, at_locks)

    def _each_s(self, hosts: ServiceCenter, side: int) -> float:
        """Time that each other one adds; optimistic, hosts that slept need less the more they are asked."""
        if side >= 0 or not self.runtime_s:
            return hosts.each(side)
        busy = min(hosts.count * hosts.most_s / self.runtime_s, 1.0)
        return hosts.each(side) * math.sqrt(busy)

    def elsewhere(self, replayed_s: Floats, longer_s: Floats, side: int, work: float = 1.0) -> Floats:
        """The runtime at another RTT, where turns that stay at the hosts as long as in the capture take `replayed_s`.

        At a longer RTT, where that is `longer_s` longer, fewer are there at once, at a shorter one more; and the hosts
        get no more done than they can.
        """
        apart_s = np.where(longer_s > 0, replayed_s - work * self._apart_s(longer_s, side), np.inf)
        if self.server is None:
            return np.minimum(replayed_s, apart_s)
        hosts = self.server
        here, as_it_was_s = np.zeros(1), np.array([self.runtime_s])
        there_s, here_s = (
            self._cycle_s(hosts, self._without_locks_s(of_all_s, here, -1), self.workers, side, part)[1]
            for of_all_s, part in ((replayed_s, work), (as_it_was_s, 1.0))
        )
        runtime_s = replayed_s + hosts.count / self.workers * (there_s - work * here_s)
        if side < 0:
            runtime_s = np.minimum(runtime_s, apart_s)
        return np.maximum(runtime_s, hosts.count * self._each_s(hosts, side) * work)

    def _apart_s(self, longer_s: Floats, side: int) -> Floats:
        """Time that hosts save where a longer RTT keeps turns apart: that much of it was waiting for each other.

        How much, the capture shows (central), or leaves open (optimistic). Who fans out and waits for all is at no host
        for longer than a cycle has beside its round trip.
        """
        both = self.both
        if both is None or not self.runtime_s or side > 0 or (side == 0 and both.least_s <= 0):
            return np.zeros(len(longer_s))
        turns = both.count / self.workers
        stay_s = min(both.stay_s, max(self.runtime_s / turns - self.rtt_s, 0.0))
        hosts = replace(both, stay_s=stay_s, each_s=both.may_s if side else both.each_s)
        here_s, there_s = (
            self._cycle_s(hosts, self.runtime_s + further_s, self.workers, 0, 1.0)[1]
            for further_s in (np.zeros(1), np.maximum(longer_s, 0.0))
        )
        apart_s: Floats = turns * np.maximum(here_s - there_s, 0.0)
        return apart_s

    def _known(self, connections: int) -> bool:
        """Whether what limits so many shows: the hosts, or locks that make them wait longer, as far as is known."""
        if self.hosts is None or self.hosts.shown:
            return self.hosts is not None and not self.unreadable
        if self.locks is None or not self.locks.limits(self.runtime_s):
            return False
        at_hosts = self._at_hosts(self.hosts, np.array([self.runtime_s]), np.zeros(1), connections, 0, 1.0)
        at_locks = self._at_locks(self.locks, np.array([self.runtime_s]), np.zeros(1), connections, 0)
        return bool(at_locks[0] >= at_hosts[0])

    def _at_hosts(
        self, hosts: ServiceCenter, replayed_s: Floats, farther_s: Floats, connections: int, side: int, work: float
    ) -> Floats:
        without_s = self._without_locks_s(replayed_s, farther_s, side)
        away_s, stay_s = self._cycle_s(hosts, without_s, connections, side, work)
        shared: Floats = hosts.count / connections * (away_s + stay_s)
        if not hosts.shown:
            return shared
        least_s = hosts.count * self._each_s(hosts, side) * work * self._worse(CONTENTION_LOSS, connections, side)
        return np.maximum(shared, least_s if connections > self.workers else 0.0)

    def _cycle_s(
        self, hosts: ServiceCenter, replayed_s: Floats, connections: float, side: int, work: float
    ) -> tuple[Floats, Floats]:
        """How long a turn of each of so many is away, and how long it stays."""
        cycle_s = replayed_s * (self.workers / hosts.count)
        worked_s = self.runtime_s * self.workers  # none where the capture shows no time that went by
        others = (self.workers - 1) * (min(hosts.stay_s * hosts.count / worked_s, 1.0) if worked_s else 0.0)
        stay_s = np.minimum(hosts.stay_s * work, cycle_s)  # hosts that wait for less may need less
        each_s = np.minimum(self._each_s(hosts, side) * work, stay_s / (1 + others))
        away_s = np.maximum(cycle_s - stay_s, 0.0)
        first_s = stay_s - each_s * others
        return away_s, _stay_s(
            away_s, first_s, each_s * self._worse(CONTENTION_LOSS, connections, side), connections - 1
        )

    def _without_locks_s(self, replayed_s: Floats, farther_s: Floats, side: int) -> Floats:
        """Time left without waits for locks, which are worked out anew for other numbers of workers.

        They took as long as in the capture (pessimistic), as large a part as locks held so long make them take
        (optimistic), or a mean.
        """
        locks = self.locks
        if locks is None or not locks.shown:
            return replayed_s
        waited_s = locks.waited_s * locks.count / self.workers
        here, there = (self._share_of_locks(locks, farther) for farther in (np.zeros(1), farther_s))
        part = np.minimum(waited_s / max(self.runtime_s, 1e-9) * there / np.maximum(here, 1e-9), 1.0)
        as_before_s, as_large_s = np.maximum(replayed_s - waited_s, 0.0), replayed_s * (1 - part)
        return ((as_before_s + as_large_s) / 2, as_before_s, as_large_s)[side]

    def _worse(self, lost: tuple[float, float, float], connections: float, side: int) -> float:
        return 1 / (1 - lost[side] * math.sqrt(max(1 - self.workers / connections, 0.0)))

    def _at_locks(self, locks: Locks, replayed_s: Floats, farther_s: Floats, connections: int, side: int) -> Floats:
        """The runtime of so many that wait for each other, where those of the capture would take `replayed_s`."""
        share = locks.most if side > 0 else locks.share
        there_s, as_many_s = (
            self._lock_cycle_s(locks, farther_s, workers, share) for workers in (connections, self.workers)
        )
        shared_s = replayed_s * (self.workers / connections) * there_s / np.maximum(as_many_s, 1e-9)
        limited_s = np.maximum(shared_s, locks.count * locks.at(farther_s, side) * share)
        if not locks.shown:
            return limited_s
        strays = (1.0, LOCK_HOLD_ERROR[1], 1 / LOCK_HOLD_ERROR[0])[side]
        return limited_s * (strays * self._worse(LOCK_CONTENTION_LOSS, connections, side))

    def _share_of_locks(self, locks: Locks, farther_s: Floats) -> Floats:
        """Which part of a transaction is its wait for locks; none of one that takes no time."""
        alone_s = self._lock_cycle_s(locks, farther_s, 1, 0.0)
        cycle_s = self._lock_cycle_s(locks, farther_s, self.workers, locks.share)
        share: Floats = (cycle_s - alone_s) / np.maximum(cycle_s, 1e-9)
        return share

    def _lock_cycle_s(self, locks: Locks, farther_s: Floats, workers: float, share: float) -> Floats:
        """How long a transaction of each of so many takes, with its waits for locks."""
        away_s = max(self.runtime_s * self.workers / locks.count - locks.held_s - locks.waited_s, 0.0)
        held_s, elsewhere_s = locks.at(farther_s), np.maximum(away_s + locks.others * farther_s, 0.0)
        return elsewhere_s + _stay_s(elsewhere_s, held_s, held_s * share, workers - 1)

    # --- in words -----------------------------------------------------------------------------------------------------

    def limit(self, farther_s: float, connections: int) -> Limit:
        """The lowest limit that the capture shows, where the RTT is longer by so much."""
        found = [*self._limit_of_hosts(connections), *self._limit_of_locks(farther_s, connections)]
        return min(found, key=lambda limit: limit.per_s or 0.0, default=NO_LIMIT)

    def limited_s(self, farther_s: float, connections: int | None) -> float:
        """The runtime that the limits leave, however many connections there are; `None`: as many as there were."""
        hosts, locks = self.server if connections is None else self.hosts, self.locks
        worse = self._worse(CONTENTION_LOSS, connections or self.workers, 0)
        at_hosts_s = hosts.count * hosts.each_s * worse if hosts and hosts.shown else 0.0
        limits = locks is not None and locks.limits(self.runtime_s)
        at_locks_s = locks.count * float(locks.at(farther_s)) * locks.share if locks and limits else 0.0
        return max(at_hosts_s, at_locks_s)

    def _limit_of_hosts(self, connections: int) -> Iterator[Limit]:
        if self.hosts is None or not self.hosts.shown:
            return
        per_s, low, high = (
            1 / (self._each_s(self.hosts, side) * self._worse(CONTENTION_LOSS, connections, side))
            for side in (0, 1, -1)
        )
        text = (
            "Requests slow each other down at the hosts: the projection limits throughput accordingly, although more "
            "may be possible."
        )
        yield Limit("hosts", per_s, low, high, text)

    def _limit_of_locks(self, farther_s: float, connections: int) -> Iterator[Limit]:
        if self.locks is None or not self.locks.limits(self.runtime_s):
            return
        held_s = (float(self.locks.at(farther_s, side)) for side in (0, 1, -1))
        per_s, low, high = (
            1 / (max(held * self.locks.share, 1e-9) * self._worse(LOCK_CONTENTION_LOSS, connections, side))
            for held, side in zip(held_s, (0, 1, -1), strict=True)
        )
        low, high = low / LOCK_HOLD_ERROR[1], high * LOCK_HOLD_ERROR[0]
        held = counted(round(self.locks.round_trips), "round trip")
        text = (
            f"Transactions wait for each other's locks, held for {held}: "
            f"at most about {significant(per_s)} a second at that RTT, with any number of connections."
            f"{'' if self.hosts is not None and self.hosts.shown else ' The capture shows no limit of the hosts.'}"
        )
        yield Limit("locks", per_s, low, high, text)


def _stay_s(away_s: Floats, first_s: Floats, each_s: Floats, others: float) -> Floats:
    """The stay that solves `stay = first + each · others · stay ÷ (away + stay)`."""
    linear = away_s - first_s - each_s * others
    stay: Floats = (np.sqrt(linear**2 + 4 * first_s * away_s) - linear) / 2
    return stay


def closed_network(
    replay: Replay, at_once: float, runtime_s: float, rtt_s: float, *, unreadable: bool = False
) -> ClosedNetwork:
    """The workers of a capture; `at_once` of them work side by side as far as the RTT is concerned."""
    outstanding_s, *centers, locks = replay.meetings()
    at_locks = None if locks is None else replace(Locks(*locks), rtt_s=rtt_s)
    if at_locks is not None and at_locks.shown:  # who waits for a lock works, too
        at_once = max(at_once, outstanding_s / runtime_s)
    hosts, server, both = (None if center is None else ServiceCenter(*center) for center in centers)
    if hosts is not None and not hosts.limits(runtime_s):
        hosts = hosts.without_limit
    return ClosedNetwork(at_once, runtime_s, hosts, server, at_locks, unreadable, both, rtt_s)
