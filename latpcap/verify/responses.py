"""Response times, as far as Wireshark has them: from the packet that completes a request to the first that answers it.

Wireshark 4.0 has no response time of MySQL and none of PostgreSQL. But it knows which packet completes a request, and
which one with data came next from the other side. The two are compared for requests that were sent alone: while one
waits for several answers, the next packet need not be the answer.
"""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.protocols import protocol_called
from latpcap.verify.mysql import COMMANDS
from latpcap.verify.ours import Exchange, Ours
from latpcap.verify.result import Difference, Measure
from latpcap.verify.wireshark import DISSECTORS, Dissection, Frame

TROUBLED = "packets were sent again or out of order: the next packet is not the answer's first"
TLS_ITSELF = "the next packet holds no message, but records of TLS itself: new keys, or a ticket"


def measures(ours: Ours, theirs: Dissection) -> Iterator[Measure]:
    """Compare each protocol whose requests Wireshark distinguishes."""
    for protocol in DISSECTORS:
        asked = _asked(theirs, protocol)
        if asked:
            yield _measure(f"{protocol_called(protocol).title} response times", protocol, asked, ours, theirs)


def _asked(theirs: Dissection, protocol: str) -> set[tuple[int, int]]:
    """(stream, frame) in which Wireshark sees a request complete."""
    if protocol != "mysql":
        return {place for place in theirs.asked if theirs.speaks.get(place[0]) == protocol}
    return {(stream, frame) for stream, frame, code in theirs.commands if code in COMMANDS}


def _measure(name: str, protocol: str, asked: set[tuple[int, int]], ours: Ours, theirs: Dissection) -> Measure:
    differences, compared = [], 0
    for exchange in _alone(ours, protocol):
        if (exchange.stream, exchange.request_end_frame) not in asked:
            continue
        answer = _next_from_other_side(theirs, exchange, asked)
        if answer is None:
            continue
        compared += 1
        own, (other, first, troubled) = _span(exchange), answer
        if own != other:
            differences.append(
                Difference(
                    f"frame {exchange.request_end_frame}", f"{own / 1e6:.6f} ms", f"{other / 1e6:.6f} ms",
                    _why(ours, exchange, first, troubled=troubled),
                )
            )  # fmt: skip
    return Measure(name, compared, compared, compared - len(differences), tuple(differences))


def _why(ours: Ours, exchange: Exchange, first: Frame, *, troubled: bool) -> str | None:
    if troubled or exchange.retransmissions:
        return TROUBLED
    return TLS_ITSELF if ours.by_stream[exchange.stream].encrypted and not first.has_message else None


def _alone(ours: Ours, protocol: str) -> Iterator[Exchange]:
    """Exchanges that waited once, with nothing else of their connection on the way."""
    for connection in ours.speaking(protocol):
        exchanges = ours.exchanges.get(connection.stream, [])
        for before, exchange, after in zip([None, *exchanges[:-1]], exchanges, [*exchanges[1:], None], strict=True):
            begins_late = before is None or before.response_end_frame < exchange.request_frame
            ends_early = after is None or exchange.response_end_frame < after.request_frame
            waits_once = exchange.round_trips == 1 and exchange.complete and not exchange.is_setup
            if begins_late and ends_early and waits_once and _span(exchange) >= 0:
                yield exchange


def _span(exchange: Exchange) -> int:
    """Return the client's wait at the capture point, in ns; -1 where it is not known."""
    if exchange.request_end_ns is None or exchange.response_ns is None:
        return -1
    return exchange.response_ns - exchange.request_end_ns


def _next_from_other_side(
    theirs: Dissection, exchange: Exchange, asked: set[tuple[int, int]]
) -> tuple[int, Frame, bool] | None:
    """Wireshark's time to the next packet with data from the other side, that packet, and whether TCP had anomalies."""
    frames = theirs.frames_between(exchange.stream, exchange.request_end_frame, exchange.response_end_frame)
    request = next(frames, None)
    if request is None or request.time_ns is None:
        return None
    troubled = request.is_anomalous
    for frame in frames:
        troubled |= frame.is_anomalous
        if (exchange.stream, frame.number) in asked:
            return None
        if frame.data and frame.source != request.source and frame.time_ns is not None:
            return frame.time_ns - request.time_ns, frame, troubled
    return None
