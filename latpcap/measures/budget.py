"""The time budget: every instant belongs to exactly one part, so the parts sum to the runtime.

```text
SYN ─setup─► request ─transfer─► last packet ─network, service─► first packet ─transfer─► last packet ─client─► request
```

What set-up waits for the network is the network's, too (`Budget.of`).
An exchange that waits `round_trips` times at a baseline of L spends min(round_trips × L, waited) on the network and the
rest of its wait on the server. A packet that was held back for a delayed acknowledgment waited for the peer's timer and
for a round trip (`measures.stalls`): that is a stall, whether it lies in the client's time or within the exchange.
Retransmissions make an exchange longer than its clean siblings: that excess is loss, and nothing of it is the server's.
A wait without one that is as long as the time-outs beside it is probably one, too: its packet was lost before the
capture point, and sent again once.
Where the capture was not taken at the client, the near half of the RTT hides in the gaps between exchanges and is moved
to the waits; so do the time-outs of what was lost there, which are loss.

The core cuts and divides (`core/src/job/captured.rs`, `attribute.rs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap import _core
from latpcap.display import Plottable
from latpcap.measures.job import recorded_job
from latpcap.measures.stalls import Stalls
from latpcap.measures.waits import Waits
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import constant
from latpcap.tables.columnar.scratch import spill
from latpcap.tables.recording import Recording

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Budget(Plottable, Struct, frozen=True):
    """The parts of the runtime in seconds; each ≥ 0."""

    network_s: float = 0.0
    """Waiting for the network: all round trips at the baseline, those of set-up included."""
    service_s: float = 0.0
    """Waiting for the server."""
    transfer_s: float = 0.0
    """Between the first and the last packet of a request or a response."""
    stall_s: float = 0.0
    """Packets held back by Nagle's algorithm until a delayed acknowledgment came: its timer and its round trip."""
    client_s: float = 0.0
    """No connection waits: the application computes."""
    think_s: float = 0.0
    """Intervals of client time above the threshold: never scaled."""
    setup_s: float = 0.0
    """The rest of TCP handshakes, greetings, TLS, authentication and waits for the server's FIN."""
    loss_s: float = 0.0
    """The time that retransmissions added."""
    unknown_s: float = 0.0
    """Exchanges that were captured in part."""

    def parts(self) -> dict[str, float]:
        """Seconds by part, in their order."""
        return {name: getattr(self, name) for name in self.__struct_fields__}

    @classmethod
    def of(cls, parts_s: Mapping[str, float]) -> Budget:
        """Return the budget of the core's parts, in which what set-up waits for the network stands twice.

        >>> Budget.of({"network": 1.0, "setup": 0.5, "setup_network": 0.2}).parts()["network_s"]
        1.2
        """
        within_s = min(parts_s["setup_network"], parts_s["setup"])
        moved = {"network": parts_s["network"] + within_s, "setup": parts_s["setup"] - within_s}
        named = {**parts_s, **moved}
        del named["setup_network"]
        return cls(**{f"{name}_s": seconds for name, seconds in named.items()})


class BudgetTimeline(Struct, frozen=True):
    """The budget, and what it rests on: shared time, so that parallel work counts once."""

    job: _core.Job
    budget: Budget
    runtime_s: float
    think_above_s: float
    """A longer pause of the client is think time."""
    network_ns: NDArray[Any]
    """The time that each exchange waited for the network."""
    service_ns: NDArray[Any]
    """The time that each exchange waited for the server."""
    loss_ns: NDArray[Any]
    """The time that retransmissions added to each exchange."""
    own_service_ns: Ints
    own_loss_ns: Ints
    """The time that retransmissions added to it."""
    own_stalled_ns: Stalls
    """The time that its packets were held back. All three as if nothing ran beside it."""
    timers: Stalls
    """The part of that which delayed acknowledgments took."""
    probably_lost: Bools
    """Its packet was probably lost before the capture point: no retransmission was captured."""
    weight: Floats
    """The weight of a round trip of each exchange: 1 alone, 1/k beside k - 1 busy others."""
    round_trips: Floats
    """Round trips of each connection, its TCP handshake, greeting and the wait for the server's FIN included."""
    effective: Floats
    """Round trips, each counted by its weight: the runtime grows by these."""
    parts_s: Mapping[str, float]
    """The core's parts by their names: `setup` is all of set-up, `setup_network` its waiting for the network."""
    stalls: int
    """How many packets were held back."""
    stalls_network_s: float
    """The network's part of `stall_s`: acknowledgments travel, too; what is left are the timers."""
    waits: Waits
    """The waits that the network's time consists of."""


def timeline(recording: Recording, rtt: Estimate, think_s: float = 1.0) -> BudgetTimeline:
    """Give each instant of the recording's runtime to its part; client time above `think_s` is think time."""
    exchanges, job = recording.exchanges, recorded_job(recording, rtt)
    told = job.timeline(think_s * 1e9)
    parts = {name: nanoseconds / 1e9 for name, nanoseconds in told["parts"].items()}
    columns = {name: _column(exchanges.connection, told[name]) for name in _COLUMNS}
    handshakes, closes = told["handshakes"], told["closes"]

    def of_connections(of_exchanges: NDArray[Any], count_of: Callable[[dict[str, Any]], Floats]) -> Floats:
        count = len(recording.connections)
        around = (np.bincount(each["connection"], count_of(each), count) for each in (handshakes, closes))
        return np.asarray(sum(around, np.bincount(exchanges.connection, of_exchanges, count)), float)

    lost = constant(False, len(exchanges))
    if len(told["probably_lost"]):
        lost = np.zeros(len(exchanges), bool)
        lost[told["probably_lost"]] = True
    weight = told["weight"] if len(told["weight"]) else np.broadcast_to(1.0, len(exchanges))
    trips = exchanges.round_trips
    return BudgetTimeline(
        job=job,
        budget=Budget.of(parts),
        runtime_s=recording.runtime_s,
        think_above_s=think_s,
        network_ns=columns["network"],
        service_ns=columns["service"],
        loss_ns=columns["loss"],
        own_service_ns=columns["own_service"],
        own_loss_ns=columns["own_loss"],
        own_stalled_ns=Stalls(columns["own_stalled_before"], columns["own_stalled_within"]),
        timers=Stalls(*(_sparse(len(exchanges), told, f"stalled_{place}") for place in ("before", "within"))),
        probably_lost=lost,
        weight=weight,
        round_trips=of_connections(trips, lambda each: each["trips"]),
        effective=of_connections(trips * weight, lambda each: each["trips"] * each["weight"]),
        parts_s=parts,
        stalls=told["stalls"][0],
        stalls_network_s=told["stalls"][1] / 1e9,
        waits=Waits.of(*told["waits"]),
    )


_COLUMNS = ("network", "service", "loss", "own_service", "own_loss", "own_stalled_before", "own_stalled_within")


def _column(where: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """A column of the core, on disk where columns are; of what nothing has, zeros."""
    return spill(where, values) if len(values) else constant(0, len(where))


def _sparse(count: int, told: dict[str, Any], name: str) -> Floats:
    """A column that most rows have nothing in."""
    if not told[name].any():
        return constant(0.0, count)
    column = np.zeros(count)
    column[told["stalled"]] = told[name]
    return column
