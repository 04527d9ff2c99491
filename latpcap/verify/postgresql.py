"""PostgreSQL: the statements with the frames that hold them, and the frames in which the server was ready again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from latpcap.verify.ours import Exchange, Ours
from latpcap.verify.result import Measure, each_alone
from latpcap.verify.texts import CUT, HIDDEN, HOLE, UNASKED, comparable, described, is_masked
from latpcap.verify.wireshark import Dissection, Query

ENDS_READY = frozenset({"query", "sync", "function_call"})
"""Commands whose answer always ends with ReadyForQuery."""

BY_NAME = "prepared before the capture began: latpcap shows the statement's name, Wireshark nothing"
IN_SQL = "prepared by `PREPARE … AS`: Wireshark shows that statement, latpcap what it prepared"
FATAL = "the server gave up: an error ends the connection, and it is never ready again"
REPLICATION = "a replication stream begins: its answer ends with no ReadyForQuery"
DIRECT = "encrypted from its first byte: Wireshark looks for no PostgreSQL in it"
OTHER_PROTOCOL = "Wireshark goes by the port; latpcap recognised no PostgreSQL there"


def measures(ours: Ours, theirs: Dissection) -> Iterator[Measure]:
    """Compare where either of the two sees PostgreSQL."""
    if ours.speaking("postgresql") or theirs.queries["postgresql"] or theirs.ready:
        yield _statements(ours, theirs)
        yield _answers(ours, theirs)


def _statements(ours: Ours, theirs: Dissection) -> Measure:
    """Each statement that Wireshark shows belongs to an exchange at that frame, and each text of ours was shown.

    An execution has the text of what was prepared for it, perhaps long before: so texts are looked for in the stream.
    """
    queries = theirs.queries["postgresql"]
    shown = {(query.stream, comparable(query.text)) for query in queries}
    texts = {(each.stream, comparable(each.statement)): each for each in ours.of("postgresql") if each.statement}
    preparing = [place for place in shown if place[1].lower().startswith("prepare ")]
    only_theirs = [query for query in queries if not _is_known(ours, query)]
    only_ours = [each for place, each in texts.items() if place not in shown]
    masked = {query: each for query in only_theirs for each in _masked(ours, query)}
    hidden = {(each.stream, comparable(each.statement or "")) for each in masked.values()}

    def why_ours(each: Exchange) -> str | None:
        is_hidden = (each.stream, comparable(each.statement or "")) in hidden
        return HIDDEN if is_hidden else _why_not_shown(each, ours, theirs, preparing)

    def why_theirs(each: Query) -> str | None:
        return HIDDEN if each in masked else _why(ours, theirs, each.stream, each.frame)

    differences = each_alone(
        ((each.request_end_frame, described(each.statement or ""), why_ours(each)) for each in only_ours),
        ((each.frame, described(each.text, each.length), why_theirs(each)) for each in only_theirs),
    )
    known = len(queries) - len(only_theirs)
    return Measure("PostgreSQL statements", known + len(only_ours), len(queries), known, differences)


def _is_known(ours: Ours, query: Query) -> bool:
    text = comparable(query.text)
    return not text or any(comparable(each.statement or "") == text for each in ours.around(query.stream, query.frame))


def _masked(ours: Ours, query: Query) -> Iterator[Exchange]:
    """Return our exchanges of a query that holds a secret."""
    return (each for each in ours.around(query.stream, query.frame) if is_masked(each.statement or "", query.text))


def _why_not_shown(
    exchange: Exchange, ours: Ours, theirs: Dissection, preparing: Iterable[tuple[int, str]]
) -> str | None:
    if (exchange.statement or "").startswith("EXECUTE "):
        return BY_NAME
    text = comparable(exchange.statement or "")
    if any(stream == exchange.stream and text in prepare for stream, prepare in preparing):
        return IN_SQL
    return _why(ours, theirs, exchange.stream, exchange.request_frame, exchange.request_end_frame)


def _answers(ours: Ours, theirs: Dissection) -> Measure:
    """Each ReadyForQuery of Wireshark ends an exchange, and each exchange that must end so does."""
    ends: dict[tuple[int, int], Exchange] = {}
    for exchange in ours.of("postgresql"):
        if exchange.complete and exchange.response_end_frame:
            ends[exchange.stream, exchange.response_end_frame] = exchange
    must = {place for place, exchange in ends.items() if exchange.command in ENDS_READY}
    asked = ((frame, ends[stream, frame]) for stream, frame in sorted(must - theirs.ready))
    both = theirs.ready & ends.keys()
    differences = each_alone(
        ((frame, f"the answer to a {each.command}", _why_not_ready(ours, theirs, each)) for frame, each in asked),
        (
            (frame, "ReadyForQuery", _why_not_ended(ours, theirs, stream, frame))
            for stream, frame in sorted(theirs.ready - ends.keys())
        ),
    )
    return Measure("PostgreSQL answers", len(must | both), len(theirs.ready), len(both), differences)


def _why_not_ended(ours: Ours, theirs: Dissection, stream: int, frame: int) -> str | None:
    connection = ours.by_stream.get(stream)
    first = min((each.request_frame for each in ours.exchanges.get(stream, ())), default=0)
    if connection is not None and connection.protocol == "postgresql" and frame < first:
        return UNASKED
    return _why(ours, theirs, stream, frame)


def _why_not_ready(ours: Ours, theirs: Dissection, exchange: Exchange) -> str | None:
    if ours.by_stream[exchange.stream].replication:
        return REPLICATION
    last = max((each.response_end_frame for each in ours.exchanges[exchange.stream]), default=0)
    if exchange.failed and exchange.response_end_frame == last:
        return FATAL
    return _why(ours, theirs, exchange.stream, exchange.response_frame, exchange.response_end_frame)


def _why(ours: Ours, theirs: Dissection, stream: int, first: int, last: int | None = None) -> str | None:
    connection = ours.by_stream.get(stream)
    if connection is None or connection.protocol != "postgresql":
        return OTHER_PROTOCOL
    if any(frame.is_cut for frame in theirs.frames_between(stream, first, last or first)):
        return CUT
    if connection.encrypted and stream not in theirs.speaks:
        return DIRECT
    return HOLE if connection.lost else None
