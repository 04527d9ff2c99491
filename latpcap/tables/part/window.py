"""From when to when: which exchanges begin in a window, and how much of the recording it is."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.errors import NothingSelected
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.part.matching import files_of
from latpcap.tables.part.selection import Selection
from latpcap.tables.part.time_bounds import Moment
from latpcap.tables.recording import Recording

OPEN = (int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max))

Edge = tuple[int, int | None]
"""A time in ns since 1970, and where a frame was asked for its number."""


class Window(Struct, frozen=True):
    """From one edge to another: the time at which it ends is no part of it, the last frame is."""

    first: Edge
    last: Edge
    period: tuple[int, int]
    """The window in ns, as far as the connections reach."""


def window(recording: Recording, selection: Selection) -> Window | None:
    """The window that a selection asks for, if it does; raises `NothingSelected` where nothing passed then."""
    first, last = selection.first, selection.last
    if first is None and last is None:
        return None
    reached = reach(recording)
    edges: tuple[Edge, Edge] = (
        (OPEN[0], None) if first is None else (_ns(recording, first), first.frame),
        (OPEN[1], None) if last is None else (_ns(recording, last, beyond=1), last.frame),
    )
    period = max(reached[0], edges[0][0]), min(reached[1], edges[1][0])
    if period[0] >= period[1]:
        raise NothingSelected(_nothing_then(recording, selection, *reached))
    return Window(*edges, period)


def reach(recording: Recording) -> tuple[int, int]:
    """From the first packet to the last data of the database connections, in ns since 1970."""
    begin, end = recording.core.reach()
    if recording.period is not None:
        begin, end = max(begin, recording.period[0]), min(end, recording.period[1])
    return begin, max(begin, end)


def holds_all_time(recording: Recording) -> bool:
    """Whether no time of its connections is left out."""
    whole = None if recording.whole is None else recording.whole.read
    return recording.period is None or recording.read.holds_all_time(whole)


def _ns(recording: Recording, edge: Moment, beyond: int = 0) -> int:
    """When `edge` was; of a frame, when it passed, or with `beyond` when the one after it did."""
    if edge.frame is not None:
        passed: int | None = recording.core.passed(edge.frame + beyond)
        return OPEN[1] if passed is None else passed
    files = recording.captures_table
    firsts, lasts = (columns.column(files, name) for name in ("first_time", "last_time"))
    first = int(firsts.values[firsts.is_valid()].min())
    return min(max(edge.ns(first, int(lasts.values[lasts.is_valid()].max())), OPEN[0]), OPEN[1])


def begins_of(recording: Recording) -> Ints:
    """When each exchange begins, in ns since 1970; one that was not captured at all when the one before it does."""
    begins: Ints = recording.core.begins()
    return begins


def none_begins(recording: Recording, window: Window) -> str:
    """Return the message of a window in which no exchange begins."""
    begins = begins_of(recording)
    there = f"; theirs begin {utc_span(int(begins.min()), int(begins.max()))}" if len(begins) else ""
    return f"{files_of(recording)}: no exchange of these connections begins {utc_span(*window.period)}{there}"


def _nothing_then(recording: Recording, selection: Selection, begins: int, ends: int) -> str:
    asked = [f"from {selection.start}"] if selection.start else []
    asked += [f"to {selection.end}"] if selection.end else []
    there = utc_span(begins, ends)
    return f"{files_of(recording)}: no packets {' '.join(asked)}; these connections were open {there}"


def utc(ns: int) -> str:
    """A time for people, to the millisecond.

    >>> utc(1_600_000_000_120_400_000)
    '2020-09-13 12:26:40.120'
    """
    return str(np.datetime_as_string(np.datetime64(ns, "ns"), unit="ms")).replace("T", " ")


def utc_span(begins: int, ends: int) -> str:
    """From when to when, the date once where it is one.

    >>> utc_span(1_600_000_000_000_000_000, 1_600_000_060_000_000_000)
    '2020-09-13 12:26:40.000 to 12:27:40.000 UTC'
    """
    first, last = utc(begins), utc(ends)
    return f"{first} to {last.removeprefix(first[: len('2020-09-13 ')])} UTC"
