"""Text that is safe to print: nothing that a capture contains can steer a terminal; and how figures are written."""

from __future__ import annotations

import math
from collections.abc import Iterable

from latpcap.units import significant

MAX_LIST_ROWS = 10
"""Rows of a long list in a report for people."""
DECIMALS = 3
"""A figure of a column has no more of them unless the largest one of the column is below 0.1."""
MAX_DECIMALS = 9
"""A figure in seconds has no more: these are nanoseconds."""

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029]
_STEERING = [0x200B, 0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF]  # or hiding
_SAFE = dict.fromkeys(_CONTROLS, " ") | dict.fromkeys(_STEERING, "\N{REPLACEMENT CHARACTER}")
_BLOCKS = dict(zip("▁▂▃▄▅▆▇█", "_.-:=+*#", strict=True))
_ASCII = str.maketrans(
    _BLOCKS
    | {
        "µ": "u",
        "…": "...",
        "→": "->",
        "×": "x",
        "÷": "/",
        "−": "-",
        "≤": "<=",
        "─": "-",
        "━": "-",
    }
)


def printable(text: str | None) -> str:
    r"""Return `text` on one line, without control characters and without those that turn the writing direction.

    >>> printable("select 1\n\x1b[31m")
    'select 1  [31m'
    """
    if not text or text.isprintable():  # a look-up of each character takes a hundred times as long
        return text or ""
    return text.translate(_SAFE)


def ascii_only(text: str) -> str:
    """Return `text` for a terminal that knows ASCII only.

    >>> ascii_only("−42 µs … é")
    '-42 us ... ?'
    """
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def number(value: float | None, decimals: int = DECIMALS) -> str:
    """Return a figure of a column with three digits, and no more than `decimals`; nothing for none.

    >>> [number(value) for value in (1234.6, 152.4, 1.0767, 0.0124, 0.000456, -0.0004, 0.0, None)]
    ['1,235', '152', '1.08', '0.012', '<0.001', '-0.000', '0', '']
    >>> number(0.000456, decimals_of([0.00331, 0.000456]))
    '0.00046'
    """
    if value is None or value == 0:
        return "" if value is None else "0"
    shown = min(_decimals(value), decimals)
    least = 10.0**-shown
    return f"<{least:.{shown}f}" if 0 < value < least / 2 else f"{value:,.{shown}f}"


def decimals_of(values: Iterable[float]) -> int:
    """Return how many decimals a column has at most: what is far below its largest figure does not matter.

    >>> [decimals_of(values) for values in ([1.28, 0.0004], [0.0331], [0.00331, 0.0002], [])]
    [3, 4, 5, 3]
    """
    largest = max(map(abs, values), default=0.0)
    return max(DECIMALS, _decimals(largest)) if largest else DECIMALS


def _decimals(value: float) -> int:
    """Return the decimals of three significant digits, down to nanoseconds in seconds."""
    return min(max(2 - int(f"{value:.2e}".partition("e")[2]), 0), MAX_DECIMALS) if math.isfinite(value) else 0


def between(low: float | None, high: float | None) -> str:
    """Return a range; nothing where it is not known."""
    return "" if low is None or high is None else f"{significant(low)} to {significant(high)}"


def top(title: str, count: int, most: int = MAX_LIST_ROWS) -> str:
    """Return the heading of a list of which `most` rows are shown."""
    return f"{title} (top {most} of {count:,})" if count > most else f"{title} ({count:,})"
