"""How much later hosts answer after a rest, read from what they did behind long rests and behind short ones.

A host that had nothing to do for some milliseconds has cold caches and sleeping processors. The server's rest ends with
a request, the client's with a response. Its own time behind each is compared among exchanges of one kind only: one
statement with answers of about one length, on the same connection's path.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.rtt import Estimate
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.connections import MISSING
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording

RESTS_MS = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
"""The middles of the bins that rests are sorted into; shorter and longer ones belong to the first and the last."""
MAX_REST_NS = 1_000_000_000
"""Longer rests are no part of a job's work: data may have left the server's memory."""
MIN_TIMES = 5
"""Exchanges of one kind whose median counts behind rests of one length."""
MIN_SHARE = 0.05
"""They are at least this part of their kind: fewer are a tail of one length, when the machine was disturbed."""
MIN_RATIO = 1.5
"""Typical rests of two bins differ by this factor: what made one rest a little longer may have slowed the answer."""
MIN_COMPARED = 20
"""Exchanges in all behind longer rests, of which a curve is made."""
KIND_ERROR_SHARE = 0.2
"""The standard error of one kind's median is at least this share of its time, however often it ran."""
MIN_KIND_ERROR_NS = 20_000.0
"""The standard error of one kind's median is at least this, and half of the distance of the quartiles."""
MEDIAN_ERROR_SHARE = 0.93
"""The standard error of a median: this part of the quartiles' distance, divided by √n."""
MAX_TIMES_FASTEST = 4.0
MAX_BEYOND_FASTEST_NS = 1_000_000
"""An own time above this many times the fastest tenth of its kind, and so much more, holds a pause or other work."""
MIN_EXTRA_SHARE = 0.75
"""A rest counts as long if it costs at least this share of what the longest rests cost."""
QUIET_KINDS = ("read", "begin", "session", "ping")
"""Kinds of statements whose work does not depend on a disk."""


class ReadCurve(Struct, frozen=True):
    """How much more of its own time a host takes behind rests, beyond what it takes behind the first of them."""

    rests_ms: tuple[float, ...]
    extra_ms: tuple[float, ...]
    error_ms: tuple[float, ...]
    """The standard error of each, 0 of the first."""

    @property
    def is_known(self) -> bool:
        """The longest rests cost more than three standard errors."""
        return self.extra_ms[-1] > 3 * self.error_ms[-1]

    @property
    def full_from_ms(self) -> float:
        """The rest from which on a host takes nearly as long as behind the longest."""
        return next(
            rest
            for rest, extra in zip(self.rests_ms, self.extra_ms, strict=True)
            if extra >= MIN_EXTRA_SHARE * self.extra_ms[-1]
        )


class _OwnTimes(Struct, frozen=True):
    """Own times of a host in ns, what each was for, and how long the host had rested."""

    kind: Ints
    rest: Ints
    own: Ints

    def of(self, these: Bools) -> _OwnTimes:
        """Some of them."""
        return _OwnTimes(self.kind[these], self.rest[these], self.own[these])


def read_curves(recording: Recording, rtt: Estimate) -> tuple[ReadCurve | None, ReadCurve | None]:
    """Return the curves of the clients and of the servers; None where rests are all alike or the evidence is thin."""
    exchanges = recording.exchanges
    usable = _usable(exchanges)
    if np.count_nonzero(usable) < 2 * MIN_COMPARED:
        return None, None
    far, near = halves(rtt)
    return _curve(_of_clients(recording, usable, near)), _curve(_of_servers(recording, usable, far))


def _usable(exchanges: Exchanges) -> Bools:
    """Statements that waited once, without losses, and of a kind that is the same work each time."""
    usable: Bools = exchanges.complete & (exchanges.round_trips == 1) & (exchanges.waited >= 0)
    usable &= (exchanges.retransmissions == 0) & (exchanges.stalled <= 0) & ~exchanges.failed
    return usable & (exchanges.fingerprint >= 0) & exchanges.kind.where(lambda kind: kind in QUIET_KINDS)


def halves(rtt: Estimate) -> tuple[Ints, Ints]:
    """Return each exchange's baseline between the capture and the server, and between the client and the capture."""
    phases, of = rtt.of_phases, rtt.of_exchanges
    known = np.nan_to_num(phases.baseline)
    near = (known * phases.near_share).astype(np.int64)
    return (known.astype(np.int64) - near)[of], near[of]


def _of_servers(recording: Recording, usable: Bools, far: Ints) -> _OwnTimes:
    """Request → response, less the RTT; the server rested since the last packet of any of its connections."""
    exchanges, server = recording.exchanges, recording.connections.server.codes.astype(np.int64)
    host = server[exchanges.connection]
    before, _ = _neighbours(host, exchanges)
    rest = np.where(before == MISSING, MISSING, exchanges.begin - before + far)
    usable = usable & (before != MISSING) & (exchanges.begin >= before)
    rows = np.flatnonzero(usable)
    kind = passes.numbered(host[rows], *_alike(exchanges, rows))
    return _OwnTimes(kind, rest[rows], (exchanges.waited - far)[rows])


def _of_clients(recording: Recording, usable: Bools, near: Ints) -> _OwnTimes:
    """Response → next request on a connection; the client rested while it waited, if for that response alone."""
    exchanges, clients = recording.exchanges, recording.connections.host.codes.astype(np.int64)
    connection = exchanges.connection
    host = clients[connection]
    before, behind = _neighbours(host, exchanges)
    alone = (exchanges.begin >= before) & (exchanges.response <= behind)
    rows = np.flatnonzero((usable & alone)[:-1] & (connection[1:] == connection[:-1]))
    rows = rows[exchanges.client[rows + 1] >= 0]
    own = exchanges.client[rows + 1] - near[rows]
    then = exchanges.fingerprint[rows + 1], exchanges.command.codes[rows + 1]
    kind = passes.numbered(host[rows], *_alike(exchanges, rows), *(each.astype(np.int64) for each in then))
    return _OwnTimes(kind, (exchanges.waited + near)[rows], own)


def _neighbours(host: Ints, exchanges: Exchanges) -> tuple[Ints, Ints]:
    """The end of all that began before each exchange on its host, and when the next one began."""
    begin = exchanges.begin
    order = np.lexsort((begin, host))
    same = np.diff(host[order]) == 0
    ended = passes.running_maximum(exchanges.end[order], host[order])
    before, behind = np.full(len(host), MISSING), np.full(len(host), np.iinfo(np.int64).max)
    before[order[1:][same]] = ended[:-1][same]
    behind[order[:-1][same]] = begin[order[1:][same]]
    return before, behind


def _alike(exchanges: Exchanges, rows: Ints) -> tuple[Ints, ...]:
    """Return the statement, the command and about the length of the answer, which exchanges of one kind share."""
    length = np.log2(np.maximum(exchanges.response_bytes[rows], 1)).astype(np.int64)
    return exchanges.fingerprint[rows], exchanges.command.codes[rows].astype(np.int64), length


def _curve(times: _OwnTimes) -> ReadCurve | None:
    """Fit the extra time of each bin to the medians of kinds and bins, each kind at its own level (least squares)."""
    inside = (times.rest >= 0) & (times.rest <= MAX_REST_NS) & (times.own >= 0) & (times.own <= MAX_REST_NS)
    if np.count_nonzero(inside) < 2 * MIN_COMPARED:
        return None
    times = times.of(inside)
    fastest = GroupedValues.of(times.kind, times.own, int(times.kind.max()) + 1).quantile(0.1)[times.kind]
    times = times.of(times.own <= MAX_TIMES_FASTEST * fastest + MAX_BEYOND_FASTEST_NS)
    edges = np.sqrt(np.multiply(RESTS_MS[1:], RESTS_MS[:-1])) * 1e6
    bins = len(RESTS_MS)
    cell = times.kind * bins + np.searchsorted(edges, times.rest)
    shown = passes.occurring(cell)
    values = GroupedValues.of(np.searchsorted(shown, cell), times.own, len(shown))
    counts, middle = values.counts, values.quantile(0.5)
    spread = values.quantile(0.75) - values.quantile(0.25)
    rested = GroupedValues.of(np.searchsorted(shown, cell), times.rest, len(shown)).quantile(0.5)
    of_kind = np.bincount(shown // bins, counts)[shown // bins]
    enough = (counts >= np.maximum(MIN_TIMES, MIN_SHARE * of_kind)) & _apart(shown // bins, rested)
    shown, counts, middle, spread = shown[enough], counts[enough], middle[enough], spread[enough]
    kind, at = passes.numbered(shown // bins), shown % bins
    level = GroupedValues.of(kind, middle.astype(np.int64), len(shown)).quantile(0)[kind]
    of_kind_error = np.maximum(np.maximum(KIND_ERROR_SHARE * level, MIN_KIND_ERROR_NS), spread / 2)
    weight = 1 / (MEDIAN_ERROR_SHARE**2 * spread**2 / counts + of_kind_error**2)
    return _fitted(kind, at, middle, weight, counts)


def _apart(kind: Ints, rested: Floats) -> Bools:
    """Cells whose rests are plainly longer than those of the cell before: no single peak that a bin's edge cuts."""
    apart = np.ones(len(kind), bool)
    apart[1:] = (kind[1:] != kind[:-1]) | (rested[1:] >= MIN_RATIO * rested[:-1])
    return apart


def _fitted(kind: Ints, at: Ints, own: Floats, weight: Floats, counts: Ints) -> ReadCurve | None:
    """The extra of each bin over the first, of the bins that kinds compare with it."""
    bins, count = len(RESTS_MS), int(kind.max(initial=-1)) + 1
    weights, weighted, times = (np.zeros((count, bins)) for _ in range(3))
    weights[kind, at], weighted[kind, at], times[kind, at] = weight, weight * own, counts
    compared = (weights > 0).sum(axis=1) > 1
    weights, weighted, times = weights[compared], weighted[compared], times[compared]
    there = np.flatnonzero(weights.any(axis=0))
    if len(there) < 2:
        return None
    share = weights / weights.sum(axis=1, keepdims=True)
    normal = np.diag(weights.sum(axis=0)) - share.T @ weights
    right = weighted.sum(axis=0) - share.T @ weighted.sum(axis=1)
    linked = _linked(weights > 0, there[0])
    if len(linked) < 2 or times[:, linked[1:]].sum() < MIN_COMPARED:
        return None
    inverse = np.linalg.inv(normal[np.ix_(linked[1:], linked[1:])])
    extra = inverse @ right[linked[1:]]
    error = np.sqrt(np.diag(inverse) * _misfit(weights[:, linked], weighted[:, linked], np.append(0.0, extra)))
    return ReadCurve(
        tuple(RESTS_MS[each] for each in linked),
        (0.0, *(float(each) / 1e6 for each in extra)),
        (0.0, *(float(each) / 1e6 for each in error)),
    )


def _misfit(weights: Floats, weighted: Floats, extra: Floats) -> float:
    """How many times the expected variance the kinds differ from each other's curve, 1 at least."""
    above = weighted - weights * extra
    level = above.sum(axis=1, keepdims=True) / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    deviations = (above - weights * level) ** 2 / np.maximum(weights, 1e-300)
    free = np.count_nonzero(weights) - len(weights) - len(extra) + 1
    return max(1.0, float(deviations.sum()) / free) if free > 0 else 1.0


def _linked(shown: Bools, first: int) -> Ints:
    """The bins that some kind compares with the first one, or with another of them."""
    linked = np.zeros(shown.shape[1], bool)
    linked[first] = True
    for _ in RESTS_MS:
        linked |= shown[shown[:, linked].any(axis=1)].any(axis=0)
    return np.flatnonzero(linked)
