"""What lost packets added to the wait for an answer, and to the answer itself.

An exchange with retransmissions is longer than its clean siblings: that excess is loss. Of a packet that was lost
before the capture point only the second copy passes, like any other packet. What it cost shows beside sure losses: a
wait that is longer than its siblings by as much as a sure time-out of the same path was probably one, too.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints, constant
from latpcap.tables.columnar.quantiles import Grouped
from latpcap.tables.recording import Exchanges, Recording

__all__ = ["Losses", "losses"]

TIMEOUT_NS = 190_000_000
"""The shortest retransmission time-out in use (Linux), less what clocks and timers are off; the core has the same."""
ALIKE = 0.1
"""A time-out differs by no more from the nearest sure one: it follows the RTT and how that varies."""
_LONGEST_NS = 1 << 40
"""Longer than any time-out: paths and waits are sorted as one number."""
MOST_FOR_A_SURE_ONE = 3
"""What is lost before the capture point is not much more than what is lost behind it."""


class Losses(Struct, frozen=True):
    """What of each exchange is loss, in ns."""

    service: Ints
    """Of the wait for its answer."""
    response: Ints
    """Of the time in which the answer came."""
    probable: Bools
    """No retransmission was captured."""


def losses(recording: Recording, path: Ints, service: Ints, response: Ints) -> Losses:
    """Tell the loss in what exchanges waited beyond the network (`service`) and what their answers took.

    `path` is that of each connection.
    """
    exchanges = recording.exchanges
    usable = exchanges.complete & ~exchanges.is_setup
    hit = usable & (exchanges.retransmissions > 0)
    if hit.any():
        hit &= ~_lost_nothing(recording)[exchanges.connection]
    if not hit.any():
        return Losses(constant(0, len(hit)), constant(0, len(hit)), constant(False, len(hit)))
    kinds, clean = _kinds(exchanges), usable & ~hit
    excess = _excess(service, kinds, usable, clean)
    waits_once = clean & (exchanges.round_trips == 1) & (exchanges.stalled == 0)
    probable = _like_timeouts(excess, path[exchanges.connection], hit, waits_once)
    return Losses(
        service=np.where(hit | probable, excess, 0),
        response=np.where(hit, _excess(response, kinds, hit, clean), 0),
        probable=probable,
    )


def _lost_nothing(recording: Recording) -> Bools:
    """Connections on which all that was sent again had arrived, and nobody waited in silence."""
    if recording.period is not None:  # what had arrived is known of whole connections
        return np.zeros(len(recording.connections), bool)
    again, spurious, timeouts = (
        recording.connection_column(name).values for name in ("retransmissions", "spurious_retransmissions", "timeouts")
    )
    nothing: Bools = (spurious > 0) & (again <= spurious) & (timeouts == 0)
    return nothing


def _kinds(exchanges: Exchanges) -> Ints:
    """One number for each statement, and for each command without one."""
    kind = np.where(exchanges.fingerprint >= 0, exchanges.fingerprint, -1 - exchanges.command.codes)
    return passes.numbered(kind)


def _excess(lengths: Ints, kinds: Ints, which: Bools, clean: Bools) -> Ints:
    """How much longer `which` are than the median of the `clean` ones of their kind, else of all."""
    count = int(kinds.max(initial=-1)) + 1
    usual = Grouped.of(kinds[clean], lengths[clean], count).quantile(0.5)
    overall = np.median(lengths[clean]) if clean.any() else np.inf
    usual = np.where(np.isnan(usual), overall, usual)
    excess = np.zeros_like(lengths)
    excess[which] = np.maximum(lengths[which] - np.minimum(usual[kinds[which]], lengths[which]).astype(np.int64), 0)
    return excess


def _like_timeouts(excess: Ints, path: Ints, hit: Bools, clean: Bools) -> Bools:
    """Which `clean` exchanges are longer by a time-out; none on paths where other waits are about as long, too."""
    long = excess >= TIMEOUT_NS
    sure, others = np.flatnonzero(hit & long), np.flatnonzero(clean & (excess >= TIMEOUT_NS / 2))
    count = int(path.max(initial=-1)) + 1
    found = np.zeros(len(excess), bool)
    if not len(sure) or not len(others):
        return found
    apart = _nearest(excess[others], path[others], excess[sure], path[sure])
    alike = long[others] & (apart <= ALIKE)
    told, beside = (np.bincount(path[others[which]], minlength=count) for which in (alike, ~alike & (apart <= 1)))
    few = (told > beside) & (told <= MOST_FOR_A_SURE_ONE * np.bincount(path[sure], minlength=count))
    found[others[alike & few[path[others]]]] = True
    return found


def _nearest(lengths: Ints, path: Ints, sure: Ints, path_of_sure: Ints) -> Floats:
    """How far each is from the nearest sure one of its path, in parts of that; infinite where there is none."""
    keys = np.sort(path_of_sure * _LONGEST_NS + np.minimum(sure, _LONGEST_NS - 1))
    mine = np.minimum(lengths, _LONGEST_NS - 1)
    place = np.searchsorted(keys, path * _LONGEST_NS + mine)
    apart = np.full(len(lengths), np.inf)
    for neighbour in (place - 1, place):
        at = np.clip(neighbour, 0, len(keys) - 1)
        of_path, known = np.divmod(keys[at], _LONGEST_NS)
        apart = np.where(of_path == path, np.minimum(apart, np.abs(mine - known) / known), apart)
    return apart
