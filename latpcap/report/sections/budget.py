"""The budget of the time, as a bar and as figures; and what the round trips do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from latpcap.measures.budget import Budget
from latpcap.measures.connecting import Connecting
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.measures.timing_only import TimingOnly
from latpcap.measures.waits import Waits
from latpcap.report.section import Bar, Column, Piece, Section, SectionPart, SectionTable, Sentence, sections_of
from latpcap.result.analysis import Analysis
from latpcap.result.verdict import PART_NAMES
from latpcap.units import counted, format_s, percent_range

_DRAWN = {
    "network_s": ("N", "red", "waiting for the network"),
    "service_s": ("S", "yellow", "waiting for the server"),
    "transfer_s": ("D", "cyan", "sending large requests and responses"),
    "stall_s": ("K", "bright_magenta", "packets that waited for a delayed ACK"),
    "client_s": ("A", "green", "time in the application"),
    "think_s": ("T", "blue", "long pauses, the same at any RTT"),
    "setup_s": ("C", "magenta", "TCP, TLS and login, apart from the network"),
    "loss_s": ("L", "bright_red", "retransmissions"),
    "unknown_s": ("?", "bright_black", "exchanges that were captured in part"),
}
PARTS = {name: (letter, PART_NAMES[name], *others) for name, (letter, *others) in _DRAWN.items()}
"""Letter in the bar, name, colour, what it is."""

NAMES = {"setup": "connecting"}
"""Purposes in the words of the other tables, where the filterable value is another."""

BUDGET = (Column("part"), Column("", "key"), Column("seconds", "s"), Column("share", "share"), Column("what"))
TRIPS = (Column("purpose"), Column("round trips", "count"), Column("share", "share"), Column("what they do"))


def budget(result: Analysis) -> Section:
    """The parts of the runtime, and what encryption hides of them."""
    besides = (_network(result), _encrypted(result.timing_only, result.connecting))
    said = [Sentence(text, "quiet") for text in besides if text]
    return Section("budget", "Where the time went", [*_parts(result.budget, result.projection.headline_budget), *said])


def _encrypted(hidden: TimingOnly | None, opened: Connecting | None) -> str:
    """Say what encryption costs and hides."""
    connecting = opened.text if opened else ""
    if hidden is None:
        return connecting
    return (
        f"{connecting} {counted(hidden.round_trips, 'round trip')} counted from packet direction (encrypted).".strip()
    )


def _network(result: Analysis) -> str:
    """Return what the network's time consists of, that of set-up included, and its share of the runtime."""
    summary = result.summary
    if summary.network_share is None or result.waits.count == 0 or result.waits.shared_s <= 0:
        return ""
    ends = (summary.network_share_low or 0.0, summary.network_share_high or 0.0)
    share = percent_range(summary.network_share, *ends)
    return f"Network: {result.waits.text(summary.round_trips)} ({share})."


@sections_of.register
def _alone(result: Budget) -> list[Section]:
    return [Section("budget", "", _parts(result))]


def _parts(budget: Budget, there: Budget | None = None) -> list[SectionPart]:
    """A bar and a table of the parts that take some time, also of those that do `there` alone."""
    parts = budget.parts()
    runtime = sum(parts.values())
    if not runtime:
        return []
    pieces = pieces_of(parts, there.parts() if there else {})
    rows = [
        (piece.title, piece, parts[f"{piece.name}_s"], piece.share, PARTS[f"{piece.name}_s"][3]) for piece in pieces
    ]
    bar = Bar([piece for piece in pieces if piece.share > 0], seconds=runtime)
    return [bar, SectionTable(BUDGET, rows, "Time by part", ("runtime", None, runtime, 1.0, ""))]


def bars(sides: Mapping[str, Mapping[str, float]]) -> Iterator[Bar]:
    """A bar for each title, with its seconds, on one scale: which is longer took longer."""
    totals = {title: sum(parts.values()) for title, parts in sides.items()}
    longest = max(totals.values(), default=0.0)
    for title, total in totals.items():
        if total > 0:
            yield Bar(pieces_of(sides[title]), f"{title}: {format_s(total)}", total / longest, total)


def pieces_of(parts: Mapping[str, float], there: Mapping[str, float] | None = None) -> list[Piece]:
    """The parts that take some time, or do `there`, as pieces of a bar."""
    total, others = sum(parts.values()), there or {}
    return [
        Piece(name.removesuffix("_s"), title, letter, colour, parts.get(name, 0.0) / total)
        for name, (letter, title, colour, _) in PARTS.items()
        if parts.get(name, 0.0) > 0 or others.get(name, 0.0) > 0
    ]


def purposes(found: tuple[PurposeResult, ...], waits: Waits) -> Section:
    """Return the round trips' purposes, if there are several, and the waits around them in a row of their own."""
    trips = [(NAMES.get(each.purpose, each.purpose), each.round_trips, PURPOSES[each.purpose]) for each in found]
    if around := waits.count - waits.round_trips:
        trips.append(("TCP", around, "open and close connections: handshakes, greetings, FINs"))
    total = sum(count for _, count, _ in trips)
    rows = [(name, count, count / total, text) for name, count, text in trips]
    return Section("purposes", "What the round trips do", [SectionTable(TRIPS, rows)] if len(rows) > 1 else [])
