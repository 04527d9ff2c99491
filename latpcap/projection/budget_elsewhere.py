"""The time budget at another RTT, as the job is and with fixes made, and what faster hosts save there.

The parts of the budget where it was captured, and what the replay makes of each: its steps there are divided as those
of the capture are (`core/src/job/attribute.rs`). They sum to the projection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from latpcap.measures.budget import Budget
from latpcap.projection.assumptions import CENTRAL, Conditions
from latpcap.projection.basis import AS_IT_IS, Basis, Variant
from latpcap.units import capitalised, format_given_ms, format_s, percent


def budgets_there(
    base: Basis,
    rtt_ms: Sequence[float],
    runtime_s: Sequence[float],
    conditions: Conditions,
    variant: Variant = AS_IT_IS,
) -> Iterator[Budget]:
    """The budget of each runtime that is projected onto an RTT."""
    alone = replace(conditions, connections=None)
    rested = replace(CENTRAL, rests=None, capacity_bound=None)
    [replayed_s], [without_s] = base.runtimes_of([(variant, rtt_ms)], [CENTRAL, rested], alone)
    own_s = (replayed_s - without_s).tolist()
    for runtime, own, part_s in zip(runtime_s, own_s, base.parts_there(variant, rtt_ms, alone), strict=True):
        yield _summing_to(runtime, _rested(part_s, own))


def budget_with(base: Basis, variant: Variant) -> Budget:
    """The budget of a variant at the capture's RTTs."""
    [part_s] = base.parts_there(variant, None)
    return _summing_to(sum(part_s.values()) - part_s["setup_network"], part_s)


def _rested(part_s: Mapping[str, float], own_s: float) -> Mapping[str, float]:
    """Add what hosts take that rest longer or shorter, in the ratio of what they take."""
    hosts_s = part_s["client"] + part_s["service"]
    if hosts_s <= 0:
        return {**part_s, "client": max(own_s, 0.0)}
    more = max(1 + own_s / hosts_s, 0.0)
    return {**part_s, "client": part_s["client"] * more, "service": part_s["service"] * more}


def _summing_to(runtime_s: float, part_s: Mapping[str, float]) -> Budget:
    """The parts of a runtime: what else bounds it (full hosts, another number of connections) is shared by all."""
    total_s = sum(part_s.values()) - part_s["setup_network"]
    if total_s <= 0:
        return Budget(transfer_s=runtime_s)  # the bottleneck's time for the bytes is left
    scale = runtime_s / total_s
    return Budget.of({name: seconds * scale for name, seconds in part_s.items()})


class HostSaving(Struct, frozen=True):
    """Effect of `--service` and `--client`, beside what the network takes."""

    saved_s: float
    runtime_s: float
    """As the hosts are."""
    network_s: float
    """Time of the round trips there."""
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
        f"{capitalised(hosts)} {changes} {format_s(abs(saved_s))} of {format_s(as_is_s)} {at}{share}; "
        f"round trips account for {format_s(network_s)}{network}."
    )
    return HostSaving(saved_s, as_is_s, network_s, text)
