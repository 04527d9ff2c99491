import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latpcap.tables.columnar.quantiles import GroupedValues

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**62)))


@given(ROWS)
def test_each_group_is_sorted_by_itself(rows: list[tuple[int, int]]) -> None:
    groups, values = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    grouped = GroupedValues.of(groups, values, 6)
    for group in range(6):
        mine = grouped.values[grouped.starts[group] : grouped.starts[group + 1]]
        assert mine.tolist() == sorted(value for number, value in rows if number == group)


def test_quantiles_are_values_that_were_measured() -> None:
    grouped = GroupedValues.of(np.zeros(4, np.int64), np.array([4, 1, 3, 2]), 1)
    assert [grouped.quantile(fraction)[0] for fraction in (0, 0.5, 0.75, 0.76, 1)] == [1, 2, 3, 4, 4]


def test_an_empty_group_has_no_quantile() -> None:
    assert math.isnan(GroupedValues.of(np.array([1]), np.array([7]), 2).quantile(0.5)[0])
