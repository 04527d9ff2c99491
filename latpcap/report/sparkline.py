"""Figures as a line of blocks: how high each is beside the highest."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["sparkline"]

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None]) -> str:
    """Return a block for each value, from none (a space) and 0 to the highest.

    >>> sparkline([0, 5.0, None, 5.1, 20])
    '▁▃ ▃█'
    """
    highest = max((value for value in values if value is not None), default=0.0)
    return "".join(" " if value is None else BLOCKS[_height(value, highest)] for value in values).rstrip()


def _height(value: float, highest: float) -> int:
    return min(round(value / highest * (len(BLOCKS) - 1)), len(BLOCKS) - 1) if highest > 0 else 0
