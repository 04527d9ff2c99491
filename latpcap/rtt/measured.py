"""What the capture shows of each half of the path: handshakes, acknowledgments, bounds, and their typical value.

```text
client ──near half── capture point ──far half── server
                       SYN ───────►            far handshake:  SYN → SYN/ACK
           ◄─────── SYN/ACK                    near handshake: SYN/ACK → ACK
                      data ───────►            far sample:     data → its ACK     near sample: the same the other way
           request ──►   ◄── response          far bound:      last request packet → first response packet
           response ─►   ◄── next request      near bound:     end of response → next request
```

A bound holds the half's RTT and the work of the host behind it: it may be longer, never shorter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latpcap.tables.columns import Bools, Floats, Ints
from latpcap.tables.quantiles import Grouped
from latpcap.tables.recording import MISSING, Connections, Exchanges, Recording, Samples

__all__ = ["COARSE", "MIN_FOR_DENSITY", "Half", "Values", "halves", "typical", "whole_handshakes"]


MAX_IN_FLIGHT = 10
"""Data behind more segments in flight (the initial window, RFC 6928) waited in queues that a request never sees."""
DELAYED_NS = 20_000_000
"""An ACK this much later than the fastest was delayed by its sender (RFC 1122: up to 500 ms; Linux 40 ms)."""
MIN_FOR_DENSITY = 10
"""This many measurements show where they are dense; of fewer, the lower quarter has the least of the hosts' delays."""
COARSE = 0.1
"""Where the clock's step is a larger part of the value, only the mean helps: rounding evens out."""


@dataclass(frozen=True, slots=True)
class Values:
    """Measurements in ns and the connection of each."""

    connection: Ints
    ns: Ints

    def grouped(self, group: Ints, count: int) -> Grouped:
        """Sorted by group; `group` is the group of each connection."""
        return Grouped.of(group[self.connection], self.ns, count)

    def where(self, keep: Bools) -> Values:
        """Those to keep."""
        return Values(self.connection[keep], self.ns[keep])

    def __add__(self, other: Values) -> Values:
        return Values(np.concatenate((self.connection, other.connection)), np.concatenate((self.ns, other.ns)))

    def __len__(self) -> int:
        return len(self.ns)


@dataclass(frozen=True, slots=True)
class Half:
    """All that was measured of one half."""

    handshakes: Values
    acks: Values
    """Clean ones: quiet and prompt."""
    bounds: Values


def halves(recording: Recording, path: Ints) -> tuple[Half, Half]:
    """The far and the near half; `path` is the path of each connection."""
    connections, exchanges, samples = recording.connections, recording.exchanges, recording.samples
    far_shakes, near_shakes = _handshakes(connections)
    waits, turns = _waits(exchanges), _turns(exchanges)
    far = Half(far_shakes, _clean(samples, samples.by_server, path, far_shakes, waits), waits)
    near = Half(near_shakes, _clean(samples, ~samples.by_server, path, near_shakes, turns), turns)
    return far, near


def whole_handshakes(connections: Connections) -> Floats:
    """SYN → ACK of each connection, as Wireshark's iRTT; NaN where it was not seen whole and once."""
    seen = _seen(connections)
    return np.where(seen, connections.ack - np.where(seen, connections.syn, 0), np.nan)


def _seen(connections: Connections) -> Bools:
    """All three packets, each once, in their order."""
    whole = (connections.syn != MISSING) & (connections.syn_ack != MISSING) & (connections.ack != MISSING)
    ordered = (connections.syn <= connections.syn_ack) & (connections.syn_ack <= connections.ack)
    once: Bools = whole & ordered & ~connections.handshake_retransmitted
    return once


def _handshakes(connections: Connections) -> tuple[Values, Values]:
    seen = np.flatnonzero(_seen(connections))
    far = connections.syn_ack[seen] - connections.syn[seen]
    near = connections.ack[seen] - connections.syn_ack[seen]
    return Values(seen, far), Values(seen, near)


def _waits(exchanges: Exchanges) -> Values:
    """Request → response of exchanges that waited once. Retransmissions only make them longer: no harm to a bound."""
    usable = exchanges.complete & (exchanges.round_trips == 1) & (exchanges.waited >= 0)
    return Values(exchanges.connection[usable], exchanges.waited[usable])


def _turns(exchanges: Exchanges) -> Values:
    """Response → next request, where the client had to read that response before it went on."""
    usable = exchanges.complete & (exchanges.round_trips > 0) & (exchanges.client >= 0)
    return Values(exchanges.connection[usable], exchanges.client[usable])


def _clean(samples: Samples, side: Bools, path: Ints, shakes: Values, bounds: Values) -> Values:
    """The in-stream samples of one side that are quiet (where the path has such) and not delayed."""
    count = int(path.max(initial=-1)) + 1
    taken = Values(samples.connection[side], samples.rtt[side])
    quiet = samples.in_flight[side] <= MAX_IN_FLIGHT
    has_quiet = np.bincount(path[taken.connection[quiet]], minlength=count) > 0
    taken = taken.where(quiet | ~has_quiet[path[taken.connection]])
    least = np.full(count, np.iinfo(np.int64).max - DELAYED_NS)
    for values in (taken, shakes, bounds):
        np.minimum.at(least, path[values.connection], values.ns)
    return taken.where(taken.ns < (least + DELAYED_NS)[path[taken.connection]])


# --- the typical one of many ------------------------------------------------------------------------------------------


def typical(values: Grouped, step_ns: int) -> Floats:
    """The typical value of each group, NaN for an empty one: a busy host makes measurements longer, never shorter."""
    found = values.quantile(0.25)
    if (values.counts >= MIN_FOR_DENSITY).any():
        found = np.where(values.counts >= MIN_FOR_DENSITY, _densest_half(values), found)
    if (values.quantile(0) < step_ns / COARSE).any():  # else no mean is below either
        mean = _mean(values)
        found = np.where(mean < step_ns / COARSE, mean, found)
    return found


def _mean(values: Grouped) -> Floats:
    sums = np.concatenate(([0], np.cumsum(values.values)))
    total = (sums[values.starts[1:]] - sums[values.starts[:-1]]).astype(float)
    return np.where(values.counts > 0, total / np.maximum(values.counts, 1), np.nan)


def _densest_half(values: Grouped) -> Floats:
    """The mean of the shortest interval that holds half of each group.

    Even where jitter is symmetric, it lies in the middle; a long tail of late measurements does not move it.
    """
    counts, starts = values.counts, values.starts[:-1]
    result = np.full(len(counts), np.nan)
    if len(values.values) == 0:
        return result
    half = (counts + 1) // 2
    group = np.repeat(np.arange(len(counts)), counts)
    first = np.arange(len(values.values))
    last = first + half[group] - 1
    inside = last < values.starts[1:][group]
    width = np.where(inside, values.values[np.where(inside, last, 0)] - values.values, np.iinfo(np.int64).max)
    filled = np.flatnonzero(counts > 0)
    least = np.minimum.reduceat(width, starts[filled])
    candidates = np.where(width == np.repeat(least, counts[filled]), first, len(first))
    begin = np.minimum.reduceat(candidates, starts[filled])
    sums = np.concatenate(([0], np.cumsum(values.values)))
    result[filled] = (sums[begin + half[filled]] - sums[begin]) / half[filled]
    return result
