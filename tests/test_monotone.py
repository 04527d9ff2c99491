"""No projection is absurd: none below nothing, none shorter where the RTT is longer, the range around the middle."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import FIXTURES, read_fixture
from hypothesis import given
from hypothesis import strategies as st
from test_budget import RECORDINGS

from latpcap.errors import NoDatabaseTraffic
from latpcap.projection.assumptions import Conditions
from latpcap.projection.project import Projection
from latpcap.result.analysis import Measures
from latpcap.tables.recording import Recording

LADDER_MS = [0.0, *np.geomspace(0.01, 60_000, 29).tolist()]
SECONDS = ("optimistic_s", "runtime_s", "pessimistic_s")
NAMES = sorted(str(path.relative_to(FIXTURES)).removesuffix(".toml") for path in FIXTURES.glob("*/*.toml"))
CONDITIONS = st.builds(
    Conditions,
    bandwidth_bps=st.none() | st.floats(min_value=1e4, max_value=1e9),
    loss=st.none() | st.floats(min_value=0, max_value=0.3),
    jitter_ms=st.floats(min_value=0, max_value=100),
    connections=st.none() | st.integers(min_value=1, max_value=1000),
    window_bytes=st.none() | st.integers(min_value=8192, max_value=1 << 22),
    compression=st.none() | st.floats(min_value=0.01, max_value=1),
)


def assert_observed_here(projection: Projection) -> None:
    """Nobody is faster farther away or slower nearer, and the range at the capture's own RTT is its runtime.

    Connections with other RTTs than most have that one at each point, too: the runtime itself may say so. Where the RTT
    was not measured nothing is known to be its own.
    """
    here_ms, here = projection.baseline_rtt_ms, projection.now
    if here_ms is None or here is None:
        return
    [own] = (point for point in projection.points if point.rtt_ms == here_ms)
    if own.method != "observed":
        return
    for point in projection.points:
        if point.rtt_ms >= here_ms:
            assert point.optimistic_s >= min(here.runtime_s, point.runtime_s), point
    assert own.pessimistic_s == own.runtime_s
    for point in projection.points[: projection.points.index(own)]:
        assert point.pessimistic_s <= own.runtime_s, point


def assert_possible(projection: Projection) -> None:
    """The points of a projection onto ascending RTTs."""
    if projection.baseline_rtt_ms is None:
        return
    for point in projection.points:
        assert 0 <= point.optimistic_s <= point.runtime_s <= point.pessimistic_s, point
    for nearer, farther in pairwise(projection.points):
        for name in SECONDS:
            assert getattr(nearer, name) <= getattr(farther, name) + 1e-9, (name, nearer, farther)


@pytest.mark.parametrize("name", NAMES)
def test_no_fixture_takes_less_than_nothing_or_less_where_the_rtt_is_longer(name: str) -> None:
    try:
        capture = read_fixture(name)
        here_ms = capture.project([]).baseline_rtt_ms or 0.0
        projection = capture.project(sorted({*LADDER_MS, here_ms}))
    except NoDatabaseTraffic:
        return
    assert_possible(projection)
    assert_observed_here(projection)


@given(RECORDINGS, st.lists(st.floats(min_value=0, max_value=60_000), min_size=2, max_size=8).map(sorted), CONDITIONS)
def test_no_job_does_whatever_else_is_different_there(
    recording: Recording, ladder_ms: list[float], conditions: Conditions
) -> None:
    measures = Measures(recording)
    found = measures.project(ladder_ms, None, conditions)
    assert_possible(found)
    if conditions.only_slows and found.now is not None and found.now.runtime_s is not None:
        farther = [point for point in found.points if point.rtt_ms >= measures.basis.longest_ms]
        assert all(point.optimistic_s >= min(found.now.runtime_s, point.runtime_s) for point in farther)
