"""The layers below the databases: packets, their times, streams, handshakes."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.verify.ours import Connection, Ours
from latpcap.verify.result import Difference, Measure
from latpcap.verify.wireshark import Dissection

MAX_DIFFERENCE_NS = 1000
"""Handshakes that differ by no more are equal: Wireshark computes them from rounded times."""

TOP_BIT = "times with the top bit set: 2^64 µs and some for Wireshark, before 1970 for latpcap"
BY_RST = "SYN, then RST: Wireshark calls that an initial RTT too; for latpcap there was no handshake"
NO_SYN_ACK = "the SYN/ACK was not captured: Wireshark uses SYN → ACK, latpcap gives nothing"
CAPTURED_TWICE = (
    "packets were captured twice: Wireshark measures from the second copy of the SYN, latpcap from the first"
)
TWO_SYNS = "the SYN came twice: Wireshark measures from the last, latpcap from the first (and does not use it)"
PORT_AGAIN = "the port was used before: Wireshark takes a late packet of the connection before for the handshake's ACK"


def measures(ours: Ours, theirs: Dissection) -> Iterator[Measure]:
    """Compare what every capture has."""
    yield _packets(ours, theirs)
    yield _times(ours, theirs)
    yield _streams(ours, theirs)
    yield _handshakes(ours, theirs)


def _packets(ours: Ours, theirs: Dissection) -> Measure:
    differ = ours.packets != theirs.packets
    counts = f"{ours.packets:,}", f"{theirs.packets:,}"
    differences = (Difference("capture", *counts, None),) if differ else ()
    return Measure("packets", ours.packets, theirs.packets, min(ours.packets, theirs.packets), differences)


def _times(ours: Ours, theirs: Dissection) -> Measure:
    pairs = {"first packet": (ours.first_ns, theirs.first_ns), "last packet": (ours.last_ns, theirs.last_ns)}
    reason = TOP_BIT if (theirs.last_ns or 0) >= 2**63 or (ours.first_ns or 0) < 0 else None
    differences = tuple(
        Difference(name, f"{mine} ns", f"{other} ns", reason) for name, (mine, other) in pairs.items() if mine != other
    )
    seen = [sum(time is not None for time in times) for times in zip(*pairs.values(), strict=True)]
    return Measure("first and last time", seen[0], seen[1], 2 - len(differences) if seen[0] else 0, differences)


def _streams(ours: Ours, theirs: Dissection) -> Measure:
    mine = {connection.stream: connection.ends for connection in ours.connections}
    differences = tuple(
        Difference(f"stream {stream}", _ends(mine.get(stream)), _ends(theirs.ends.get(stream)), None)
        for stream in sorted(mine.keys() | theirs.ends.keys())
        if mine.get(stream) != theirs.ends.get(stream)
    )
    equal = sum(mine[stream] == ends for stream, ends in theirs.ends.items() if stream in mine)
    return Measure("streams, their end points", len(mine), len(theirs.ends), equal, differences)


def _ends(ends: frozenset[str] | None) -> str | None:
    return None if ends is None else " ↔ ".join(sorted(ends))


def _handshakes(ours: Ours, theirs: Dissection) -> Measure:
    by_stream = {connection.stream: connection for connection in ours.connections}
    mine = {stream: span for stream, each in by_stream.items() if (span := _span(each)) is not None}
    differences, equal = [], 0
    for stream in sorted(mine.keys() | theirs.initial_rtt_ns.keys()):
        own, other = mine.get(stream), theirs.initial_rtt_ns.get(stream)
        if own is not None and other is not None and abs(own - other) <= MAX_DIFFERENCE_NS:
            equal += 1
        else:
            reason = _why(by_stream, stream, theirs)
            differences.append(Difference(f"stream {stream}", _ms(own), _ms(other), reason))
    return Measure("initial RTT", len(mine), len(theirs.initial_rtt_ns), equal, tuple(differences))


def _span(connection: Connection) -> int | None:
    if connection.syn_ns is None or connection.ack_ns is None:
        return None
    return connection.ack_ns - connection.syn_ns


def _why(connections: dict[int, Connection], stream: int, theirs: Dissection) -> str | None:
    connection = connections.get(stream)
    if connection is None:
        return None
    if connection.state == "refused":
        return BY_RST
    if connection.syn_ns is not None and connection.syn_ack_ns is None:
        return NO_SYN_ACK
    if connection.handshake_retransmitted:
        return TWO_SYNS
    if connection.captured_twice:
        return CAPTURED_TWICE
    if any(each.ends == connection.ends for each in connections.values() if each.stream < stream):
        return PORT_AGAIN
    return None


def _ms(span: int | None) -> str | None:
    return None if span is None else f"{span / 1e6:.6f} ms"
