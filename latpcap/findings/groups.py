"""Exchanges in groups: rows ordered by group, and sums over each."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.columnar.scratch import build_column, spill, zeros

MAX_STATEMENTS = 50
"""Statements that a pattern reports."""


def commonest(numbers: Ints) -> int:
    """The number that occurs most often, of several that do so the one that comes first.

    >>> commonest(np.array([5, 7, 3, 7, 3]))
    7
    """
    distinct, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    return int(distinct[np.lexsort((first, -counts))[0]])


def most_frequent(statements: Ints) -> list[int]:
    """The numbers that occur most often, in ascending order.

    >>> most_frequent(np.array([7, 3, 7]))
    [3, 7]
    """
    numbers, counts = passes.counted(statements)
    kept = numbers[np.argsort(-counts, kind="stable")[:MAX_STATEMENTS]]
    return sorted(map(int, kept))


class Groups(Struct, frozen=True):
    """`rows` ordered by group and, within one, as they came; the groups are numbered from 0 without holes."""

    rows: Ints
    starts: Ints
    """The start of each group in `rows`; at last, the end of the last one."""

    @classmethod
    def of(cls, rows: Ints, *keys: NDArray[np.generic]) -> Groups:
        """Group `rows` by their `keys`.

        >>> groups = Groups.of(np.array([4, 5, 6]), np.array([1, 0, 1]))
        >>> groups.rows.tolist(), groups.ids.tolist(), groups.sizes.tolist(), groups.firsts.tolist()
        ([5, 4, 6], [0, 1, 1], [1, 2], [5, 4])
        """
        order, starts = passes.grouped(*keys)
        return cls(build_column(order, len(order), rows.dtype, lambda part: rows[order[part]]), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def ids(self) -> Ints:
        """The group of each of `rows`."""
        return spill(self.rows, np.repeat(np.arange(len(self)), self.sizes))

    @property
    def sizes(self) -> Ints:
        """How many rows each group has."""
        return np.diff(self.starts)

    @property
    def firsts(self) -> Ints:
        """The first row of each group."""
        return self.rows[self.starts[:-1]]

    @property
    def lasts(self) -> Ints:
        """The last row of each group."""
        return self.rows[self.starts[1:] - 1]

    @property
    def places(self) -> Ints:
        """The place of each row within its group, from 0."""
        return np.arange(len(self.rows)) - np.repeat(self.starts[:-1], self.sizes)

    def sum(self, values: NDArray[np.generic]) -> Ints:
        """The sum over each group of `values`, one for each of `rows`."""
        return np.add.reduceat(values, self.starts[:-1], dtype=np.int64) if len(self) else self.starts[:0]

    def distinct(self, numbers: Ints) -> Ints:
        """How many different `numbers` (as `passes.first_alike` gives), one for each of `rows`, each group has."""
        return passes.distinct(numbers, self.starts)

    def holding(self, rows: Ints, count: int) -> Ints:
        """The group that each of some `rows` is in, of `count` in all; 0 for one that is in none."""
        of_all = zeros(rows, count, np.int64)
        of_all[self.rows] = self.ids
        found: Ints = of_all[rows]
        return found

    def before(self, of: Ints, rows: Ints) -> Ints:
        """How many rows of the group `of` each of some `rows` come before it."""
        size = int(max(self.rows.max(initial=0), rows.max(initial=0))) + 2
        found: Ints = np.searchsorted(self.ids * size + self.rows, of * size + rows) - self.starts[of]
        return found

    def where(self, wanted: Bools) -> Groups:
        """The groups that are `wanted`, numbered anew."""
        if wanted.all():
            return self
        keep = np.repeat(wanted, self.sizes)
        return Groups(self.rows[keep], np.concatenate(([0], np.cumsum(self.sizes[wanted]))))
