"""What a fix saves: the round trips it removes × the RTT, and the part of client and server time that goes with them.

```text
saved(L) = Σ w·(n·L + f·(c·C + s·S)) + Σ v·h·L − rounds·L + stalls          (docs/model.md C.7, closed form)
```

n: round trips saved of an exchange, f: their share of all its round trips, C, S: its client and service time, c, s:
how much of these its fix removes, w, v: what a round trip of the exchange or of its connection's set-up counts
(parallel work once), h: those of a TCP handshake. The bytes of removed exchanges travel with another response, whose
window must grow for them: `rounds`.

That is for the list of findings, each alone; `changes_of` tells the replay of `project --fix` what fixes leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from latpcap.measures.budget import Timeline
from latpcap.measures.stalls import ack_stalls
from latpcap.projection.job import Changes, Job
from latpcap.projection.project import Basis
from latpcap.rtt import Baselines
from latpcap.tables.recording import MISSING, Recording

if TYPE_CHECKING:
    from latpcap.findings.finding import Effect

__all__ = ["REMOVED", "Costs", "changes_of", "costs_of", "saved_seconds"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MSS_BYTES = 1460
INITIAL_WINDOW = 10
"""Segments that a sender may send at once (IW10, RFC 6928); after them the window doubles every round trip."""

REMOVED: dict[str, tuple[float, float]] = {
    "join": (1.0, 0.5),
    "fetch": (0.0, 0.5),
    "batch": (0.5, 0.5),
    "pipeline": (0.0, 0.0),
    "cache": (1.0, 1.0),
    "prepare": (1.0, 1.0),
    "pool": (1.0, 1.0),
    "ping": (1.0, 1.0),
    "session": (1.0, 1.0),
    "commit": (1.0, 1.0),
    "blob": (0.0, 0.5),
    "nodelay": (0.0, 0.0),
    "none": (0.0, 0.0),
}
"""Shares of the client and the service time of a removed call that go with it.

A call that is not needed at all (a ping, a login, a cached answer) takes all of its time along. A call whose work is
done by another one (the child queries of a join, the rows of a batch) leaves half of the server's work there, a batch
also half of the client's. What is merely sent earlier keeps all of its work.
"""


@dataclass(frozen=True, slots=True)
class Costs:
    """What each exchange and each connection cost, as the saving counts it: arrays of one value each, times in s."""

    weight: Floats
    client_s: Floats
    service_s: Floats
    round_trips: Ints
    request_bytes: Ints
    response_bytes: Ints
    connection: Ints
    thinks: NDArray[np.bool_]
    """The client thought before it."""
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


def costs_of(recording: Recording, baselines: Baselines, timeline: Timeline, base: Basis, think_s: float) -> Costs:
    """Take the costs from the measures; think time stays whatever is fixed."""
    exchanges, connections = recording.exchanges, recording.connections
    near = np.nan_to_num(baselines.near)[exchanges.connection]
    gap = np.where(exchanges.client == MISSING, 0, exchanges.client) - near * exchanges.round_trips
    gap = gap - ack_stalls(exchanges).before
    thinks = gap > think_s * 1e9
    client = np.where(thinks, 0, np.maximum(gap, 0)) * timeline.weight
    in_exchanges = np.bincount(exchanges.connection, exchanges.round_trips * timeline.weight, len(connections))
    return Costs(
        weight=timeline.weight,
        client_s=client / 1e9,
        service_s=np.asarray(timeline.service_ns, float) / 1e9,
        round_trips=exchanges.round_trips,
        request_bytes=exchanges.request_bytes,
        response_bytes=exchanges.response_bytes,
        connection=exchanges.connection,
        thinks=thinks,
        handshake_trips=np.maximum(timeline.effective - in_exchanges, 0),
        baseline_ms=base.baseline_ms,
    )


def saved_seconds(effect: Effect, rtt_ms: float, costs: Costs) -> float:
    """Seconds of runtime that the effect saves at `rtt_ms`; 0 where the RTT is not a number."""
    if math.isnan(rtt_ms):
        return 0.0
    rows = effect.rows
    share = effect.saved / np.maximum(costs.round_trips[rows], 1)
    of_client, of_service = REMOVED[effect.kind]
    worked = float((share * (of_client * costs.client_s[rows] + of_service * costs.service_s[rows])).sum())
    stalled = float((effect.stall_ns * costs.weight[rows]).sum()) / 1e9
    return max(costs.weighted_round_trips(effect) * rtt_ms / 1000 + worked + stalled, 0.0)


def changes_of(effects: Sequence[Effect], costs: Costs, job: Job) -> Changes:
    """What the fixes leave of the job, for its replay."""
    trips, gap, service = np.ones((3, len(costs.weight)))
    stall, closed = np.zeros(len(costs.weight)), np.zeros(len(costs.handshake_trips), bool)
    requests, responses = job.request_segments.copy(), job.response_segments.copy()
    for effect in effects:
        rows, (of_client, of_service) = effect.rows, REMOVED[effect.kind]
        share = effect.saved / np.maximum(costs.round_trips[rows], 1)
        trips[rows] -= share
        gap[rows] -= np.where(costs.thinks[rows], 0, share * of_client)
        service[rows] -= share * of_service
        stall[rows] += effect.stall_ns
        closed[effect.closed] = True
        together = rows[effect.saved > 0]
        size = job.segment_bytes[job.connection[together]]
        requests[together] = costs.request_bytes[together] / size
        responses[together] = costs.response_bytes[together] / size
    return Changes(
        trips=np.maximum(trips, 0),
        gap=np.maximum(gap, 0),
        service=np.maximum(service, 0),
        stall=stall,
        closed=closed,
        request_segments=requests,
        response_segments=responses,
    )


def _slow_start_rounds(response_bytes: NDArray[np.generic]) -> Floats:
    """Extra round trips of responses beyond the initial window when it doubles: ⌈log2(segments ÷ 10 + 1)⌉ − 1.

    >>> _slow_start_rounds(np.array([0, 14_600, 15_000, 50_000, 1_000_000])).tolist()
    [0.0, 0.0, 1.0, 2.0, 6.0]
    """
    segments = np.ceil(response_bytes.astype(float) / MSS_BYTES)
    rounds: Floats = np.ceil(np.log2(segments / INITIAL_WINDOW + 1)) - 1
    return np.maximum(rounds, 0)
