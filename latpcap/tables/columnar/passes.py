"""Passes of the core over whole columns: `core/src/passes/`. Columns are numpy arrays of any integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap import _core
from latpcap.tables.columnar import scratch
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.scratch import spill

Integers = NDArray[Any]

PIECE_ROWS = 1 << 16
"""This many rows of many columns fit the processor's cache."""


def pieces(count: int) -> Iterator[slice]:
    """`count` rows piece by piece: what is made on the way from columns to a column is never as large as they are.

    >>> list(pieces(70_000))
    [slice(0, 65536, None), slice(65536, 70000, None)]
    """
    return scratch.pieces(count, PIECE_ROWS)


def ordered(*keys: Integers) -> Ints:
    """The rows in the order of their `keys`, the first key first; equal ones stay in their order.

    >>> ordered(np.array([1, 0, 1, 0])).tolist()
    [1, 3, 0, 2]
    """
    return spill(keys[0], _core.ordered([_ints(key) for key in keys]))


def grouped(*keys: Integers) -> tuple[Ints, Ints]:
    """The rows with equal `keys` together, groups in the order of their keys; and where each begins, and the last ends.

    >>> [each.tolist() for each in grouped(np.array([7, 9, 7]), np.array([1, 1, 1]))]
    [[0, 2, 1], [0, 2, 3]]
    """
    order, starts = _core.grouped([_ints(key) for key in keys])
    return spill(keys[0], order), spill(keys[0], starts)


def numbered(*keys: Integers) -> Ints:
    """A number for each distinct combination of `keys`, from 0 on in their order.

    >>> numbered(np.array([7, 9, 7]), np.array([1, 1, 1])).tolist()
    [0, 1, 0]
    """
    return spill(keys[0], _core.numbered([_ints(key) for key in keys]))


def counted(values: Integers) -> tuple[Ints, Ints]:
    """The distinct values in their order, and how often each occurs.

    >>> [each.tolist() for each in counted(np.array([7, 3, 7]))]
    [[3, 7], [1, 2]]
    """
    return _core.counted(_ints(values))


def occurring(values: Integers) -> Ints:
    """The distinct values in their order: `np.unique` loads more of numpy for it than a small capture takes to read.

    >>> occurring(np.array([7, 3, 7])).tolist()
    [3, 7]
    """
    return counted(values)[0]


def first_alike(values: Integers) -> Ints:
    """The first row with the same value as each: tells them apart as the values do, in numbers that most often ascend.

    >>> first_alike(np.array([7, 9, 7])).tolist()
    [0, 1, 0]
    """
    return spill(values, _core.first_alike(_ints(values)))


def distinct(numbers: Integers, starts: Integers) -> Ints:
    """How many different `numbers` (`numbered`, `first_alike`) each group has: `numbers[starts[g] : starts[g + 1]]`.

    >>> distinct(np.array([5, 5, 6, 5]), np.array([0, 3, 4])).tolist()
    [2, 1]
    """
    return _core.distinct(_ints(numbers), int(numbers.max(initial=-1)) + 1, _ints(starts))


def lanes(start: Integers, end: Integers) -> Ints:
    """The lane of each connection, numbered from 0.

    A connection continues the lane whose last connection ended most recently before it began (docs/model.md C.5, the
    last-completion rule); where none is free it opens a lane. A connection for every query makes one lane, eight
    workers make eight.

    >>> lanes(np.array([0, 1, 5, 6]), np.array([4, 3, 7, 8])).tolist()
    [0, 1, 0, 1]
    """
    return _core.lanes(_ints(start), _ints(end))


def last_known(values: Integers, key: Integers) -> Ints:
    """The last value ≥ 0 at or before each place within its run of equal `key`; -1 where there is none.

    >>> last_known(np.array([5, -1, 7, -1, -1]), np.array([1, 1, 1, 1, 2])).tolist()
    [5, 5, 7, 7, -1]
    """
    return spill(key, _core.last_known(_ints(values), _ints(key)))


def running_maximum(values: Integers, key: Integers) -> Ints:
    """The largest value at or before each place within its run of equal `key`.

    >>> running_maximum(np.array([5, 3, 7, 4]), np.array([1, 1, 1, 2])).tolist()
    [5, 5, 7, 4]
    """
    return spill(key, _core.running_maximum(_ints(values), _ints(key)))


def serving(order: Ints, starts: Ints, executes: Bools, prepares: Bools) -> Ints:
    """The execution that each row of a group (`grouped`) serves; -1 for none.

    That is the last one at or before it; what `prepares` serves the next one after it, if there is one.
    """
    served = _core.serving(order, starts, np.ascontiguousarray(executes), np.ascontiguousarray(prepares))
    return spill(order, served)


def sums(group: Integers, values: Integers, count: int, known: Bools | None = None) -> tuple[Ints, Bools]:
    """The sum of each group, and whether it has a value; rows of group -1 and those not `known` are left out.

    >>> [each.tolist() for each in sums(np.array([0, 1, 0, -1]), np.array([1, 2, 4, 8]), 3)]
    [[5, 2, 0], [True, True, False]]
    """
    total, has_value = _core.sums(_ints(group), _ints(values), count, known)
    return spill(group, total), spill(group, has_value)


def ascending(groups: Integers, values: Integers, count: int, known: Bools | None = None) -> tuple[Ints, Ints]:
    """The values of each of `count` groups in ascending order, and where each begins, and the last ends.

    Rows that are not `known` are left out, and where there is one group, all others are of it.

    >>> [each.tolist() for each in ascending(np.array([1, 0, 1]), np.array([9, 5, 7]), 2)]
    [[5, 7, 9], [0, 1, 3]]
    """
    sorted_values, starts = _core.ascending(None if count == 1 else _ints(groups), _ints(values), count, known)
    return spill(values, sorted_values), starts


def holding(starts: Ints, data: NDArray[np.uint8], words: Sequence[str]) -> Bools:
    """Each text `data[starts[t] : starts[t + 1]]` holds one of `words`.

    >>> holding(np.array([0, 1, 3]), np.frombuffer(b"aab", np.uint8), ["b", "aa"]).tolist()
    [False, True]
    """
    return _core.holding(starts, data, list(words))


def first_like(starts: Ints, data: NDArray[np.uint8]) -> Ints:
    """The first text with the same bytes as each `data[starts[t] : starts[t + 1]]`.

    >>> first_like(np.array([0, 1, 2, 3]), np.frombuffer(b"aba", np.uint8)).tolist()
    [0, 1, 0]
    """
    return _core.first_like(starts, data)


def quantile(values: Integers, starts: Integers, fraction: float) -> Floats:
    """The nearest-rank quantile of each group `values[starts[g] : starts[g + 1]]`, which ascends; NaN for an empty one.

    >>> quantile(np.array([10, 20, 30]), np.array([0, 3, 3]), 0.5).tolist()
    [20.0, nan]
    """
    return _core.quantile(_ints(values), _ints(starts), fraction)


def _ints(values: Integers) -> Ints:
    """Return the core's integers: copied only where they are narrower, or no one piece. Fractions are refused."""
    values = values.view(np.int64) if values.dtype == np.uint64 else values
    return np.ascontiguousarray(values.astype(np.int64, casting="safe", copy=False))
