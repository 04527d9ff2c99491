"""The baseline RTT of each connection: from its handshake, from its data, or bounded by its fastest responses.

```text
handshake       a = SYN → SYN/ACK, b = SYN/ACK → ACK, RTT = a + b           once a connection, with tiny packets
in-stream       data → its ACK, on the far side (server) and the near side   often, with real packets
response floor  the fastest responses: RTT + service, so an upper bound      always
```

`a ≫ b` means that the capture was taken at the client, `b ≫ a` at the server, anything else between them. The half
between the capture point and the client is the *near* one: waits that are seen at the capture point lack it.

The choice between the methods follows docs/model.md (C.2); where they disagree, the reason is kept as a sentence.
All arguments and results are arrays with one value a connection; times in ns, NaN where nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from latpcap.grouped import Grouped
from latpcap.recording import MISSING, Connections, Exchanges, Recording, Samples

__all__ = ["Baselines", "estimate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

AGREE = 0.10
"""Two methods agree when they differ by less (docs/model.md C.2)."""
REFUTED = 0.25
"""The fastest responses refute a handshake that was slower by more; below that it may be jitter."""
ONE_SIDED = 3.0
"""One half of the handshake so many times the other: the capture was taken at that end."""
HOST_NS = 50_000
"""A half below this is a host's own turnaround, not a network."""
MIDDLEBOX = 4
"""Acknowledgments so many times faster than handshake and responses come from a host on the way (NAT, proxy)."""
DELAYED_NS = 20_000_000
"""An ACK of one segment that is later than the floor by so much was delayed (RFC 1122: up to 500 ms; Linux 40 ms)."""
FEW_SAMPLES = 3
MANY_SAMPLES = 10
"""So many clean in-stream samples outweigh one handshake."""
FEW_WAITS = 5
FLOOR_QUANTILE = 0.05
"""The response floor of many waits: low, but not a single freak."""
OUTLIER = 0.5
"""A handshake that differs from its siblings' median by more is not believed."""
LEAST_UNCERTAINTY = 0.02
SINGLE_UNCERTAINTY = 0.10
"""Half width of the range where only one method spoke."""

METHODS = ("unknown", "handshake", "in-stream", "response floor", "given")
UNKNOWN, HANDSHAKE, IN_STREAM, FLOOR, GIVEN = range(len(METHODS))
POSITIONS = ("unknown", "client", "server", "between", "loopback")
AT_UNKNOWN, AT_CLIENT, AT_SERVER, BETWEEN, LOOPBACK = range(len(POSITIONS))

REASONS = (
    "no handshake, no clean ACK and no response was captured",
    "given",
    "handshake and in-stream agree",
    "only the handshake tells",
    "the handshake, which the fastest responses confirm",
    "handshake of other connections between the same hosts",
    "the handshake was slower than the fastest responses",
    "data takes longer than the handshake's small packets",
    "many in-stream samples against one slower handshake",
    "the handshake against few in-stream samples",
    "handshake and responses agree; acknowledgments come from a host on the way",
    "no handshake was captured: acknowledgments of data",
    "no handshake and no clean ACK: the fastest responses, an upper bound",
)
(
    R_NONE,
    R_GIVEN,
    R_AGREE,
    R_ALONE,
    R_CONFIRMED,
    R_SIBLINGS,
    R_SLOW_HANDSHAKE,
    R_SLOW_DATA,
    R_MANY,
    R_FEW,
    R_MIDDLEBOX,
    R_DATA,
    R_FLOOR,
) = range(len(REASONS))


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baseline of each connection and what it came from."""

    baseline: Floats
    low: Floats
    high: Floats
    near_share: Floats
    """The part of the RTT that lies between the capture point and the client; 0 at the client, and where unknown."""
    method: Ints
    reason: Ints
    position: Ints
    handshake: Floats
    in_stream_min: Floats
    in_stream_median: Floats
    floor: Floats
    samples: Ints
    """How many measurements the chosen method rests on."""

    @property
    def near(self) -> Floats:
        """The baseline's part between the capture point and the client; 0 where there is no baseline."""
        return np.nan_to_num(self.baseline * self.near_share)

    def method_name(self, connection: int) -> str:
        """The method in words."""
        return METHODS[self.method[connection]]

    def position_name(self, connection: int) -> str:
        """Where the capture was taken."""
        return POSITIONS[self.position[connection]]

    def reason_text(self, connection: int) -> str:
        """Why this method, as a sentence."""
        return REASONS[self.reason[connection]]


@dataclass(frozen=True, slots=True)
class _Halves:
    """The RTT's two halves: capture point → server and back, capture point → client and back."""

    far: Floats
    near: Floats

    @property
    def total(self) -> Floats:
        return self.far + self.near

    @property
    def seen(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.total)


@dataclass(frozen=True, slots=True)
class _Side:
    """The clean in-stream samples of one side: median, least, and how many there were."""

    median: Floats
    least: Floats
    count: Ints


def estimate(recording: Recording, given_ms: float | None = None) -> Baselines:
    """Choose the baseline RTT of each connection of `recording`; `given_ms` overrules what was measured."""
    connections, exchanges = recording.connections, recording.exchanges
    hosts = _hosts(connections)
    own = _handshake(connections)
    shake, siblings = _believable(own, hosts)
    floor, typical, waits = _waits(exchanges, hosts)
    far = _side(recording.samples, hosts, shake.far, floor, by_server=True)
    near = _side(recording.samples, hosts, shake.near, floor, by_server=False)
    halves = _Halves(np.where(shake.seen, shake.far, far.median), np.where(shake.seen, shake.near, near.median))
    position = _position(connections, halves)
    elsewhere = (position == AT_SERVER) | (position == BETWEEN)
    near_ns = np.where(elsewhere, halves.near, 0.0)
    in_stream, least, samples = _in_stream(position, shake, far, near)
    found = Baselines(
        baseline=np.full(len(connections), np.nan),
        low=np.full(len(connections), np.nan),
        high=np.full(len(connections), np.nan),
        near_share=np.where(elsewhere, halves.near / np.maximum(halves.total, 1), 0.0),
        method=np.zeros(len(connections), np.int64),
        reason=np.zeros(len(connections), np.int64),
        position=position,
        handshake=own.total,
        in_stream_min=least,
        in_stream_median=in_stream,
        floor=floor + near_ns,
        samples=samples,
    )
    if given_ms is not None:
        return _given(found, given_ms)
    typical = typical + near_ns
    return _reconcile(found, shake.total, siblings, np.minimum(in_stream, typical), typical, waits)


# --- what was measured ----------------------------------------------------------------------------------------------


def _hosts(connections: Connections) -> Ints:
    """A number for each pair of client host and server: its connections share one path."""
    numbers: dict[tuple[str, str], int] = {}
    pairs = (
        (client.rsplit(":", 1)[0], server)
        for client, server in zip(connections.client, connections.server, strict=True)
    )
    return np.fromiter((numbers.setdefault(pair, len(numbers)) for pair in pairs), np.int64, len(connections))


def _handshake(connections: Connections) -> _Halves:
    """SYN → SYN/ACK (far half) and SYN/ACK → ACK (near half); NaN unless all three were seen once."""
    whole = (connections.syn != MISSING) & (connections.syn_ack != MISSING) & (connections.ack != MISSING)
    whole &= ~connections.handshake_retransmitted
    far = np.where(whole, connections.syn_ack - connections.syn, -1).astype(float)
    near = np.where(whole, connections.ack - connections.syn_ack, -1).astype(float)
    usable = (far >= 0) & (near >= 0)
    return _Halves(np.where(usable, far, np.nan), np.where(usable, near, np.nan))


def _believable(own: _Halves, hosts: Ints) -> tuple[_Halves, Ints]:
    """Handshakes, missing ones and outliers replaced by the siblings' median; how many siblings lent it (0: own)."""
    seen = np.flatnonzero(own.seen)
    far, near = (
        Grouped.of(hosts[seen], half[seen].astype(np.int64), _count(hosts)).quantile(0.5)[hosts]
        for half in (own.far, own.near)
    )
    count = np.bincount(hosts[seen], minlength=_count(hosts))[hosts]
    outlier = (np.abs(own.total - (far + near)) > OUTLIER * (far + near)) & (count >= FEW_SAMPLES)
    borrow = (~own.seen | outlier) & (count > 0)
    shake = _Halves(np.where(borrow, far, own.far), np.where(borrow, near, own.near))
    return shake, np.where(borrow, count, 0)


def _waits(exchanges: Exchanges, hosts: Ints) -> tuple[Floats, Floats, Ints]:
    """The response floor, the median wait and the number of waits; from the siblings where a connection has few.

    Retransmissions make waits longer, never shorter, so they do no harm here.
    """
    usable = exchanges.complete & (exchanges.round_trips == 1) & (exchanges.waited > 0)
    connection, waited = exchanges.connection[usable], exchanges.waited[usable]
    own = Grouped.of(connection, waited, len(hosts))
    shared = Grouped.of(hosts[connection], waited, _count(hosts))
    enough = (own.counts >= FEW_WAITS) | (own.counts == shared.counts[hosts])
    floor, typical = (
        np.where(enough, own.quantile(fraction), shared.quantile(fraction)[hosts]) for fraction in (FLOOR_QUANTILE, 0.5)
    )
    return floor, typical, np.where(enough, own.counts, shared.counts[hosts])


def _side(samples: Samples, hosts: Ints, handshake: Floats, floor: Floats, *, by_server: bool) -> _Side:
    """The clean in-stream samples of one side; from the siblings where a connection has few."""
    chosen = samples.by_server == by_server
    connection, rtt, segments = samples.connection[chosen], samples.rtt[chosen], samples.segments[chosen]
    pairs = _count(hosts)
    fastest = Grouped.of(hosts[connection], rtt, pairs).quantile(0)[hosts]
    least = np.fmin(np.fmin(fastest, handshake), floor if by_server else fastest)
    prompt = (segments >= 2) | (rtt < least[connection] + DELAYED_NS)
    connection, rtt = connection[prompt], rtt[prompt]
    own = Grouped.of(connection, rtt, len(hosts))
    shared = Grouped.of(hosts[connection], rtt, pairs)
    enough = own.counts >= FEW_SAMPLES
    count = np.where(enough, own.counts, shared.counts[hosts])
    median, smallest = (
        np.where(enough, own.quantile(fraction), shared.quantile(fraction)[hosts]) for fraction in (0.5, 0)
    )
    too_few = count < FEW_SAMPLES
    median[too_few], smallest[too_few] = np.nan, np.nan
    return _Side(median, smallest, count)


def _position(connections: Connections, halves: _Halves) -> Ints:
    """Where the capture was taken."""
    a, b = halves.far, halves.near
    hosts = zip(connections.client, connections.server, strict=True)
    one_host = np.array([client.rsplit(":", 1)[0] == server.rsplit(":", 1)[0] for client, server in hosts], bool)
    at_client = (a >= ONE_SIDED * b) | ((b < HOST_NS) & (a >= HOST_NS)) | (a + b < 2 * HOST_NS)
    at_server = (b >= ONE_SIDED * a) | ((a < HOST_NS) & (b >= HOST_NS))
    rules = [(one_host, LOOPBACK), (~halves.seen, AT_UNKNOWN), (at_client, AT_CLIENT), (at_server, AT_SERVER)]
    return np.select([rule for rule, _ in rules], [place for _, place in rules], BETWEEN)


def _in_stream(position: Ints, shake: _Halves, far: _Side, near: _Side) -> tuple[Floats, Floats, Ints]:
    """In-stream RTT over both halves (median, least) and its samples; NaN where a half that matters is missing."""
    no_far = np.select([position == AT_SERVER, position == BETWEEN], [0.0, shake.far], np.nan)
    no_near = np.select([position == AT_CLIENT, position == BETWEEN], [0.0, shake.near], np.nan)
    has_far, has_near = ~np.isnan(far.median), ~np.isnan(near.median)
    median, least = (
        np.where(has_far | has_near, np.where(has_far, a, no_far) + np.where(has_near, b, no_near), np.nan)
        for a, b in ((far.median, near.median), (far.least, near.least))
    )
    samples = np.where(has_far, far.count, 0) + np.where(has_near, near.count, 0)
    return median, least, np.where(np.isnan(median), 0, samples)


def _count(hosts: Ints) -> int:
    return int(hosts.max(initial=-1)) + 1


# --- the choice -----------------------------------------------------------------------------------------------------


def _given(found: Baselines, given_ms: float) -> Baselines:
    value = np.full(len(found.baseline), given_ms * 1e6)
    method, reason = np.full(len(value), GIVEN), np.full(len(value), R_GIVEN)
    return replace(found, baseline=value, low=value, high=value, method=method, reason=reason)


def _reconcile(found: Baselines, h: Floats, siblings: Ints, a: Floats, typical: Floats, waits: Ints) -> Baselines:
    """The rules of docs/model.md C.2, first match wins: h handshake, a in-stream, m response floor."""
    m = found.floor
    has_h, has_a, has_m = ~np.isnan(h), ~np.isnan(a), ~np.isnan(m)
    rules: list[tuple[NDArray[np.bool_], Ints | int, Ints | int]] = [
        (has_h & has_a & (np.abs(h - a) <= AGREE * h), HANDSHAKE, R_AGREE),
        (
            has_h & ((h > m * (1 + REFUTED)) | (h > typical * (1 + AGREE))),
            np.where(a < m, IN_STREAM, FLOOR),
            R_SLOW_HANDSHAKE,
        ),
        (has_h & ~has_a, HANDSHAKE, np.select([siblings > 0, has_m], [R_SIBLINGS, R_CONFIRMED], R_ALONE)),
        (has_h & (h < a), IN_STREAM, R_SLOW_DATA),
        (has_h & (MIDDLEBOX * a < h) & (h <= m * (1 + REFUTED)), HANDSHAKE, R_MIDDLEBOX),
        (has_h & (found.samples >= MANY_SAMPLES), IN_STREAM, R_MANY),
        (has_h, HANDSHAKE, R_FEW),
        (has_a, IN_STREAM, R_DATA),
        (has_m, FLOOR, R_FLOOR),
    ]
    conditions = [condition for condition, _, _ in rules]
    method = np.select(conditions, [method for _, method, _ in rules], UNKNOWN)
    reason = np.select(conditions, [reason for _, _, reason in rules], R_NONE)
    by_method = [method == HANDSHAKE, method == IN_STREAM, method == FLOOR]
    baseline = np.select(by_method, [h, a, m], np.nan)
    samples = np.select(by_method, [np.maximum(siblings, 1), found.samples, waits], 0)
    # What was refuted says nothing about the range.
    other = np.select([reason == R_SLOW_HANDSHAKE, reason == R_MIDDLEBOX], [m, np.nan], h)
    low, high = _range(baseline, method, np.abs(other - a) / 2, m)
    return replace(found, baseline=baseline, low=low, high=high, method=method, reason=reason, samples=samples)


def _range(baseline: Floats, method: Ints, half_spread: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Half the spread of the methods used, at least 2 %; one alone: 10 %; a bare upper bound: down to nothing."""
    alone = np.isnan(half_spread)
    half = np.where(alone, SINGLE_UNCERTAINTY * baseline, np.maximum(half_spread, LEAST_UNCERTAINTY * baseline))
    low, high = np.maximum(baseline - half, 0), baseline + half
    shake = method == HANDSHAKE
    low = np.where(shake, np.fmin(low, m), low)
    high = np.where(shake, np.maximum(np.fmin(high, m), baseline), high)
    bound = method == FLOOR
    return np.where(bound & alone, 0.0, low), np.where(bound, baseline, high)
