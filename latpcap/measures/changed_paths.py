"""Sentences about paths whose RTT changed while they were captured."""

from __future__ import annotations

import numpy as np

from latpcap.rtt import Estimate
from latpcap.tables.columnar import passes
from latpcap.tables.recording import Recording
from latpcap.units import significant

DAY_S = 86_400.0


def changed_paths(recording: Recording, rtt: Estimate) -> str:
    """One sentence without a full stop, of the first path that changed, and how many others did; empty for none."""
    changes = rtt.phases.changes
    if not len(changes):
        return ""
    path = int(changes.path[0])
    first, end = (int(changes.first[number]) for number in (path, path + 1))
    levels = [significant(value / 1e6) for value in rtt.of_periods.baseline[first:end]]
    moments = [_at(recording, int(time)) for time in changes.time[changes.path == path]]
    steps = [f"to {level} ms at {moment}" for level, moment in zip(levels[1:], moments, strict=True)]
    which = "path" if len(rtt.paths) == 1 else f"path {rtt.paths.client[path]} → {rtt.paths.server[path]}"
    others = len(passes.occurring(changes.path)) - 1
    more = "" if not others else f"; {others:,} other path{'' if others == 1 else 's'} changed, too"
    return f"the RTT of the {which} changed from {levels[0]} {', then '.join(steps)} UTC{more}"


def _at(recording: Recording, time: int) -> str:
    """The time of day; with the date where the recording is longer than a day."""
    text = str(np.datetime_as_string(np.datetime64(recording.start_ns + time, "ns"), unit="s"))
    return text.replace("T", " ") if recording.runtime_s > DAY_S else text.partition("T")[2]
