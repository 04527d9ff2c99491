"""Exchanges in groups: rows ordered by group, and sums over each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.evidence import group_ids
from latpcap.tables.columns import Bools, Floats, Ints

__all__ = ["MAX_STATEMENTS", "Groups", "most_frequent"]


MAX_STATEMENTS = 50
"""Statements that a pattern reports: the work for each goes over the whole recording."""


def most_frequent(statements: Ints) -> list[int]:
    """The numbers that occur most often, in ascending order.

    >>> most_frequent(np.array([7, 3, 7]))
    [3, 7]
    """
    numbers, counts = np.unique(statements, return_counts=True)
    kept = numbers[np.argsort(-counts, kind="stable")[:MAX_STATEMENTS]]
    return sorted(map(int, kept))


@dataclass(frozen=True, slots=True)
class Groups:
    """`rows` ordered by group and, within one, as they came; `ids` numbers the groups from 0 without holes."""

    rows: Ints
    ids: Ints

    @classmethod
    def of(cls, rows: Ints, *keys: NDArray[np.generic]) -> Groups:
        """Group `rows` by their `keys`.

        >>> groups = Groups.of(np.array([4, 5, 6]), np.array([1, 0, 1]))
        >>> groups.rows.tolist(), groups.ids.tolist(), groups.sizes.tolist(), groups.firsts.tolist()
        ([5, 4, 6], [0, 1, 1], [1, 2], [5, 4])
        """
        ids = group_ids(*keys) if len(rows) else np.empty(0, np.int64)
        order = np.argsort(ids, kind="stable")
        return cls(rows[order], ids[order])

    def __len__(self) -> int:
        return int(self.ids[-1]) + 1 if len(self.ids) else 0

    @property
    def sizes(self) -> Ints:
        """How many rows each group has."""
        sizes: Ints = np.bincount(self.ids, minlength=len(self)).astype(np.int64)
        return sizes

    @property
    def starts(self) -> Ints:
        """Where each group begins in `rows`."""
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(self.sizes)))[: len(self)]

    @property
    def firsts(self) -> Ints:
        """The first row of each group."""
        return self.rows[self.starts]

    @property
    def lasts(self) -> Ints:
        """The last row of each group."""
        lasts: Ints = self.rows[self.starts + self.sizes - 1]
        return lasts

    @property
    def places(self) -> Ints:
        """The place of each row within its group, from 0."""
        return np.arange(len(self.rows)) - self.starts[self.ids] if len(self.ids) else np.empty(0, np.int64)

    def sum(self, values: NDArray[np.generic]) -> Floats:
        """The sum over each group of `values`, one for each of `rows`."""
        return np.bincount(self.ids, values, len(self)).astype(float)

    def where(self, wanted: Bools) -> Groups:
        """The groups that are `wanted`, numbered anew."""
        keep = wanted[self.ids] if len(self.ids) else np.empty(0, bool)
        numbers = np.cumsum(wanted) - 1
        return Groups(self.rows[keep], numbers[self.ids[keep]])
