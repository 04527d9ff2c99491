"""A path whose RTT varies (jitter), told from measurements that a host delayed.

A busy host makes waits longer, never shorter: they have a tail on one side. Jitter makes them shorter than the typical
one as well, so they spread about evenly to both sides, and handshake and acknowledgments lie somewhere within.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.rtt.old.measurements import MIN_CONSISTENT, MIN_FOR_DENSITY
from latpcap.tables.columnar.columns import Bools, Floats
from latpcap.tables.columnar.quantiles import GroupedValues

MIN_EXCESS_NS = 200_000
"""Measurements lie at least this much above the fastest response, more than hosts delay them."""
MIN_EXCESS_SHARE = 0.2
"""Measurements lie above the fastest response by at least this share of its distance to the typical one."""
MAX_SKEW = 2.0
"""Nine of ten responses lie at most this many times as far above the typical one as below it."""
MIN_QUARTER_SHARE = 0.25
"""A quarter of the responses lies at least this share of that distance below the typical one: fast ones are no
exception."""
MAX_TAIL_RATIO = 3.0
"""The fastest response is at most this many times as far below the typical one as a tenth of them."""
MAX_SHORTFALL = 1.0
"""Measurements lie below the fastest response by at most this multiple of its distance to the typical one."""
MIN_DEVIATIONS = 0.5
"""Several measurements differ by at least this share of the responses' deviation."""
NORMAL_QUARTILE = 0.674
"""The quartile of a normal distribution lies this many deviations from its middle."""
RANGE_STANDARD_ERRORS = 2.0
"""The range reaches this many standard errors to each side."""


class Varying(Struct, frozen=True):
    """Which groups vary, and what is known of the typical RTT of those; of the others it means nothing."""

    is_so: Bools
    value: Floats
    low: Floats
    high: Floats


def varying(handshakes: GroupedValues, acks: GroupedValues, responses: GroupedValues, step_ns: int) -> Varying:
    """Judge whether measurements vary, beside the waits for the responses.

    The typical response is the typical RTT and some service; the mean of the measurements has no service in it, but
    they are few. So the typical response counts, as far as they bear it out.
    """
    least = np.fmin(handshakes.quantile(0), acks.quantile(0))
    most = np.fmax(handshakes.quantile(1), acks.quantile(1))
    count = np.maximum(handshakes.counts + acks.counts, 1)
    mean = (_sum(handshakes) + _sum(acks)) / count
    middle, fastest = responses.quantile(0.5), responses.quantile(0)
    reach = middle - fastest
    tenth = middle - responses.quantile(0.1)
    is_so = responses.counts >= MIN_FOR_DENSITY
    is_so &= mean - fastest >= np.maximum(MIN_EXCESS_NS + step_ns, MIN_EXCESS_SHARE * reach)
    late = responses.quantile(0.9)
    is_so &= late - middle <= MAX_SKEW * tenth
    is_so &= reach <= MAX_TAIL_RATIO * tenth
    is_so &= (most <= late) & (least >= np.maximum(fastest - MAX_SHORTFALL * reach, fastest / 2))
    lower, upper = middle - responses.quantile(0.25), responses.quantile(0.75) - middle
    is_so &= lower >= MIN_QUARTER_SHARE * tenth
    deviation = np.maximum(lower, (lower + upper) / 2) / NORMAL_QUARTILE
    is_so &= (count < MIN_CONSISTENT) | (most - least >= MIN_DEVIATIONS * deviation)
    error = deviation / np.sqrt(count)
    value = np.minimum(middle, mean + error)
    low = np.maximum(np.minimum(mean, value) - RANGE_STANDARD_ERRORS * error, fastest)
    high = middle + RANGE_STANDARD_ERRORS * deviation / np.sqrt(np.maximum(responses.counts, 1))
    return Varying(is_so, value, low, high)


def _sum(values: GroupedValues) -> Floats:
    return np.nan_to_num(values.mean()) * values.counts
