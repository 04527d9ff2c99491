"""Columns as lists of what JSON holds, all rows at once: a recording may have a million connections or statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["finite_all", "objects", "quotients", "ratios"]


def finite_all(values: NDArray[Any]) -> list[float | None]:
    """Each value, `None` where it is none or without end.

    >>> finite_all(np.array([1.5, np.nan, np.inf]))
    [1.5, None, None]
    """
    listed: list[float | None] = values.astype(float, copy=False).tolist()
    for row in np.flatnonzero(~np.isfinite(values)).tolist():
        listed[row] = None
    return listed


def ratios(totals: NDArray[Any], divisors: NDArray[Any]) -> list[float | None]:
    """Each total for one of its divisor; `None` where there is none.

    >>> ratios(np.array([30, 30]), np.array([10, 0]))
    [3.0, None]
    """
    return finite_all(quotients(totals, divisors))


def quotients(totals: NDArray[Any], divisors: NDArray[Any]) -> NDArray[np.float64]:
    """The same as a column; NaN where there is none."""
    found = np.full(len(totals), np.nan)
    np.divide(totals, divisors, out=found, where=np.asarray(divisors) > 0)
    return found


def objects(columns: Mapping[str, NDArray[Any]]) -> Iterator[dict[str, float | None]]:
    """Each row as an object: a value by the name of its column."""
    names = tuple(columns)
    values = (finite_all(column) for column in columns.values())
    return (dict(zip(names, row, strict=True)) for row in zip(*values, strict=True))
