"""Segments with data that TCP lost or sent again for nothing, that came out of order, or that had to wait for a window.

By direction: what one side sends is lost on another way than what it receives. Of a part of the time it is not known
what had arrived, so there are no such figures then. Over time both directions count together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from arro3.core import Table
from msgspec import Struct

from latpcap.display import ShortRepr
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.part.window import holds_all_time
from latpcap.tables.recording import Recording

COUNTS = ("data_packets", "retransmissions", "spurious_retransmissions", "reordered_packets", "zero_windows")


class Direction(ShortRepr, Struct, frozen=True):
    """Segments that one side sends; counts are packets, which hosts that offload may make of several segments."""

    segments: int
    """Segments with data, retransmissions included."""
    retransmissions: int
    lost: int
    """Segments that were sent again and had not arrived, as far as acknowledgments show: at least."""
    lost_share: float | None
    """The share of the segments, 0 to 1; null without any."""
    spurious: int
    """Segments that were sent again though they had arrived."""
    spurious_share: float | None
    out_of_order: int
    zero_windows: int
    """How often the receiver had no room left, which stops the sender."""


class Segments(ShortRepr, Struct, frozen=True):
    """Both directions, and together; all null where only a part of the time is selected."""

    to_server: Direction | None = None
    to_client: Direction | None = None
    lost_share: float | None = None
    spurious_share: float | None = None

    @property
    def ways(self) -> tuple[Direction | None, Direction | None]:
        """To the server, to the client."""
        return self.to_server, self.to_client


def segments(recording: Recording) -> Segments:
    """Return the segments of all database connections."""
    return segments_of_paths(recording, np.zeros(len(recording.database_rows), np.int64), 1)[0]


def segments_of_paths(recording: Recording, path: Ints, count: int) -> list[Segments]:
    """Return the segments of each of `count` paths; `path` is that of each database connection."""
    if not holds_all_time(recording):
        return [Segments()] * count

    def sums(name: str) -> Ints:
        return np.bincount(path, recording.connection_column(name).ints(0), count).astype(np.int64)

    client = [sums(f"client_{name}") for name in COUNTS]
    server = [sums(name) - mine for name, mine in zip(COUNTS, client, strict=True)]
    client[-1], server[-1] = server[-1], client[-1]  # whoever has no room stops the other
    ways = zip(*(np.stack(way, axis=1).tolist() for way in (client, server)), strict=True)
    return [_both(_direction(*to_server), _direction(*to_client)) for to_server, to_client in ways]


class SegmentsOverTime(Struct, frozen=True):
    """The segments of each interval of time; a packet that was sent again counts when it was, also as spurious."""

    sent: Ints
    again: Ints
    spurious: Ints

    @property
    def lost(self) -> Ints:
        """Segments that were sent again and had not arrived, as far as acknowledgments show: at least."""
        return self.again - self.spurious


def segments_over_time(
    recording: Recording, at: Callable[[Ints], Ints], count: int, width_ns: int
) -> SegmentsOverTime | None:
    """Return the segments of `count` intervals of `width_ns`; `at` is the interval of times since 1970.

    The core counts by slots, longer ones on long connections. `None` where these are longer than the intervals.
    """
    table = Table.from_arrow(recording.core.segments())
    streams = columns.column(recording.all_connections_table, "stream").values[recording.database_rows]
    mine = np.flatnonzero(np.isin(columns.column(table, "stream").values, streams))
    if np.any(width_ns % np.maximum(columns.column(table, "length_ns").values[mine].astype(np.int64), 1)):
        return None
    interval = at(columns.column(table, "time").values[mine].astype(np.int64))

    def total(name: str) -> Ints:
        sides = (columns.column(table, f"{side}_{name}").values[mine] for side in ("client", "server"))
        return np.bincount(interval, np.add(*sides, dtype=np.int64), count).astype(np.int64)

    return SegmentsOverTime(*map(total, ("data_packets", "retransmissions", "spurious_retransmissions")))


def _direction(sent: int, again: int, spurious: int, out_of_order: int, zero_windows: int) -> Direction:
    lost = max(again - spurious, 0)
    return Direction(
        segments=sent,
        retransmissions=again,
        lost=lost,
        lost_share=_share(lost, sent),
        spurious=spurious,
        spurious_share=_share(spurious, sent),
        out_of_order=out_of_order,
        zero_windows=zero_windows,
    )


def _both(to_server: Direction, to_client: Direction) -> Segments:
    sent = to_server.segments + to_client.segments
    lost, spurious = to_server.lost + to_client.lost, to_server.spurious + to_client.spurious
    return Segments(to_server, to_client, _share(lost, sent), _share(spurious, sent))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
