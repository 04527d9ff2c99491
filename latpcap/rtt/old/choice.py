"""The RTT of one half of a path, from weighed evidence: what most of it supports, and how sure that is.

Handshakes and acknowledgments name an RTT; responses and answers bound it from above, and bear out a measurement that
they agree with. No single packet decides: a bound takes several, and one that contradicts all else is an outlier.

All results are arrays with one value a group (a connection or a path), in ns.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.rtt.baselines import Method, Reason
from latpcap.rtt.old.measurements import (
    MAX_STEP_SHARE,
    MIN_CONSISTENT,
    MIN_FOR_DENSITY,
    Measurements,
    PathHalf,
    typical,
)
from latpcap.rtt.old.variation import Varying, varying
from latpcap.tables.columnar.columns import Bools, Floats, Ints, first_that_holds
from latpcap.tables.columnar.passes import numbered, occurring
from latpcap.tables.columnar.quantiles import GroupedValues

AGREEMENT_SHARE = 0.10
"""Two measurements agree when they differ by less than this share, or by `HOST_NS`. Data may take as much longer than a
handshake that stands alone."""
CLEAR_RATIO = 2.0
"""One value is clearly longer than another if it is at least this multiple of it, and `CLEAR_NS` longer."""
CLEAR_NS = 1_000_000
"""A difference beyond this is more than hosts add to a small request."""
MIN_BOUNDS = 5
"""Responses that weigh as much as several measurements; fewer weigh as one."""
MIN_UNIFORM = 20
"""Responses to one statement must be this many to measure an RTT by themselves (to several statements:
`MIN_BOUNDS`)."""
UNIFORM_SPREAD = 0.05
"""The faster quarter of the responses is uniform if it spreads by at most this share of them."""
UNIFORM_LOW_SHARE = 0.85
"""The RTT that uniform responses measure is at least this share of them; hosts may work for the rest."""
STRONG_WEIGHT = 2.0
"""Evidence of this weight outweighs a single packet that contradicts it."""
FLOOR_QUANTILE = 0.05
"""The response floor of many waits: low, but no single outlier."""
FASTER_QUANTILE = 0.25
"""No RTT is typically longer than the faster quarter of the responses: what is, was delayed."""

# The errors seen over the lab's captures, docs/baseline.md.
HOST_NS = 100_000
"""A busy host's turnaround adds up to this to a measurement."""
HANDSHAKE_NS = 200_000
"""A busy host adds up to this to a handshake that stands alone: accepting a connection is more work than acknowledging
data."""
MIN_NETWORK_SHARE = 0.25
"""At least this share of an RTT is network, however short it is."""
MEAN_EXCESS_SHARE = 0.02
"""The mean RTT exceeds the typical one by this share, on links as steady as the lab's."""


class Chosen(Struct, frozen=True):
    """The RTT of a half, and the measurements behind it."""

    value: Floats
    method: Ints
    reason: Ints
    measured: Floats
    """The RTT before responses bounded it; NaN where nothing was measured."""
    rival: Floats
    """The RTT by other evidence of the same weight; NaN where there is none."""
    weight: Floats
    """The weight of the evidence: a measurement weighs 1, several of a kind 2, responses that bear them out up to 2."""
    samples: Ints
    """Measurements that the value rests on."""
    direct: Ints
    """Handshakes and acknowledgments there were."""
    pooled: Ints
    """Measurements behind a direct value, and their spread: a tenth of them is no longer than the first of these."""
    tenth: Floats
    middle: Floats
    upper: Floats
    """Three quarters no longer than this."""
    in_stream: tuple[Floats, Floats, Floats]
    """The least, the middle and the mean acknowledgment."""
    responses: Ints
    """How many there were."""
    quickest: Floats
    """The fastest of them."""
    floor: Floats
    faster: Floats
    """The response floor and the faster quarter of the responses; NaN where there are few."""
    bound: Floats
    """The bound that several responses or answers stay below; NaN where there are none."""
    fastest: Floats
    """The fastest answer; NaN where there is none."""
    steady: Bools
    """Its responses measure the RTT: they are many or of several statements, and the faster ones alike."""
    deficit: Floats
    """By how much the responses were faster than the value, on the average over all of them."""
    varying: Varying
    work: Floats
    """The hosts' time at another time, which was subtracted from the fastest responses; else NaN."""

    @property
    def least(self) -> Floats:
        """The RTT measured to the host that answers: the shorter of two readings."""
        return np.fmin(self.value, self.rival)

    @property
    def most(self) -> Floats:
        """The least bound, or what was measured where that is less; of two measurements as heavy the longer one."""
        measured = np.where(self.reason == Reason.SPLIT, np.fmax(self.value, self.rival), self.least)
        return np.fmin(measured, self.bound)

    @property
    def is_bound_only(self) -> Bools:
        """Whether no measurement supports the RTT."""
        bound_only: Bools = (self.method == Method.FLOOR) & ~(self.measured <= CLEAR_RATIO * self.value)
        return bound_only


def choose(half: PathHalf, group: Ints, count: int, step_ns: int, resent: Bools) -> Chosen:
    """Weigh the evidence of each of `count` groups; `resent`: groups with a SYN that was sent again."""
    bound, several, five = map(partial(_of_several, half.bounding(group, count)), (1, MIN_CONSISTENT, MIN_BOUNDS))
    handshakes, acks = half.handshakes.grouped(group, count), half.acks.grouped(group, count)
    bounds = half.bounds.grouped(group, count)
    floor, faster = bounds.quantile(FLOOR_QUANTILE), bounds.quantile(FASTER_QUANTILE)
    faster = np.where(bounds.counts >= MIN_BOUNDS, faster, np.nan)
    handshake, data = typical(handshakes, step_ns), typical(acks, step_ns)
    level = _of_several(bounds)
    slack = _slack(level, np.fmin(handshake, data)) + step_ns
    alike = _alike(bounds, level, slack, half.late.grouped(group, count))
    kinds = _kinds(group[half.bounds.connection], half.bounds.ns, half.statement, level, slack, alike)
    alike &= (bounds.counts >= MIN_UNIFORM) | (kinds >= MIN_CONSISTENT)
    steady = alike & (level - bound <= np.fmax(UNIFORM_SPREAD * bound, HOST_NS))
    varies = varying(handshakes, acks, bounds, step_ns)
    limit = np.where(_agree(handshake, data), several, bound)
    limit = np.where(varies.is_so, np.inf, limit + np.where(step_ns > MAX_STEP_SHARE * bound, step_ns, 0))
    uses_handshake, uses_data, weight, rival, reason = _weighed(
        handshake, data, handshakes.counts, acks.counts, bounds.counts, limit, faster, steady, resent
    )
    pool = _pool(half, group, count, uses_handshake, uses_data)
    value = typical(pool, step_ns)
    method = first_that_holds(
        [uses_handshake & uses_data, uses_handshake, uses_data],
        [Method.BOTH, Method.HANDSHAKE, Method.IN_STREAM],
        Method.UNKNOWN,
    )
    reason = np.where((reason == Reason.ALONE) & (faster <= CLEAR_RATIO * handshake), Reason.CONFIRMED, reason)
    measured = np.where(np.isnan(value), np.fmin(handshake, data), value)
    few, fastest = pool.counts < MIN_FOR_DENSITY, half.answers.grouped(group, count).quantile(0)
    by_fastest = few & ~varies.is_so & _agree(value, fastest)
    least = value - np.maximum(MEAN_EXCESS_SHARE * value, HOST_NS / 4)
    value = np.where(by_fastest, np.fmin(value, np.maximum(fastest, least)), value)
    value = np.where(few & (value > limit), np.where(_agree(value, faster), np.fmin(value, five), bound), value)
    none = np.full(count, np.nan)
    chosen = Chosen(
        value,
        method,
        reason,
        measured,
        rival,
        weight,
        pool.counts,
        handshakes.counts + acks.counts,
        pool.counts,
        pool.quantile(0.1),
        pool.quantile(0.5),
        pool.quantile(0.75),
        (acks.quantile(0), acks.quantile(0.5), acks.mean()),
        bounds.counts,
        bounds.quantile(0),
        floor,
        faster,
        bound,
        fastest,
        steady,
        np.zeros(count),
        varies,
        none,
    )
    chosen = _split(_by_responses(chosen, bounds, step_ns), alike, level, kinds)
    chosen = _by_variation(chosen, handshake, data)
    return replace(chosen, deficit=_deficit(chosen.value, half.bounds, group[half.bounds.connection], bounds.counts))


def less_work(chosen: Chosen, other: Ints) -> Chosen:
    """Take off what was work of the hosts where only responses are known of a group.

    `other`: a group of the same path of which more is known, and so how much of its responses was work; -1 for none.
    """
    responses_only = np.isin(chosen.reason, (Reason.FLOOR, Reason.STEADY))
    there = np.flatnonzero(responses_only & (other >= 0))
    work = (chosen.floor - chosen.value)[other[there]]
    fits = (work >= 0) & (work < (1 - MIN_NETWORK_SHARE) * chosen.floor[there])
    there, work = there[fits], work[fits]
    if not len(there):
        return chosen
    value, measured, taken = (each.copy() for each in (chosen.value, chosen.measured, chosen.work))
    reason = chosen.reason.copy()
    value[there] = measured[there] = chosen.floor[there] - work
    reason[there], taken[there] = Reason.CHANGED, work
    return replace(chosen, value=value, measured=measured, reason=reason, work=taken)


def _deficit(value: Floats, bounds: Measurements, groups: Ints, counts: Ints) -> Floats:
    """No service time is made 0 by decree: what is missing there is too much in the RTT, and lowers its low end."""
    value = np.nan_to_num(value)
    shorter = np.flatnonzero(bounds.ns < value[groups])
    missing = np.bincount(groups[shorter], value[groups[shorter]] - bounds.ns[shorter], len(value))
    return missing / np.maximum(counts, 1)


# --- what counts ------------------------------------------------------------------------------------------------------


def _of_several(values: GroupedValues, fewest: int = 1) -> Floats:
    """A low value of each group that no single one decides: of few the middle one, of many the 5 % quantile.

    NaN where there are not `fewest` that are no longer.
    """
    counts = values.counts
    few = np.maximum(np.minimum((counts + 1) // 2, MIN_CONSISTENT), fewest)
    rank = np.maximum(np.ceil(FLOOR_QUANTILE * counts), few).astype(np.int64) - 1
    there = rank < counts
    found = np.full(len(counts), np.nan)
    found[there] = values.values[(values.starts[:-1] + rank)[there]]
    return found


def _slack(level: Floats, measured: Floats) -> Floats:
    """How far apart responses that are alike may be: less where they are hardly longer than what was measured."""
    beyond = np.where(level > measured, level - measured, np.inf)
    return np.fmax(np.fmin(UNIFORM_SPREAD * level, AGREEMENT_SHARE * beyond), HOST_NS)


def _alike(responses: GroupedValues, level: Floats, slack: Floats, late: GroupedValues) -> Bools:
    """The faster ones are alike, five at least, and no late ACKs show that their sender took that time itself."""
    fifth = _of_several(responses, MIN_BOUNDS)
    faster = np.fmax(responses.quantile(FASTER_QUANTILE), fifth)
    worked = (late.counts >= MIN_CONSISTENT) & (_of_several(late) < (1 - AGREEMENT_SHARE) * faster)
    alike: Bools = ~np.isnan(fifth) & (faster - level <= slack) & ~worked
    return alike


def _weighed(
    handshake: Floats,
    data: Floats,
    handshakes: Ints,
    acks: Ints,
    responses: Ints,
    bound: Floats,
    faster: Floats,
    steady: Bools,
    resent: Bools,
) -> tuple[Bools, Bools, Floats, Floats, Ints]:
    """Whether handshakes and acknowledgments count, the weight behind them, what weighs as much against them, and why.

    A measurement of which several responses are faster is refuted, by many also one that is later than a quarter of
    them. Where the two are apart, the heavier counts.
    """
    latest = np.where(responses >= MIN_UNIFORM, faster + np.fmax(MEAN_EXCESS_SHARE * faster, HOST_NS), np.inf)
    handshake_refuted, data_refuted = (
        (value > latest) | (value > bound) & ~_agree(value, bound) & ~_agree(value, faster)
        for value in (handshake, data)
    )
    handshake_stands, data_stands = (
        (n > 0) & (~refuted | (n >= MIN_FOR_DENSITY))
        for refuted, n in ((handshake_refuted, handshakes), (data_refuted, acks))
    )
    handshake_weight, data_weight = (
        np.where(stands, (1 + np.minimum(n, MIN_CONSISTENT)) / 2, 0.0)
        for stands, n in ((handshake_stands, handshakes), (data_stands, acks))
    )
    apart = handshake_stands & data_stands & ~_agree(handshake, data)
    of_responses = np.where(responses >= MIN_BOUNDS, 2.0, np.where(responses > 0, 1.0, 0.0))
    plain = np.abs(handshake - data) > CLEAR_NS
    handshake_confirmed, data_confirmed = (
        (_agree(value, bound) | _agree(value, faster)) & (plain | steady | (value < other) | ~apart)
        for value, other in ((handshake, data), (data, handshake))
    )
    handshake_weight += of_responses * (handshake_confirmed & handshake_stands)
    data_weight += of_responses * (data_confirmed & data_stands)
    by_data = np.where(
        (data < handshake) | (acks >= MIN_CONSISTENT), data_weight >= handshake_weight, data_weight > handshake_weight
    )
    uses_data = data_stands & (~apart | by_data)
    uses_handshake = handshake_stands & (~apart | ~by_data)
    twice = of_responses * (handshake_confirmed & data_confirmed & handshake_stands & data_stands)
    weight = np.where(apart, np.maximum(handshake_weight, data_weight), handshake_weight + data_weight - twice)
    even = apart & (np.abs(handshake_weight - data_weight) < 1)
    rival = np.where(even, np.where(uses_data, handshake, data), np.nan)
    why = [
        (
            uses_handshake & uses_data & (np.abs(handshake - data) <= AGREEMENT_SHARE * np.fmin(handshake, data)),
            Reason.AGREE,
        ),
        (uses_handshake & uses_data, Reason.NEAR),
        (even, Reason.SPLIT),
        (uses_handshake & (acks == 0), Reason.ALONE),
        (uses_handshake & (data < handshake), Reason.MIDDLEBOX),
        (uses_handshake, Reason.LATE_DATA),
        (uses_data & (handshakes == 0), np.where(resent, Reason.RESENT, Reason.DATA)),
        (uses_data & (data > CLEAR_RATIO * handshake) & plain, Reason.SYN_ANSWERED),
        (uses_data & (data > handshake), Reason.SLOW_DATA),
        (uses_data, Reason.SLOW_HANDSHAKE),
    ]
    reason = first_that_holds([rule for rule, _ in why], [text for _, text in why], Reason.NONE)
    return uses_handshake, uses_data, weight, rival, reason


def _pool(half: PathHalf, group: Ints, count: int, uses_handshake: Bools, uses_data: Bools) -> GroupedValues:
    def used(values: Measurements, use: Bools) -> tuple[Ints, Ints]:
        groups = group[values.connection]
        keep = use[groups]
        return (groups, values.ns) if keep.all() else (groups[keep], values.ns[keep])

    groups, ns = zip(used(half.handshakes, uses_handshake), used(half.acks, uses_data), strict=True)
    return GroupedValues.of(np.concatenate(groups), np.concatenate(ns), count)


def _by_responses(chosen: Chosen, bounds: GroupedValues, step_ns: int) -> Chosen:
    """Let responses decide if nothing else is known, or several were faster than all measurements."""
    late = chosen.value > chosen.faster + step_ns
    unknown = ((chosen.method == Method.UNKNOWN) & ((bounds.counts > 0) | ~np.isnan(chosen.fastest))) | late
    if not unknown.any():
        return chosen
    value, coarse = chosen.bound, unknown & (step_ns > MAX_STEP_SHARE * chosen.bound)
    if coarse.any():
        value = np.where(coarse & (bounds.counts > 0), np.fmin(typical(bounds, step_ns), value + step_ns), value)
    reason = first_that_holds([chosen.steady, chosen.direct > 0], [Reason.STEADY, Reason.SLOW_DIRECT], Reason.FLOOR)
    value = np.where(reason == Reason.FLOOR, np.fmin(value, np.fmin(chosen.quickest, chosen.fastest)), value)
    return replace(
        chosen,
        value=np.where(unknown, value, chosen.value),
        method=np.where(unknown, Method.FLOOR, chosen.method),
        reason=np.where(unknown, reason, chosen.reason),
        samples=np.where(unknown, bounds.counts, chosen.samples),
        weight=np.where(unknown, np.where(chosen.steady, STRONG_WEIGHT, 0.0), chosen.weight),
    )


def _kinds(group: Ints, ns: Ints, statement: Ints, level: Floats, slack: Floats, asked: Bools) -> Ints:
    """How many statements are answered at this level, of the groups that are `asked` for; the others are of responses.

    All else (logins, pings, preparations) counts as two where it is no faster: no statement takes as long for each.
    """
    if not asked.any():
        return np.zeros(len(asked), np.int64)
    statements = int(statement.max(initial=-1)) + 2
    kind = group * statements + 1 + statement  # one number of both: sorted by two they take several times the time
    keep = asked[group]
    if not keep.all():
        kind, ns = kind[keep], ns[keep]
    kinds = occurring(kind)
    floors = _of_several(GroupedValues.of(numbered(kind), ns, len(kinds)))
    of_group, none = kinds // statements, kinds % statements == 0
    own, slack = level[of_group], slack[of_group]
    same = (floors >= own - slack) & (none | (floors <= own + slack))
    return np.bincount(of_group[same], np.where(none[same], 2, 1), len(asked)).astype(np.int64)


def is_no_work(ns: Ints, statement: Ints, otherwise: float) -> bool:
    """Responses to several statements are alike, and plainly longer than `otherwise`: no server takes that for each."""
    group = np.zeros(len(ns), np.int64)
    responses, nothing = (GroupedValues.of(group[: len(values)], values, 1) for values in (ns, ns[:0]))
    level = _of_several(responses)
    slack = _slack(level, np.array([otherwise]))
    alike = _alike(responses, level, slack, nothing) & (level - otherwise > AGREEMENT_SHARE * otherwise + CLEAR_NS)
    return bool(_kinds(group, ns, statement, level, slack, alike)[0] >= MIN_CONSISTENT)


def _split(chosen: Chosen, alike: Bools, level: Floats, kinds: Ints) -> Chosen:
    """Measurements beside responses that are `alike` and take plainly longer: nothing tells which is the path's.

    A host on the way answered (firewall, NAT, proxy), or the server takes its time for each. Where responses to several
    statements are alike, they count: no work is the same for each of them. Else acknowledgments bear a handshake out.
    """
    value, several = chosen.value, kinds >= MIN_CONSISTENT
    borne_out = (chosen.method != Method.HANDSHAKE) | (chosen.direct != chosen.pooled)
    apart = np.where(several, AGREEMENT_SHARE, 1 / CLEAR_RATIO) * value + CLEAR_NS
    two = alike & (level - value > apart) & (several | ~borne_out) & (chosen.method != Method.FLOOR)
    through = two & several
    return replace(
        chosen,
        value=np.where(through, level, value),
        measured=np.where(through, level, chosen.measured),
        rival=np.where(through, value, np.where(two, level, chosen.rival)),
        method=np.where(through, Method.FLOOR, chosen.method),
        samples=np.where(through, chosen.responses, chosen.samples),
        reason=np.where(two, Reason.SPLIT_SYN, chosen.reason),
    )


def _by_variation(chosen: Chosen, handshake: Floats, data: Floats) -> Chosen:
    """Let all measurements count if the RTT varies: fast responses and answers refute none of them."""
    varies = chosen.varying.is_so
    if not varies.any():
        return chosen
    value = np.where(varies, chosen.varying.value, chosen.value)
    method = first_that_holds([np.isnan(data), np.isnan(handshake)], [Method.HANDSHAKE, Method.IN_STREAM], Method.BOTH)
    return replace(
        chosen,
        value=value,
        measured=np.where(varies, value, chosen.measured),
        rival=np.where(varies, np.nan, chosen.rival),
        method=np.where(varies, method, chosen.method),
        reason=np.where(varies, Reason.VARIES, chosen.reason),
        samples=np.where(varies, chosen.direct, chosen.samples),
        weight=np.where(varies, STRONG_WEIGHT, chosen.weight),
    )


def _agree(one: Floats, other: Floats) -> Bools:
    """They differ by no more than what busy hosts add."""
    agree: Bools = np.abs(one - other) <= np.maximum(AGREEMENT_SHARE * one, HOST_NS)
    return agree


# --- how sure ---------------------------------------------------------------------------------------------------------


def limits(chosen: Chosen, step_ns: int) -> tuple[Floats, Floats]:
    """The low and the high end of each group's RTT."""
    value, measured = chosen.value, chosen.measured
    alone, bound = chosen.method == Method.HANDSHAKE, chosen.method == Method.FLOOR
    roots = np.sqrt(np.maximum(chosen.samples, 1))
    tick, below, above = step_ns / roots, _beyond(measured - chosen.tenth), _beyond(chosen.upper - measured)
    down = np.fmax(np.where(alone & (chosen.pooled < MIN_FOR_DENSITY), HANDSHAKE_NS, HOST_NS), 2 * below / roots) + tick
    down = np.fmax(down, measured - chosen.bound)
    up = (
        np.fmax(MEAN_EXCESS_SHARE * measured, np.fmax(chosen.middle - measured, 2 * above / roots)) + HOST_NS / 4 + tick
    )
    up = np.where(alone, np.fmax(up, AGREEMENT_SHARE * measured), up)
    low = np.minimum(np.maximum(value - down, value * MIN_NETWORK_SHARE), value - chosen.deficit)
    of_responses = np.where(chosen.steady | ~chosen.is_bound_only, UNIFORM_LOW_SHARE * value - HOST_NS - tick, 0.0)
    of_responses = np.where(chosen.is_bound_only & (value < CLEAR_NS), 0.0, of_responses)
    low = np.where(bound, np.maximum(of_responses, 0), low)
    most = np.where(np.isnan(chosen.faster), np.inf, np.fmax(chosen.faster, value) + tick)
    at_most = np.where(np.isnan(measured) | chosen.is_bound_only, np.fmax(value, chosen.faster), measured)
    at_most = np.where(chosen.reason == Reason.FLOOR, value, at_most)  # no answer is faster than the RTT
    high = np.where(bound, np.fmin(np.fmax(value, at_most) + tick, most), np.fmin(measured + up, most))
    sure = np.fmax(chosen.work, HANDSHAKE_NS)
    taken_off = ~np.isnan(chosen.work)
    low, high = np.where(taken_off, np.maximum(value - sure, 0), low), np.where(taken_off, value + sure, high)
    believed = (chosen.weight < STRONG_WEIGHT) | _agree(value, chosen.fastest)
    low = np.fmin(low, np.where(believed, chosen.fastest, chosen.bound))
    low, high = (
        np.fmin(low, (1 - MEAN_EXCESS_SHARE) * chosen.rival),
        np.fmax(high, (1 + MEAN_EXCESS_SHARE) * chosen.rival),
    )
    varies = chosen.varying
    return np.where(varies.is_so, varies.low, low), np.where(varies.is_so, varies.high, high)


def _beyond(distance: Floats) -> Floats:
    """How far the measurements reach to one side of the value."""
    return np.maximum(np.nan_to_num(distance), 0)
