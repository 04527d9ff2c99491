"""Columns of a result that are made of others: a recording may have a million connections or statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.tables.columnar.values import Fractions, Rows

__all__ = ["quantiles_of", "ratios"]


def ratios(totals: NDArray[Any], divisors: NDArray[Any]) -> Fractions:
    """Each total for one of its divisor; `None` where there is none.

    >>> list(ratios(np.array([30, 30]), np.array([10, 0])))
    [3.0, None]
    """
    found = np.full(len(totals), np.nan)
    np.divide(totals, divisors, out=found, where=np.asarray(divisors) > 0)
    return Fractions(found)


def quantiles_of(times: Mapping[str, NDArray[np.float64]]) -> Rows[dict[str, float | None]]:
    """Each row as an object: a time by the name of its column."""
    return Rows({name: Fractions(values) for name, values in times.items()}, dict)
