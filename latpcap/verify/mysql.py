"""MySQL and MariaDB: the commands with the frames that complete them, and the statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from latpcap.verify.ours import Exchange, Ours
from latpcap.verify.result import Measure, each_alone
from latpcap.verify.texts import HIDDEN, HOLE, described, is_masked, is_shown_in_part, paired
from latpcap.verify.wireshark import Dissection, Query

COMMANDS = {
    0x01: "quit", 0x02: "init_db", 0x03: "query", 0x04: "field_list", 0x09: "statistics", 0x0A: "process_info",
    0x0D: "debug", 0x0E: "ping", 0x11: "change_user", 0x12: "binlog_dump", 0x15: "register_slave",
    0x16: "stmt_prepare", 0x17: "stmt_execute", 0x18: "stmt_send_long_data", 0x19: "stmt_close", 0x1A: "stmt_reset",
    0x1B: "set_option", 0x1C: "stmt_fetch", 0x1F: "reset_connection", 0xFA: "stmt_bulk_execute",
}  # fmt: skip
"""latpcap's names of the codes that Wireshark shows."""

WITH_STATEMENT = frozenset({"query", "stmt_prepare"})
"""Commands whose text is on the wire."""

MAX_MESSAGE_BYTES = 0xFFFFFF
"""A longer message travels as several."""

COMPRESSED = "Wireshark inflates nothing: of a compressed connection it reads the packed bytes"
LONG = "16 MiB and more travel as several messages: Wireshark shows the first and takes the others for commands"
REQUEST_LOST = "the capture misses the request; latpcap counts the exchange whose response is there"
LOGIN = "Wireshark takes a message of the login for a command"
CONTENT = "Wireshark takes the file that LOAD DATA LOCAL sends for commands"
ATTRIBUTES = "Wireshark misreads the values of query attributes, and with them the statement"
CUT = "the snap length cut the statement: Wireshark shows nothing of it, latpcap its beginning"
NUL = "a NUL ends the statement for Wireshark (and an empty one is shown as none); latpcap reads on"

Place = tuple[int, int, str]
"""Stream, frame, command."""


def measures(ours: Ours, theirs: Dissection) -> Iterator[Measure]:
    """Compare where either of the two sees MySQL."""
    if ours.speaking("mysql") or theirs.commands:
        exchanges = [exchange for exchange in ours.of("mysql") if not exchange.is_setup]
        yield _commands(ours, exchanges, theirs)
        yield _statements(ours, exchanges, theirs)


def _commands(ours: Ours, exchanges: Iterable[Exchange], theirs: Dissection) -> Measure:
    at = {(each.stream, each.request_end_frame, each.command): each for each in exchanges}
    mine = Counter((each.stream, each.request_end_frame, each.command) for each in exchanges)
    seen = Counter((stream, frame, COMMANDS.get(code, f"0x{code:02x}")) for stream, frame, code in theirs.commands)
    differences = each_alone(
        ((place[1], place[2], _why_only_ours(ours, at[place])) for place in (mine - seen).elements()),
        ((place[1], place[2], _why_only_theirs(ours, place)) for place in (seen - mine).elements()),
    )
    return Measure("MySQL commands", mine.total(), seen.total(), (mine & seen).total(), differences)


def _why_only_ours(ours: Ours, exchange: Exchange) -> str | None:
    if ours.by_stream[exchange.stream].compressed:
        return COMPRESSED
    if exchange.request_bytes > MAX_MESSAGE_BYTES:
        return LONG
    if exchange.command == "unknown":
        return REQUEST_LOST
    return HOLE if ours.by_stream[exchange.stream].lost else None


def _why_only_theirs(ours: Ours, place: Place) -> str | None:
    stream, frame, _ = place
    connection = ours.by_stream.get(stream)
    if connection is None:
        return None
    if connection.compressed:
        return COMPRESSED
    for exchange in ours.around(stream, frame):
        if exchange.is_setup:
            return LOGIN
        if exchange.request_bytes > MAX_MESSAGE_BYTES:
            return LONG
        if exchange.fingerprint.startswith("load data local"):
            return CONTENT
    return HOLE if connection.lost else None


# --- statements -----------------------------------------------------------------------------------------------------


def _statements(ours: Ours, exchanges: Iterable[Exchange], theirs: Dissection) -> Measure:
    own = [(each.stream, each.statement or "", each) for each in exchanges if each.command in WITH_STATEMENT]
    queries = [(each.stream, each.text, each) for each in theirs.queries["mysql"]]
    only_ours, only_theirs, equal = paired(own, queries)
    shown = {(query.stream, query.frame): query for query in only_theirs}
    places = {(each.stream, each.request_end_frame): each for each in only_ours}
    known = {place: why for place, each in places.items() if (why := _known(each, shown.get(place)))}

    def why_ours(each: Exchange) -> str | None:
        return known.get((each.stream, each.request_end_frame)) or _why_no_query(each, ours, theirs)

    def why_theirs(each: Query) -> str | None:
        return known.get((each.stream, each.frame)) or _why_no_statement(each, ours, theirs)

    differences = each_alone(
        ((each.request_end_frame, described(each.statement or ""), why_ours(each)) for each in only_ours),
        ((each.frame, described(each.text, each.length), why_theirs(each)) for each in only_theirs),
    )
    return Measure("MySQL statements", len(own), len(queries), equal, differences)


def _known(exchange: Exchange, shown: Query | None) -> str | None:
    """Why it is not what Wireshark shows at its end: its beginning, of an empty one nothing, or a secret."""
    statement, text = exchange.statement or "", "" if shown is None else shown.text
    if not statement or is_shown_in_part(statement, text):
        return NUL
    return HIDDEN if is_masked(statement, text) else None


def _why_no_query(exchange: Exchange, ours: Ours, theirs: Dissection) -> str | None:
    if ours.by_stream[exchange.stream].compressed:
        return COMPRESSED
    frames = range(exchange.request_frame, exchange.request_end_frame + 1)
    if any(frame.is_cut for frame in theirs.frames_between(exchange.stream, frames.start, frames.stop - 1)):
        return CUT
    if any((exchange.stream, frame) in theirs.with_attributes for frame in frames):
        return ATTRIBUTES
    return HOLE if ours.by_stream[exchange.stream].lost else None


def _why_no_statement(query: Query, ours: Ours, theirs: Dissection) -> str | None:
    if (query.stream, query.frame) in theirs.with_attributes:
        return ATTRIBUTES
    return _why_only_theirs(ours, (query.stream, query.frame, "query"))
