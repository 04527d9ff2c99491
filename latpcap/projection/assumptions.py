"""Assumptions of the projection, by name: the central case, and the two ends of the range.

How they were calibrated: docs/model.md C.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap._core import ways_of_waiting
from latpcap.projection.classes import Work
from latpcap.projection.job import ReplayNetwork, Waiting
from latpcap.projection.rtt_meaning import MEANINGS, mean_rtt_ms
from latpcap.units import RttIs, counted, fibre_ms, format_bandwidth, format_given_ms, listed

Floats = NDArray[np.float64]
Mean = Callable[[Floats, Floats], Floats]
"""The mean RTT of the data where RTTs are asked for, from the baselines (both in ms)."""

STABLE_ABOVE_MS = 1.0
"""Own time of a round trip beyond this is work, and hardly varies: delays of hosts are shorter."""
STABLE_VARIATION = 0.1
"""Own time beyond `STABLE_ABOVE_MS` varies by this share."""
LOSS_DEVIATIONS = 2.0
"""Standard deviations of the number of lost packets, which is random (Poisson)."""
MAX_SERVERS = 5
"""Servers that a line names."""
SLOW_GROWTH = 1.6
"""A window that is acknowledged grows to this multiple of itself (2: slow start)."""
RELAYED_WINDOW_BYTES = 256.0 * 1024
"""A relay does not see receive windows; smaller ones were set by hand (docs/model.md C.4)."""
WINDOW_SPREAD = 0.18
"""The filled part of a small receive window varies by this much."""

MIN_BUFFER_SHARE, MAX_BUFFER_SHARE = 0.65, 1.28
"""Share of a requested receive buffer: clients that read a row at a time leave a third of it unused, and Linux
announces up to a quarter more; measured: benchmarks/results/buffers.md."""
COMPRESSION_NS_PER_BYTE = 55.0
"""Compressing a byte (zlib, level 6) and reading it again takes this long if nothing is gained by it, and less with the
root of what is left; measured: benchmarks/results/buffers.md."""


class Assumption(Struct, frozen=True):
    """One named reason for the width of the range."""

    name: str
    case: str
    text: str


class HostTime(Struct, frozen=True):
    """Own time of client and server that is not sure, as a part of that in the capture."""

    farther: float = 1.0
    """At the RTT of the capture and beyond."""
    nearer: float = 1.0
    """At a tenth of that RTT and below; in between it changes with each tenth. Not more than `farther`."""

    def part(self, baseline_ms: float, rtt_ms: Floats) -> Floats:
        """The part at each RTT.

        >>> HostTime(0.6, 0.2).part(10.0, np.array([100.0, 10.0, 1.0, 0.1])).tolist()
        [0.6, 0.6, 0.2, 0.2]
        """
        if baseline_ms <= 0:
            return np.full(len(rtt_ms), self.farther)
        tenths = np.clip(-np.log10(np.maximum(rtt_ms / baseline_ms, 0.1)), 0, 1)
        return self.farther + (self.nearer - self.farther) * tenths


ANY: tuple[Waiting, ...] = tuple(ways_of_waiting())


class Uncertainty(Struct, frozen=True):
    """How far assumptions vary for one kind of work; calibrated on measured runs, docs/model.md C.6."""

    least: HostTime
    most: HostTime
    waiting: tuple[Waiting, ...] = ANY
    """Who may wait for whom."""
    sure_ms: float = STABLE_ABOVE_MS
    """Own time of a round trip up to this is not sure."""


SEQUENTIAL = Uncertainty(HostTime(0.6, 0.1), HostTime(1.4, 1.0))
"""Work of which each step waits for the one before."""
POOLED = replace(SEQUENTIAL, waiting=("evidence", "joined", "queued", "clocked", "unclocked"))
"""Work on connections of a pool: its steps wait as in sequential work, but their order shows often enough."""
BULK = Uncertainty(HostTime(0.5, 0.2), HostTime(1.4, 1.4), sure_ms=math.inf)
"""Much is sent at once: own time is production, which continues while data is in transit."""
CONCURRENT = Uncertainty(HostTime(0.1, 0.1), HostTime(2.0, 2.0))
"""Processes wait for processors and locks, the longer the more requests come at once."""

SPREADS: dict[Work, Uncertainty] = {
    "bulk": BULK,
    "pipeline": BULK,
    "parallel": CONCURRENT,
    "pool": POOLED,
    "connect per query": POOLED,
}
"""All other kinds go one by one."""


def spread(work: Work) -> Uncertainty:
    """How far things may differ for this kind of work."""
    return SPREADS.get(work, SEQUENTIAL)


def assumptions(work: Work | None, clocks: Sequence[Waiting] = (), *, relayed: bool = False) -> tuple[Assumption, ...]:
    """The reasons for the range of this kind of work, of what may begin by `clocks`, and of what a relay hides."""
    of_clocks, of_relay = (CLOCKS[way] for way in clocks), (RELAYED,) if relayed else ()
    return (*_assumptions(spread(work or "stop and wait")), *of_clocks, *of_relay)


def _assumptions(may: Uncertainty) -> Iterator[Assumption]:
    yield Assumption("baseline high", "optimistic", "the baseline RTT was at the high end of its range")
    yield Assumption("baseline low", "pessimistic", "the baseline RTT was at the low end of its range")
    yield Assumption(
        "mean RTT",
        "both",
        f"the mean RTT is within {MEANINGS['ping'].above:.0%} of the requested one; "
        f"for a handshake RTT up to {MEANINGS['handshake'].above:.0%} above it",
    )
    yield Assumption("own time", "both", _own_time(may))
    yield Assumption(
        "rests", "both", "hosts that are idle for longer respond as fast as before, or as late as slow hosts"
    )
    yield Assumption(
        "loss", "both", f"the number of lost packets deviates by {LOSS_DEVIATIONS:g} standard deviations (`--loss`)"
    )
    yield Assumption("windows kept", "optimistic", "senders do not return to slow start after pauses")
    slow = (
        f"TCP windows grow by {SLOW_GROWTH - 1:.0%} per round trip instead of doubling, and senders pace large "
        "messages (BBR) if the capture's RTT is too short to show it"
    )
    yield Assumption("slow windows", "pessimistic", slow)
    yield Assumption(
        "small buffers", "both", f"a small receive buffer holds {WINDOW_SPREAD:.0%} more or less at the other RTT"
    )
    yield Assumption(
        "hidden work", "both", "applications worked, or were idle, while senders waited for acknowledgments"
    )
    if "independent" in may.waiting:
        yield Assumption("side by side", "optimistic", "no connection waits for another open connection")
    if "chained" in may.waiting:
        yield Assumption(
            "one after the other", "pessimistic", "work that never overlapped in the capture is sequential"
        )


CLOCKS: dict[Waiting, Assumption] = {
    "clocked": Assumption(
        "pauses",
        "both",
        "steady pauses of the client start at the response, or end by a timer independent of it",
    ),
    "unclocked": Assumption(
        "clock", "both", "a client that misses its timer waits for the next period, and may have missed one before"
    ),
}
"""Assumptions for jobs with timers only."""


RELAYED = Assumption(
    "windows unseen",
    "pessimistic",
    f"windows behind a relay are unknown: none grows beyond {RELAYED_WINDOW_BYTES / 1024:g} KiB",
)


def _own_time(may: Uncertainty) -> str:
    """Describe the time of client and server, where the RTT is longer and where shorter."""
    least, most = may.least, may.most
    text = f"client and server take {least.farther:.0%} to {most.farther:.0%} of their time in the capture"
    if (least.nearer, most.nearer) != (least.farther, most.farther):
        text += f", at a tenth of the RTT {least.nearer:.0%} to {most.nearer:.0%}"
    if may.sure_ms < math.inf:
        text += f"; a tenth of that spread for time above {may.sure_ms:g} ms per round trip"
    return text


ASKED: dict[RttIs, str] = {"ping": "pings", "handshake": "TCP handshakes", "in-stream": "the data itself"}


class ServerMove(Struct, frozen=True):
    """One server that goes elsewhere."""

    server: str
    """As latpcap shows it: `10.0.0.5:3306`."""
    rtt_ms: float | None
    """`None`: the RTT that is asked for."""


class Conditions(Struct, frozen=True):
    """Other differences at the other place."""

    bandwidth_bps: float | None = None
    """The bottleneck in bits a second; `None`: as much as the capture needed."""
    loss: float | None = None
    """The part of the packets that is lost, 0 to 1; `None`: what was lost in the capture stays as it was."""
    jitter_ms: float = 0.0
    """How far the RTT strays to either side of its mean."""
    connections: int | None = None
    """How many connections work at once, each as those of the capture did; `None`: as many as there were."""
    distance_km: float | None = None
    """Fibre whose least RTT is part of each RTT."""
    rtt_is: RttIs = "ping"
    """How the asked RTT was measured, or will be."""
    moved: tuple[ServerMove, ...] = ()
    """Servers that have an RTT of their own there."""
    others_stay: bool = False
    """Connections to servers that are not moved keep the RTT they had; otherwise they have the one asked for."""
    client_time: float | None = None
    """Which part of its own time the client takes, think time excepted; `None`: all of it."""
    service_time: float | None = None
    """Which part of its own time the server takes; `None`: all of it."""
    window_bytes: int | None = None
    """The receive window of client and server; `None`: what each had."""
    compression: float | None = None
    """Which part of the bytes is left where they are compressed; `None`: as they were."""

    @property
    def text(self) -> str:
        """Differences in words; empty where only the RTT differs.

        >>> Conditions(34e6, 0.001, 3.0, 4).text
        '34 Mbit/s at the bottleneck, 0.1% of the packets lost, 3 ms of jitter, 4 connections'
        >>> Conditions(distance_km=1000, rtt_is="handshake").text
        '1,000 km of fibre (10 ms), RTTs of TCP handshakes'
        >>> Conditions(distance_km=1000, service_time=0.5).text
        "1,000 km of fibre (10 ms), 50% of the server's own time"
        >>> Conditions(moved=(ServerMove("10.0.0.5:3306", 15.0),), others_stay=True).text
        'only 10.0.0.5:3306 at 15 ms, all else unchanged'
        >>> Conditions(window_bytes=65536, compression=0.3).text
        'receive windows of 65,536 bytes, compression to 30% of the bytes'
        """
        return ", ".join(self._different())

    @property
    def rtt_is_text(self) -> str:
        """Whose RTT the asked one is, in words."""
        return ASKED[self.rtt_is]

    @property
    def is_rtt_alone(self) -> bool:
        """Only the RTT is different."""
        return not replace(self, distance_km=None, rtt_is="ping").text

    @property
    def only_slows(self) -> bool:
        """No difference could make a job faster."""
        return replace(self, bandwidth_bps=None, jitter_ms=0.0).is_rtt_alone

    @property
    def following(self) -> tuple[ServerMove, ...]:
        """The servers that are moved, to whichever RTT is asked for."""
        return tuple(ServerMove(move.server, None) for move in self.moved)

    def at(self, rtt_ms: float) -> Conditions:
        """These conditions with the moved servers at `rtt_ms`."""
        return replace(self, moved=tuple(ServerMove(move.server, rtt_ms) for move in self.moved))

    def farther(self, by_ms: float) -> Conditions:
        """Return the same with servers that are moved to RTTs of their own so much farther."""
        moved = (replace(move, rtt_ms=None if move.rtt_ms is None else move.rtt_ms + by_ms) for move in self.moved)
        return replace(self, moved=tuple(moved))

    def _different(self) -> Iterator[str]:
        if self.bandwidth_bps is not None:
            yield f"{format_bandwidth(self.bandwidth_bps)} at the bottleneck"
        if self.loss is not None:
            yield f"{100 * self.loss:.4g}% of the packets lost"
        if self.jitter_ms:
            yield f"{format_given_ms(self.jitter_ms)} of jitter"
        if self.connections is not None:
            yield counted(self.connections, "connection")
        if self.distance_km is not None:
            yield f"{self.distance_km:,.6g} km of fibre ({format_given_ms(fibre_ms(self.distance_km))})"
        if self.rtt_is != "ping":
            yield f"RTTs of {self.rtt_is_text}"
        if self.moved:
            there = [
                move.server if move.rtt_ms is None else f"{move.server} at {format_given_ms(move.rtt_ms)}"
                for move in self.moved[:MAX_SERVERS]
            ]
            named = listed([*there, *([f"{len(self.moved) - MAX_SERVERS:,} more"] if self.moved[MAX_SERVERS:] else [])])
            yield f"only {named}, all else unchanged" if self.others_stay else named
        for whose, part in (("the server's", self.service_time), ("the client's", self.client_time)):
            if part is not None:
                yield f"{100 * part:.4g}% of {whose} own time"
        if self.window_bytes is not None:
            yield f"receive windows of {self.window_bytes:,} bytes"
        if self.compression is not None:
            yield f"compression to {100 * self.compression:.4g}% of the bytes"


class Case(Struct, frozen=True):
    """One way in which things may be: who waits for whom, and on what network."""

    waiting: tuple[Waiting, ...]
    """The range takes the end of all of them."""
    network: ReplayNetwork
    calibrated: ReplayNetwork = field(default_factory=ReplayNetwork)
    """How the transfers of the capture are taken to have gone."""
    rtt: int = 0
    """Which end of what the asked RTT may mean: -1 the low one, 1 the high one."""
    own: HostTime = field(default_factory=HostTime)
    """Own time of client and server ÷ what was observed, of what is not sure of it."""
    sure_ms: float = STABLE_ABOVE_MS
    """Own time of a round trip beyond this is sure."""
    jitter: float = 0.0
    """How much of the jitter is added to each RTT."""
    loss_sigma: float = 0.0
    """How many standard deviations more packets are lost than on average."""
    rests: int | None = 0
    """Which end of how hosts go on behind a rest: -1 the least, 1 the most; `None`: they take what they took."""
    buffer: float = 1.0
    """Bytes that travel in a round trip to a receive buffer ÷ the buffer's size."""
    compressing: float = 1.0
    """Cost of compression ÷ its usual cost."""
    capacity_bound: int | None = 0
    """Which end of what the capture tells of the hosts' limit: -1 the least, 1 the most; `None`: it stays unused."""
    fixes: int | None = None
    """Which end of `Variant.ends` fixes take; `None`: what is likely."""

    def mean_ms(self, conditions: Conditions) -> Mean:
        """The mean RTT of the data at a requested RTT."""
        strayed = self.jitter * conditions.jitter_ms

        def mean(rtts_ms: Floats, baseline_ms: Floats) -> Floats:
            return mean_rtt_ms(rtts_ms, conditions.rtt_is, self.rtt, baseline_ms) + strayed

        return mean

    def without_clocks(self) -> Case:
        """The case without ways of waiting that rest on a timer of the client."""
        return replace(self, waiting=tuple(way for way in self.waiting if way not in CLOCKS))

    def own_s(self, own_s: Floats, turns: float, baseline_ms: float, rtt_ms: Floats) -> Floats:
        """The own time at each RTT, where `turns` took `own_s` in the capture; work that is long is sure."""
        not_sure_s: Floats = np.minimum(own_s, turns * self.sure_ms / 1000)
        may_differ_s = not_sure_s + STABLE_VARIATION * (own_s - not_sure_s)
        return own_s + (self.own.part(baseline_ms, rtt_ms) - 1) * may_differ_s


CENTRAL = Case(("evidence",), ReplayNetwork())
OPTIMISTIC = Case(
    ANY,
    ReplayNetwork(restarts=False, baseline=1, receive_window_scale=1 + WINDOW_SPREAD),
    ReplayNetwork(growth=SLOW_GROWTH, overlapped_work=0.0),
    rtt=-1,
    buffer=MAX_BUFFER_SHARE,
    compressing=0.0,
    capacity_bound=-1,
    loss_sigma=-LOSS_DEVIATIONS,
    rests=-1,
    fixes=0,
)
PESSIMISTIC = Case(
    ANY,
    ReplayNetwork(
        growth=SLOW_GROWTH, baseline=-1, receive_window_scale=1 - WINDOW_SPREAD, skips_missed_ticks=True, paces=True
    ),
    ReplayNetwork(overlapped_work=1.0),
    rtt=1,
    buffer=MIN_BUFFER_SHARE,
    compressing=2.0,
    capacity_bound=1,
    jitter=1.0,
    loss_sigma=LOSS_DEVIATIONS,
    rests=1,
    fixes=1,
)


def ends(work: Work, *, relayed: bool = False) -> tuple[Case, Case]:
    """The optimistic and the pessimistic case of this kind of work; `relayed`: of what a relay recorded."""
    may = spread(work)
    slow = PESSIMISTIC.network
    if relayed:
        slow = replace(slow, window_bytes=RELAYED_WINDOW_BYTES)
    return (
        replace(OPTIMISTIC, waiting=may.waiting, own=may.least, sure_ms=may.sure_ms),
        replace(PESSIMISTIC, network=slow, waiting=may.waiting, own=may.most, sure_ms=may.sure_ms),
    )
