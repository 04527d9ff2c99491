"""From when to when: which exchanges begin in a window, and how much of the recording it is."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.errors import NothingSelected
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.part.matching import files_of
from latpcap.tables.part.selection import Selection
from latpcap.tables.part.time_bounds import Moment
from latpcap.tables.recording import Recording

OPEN = (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
MARKS = ("request", "request_end", "response", "response_end")


class Window(Struct, frozen=True):
    """From when to when, in ns since 1970 and, where frames were asked for, in frames; the end is not part of it."""

    first_ns: int
    last_ns: int
    first_frame: int
    last_frame: int
    edges: tuple[int, int]
    """From when to when in any case, in ns."""
    period: tuple[int, int]
    """The window in ns, as far as the connections reach."""

    def holds(self, begin_ns: Ints, frame: Ints) -> Bools:
        """Return whether each begins in the window."""
        by_time = (begin_ns >= self.first_ns) & (begin_ns < self.last_ns)
        by_frame: Bools = (frame >= self.first_frame) & (frame < self.last_frame)
        return by_time & by_frame


def window(recording: Recording, selection: Selection) -> Window | None:
    """The window that a selection asks for, if it does; raises `NothingSelected` where nothing passed then."""
    first, last = selection.first, selection.last
    if first is None and last is None:
        return None
    begins, ends = reach(recording)
    times = [OPEN[0] if first is None else _ns(recording, first)]
    times += [OPEN[1] if last is None else _ns(recording, last, beyond=1)]
    by_frame = [edge is not None and edge.frame is not None for edge in (first, last)]
    begins, ends = max(begins, times[0]), min(ends, times[1])
    if begins >= ends:
        raise NothingSelected(_nothing_then(recording, selection, *reach(recording)))
    return Window(
        OPEN[0] if by_frame[0] else times[0],
        OPEN[1] if by_frame[1] else times[1],
        first.frame if first is not None and first.frame is not None else OPEN[0],
        last.frame + 1 if last is not None and last.frame is not None else OPEN[1],
        (times[0], times[1]),
        (begins, ends),
    )


def reach(recording: Recording) -> tuple[int, int]:
    """From the first packet to the last data of the database connections, in ns since 1970."""
    table, rows = recording.all_connections_table, recording.database_rows
    starts, ends = (columns.column(table, name).ints(MISSING)[rows] for name in ("start", "data_end"))
    begin, end = int(starts.min()), int(ends.max())
    if end == MISSING:
        end = int(columns.column(table, "end").values[rows].max())
    if recording.period is not None:
        begin, end = max(begin, recording.period[0]), min(end, recording.period[1])
    return begin, max(begin, end)


def holds_all_time(recording: Recording) -> bool:
    """Whether no time of its connections is left out."""
    return recording.period is None or (recording.whole is not None and recording.period == reach(recording.whole))


def _ns(recording: Recording, edge: Moment, beyond: int = 0) -> int:
    """When `edge` was; of a frame, when it passed, or with `beyond` when the one after it did."""
    if edge.frame is not None:
        return _passed(recording, edge.frame + beyond)
    files = recording.captures_table
    firsts, lasts = (columns.column(files, name) for name in ("first_time", "last_time"))
    first = int(firsts.values[firsts.is_valid()].min())
    return edge.ns(first, int(lasts.values[lasts.is_valid()].max()))


def _passed(recording: Recording, frame: int) -> int:
    """When the first packet from `frame` on passed that opens a connection, begins or ends a request or an answer."""
    opened, later = recording.all_connections_table, OPEN[1]
    said = recording.exchange_columns(*(f"{mark}_{what}" for mark in MARKS for what in ("frame", "time")))
    marks = [(opened, "first_frame", "start"), *((said, f"{mark}_frame", f"{mark}_time") for mark in MARKS)]
    for table, *names in marks:
        frames, times = (columns.column(table, name) for name in names)
        reached = (frames.ints(-1) >= frame) & times.is_valid()
        later = min(later, int(times.values[reached].min(initial=OPEN[1])))
    return later


def exchanges_in(recording: Recording, window: Window) -> Bools:
    """Which exchanges begin in the window; raises `NothingSelected` where none does."""
    table = recording.exchange_columns("request_frame", "response_frame")
    frames = [columns.column(table, f"{mark}_frame").ints(-1) for mark in ("request", "response")]
    begins = begins_of(recording)
    found = window.holds(begins, np.where(frames[0] >= 0, frames[0], frames[1]))
    if not found.any():
        raise NothingSelected(_none_begins(recording, begins, window))
    return found


def begins_of(recording: Recording) -> Ints:
    """When each exchange begins, in ns since 1970; one that was not captured at all when the one before it does."""
    table = recording.exchange_columns("stream", "request_time", "response_time")
    connections = recording.all_connections_table
    asked, answered = (columns.column(table, f"{mark}_time").ints(MISSING) for mark in ("request", "response"))
    begins = np.where(asked == MISSING, answered, asked)
    stream = columns.column(table, "stream").values.astype(np.int64)
    opened = np.zeros(int(stream.max(initial=0)) + 1, np.int64)
    known = columns.column(connections, "stream").values.astype(np.int64)
    within = known < len(opened)
    opened[known[within]] = columns.column(connections, "start").values[within]
    begins = np.where((begins == MISSING) & (np.diff(stream, prepend=-1) != 0), opened[stream], begins)
    last_known = np.maximum.accumulate(np.where(begins == MISSING, 0, np.arange(len(begins))))
    return begins[last_known]


def _none_begins(recording: Recording, begins: Ints, window: Window) -> str:
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
