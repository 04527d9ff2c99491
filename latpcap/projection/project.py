"""The runtime at another RTT: the job replayed on another network, and how sure that is.

```text
runtime(L) = observed + replay(L) − replay(as it was)
```

The replay computes anew what the network takes; think time, client time and service stay as observed, and so the
projection at the baseline is the observation. The range comes from assumptions with names (`ASSUMPTIONS`);
docs/model.md C.4 and C.6 say how they were calibrated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from latpcap.display import Plotted
from latpcap.measures.budget import Timeline
from latpcap.projection.fetches import FetchSaving
from latpcap.projection.job import Changes, Job, Network, Replay, Waiting
from latpcap.projection.saturation import capacity_per_s
from latpcap.rtt import Baselines
from latpcap.tables.recording import Recording
from latpcap.units import format_ms, format_s

__all__ = [
    "ASSUMPTIONS",
    "DEFAULT_LADDER_MS",
    "Assumption",
    "Basis",
    "Conditions",
    "LatencyBudget",
    "Point",
    "Projection",
    "basis",
    "project",
]

Floats = NDArray[np.float64]

DEFAULT_LADDER_MS = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 50.0, 100.0)

RTT_SPREAD = 0.04
"""The mean RTT differs from the asked one by so much."""
LESS_WORK, MORE_WORK = 0.7, 1.4
"""Client and server take so much of the time that they took themselves in the capture."""
WAKING = (0.3, 0.05, 0.7)
MUCH_WAKING = (1.0, 0.1, 0.95)
"""Hosts that wait longer for the next packet are slower to wake up: what a turn's own time loses for every tenth of
the RTT (ms), and at most (as a part of the RTTs' difference, and of its own time). Measured; docs/model.md C.6."""
LOSS_SPREAD = 2.0
"""Standard deviations of the number of lost packets, which is random (Poisson)."""
WITH_HEADERS = 1500 / 1448
"""A full packet ÷ what it carries, on Ethernet."""
LARGEST_RTT_MS = 60_000.0
"""Where the search for a latency budget ends."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """One named reason why the range is as wide as it is."""

    name: str
    case: str
    text: str


ASSUMPTIONS = (
    Assumption("baseline high", "optimistic", "the baseline RTT was at the high end of its range"),
    Assumption("baseline low", "pessimistic", "the baseline RTT was at the low end of its range"),
    Assumption("mean RTT", "both", f"the mean RTT is within {RTT_SPREAD:.0%} of the asked one"),
    Assumption("own time", "both", f"client and server take {LESS_WORK:.0%} to {MORE_WORK:.0%} of the time they took"),
    Assumption("waking up", "both", "nearer hosts, which wait less for each packet, are quicker to go on; or are not"),
    Assumption("luck", "both", f"the number of lost packets strays by {LOSS_SPREAD:g} standard deviations (`--loss`)"),
    Assumption("windows kept", "optimistic", "pauses do not make senders start slowly again"),
    Assumption("slow windows", "pessimistic", "TCP windows grow by half a round trip, not by doubling"),
    Assumption("side by side", "optimistic", "no connection waits for another one that is open"),
    Assumption("one after the other", "pessimistic", "what never ran at the same time waits for each other"),
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What else is different at the other place."""

    bandwidth_bps: float | None = None
    """The bottleneck in bits a second; `None`: as much as the capture needed."""
    loss: float | None = None
    """The part of the packets that is lost, 0 to 1; `None`: what was lost in the capture stays as it was."""
    jitter_ms: float = 0.0
    """How far the RTT strays to either side of its mean."""
    connections: int | None = None
    """How many connections work at once, each as those of the capture did; `None`: as many as there were."""


@dataclass(frozen=True, slots=True)
class Point:
    """The runtime at one RTT; optimistic_s ≤ runtime_s ≤ pessimistic_s, `None` where the baseline is unknown."""

    rtt_ms: float
    runtime_s: float | None
    optimistic_s: float | None
    pessimistic_s: float | None
    throughput_per_s: float | None
    """Statements per second of runtime."""


@dataclass(frozen=True, slots=True)
class LatencyBudget:
    """The largest RTT that still meets a target runtime."""

    target_s: float
    rtt_ms: float | None
    """`None` where no RTT meets it, or every RTT does."""
    text: str


@dataclass(frozen=True, slots=True)
class Projection(Plotted):
    """The runtimes at the asked RTTs, in the asked order."""

    baseline_rtt_ms: float | None
    points: tuple[Point, ...]
    seconds_per_ms: float | None
    within: LatencyBudget | None = None
    fetches: tuple[FetchSaving, ...] = ()
    """Statements that fetch few rows at a time, and what larger fetches would save."""
    assumptions: tuple[Assumption, ...] = ASSUMPTIONS
    conditions: Conditions = field(default_factory=Conditions)
    capacity_per_s: float | None = None
    """Answers that the server can give in a second, where another number of connections was asked for and the capture
    shows that limit."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way in which things may be: who waits for whom, and on what network."""

    waiting: tuple[Waiting, ...]
    """The range takes the end of all of them."""
    network: Network
    learned: Network = field(default_factory=Network)
    """How the transfers of the capture are taken to have gone."""
    rtt: float = 1.0
    """Mean RTT ÷ asked RTT."""
    work: float = 1.0
    """Own time of client and server ÷ what was observed."""
    jitter: float = 0.0
    """How much of the jitter is added to each RTT."""
    luck: float = 0.0
    """How many standard deviations more packets are lost than on average."""
    waking: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """What turns lose of their own time at a lower RTT, see `WAKING`."""


ANY: tuple[Waiting, ...] = ("evidence", "independent", "chained")
SLOW_GROWTH = 1.5
CENTRAL = Case(("evidence",), Network(), waking=WAKING)
OPTIMISTIC = Case(
    ANY,
    Network(restarts=False, baseline=1),
    Network(growth=SLOW_GROWTH),
    rtt=1 - RTT_SPREAD,
    work=LESS_WORK,
    luck=-LOSS_SPREAD,
    waking=MUCH_WAKING,
)
PESSIMISTIC = Case(
    ANY,
    Network(growth=SLOW_GROWTH, baseline=-1),
    rtt=1 + RTT_SPREAD,
    work=MORE_WORK,
    jitter=1.0,
    luck=LOSS_SPREAD,
)


@dataclass(frozen=True, slots=True)
class Learned:
    """The job, ready to be replayed, and when it is over on the network that it was captured on."""

    replay: Replay
    as_it_was_ns: float


class Basis:
    """What a projection starts from: the observed job, ready to be replayed."""

    def __init__(self, recording: Recording, timeline: Timeline, job: Job | None, usual: float) -> None:
        """Take the observed figures; `job` is `None` and `usual` NaN where no baseline is known (ns)."""
        exchanges, budget = recording.exchanges, timeline.budget
        self.runtime_s = timeline.runtime_s
        self.network_s = budget.network_s + timeline.setup_network_s
        """What would be gone without any network."""
        self.think_s, self.loss_s, self.transfer_s = budget.think_s, budget.loss_s, budget.transfer_s
        self.statements = int(exchanges.is_execution.sum()) or int(
            ((exchanges.round_trips > 0) & ~exchanges.is_setup).sum()
        )
        self.round_trips = float(timeline.round_trips.sum())
        """TCP handshakes included."""
        payload = max(int(exchanges.request_bytes.sum()), int(exchanges.response_bytes.sum()))
        self.bits = 8 * payload * WITH_HEADERS
        """What went the way that more went."""
        self.job = job
        self.baseline_ms = usual / 1e6
        """Median over connections, weighted by their round trips; NaN where unknown."""
        self._counted_once = float(timeline.effective.sum())

    def runtimes(self, case: Case, rtt_ms: Sequence[float], conditions: Conditions) -> list[Floats]:
        """The runtimes in seconds at each RTT, for every way of waiting that `case` takes for possible."""
        ways = case.waiting if self.job is None or len(self.job.opened) > 1 else case.waiting[:1]
        return [self._runtimes(case, self._learned(case, waiting), rtt_ms, conditions) for waiting in ways]

    def _runtimes(self, case: Case, learned: Learned, rtt_ms: Sequence[float], conditions: Conditions) -> Floats:
        network = case.network
        if conditions.bandwidth_bps is not None:
            network = replace(network, bandwidth=conditions.bandwidth_bps)
        if conditions.loss is not None:
            network = replace(network, loss=self._lost(conditions.loss, case.luck))
        strayed = case.jitter * conditions.jitter_ms
        there = np.array(learned.replay.run([(rtt * case.rtt + strayed) * 1e6 for rtt in rtt_ms], network))
        kept = self.runtime_s if conditions.loss is None else self.runtime_s - self.loss_s
        least = max(kept - self.network_s - self.transfer_s, self.bits / network.bandwidth)
        replayed: Floats = np.maximum(kept + (there - learned.as_it_was_ns) / 1e9, least)
        own_s = case.work * (self.own_s - self._quicker_s(case, rtt_ms))
        runtime: Floats = replayed - self.own_s + own_s
        if conditions.connections is None:
            return runtime
        return np.maximum(runtime * self._crowd(conditions.connections), case.work * self._served_s)

    def saved_s(self, changes: Changes, rtt_ms: Sequence[float]) -> list[float]:
        """How many seconds of the central runtime the changes save at each RTT."""
        replay = self._central.replay
        rtts: list[float | None] = [rtt * 1e6 for rtt in rtt_ms]
        before, after = (np.array(job.run(rtts, CENTRAL.network)) for job in (replay, replay.changed(changes)))
        return [float(seconds) for seconds in np.maximum(before - after, 0) / 1e9]

    def _quicker_s(self, case: Case, rtt_ms: Sequence[float]) -> Floats:
        """What client and server spend less of their own time at each RTT below the baseline."""
        if self.baseline_ms <= 0:
            return np.zeros(len(rtt_ms))
        turns = max(self.effective_round_trips, 1.0)
        each_tenth, of_difference, of_own = case.waking
        there = np.clip(rtt_ms, self.baseline_ms / 1000, self.baseline_ms)
        quicker = np.minimum(
            each_tenth * np.log10(self.baseline_ms / there), of_difference * (self.baseline_ms - there)
        )
        return np.asarray(turns * np.minimum(quicker / 1000, of_own * self.own_s / turns))

    def _lost(self, loss: float, luck: float) -> float:
        """The part of the packets that is lost where it matters: to the unluckiest of those that work side by side."""
        assert self.job is not None
        at_once = self._at_once
        segments = float(self.job.request_segments.sum() + self.job.response_segments.sum())
        expected = loss * segments / at_once
        unluckiest = NormalDist().inv_cdf((at_once - 0.375) / (at_once + 0.25))
        return min(max(loss * (1 + (luck + unluckiest) / math.sqrt(expected)), 0.0), 1.0) if expected > 0 else 0.0

    @property
    def _at_once(self) -> float:
        """How many work side by side."""
        return max(self.round_trips / self.effective_round_trips, 1.0) if self.effective_round_trips else 1.0

    @cached_property
    def capacity_per_s(self) -> float | None:
        """Answers that the server can give in a second, where the capture shows its limit."""
        return None if self.job is None else capacity_per_s(self.job)

    @property
    def _served_s(self) -> float:
        """What the server needs for all answers at its limit."""
        assert self.job is not None
        answers = int(((self.job.round_trips > 0) & ~self.job.setup).sum())
        return answers / self.capacity_per_s if self.capacity_per_s else 0.0

    def _crowd(self, connections: int) -> float:
        """The runtime's factor where so many connections share the work, each at the pace of those of the capture."""
        return self._at_once / connections

    @property
    def own_s(self) -> float:
        """What client and server spent themselves."""
        return max(self.runtime_s - self.network_s - self.think_s, 0.0)

    @cached_property
    def seconds_per_ms(self) -> float:
        """What the next millisecond of RTT adds."""
        then = self._central.replay.run([None], replace(CENTRAL.network, added_ns=1e6))[0]
        return (then - self._central.as_it_was_ns) / 1e9

    @property
    def effective_round_trips(self) -> float:
        """The round trips that the runtime grows by: parallel ones count once, TCP handshakes count too."""
        return self.seconds_per_ms * 1000 if self.job else self._counted_once

    @cached_property
    def _central(self) -> Learned:
        return self._learn(CENTRAL.learned, CENTRAL.waiting[0])

    def _learned(self, case: Case, waiting: Waiting) -> Learned:
        """The job as `case` learns it; only the central one is worth its memory for longer than it takes to run."""
        if (case.learned, waiting) == (CENTRAL.learned, CENTRAL.waiting[0]):
            return self._central
        return self._learn(case.learned, waiting)

    def _learn(self, network: Network, waiting: Waiting) -> Learned:
        assert self.job is not None
        replay = Replay(self.job, network, waiting)
        return Learned(replay, replay.run([None], Network())[0])


def basis(recording: Recording, baselines: Baselines, timeline: Timeline) -> Basis:
    """Sum up what the projection needs. Connections without a baseline take the median of the others."""
    usual = _weighted_median(baselines.baseline, timeline.round_trips)
    low, central, high = (
        np.where(np.isnan(values), usual, values) for values in (baselines.low, baselines.baseline, baselines.high)
    )
    job = None if math.isnan(usual) else Job.of(recording, baselines, central, low, high)
    return Basis(recording, timeline, job, usual)


def project(
    base: Basis,
    rtt_ms: Sequence[float] | None = None,
    within_s: float | None = None,
    conditions: Conditions | None = None,
) -> Projection:
    """Project `base` onto each RTT of `rtt_ms` (default: a ladder), and find the RTT that meets `within_s`."""
    asked = [float(rtt) for rtt in (DEFAULT_LADDER_MS if rtt_ms is None else rtt_ms)]
    conditions = conditions or Conditions()
    known = base.job is not None
    return Projection(
        baseline_rtt_ms=base.baseline_ms if known else None,
        points=tuple(_points(base, asked, conditions))
        if known
        else tuple(Point(rtt, None, None, None, None) for rtt in asked),
        seconds_per_ms=base.seconds_per_ms if known else None,
        within=None if within_s is None else _latency_budget(base, within_s, conditions),
        conditions=conditions,
        capacity_per_s=base.capacity_per_s if known and conditions.connections else None,
    )


def _points(base: Basis, asked: Sequence[float], conditions: Conditions) -> list[Point]:
    [central] = base.runtimes(CENTRAL, asked, conditions)
    ends = [*base.runtimes(OPTIMISTIC, asked, conditions), *base.runtimes(PESSIMISTIC, asked, conditions)]
    low, high = np.minimum.reduce([central, *ends]), np.maximum.reduce([central, *ends])
    return [
        Point(rtt, float(runtime), float(least), float(most), base.statements / float(runtime) if runtime > 0 else None)
        for rtt, runtime, least, most in zip(asked, central, low, high, strict=True)
    ]


def _latency_budget(base: Basis, target_s: float, conditions: Conditions) -> LatencyBudget:
    """Solve the central projection for the RTT."""
    target = format_s(target_s)
    if base.job is None:
        return LatencyBudget(target_s, None, f"The RTT for {target} is unknown, because the baseline RTT is.")

    def runtime_s(rtt_ms: float) -> float:
        return float(base.runtimes(CENTRAL, [rtt_ms], conditions)[0][0])

    if runtime_s(0.0) > target_s:
        text = f"{target} cannot be met: {format_s(runtime_s(0.0))} would remain without any network."
        return LatencyBudget(target_s, None, text)
    if runtime_s(LARGEST_RTT_MS) <= target_s:
        return LatencyBudget(target_s, None, f"{target} is met at any RTT: nothing waits for the network.")
    rtt_ms = _last_below(runtime_s, target_s, 0.0, LARGEST_RTT_MS)
    return LatencyBudget(target_s, rtt_ms, f"{target} is met up to an RTT of {format_ms(rtt_ms)}.")


def _last_below(value: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a function that rises through `target` between `low` and `high` meets it (regula falsi, Illinois)."""
    below, above, side = value(low) - target, value(high) - target, 0
    while high - low > 1e-6 * high:
        middle = high - above * (high - low) / (above - below)
        here = value(middle) - target
        if abs(here) <= 1e-9 * target:
            return middle
        if here < 0:
            low, below, above, side = middle, here, above / 2 if side < 0 else above, -1
        else:
            high, above, below, side = middle, here, below / 2 if side > 0 else below, 1
    return low


def _weighted_median(values: Floats, weights: Floats) -> float:
    """The median of `values` that are known, each counted `weights` times; NaN when none is."""
    known = ~np.isnan(values)
    order = np.argsort(values[known])
    values, weights = values[known][order], weights[known][order]
    if len(values) == 0:
        return math.nan
    reached = np.cumsum(weights)
    return float(values[min(int(np.searchsorted(reached, reached[-1] / 2)), len(values) - 1)])
