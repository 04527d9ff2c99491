"""SQL Server: the batches with the frames that hold them, and the frames in which an answer ended."""

from __future__ import annotations

from collections.abc import Iterable

from latpcap.verify.ours import Exchange, Ours
from latpcap.verify.result import Measure, each_alone
from latpcap.verify.texts import CUT, HIDDEN, HOLE, UNASKED, comparable, described, is_masked
from latpcap.verify.wireshark import Dissection, Query

OTHER_PROTOCOL = "Wireshark goes by the port; latpcap recognised no SQL Server there"
SEALED = "encrypted: latpcap reads it with its keys, Wireshark looks for no SQL Server in it"
NUMBERED_ON = "its packets are numbered on from the request before: Wireshark takes it for the rest of a message"


def measures(ours: Ours, theirs: Dissection) -> Iterable[Measure]:
    """Compare where either of the two sees SQL Server."""
    if ours.speaking("sqlserver") or theirs.queries["sqlserver"] or theirs.ended:
        yield _batches(ours, theirs)
        yield _answers(ours, theirs)


def _batches(ours: Ours, theirs: Dissection) -> Measure:
    """Each batch that Wireshark shows is an exchange that was complete in that frame, with the same text."""
    batches = {(each.stream, each.request_end_frame): each for each in ours.of("sqlserver") if each.command == "batch"}
    shown = {(query.stream, query.frame): query for query in theirs.queries["sqlserver"]}
    both = {place for place in batches.keys() & shown.keys() if _is_same(batches[place], shown[place])}
    masked = {place for place in (batches.keys() & shown.keys()) - both if _is_masked(batches[place], shown[place])}

    def why(place: tuple[int, int]) -> str | None:
        return HIDDEN if place in masked else _why(ours, theirs, *place)

    only_ours, only_theirs = sorted(batches.keys() - both), sorted(shown.keys() - both)
    differences = each_alone(
        ((place[1], described(batches[place].statement or ""), why(place)) for place in only_ours),
        ((place[1], described(shown[place].text, shown[place].length), why(place)) for place in only_theirs),
    )
    return Measure("SQL Server batches", len(batches), len(shown), len(both), differences)


def _is_same(exchange: Exchange, query: Query) -> bool:
    return comparable(exchange.statement or "") == comparable(query.text)


def _is_masked(exchange: Exchange, query: Query) -> bool:
    return is_masked(exchange.statement or "", query.text)


def _answers(ours: Ours, theirs: Dissection) -> Measure:
    """Each answer that ends in a frame for Wireshark ends an exchange there, and the other way round."""
    exchanges = [each for each in ours.of("sqlserver") if each.complete and each.response_end_frame]
    ends = {(each.stream, each.response_end_frame) for each in exchanges if each.command != "tls"}
    both = ends & theirs.ended
    differences = each_alone(
        ((frame, "the end of an answer", _why(ours, theirs, stream, frame)) for stream, frame in sorted(ends - both)),
        (
            (frame, "the end of an answer", _why(ours, theirs, stream, frame))
            for stream, frame in sorted(theirs.ended - both)
        ),
    )
    return Measure("SQL Server answers", len(ends), len(theirs.ended), len(both), differences)


def _why(ours: Ours, theirs: Dissection, stream: int, frame: int) -> str | None:
    connection = ours.by_stream.get(stream)
    if connection is None or connection.protocol != "sqlserver":
        return OTHER_PROTOCOL
    if connection.encrypted:
        return SEALED
    if frame < min((each.request_frame for each in ours.exchanges.get(stream, ())), default=0):
        return UNASKED
    if (stream, frame) in theirs.numbered_on:
        return NUMBERED_ON
    if any(each.is_cut for each in theirs.frames_between(stream, frame, frame)):
        return CUT
    return HOLE if connection.lost else None
