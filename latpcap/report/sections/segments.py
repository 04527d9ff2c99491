"""What TCP lost and sent again, by path and direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latpcap.measures.segments import Direction
from latpcap.report.section import Column, Row, Section, SectionTable, Sentence
from latpcap.result.connections import PathResult

__all__ = ["segments"]

COLUMNS = (
    Column("segments", "count"),
    Column("lost, at least", "count"),
    Column("lost %, at least", "figures"),
    Column("spurious", "count"),
    Column("spurious %", "figures", optional=True),
    Column("out of order", "count", optional=True),
    Column("zero windows", "count", optional=True),
    Column("from → to", least=24, heads=True),
)
HOW = (
    "Lost: sent again, and not known to have arrived; what was lost before the capture point shows only as a second "
    "copy or a time-out, and is not counted here; spurious: sent again though it had arrived; "
    "zero windows: the receiver had no room. Per cent of the segments with data; a capture may hold several as one."
)


def segments(found: Sequence[PathResult], most: int) -> Section:
    """The paths and directions where something was not as it should be, those that lost most first."""
    rows = sorted(_rows(found), key=lambda row: (-row[1], -row[3]))
    said = [SectionTable(COLUMNS, rows[:most], "Segments"), Sentence(HOW, "quiet", detail=True)] if rows else []
    return Section("segments", "Segments lost and sent again", said)


def _rows(found: Sequence[PathResult]) -> Iterator[Row]:
    for path in found:
        ends = (path.client, path.server)
        for way, (source, sink) in zip(path.segments.ways, (ends, ends[::-1]), strict=True):
            if way and (way.retransmissions or way.out_of_order or way.zero_windows):
                yield _row(way, f"{source} → {sink}")


def _row(way: Direction, whose: str) -> Row:
    shares = [f"{100 * (share or 0):.2f}" for share in (way.lost_share, way.spurious_share)]
    return (way.segments, way.lost, shares[0], way.spurious, shares[1], way.out_of_order, way.zero_windows, whose)
