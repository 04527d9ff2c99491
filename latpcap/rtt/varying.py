"""A path whose RTT varies (jitter), told from measurements that a host delayed.

A busy host makes waits longer, never shorter: they have a tail on one side. Jitter makes them shorter than the typical
one as well, so they spread about evenly to both sides, and handshake and acknowledgments lie somewhere within.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.rtt.measured import MIN_FOR_DENSITY, SEVERAL
from latpcap.tables.columnar.columns import Bools, Floats
from latpcap.tables.columnar.quantiles import GroupedValues

PLAIN_NS = 200_000
"""Measurements must lie this much above the fastest response, more than hosts delay them."""
PART = 0.2
"""And this part of the way to the typical response."""
EVEN = 2.0
"""Nine of ten responses lie at most this many times as far above the typical one as below it."""
SMOOTH = 0.25
"""A quarter of them lies at least this part of that below it: no few fast ones beside many alike."""
OUTLIER = 3.0
"""The fastest is at most this many times as far below the typical one as a tenth of them: no outlier."""
BELOW = 1.0
"""How far the measurements may lie below the fastest response, in distances of this and the typical one."""
DIFFER = 0.5
"""From several measurements on, the least and the most of them are apart by this part of the responses' deviation."""
QUARTILE = 0.674
"""The quarter of a normal distribution lies so many deviations below its middle."""
ERRORS = 2.0
"""The range: two standard errors to each side."""


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
    is_so &= mean - fastest >= np.maximum(PLAIN_NS + step_ns, PART * reach)
    late = responses.quantile(0.9)
    is_so &= late - middle <= EVEN * tenth
    is_so &= reach <= OUTLIER * tenth
    is_so &= (most <= late) & (least >= np.maximum(fastest - BELOW * reach, fastest / 2))
    lower, upper = middle - responses.quantile(0.25), responses.quantile(0.75) - middle
    is_so &= lower >= SMOOTH * tenth
    deviation = np.maximum(lower, (lower + upper) / 2) / QUARTILE
    is_so &= (count < SEVERAL) | (most - least >= DIFFER * deviation)
    error = deviation / np.sqrt(count)
    value = np.minimum(middle, mean + error)
    low = np.maximum(np.minimum(mean, value) - ERRORS * error, fastest)
    high = middle + ERRORS * deviation / np.sqrt(np.maximum(responses.counts, 1))
    return Varying(is_so, value, low, high)


def _sum(values: GroupedValues) -> Floats:
    return np.nan_to_num(values.mean()) * values.counts
