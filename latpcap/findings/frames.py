"""Which packets show a finding, and the Wireshark display filter that shows exactly these.

The packets of a finding are *intervals* of TCP connections: from the first packet of an exchange to the last one of the
exchanges that follow it without another waiting exchange between, acknowledgments included. `tcp.stream` and
`frame.number` are Wireshark's own numbers, so an interval is exact however many connections are interleaved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct

from latpcap.findings.evidence import Evidence
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Ints

MAX_RANGES = 2000
"""A filter of 2,000 intervals is some 25 kB long and works in Wireshark; further ones are left out, and counted."""


MAX_RANGES_SHOWN = 3
"""Ranges that a report for people shows."""
WHOLE = "tcp.stream in"
"""The beginning of a filter for whole connections."""


class Frames(Struct, frozen=True):
    """One interval: the packets of `stream` from frame `first` to frame `last`."""

    stream: int
    first: int
    last: int


class FrameRanges(Struct, frozen=True):
    """The ranges of packets of a finding, in the order of streams and frames."""

    stream: Ints
    first: Ints
    last: Ints

    def between(self, first: int, last: int) -> list[Frames]:
        """The ranges from place `first` up to `last`."""
        parts = (values[first:last].tolist() for values in (self.stream, self.first, self.last))
        return [Frames(*each) for each in zip(*parts, strict=True)]

    def __len__(self) -> int:
        return len(self.stream)


def frames_of_exchanges(evidence: Evidence, rows: Ints) -> FrameRanges:
    """The intervals that hold the exchanges `rows`."""
    return frames_of_each(evidence, rows, np.zeros(len(rows), np.int64))[0]


def frames_of_each(evidence: Evidence, rows: Ints, group: Ints) -> tuple[FrameRanges, Ints]:
    """The intervals that hold the exchanges `rows` of each group, and the group of each; `group` ascends."""
    seen = (evidence.first_frame[rows] >= 0) & (evidence.last_frame[rows] >= 0)
    rows, group = rows[seen], group[seen]
    if len(rows) == 0:
        return FrameRanges(rows, rows, rows), group
    waited = evidence.waited
    connection = evidence.exchanges.connection[rows]
    others_between = waited[rows[1:] - 1] > waited[rows[:-1]]
    apart = np.concatenate(([True], (np.diff(connection) != 0) | (np.diff(group) != 0) | others_between))
    begins = np.flatnonzero(apart)
    first = np.minimum.reduceat(evidence.first_frame[rows], begins)
    last = np.maximum.reduceat(evidence.last_frame[rows], begins)
    stream = evidence.recording.connections.stream[connection[begins]]
    return _merged(stream, first, last, group[begins])


def frames_of_connections(evidence: Evidence, connections: Ints) -> FrameRanges:
    """Whole connections, from their first packet to their last."""
    recording = evidence.recording
    first, last = (recording.connection_column(name).ints(-1)[connections] for name in ("first_frame", "last_frame"))
    return FrameRanges(recording.connections.stream[connections], first, last)


def _merged(stream: Ints, first: Ints, last: Ints, group: Ints) -> tuple[FrameRanges, Ints]:
    """Ranges of each group in order, those that touch joined (exchanges may share a packet)."""
    order = passes.ordered(group, stream, first)
    path = passes.numbered(group, stream)[order]
    first, reached = first[order], passes.running_maximum(last[order], path)
    apart = (path[1:] != path[:-1]) | (first[1:] > reached[:-1] + 1)
    begins = np.flatnonzero(np.concatenate(([True], apart)))
    ends = np.append(begins[1:], len(order)) - 1
    return FrameRanges(stream[order][begins], first[begins], reached[ends]), group[order][begins]


def display_filter(frames: Sequence[Frames], whole: bool) -> str:
    """A filter for Wireshark and `tshark -Y`; `whole`: the intervals are whole connections.

    >>> display_filter([Frames(3, 21, 40), Frames(3, 44, 44), Frames(5, 7, 9)], whole=False)
    '(tcp.stream == 3 && frame.number in {21..40, 44}) || (tcp.stream == 5 && frame.number in {7..9})'
    >>> display_filter([Frames(number, 0, 0) for number in (0, 1, 2, 7)], whole=True)
    'tcp.stream in {0..2, 7}'
    """
    if whole:
        return f"{WHOLE} {{{', '.join(_ranges([frame.stream for frame in frames]))}}}"
    parts = []
    for stream, intervals in groupby(frames, key=lambda frame: frame.stream):
        numbers = ", ".join(_range(each.first, each.last) for each in intervals)
        parts.append(f"tcp.stream == {stream} && frame.number in {{{numbers}}}")
    return parts[0] if len(parts) == 1 else " || ".join(f"({part})" for part in parts)


def short_filter(text: str, frames: Sequence[Frames], most: int = MAX_RANGES_SHOWN) -> tuple[str, int]:
    """The filter `text` of these intervals for the first ranges of them, and how many more there are.

    >>> short_filter("…", [Frames(3, 21, 40), Frames(3, 44, 44), Frames(5, 7, 9)], 2)
    ('tcp.stream == 3 && frame.number in {21..40, 44}', 1)
    >>> short_filter("tcp.stream in {0..2, 7}", [Frames(number, 0, 0) for number in (0, 1, 2, 7)], 1)
    ('tcp.stream in {0..2}', 1)
    """
    whole = text.startswith(WHOLE)
    ranges = _ranges([frame.stream for frame in frames]) if whole else frames
    if len(ranges) <= most:
        return text, 0
    first = f"{WHOLE} {{{', '.join(map(str, ranges[:most]))}}}" if whole else display_filter(frames[:most], False)
    return first, len(ranges) - most


def _ranges(numbers: Sequence[int]) -> list[str]:
    runs = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    listed = ([number for _, number in run] for _, run in runs)
    return [_range(run[0], run[-1]) for run in listed]


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"
