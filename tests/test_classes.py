"""What kind of work a job is, told from its capture; and what is quoted of such jobs."""

import json

import numpy as np
import pytest
from builder import Conn, Ex, build

from latpcap.projection import classes
from latpcap.projection.assumptions import Conditions
from latpcap.result.analysis import Measures

QUERY = Ex("query", sql="select ?", service_ms=0.2, client_ms=0.1)
JOBS = {
    "stop and wait": [Conn(exchanges=[QUERY] * 100)],
    "parallel": [Conn(exchanges=[QUERY] * 100)] * 4,
    "bulk": [Conn(exchanges=[Ex(response_bytes=1_000_000, transfer_ms=5)] * 5)],
    "think time": [Conn(exchanges=[Ex(client_ms=30)] * 50)],
    "slow server": [Conn(exchanges=[Ex(service_ms=30)] * 50)],
    "connect per query": [Conn(at_ms=10 * number, exchanges=[QUERY]) for number in range(20)],
}


@pytest.mark.parametrize("work", JOBS)
def test_the_work_is_told_from_what_waits(work: str) -> None:
    assert Measures(build(JOBS[work])).basis.work == work


@pytest.mark.parametrize("rtt_ms", [0.2, 2, 50])
def test_the_work_does_not_depend_on_the_rtt(rtt_ms: float) -> None:
    assert Measures(build([Conn(rtt_ms=rtt_ms, exchanges=[QUERY] * 100)])).basis.work == "stop and wait"


def test_a_point_quotes_the_runs_of_its_kind_and_direction() -> None:
    measures = Measures(build([Conn(rtt_ms=2, exchanges=[QUERY] * 100)]))
    shorter, same, longer = measures.project([1, measures.basis.baseline_ms, 15]).points
    measured = json.loads(classes.MEASURED.read_text())["stop and wait"]
    assert longer.coverage is not None
    assert longer.coverage.pairs == measured["longer"]["pairs"]
    assert shorter.coverage is not None
    assert shorter.coverage.inside == pytest.approx(measured["shorter"]["inside"] / measured["shorter"]["pairs"])
    assert same.coverage is None
    assert [each.method for each in (shorter, same, longer)] == ["replayed", "observed", "replayed"]


def test_nothing_is_quoted_where_more_than_the_rtt_is_different() -> None:
    measures = Measures(build(JOBS["stop and wait"]))
    [point] = measures.project([15], None, Conditions(bandwidth_bps=1e6)).points
    assert point.coverage is None


def test_what_bounds_the_runtime_is_named() -> None:
    measures = Measures(build(JOBS["bulk"]))
    [narrow] = measures.project([1], None, Conditions(bandwidth_bps=1e5)).points
    assert narrow.method == "limited by bandwidth"


def test_every_kind_that_was_measured_is_one_that_can_be_told() -> None:
    measured = json.loads(classes.MEASURED.read_text())
    assert set(measured) <= set(classes.WORK)
    counts = np.array([[way["inside"], way["pairs"]] for kind in measured.values() for way in kind.values()])
    assert (counts[:, 0] <= counts[:, 1]).all()
    assert (counts[:, 1] > 0).all()


def test_a_projection_downwards_that_is_mostly_guesswork_says_so() -> None:
    uneven = [Ex("query", sql="select ?", service_ms=9 + number % 11) for number in range(100)]
    measures = Measures(build([Conn(rtt_ms=15, exchanges=uneven)]))
    asked = measures.analyze([0.5, 14, 30])
    assert asked.projection.guess_text == ""
    own = [Ex("query", sql="select ?", client_ms=0.4, service_ms=0.4)] * 100
    guess = Measures(build([Conn(rtt_ms=15, exchanges=own)])).analyze([0.5, 14, 30])
    assert guess.projection.guess_text.startswith(
        "At 0.5 ms, less than the captured RTT, the projection is a rough estimate ("
    )
    assert guess.projection.guess_text in guess.text


def test_nobody_is_warned_of_what_he_has_not_asked_for() -> None:
    own = [Ex("query", sql="select ?", client_ms=0.4, service_ms=0.4)] * 100
    assert Measures(build([Conn(rtt_ms=15, exchanges=own)])).project().guess_text == ""


def test_work_that_is_long_for_a_round_trip_is_sure() -> None:
    def width(service_ms: float) -> float:
        [point] = Measures(build([Conn(rtt_ms=15, exchanges=[Ex(service_ms=service_ms)] * 200)])).project([15]).points
        return ((point.pessimistic_s or 0) - (point.optimistic_s or 0)) / 0.2

    assert width(50) - width(25) < 0.1 * 25


def test_no_case_is_faster_than_the_round_trips_of_one_connection() -> None:
    own = [Ex("query", sql="select ?", client_ms=0.4, service_ms=0.4)] * 100
    [point] = (
        Measures(build([Conn(rtt_ms=15, exchanges=own)])).project([0.5], None, Conditions(rtt_is="in-stream")).points
    )
    assert (point.optimistic_s or 0) >= 101 * 0.5e-3 * 0.97


def test_connections_that_take_turns_are_not_taken_to_wait_for_each_other_otherwise() -> None:
    turns = [Conn(rtt_ms=1, at_ms=400 * number, exchanges=[QUERY] * 100) for number in range(4)]
    measures = Measures(build(turns))
    names = {assumption.name for assumption in measures.project([15]).assumptions}
    assert measures.basis.work == "pool"
    assert "one after the other" not in names
