"""The job of a recording: all that is known of its time comes from the core."""

from __future__ import annotations

from latpcap import _core
from latpcap.rtt import Estimate
from latpcap.tables.recording import Recording


def recorded_job(recording: Recording, rtt: Estimate) -> _core.Job:
    """The captured job, as the core divides and replays it."""
    whole = None if recording.whole is None else recording.whole.read
    return _core.Job(recording.core, rtt.core, whole=whole, scarce=recording.scratch is not None)
