"""The baseline RTT of each connection and each path: both halves measured, one chosen, or both added."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.rtt.baselines import AT_SERVER, AT_UNKNOWN, BETWEEN, LOOPBACK, Baselines, Method, Reason
from latpcap.rtt.old.changes import find
from latpcap.rtt.old.choice import (
    AGREEMENT_SHARE,
    CLEAR_NS,
    MEAN_EXCESS_SHARE,
    MIN_UNIFORM,
    STRONG_WEIGHT,
    Chosen,
    choose,
    less_work,
    limits,
)
from latpcap.rtt.old.measurements import MIN_FOR_DENSITY, Direct, PathHalf, direct, halves, whole_handshakes
from latpcap.rtt.old.paths import OldPaths, paths, position
from latpcap.rtt.old.phases import OldPathChanges, OldPhases
from latpcap.tables.columnar.columns import Bools, Floats, Ints, first_that_holds
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.connections import Connections
from latpcap.tables.recording import Recording

DIRECT = (Method.HANDSHAKE, Method.IN_STREAM, Method.BOTH)

PROXY_RATIO = 4.0
"""A proxy is suspected where even the fastest of `MIN_UNIFORM` responses takes this many times the RTT, and `PROXY_NS`
more."""
PROXY_NS = 5_000_000
"""A response that takes less than this beyond the RTT suggests no proxy."""


MAX_TICK_NS = 1_000_000_000
"""A clock with longer ticks measures no RTT."""


class OldEstimate(Struct, frozen=True):
    """The RTTs of a recording."""

    paths: OldPaths
    of_paths: Baselines
    """The RTT of each path; if it changed, of the period with most round trips."""
    of_connections: Baselines
    """The RTT of its phases."""
    phases: OldPhases
    of_phases: Baselines
    """The phase whose RTT divides each exchange's time."""
    of_periods: Baselines
    of_exchanges: Ints
    """The phase of each exchange."""
    direct: Direct
    """Handshakes and clean ACKs, with the phase of each."""


def estimate_paths(recording: Recording, given_ms: float | None = None, groups: Ints | None = None) -> OldEstimate:
    """Choose the baseline RTT of each path and of each connection of `recording`.

    `groups`, of each connection, are measured as if each had a recording of its own.
    """
    found = paths(recording.connections, groups)
    path, count = found.of_connection, len(found)
    phases = OldPhases.of(recording.connections, path, OldPathChanges.none(count))
    measured = halves(recording, phases)
    whole = _estimated(recording, found, phases, measured)
    of_paths, of_connections = whole.of_paths, whole.of_connections
    if given_ms is not None:
        return replace(
            whole,
            of_paths=_given(of_paths, given_ms),
            of_periods=_given(of_paths, given_ms),
            of_connections=_given(of_connections, given_ms),
            of_phases=_given(of_connections, given_ms),
        )
    if recording.tick_ns >= MAX_TICK_NS:
        return whole
    one_host, unknown = of_paths.position == LOOPBACK, of_paths.position == AT_UNKNOWN
    relevant = (of_paths.near_share < 1) & ~one_host, ((of_paths.near_share > 0) | unknown) & ~one_host
    changes, doubted = find(recording.readings, path, count, measured, relevant)
    if not len(changes):
        return _held(whole, doubted)
    del measured  # as large as the recording
    phases = OldPhases.of(recording.connections, path, changes)
    return _held(_estimated(recording, found, phases, halves(recording, phases), of_paths.position), doubted)


def _held(known: OldEstimate, doubted: Floats) -> OldEstimate:
    """Widen ranges to what responses alone show of each path: it may have become longer by so much."""
    if not doubted.any():
        return known
    phases, changes = known.phases, known.phases.changes

    def held(of: Baselines, path: Ints) -> Baselines:
        most = (of.baseline + doubted[path]) * (1 + MEAN_EXCESS_SHARE)
        longer = (doubted[path] > 0) & (of.high < most)
        reason = np.where(longer, Reason.SPLIT_CHANGE, of.reason)
        return replace(of, high=np.where(longer, most, of.high), reason=reason)

    return replace(
        known,
        of_paths=held(known.of_paths, np.arange(len(known.paths))),
        of_connections=held(known.of_connections, phases.path),
        of_periods=held(known.of_periods, changes.path_of_period),
        of_phases=held(known.of_phases, phases.path[phases.connection]),
    )


def _estimated(
    recording: Recording,
    found: OldPaths,
    phases: OldPhases,
    measured: tuple[PathHalf, PathHalf],
    place: Ints | None = None,
) -> OldEstimate:
    """The baselines of periods and phases; `place`, of each path, where it is known."""
    group, count = phases.period, int(phases.changes.first[-1])
    step_ns = recording.tick_ns
    far, near = measured
    resent_own, handshake = _opening(recording.connections, phases)
    resent = np.zeros(count, bool)
    resent[group[resent_own]] = True
    by_period = [choose(half, group, count, step_ns, resent) for half in (far, near)]
    if place is None:
        place = position(found, by_period[0], by_period[1], step_ns)
    else:
        place = _place_of_periods(found, phases.changes, by_period, place, step_ns)
        by_period = [less_work(chosen, _neighbour(chosen, phases.changes)) for chosen in by_period]
    of_periods = of_phases = _baselines(by_period, place, group, step_ns, handshake)
    by_phase, own = by_period, np.arange(len(group))
    if count != len(group) or (group != own).any():  # else each connection is its path's only one
        by_phase = [choose(half, own, len(own), step_ns, resent_own) for half in (far, near)]
        of_phases = _baselines(by_phase, place[group], own, step_ns, handshake)
    of_periods = _suspect_proxy(of_periods, by_period[0])
    measurements, weight = (_relevant(by_phase, place[group], name) for name in ("direct", "weight"))
    of_phases, of_periods = _from_siblings(of_phases, of_periods, group, measurements, weight)
    if step_ns >= MAX_TICK_NS:
        of_periods, of_phases = _unmeasured(of_periods), _unmeasured(of_phases)
    of_exchanges = phases.at(recording.exchanges.connection, recording.exchanges.begin)
    trips = np.bincount(of_exchanges, recording.exchanges.round_trips, len(phases))
    period_trips = np.bincount(group, trips, count)
    return OldEstimate(
        paths=found,
        of_paths=of_periods.picked(busiest(period_trips, phases.changes.first[:-1])),
        of_connections=of_phases.picked(busiest(trips, phases.opening)),
        phases=phases,
        of_phases=of_phases,
        of_periods=of_periods,
        of_exchanges=of_exchanges,
        direct=direct(recording, phases, measured),
    )


def _place_of_periods(
    found: OldPaths, changes: OldPathChanges, chosen: list[Chosen], known: Ints, step_ns: int
) -> Ints:
    """The place of the capture: as the whole path shows, or else one of its periods."""
    path = changes.path_of_period
    periods = OldPaths(path, [found.client[each] for each in path], [found.server[each] for each in path])
    place = known.copy()
    np.maximum.at(
        place, path, np.where(known[path] == AT_UNKNOWN, position(periods, chosen[0], chosen[1], step_ns), AT_UNKNOWN)
    )
    return place[path]


def _neighbour(chosen: Chosen, changes: OldPathChanges) -> Ints:
    """Each period's neighbour on its path of which more than responses is known; -1 for none."""
    direct = np.isin(chosen.method, DIRECT)
    number, path = np.arange(len(direct)), changes.path_of_period
    before = np.maximum.accumulate(np.where(direct, number, -1))
    after = np.minimum.accumulate(np.where(direct, number, len(direct))[::-1])[::-1]
    before = np.where(path[before] == path, before, -1)
    after = np.where(after < len(direct), after, -1)
    return np.where((before < 0) & (path[after] == path), after, before)


def _opening(connections: Connections, phases: OldPhases) -> tuple[Bools, Floats]:
    """Return for each phase: its SYN was sent again, and its whole handshake; a connection's first phase has them."""
    resent, handshake = np.zeros(len(phases), bool), np.full(len(phases), np.nan)
    resent[phases.opening] = connections.handshake_retransmitted
    handshake[phases.opening] = whole_handshakes(connections)
    return resent, handshake


def busiest(weights: Floats | Ints, first: Ints) -> Ints:
    """The one with the largest weight of each run that begins at `first`."""
    if len(first) == len(weights):
        return first
    run = np.repeat(np.arange(len(first)), np.diff(first, append=len(weights)))
    order = np.lexsort((weights, run))
    found: Ints = order[np.append(first[1:], len(weights)) - 1]
    return found


def _baselines(chosen: list[Chosen], place: Ints, group: Ints, step_ns: int, handshake: Floats) -> Baselines:
    """Add up the halves that matter at each place: a host's own turnaround is no network.

    Where neither tells the place, the range holds either, and both; where both were measured, the longer one counts.
    """
    count = len(place)
    one, other = chosen
    either = (place == AT_UNKNOWN) & ~(one.is_bound_only | other.is_bound_only | np.isnan(one.value + other.value))
    has_near = (place == AT_SERVER) | (place == BETWEEN) | (either & (other.value > one.value))
    has_far = (place == BETWEEN) | ~has_near

    def added(of_far: Floats, of_near: Floats) -> Floats:
        return np.where(has_far, of_far, 0.0) + np.where(has_near, of_near, 0.0)

    (far_low, far_high), (near_low, near_high) = limits(one, step_ns), limits(other, step_ns)
    far_most, near_most = (
        np.nan_to_num(np.where(half.is_bound_only | (half.method == Method.UNKNOWN), half.most, half_high))
        for half, half_high in ((one, far_high), (other, near_high))
    )
    baseline = added(one.value, other.value)
    longer = np.where(has_far & has_near, np.nan_to_num(other.value) > np.nan_to_num(one.value), has_near)
    least, middle, mean = map(added, one.in_stream, other.in_stream)
    handshakes = np.where(np.isnan(handshake), -1, handshake).astype(np.int64)
    seen = np.flatnonzero(handshakes >= 0)
    return Baselines(
        baseline=baseline,
        low=np.where(either, np.minimum(far_low, near_low), added(far_low, near_low)),
        high=added(far_high, near_high) + np.where(place == AT_UNKNOWN, np.where(has_far, near_most, far_most), 0.0),
        near_share=np.where(has_near & ~either, np.where(has_far, other.value / np.maximum(baseline, 1), 1.0), 0.0),
        method=np.where(longer, other.method, one.method),
        reason=np.where(longer, other.reason, one.reason),
        position=place,
        handshake=GroupedValues.of(group[seen], handshakes[seen], count).quantile(0.5),
        in_stream_min=least,
        in_stream_median=middle,
        in_stream_mean=mean,
        floor=one.floor + np.where(has_near & ~either, np.nan_to_num(other.value), 0.0),
        samples=np.where(longer, other.samples, one.samples),
    )


def _relevant(chosen: list[Chosen], place: Ints, name: str) -> Floats:
    """The samples of the halves that matter: the fewer of two."""
    far, near = (getattr(each, name) for each in chosen)
    return first_that_holds([place == AT_SERVER, place == BETWEEN], [near, np.minimum(far, near)], far)


def _from_siblings(
    own: Baselines, paths: Baselines, path: Ints, direct: Floats, weight: Floats
) -> tuple[Baselines, Baselines]:
    """The path's baseline where a connection has few measurements of its own.

    But not where its own evidence is a mass and plainly apart: one address may stand for hosts that are near and far.
    The path's range holds both then.
    """
    shared = paths.picked(path)
    apart = np.abs(own.baseline - shared.baseline) > np.maximum(CLEAR_NS, AGREEMENT_SHARE * own.baseline)
    apart &= (own.high < shared.low) | (own.low > shared.high)
    at_odds = apart & (weight >= STRONG_WEIGHT) & np.isin(own.method, DIRECT)
    few = (direct < MIN_FOR_DENSITY) & ~at_odds
    own_fits = (direct > 0) & (own.baseline >= shared.low) & (own.baseline <= shared.high)
    lent = few & ~own_fits & np.isin(shared.method, DIRECT)
    kept = ("position", "handshake")
    taken = {
        name: np.where(few, getattr(shared, name), getattr(own, name))
        for name in Baselines.__struct_fields__
        if name not in kept
    }
    measured = ("in_stream_min", "in_stream_median", "in_stream_mean", "floor")
    taken |= {name: np.where(np.isnan(getattr(own, name)), taken[name], getattr(own, name)) for name in measured}
    taken["reason"] = np.where(lent, Reason.SIBLINGS, taken["reason"])
    low, high, other = paths.low.copy(), paths.high.copy(), np.flatnonzero(at_odds)
    np.minimum.at(low, path[other], own.low[other])
    np.maximum.at(high, path[other], own.high[other])
    return replace(own, **taken), replace(paths, low=low, high=high)


def _suspect_proxy(found: Baselines, far: Chosen) -> Baselines:
    """Say so where no response came near the RTT: something else may have answered for the server."""
    least = far.quickest + found.near
    direct = np.isin(found.method, DIRECT) & (far.responses >= MIN_UNIFORM) & (found.reason != Reason.SPLIT_SYN)
    suspect = direct & (least > PROXY_RATIO * found.baseline) & (least > found.baseline + PROXY_NS)
    return replace(found, reason=np.where(suspect, Reason.FAR_RESPONSES, found.reason))


def _unmeasured(found: Baselines) -> Baselines:
    """The clock was too coarse for any of it."""
    nothing = np.full(len(found.baseline), np.nan)
    method, reason = np.full(len(nothing), Method.UNKNOWN), np.full(len(nothing), Reason.COARSE_CLOCK)
    position = np.where(found.position == LOOPBACK, LOOPBACK, AT_UNKNOWN)
    samples, none = np.zeros_like(found.samples), np.zeros(len(nothing))
    return replace(
        found,
        baseline=nothing,
        low=nothing,
        high=np.full(len(nothing), np.inf),
        near_share=none,
        method=method,
        reason=reason,
        position=position,
        samples=samples,
    )


def _given(found: Baselines, given_ms: float) -> Baselines:
    """Add to one side of an unknown capture point what no response took on the other."""
    value = np.full(len(found.baseline), given_ms * 1e6)
    method, reason = np.full(len(value), Method.GIVEN), np.full(len(value), Reason.GIVEN)
    beyond = np.nan_to_num(np.maximum(1 - found.floor / np.maximum(value, 1), 0))
    near_share = np.where(found.position == AT_UNKNOWN, beyond, found.near_share)
    return replace(found, baseline=value, low=value, high=value, near_share=near_share, method=method, reason=reason)
