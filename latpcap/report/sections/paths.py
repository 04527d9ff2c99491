"""How far apart the hosts are, and how that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.report.section import Column, Section, SectionTable, Sentence
from latpcap.result.connections import PathResult, PeriodResult
from latpcap.units import counted, format_ms

__all__ = ["paths"]

PLACES = {"unknown": "at an unknown place", "between": "on the way", "loopback": "on one machine"}
"""Where a capture was taken; else at the client or at the server."""
COLUMNS = (
    *(Column(title, "ms") for title in ("RTT ms", "low", "high")),
    *(Column(title, "count", optional=True) for title in ("connections", "samples")),
    Column("from", optional=True),
    Column("why", detail=True, below=True),
    Column("client → server", least=40, heads=True),
)
PERIODS = (
    Column("from (UTC)"),
    *(Column(title, "ms") for title in ("RTT ms", "low", "high")),
    Column("round trips", "count"),
    Column("samples", "count", optional=True),
    Column("from what", least=23),
)


def paths(found: Sequence[PathResult], most: int) -> Section:
    """The paths, the periods of those whose RTT changed, and in words the path with most connections."""
    if not found or found[0].rtt.baseline_ms is None:
        return Section("paths", "", [])
    return Section("paths", "How the RTT is known", [*_parts(found, most, found[0].rtt.baseline_ms)])


def _parts(found: Sequence[PathResult], most: int, baseline_ms: float) -> Iterator[Sentence | SectionTable]:
    if len(found) > 1:
        left = found[most:]
        sums = (*[None] * 3, sum(path.connections for path in left), *[None] * 3)
        foot = (*sums, f"{counted(len(left), 'further path')} together") if left else None
        yield SectionTable(COLUMNS, [_row(path) for path in found[:most]], "Paths", foot)
    changed = [path for path in found if path.periods]
    for path in changed[:most]:
        yield from _changes(path)
    if not changed or len(found) > 1:
        yield from _in_words(found[0], baseline_ms)


def _changes(path: PathResult) -> Iterator[Sentence | SectionTable]:
    whose = f"{path.client} → {path.server}"
    yield Sentence(f"{whose}: the RTT changed", "head")
    one_day = len({period.begin[:10] for period in path.periods}) == 1
    yield SectionTable(PERIODS, [_period(each, one_day=one_day) for each in path.periods], f"Periods of {whose}")
    for each in path.periods:
        if each.shown_by:
            yield Sentence(f"Changed at {each.begin[11:19]}, as shown by {each.shown_by}")
    yield from map(Sentence, dict.fromkeys(f"{each.rtt.method}: {each.rtt.reason}" for each in path.periods))


def _in_words(path: PathResult, baseline_ms: float) -> Iterator[Sentence]:
    rtt = path.rtt
    measured = {
        "handshake": rtt.handshake_ms,
        "in-stream": rtt.in_stream_median_ms,
        "fastest responses": rtt.response_floor_ms,
    }
    figures = ", ".join(f"{name} {format_ms(value)}" for name, value in measured.items() if value is not None)
    place = PLACES.get(rtt.position, f"at the {rtt.position}")
    known = [format_ms(bound) for bound in (rtt.low_ms, rtt.high_ms) if bound is not None]
    between = f", {' to '.join(known)}" if known else ""
    whose = f"{path.client} → {path.server}"
    yield Sentence(f"{whose}: {format_ms(baseline_ms)}{between}, from {counted(rtt.samples, 'sample')}")
    yield Sentence(f"{rtt.method}: {rtt.reason} ({figures}; captured {place})")


def _period(each: PeriodResult, *, one_day: bool) -> tuple[float | str | None, ...]:
    begin = each.begin[11:19] if one_day else each.begin[:19].replace("T", " ")
    return (begin, *_bounds(each), each.round_trips, each.rtt.samples, each.rtt.method)


def _bounds(each: PathResult | PeriodResult) -> tuple[float | None, ...]:
    return each.rtt.baseline_ms, each.rtt.low_ms, each.rtt.high_ms


def _row(path: PathResult) -> tuple[float | str | None, ...]:
    rtt = path.rtt
    return (
        *(*_bounds(path), path.connections, rtt.samples),
        *(f"{rtt.method}, {rtt.position}", rtt.reason, f"{path.client} → {path.server}"),
    )
