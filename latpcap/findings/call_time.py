"""The driver's own time for a call: what goes with a call that a fix removes, beside its wait and its service.

The gap before a call holds that time and whatever the application does. Only a low quantile of the gaps before calls of
one kind is the driver's, and no more than a few times of what the capture shows before other calls; a gap that is much
longer is the application's work, and nothing of it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar.columns import Floats, Ints

if TYPE_CHECKING:
    from latpcap.findings.evidence import Evidence

LOW_QUANTILE = 0.5
"""Of the gaps before calls of one kind, the part in which the application did nothing."""
LOGIN_QUANTILE = 0.9
"""Of the gaps within logins, those that are no pause of the host."""
MAX_OTHERS_RATIO = 2.0
"""A call takes its driver at most so many times as long as other calls of the capture."""
MIN_OTHERS = 3
"""Gaps before other calls that show what a call takes the driver."""
MAX_ALONE_NS = 0.5e6
"""The driver's time for a call, where the capture shows no other calls."""
MAX_DRIVER_NS = 2e6
"""No driver or object mapper takes longer for a call, whatever all gaps of a capture show."""
MIN_WORK_RATIO = 4.0
"""A gap of so many times the driver's time is the application's work."""
MIN_WORK_NS = 1e6
"""A shorter gap may be the driver's in any case: hosts wake up."""
MAX_SAMPLES = 20_000
"""Gaps that are looked at, evenly spaced."""


class CallTime(Struct, frozen=True):
    """The client's time for one call of a kind, in ns."""

    driver_ns: float = 0.0
    work_ns: float = 0.0
    """A longer gap is the application's work."""


def call_time(evidence: Evidence, rows: Ints) -> CallTime:
    """The driver's time for calls like `rows`, from the gaps before them and before other calls."""
    own_ns = _gaps_ns(evidence, rows)
    if not len(own_ns):
        return CallTime()
    others_ns = _gaps_of_others_ns(evidence, rows)
    most_ns = MAX_OTHERS_RATIO * np.quantile(others_ns, LOW_QUANTILE) if len(others_ns) >= MIN_OTHERS else MAX_ALONE_NS
    return _call_time(min(float(np.quantile(own_ns, LOW_QUANTILE)), float(most_ns), MAX_DRIVER_NS))


def login_time(evidence: Evidence, rows: Ints) -> CallTime:
    """The client's time for each of these exchanges that open connections: a login does nothing else meanwhile."""
    gaps_ns = _gaps_ns(evidence, rows[evidence.exchanges.is_setup[rows]])
    return _call_time(float(np.quantile(gaps_ns, LOGIN_QUANTILE))) if len(gaps_ns) else CallTime()


def _call_time(driver_ns: float) -> CallTime:
    return CallTime(driver_ns, max(MIN_WORK_RATIO * driver_ns, MIN_WORK_NS))


def _gaps_of_others_ns(evidence: Evidence, rows: Ints) -> Floats:
    """The gaps before other calls that wait."""
    waiting = _sampled(np.flatnonzero(evidence.waits))
    return _gaps_ns(evidence, waiting[~np.isin(waiting, rows)])


def _gaps_ns(evidence: Evidence, rows: Ints) -> Floats:
    """The client's time before these exchanges, where it is known."""
    gaps_ns = evidence.gap_ns[_sampled(rows)]
    return gaps_ns[~np.isnan(gaps_ns)]


def _sampled(rows: Ints) -> Ints:
    return rows[:: len(rows) // MAX_SAMPLES + 1]
