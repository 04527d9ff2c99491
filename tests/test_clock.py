import numpy as np
import pytest

from latpcap.measures.shared_time import SharedTime


def clock(*stretches: tuple[int, int]) -> SharedTime:
    return SharedTime(np.array([a for a, _ in stretches], np.int64), np.array([b for _, b in stretches], np.int64))


def between(shared: SharedTime, a: int, b: int) -> float:
    return float(shared.worth(np.array([a]), np.array([b - a]))[0])


def test_who_is_busy_alone_owns_the_time() -> None:
    assert between(clock((0, 10), (20, 30)), 2, 8) == 6


def test_two_side_by_side_own_half_each() -> None:
    assert between(clock((0, 10), (0, 10)), 0, 10) == 5


def test_the_part_that_overlaps_is_shared_and_the_rest_is_not() -> None:
    assert between(clock((0, 10), (4, 10)), 0, 10) == 4 + 6 / 2


def test_touching_stretches_do_not_overlap() -> None:
    assert between(clock((0, 10), (10, 20)), 5, 10) == 5


def test_idle_time_is_what_nobody_has() -> None:
    assert sorted(clock((2, 10), (5, 12), (20, 25)).idle(0, 30).tolist()) == [2, 5, 8]


def test_without_anybody_all_is_idle() -> None:
    assert clock().idle(0, 7).tolist() == [7]
    assert between(clock(), 3, 3) == pytest.approx(0)
