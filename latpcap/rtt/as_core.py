"""TEMPORARY: what other branches call until the merge."""

from __future__ import annotations

from latpcap import _core
from latpcap.rtt.estimate import Estimate
from latpcap.tables.recording import Recording


def as_core(recording: Recording, rtt: Estimate) -> _core.Rtts:
    """`rtt.core`."""
    return rtt.core
