"""A cheap estimate of what a fix saves, to rank findings before the replay says what they save.

```text
saved(L) ≈ Σ w·(n·L + f·(c·C + s·S)) + Σ v·h·L − rounds·L + stalls
```

n: round trips saved of an exchange, f: their share of all its round trips, C, S: its client and service time, c, s:
how much of these its fix removes, w, v: what a round trip of the exchange or of its connection's set-up counts
(parallel work once), h: those of a TCP handshake. The bytes of removed exchanges travel with another response, whose
window must grow for them: `rounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect
from latpcap.measures.tcp import INITIAL_WINDOW, MSS_BYTES
from latpcap.projection.basis import Basis

__all__ = ["Costs", "costs_of", "estimated_s"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RANK_RTT_MS = 15.0
"""Findings are ranked by what they save at this RTT (or at the baseline, where that is larger), whatever is asked for:
who counts a round trip that several findings would save must not depend on it."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What each exchange and each connection cost, as the saving counts it: arrays of one value each, times in s."""

    weight: Floats
    client_s: Floats
    service_s: Floats
    round_trips: Ints
    response_bytes: Ints
    connection: Ints
    handshake_trips: Floats
    """Round trips of a connection's TCP handshake and greeting × their weight."""
    baseline_ms: float

    def weighted_round_trips(self, effect: Effect) -> float:
        """The effective round trips that the effect removes: the runtime falls by these × the RTT."""
        trips = float((self.weight[effect.rows] * effect.saved).sum())
        return trips + float(self.handshake_trips[effect.closed].sum()) - self._growth(effect)

    def _growth(self, effect: Effect) -> float:
        """Slow-start rounds that the connections need for what travels together from now on, once each."""
        moved = (effect.carrier >= 0) & (effect.carrier != effect.rows)
        carrier, rows = effect.carrier[moved], effect.rows[moved]
        carriers, index = np.unique(carrier, return_inverse=True)
        after = self.response_bytes[carriers] + np.bincount(index, self.response_bytes[rows], len(carriers))
        connections, place = np.unique(self.connection[carriers], return_inverse=True)
        rounds = np.zeros((2, len(connections)))
        np.maximum.at(rounds[0], place, _slow_start_rounds(self.response_bytes[carriers]))
        np.maximum.at(rounds[1], place, _slow_start_rounds(after))
        return float((rounds[1] - rounds[0]).sum())


def costs_of(evidence: Evidence, base: Basis) -> Costs:
    """Take the costs from the measures; think time stays whatever is fixed."""
    exchanges, timeline = evidence.exchanges, evidence.timeline
    count = len(evidence.recording.connections)
    client = np.where(evidence.thinks, 0, np.maximum(evidence.client_ns, 0)) * timeline.weight
    in_exchanges = np.bincount(exchanges.connection, exchanges.round_trips * timeline.weight, count)
    return Costs(
        weight=timeline.weight,
        client_s=client / 1e9,
        service_s=np.asarray(timeline.service_ns, float) / 1e9,
        round_trips=exchanges.round_trips,
        response_bytes=exchanges.response_bytes,
        connection=exchanges.connection,
        handshake_trips=np.maximum(timeline.effective - in_exchanges, 0),
        baseline_ms=base.baseline_ms,
    )


def estimated_s(effect: Effect, costs: Costs) -> float:
    """Seconds of runtime that the effect saves, about, at the RTT for ranking; 0 where the baseline is unknown."""
    if math.isnan(costs.baseline_ms):
        return 0.0
    rtt_ms = max(RANK_RTT_MS, costs.baseline_ms)
    rows = effect.rows
    share = effect.saved / np.maximum(costs.round_trips[rows], 1)
    own_s = effect.takes.client * costs.client_s[rows] + effect.takes.service * costs.service_s[rows]
    worked = float((share * own_s).sum())
    stalled = float((effect.stall_ns * costs.weight[rows]).sum()) / 1e9
    return max(costs.weighted_round_trips(effect) * rtt_ms / 1000 + worked + stalled, 0.0)


def _slow_start_rounds(response_bytes: NDArray[np.generic]) -> Floats:
    """Extra round trips of responses beyond the initial window when it doubles: ⌈log2(segments ÷ 10 + 1)⌉ − 1.

    >>> _slow_start_rounds(np.array([0, 14_600, 15_000, 50_000, 1_000_000])).tolist()
    [0.0, 0.0, 1.0, 2.0, 6.0]
    """
    segments = np.ceil(response_bytes.astype(float) / MSS_BYTES)
    rounds: Floats = np.ceil(np.log2(segments / INITIAL_WINDOW + 1)) - 1
    return np.maximum(rounds, 0)
