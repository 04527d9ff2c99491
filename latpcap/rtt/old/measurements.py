"""The measurements of each half of the path: handshakes, acknowledgments, bounds, and their typical value.

```text
client ──near half── capture point ──far half── server
                       SYN ───────►            far handshake:  SYN → SYN/ACK
           ◄─────── SYN/ACK                    near handshake: SYN/ACK → ACK
                      data ───────►            far sample:     data → its ACK     near sample: the same the other way
           request ──►   ◄── response          far bound:      last request packet → first response packet
           response ─►   ◄── next request      near bound:     end of response → next request
                      data ───────►
                           ◄─────── data       far answer:     data → the data that acknowledges it; near: the other way
```

A bound holds the half's RTT and the work of the host behind it: it may be longer, hardly shorter. An answer is a bound
that TCP proves, whatever the messages mean: the half's RTT is no longer than the fastest one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.rtt.old.phases import OldPhases
from latpcap.tables.columnar.columns import Bools, Entries, Floats, Ints
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.connections import MISSING, Connections
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording
from latpcap.tables.samples import Samples

MAX_IN_FLIGHT = 10
"""Data behind more segments in flight (the initial window, RFC 6928) waited in queues that a request never sees."""
DELAYED_ACK_NS = 20_000_000
"""An ACK this much later than the fastest was delayed by its sender (RFC 1122: up to 500 ms; Linux 40 ms)."""
MIN_CONSISTENT = 3
"""Packets that no single one overturns. Fewer ACKs of a connection that shows neither its beginning nor an answer are
what is left of one: they only bound, as nothing tells which copy of the data they acknowledge."""
MAX_NS = 2**62
"""The largest duration that an integer holds, more than a century."""
MIN_FOR_DENSITY = 10
"""This many measurements show where they are dense, and their shape. Of fewer, the lower quarter has the least of the
hosts' delays."""
MAX_STEP_SHARE = 0.1
"""Rounding hides a value of which the clock's step is a larger share; only the mean helps then."""


class Measurements(Entries, frozen=True):
    """Measurements in ns, the connection (where paths changed: the phase) of each, and when it was taken."""

    connection: NDArray[np.signedinteger[Any]]
    ns: Ints
    time: Ints

    def grouped(self, group: Ints, count: int) -> GroupedValues:
        """Sorted by group; `group` is the group of each connection."""
        return GroupedValues.of(group[self.connection] if count > 1 else self.connection, self.ns, count)

    def __add__(self, other: Measurements) -> Measurements:
        return Measurements.joined((self, other)) if len(other) else self

    def cut(self, phases: OldPhases) -> Measurements:
        """The phase of each in the place of its connection."""
        if not len(phases.changes):
            return self
        inside = self.where(phases.covers(self.connection, self.time))
        return Measurements(phases.at(inside.connection, inside.time), inside.ns, inside.time)

    def __len__(self) -> int:
        return len(self.ns)


class PathHalf(Struct, frozen=True):
    """All that was measured of one half."""

    handshakes: Measurements
    acks: Measurements
    """Clean ones: quiet and prompt."""
    bounds: Measurements
    statement: Ints
    """The statement of each bound, -1 for none; of the near half one for all."""
    answers: Measurements
    """The fastest of each connection."""
    late: Measurements
    """ACKs that may have been delayed: they bound, too, and show that their sender waited for something."""
    is_clean: Bools
    """Which of the half's samples `acks` are."""

    def bounding(self, group: Ints, count: int) -> GroupedValues:
        """All that bounds it, each packet once: most answers are responses."""
        least = np.full(len(group), np.iinfo(np.int64).max)
        np.minimum.at(least, self.bounds.connection, self.bounds.ns)
        every = self.bounds, self.answers.where(self.answers.ns < least[self.answers.connection]), self.late
        groups, ns = zip(*((group[each.connection], each.ns) for each in every), strict=True)
        return GroupedValues.of(np.concatenate(groups), np.concatenate(ns), count)


def halves(recording: Recording, phases: OldPhases) -> tuple[PathHalf, PathHalf]:
    """The far and the near half of each phase."""
    connections, exchanges = recording.connections, recording.exchanges
    one = phases.opening == phases.closing  # which phase the fastest answer was in, is not known of the others
    samples = [*recording.samples(MAX_IN_FLIGHT)]  # each is let go of when it was looked through
    return (
        _half(
            samples.pop(0),
            phases,
            _known(connections.server_handshake, connections),
            _waits(exchanges),
            _known(np.where(one, connections.server_answer, MISSING), connections),
        ),
        _half(
            samples.pop(),
            phases,
            _known(connections.client_handshake, connections),
            _turns(exchanges),
            _known(np.where(one, connections.client_answer, MISSING), connections),
        ),
    )


Direct = Callable[[bool, bool], Iterator[tuple[bool, Measurements]]]
"""Handshakes and clean ACKs of the far half and of the near one, where these are asked for, and whether they are of the
near one. Made anew each time: they are larger than the exchanges."""


def direct(recording: Recording, phases: OldPhases, measured: tuple[PathHalf, PathHalf]) -> Direct:
    """The measurements of both halves, with the phase of each."""
    far, near = measured
    handshakes, is_clean = (far.handshakes, near.handshakes), (far.is_clean, near.is_clean)

    def again(*asked: bool) -> Iterator[tuple[bool, Measurements]]:
        yield from ((bool(near), values) for near, values in enumerate(handshakes) if asked[near])
        wanted = [clean if wanted else clean[:0] for clean, wanted in zip(is_clean, asked, strict=True)]
        for near, samples in enumerate(recording.samples(MAX_IN_FLIGHT, (wanted[0], wanted[1]))):
            yield bool(near), _taken(samples).cut(phases)

    return again


def whole_handshakes(connections: Connections) -> Floats:
    """SYN → ACK of each connection, as Wireshark's iRTT; NaN where it cannot be timed."""
    far, near = connections.server_handshake, connections.client_handshake
    timed = (far != MISSING) & (near != MISSING)
    return np.where(timed, np.minimum(far.astype(float) + near, MAX_NS), np.nan)


def _known(of_connections: Ints, connections: Connections) -> Measurements:
    """One measurement a connection, where there is one: of its beginning."""
    known = np.flatnonzero(of_connections != MISSING)
    return Measurements(known, of_connections[known], connections.start[known])


def _waits(exchanges: Exchanges) -> tuple[Measurements, Ints]:
    """Request → response of exchanges that waited once, and not for a retransmission; the statement of each."""
    waited = exchanges.waited
    usable = exchanges.complete & (exchanges.round_trips == 1) & (waited >= 0)
    usable &= exchanges.retransmissions == 0
    return Measurements(exchanges.connection[usable], waited[usable], exchanges.begin[usable]), exchanges.fingerprint[
        usable
    ]


def _turns(exchanges: Exchanges) -> tuple[Measurements, Ints]:
    """Response → next request, where the client had to read that response before it went on.

    Of one kind all of them: a client may well sleep as long after each statement.
    """
    paused = exchanges.client
    usable = exchanges.complete & (exchanges.round_trips > 0) & (paused >= 0)
    sent_again = exchanges.retransmissions > 0
    usable &= ~(sent_again | np.roll(sent_again, 1))  # the exchange before: its response may have come twice
    turns = Measurements(exchanges.connection[usable], paused[usable], exchanges.begin[usable])
    return turns, np.zeros(len(turns), np.int64)


def _taken(samples: Samples) -> Measurements:
    return Measurements(samples.connection, samples.rtt, samples.time)


def _half(
    samples: Samples,
    phases: OldPhases,
    handshakes: Measurements,
    bounded: tuple[Measurements, Ints],
    answers: Measurements,
) -> PathHalf:
    """One half: its acknowledgments are quiet (where the path has such) and not delayed.

    One segment alone may be acknowledged late, and nothing in a late ACK says so: where neither a handshake nor an ACK
    of several segments was about as late, it is a bound as any.
    """
    acks, path, count = _taken(samples), phases.period, int(phases.changes.first[-1])
    is_clean = phases.covers(acks.connection, acks.time)
    acks, samples = acks.cut(phases), samples.where(is_clean)
    bounds, statement = bounded
    inside = phases.covers(bounds.connection, bounds.time)
    statement = statement if inside.all() else statement[inside]
    handshakes, bounds, answers = (values.cut(phases) for values in (handshakes, bounds, answers))
    alone, quiet = samples.alone, samples.quiet
    has_quiet = np.bincount(path[acks.connection[quiet]], minlength=count) > 0
    if not (of_interest := quiet | ~has_quiet[path[acks.connection]]).all():
        is_clean[is_clean] = of_interest
        acks, alone = acks.where(of_interest), alone[of_interest]
    confirmed = _least(path, count, handshakes, acks.where(~alone))
    least = np.minimum(confirmed, _least(path, count, acks, bounds, answers))
    group = path[acks.connection]
    is_prompt = acks.ns < least[group] + DELAYED_ACK_NS
    left_over = np.bincount(acks.connection, minlength=len(phases)) < MIN_CONSISTENT
    left_over[handshakes.connection] = left_over[bounds.connection] = False
    unsure = (
        alone & (acks.ns >= DELAYED_ACK_NS) & (confirmed[group] > acks.ns + DELAYED_ACK_NS) | left_over[acks.connection]
    )
    clean = is_prompt & ~unsure
    is_clean[is_clean] = clean
    return PathHalf(handshakes, acks.where(clean), bounds, statement, answers, acks.where(~clean), is_clean)


def _least(path: Ints, count: int, *several: Measurements) -> Ints:
    """The least measurement of each path; far beyond all where there is none."""
    least = np.full(count, np.iinfo(np.int64).max - 2 * DELAYED_ACK_NS)
    for values in several:
        np.minimum.at(least, path[values.connection], values.ns)
    return least


# --- the typical one of many ------------------------------------------------------------------------------------------


def typical(values: GroupedValues, step_ns: int) -> Floats:
    """The typical value of each group, NaN for an empty one: a busy host makes measurements longer, never shorter."""
    found = values.quantile(0.25)
    if (values.counts >= MIN_FOR_DENSITY).any():
        found = np.where(values.counts >= MIN_FOR_DENSITY, values.densest_half(), found)
    if (values.quantile(0) < step_ns / MAX_STEP_SHARE).any():  # else no mean is below either
        mean = values.mean()
        found = np.where(mean < step_ns / MAX_STEP_SHARE, mean, found)
    return found
