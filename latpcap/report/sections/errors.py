"""The errors: what failed, how often, and what the server said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.report.section import Column, Entry, Line, Section, SectionTable, Sentence
from latpcap.report.text import printable, top
from latpcap.result.errors import ErrorResult, ErrorsResult
from latpcap.units import counted, format_s, listed

__all__ = ["error_entries", "errors"]

COLUMNS = (
    Column("count", "count"),
    Column("code"),
    Column("what failed"),
    Column("user", optional=True, detail=True),
    *(Column(title, "count", detail=True) for title in ("round trips", "first frame", "last frame")),
    Column("message", least=40, folds=True),
    Column("statement", "code", below=True),
)


def errors(found: ErrorsResult, most: int) -> Section:
    """The most frequent; nothing where nothing failed."""
    rows = [
        (
            *(each.count, each.code, each.kind, ", ".join(each.users), each.round_trips),
            *(each.first_frame, each.last_frame, each.message, each.statement or ""),
        )
        for each in found.found[:most]
    ]
    trips = f": {counted(found.round_trips, 'round trip')}" if found.round_trips else ""
    said = Sentence(f"{found.text}{trips}")
    parts = [said, SectionTable(COLUMNS, rows, "Errors", _rest(found.found[most:]))] if rows else []
    return Section("errors", top("Errors", len(found.found), most), parts)


def _rest(left: Sequence[ErrorResult]) -> tuple[int | str | None, ...] | None:
    if not left:
        return None
    count, trips = (sum(getattr(each, name) for each in left) for name in ("count", "round_trips"))
    return (count, *[None] * 3, trips, None, None, f"{counted(len(left), 'further line')} together", None)


def error_entries(found: Sequence[ErrorResult]) -> Iterator[Entry]:
    """Each error whole: what the server said of which statement, what it took, and where it is in Wireshark."""
    for each in found:
        asked = Line(each.statement or "", kind="quiet")
        yield Entry(each.message, f"{each.count:,} × {each.code}", "high", lines=(asked, Line(_cost(each))))


def _cost(error: ErrorResult) -> str:
    frame = "" if error.first_frame is None else f"; first in frame {error.first_frame:,}"
    if error.kind == "connection":
        return f"{counted(error.count, 'connection')}, {format_s(error.seconds)} lost by clients{frame}"
    whose = f" of {listed(map(printable, error.users))}" if error.kind == "login" and error.users else ""
    failed = counted(error.count, error.kind) if error.kind in ("statement", "login") else "failed"
    return f"{failed}{whose}, {counted(error.round_trips, 'round trip')}, {format_s(error.seconds)}{frame}"
