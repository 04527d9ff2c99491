"""The basis of a projection: the observed job, as it is or with fixes made, replayed on other networks.

```text
runtime(L) = observed + replay(L) − replay(as it was)
```

A `Variant` is the job as it is, or with fixes made; its figures come from the same replay.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap._core import Replay, run_each
from latpcap.measures.budget import BudgetTimeline
from latpcap.projection.assumptions import CENTRAL, COMPRESSION_NS_PER_BYTE, Case, Conditions
from latpcap.projection.baseline import longest_ns, usual_ns
from latpcap.projection.capacity import ClosedNetwork, Limit, closed_network
from latpcap.projection.classes import Work, shares
from latpcap.projection.job import FixEffects, Job, ReplayNetwork, Waiting
from latpcap.projection.rests import Rests, extreme, hosts, rests_beside_rtt_ms
from latpcap.projection.scope import Scopes
from latpcap.rtt import Estimate
from latpcap.tables.recording import Recording
from latpcap.units import RttIs

Floats = NDArray[np.float64]

RttRequest = tuple[float | None, float]
"""An RTT, `None` for those as they were, and how much longer it is (ns)."""

NS_PER_S = 1e9
"""Nanoseconds in a second."""
SPANS = (1.0, 2.0, 4.0, 8.0)
"""RTTs over which steps even out."""
REFERENCE_RTTS = ((None, 0.0), (None, 1e6))
"""The RTTs as captured and each a millisecond longer (ns): the figures that all reports show come from these two."""
HOST_LIMIT_MARGIN = 1.2
"""A runtime up to this multiple of what hosts, locks or the bottleneck allow is limited by them."""
MAX_SAME_RATIO = 1.05
"""Two RTTs of which the longer is at most this multiple of the other are the same."""
OBSERVED = "observed"
WIRE_BYTES_RATIO = 1500 / 1448
"""A full packet on Ethernet takes this multiple of what it carries."""


class Variant(Struct, frozen=True, eq=False, weakref=True):
    """The job with fixes made; without changes, as it is."""

    changes: FixEffects | None = None
    statements: int = 0
    """Executions that are needed no longer."""
    ends: tuple[Variant, Variant] | None = None
    """With the most and the least that the fixes may take of the hosts' time; `None`: as it is."""

    def at(self, case: Case) -> Variant:
        """The variant as the case takes the fixes."""
        return self if self.ends is None or case.fixes is None else self.ends[case.fixes]


AS_IT_IS = Variant()


class _CalibratedJob:
    """A job, ready to be replayed, and when it was over at what was asked for."""

    def __init__(self, replay: Replay) -> None:
        """Run nothing yet."""
        self.replay = replay
        self._known: dict[tuple[ReplayNetwork, RttRequest], float] = {}

    def of(self, variant: Variant) -> _CalibratedJob:
        """The variant, to be run."""
        return self if variant.changes is None else _CalibratedJob(self.replay.changed(variant.changes))

    @property
    def as_it_was_ns(self) -> float:
        """When it is over on the network that it was captured on."""
        [over_ns] = self.run([None], ReplayNetwork())
        return over_ns

    def run(self, rtts_ns: Sequence[float | None], network: ReplayNetwork, longer_ns: float = 0.0) -> list[float]:
        """When it is over at each RTT and so much more (ns): each once, in one walk with what figures rest on."""
        asked = [(rtt_ns, longer_ns) for rtt_ns in rtts_ns]
        if new := self.unknown(asked, network):
            self.learn(network, new, self.replay.run(new, network))
        return [self._known[network, rtt] for rtt in asked]

    def unknown(self, asked: Sequence[RttRequest], network: ReplayNetwork) -> list[RttRequest]:
        """Return the requests to run, if any."""
        new = [rtt for rtt in dict.fromkeys((*asked, *REFERENCE_RTTS)) if (network, rtt) not in self._known]
        return [] if set(asked).isdisjoint(new) else new

    def learn(self, network: ReplayNetwork, asked: Sequence[RttRequest], over_ns: Sequence[float]) -> None:
        """When it is over there."""
        self._known.update(zip([(network, rtt) for rtt in asked], over_ns, strict=True))


class BaselineFigures(Struct, frozen=True):
    """The times of a variant at the capture's RTTs."""

    own_s: float
    """Time of client and server themselves, the timers of delayed acknowledgments included."""
    seconds_per_ms: float
    """Cost of the next millisecond of RTT."""
    over_s: float
    """When its replay is over."""


class Basis:
    """The observed job, ready to be replayed."""

    def __init__(
        self,
        recording: Recording,
        timeline: BudgetTimeline,
        job: Job | None,
        usual: float,
        rtt_is: RttIs,
        longest: float | None,
        rests: Rests,
        others: tuple[Floats, Floats],
    ) -> None:
        """Take the observed figures; `job` is `None` and `usual` NaN where no baseline is known (ns).

        `longest`: what it may have been, where it was not measured. `rests`: how much later client and server go on
        behind a rest, as far as the capture shows it; `others`: how long each rests while the other works (ms).
        """
        self.as_usual = Conditions(rtt_is=rtt_is)
        """Conditions with only the RTT different."""
        self.timeline = timeline
        exchanges, budget = recording.exchanges, timeline.budget
        self.runtime_s = timeline.runtime_s
        self.unrecorded_s = recording.runtime_s - recording.recorded_s
        """Time between files that do not adjoin."""
        self.network_s = budget.network_s
        """Time of the round trips."""
        self.think_s, self.loss_s, self.transfer_s = budget.think_s, budget.loss_s, budget.transfer_s
        *payload, silent_ns = timeline.job.moved
        self._moving_s = self.transfer_s + silent_ns / NS_PER_S
        """Transfers, and what clients waited for acknowledgments: a nearer server may leave nothing of it."""
        self.statements = int(exchanges.is_execution.sum()) or int(
            ((exchanges.round_trips > 0) & ~exchanges.is_setup).sum()
        )
        self.round_trips = float(timeline.round_trips.sum())
        """TCP handshakes included."""
        self._longest = float(timeline.round_trips.max(initial=0))
        """Most round trips of one connection, one after the other: they take that long however short the RTT was."""
        self.scopes = Scopes(job, timeline.round_trips, timeline.think_above_s)
        """Parts of the job with RTTs of their own."""
        self.bits = 8 * max(payload) * WIRE_BYTES_RATIO
        """Bits in the direction with more."""
        self.job = job
        self.baseline_ms = usual / 1e6
        """Median over connections, weighted by their round trips; NaN where unknown. On a path that changed it is the
        mean over all that waited on it."""
        self.is_measured = longest is None
        """The baseline is no guess from responses, and that of nearly all round trips."""
        self.longest_ms = self.baseline_ms if longest is None else max(longest / 1e6, self.baseline_ms)
        self.relayed = recording.is_relayed
        """How TCP carried what passed was not seen."""
        self._counted_once = float(timeline.effective.sum())
        self._shares = shares(recording, timeline)
        self.hosts, self._others_ms = hosts(recording, rests), others
        """How those of client and server go on behind a rest."""
        self._known: WeakKeyDictionary[Variant, BaselineFigures] = WeakKeyDictionary()
        self._kept: dict[tuple[Waiting, ReplayNetwork], _CalibratedJob | None] | None = None

    # --- runtimes -----------------------------------------------------------------------------------------------------

    def runtimes_of(
        self,
        asked: Sequence[tuple[Variant, Sequence[float]]],
        cases: Sequence[Case],
        conditions: Conditions | None = None,
    ) -> Iterator[list[Floats]]:
        """The runtimes of each variant at its RTTs, for every case and every way of waiting that it takes for possible.

        They are NaN where a way is possible at other RTTs only.

        Who waits for whom is found out once for each way, for all cases; a way that leads to the same is left out.
        """
        conditions = self.different(conditions)
        ways = dict.fromkeys(way for case in cases for way in self._ways(case))
        found = [(way, case, job) for way, job in self._found(list(ways)) for case in cases if way in self._ways(case)]
        rtts_ms = [rtt for variant, rtts in asked if variant.changes is None for rtt in rtts]
        replays = self._run_together(found, rtts_ms, conditions)
        for waiting, case, _ in found:
            calibrated = replays[waiting, case.calibrated]
            fixed = [(variant.at(case), rtt_ms) for variant, rtt_ms in asked]
            made = self._made(calibrated, fixed, case, conditions)
            runtimes = [
                self._runtimes(case, calibrated, job, variant, rtt_ms, conditions)
                for job, (variant, rtt_ms) in zip(made, fixed, strict=True)
            ]
            yield self._nearer(asked, runtimes) if waiting == "unclocked" else runtimes

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Keep the replays made in this block, which take room until it ends."""
        self._kept = {}
        try:
            yield
        finally:
            self._kept = None

    @cached_property
    def here_s(self) -> float:
        """The runtime where every connection has the baseline RTT: that of the capture, if they do."""
        [[[runtime_s]]] = self.runtimes_of([(AS_IT_IS, [self.baseline_ms])], [CENTRAL])
        return float(runtime_s)

    def _run_together(
        self, found: Sequence[tuple[Waiting, Case, _CalibratedJob]], rtts_ms: Sequence[float], conditions: Conditions
    ) -> dict[tuple[Waiting, ReplayNetwork], _CalibratedJob]:
        """The job in each way with the senders of each case: run in one call, as far as is known where."""
        replays: dict[tuple[Waiting, ReplayNetwork], _CalibratedJob] = {}
        kept = self._kept or {}
        networks: dict[tuple[Waiting, ReplayNetwork], dict[ReplayNetwork, list[RttRequest]]] = {}
        for way, case, job in found:
            of = way, case.calibrated
            usual = case.calibrated == CENTRAL.calibrated
            replays.setdefault(of, job if usual else kept.get(of) or _CalibratedJob(job.replay))
            asked = networks.setdefault(of, {ReplayNetwork(): [(None, 0.0)]})
            if self.scopes.of(conditions) is None:
                there = self._asked(case, conditions, rtts_ms)
                asked.setdefault(self._network(case, conditions), []).extend(there)
        new = {
            of: [(there, replays[of].unknown(rtts, there)) for there, rtts in networks[of].items()] for of in replays
        }
        senders = [None if of in kept or of[1] == CENTRAL.calibrated else of[1] for of in replays]
        wanted = [(replays[of].replay, each, None, new[of]) for of, each in zip(replays, senders, strict=True)]
        for of, (replay, over_ns) in zip(replays, run_each(wanted), strict=True):
            replays[of].replay = replay
            for (network, rtts), over in zip(new[of], over_ns, strict=True):
                replays[of].learn(network, rtts, over)
        if self._kept is not None:
            self._kept |= replays
        return replays

    def _asked(self, case: Case, conditions: Conditions, rtts_ms: Sequence[float]) -> list[RttRequest]:
        """Requests for these RTTs."""
        rtts_ns = case.mean_ms(conditions)(np.asarray(rtts_ms, float), np.array(self.baseline_ms)) * 1e6
        return [(rtt_ns, 0.0) for rtt_ns in rtts_ns.tolist()]

    def _made(
        self,
        calibrated: _CalibratedJob,
        asked: Sequence[tuple[Variant, Sequence[float]]],
        case: Case,
        conditions: Conditions,
    ) -> list[_CalibratedJob]:
        """Each variant: made and run in one call, as far as is known where."""
        network, alike = self._network(case, conditions), self.scopes.of(conditions) is None
        unknown = _CalibratedJob(calibrated.replay).unknown
        rtts = {
            variant: unknown(self._asked(case, conditions, rtts_ms), network) if alike else []
            for variant, rtts_ms in asked
            if variant.changes is not None
        }
        made: dict[Variant, _CalibratedJob] = {}
        wanted = [(calibrated.replay, None, variant.changes, [(network, each)]) for variant, each in rtts.items()]
        for (variant, new), (replay, [over_ns]) in zip(rtts.items(), run_each(wanted), strict=True):
            made[variant] = _CalibratedJob(replay)
            made[variant].learn(network, new, over_ns)
        return [made.get(variant, calibrated) for variant, _ in asked]

    def _nearer(self, asked: Sequence[tuple[Variant, Sequence[float]]], runtimes: list[Floats]) -> list[Floats]:
        """NaN where the RTT is no shorter: by its clock a turn may have been due earlier, but no later."""
        return [
            np.where(np.asarray(rtt_ms) < self.baseline_ms, there, np.nan)
            for (_, rtt_ms), there in zip(asked, runtimes, strict=True)
        ]

    def _ways(self, case: Case) -> tuple[Waiting, ...]:
        """Ways of waiting that the job's connections and clocks allow: one connection waits for no other."""
        alone = self.job is None or self.job.connections == 1
        possible = {"evidence", *(() if alone else ("independent", "chained", "joined", "queued")), *self.clocks}
        return tuple(way for way in case.waiting if way in possible)

    @property
    def clocks(self) -> tuple[Waiting, ...]:
        """In which other ways turns may begin: by a clock, though nothing tells; by none, though something does."""
        if self.job is None:
            return ()
        replay = self._central.replay
        return (*(("clocked",) if replay.may_tick else ()), *(("unclocked",) if replay.ticks else ()))

    @property
    def timer(self) -> tuple[int, float]:
        """How many requests a timer of the program starts, and how many ms after each other."""
        if self.job is None:
            return 0, 0.0
        requests, interval_ns = self._central.replay.timer
        return requests, interval_ns * 1000 / NS_PER_S

    def _runtimes(
        self,
        case: Case,
        calibrated: _CalibratedJob,
        made: _CalibratedJob,
        variant: Variant,
        rtt_ms: Sequence[float],
        conditions: Conditions,
    ) -> Floats:
        network = self._network(case, conditions)
        scope, mean = self.scopes.of(conditions), case.mean_ms(conditions)
        asked, saved_s = np.asarray(rtt_ms, float), 0.0
        mean_ms = mean(asked, np.array(self.baseline_ms))
        replay = made if scope is None else _CalibratedJob(scope.of(made.replay, mean))
        there = np.array(replay.run((mean_ms * 1e6).tolist(), network))
        figures = self.figures(variant, made if calibrated is self._central else None)
        if scope is not None:
            saved_s = scope.saved_s(made.replay)
            figures = replace(figures, own_s=max(figures.own_s - saved_s, 0.0))
        kept = self.runtime_s if conditions.loss is None else self.runtime_s - self.loss_s
        without = self.think_s + figures.own_s if variant.changes else kept - self._of_network_s - self._moving_s
        if self._waits_for_locks:  # which the budget takes for service, and the replay for what others do
            [nearest_ns] = replay.run([0.0], network)
            without = min(without, kept + (nearest_ns - calibrated.as_it_was_ns) / NS_PER_S)
        least = max(without - saved_s, self.bits * network.compressed / network.bandwidth, 0.0)
        longer_s = (there - calibrated.as_it_was_ns) / NS_PER_S
        if made.replay.queues:  # it ends with the mean of their lanes; how much later the last one was grows with all
            longer_s = longer_s * kept / max(calibrated.as_it_was_ns / NS_PER_S, 1e-9)
        replayed: Floats = np.maximum(kept + longer_s, least)
        turns = max(figures.seconds_per_ms * 1000, 1.0)
        moving = [(1.0, self.baseline_ms, asked)] if scope is None else scope.rtts_of(asked)
        rested = [part * self._rested_s(case, figures, was, rtts) for part, was, rtts in moving]
        rested_s: Floats = sum(rested, np.zeros(len(asked)))
        own_s = case.own_s(figures.own_s + np.minimum(rested_s, 0), turns, self.baseline_ms, asked)
        differs_s = own_s - figures.own_s + np.maximum(rested_s, 0)
        left = np.clip((replayed - self.think_s) / max(figures.own_s, 1e-9), 0, 1)  # transfers in it become shorter
        runtime: Floats = replayed + differs_s * left
        if case.network.baseline > 0 and scope is None and not variant.changes and not made.replay.queues:
            runtime = np.maximum(runtime, self._longest * mean_ms / 1000)
        work = min(figures.own_s / self._figures.own_s, 1.0) if self._figures.own_s > 0 else 1.0
        if conditions.connections is None:
            if case.capacity_bound is None or self._alone:
                return runtime
            here_s = kept + figures.over_s - self._figures.over_s
            return self.closed_network.elsewhere(runtime, replayed - here_s, case.capacity_bound, work)
        farther_ms = mean_ms - self.baseline_ms
        if scope is not None:
            farther_ms = sum((part * (rtts - was) for part, was, rtts in moving), np.zeros(len(asked)))
        return self.closed_network.runtime(
            runtime, farther_ms / 1000, conditions.connections, case.capacity_bound or 0, work
        )

    def _network(self, case: Case, conditions: Conditions) -> ReplayNetwork:
        """The network there, but for its RTT."""
        network = case.network
        if (conditions.bandwidth_bps, conditions.compression) != (None, None):
            self._central.replay.weigh()
        if conditions.bandwidth_bps is not None:
            network = replace(network, bandwidth=conditions.bandwidth_bps)
        if conditions.window_bytes is not None:
            network = replace(network, receiver_bytes=case.buffer * conditions.window_bytes, receive_window_scale=1.0)
        if conditions.compression is not None:
            cost_ns = case.compressing * COMPRESSION_NS_PER_BYTE * math.sqrt(conditions.compression)
            network = replace(network, compressed=conditions.compression, compressing_ns=cost_ns)
        if conditions.loss is not None:
            network = replace(network, loss=self._lost(conditions.loss, case.loss_sigma))
        return network

    def parts_there(
        self, variant: Variant, rtt_ms: Sequence[float] | None, conditions: Conditions | None = None
    ) -> Iterator[dict[str, float]]:
        """The parts of the captured budget in seconds, each with what the replay adds to it (or takes off) at each RTT.

        `None` stands for the RTTs as they were. `setup_network` is the network's part of `setup`. What clients and
        servers take themselves gets less only where they do less: what hides behind the waits of others is still there.
        """
        conditions = conditions or self.as_usual
        replay, scope, mean = self._central.of(variant).replay, self.scopes.of(conditions), CENTRAL.mean_ms(conditions)
        think_ns = self.timeline.think_above_s * NS_PER_S
        asked_ns: list[float | None] = [None]
        if rtt_ms is not None:
            replay = replay if scope is None else scope.of(replay, mean)
            asked_ns = (mean(np.asarray(rtt_ms, float), np.array(self.baseline_ms)) * 1e6).tolist()
        captured_s = {**self.timeline.parts_s}
        if conditions.loss is not None:
            captured_s["loss"] = 0.0  # another network's
        network = self._network(CENTRAL, conditions)
        if (replay, network) == (self._central.replay, ReplayNetwork()) and "_parts_ns" not in self.__dict__:
            *found, self._parts_ns = replay.parts([*asked_ns, None], network, think_ns)  # the processors share them
        else:
            found = replay.parts(asked_ns, network, think_ns)
        was_ns, own_was_ns = self._parts_ns
        worth = {name: was_ns[name] / alone_ns if alone_ns > 0 else 0.0 for name, alone_ns in own_was_ns.items()}
        for part_ns, own_ns in found:
            there_s = {
                name: seconds + (part_ns[name] - was_ns[name]) / NS_PER_S for name, seconds in captured_s.items()
            }
            more_s = {name: worth[name] * (own_ns[name] - own_was_ns[name]) / NS_PER_S for name in own_ns}
            kept_s = {name: max(captured_s[name] + more_s[name], there_s[name], 0.0) for name in more_s}
            yield _with_own(there_s, kept_s)

    @cached_property
    def _parts_ns(self) -> tuple[dict[str, float], dict[str, float]]:
        """The parts of the replay as it was, and what clients and servers took themselves."""
        [part_ns] = self._central.replay.parts([None], ReplayNetwork(), self.timeline.think_above_s * NS_PER_S)
        return part_ns

    def _rested_s(self, case: Case, figures: BaselineFigures, baseline_ms: float, rtt_ms: Floats) -> Floats:
        """Return how much more of their own time client and server spend at each RTT, as they rest longer."""
        if case.rests is None:
            return np.zeros(len(rtt_ms))
        turns, budget = max(figures.seconds_per_ms * 1000, 1.0), self.timeline.budget
        hosts_s, own_ms = budget.client_s + budget.service_s, 1000 * figures.own_s / turns
        client_ms = own_ms * (budget.client_s / hosts_s if hosts_s > 0 else 0.5)
        own = client_ms, own_ms - client_ms
        at_once = (self._at_once,) if case.rests == 0 else (1.0, self._at_once)
        longer_ms = [self._longer_ms(case.rests, baseline_ms, rtt_ms, own, several) for several in at_once]
        return turns * extreme(case.rests, longer_ms) / 1000

    def _longer_ms(
        self, end: int, baseline_ms: float, rtt_ms: Floats, own_ms: tuple[float, float], at_once: float
    ) -> Floats:
        """How much longer a request takes where each host rests for the RTT and while the other works.

        Where several work `at_once`, the packets of one shorten the rest of the others.
        """
        longer_ms = np.zeros(len(rtt_ms))
        for host, own, others_ms in zip(self.hosts, own_ms, self._others_ms, strict=True):
            rests_ms, rests_there_ms = baseline_ms + others_ms, rtt_ms[:, None] + others_ms
            longer_ms += host.longer_ms(end, rests_ms / at_once, rests_there_ms / at_once, own)
        return longer_ms

    def _lost(self, loss: float, sigma: float) -> float:
        """The part of the packets that is lost where it matters: to the unluckiest of those that work side by side."""
        from statistics import NormalDist

        at_once = self._at_once
        expected = loss * self._central.replay.segments / at_once
        unluckiest = NormalDist().inv_cdf((at_once - 0.375) / (at_once + 0.25))
        return min(max(loss * (1 + (sigma + unluckiest) / math.sqrt(expected)), 0.0), 1.0) if expected > 0 else 0.0

    # --- concurrency --------------------------------------------------------------------------------------------------

    @property
    def _at_once(self) -> float:
        """How many work side by side."""
        return max(self.round_trips / self.effective_round_trips, 1.0) if self.effective_round_trips else 1.0

    @property
    def connections(self) -> int | None:
        """How many worked at once in the capture, to the nearest; `None` where no baseline is known."""
        return None if self.job is None else max(round(self.closed_network.workers), 1)

    @cached_property
    def _alone(self) -> bool:
        """Whether one connection did all of the work: it meets nobody, at the hosts or at a lock."""
        assert self.job is not None
        return self.job.is_one_connections

    @cached_property
    def _waits_for_locks(self) -> bool:
        return self.job is not None and self._central.replay.waits_for_locks

    @cached_property
    def closed_network(self) -> ClosedNetwork:
        """Who works side by side, and where they meet."""
        assert self.job is not None
        rtt_s = self.baseline_ms / 1000
        return closed_network(
            self._central.replay, self._at_once, self.runtime_s, rtt_s, unreadable=self.job.unreadable
        )

    def different(self, conditions: Conditions | None) -> Conditions:
        """Return what is different there: as many connections as there were are not."""
        conditions = conditions or self.as_usual
        same = conditions.connections is not None and conditions.connections == self.connections
        return replace(conditions, connections=None) if same else conditions

    def limit(self, conditions: Conditions, rtt_ms: float) -> Limit | None:
        """The limit of what so many connections get done, where so many were asked for."""
        if conditions.connections is None or self.job is None:
            return None
        limit = self.closed_network.limit((rtt_ms - self.baseline_ms) / 1000, conditions.connections)
        return None if limit.kind == "none" and self.different(conditions).connections is None else limit

    def is_observed(self, conditions: Conditions, rtt_ms: float) -> bool:
        """The runtime there is the capture's own, as nothing is different."""
        return self.is_measured and self.different(conditions).is_rtt_alone and is_same_rtt(rtt_ms, self.baseline_ms)

    def method(self, conditions: Conditions, rtt_ms: float, runtime_s: float) -> str:
        """How a runtime came about: observed, replayed, or limited by what bounds it there."""
        if self.is_observed(conditions, rtt_ms):
            return OBSERVED
        limits_s = {"capacity": 0.0}
        if self.job is not None and not (self._alone and conditions.connections is None):
            farther_s = (rtt_ms - self.baseline_ms) / 1000
            limits_s["capacity"] = HOST_LIMIT_MARGIN * self.closed_network.limited_s(farther_s, conditions.connections)
        if conditions.bandwidth_bps is not None:
            left = 1.0 if conditions.compression is None else conditions.compression
            limits_s["bandwidth"] = HOST_LIMIT_MARGIN * self.bits * left / conditions.bandwidth_bps
        name = max(limits_s, key=limits_s.__getitem__)
        return f"limited by {name}" if 0 < runtime_s <= limits_s[name] * (1 + 1e-9) else "replayed"

    def next_ms_s(self, variant: Variant, conditions: Conditions) -> float:
        """Cost of the next millisecond for what moves."""
        scope = self.scopes.of(conditions)
        if scope is None or self.job is None or not (conditions.moved or (self.job.beyond and self.job.beyond.any_far)):
            return self.figures(variant).seconds_per_ms
        return scope.next_ms_s(self._central.of(variant).replay)

    # --- figures ------------------------------------------------------------------------------------------------------

    def figures(self, variant: Variant, replay: _CalibratedJob | None = None) -> BaselineFigures:
        """The variant's times at the capture's RTTs; `replay`: its central one, where it is at hand."""
        if variant.changes is None:
            return self._figures
        if variant not in self._known:
            over_s, longer_s = self._at_baseline(replay or self._central.of(variant))
            seconds_per_ms = longer_s - over_s
            gone_s = self._without_network(*self._points) - self._without_network(over_s, longer_s)
            left_s = self.runtime_s + over_s - self._points[0] - seconds_per_ms * self.baseline_ms - self.think_s
            own_s = max(min(self._figures.own_s - max(gone_s, 0.0), left_s), 0.0)
            self._known[variant] = BaselineFigures(own_s, seconds_per_ms, over_s)
        return self._known[variant]

    @cached_property
    def _figures(self) -> BaselineFigures:
        own_s = max(self.runtime_s - self._of_network_s - self.think_s, 0.0)
        return (
            BaselineFigures(own_s, self._points[1] - self._points[0], self._points[0])
            if self.job
            else BaselineFigures(own_s, 0.0, 0.0)
        )

    @property
    def _of_network_s(self) -> float:
        """Time that would be gone without any network: delayed acknowledgments travel, too."""
        return self.network_s + self.timeline.stalls_network_s

    @cached_property
    def _points(self) -> tuple[float, float]:
        return self._at_baseline(self._central)

    def _at_baseline(self, replay: _CalibratedJob) -> tuple[float, float]:
        """When the job is over at the RTTs of the capture, and where these are a millisecond longer (s).

        Windows open in steps of an RTT: where a sender meets one a step earlier, the job may even be over sooner with
        the next millisecond, and later again with those that follow. Then it is their mean, over a longer RTT.
        """
        over_ns = replay.as_it_was_ns
        for added_ms in (1.0, *(max(self.baseline_ms, 1.0) * longer for longer in SPANS)):
            [later_ns] = replay.run([None], CENTRAL.network, added_ms * 1e6)
            if later_ns >= over_ns:
                return over_ns / NS_PER_S, (over_ns + (later_ns - over_ns) / added_ms) / NS_PER_S
        return over_ns / NS_PER_S, over_ns / NS_PER_S

    def _without_network(self, over_s: float, longer_s: float) -> float:
        """When it would be over at an RTT of zero, in a straight line."""
        return over_s - (longer_s - over_s) * self.baseline_ms

    @property
    def seconds_per_ms(self) -> float:
        """Cost of the next millisecond of RTT."""
        return self._figures.seconds_per_ms

    @property
    def effective_round_trips(self) -> float:
        """The round trips that the runtime grows by: parallel ones count once, TCP handshakes count too."""
        return self.seconds_per_ms * 1000 if self.job else self._counted_once

    @cached_property
    def work(self) -> Work:
        """The kind of work."""
        return self._shares.work(self._at_once)

    @cached_property
    def _central(self) -> _CalibratedJob:
        assert self.job is not None
        return _CalibratedJob(self.job.replay(CENTRAL.calibrated, CENTRAL.waiting[0]))

    def _found(self, ways: Sequence[Waiting]) -> Iterator[tuple[Waiting, _CalibratedJob]]:
        """The job with who waits for whom: all but where turns start is the central one's, or even that."""
        of = {way: (way, CENTRAL.calibrated) for way in ways if way != CENTRAL.waiting[0]}
        jobs = {} if self._kept is None else self._kept
        if others := [way for way in of if of[way] not in jobs]:
            for way, replay in zip(others, self._central.replay.otherwise(CENTRAL.calibrated, others), strict=True):
                jobs[of[way]] = _CalibratedJob(replay) if replay else None
                del replay
        for way in ways:
            if way not in of:
                yield way, self._central
            elif job := jobs[of[way]] if self._kept is not None else jobs.pop(of[way]):
                yield way, job


def ratio(rtt_ms: Floats, baseline_ms: float) -> Floats:
    """Return the longer RTT ÷ the shorter one."""
    found: Floats = np.maximum(rtt_ms, baseline_ms) / np.maximum(np.minimum(rtt_ms, baseline_ms), 1e-9)
    return found


def is_same_rtt(rtt_ms: float, baseline_ms: float) -> bool:
    """Two RTTs differ by no more than measurements of one do.

    >>> is_same_rtt(15.0, 15.018), is_same_rtt(15.0, 14.2), is_same_rtt(0.0, 0.0)
    (True, False, True)
    """
    return rtt_ms == baseline_ms or float(ratio(np.array(rtt_ms), baseline_ms)) <= MAX_SAME_RATIO


def _with_own(part_s: Mapping[str, float], own_s: Mapping[str, float]) -> dict[str, float]:
    """Divide the time again: clients and servers take `own_s`, and the other parts the rest, in their ratio."""
    others_s = {name: max(seconds, 0.0) for name, seconds in part_s.items() if name not in own_s}
    total_s = max(sum(part_s.values()) - part_s["setup_network"], 0.0)
    all_own_s, all_others_s = sum(own_s.values()), sum(others_s.values()) - others_s["setup_network"]
    own = min(total_s / all_own_s, 1.0) if all_own_s > 0 else 1.0
    left_s = total_s - own * all_own_s
    if all_others_s <= 0:
        others_s["network"], all_others_s = left_s, left_s
    others = left_s / all_others_s if all_others_s > 0 else 1.0
    scaled = {name: others * seconds for name, seconds in others_s.items()}
    return scaled | {name: own * seconds for name, seconds in own_s.items()}


def basis(
    recording: Recording,
    rtt: Estimate,
    timeline: BudgetTimeline,
    rtt_is: RttIs,
    rests: Rests,
) -> Basis:
    """Sum up what the projection needs. Connections without a baseline take the median of the others."""
    usual = usual_ns(recording, rtt, timeline.round_trips)
    job = None if math.isnan(usual) else Job(recording, rtt, timeline.job, usual)
    longest = longest_ns(rtt, timeline.round_trips)
    return Basis(recording, timeline, job, usual, rtt_is, longest, rests, rests_beside_rtt_ms(recording, rtt))
