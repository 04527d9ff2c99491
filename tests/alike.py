"""Is what was stored still what is shown? A number with a decimal point was computed, and may differ a little."""

from __future__ import annotations

import re

TOLERANCE = 0.002
"""Of a computed number: replays add in another order on another machine."""
COMPUTED = re.compile(r"\d+\.\d+(?:e-?\d+)?")


def alike(stored: str, shown: str) -> bool:
    """True where both say the same; a number may also differ by one in its last digit.

    >>> alike("0.533 s", "0.534 s"), alike("0.53 s", "0.55 s"), alike("3 trips", "4 trips")
    (True, False, False)
    """
    if COMPUTED.sub("", stored) != COMPUTED.sub("", shown):
        return False
    pairs = zip(COMPUTED.findall(stored), COMPUTED.findall(shown), strict=True)
    return all(abs(float(old) - float(new)) <= _may_differ(old) for old, new in pairs)


def _may_differ(number: str) -> float:
    mantissa, _, power = number.partition("e")
    last = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
    return max(1.01 * last, TOLERANCE * float(number))
