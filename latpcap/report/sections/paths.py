"""How far apart the hosts are, how that is known, and what TCP lost on the way and sent again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.measures.segments import Direction
from latpcap.report.section import Column, Row, Section, SectionTable, Sentence, table_of
from latpcap.report.sections.statements import rest
from latpcap.result.connections import PathResult
from latpcap.result.tables import flat
from latpcap.units import capitalised, counted, format_ms, text_range

PLACES = {"unknown": "at an unknown position", "between": "on the path", "loopback": "on one host"}
"""The places of a capture, other than at the client or at the server."""
BOUNDS = (
    Column("RTT ms", "ms", name="rtt_baseline_ms"),
    Column("low", "ms", name="rtt_low_ms"),
    Column("high", "ms", name="rtt_high_ms"),
)
SAMPLES = Column("samples", "count", optional=True, name="rtt_samples")
COLUMNS = (
    *BOUNDS,
    Column("connections", "count", optional=True, name="connections"),
    SAMPLES,
    Column("RTT from", optional=True, name="from"),
    Column("why", detail=True, below=True, name="rtt_reason"),
    Column("client → server", least=40, heads=True, name="who"),
)
PERIODS = (
    Column("from (UTC)", name="from"),
    *BOUNDS,
    Column("round trips", "count", name="round_trips"),
    SAMPLES,
    Column("evidence", least=23, name="rtt_method"),
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
        rows = (
            flat(path) | {"from": f"{path.rtt.method}, {path.rtt.position}", "who": _who(path)} for path in found[:most]
        )
        yield table_of(COLUMNS, rows, "Paths", rest(found, range(most, len(found)), ("connections",), who="path"))
    changed = [path for path in found if path.periods]
    for path in changed[:most]:
        yield from _changes(path)
    if not changed or len(found) > 1:
        yield from _in_words(found[0], baseline_ms)


def _changes(path: PathResult) -> Iterator[Sentence | SectionTable]:
    whose = _who(path)
    yield Sentence(f"{whose}: the RTT changed", "head")
    one_day = len({period.begin[:10] for period in path.periods}) == 1
    when = slice(11, 19) if one_day else slice(19)
    rows = (flat(each) | {"from": each.begin[when].replace("T", " ")} for each in path.periods)
    yield table_of(PERIODS, rows, f"Periods of {whose}")
    for each in path.periods:
        if each.shown_by:
            yield Sentence(f"Changed at {each.begin[11:19]}, as shown by {each.shown_by}")
    yield from map(Sentence, dict.fromkeys(capitalised(each.rtt.reason) for each in path.periods))


def _in_words(path: PathResult, baseline_ms: float) -> Iterator[Sentence]:
    rtt = path.rtt
    measured = {
        "data ACKs": rtt.in_stream_median_ms,
        "TCP handshake": rtt.handshake_ms,
        "fastest responses": rtt.response_floor_ms,
    }
    figures = ", ".join(f"{name} {format_ms(value)}" for name, value in measured.items() if value is not None)
    place = PLACES.get(rtt.position, f"at the {rtt.position}")
    between = (
        ""
        if rtt.low_ms is None or rtt.high_ms is None
        else f" ({text_range(format_ms(rtt.low_ms), format_ms(rtt.high_ms))})"
    )
    seen = f"from {counted(rtt.samples, 'sample')} captured {place}"
    yield Sentence(f"{_who(path)}: RTT {format_ms(baseline_ms)}{between}, {seen}")
    yield Sentence(f"{capitalised(rtt.reason)}{f' ({figures})' if figures else ''}")


def _who(path: PathResult) -> str:
    return f"{path.client} → {path.server}"


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
