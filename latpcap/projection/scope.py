"""Which part of a job goes elsewhere: some of its servers, or how much of their own time client and server take.

`--move db1=15ms` moves one server of several. The connections to it have that RTT, whatever else is asked for; the
others stay as they were, unless an RTT is asked for as well: that is theirs. Behind a proxy of which both sides were
captured (`measures/proxy_legs.py`) the RTT that is asked for is that of the way to the server; the one to the proxy
stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct

from latpcap._core import Replay
from latpcap.errors import UsageError
from latpcap.projection.assumptions import Conditions, Mean, ServerMove
from latpcap.projection.job import Job, ReplayNetwork
from latpcap.tables.columnar.columns import Bools, Codes, Floats
from latpcap.tables.part.matching import ConnectionNames
from latpcap.tables.part.selection import Selection
from latpcap.tables.recording import Recording

STAYS, ASKED = np.nan, np.inf
"""RTTs of connections that are not moved: as it was, and whichever is asked for."""
NS_PER_MS = 1e6
"""Nanoseconds in a millisecond."""


def moves(recording: Recording, asked: Mapping[str, float]) -> tuple[ServerMove, ...]:
    """The servers that are moved, as latpcap shows them; raises where a name is none of theirs, with those there are.

    A name is whatever `--server` takes: `10.0.0.5`, `10.0.0.5:3306`, `:3306`, `10.0.0.0/24`.
    """
    servers, table = recording.connections.server, ConnectionNames(recording)
    moved: dict[str, float] = {}
    for name, rtt_ms in asked.items():
        rows = table.chosen(Selection.of(server=name))[recording.database_rows]
        for code in np.unique(servers.codes[rows]).tolist():
            server = servers.names[code]
            if moved.setdefault(server, rtt_ms) != rtt_ms:
                raise UsageError(f"{server} is moved to {moved[server]:g} ms and to {rtt_ms:g} ms: give one of them")
    return tuple(ServerMove(server, rtt_ms) for server, rtt_ms in moved.items())


class _NetworkOfPhases(Struct, frozen=True, eq=False):
    """One network of each phase of a connection."""

    rule_ms: Floats
    """`STAYS`, `ASKED` or its own RTT."""
    baseline_ns: Floats
    times: Floats
    """How often a round trip of the application takes it."""

    @property
    def moves(self) -> Floats:
        """How often, where it does not stay."""
        return np.where(np.isnan(self.rule_ms), 0.0, self.times)

    def rtts(self, mean_ms: Mean) -> tuple[Floats, Floats]:
        """Its time beside the asked RTT (ns), and how many of these."""
        asked, stays = self.rule_ms == ASKED, np.isnan(self.rule_ms)
        own_ns = NS_PER_MS * mean_ms(np.where(asked | stays, 0.0, self.rule_ms), self.baseline_ns / NS_PER_MS)
        rtts_ns = np.where(asked, 0.0, np.where(stays, self.baseline_ns, own_ns))
        return self.times * rtts_ns, self.times * asked


class Scope(Struct, frozen=True, eq=False):
    """The parts of a job that go their own way."""

    ways: tuple[_NetworkOfPhases, _NetworkOfPhases]
    """To the host that answers, and behind it."""
    groups: tuple[tuple[float, float, float], ...]
    """The RTTs of connections, which part of the job's round trips has each, and what they had (ms)."""
    client: float
    service: float
    think_ns: float

    def rtts_ns(self, asked_ns: Floats, mean_ms: Mean) -> Floats:
        """The RTT of each phase; NaN where it is as it was."""
        (near_ns, near), (far_ns, far) = (way.rtts(mean_ms) for way in self.ways)
        return np.where(self._moves, near_ns + far_ns + (near + far) * asked_ns, STAYS)

    def of(self, replay: Replay, mean_ms: Mean) -> Replay:
        """The job, to be run; `mean_ms` says which RTTs servers have that are moved to others."""
        (near_ns, near), (far_ns, far) = (way.rtts(mean_ms) for way in self.ways)
        return self._on(replay, near_ns + far_ns, near + far)

    def longer(self, replay: Replay) -> Replay:
        """The job where the RTT of what moves is a millisecond longer than it was."""
        rtts_ns = [way.times * way.baseline_ns + NS_PER_MS * way.moves for way in self.ways]
        return self._on(replay, rtts_ns[0] + rtts_ns[1], np.zeros(len(rtts_ns[0])))

    def as_it_was(self, replay: Replay) -> Replay:
        """The job with nothing moved, on the hosts there."""
        count = len(self.ways[0].times)
        return replay.scoped(np.full(count, STAYS), np.zeros(count), self.client, self.service, self.think_ns)

    def saved_s(self, replay: Replay) -> float:
        """Time that faster hosts save at the capture's RTTs."""
        if (self.client, self.service) == (1.0, 1.0):
            return 0.0
        return _over_s(replay, None) - _over_s(self.as_it_was(replay), None)

    def next_ms_s(self, replay: Replay) -> float:
        """Cost of the next millisecond for what moves."""
        return max(_over_s(self.longer(replay), 0.0) - _over_s(self.as_it_was(replay), 0.0), 0.0)

    def _on(self, replay: Replay, rtts_ns: Floats, asked: Floats) -> Replay:
        return replay.scoped(np.where(self._moves, rtts_ns, STAYS), asked, self.client, self.service, self.think_ns)

    @property
    def _moves(self) -> Bools:
        moves: Bools = self.ways[0].moves + self.ways[1].moves > 0
        return moves

    def rtts_of(self, there: Floats) -> list[tuple[float, float, Floats]]:
        """The parts of the job that move, the baseline (ms) and the RTT of each where these are asked for."""
        moving = [group for group in self.groups if not np.isnan(group[0])]
        return [(part, was, there if rtt == ASKED else np.full(len(there), rtt)) for rtt, part, was in moving]


def scope_of(job: Job, conditions: Conditions, trips: Floats, think_s: float) -> Scope | None:
    """Return the parts of the job that go their own way, if any; `trips`: the round trips of each connection."""
    beyond = job.beyond
    asks_far = beyond is not None and beyond.any_far
    if not conditions.moved and (conditions.client_time, conditions.service_time) == (None, None) and not asks_far:
        return None
    near = _rules(job.server, conditions)[job.connection]
    far, baseline_ns, times = (np.zeros(len(near)) for _ in range(3))
    far[:] = STAYS
    if beyond is not None:
        rules = _rules(beyond.server, conditions)
        rules[(rules == ASKED) & ~beyond.is_far & ~_moved(beyond.server, conditions)] = STAYS
        if not conditions.moved:
            near[np.isin(job.connection, beyond.connection[beyond.is_far])] = STAYS
        far[-len(rules) :], baseline_ns[-len(rules) :], times[-len(rules) :] = rules, beyond.baseline, beyond.trips
    first_ns = job.baseline_ns - times * baseline_ns
    moving, had_ns = np.full(job.connections, STAYS), np.zeros(job.connections)
    moving[job.connection] = np.where(np.isnan(far), near, far)
    had_ns[job.connection] = np.where(np.isnan(far), first_ns, baseline_ns)
    return Scope(
        ways=(_NetworkOfPhases(near, first_ns, np.ones(len(near))), _NetworkOfPhases(far, baseline_ns, times)),
        groups=tuple(_groups(moving, had_ns, trips)),
        client=1.0 if conditions.client_time is None else conditions.client_time,
        service=1.0 if conditions.service_time is None else conditions.service_time,
        think_ns=1e9 * think_s,
    )


class Scopes:
    """The scope under each of several conditions, found once."""

    def __init__(self, job: Job | None, trips: Floats, think_s: float) -> None:
        """`trips`: the round trips of each connection; `think_s`: a longer gap is think time."""
        self._job, self._trips, self._think_s = job, trips, think_s
        self._known: dict[Conditions, Scope | None] = {}

    def of(self, conditions: Conditions) -> Scope | None:
        """The parts of the job that go their own way, if any."""
        if self._job is None:
            return None
        if conditions not in self._known:
            self._known[conditions] = scope_of(self._job, conditions, self._trips, self._think_s)
        return self._known[conditions]


def _over_s(replay: Replay, asked_ns: float | None) -> float:
    """When the job is over at an RTT; `None`: at those of the capture."""
    return replay.run([(asked_ns, 0.0)], ReplayNetwork())[0] / 1e9


def _rules(server: Codes, conditions: Conditions) -> Floats:
    """Which RTT each of these servers has."""
    rules_ms = np.full(len(server), STAYS if conditions.others_stay else ASKED)
    for move in conditions.moved:
        rules_ms[server.where(move.server.__eq__)] = ASKED if move.rtt_ms is None else move.rtt_ms
    return rules_ms


def _moved(server: Codes, conditions: Conditions) -> Bools:
    """The servers that are moved by name."""
    return server.where({move.server for move in conditions.moved}.__contains__)


def _groups(rtts_ms: Floats, had_ns: Floats, trips: Floats) -> Iterator[tuple[float, float, float]]:
    """The distinct RTTs, the part of the round trips that has each, and the mean of what they had."""
    total = max(float(trips.sum()), 1.0)
    for rtt in np.unique(rtts_ms):
        rows = np.isnan(rtts_ms) if np.isnan(rtt) else rtts_ms == rtt
        own = float(trips[rows].sum())
        yield float(rtt), own / total, float((had_ns * trips)[rows].sum()) / max(own, 1e-9) / NS_PER_MS
