"""The driver's own time for a call: what goes with a call that a fix removes, beside its wait and its service.

The gap before a call holds that time and whatever the application does. Only the median of the gaps before calls of one
kind is the driver's, and no more than a few times what the capture shows before other calls; a gap that is much longer
is the application's work, and nothing of it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Floats, Ints

if TYPE_CHECKING:
    from latpcap.findings.evidence import Evidence

OWN_QUANTILE = 0.5
"""The quantile of the gaps before calls of one kind that counts as the driver's time."""
OTHERS_QUANTILE = 0.25
"""The quantile of the gaps before other calls; the application works before some of them."""
LOGIN_QUANTILE = 0.9
"""The quantile of the gaps within logins; longer ones are pauses of the host."""
MAX_OTHERS_RATIO = 2.0
"""A call takes its driver at most so many times as long as other calls of the capture."""
MIN_OTHERS = 3
"""Gaps before other calls that show what a call takes the driver."""
MAX_ALONE_NS = 0.15e6
"""The driver's time for a call, where the capture shows too few others."""
MAX_DRIVER_NS = 2e6
"""No driver or object mapper takes longer for a call, whatever all gaps of a capture show."""
MAX_DRIVER_RATIO = 2.0
"""A call takes its driver at most so many times as long as is likely."""
MIN_WORK_RATIO = 4.0
"""A gap of so many times the driver's time is the application's work."""
MIN_WORK_NS = 1e6
"""A shorter gap may be the driver's in any case: hosts wake up."""
MAX_SAMPLES = 20_000
"""Gaps that are looked at."""
SAMPLE_STRIDE = 2_654_435_761
"""A prime, so that samples fall on all statements of a loop alike."""


class CallTime(Struct, frozen=True):
    """The client's time for one call of a kind, in ns."""

    driver_ns: float = 0.0
    most_ns: float = 0.0
    """Upper bound of it: the whole gap, if a driver or an object mapper can take that long."""
    work_ns: float = 0.0
    """A longer gap is the application's work."""


def call_time(evidence: Evidence, rows: Ints) -> CallTime:
    """The driver's time for calls like `rows`, from the gaps before them and before other calls."""
    own_ns = _gaps_ns(evidence, rows)
    if not len(own_ns):
        return CallTime()
    others_ns = _gaps_of_others_ns(evidence, rows)
    others_ns = others_ns[others_ns <= MAX_DRIVER_NS]
    few = len(others_ns) < MIN_OTHERS
    most_ns = MAX_ALONE_NS if few else MAX_OTHERS_RATIO * _quantile(others_ns, OTHERS_QUANTILE)
    own = _quantile(own_ns, OWN_QUANTILE)
    return _call_time(min(own, most_ns, MAX_DRIVER_NS), own if own <= MAX_DRIVER_NS else 0.0)


def login_time(evidence: Evidence, rows: Ints) -> CallTime:
    """The client's time for each of these exchanges that open connections: a login does nothing else meanwhile."""
    gaps_ns = _gaps_ns(evidence, rows[evidence.exchanges.is_setup[rows]])
    return _call_time(_quantile(gaps_ns, LOGIN_QUANTILE)) if len(gaps_ns) else CallTime()


def _call_time(driver_ns: float, all_ns: float = 0.0) -> CallTime:
    return CallTime(driver_ns, max(MAX_DRIVER_RATIO * driver_ns, all_ns), max(MIN_WORK_RATIO * driver_ns, MIN_WORK_NS))


def _quantile(gaps_ns: Floats, fraction: float) -> float:
    """The quantile of some gaps; numpy's own loads its masked arrays, which takes long for a small capture."""
    return float(passes.quantile(np.sort(gaps_ns).astype(np.int64), np.array([0, len(gaps_ns)]), fraction)[0])


def _gaps_of_others_ns(evidence: Evidence, rows: Ints) -> Floats:
    """The gaps before other calls that wait."""
    others = evidence.waits.copy()
    others[rows] = False
    return _gaps_ns(evidence, np.flatnonzero(others))


def _gaps_ns(evidence: Evidence, rows: Ints) -> Floats:
    """The client's time before these exchanges, where it is known."""
    gaps_ns = evidence.gap_ns[_sampled(rows)]
    return gaps_ns[~np.isnan(gaps_ns)]


def _sampled(rows: Ints) -> Ints:
    """Pick at most `MAX_SAMPLES` rows, from every statement of a loop equally often."""
    if len(rows) <= MAX_SAMPLES:
        return rows
    return rows[np.arange(MAX_SAMPLES) * SAMPLE_STRIDE % len(rows)]
