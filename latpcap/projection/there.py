"""Where the time goes at another RTT, as the job is and with fixes made, and what faster hosts save there.

The parts of the budget where it was captured, each as it grows: what waits for the network with the round trips, what
client and server take themselves with their processors, and transfers with what TCP's windows add. They sum to the
projection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.measures.budget import Budget
from latpcap.projection.assumptions import CENTRAL, Conditions
from latpcap.projection.basis import AS_IT_IS, Basis, Variant
from latpcap.projection.job import Job
from latpcap.projection.wake_up import WakeUp
from latpcap.units import format_given_ms, format_s, percent

__all__ = ["HostSaving", "Taken", "There", "budgets_there", "host_saving", "taken"]

Floats = NDArray[np.float64]


class Taken(Struct, frozen=True):
    """What a job takes where it was captured, as it is or with fixes made."""

    budget: Budget
    setup_network_s: float
    """The network's part of `setup_s`."""
    stall_network_s: float
    """The round trips in `stall_s`."""

    @property
    def network_s(self) -> float:
        """What its round trips take."""
        return self.budget.network_s + self.setup_network_s


class There(Struct, frozen=True):
    """Where the time goes at another RTT."""

    budget: Budget
    network_s: float
    """What all round trips take there."""


class _Growth(Struct, frozen=True):
    """What a projection adds to the parts of a budget, in seconds."""

    network_s: float
    setup_s: float
    stall_s: float
    own_s: float
    """What hosts that wait longer or shorter take more of their own."""


def taken(base: Basis) -> Taken:
    """What the job takes as it is."""
    timeline = base.timeline
    return Taken(timeline.budget, timeline.setup_network_s, timeline.stalls.network_s)


def budgets_there(
    base: Basis,
    rtt_ms: Sequence[float],
    runtime_s: Sequence[float],
    conditions: Conditions,
    variant: Variant = AS_IT_IS,
    fixed: Taken | None = None,
) -> Iterator[There]:
    """The budget of each runtime that is projected onto an RTT; `fixed` is what a `variant` with fixes takes."""
    assert base.job is not None
    was, alone = taken(base), replace(conditions, connections=None)
    now = fixed or was
    asleep = replace(CENTRAL, wake_up=WakeUp(), crowd=None)
    [replayed_s], [without_s] = base.runtimes_of([(variant, rtt_ms)], [CENTRAL, asleep], alone)
    network_ns, setup_ns = base.job.shared_trips(base.timeline)
    kept = [_part(now.budget.network_s, was.budget.network_s), _part(now.setup_network_s, was.setup_network_s)]
    for rtt, runtime, replayed, without in zip(rtt_ms, runtime_s, replayed_s, without_s, strict=True):
        longer_s = _longer_ns(base, base.job, rtt, conditions) / 1e9
        network_s, setup_s = (
            part * float((longer_s * trips).sum()) for part, trips in zip(kept, (network_ns, setup_ns), strict=True)
        )
        growth = _Growth(
            network_s=network_s,
            setup_s=setup_s,
            stall_s=_part(now.stall_network_s, now.network_s) * (network_s + setup_s),
            own_s=float(replayed - without),
        )
        share = runtime / replayed if replayed > 0 else 1.0
        waited_s = max(now.network_s + network_s + setup_s, 0.0) * share
        yield There(_grown(now.budget, growth, conditions, float(replayed), runtime), min(waited_s, runtime))


def _part(part: float, whole: float) -> float:
    """`part` of `whole`; nothing of nothing."""
    return part / whole if whole > 0 else 0.0


def _longer_ns(base: Basis, job: Job, rtt_ms: float, conditions: Conditions) -> Floats:
    """How much longer the RTT of each phase is there."""
    scope, mean = base.scopes.of(conditions), CENTRAL.mean_ms(conditions)
    asked_ns = 1e6 * mean(np.array([rtt_ms]), np.array(base.baseline_ms))
    there = np.repeat(asked_ns, len(job.baseline_ns)) if scope is None else scope.rtts_ns(asked_ns, mean)
    return np.where(np.isnan(there), 0.0, there - job.baseline_ns)


def _grown(now: Budget, growth: _Growth, conditions: Conditions, replayed_s: float, runtime_s: float) -> Budget:
    """The parts of `runtime_s`; `replayed_s` is the same by as many connections as there were."""
    own_s = now.client_s + now.service_s
    more = 1 + growth.own_s / own_s if own_s > 0 else 1.0
    part_s = {
        "client_s": now.client_s * more * (1.0 if conditions.client_time is None else conditions.client_time),
        "service_s": now.service_s * more * (1.0 if conditions.service_time is None else conditions.service_time),
        "network_s": now.network_s + growth.network_s,
        "setup_s": now.setup_s + growth.setup_s,
        "stall_s": now.stall_s + growth.stall_s,
        "transfer_s": now.transfer_s,
        "think_s": now.think_s,
        "loss_s": now.loss_s,
        "unknown_s": now.unknown_s,
    }
    part_s = {name: max(seconds, 0.0) for name, seconds in part_s.items()}
    rest_s = replayed_s - sum(part_s.values())
    if rest_s > 0:
        moved = _of_transfers(now, growth, conditions)
        part_s["transfer_s"] += rest_s * moved
        part_s["network_s"] += rest_s * (1 - moved)
    else:
        for name in ("network_s", "setup_s", "transfer_s", "service_s", "client_s"):
            taken = min(part_s[name], -rest_s)
            part_s[name] -= taken
            rest_s += taken
    total_s = sum(part_s.values())
    scale = runtime_s / total_s if total_s > 0 else 0.0
    return Budget(**{name: seconds * scale for name, seconds in part_s.items()})


def _of_transfers(now: Budget, growth: _Growth, conditions: Conditions) -> float:
    """Which part of what the replay adds beyond the round trips is that of transfers: windows, a bottleneck, losses.

    The rest is waiting: those who share a pool wait for each other's round trips.
    """
    if conditions.bandwidth_bps is not None or conditions.loss is not None:
        return 1.0
    waited_s = now.network_s + now.transfer_s
    return now.transfer_s / waited_s if growth.network_s + growth.setup_s >= 0 and waited_s > 0 else 0.0


class HostSaving(Struct, frozen=True):
    """What `--service` and `--client` change, beside what the network takes."""

    saved_s: float
    runtime_s: float
    """As the hosts are."""
    network_s: float
    """What the round trips take there."""
    text: str


def host_saving(conditions: Conditions, rtt_ms: float, as_is_s: float, there_s: float, network_s: float) -> HostSaving:
    """The change from `as_is_s` to `there_s` in words."""
    hosts = replace(Conditions(), client_time=conditions.client_time, service_time=conditions.service_time).text
    saved_s, at = as_is_s - there_s, f"at {format_given_ms(rtt_ms)}"
    share, network = (
        f" ({percent(min(abs(part) / as_is_s, 1.0))})" if as_is_s > 0 else "" for part in (saved_s, network_s)
    )
    changes = "saves" if saved_s >= 0 else "costs"
    text = (
        f"{hosts[:1].upper()}{hosts[1:]} {changes} {format_s(abs(saved_s))} of {format_s(as_is_s)} {at}{share}; "
        f"the round trips take {format_s(network_s)} of it{network}."
    )
    return HostSaving(saved_s, as_is_s, network_s, text)
