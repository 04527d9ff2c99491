"""The one place where a `Selection` is applied: between the core's recording and everything that reads it.

Who is chosen and when is decided here, in names and moments; which rows that are, the core knows
(`core/src/recording/selected.rs`). The RTT of a window is estimated from the recording that it is part of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latpcap.errors import NothingSelected
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints, NullableArray
from latpcap.tables.columnar.times import iso
from latpcap.tables.part.matching import ConnectionNames
from latpcap.tables.part.selection import Selected, Selection
from latpcap.tables.part.window import Window, none_begins, reach, utc_span, window
from latpcap.tables.recording import Recording
from latpcap.units import counted


def select(recording: Recording, selection: Selection) -> Recording:
    """Return the selected part of `recording`; raises `NothingSelected` where there is none.

    A recording without database traffic stays as it is: that is what is to be said of it.
    """
    if not selection:
        return recording
    known = recording.without_rows
    if len(known.database_rows) == 0:
        return recording
    asked = ConnectionNames(known)
    part = _part(recording, asked, selection)
    then = window(part, selection)
    found = part if then is None else part.part(_within(part, then), part.whole or part)
    found.selected = _selected(asked, selection, found)
    return found


def only(recording: Recording, streams: Ints) -> Recording:
    """The recording with these connections alone, of what was selected."""
    whole = None if recording.whole is None else only(recording.whole, streams)
    part = recording.part(recording.reading_only(streams).read.select(streams), whole)
    part.selected = recording.selected
    return part


def _part(recording: Recording, asked: ConnectionNames, selection: Selection) -> Recording:
    """The recording with the chosen connections alone, and so the one that it is a window of."""
    streams = columns.column(asked.recording.all_connections_table, "stream").values.astype(np.int64)
    chosen = streams[asked.chosen(selection)]
    read, period = recording.reading_only(chosen).read.select(chosen), recording.period
    if recording.whole is None or period is None:
        return recording.part(read)
    whole = _part(recording.whole, ConnectionNames(recording.whole), selection)
    begins, ends = reach(whole)
    return recording.part(read.during(max(begins, period[0]), min(ends, period[1])), whole)


def _within(recording: Recording, window: Window) -> Any:
    """The core's recording of a window; raises `NothingSelected` where no exchange begins in it."""
    found = recording.read.within(window.first, window.last, window.period)
    if found is None:
        raise NothingSelected(none_begins(recording, window))
    return found


def _selected(asked: ConnectionNames, selection: Selection, found: Recording) -> Selected:
    """Describe the selection."""
    recording, before = asked.recording, asked.recording.selected
    conditions = [*(before.conditions if before else ()), *map(asked.words, selection.conditions)]
    conditions += [f"{word} {edge}" for word, edge in (("from", selection.start), ("to", selection.end)) if edge]
    connections, exchanges, period = len(found.database_rows), found.exchange_count, found.period
    total_connections = before.total_connections if before else len(recording.database_rows)
    total_exchanges = before.total_exchanges if before else recording.exchange_count
    start, end = (None, None) if period is None else iso(NullableArray(np.array(period)))
    when = "" if period is None else f", {utc_span(*period)}"
    part = f"{connections:,} of {counted(total_connections, 'connection')}"
    part += f", {exchanges:,} of {counted(total_exchanges, 'exchange')}"
    return Selected(
        conditions=tuple(conditions),
        start=start,
        end=end,
        connections=connections,
        total_connections=total_connections,
        exchanges=exchanges,
        total_exchanges=total_exchanges,
        part=part,
        text=f"{'; '.join(conditions)}: {part}{when}",
    )
