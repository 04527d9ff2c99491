"""The errors: what failed, how often, and what the server said."""

from __future__ import annotations

from collections.abc import Sequence

from latpcap.report.section import Column, Entry, Line, Section, Sentence, table_of
from latpcap.report.sections.statements import sums
from latpcap.report.text import printable, top
from latpcap.result.errors import ErrorResult, ErrorsResult
from latpcap.result.tables import flat
from latpcap.units import counted, format_s, listed

COUNT, CODE = Column("count", "count", name="count"), Column("code", name="code")
KIND = Column("what failed", name="kind")
MESSAGE = Column("message", least=40, folds=True, name="message")
ERRORS = (
    *(COUNT, CODE, KIND),
    Column("round trips", "count", optional=True, name="round_trips"),
    Column("seconds", "s", optional=True, name="seconds"),
    Column("first frame", "count", optional=True, name="first_frame"),
    Column("statement", "short", least=20, optional=True, name="statement"),
    MESSAGE,
)
COLUMNS = (
    *(COUNT, CODE, KIND),
    Column("user", optional=True, detail=True, name="users"),
    Column("round trips", "count", detail=True, name="round_trips"),
    Column("first frame", "count", detail=True, name="first_frame"),
    Column("last frame", "count", detail=True, name="last_frame"),
    MESSAGE,
    Column("statement", "code", below=True, name="statement"),
)


def errors(found: ErrorsResult, most: int) -> Section:
    """The most frequent; nothing where nothing failed."""
    rows = [flat(each) | {"users": ", ".join(each.users)} for each in found.found[:most]]
    trips = f", in {counted(found.round_trips, 'round trip')}" if found.round_trips else ""
    left = sums(found.found, range(most, len(found.found)), ("count", "round_trips"))
    foot = left and left | {"message": f"{counted(len(found.found) - most, 'further line')} together"}
    said = Sentence(f"{found.text}{trips}")
    return Section(
        "errors",
        top("Errors", len(found.found), most),
        [said, table_of(COLUMNS, rows, "Errors", foot or None)] if rows else [],
    )


def listed_errors(found: Sequence[ErrorResult]) -> Section:
    """Each error whole: what the server said of which statement, what it took, and where it is in Wireshark."""
    return Section("errors", "", [*map(_entry, found)])


def _entry(each: ErrorResult) -> Entry:
    asked = Line(each.statement or "", kind="quiet")
    return Entry(each.message, f"{each.count:,} × {each.code}", "high", lines=(asked, Line(_cost(each))))


def _cost(error: ErrorResult) -> str:
    frame = "" if error.first_frame is None else f"; first in frame {error.first_frame:,}"
    if error.kind == "connection":
        return f"{counted(error.count, 'connection')}, {format_s(error.seconds)} lost by clients{frame}"
    whose = f" of {listed(map(printable, error.users))}" if error.kind == "login" and error.users else ""
    failed = counted(error.count, error.kind) if error.kind in ("statement", "login") else "failed"
    return f"{failed}{whose}, {counted(error.round_trips, 'round trip')}, {format_s(error.seconds)}{frame}"
