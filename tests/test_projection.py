import heapq
from collections import deque
from itertools import pairwise

import pytest
from builder import Conn, Ex, build, build_awake
from conftest import read_fixture
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from test_budget import RECORDINGS

from latpcap.projection.assumptions import CENTRAL
from latpcap.projection.project import DEFAULT_LADDER_MS, Point, Projection, guess_text
from latpcap.result.analysis import Measures
from latpcap.tables.host_curve import HostCurve
from latpcap.tables.recording import Recording
from latpcap.units import RTT_IS, RttIs

QUERIES = [Ex("query", sql="select ?", service_ms=0.2, client_ms=0.1)] * 1000
ONE = [Conn(rtt_ms=0.5, exchanges=QUERIES)]


def project(*connections: Conn, rtt_ms: list[float] | None = None, **options: float) -> Projection:
    """Onto RTTs of the data itself, by hosts that answer as fast behind a rest."""
    return Measures(build_awake(list(connections)), rtt_is="in-stream").project(rtt_ms, **options)


def central(*connections: Conn, rtt_ms: float) -> float:
    runtime_s = project(*connections, rtt_ms=[rtt_ms]).points[0].runtime_s
    assert runtime_s is not None
    return runtime_s


def test_each_round_trip_grows_by_the_difference_and_the_handshake_is_one() -> None:
    assert central(Conn(rtt_ms=0.4, exchanges=QUERIES), rtt_ms=10.4) == pytest.approx(0.7004 + 1001 * 0.010)


@pytest.mark.parametrize(("here", "there"), [(0.4, 15), (5, 50)])
def test_a_projection_meets_what_the_same_work_takes_there(here: float, there: float) -> None:
    measured = build([Conn(rtt_ms=there, greeting=True, exchanges=[Ex("connect"), *QUERIES])]).runtime_s
    projected = central(Conn(rtt_ms=here, greeting=True, exchanges=[Ex("connect"), *QUERIES]), rtt_ms=there)
    assert projected == pytest.approx(measured, rel=1e-6)


def one_by_one(rtt_ms: float, *, waits: bool, pause_ms: float, near_share: float = 0.0) -> Recording:
    """50 connections one after the other: the next one opens some time after the server has hung up, or regardless."""
    said = [Ex("authenticate", service_ms=0.2), Ex(service_ms=0.2), Ex("quit", round_trips=0, answered=False)]
    connections, at_ms = [], 0.0
    for number in range(50):
        exits_ms = 0.1 * (number * 7 % 5)
        fin_ms = rtt_ms * (1 - near_share) + exits_ms
        connections.append(Conn(said, rtt_ms, at_ms, near_share=near_share, server_fin_ms=fin_ms))
        at_ms += 3 * rtt_ms + 0.4 + (rtt_ms + exits_ms if waits else 0) + pause_ms
    return build_awake(connections)


@pytest.mark.parametrize(("waits", "pause_ms"), [(True, 0.1), (True, 0.5), (False, 0.1), (False, 1.6)])
@pytest.mark.parametrize("near_share", [0, 1])
def test_a_client_that_waits_for_the_server_to_hang_up_waits_there_as_well(
    waits: bool, pause_ms: float, near_share: float
) -> None:
    near = one_by_one(1, waits=waits, pause_ms=pause_ms, near_share=near_share)
    far = one_by_one(15, waits=waits, pause_ms=pause_ms)
    there = Measures(near, rtt_is="in-stream").project([15]).points[0]
    assert there.runtime_s == pytest.approx(far.runtime_s, rel=0.01)
    if near_share == 0:
        [point] = Measures(far, rtt_is="in-stream").project([1]).points
        assert (point.optimistic_s or 0) < near.runtime_s < (point.pessimistic_s or 0)


def test_nearer_hosts_go_on_sooner_or_not() -> None:
    """Own time of 0.3 ms a turn, some of it behind a rest of 15 ms, is less at 0.4 ms, pessimistically the same."""
    queries = [Ex(client_ms=0.1, service_ms=0.2)] * 1000
    there, here = (build([Conn(rtt_ms=rtt, exchanges=queries)]).runtime_s for rtt in (0.4, 15.0))
    [point] = Measures(build([Conn(rtt_ms=15, exchanges=queries)]), rtt_is="in-stream").project([0.4]).points
    assert there - 0.3 < (point.runtime_s or 0) < there - 0.1
    assert (point.optimistic_s or 0) < (point.runtime_s or 0) < there < (point.pessimistic_s or 0) < here


@pytest.mark.parametrize("rtt_is", RTT_IS)
def test_at_the_baseline_nothing_changes(rtt_is: RttIs) -> None:
    recording = build([Conn(rtt_ms=5, exchanges=QUERIES)])
    assert Measures(recording, rtt_is=rtt_is).project([5]).points[0].runtime_s == pytest.approx(recording.runtime_s)


def test_hosts_that_rest_longer_go_on_later_the_measured_ones_as_measured() -> None:
    """1,001 requests behind rests of 50 instead of 0.5 ms: assumed, measured to take nothing, and 0.4 ms."""
    assumed, awake, slow = build(ONE), build_awake(ONE), build_awake(ONE)
    assert awake.host_curve is not None
    slow.host_curve = replace(awake.host_curve, rests_ms=(1.0, 5.0), extra_ms=(0.0, 0.4))
    points = [Measures(each, rtt_is="in-stream").project([50]).points[0] for each in (assumed, awake, slow)]
    at_s, low_s, high_s = zip(
        *((each.runtime_s, each.optimistic_s, each.pessimistic_s) for each in points), strict=True
    )
    assert at_s[1] == pytest.approx(awake.runtime_s + 1001 * 0.0495)
    assert at_s[2] - at_s[1] == pytest.approx(1.001 * 0.4 * (0.8 + 1.5 * 0.3), rel=0.01)
    assert at_s[1] < at_s[0] < at_s[2] < high_s[0]
    assert high_s[1] - low_s[1] < high_s[2] - low_s[2] < high_s[0] - low_s[0]


@pytest.mark.parametrize("near_share", [0.5, 1])
def test_hosts_rest_as_long_wherever_the_capture_was_taken(near_share: float) -> None:
    """At the client, in between, at the server."""

    def projected(near_share: float) -> list[float | None]:
        recording = build([Conn(rtt_ms=15, exchanges=QUERIES, near_share=near_share)])
        recording.host_curve = HostCurve(
            (0.2, 1.0, 5.0, 20.0), (0.03, 0.05, 0.3, 0.5), frozenset({"10.0.0.1", "10.0.0.2"})
        )
        return [point.runtime_s for point in Measures(recording, rtt_is="in-stream").project([0.5, 5, 50]).points]

    assert projected(near_share) == pytest.approx(projected(0), rel=0.02)


def test_only_the_host_that_was_measured_takes_its_curve() -> None:
    recording = build_awake(ONE)
    assert recording.host_curve is not None
    recording.host_curve = replace(recording.host_curve, addresses=frozenset({"10.0.0.1"}))
    [point] = Measures(recording, rtt_is="in-stream").project([50]).points
    assert recording.runtime_s + 1001 * 0.0495 < (point.runtime_s or 0) < recording.runtime_s + 1001 * 0.0498


@pytest.mark.parametrize("rtt_is", RTT_IS)
@pytest.mark.parametrize(("near_ms", "far_ms"), [(0.5, 15), (1, 50), (5, 15)])
def test_up_and_down_again_is_where_it_began(rtt_is: RttIs, near_ms: float, far_ms: float) -> None:
    """What a turn gains on the way up, it loses on the way down; what a ping is longer by, it is longer by twice."""
    near = Measures(build([Conn(rtt_ms=near_ms, exchanges=QUERIES)]), rtt_is=rtt_is)
    there_s = near.project([far_ms]).points[0].runtime_s or 0.0
    grown = 1 + (there_s - near.basis.runtime_s - 1.001 * (far_ms - near_ms)) / 0.3
    queries = [Ex("query", sql="select ?", service_ms=0.2 * grown, client_ms=0.1 * grown)] * 1000
    far = Measures(build([Conn(rtt_ms=far_ms, exchanges=queries)]), rtt_is=rtt_is)
    back_s = far.project([near_ms]).points[0].runtime_s or 0.0
    longer_s = 2 * 0.001 * {"ping": 120, "handshake": 60, "in-stream": 0}[rtt_is]
    assert back_s == pytest.approx(near.basis.runtime_s, abs=longer_s + 0.05)


def test_think_time_is_kept_as_it_is() -> None:
    thinking = Conn(rtt_ms=1, exchanges=[Ex(), Ex(client_ms=60_000)])
    assert central(thinking, rtt_ms=101) == pytest.approx(60.003 + 3 * 0.1)


def test_parallel_workers_add_one_workers_share() -> None:
    workers = [Conn(rtt_ms=1, exchanges=QUERIES)] * 8
    assert central(*workers, rtt_ms=11) == pytest.approx(central(workers[0], rtt_ms=11))


def test_at_the_rtt_of_the_capture_the_range_is_the_runtime_and_grows_from_there() -> None:
    slow_reader = Conn(
        rtt_ms=15.018, window_limit_bytes=16_384, exchanges=[Ex(response_bytes=900_000, transfer_ms=1_000)]
    )
    found = project(slow_reader, rtt_ms=[10, 14.5, 15, 15.5, 16, 18, 21, 30])
    assert found.now is not None
    widths = [(point.pessimistic_s or 0) - (point.optimistic_s or 0) for point in found.points]
    nearest = [point for point in found.points if point.rtt_ms in {14.5, 15, 15.5}]
    for point in nearest:
        ends = sorted([found.now.runtime_s or 0, point.runtime_s or 0])
        assert [point.optimistic_s, point.pessimistic_s] == pytest.approx(ends)
    assert widths[2] < 0.01 * (found.now.runtime_s or 0)
    assert widths[4:] == sorted(widths[4:])
    assert widths[-1] > 0.3 * (found.now.runtime_s or 0)
    assert found.guess_text == guess_text([found.points[0]], 15.018), "no advice to capture where it was captured"


def test_where_nothing_tells_what_the_rtt_is_none_is_known_to_be_the_captures_own() -> None:
    """A relay answered SYNs in 0.01 ms and everything else in 5.8 ms: the network's way, or a server's."""
    capture = read_fixture("proxies/haproxy-nplus1-application")
    here_ms = capture.project([]).baseline_rtt_ms
    assert here_ms is not None
    found = capture.project([here_ms])
    [own] = found.points
    assert (own.method, own.of_capture) == ("replayed", "")
    assert (own.pessimistic_s or 0) > 1.5 * (own.runtime_s or 0)


def test_the_asked_points_come_back_in_their_order_with_duplicates() -> None:
    points = project(Conn(exchanges=QUERIES), rtt_ms=[15, 1, 15, 0]).points
    assert [point.rtt_ms for point in points] == [15, 1, 15, 0]


def test_without_a_question_there_is_a_ladder() -> None:
    assert tuple(point.rtt_ms for point in project(Conn(exchanges=QUERIES)).points) == DEFAULT_LADDER_MS


def test_the_slope_is_the_seconds_that_a_millisecond_adds() -> None:
    projection = project(Conn(rtt_ms=1, exchanges=QUERIES), rtt_ms=[20, 21])
    low, high = (point.runtime_s for point in projection.points)
    assert low is not None
    assert high is not None
    assert projection.seconds_per_ms == pytest.approx(high - low)


def test_a_pipeline_that_meets_a_step_of_its_window_earlier_gets_no_shorter_with_each_millisecond() -> None:
    """One millisecond more spares it a round (15 ms), each further one costs it 4 ms."""
    asked = [(15.652, 15.012, 0), (17.492, None, 0), (18.122, None, 15), (22.16, 26.953, 0), (23.722, 25.453, 0)]
    asked += [(24.699, 15.014, 0), (25.575, 29.15, 15), (27.029, 15.016, 0), (27.368, None, 0), (28.094, 28.979, 0)]
    large, own_trips = (0, 1, 3, 4, 5), (0, 1, 5)
    exchanges = [
        Ex(
            sql="insert into t",
            service_ms=0.02,
            at_ms=at_ms,
            waited_ms=waited_ms,
            transfer_ms=transfer_ms,
            response_bytes=20_000 if number in large else 100,
            round_trips=int(number in own_trips),
        )
        for number, (at_ms, waited_ms, transfer_ms) in enumerate(asked)
    ]
    base = Measures(build([Conn(exchanges, rtt_ms=15)])).basis
    as_it_was_s, next_s, doubled_s = (
        base._central.run([None], CENTRAL.network, added_ms * 1e6)[0] / 1e9 for added_ms in (0, 1, 15)
    )
    assert next_s < as_it_was_s
    assert base.seconds_per_ms == pytest.approx((doubled_s - as_it_was_s) / 15)
    assert base.seconds_per_ms > 0.001


def test_who_only_hangs_up_is_nobody_to_wait_for() -> None:
    worker = Conn(
        rtt_ms=1, exchanges=[*(Ex(service_ms=1) for _ in range(100)), Ex("quit", client_ms=240, round_trips=0)]
    )
    worker.exchanges[-1].answered = False
    leaver = Conn(
        handshake=False,
        client="10.0.0.1:50000",
        at_ms=440,
        exchanges=[Ex("quit", answered=False, round_trips=0)],
        state="running before",
    )
    alone, together = (Measures(build(each)).project([15]) for each in ([worker], [worker, leaver]))
    assert together.seconds_per_ms == pytest.approx(alone.seconds_per_ms)
    assert together.points[0].runtime_s == pytest.approx(alone.points[0].runtime_s, rel=0.01)


def test_the_latency_budget_is_where_the_target_is_met() -> None:
    connection = Conn(rtt_ms=1, exchanges=QUERIES)
    within = project(connection, rtt_ms=[1], within_s=60).within
    assert within is not None
    assert within.rtt_ms is not None
    assert central(connection, rtt_ms=within.rtt_ms) == pytest.approx(60)


def test_a_target_below_the_work_itself_cannot_be_met() -> None:
    within = project(Conn(rtt_ms=1, exchanges=QUERIES), within_s=0.1).within
    assert within is not None
    assert within.rtt_ms is None
    assert "cannot be met" in within.text


def test_throughput_falls_as_the_runtime_grows() -> None:
    point = project(Conn(rtt_ms=1, exchanges=QUERIES), rtt_ms=[100]).points[0]
    assert point.throughput_per_s == pytest.approx(1000 / (point.runtime_s or 0))


def test_large_responses_widen_the_range_upwards() -> None:
    def width(response_bytes: int) -> float:
        exchanges = [Ex(response_bytes=response_bytes, transfer_ms=1)]
        point = project(Conn(rtt_ms=0.1, exchanges=exchanges), rtt_ms=[50]).points[0]
        return (point.pessimistic_s or 0) - (point.runtime_s or 0)

    assert width(1_000_000) > width(1000) + 0.049


def test_workers_side_by_side_need_not_wait_for_each_other_in_the_optimistic_case() -> None:
    workers = [Conn(rtt_ms=1, exchanges=[Ex("query", service_ms=1, client_ms=3)] * 100) for _ in range(2)]
    workers[1].at_ms = 2.5
    point = project(*workers, rtt_ms=[101]).points[0]
    alone = central(workers[0], rtt_ms=101)
    assert point.optimistic_s == pytest.approx(alone, rel=0.06)
    assert (point.runtime_s or 0) > alone


def test_steady_pauses_may_end_by_a_clock_and_pauses_that_differ_do_not() -> None:
    def point(*pauses_ms: float) -> Point:
        return project(Conn(rtt_ms=1, exchanges=[Ex(client_ms=pause) for pause in pauses_ms]), rtt_ms=[11]).points[0]

    steady, uneven = point(*[20.0] * 60), point(*[10.0, 30.0, 14.0, 22.0, 26.0, 18.0] * 10)
    assert steady.runtime_s == pytest.approx(uneven.runtime_s, rel=0.01)
    assert (steady.optimistic_s or 0) < 60 * 0.0225
    assert (uneven.optimistic_s or 0) > 60 * 0.028


def pool(rtt_ms: float, *, threads: int, connections: int, queries: int) -> list[Conn]:
    """Connections are opened one after the other, then shared: each query takes what was free for longest."""
    opened, free, now = [], deque[int](), 0.0
    for number in range(connections):
        login = Ex("connect", at_ms=rtt_ms + 0.05, waited_ms=rtt_ms + 0.4)
        first = Ex("query", sql="set autocommit = ?", at_ms=2 * rtt_ms + 0.5, waited_ms=rtt_ms + 0.1)
        opened.append(Conn(rtt_ms=rtt_ms, at_ms=now, exchanges=[login, first]))
        free.append(number)
        now += 3 * rtt_ms + 0.7
    working = [(now + 0.01 * number, number, -1) for number in range(threads)]
    for number in range(queries):
        asked, thread, held = heapq.heappop(working)
        free.extend([held] if held >= 0 else [])
        connection = free.popleft()
        waited = rtt_ms + 0.2 + 0.01 * (number % 7)
        ask = Ex("query", sql="select ?", at_ms=asked - opened[connection].at_ms, waited_ms=waited)
        opened[connection].exchanges.append(ask)
        heapq.heappush(working, (asked + waited + 0.1, thread, connection))
    return opened


@pytest.mark.parametrize(("threads", "connections"), [(1, 1), (1, 4), (4, 8), (3, 16), (4, 4)])
def test_a_pool_meets_what_the_same_pool_takes_there(threads: int, connections: int) -> None:
    here, there = (pool(rtt, threads=threads, connections=connections, queries=400) for rtt in (1.0, 11.0))
    assert central(*here, rtt_ms=11.0) == pytest.approx(build(there).runtime_s, rel=0.02)


def test_a_connection_for_every_query_is_a_row_in_every_case() -> None:
    queries = [Conn(rtt_ms=1, at_ms=10 * number, exchanges=[Ex(service_ms=1)]) for number in range(50)]
    point = project(*queries, rtt_ms=[101]).points[0]
    assert point.optimistic_s == pytest.approx(point.runtime_s, rel=0.1)


def test_the_connection_that_ends_last_is_the_pessimistic_case() -> None:
    report = Conn(rtt_ms=1, exchanges=[Ex(service_ms=1301)])
    busy = Conn(rtt_ms=1, exchanges=QUERIES)
    point = project(busy, report, rtt_ms=[101]).points[0]
    assert point.pessimistic_s == pytest.approx(1.301 + 1001 * 0.1, rel=0.05)


def test_without_a_baseline_nothing_is_promised() -> None:
    projection = project(Conn(handshake=False, exchanges=[Ex(answered=False)]), rtt_ms=[1, 2], within_s=3)
    assert projection.points == (Point(1, None, None, None, None), Point(2, None, None, None, None))
    assert projection.seconds_per_ms is None
    assert projection.within is not None
    assert "unknown" in projection.within.text


LADDERS = st.lists(st.floats(min_value=0, max_value=1000), min_size=2, max_size=8).map(sorted)


@given(RECORDINGS, LADDERS)
def test_a_larger_rtt_is_never_faster_and_the_range_holds_the_middle(recording: Recording, ladder: list[float]) -> None:
    points = Measures(recording).project(ladder).points
    for point in points:
        if point.runtime_s is None or point.optimistic_s is None or point.pessimistic_s is None:
            return
        assert 0 <= point.optimistic_s <= point.runtime_s <= point.pessimistic_s
    runtimes = [point.runtime_s or 0 for point in points]
    assert all(before <= after + 1e-9 for before, after in pairwise(runtimes))


def test_a_job_of_two_rtts_has_none_that_was_observed() -> None:
    near, far = (Conn([Ex() for _ in range(40)], rtt_ms=rtt, client=f"10.0.0.{rtt}:1") for rtt in (1, 15))
    projection = Measures(build([near, far])).project([1.0, 2.0])
    assert [point.method for point in projection.points] == ["replayed"] * 2
    assert all((point.optimistic_s or 0) < (point.pessimistic_s or 0) for point in projection.points)
