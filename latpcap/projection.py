"""The runtime at another RTT, first form: what was observed plus the effective round trips times the difference.

```text
runtime(L) = observed + Σ n·(L − L0), never less than observed − network     n: effective round trips, L0: baseline
```

Round trips are counted by their weight (parallel work once) and include the TCP handshakes. Think time, client time,
service and transfer stay as observed. The range comes from assumptions with names; see docs/model.md C.3 and C.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.budget import Timeline
from latpcap.durations import format_ms, format_s
from latpcap.fetches import FetchSaving
from latpcap.lanes import lanes
from latpcap.recording import Recording
from latpcap.rtt import Baselines

__all__ = [
    "ASSUMPTIONS",
    "DEFAULT_LADDER_MS",
    "Assumption",
    "Basis",
    "LatencyBudget",
    "Point",
    "Projection",
    "basis",
    "project",
]

DEFAULT_LADDER_MS = (0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 50.0, 100.0)

MSS_BYTES = 1460
INITIAL_WINDOW = 10
"""Segments that a sender may send at once (IW10, RFC 6928); after them the window doubles every round trip."""
JITTER = 0.02
"""The mean RTT lies above the asked one by so much in the pessimistic case."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """One named reason why the range is as wide as it is."""

    name: str
    case: str
    text: str


ASSUMPTIONS = (
    Assumption("baseline high", "optimistic", "the baseline RTT was at the high end of its range"),
    Assumption("baseline low", "pessimistic", "the baseline RTT was at the low end of its range"),
    Assumption("slow start", "pessimistic", "every response beyond 10 segments starts with a fresh TCP window"),
    Assumption("jitter", "pessimistic", f"the mean RTT is {JITTER:.0%} above the asked one"),
    Assumption("side by side", "both", "connections that are open at the same time do not wait for each other"),
)


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
class Projection:
    """The runtimes at the asked RTTs, in the asked order."""

    baseline_rtt_ms: float | None
    points: tuple[Point, ...]
    seconds_per_ms: float | None
    within: LatencyBudget | None = None
    fetches: tuple[FetchSaving, ...] = ()
    """Statements that fetch few rows at a time, and what larger fetches would save."""
    assumptions: tuple[Assumption, ...] = ASSUMPTIONS

    def plot(self) -> Any:
        """An Altair chart of the runtime over the RTT with its range (extra `notebook`)."""
        from latpcap.plot import plot_projection

        return plot_projection(self)


@dataclass(frozen=True, slots=True)
class Basis:
    """What a projection starts from; times in seconds, RTTs in ms."""

    runtime_s: float
    network_s: float
    """What would be gone without any network."""
    effective_round_trips: float
    network_low_s: float
    """Effective round trips × baseline, with the baseline at the low end of its range."""
    network_central_s: float
    network_high_s: float
    slow_start_rounds: float
    baseline_ms: float
    """Median over connections, weighted by their round trips; NaN where unknown."""
    statements: int
    lane_end_s: NDArray[np.float64]
    """When the last connection of each lane (see `latpcap.lanes`) was over."""
    lane_trips: NDArray[np.float64]
    lane_low_s: NDArray[np.float64]
    """The round trips of each lane × their baseline at the low end of its range."""
    lane_high_s: NDArray[np.float64]
    """The same at the high end."""


def basis(recording: Recording, baselines: Baselines, timeline: Timeline) -> Basis:
    """Sum up what the projection needs. Connections without a baseline take the median of the others."""
    exchanges = recording.exchanges
    usual = _weighted_median(baselines.baseline, timeline.round_trips)
    low, central, high = (
        np.where(np.isnan(values), usual, values) for values in (baselines.low, baselines.baseline, baselines.high)
    )
    effective = timeline.effective
    rounds = _slow_start_rounds(exchanges.response_bytes) * timeline.weight
    executions = int(exchanges.is_execution.sum())
    known = not math.isnan(usual)
    ends = _ends(recording)
    lane = lanes(recording.connections.start.astype(float), ends)
    lane_end = np.zeros(int(lane.max(initial=-1)) + 1)
    np.maximum.at(lane_end, lane, ends)
    return Basis(
        runtime_s=timeline.runtime_s,
        network_s=timeline.budget.network_s + timeline.setup_network_s,
        effective_round_trips=float(effective.sum()),
        network_low_s=float(effective @ low) / 1e9 if known else math.nan,
        network_central_s=float(effective @ central) / 1e9 if known else math.nan,
        network_high_s=float(effective @ high) / 1e9 if known else math.nan,
        slow_start_rounds=float(rounds.sum()),
        baseline_ms=usual / 1e6,
        statements=executions or int(((exchanges.round_trips > 0) & ~exchanges.is_setup).sum()),
        lane_end_s=lane_end / 1e9,
        lane_trips=np.bincount(lane, timeline.round_trips).astype(float),
        lane_low_s=np.bincount(lane, timeline.round_trips * low) / 1e9,
        lane_high_s=np.bincount(lane, timeline.round_trips * high) / 1e9,
    )


def project(base: Basis, rtt_ms: Sequence[float] | None = None, within_s: float | None = None) -> Projection:
    """Project `base` onto each RTT of `rtt_ms` (default: a ladder), and find the RTT that meets `within_s`."""
    asked = DEFAULT_LADDER_MS if rtt_ms is None else rtt_ms
    known = not math.isnan(base.baseline_ms)
    return Projection(
        baseline_rtt_ms=base.baseline_ms if known else None,
        points=tuple(_point(base, float(rtt)) for rtt in asked),
        seconds_per_ms=base.effective_round_trips / 1000 if known else None,
        within=None if within_s is None else _latency_budget(base, within_s),
    )


def _point(base: Basis, rtt_ms: float) -> Point:
    if math.isnan(base.baseline_ms):
        return Point(rtt_ms, None, None, None, None)
    rtt_s, least = rtt_ms / 1000, base.runtime_s - base.network_s
    grown = base.runtime_s + base.effective_round_trips * rtt_s
    central = max(grown - base.network_central_s, least)
    longest = _longest_lane(base, rtt_s, base.lane_high_s)
    optimistic = max(min(grown - base.network_high_s, longest), least)
    jitter = base.effective_round_trips * rtt_s * JITTER
    slow_start = base.slow_start_rounds * max(rtt_s - base.baseline_ms / 1000, 0)
    pessimistic = max(
        grown - base.network_low_s + jitter + slow_start,
        _longest_lane(base, rtt_s * (1 + JITTER), base.lane_low_s),
        least,
    )
    throughput = base.statements / central if central > 0 else None
    return Point(rtt_ms, central, min(optimistic, central), max(pessimistic, central), throughput)


def _longest_lane(base: Basis, rtt_s: float, network_s: NDArray[np.float64]) -> float:
    """When the last lane would end if none waited for another; `network_s`: what the network took each."""
    ends = base.lane_end_s + base.lane_trips * rtt_s - network_s
    return float(ends.max(initial=0.0))


def _latency_budget(base: Basis, target_s: float) -> LatencyBudget:
    """Solve the central projection for the RTT."""
    target = format_s(target_s)
    if math.isnan(base.baseline_ms):
        return LatencyBudget(target_s, None, f"The RTT for {target} is unknown, because the baseline RTT is.")
    least = base.runtime_s - base.network_s
    if target_s < least:
        text = f"{target} cannot be met: {format_s(least)} would remain without any network."
        return LatencyBudget(target_s, None, text)
    if base.effective_round_trips == 0:
        return LatencyBudget(target_s, None, f"{target} is met at any RTT: nothing waits for the network.")
    rtt_ms = (target_s - base.runtime_s + base.network_central_s) / base.effective_round_trips * 1000
    return LatencyBudget(target_s, max(rtt_ms, 0.0), f"{target} is met up to an RTT of {format_ms(max(rtt_ms, 0.0))}.")


def _slow_start_rounds(response_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Extra round trips of responses beyond the initial window when it doubles: ⌈log2(segments ÷ 10 + 1)⌉ − 1.

    >>> _slow_start_rounds(np.array([0, 14_600, 15_000, 50_000, 1_000_000])).tolist()
    [0.0, 0.0, 1.0, 2.0, 6.0]
    """
    segments = np.ceil(response_bytes / MSS_BYTES)
    rounds: NDArray[np.float64] = np.ceil(np.log2(segments / INITIAL_WINDOW + 1)) - 1
    return np.maximum(rounds, 0)


def _ends(recording: Recording) -> NDArray[np.float64]:
    """The end of the last exchange of each connection, in ns since the start; 0 without exchanges."""
    exchanges = recording.exchanges
    ends = np.zeros(len(recording.connections))
    np.maximum.at(ends, exchanges.connection, np.maximum(exchanges.response_end, exchanges.request_end).astype(float))
    return ends


def _weighted_median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The median of `values` that are known, each counted `weights` times; NaN when none is."""
    known = ~np.isnan(values)
    order = np.argsort(values[known])
    values, weights = values[known][order], weights[known][order]
    if len(values) == 0:
        return math.nan
    reached = np.cumsum(weights)
    return float(values[min(int(np.searchsorted(reached, reached[-1] / 2)), len(values) - 1)])
