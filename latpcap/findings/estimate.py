"""A cheap estimate of what a fix saves, to rank findings before the replay says what they save.

```text
saved(L) ≈ Σ w·(n·L + f·(c·C + s·S)) + Σ v·h·L + stalls
```

n: round trips saved of an exchange, f: their share of all its round trips, C, S: its client and service time, c, s:
how much of these its fix removes, w, v: what a round trip of the exchange or of its connection's set-up counts
(parallel work once), h: those of a TCP handshake.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect
from latpcap.projection.basis import Basis
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.scratch import zeros

__all__ = ["Costs", "costs_of", "estimated_s"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RANK_RTT_MS = 15.0
"""Findings are ranked by what they save at this RTT (or at the baseline, where that is larger), whatever is asked for:
who counts a round trip that several findings would save must not depend on it."""


class Costs(Struct, frozen=True):
    """What each exchange and each connection cost, as the saving counts it: arrays of one value each."""

    weight: Floats
    client_s: Floats
    service_ns: NDArray[Any]
    round_trips: Ints
    handshake_trips: Floats
    """Round trips of a connection's TCP handshake and greeting × their weight."""
    baseline_ms: float

    def service_s(self, rows: Ints) -> Floats:
        """The server's time of these exchanges."""
        return np.asarray(self.service_ns[rows], float) / 1e9

    def weighted_round_trips(self, effect: Effect) -> float:
        """The effective round trips that the effect removes: the runtime falls by these × the RTT."""
        trips = float((self.weight[effect.rows] * effect.saved).sum())
        return trips + float(self.handshake_trips[effect.closed].sum())


def costs_of(evidence: Evidence, base: Basis) -> Costs:
    """Take the costs from the measures; think time stays whatever is fixed."""
    exchanges, timeline = evidence.exchanges, evidence.timeline
    count = len(evidence.recording.connections)
    client_s = zeros(exchanges.connection, len(exchanges), float)
    for rows, client in evidence.client_ns():
        works = np.where(client > evidence.think_ns, 0, np.maximum(client, 0))
        client_s[rows] = works * timeline.weight[rows] / 1e9
    in_exchanges = np.bincount(exchanges.connection, exchanges.round_trips * timeline.weight, count)
    return Costs(
        weight=timeline.weight,
        client_s=client_s,
        service_ns=timeline.service_ns,
        round_trips=exchanges.round_trips,
        handshake_trips=np.maximum(timeline.effective - in_exchanges, 0),
        baseline_ms=base.baseline_ms,
    )


def estimated_s(effect: Effect, costs: Costs) -> float:
    """Seconds of runtime that the effect saves, about, at the RTT for ranking; 0 where the baseline is unknown."""
    if math.isnan(costs.baseline_ms):
        return 0.0
    rtt_ms = max(RANK_RTT_MS, costs.baseline_ms)
    rows = effect.rows
    worked_s = np.empty(len(rows))
    for part in passes.pieces(len(rows)):
        there = rows[part]
        share = effect.saved[part] / np.maximum(costs.round_trips[there], 1)
        own_s = effect.takes.client * costs.client_s[there] + effect.takes.service * costs.service_s(there)
        worked_s[part] = share * own_s
    worked = float(worked_s.sum())
    stalled = float((effect.stall_ns * costs.weight[rows]).sum()) / 1e9 if effect.stall_ns.any() else 0.0
    return max(costs.weighted_round_trips(effect) * rtt_ms / 1000 + worked + stalled, 0.0)
