"""The parts of a job sum to what it takes, captured, projected and fixed; waits for the network grow with the RTT."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from builder import Conn, Ex, build, build_awake
from conftest import FIXTURES, read_once
from hypothesis import assume, given
from hypothesis import strategies as st
from test_agreement import CAPTURES, ELSEWHERE, RTTS_MS
from test_budget import RECORDINGS
from test_monotone import CONDITIONS

import latpcap
from latpcap.findings.finding import SavedShare, effect_of
from latpcap.findings.fixes import variant_of
from latpcap.projection.assumptions import CENTRAL, Conditions
from latpcap.projection.basis import AS_IT_IS
from latpcap.projection.budget_elsewhere import budget_with, budgets_there
from latpcap.projection.project import Projection
from latpcap.result.analysis import Measures
from latpcap.tables.recording import Recording

LADDER = st.lists(st.floats(min_value=0, max_value=60_000), min_size=2, max_size=8).map(sorted)
SHARE = st.floats(min_value=0, max_value=1)
GROWING = (("network_s",), ("network_s", "setup_s"), ("transfer_s",))
"""Parts that grow with the RTT, alone or together."""
STAYING = ("think_s", "loss_s", "unknown_s", "stall_s")
NEARLY = 1e-3
"""Of a runtime: what hosts take to wake up is shared by all parts where none of them is the hosts'."""
MS = st.floats(min_value=0, max_value=3000).map(lambda value: round(value, 3))
EXCHANGE = st.builds(
    Ex,
    command=st.sampled_from(["query", "connect", "stmt_execute"]),
    client_ms=MS,
    service_ms=MS,
    request_ms=MS,
    transfer_ms=MS,
    response_bytes=st.integers(0, 10**7),
)
SERIAL = st.builds(
    Conn, st.lists(EXCHANGE, min_size=1, max_size=6), rtt_ms=st.floats(0.1, 200).map(lambda value: round(value, 3))
).map(lambda alone: build_awake([alone]))


def assert_whole(projection: Projection) -> None:
    """No part is less than nothing, and together they are the runtime."""
    for point in projection.points:
        if point.budget is not None:
            parts = point.budget.parts().values()
            assert min(parts) >= 0
            assert sum(parts) == pytest.approx(point.runtime_s, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_the_parts_sum_to_the_runtime_wherever_and_whatever_else_is_different_there(path: Path) -> None:
    try:
        capture = read_once(path)
        captured = capture.analyze([])
    except latpcap.NoDatabaseTraffic:
        return
    assert sum(captured.budget.parts().values()) == pytest.approx(captured.summary.runtime_s, abs=1e-6)
    for elsewhere in ELSEWHERE:
        assert_whole(capture.project([0.0, *RTTS_MS], **elsewhere))


@given(RECORDINGS, LADDER, CONDITIONS)
def test_those_of_any_job_do(recording: Recording, ladder_ms: list[float], conditions: Conditions) -> None:
    assert_whole(Measures(recording).project(ladder_ms, None, conditions))


@given(RECORDINGS, LADDER, st.data(), SHARE, SHARE)
def test_those_of_a_job_without_some_of_its_exchanges_do(
    recording: Recording, ladder_ms: list[float], data: st.DataObject, client: float, service: float
) -> None:
    measures = Measures(recording)
    base, evidence = measures.basis, measures.evidence
    assume(base.job is not None and len(recording.exchanges))
    gone = data.draw(st.lists(st.booleans(), min_size=len(recording.exchanges), max_size=len(recording.exchanges)))
    effect = effect_of(evidence, SavedShare(client, service), np.flatnonzero(gone))
    fixed = variant_of([effect], evidence)
    [[fixed_s]] = base.runtimes_of([(fixed, ladder_ms)], [CENTRAL])
    there = budgets_there(base, ladder_ms, fixed_s.tolist(), base.as_usual, fixed)
    for runtime_s, found in zip(fixed_s, there, strict=True):
        parts = found.parts().values()
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(runtime_s, rel=1e-9, abs=1e-6)


@given(RECORDINGS)
def test_at_the_rtt_that_a_job_had_they_are_what_they_were(recording: Recording) -> None:
    measures = Measures(recording)
    base, budget = measures.basis, measures.timeline.budget.parts()
    assume(base.job is not None and len(np.unique(base.job.baseline_ns)) == 1)
    [there] = budgets_there(base, [base.baseline_ms], [base.runtime_s], base.as_usual)
    assert there.parts() == pytest.approx(budget, abs=1e-6)
    assert budget_with(base, AS_IT_IS).parts() == pytest.approx(budget, abs=1e-6)


def pool(client_ms: float) -> Recording:
    """Workers that rest between their requests: near, mostly one of them is at work, or none; far, nearly all wait."""

    def of_one(lane: int) -> list[Ex]:
        return [Ex(sql="select ?", client_ms=client_ms + 0.7 * lane, service_ms=0.5)] * 100

    return build([Conn(of_one(lane), rtt_ms=0.1, at_ms=1.37 * lane) for lane in range(8)])


@pytest.mark.parametrize("client_ms", [3.0, 10.0, 40.0])
def test_what_hides_behind_the_waits_of_others_is_still_there(client_ms: float) -> None:
    found = Measures(pool(client_ms), rtt_is="in-stream").project([0.1, 15.0])
    here, there = (point.budget for point in found.points)
    assert here is not None
    assert there is not None
    assert min(here.client_s, here.service_s) > 0.02
    for part in ("client_s", "service_s"):
        assert getattr(there, part) == pytest.approx(getattr(here, part), rel=0.1), part
    assert_whole(found)


def test_a_pause_that_a_timer_ends_is_shorter_where_answers_take_longer() -> None:
    """Four have a round every 30 ms: an answer that takes 15 ms leaves the client half of that."""
    of_one = [Ex(sql="select ?", at_ms=30.0 * turn, waited_ms=1.0 + (turn * 7) % 5) for turn in range(200)]
    measures = Measures(build([Conn(of_one, rtt_ms=0.1, at_ms=0.9 * lane) for lane in range(4)]), rtt_is="in-stream")
    assert measures.basis._central.replay.ticks
    here, there = (point.budget for point in measures.project([0.1, 15.0]).points)
    assert here is not None
    assert there is not None
    assert there.client_s < 0.6 * here.client_s


@given(SERIAL, LADDER)
def test_of_one_connection_that_waits_for_each_answer_what_is_networks_grows_and_what_is_not_stays(
    recording: Recording, ladder_ms: list[float]
) -> None:
    points = [point for point in Measures(recording).project(ladder_ms).points if point.budget is not None]
    for nearer, farther in pairwise(points):
        before, after = nearer.budget.parts(), farther.budget.parts()
        near = NEARLY * farther.runtime_s + 1e-6
        assert all(sum(before[part] for part in each) <= sum(after[part] for part in each) + near for each in GROWING)
        assert all(abs(after[part] - before[part]) <= near for part in STAYING)
