"""Where the time went, as a bar and as figures; and what the round trips do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from latpcap.measures.budget import Budget
from latpcap.measures.connecting import Connecting
from latpcap.measures.purposes import PURPOSES, PurposeResult
from latpcap.measures.timing_only import TimingOnly, part_of
from latpcap.report.section import Bar, Column, Piece, Section, SectionPart, SectionTable, Sentence, sections_of
from latpcap.result.analysis import Analysis
from latpcap.units import counted, format_s, percent_range

PARTS = {
    "network_s": ("N", "network", "red", "round trips at the baseline RTT"),
    "service_s": ("S", "service", "yellow", "server work"),
    "transfer_s": ("T", "transfer", "cyan", "long requests and responses"),
    "stall_s": ("A", "stall", "bright_magenta", "Nagle and delayed ACK, with its round trip"),
    "client_s": ("C", "client", "green", "application work"),
    "think_s": ("P", "think", "blue", "long pauses, the same at any RTT"),
    "setup_s": ("U", "set-up", "magenta", "TCP, TLS, authentication"),
    "loss_s": ("L", "loss", "bright_red", "retransmissions"),
    "unknown_s": ("?", "unknown", "bright_black", "partly captured exchanges"),
}
"""Letter in the bar, name, colour, what it is."""

NAMES = {"setup": "set-up"}
"""Purposes as people are told of them, where the filterable value is spelled otherwise."""

BUDGET = (Column("part"), Column("", "key"), Column("seconds", "s"), Column("share %", "percent"), Column("what"))
TRIPS = (Column("purpose"), Column("round trips", "count"), Column("share %", "percent"), Column("what they do"))


def budget(result: Analysis) -> Section:
    """The parts of the runtime, and what encryption hides of them."""
    besides = (_network(result), _encrypted(result.timing_only, result.connecting))
    said = [Sentence(text, "quiet") for text in besides if text]
    return Section("budget", "Where the time went", [*_parts(result.budget, result.projection.budget_at), *said])


def _encrypted(hidden: TimingOnly | None, opened: Connecting | None) -> str:
    """What encryption costs, and what it hides."""
    connecting = opened.text if opened else ""
    if hidden is None:
        return connecting
    are = "is" if hidden.round_trips == 1 else "are"
    counted_so = f"{part_of(hidden.connections, hidden.of)} {are} timing only: counted by direction changes."
    return f"{connecting} {counted(hidden.round_trips, 'round trip')} of {counted_so}".strip()


def _network(result: Analysis) -> str:
    """Return what the network's time consists of, that of set-up included, and its share of the runtime."""
    summary = result.summary
    if summary.network_share is None or result.waits.count == 0 or result.waits.shared_s <= 0:
        return ""
    ends = (summary.network_share_low or 0.0, summary.network_share_high or 0.0)
    share = percent_range(summary.network_share, *ends)
    return f"Network, with that of set-up: {result.waits.text(summary.round_trips)} ({share})."


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


def purposes(found: tuple[PurposeResult, ...]) -> Section:
    """What the round trips are for, where they are for several things."""
    total = sum(each.round_trips for each in found)
    rows = [
        (NAMES.get(each.purpose, each.purpose), each.round_trips, each.round_trips / total, PURPOSES[each.purpose])
        for each in found
    ]
    return Section("purposes", "What the round trips do", [SectionTable(TRIPS, rows)] if len(rows) > 1 else [])
