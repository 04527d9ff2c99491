"""Order statistics per group, for millions of rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints


class GroupedValues(Struct, frozen=True):
    """The values of each group in ascending order: group g is `values[starts[g] : starts[g + 1]]`."""

    values: Ints
    starts: Ints

    @classmethod
    def of(
        cls, groups: NDArray[np.signedinteger[Any]], values: Ints, count: int, usable: Bools | None = None
    ) -> GroupedValues:
        """Sort `values`, or those `usable`, within their groups, numbered from 0 to `count` - 1."""
        return cls(*passes.ascending(groups, values, count, usable))

    @property
    def counts(self) -> Ints:
        """How many values each group has."""
        return self.starts[1:] - self.starts[:-1]

    def quantile(self, fraction: float) -> Floats:
        """The nearest-rank quantile per group (a value that was really measured); NaN for an empty group."""
        return passes.quantile(self.values, self.starts, fraction)

    def mean(self) -> Floats:
        """The mean per group; NaN for an empty group."""
        return self._means(self.values)

    def deviation(self) -> Floats:
        """The standard deviation of each group as a population; NaN for an empty group."""
        return np.sqrt(self._means((self.values - np.repeat(self.mean(), self.counts)) ** 2))

    def _means(self, values: NDArray[Any]) -> Floats:
        counts = self.counts
        means = np.full(len(counts), np.nan)
        filled = counts > 0
        means[filled] = np.add.reduceat(values, self.starts[:-1][filled], dtype=float) / counts[filled]
        return means


def quantiles(values: Ints | Floats, fractions: Sequence[float]) -> list[float]:
    """The nearest-rank quantiles of all values as one group; NaN where there are none.

    >>> quantiles(np.array([30, 10, 20]), [0.0, 0.5, 1.0])
    [10.0, 20.0, 30.0]
    """
    if len(values) == 0:
        return [np.nan] * len(fractions)
    ranks = [max(ceil(len(values) * fraction) - 1, 0) for fraction in fractions]
    ordered = np.partition(values, ranks)
    return [float(ordered[rank]) for rank in ranks]
