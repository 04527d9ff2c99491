"""The RTT of one half of a path: which of its measurements count, why, and how sure that is.

All results are arrays with one value a group (a connection or a path), in ns.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.rtt.baselines import Method, Reason
from latpcap.rtt.measured import COARSE, MIN_FOR_DENSITY, Half, Values, typical
from latpcap.rtt.varying import Varying, varying
from latpcap.tables.columns import Bools, Floats, Ints, first_that_holds
from latpcap.tables.quantiles import Grouped

__all__ = ["MIN_ACKS_TO_OUTWEIGH", "Chosen", "choose", "less_work", "limits"]


AGREE = 0.10
"""Handshake and acknowledgments agree when they differ by less of the handshake."""
BUSY_HOST_NS = 100_000
"""What a busy host adds to a measurement; what differs by less, agrees."""
MIN_ACKS_TO_REFUTE = 3
"""Acknowledgments that are evidence against a handshake."""
MIN_ACKS_TO_OUTWEIGH = 10
"""Acknowledgments that outweigh it."""
MIN_BOUNDS = 5
"""Responses that say how fast the faster ones are."""
CONFIRMING = 2.0
"""Responses within this many times the handshake confirm it. Data that takes longer was not answered by the host that
answered the SYN, where the difference is plain:"""
PLAIN_NS = 1_000_000
MIDDLEBOX = 4
"""Acknowledgments this many times faster than handshake and responses come from a host on the way (NAT, proxy)."""
REFUTED = 0.25
"""How much slower than the faster responses a handshake may be and yet be confirmed by them."""
FLOOR_QUANTILE = 0.05
"""The response floor of many waits: low, but no single outlier."""
FASTER_QUANTILE = 0.25
"""No RTT is typically longer than the faster quarter of the responses: what is, was delayed."""

# The errors seen over the lab's captures, docs/model.md C.2.
HOST_NS = 100_000
"""What the far host's turnaround adds to the least measurement."""
HANDSHAKE_NS = 200_000
"""The same for a handshake that stands alone: accepting a connection is more work than acknowledging data."""
MIN_NETWORK = 0.25
"""The part of an RTT that is network at least, however short it is."""
DATA_SLOWER = 0.10
"""Data may take this much longer than a handshake that stands alone."""
DRIFT = 0.02
"""The mean RTT lies this much above the typical one, on links as steady as the lab's."""
FLOOR_LOW = 0.8
"""Of the fastest responses, where handshake and acknowledgments were slower: the rest may be service."""
FAR_OFF = 2.0
"""Handshake and acknowledgments that took this many times as long as an answer say nothing of the path."""


class Chosen(Struct, frozen=True):
    """The RTT of a half, and the measurements behind it."""

    value: Floats
    method: Ints
    reason: Ints
    measured: Floats
    """The same before responses and answers bounded it; NaN where nothing was measured."""
    samples: Ints
    """Measurements that the value rests on."""
    direct: Ints
    """Handshakes and acknowledgments there were."""
    pool: Grouped
    """The measurements behind a direct value."""
    floor: Floats
    faster: Floats
    """The response floor and the faster quarter of the responses; NaN where there are few."""
    fastest: Floats
    """The fastest answer; NaN where there is none."""
    deficit: Floats
    """By how much the responses were faster than the value, on the average over all of them."""
    varying: Varying
    work: Floats
    """What was taken off the fastest responses, as the hosts took so long beside the RTT at another time; else NaN."""

    @property
    def most(self) -> Floats:
        """The least bound, or the value where that is less."""
        return np.fmin(self.value, np.fmin(self.floor, self.fastest))

    @property
    def is_bound_only(self) -> Bools:
        """Nothing was measured, or what was is far off."""
        no_measure: Bools = (self.method == Method.FLOOR) & ~(self.measured <= FAR_OFF * self.value)
        return no_measure


def choose(half: Half, group: Ints, count: int, step_ns: int, resent: Bools) -> Chosen:
    """Choose for each of `count` groups; `resent`: groups with a SYN that was sent again."""
    shakes, acks = half.handshakes.grouped(group, count), half.acks.grouped(group, count)
    bounds = half.bounds.grouped(group, count)
    h, a = typical(shakes, step_ns), typical(acks, step_ns)
    enough = bounds.counts >= MIN_BOUNDS
    floor = bounds.quantile(FLOOR_QUANTILE)
    faster = np.where(enough, bounds.quantile(FASTER_QUANTILE), np.nan)
    use_h, use_a, reason = _reconcile(h, a, shakes.counts, acks.counts, faster, resent)
    pool = _pool(half, group, count, use_h, use_a)
    value, fastest = typical(pool, step_ns), half.answers.grouped(group, count).quantile(0)
    method = first_that_holds(
        [use_h & use_a, use_h, use_a], [Method.BOTH, Method.HANDSHAKE, Method.IN_STREAM], Method.UNKNOWN
    )
    none = np.zeros(count)
    direct, varies = shakes.counts + acks.counts, varying(shakes, acks, bounds)
    chosen = Chosen(
        value,
        method,
        reason,
        value,
        pool.counts,
        direct,
        pool,
        floor,
        faster,
        fastest,
        none,
        varies,
        np.full(count, np.nan),
    )
    chosen = _by_variation(_by_answers(_by_responses(chosen, bounds, step_ns), step_ns), h, a)
    return replace(chosen, deficit=_deficit(chosen.value, half.bounds, group))


def less_work(chosen: Chosen, other: Ints) -> Chosen:
    """Take off what was work of the hosts where only responses are known of a group.

    `other`: a group of the same path of which more is known, and so how much of its responses was work; -1 for none.
    """
    there = np.flatnonzero((chosen.reason == Reason.FLOOR) & (other >= 0))
    work = (chosen.floor - chosen.value)[other[there]]
    fits = (work >= 0) & (work < (1 - MIN_NETWORK) * chosen.floor[there])
    there, work = there[fits], work[fits]
    if not len(there):
        return chosen
    value, measured, taken = (each.copy() for each in (chosen.value, chosen.measured, chosen.work))
    reason = chosen.reason.copy()
    value[there] = measured[there] = chosen.floor[there] - work
    reason[there], taken[there] = Reason.CHANGED, work
    return replace(chosen, value=value, measured=measured, reason=reason, work=taken)


def _deficit(value: Floats, bounds: Values, group: Ints) -> Floats:
    """No service time is made 0 by decree: what is missing there is too much in the RTT, and lowers its low end."""
    groups = group[bounds.connection]
    value = np.nan_to_num(value)
    shorter = np.flatnonzero(bounds.ns < value[groups])
    missing = np.bincount(groups[shorter], value[groups[shorter]] - bounds.ns[shorter], len(value))
    return missing / np.maximum(np.bincount(groups, minlength=len(value)), 1)


def _reconcile(
    h: Floats, a: Floats, shakes: Ints, acks: Ints, faster: Floats, resent: Bools
) -> tuple[Bools, Bools, Ints]:
    """The rules of docs/model.md C.2, first match wins: whether handshakes and acknowledgments count, and why."""
    has_h, has_a = shakes > 0, acks > 0
    apart = ~_agree(h, a)
    evidence, refuted = acks >= MIN_ACKS_TO_REFUTE, h > faster * (1 + REFUTED)
    rules: list[tuple[Bools, bool, bool, Reason]] = [
        (~has_h & has_a & resent, False, True, Reason.RESENT),
        (~has_h & has_a, False, True, Reason.DATA),
        (~has_h, False, False, Reason.NONE),
        (~has_a & (faster <= CONFIRMING * h), True, False, Reason.CONFIRMED),
        (~has_a, True, False, Reason.ALONE),
        (~apart, True, True, Reason.AGREE),
        (evidence & (a > CONFIRMING * h) & (a > h + PLAIN_NS), False, True, Reason.SYN_ANSWERED),
        (evidence & (a > h), False, True, Reason.SLOW_DATA),
        (a > h, True, True, Reason.QUICKEST),
        (refuted, False, True, Reason.SLOW_HANDSHAKE),
        (evidence & (MIDDLEBOX * a < h) & (faster > 0), True, False, Reason.MIDDLEBOX),
        (acks >= MIN_ACKS_TO_OUTWEIGH, False, True, Reason.OUTWEIGHED),
    ]
    conditions = [rule for rule, *_ in rules]
    use_h = first_that_holds(conditions, [use for _, use, _, _ in rules], True)
    use_a = first_that_holds(conditions, [use for _, _, use, _ in rules], True)
    return use_h, use_a, first_that_holds(conditions, [why for *_, why in rules], Reason.QUICKEST)


def _pool(half: Half, group: Ints, count: int, use_h: Bools, use_a: Bools) -> Grouped:
    def used(values: Values, use: Bools) -> tuple[Ints, Ints]:
        groups = group[values.connection]
        keep = use[groups]
        return (groups, values.ns) if keep.all() else (groups[keep], values.ns[keep])

    groups, ns = zip(used(half.handshakes, use_h), used(half.acks, use_a), strict=True)
    return Grouped.of(np.concatenate(groups), np.concatenate(ns), count)


def _by_responses(chosen: Chosen, bounds: Grouped, step_ns: int) -> Chosen:
    """Where nothing else is known, or the responses were faster than it, they count."""
    unknown = (chosen.method == Method.UNKNOWN) & (bounds.counts > 0)
    refuted = chosen.value > chosen.faster + step_ns
    fastest = chosen.floor
    coarse = unknown & (step_ns > COARSE * fastest)
    if coarse.any():
        fastest = np.where(coarse, typical(bounds, step_ns), fastest)
    rules = [unknown, refuted]
    return replace(
        chosen,
        value=first_that_holds(rules, [fastest, chosen.faster], chosen.value),
        method=first_that_holds(rules, [Method.FLOOR, Method.FLOOR], chosen.method),
        reason=first_that_holds(rules, [Reason.FLOOR, Reason.SLOW_DIRECT], chosen.reason),
        samples=np.where(unknown | refuted, bounds.counts, chosen.samples),
    )


def _by_answers(chosen: Chosen, step_ns: int) -> Chosen:
    """No RTT is longer than the fastest answer. Only many measurements of a path that varies may typically be."""
    few = chosen.pool.counts < MIN_FOR_DENSITY
    most = chosen.fastest + np.where(step_ns > COARSE * chosen.fastest, step_ns, 0)
    bounded = few & (chosen.value > most)
    refuted = bounded & ~_agree(chosen.value, most) & (chosen.method != Method.FLOOR)
    return replace(
        chosen,
        value=np.where(bounded, most, chosen.value),
        method=np.where(refuted, Method.FLOOR, chosen.method),
        reason=np.where(refuted, Reason.SLOW_DIRECT, chosen.reason),
    )


def _by_variation(chosen: Chosen, h: Floats, a: Floats) -> Chosen:
    """Where the RTT varies, fast responses and answers refute nothing, and all that was measured counts."""
    varies = chosen.varying.is_so
    if not varies.any():
        return chosen
    value = np.where(varies, chosen.varying.value, chosen.value)
    method = first_that_holds([np.isnan(a), np.isnan(h)], [Method.HANDSHAKE, Method.IN_STREAM], Method.BOTH)
    return replace(
        chosen,
        value=value,
        measured=np.where(varies, value, chosen.measured),
        method=np.where(varies, method, chosen.method),
        reason=np.where(varies, Reason.VARIES, chosen.reason),
        samples=np.where(varies, chosen.direct, chosen.samples),
    )


def _agree(one: Floats, other: Floats) -> Bools:
    """They differ by no more than what busy hosts add."""
    agree: Bools = np.abs(one - other) <= np.maximum(AGREE * one, BUSY_HOST_NS)
    return agree


# --- how sure ---------------------------------------------------------------------------------------------------------


def limits(chosen: Chosen, step_ns: int) -> tuple[Floats, Floats]:
    """The low and the high end of each group's RTT."""
    value, measured, pool = chosen.value, chosen.measured, chosen.pool
    alone, bound = chosen.method == Method.HANDSHAKE, chosen.method == Method.FLOOR
    roots = np.sqrt(np.maximum(chosen.samples, 1))
    tick, below, above = (
        step_ns / roots,
        _beyond(measured - pool.quantile(0.1)),
        _beyond(pool.quantile(0.75) - measured),
    )
    down = np.fmax(np.where(alone & (pool.counts < MIN_FOR_DENSITY), HANDSHAKE_NS, HOST_NS), 2 * below / roots) + tick
    up = np.fmax(DRIFT * measured, np.fmax(pool.quantile(0.5) - measured, 2 * above / roots)) + HOST_NS / 4 + tick
    up = np.where(alone, np.fmax(up, DATA_SLOWER * measured), up)
    low = np.minimum(np.maximum(value - down, value * MIN_NETWORK), value - chosen.deficit)
    low = first_that_holds([chosen.is_bound_only, bound], [0.0, FLOOR_LOW * chosen.most], low)
    most = np.where(np.isnan(chosen.faster), np.inf, np.fmax(chosen.faster, value) + tick)
    typical_bound = first_that_holds(
        [np.isnan(measured), np.isnan(chosen.faster) & chosen.is_bound_only], [chosen.floor, value], measured
    )
    high = np.where(bound, np.fmin(np.fmax(value, typical_bound) + tick, most), np.fmin(measured + up, most))
    sure = np.fmax(chosen.work, HANDSHAKE_NS)
    taken_off = ~np.isnan(chosen.work)
    low, high = np.where(taken_off, np.maximum(value - sure, 0), low), np.where(taken_off, value + sure, high)
    varies = chosen.varying
    return np.where(varies.is_so, varies.low, np.fmin(low, chosen.fastest)), np.where(varies.is_so, varies.high, high)


def _beyond(distance: Floats) -> Floats:
    """How far the measurements reach to one side of the value."""
    return np.maximum(np.nan_to_num(distance), 0)
