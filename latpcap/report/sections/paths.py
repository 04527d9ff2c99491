"""How far apart the hosts are, how that is known, and what TCP lost on the way and sent again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.measures.segments import Direction
from latpcap.report.section import Column, Row, Section, SectionTable, Sentence
from latpcap.result.connections import PathResult, PeriodResult
from latpcap.units import counted, format_ms

__all__ = ["paths", "segments"]

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
SEGMENTS = (
    Column("segments", "count"),
    Column("lost, at least", "count"),
    Column("lost %, at least", "figures"),
    Column("spurious", "count"),
    Column("spurious %", "figures", optional=True),
    Column("out of order", "count", optional=True),
    Column("zero windows", "count", optional=True),
    Column("from → to", least=24, heads=True),
)
LOST = (
    "Lost: sent again, and not known to have arrived; what was lost before the capture point shows only as a second "
    "copy or a time-out, and is not counted here; spurious: sent again though it had arrived; "
    "zero windows: the receiver had no room. Per cent of the segments with data; a capture may hold several as one."
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


def segments(found: Sequence[PathResult], most: int) -> Section:
    """The paths and directions where something was not as it should be, those that lost most first."""
    rows = sorted(_directions(found), key=lambda row: (-row[1], -row[3]))
    said = [SectionTable(SEGMENTS, rows[:most], "Segments"), Sentence(LOST, "quiet", detail=True)] if rows else []
    return Section("segments", "Segments lost and sent again", said)


def _directions(found: Sequence[PathResult]) -> Iterator[Row]:
    for path in found:
        ends = (path.client, path.server)
        for way, (source, sink) in zip(path.segments.ways, (ends, ends[::-1]), strict=True):
            if way and (way.retransmissions or way.out_of_order or way.zero_windows):
                yield _direction(way, f"{source} → {sink}")


def _direction(way: Direction, whose: str) -> Row:
    shares = [f"{100 * (share or 0):.2f}" for share in (way.lost_share, way.spurious_share)]
    return (way.segments, way.lost, shares[0], way.spurious, shares[1], way.out_of_order, way.zero_windows, whose)
