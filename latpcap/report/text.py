"""Text that is safe to print: nothing that a capture contains can steer a terminal; and how figures are written."""

from __future__ import annotations

from latpcap.units import significant

TOP = 10
"""Rows of a long list that a report for people shows."""

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


def number(value: float | None) -> str:
    """Return a figure of a column with three decimals, or three digits where these would deny it; nothing for none.

    >>> [number(value) for value in (1234.5, 1.0767, 0.0124, 0.000456, 0.0, None)]
    ['1,234', '1.077', '0.0124', '0.000456', '0.000', '']
    """
    if value is None:
        return ""
    if 0 < value < 0.0995:
        return significant(value)
    return f"{value:,.0f}" if value >= 1000 else f"{value:,.3f}"


def ms(value: float | None) -> str:
    """Return milliseconds with microseconds; nothing for none."""
    return "" if value is None else f"{value:,.3f}"


def between(low: float | None, high: float | None) -> str:
    """Return a range; nothing where it is not known."""
    return "" if low is None or high is None else f"{significant(low)} to {significant(high)}"


def top(title: str, count: int, most: int = TOP) -> str:
    """Return the heading of a list of which `most` rows are shown."""
    return f"{title} (top {most} of {count:,})" if count > most else f"{title} ({count:,})"
