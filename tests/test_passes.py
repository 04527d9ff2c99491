"""The core's passes over columns say what numpy says of the same columns, row for row."""

import numpy as np
import pytest

from latpcap import _core
from latpcap.tables.columnar import passes


def columns(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.integers(-3, 3, 500), random.integers(-(2**63), 2**63 - 1, 40)[random.integers(0, 40, 500)]


@pytest.mark.parametrize("seed", range(5))
def test_order_and_numbers_are_those_of_a_sort(seed: int) -> None:
    narrow, wide = columns(seed)
    assert passes.ordered(narrow, wide).tolist() == np.lexsort((wide, narrow)).tolist()
    _, expected = np.unique(np.stack((narrow, wide)), axis=1, return_inverse=True)
    assert passes.numbered(narrow, wide).tolist() == expected.tolist()
    values, counts = np.unique(wide, return_counts=True)
    assert [each.tolist() for each in passes.counted(wide)] == [values.tolist(), counts.tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_sums_and_distinct_values_of_a_group_are_its_own(seed: int) -> None:
    narrow, wide = columns(seed)
    order, starts = passes.grouped(narrow)
    groups = np.split(wide[order], starts[1:-1])
    assert passes.distinct(passes.numbered(wide)[order], starts).tolist() == [len(np.unique(group)) for group in groups]
    sums, known = passes.sums(narrow, np.arange(500), 4, wide > 0)
    assert sums.tolist() == [int(np.arange(500)[(narrow == group) & (wide > 0)].sum()) for group in range(4)]
    assert known.tolist() == [group < 3 for group in range(4)]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint32, np.int64])
def test_columns_may_be_narrow_and_hold_every_other_value_of_another(kind: type) -> None:
    values = np.array([3, 0, 1, 0, 2, 0], kind)[::2]
    assert passes.ordered(values).tolist() == [1, 2, 0]


def test_nothing_has_no_groups() -> None:
    nothing = np.empty(0, np.int64)
    order, starts = passes.grouped(nothing, nothing)
    assert (len(order), starts.tolist()) == (0, [0])
    assert len(passes.distinct(nothing, starts)) == len(passes.last_known(nothing, nothing)) == 0


@pytest.mark.parametrize(
    ("order", "starts"),
    [([0, 2], [0, 2]), ([-1, 0], [0, 2]), ([0, 1], [0, 3]), ([0, 1], [2, 0]), ([0, 1], [-1, 2])],
)
def test_places_beyond_a_column_are_refused(order: list[int], starts: list[int]) -> None:
    flags = np.zeros(2, bool)
    with pytest.raises(ValueError, match=r"beyond|follow"):
        _core.serving(np.array(order), np.array(starts), flags, flags)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        passes.ordered(np.zeros(2, int), np.zeros(3, int))


def test_fractions_are_refused_rather_than_cut() -> None:
    with pytest.raises(TypeError, match="safe"):
        passes.ordered(np.array([0.5, 0.25]))


@pytest.mark.parametrize("seed", range(5))
def test_a_connection_continues_the_lane_that_was_left_last(seed: int) -> None:
    random = np.random.default_rng(seed)
    start = random.integers(0, 100, 60)
    end = start + random.integers(0, 20, 60)
    free: list[tuple[int, int]] = []
    expected = np.zeros(60, int)
    for row in np.argsort(start, kind="stable"):
        over = [lane for lane in free if lane[0] <= start[row]]
        number = max(over)[1] if over else len(free)
        expected[row] = number
        free = [lane for lane in free if lane[1] != number] + [(int(end[row]), number)]
    assert passes.lanes(start, end).tolist() == expected.tolist()
