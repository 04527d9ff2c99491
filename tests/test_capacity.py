"""What more connections get done, from queues whose servers and locks are known."""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
import pytest
from builder import Conn, Ex, build

from latpcap.projection.capacity import ClosedNetwork, Locks, ServiceCenter
from latpcap.projection.project import Conditions, Projection
from latpcap.result.analysis import Measures
from latpcap.tables.recording import Recording

RTT_MS = 1.0


def closed(
    connections: int,
    servers: int,
    *,
    service_ms: float = 1.0,
    away_ms: float = 4.0,
    turns: int = 200,
    even: bool = False,
    rtt_ms: float = RTT_MS,
) -> list[list[tuple[float, float]]]:
    """When each connection of a closed loop asks, and is answered: `servers` work first come, first served."""
    random = np.random.default_rng(7)
    free = [0.0] * servers
    asking = [(random.uniform(0, away_ms), number) for number in range(connections)]
    asked: list[list[tuple[float, float]]] = [[] for _ in range(connections)]
    for _ in range(turns * connections):
        now, number = heapq.heappop(asking)
        begun = max(heapq.heappop(free), now)
        done = begun + (service_ms if even else random.exponential(service_ms))
        heapq.heappush(free, done)
        asked[number].append((now, done))
        heapq.heappush(asking, (done + rtt_ms + random.exponential(away_ms), number))
    return asked


def recorded(asked: list[list[tuple[float, float]]], rtt_ms: float = RTT_MS) -> Recording:
    """As the clients saw it."""
    return build(
        [
            Conn(exchanges=[Ex(at_ms=10 + at, waited_ms=rtt_ms + done - at) for at, done in each], rtt_ms=rtt_ms)
            for each in asked
        ]
    )


def projected(recording: Recording, connections: int, rtt_ms: float = RTT_MS) -> Projection:
    measures = Measures(recording, rtt_baseline_ms=RTT_MS)
    return measures.project([rtt_ms], conditions=Conditions(connections=connections))


def really_s(connections: int, servers: int, turns: int, **queue: float) -> float:
    asked = closed(connections, servers, turns=turns // connections, **queue)  # type: ignore[arg-type]
    return max(done for each in asked for _, done in each) / 1000


@pytest.mark.parametrize(("near_ms", "far_ms"), [(1.0, 20.0), (1.0, 5.0), (8.0, 1.0)])
@pytest.mark.parametrize("servers", [1, 2])
def test_queues_at_the_servers_are_others_at_another_rtt(servers: int, near_ms: float, far_ms: float) -> None:
    here, there = (closed(10, servers, turns=300, rtt_ms=rtt_ms) for rtt_ms in (near_ms, far_ms))
    real_s = max(done for each in there for _, done in each) / 1000
    [point] = Measures(recorded(here, near_ms), rtt_baseline_ms=near_ms).project([far_ms]).points
    assert point.runtime_s == pytest.approx(real_s, rel=0.12)
    assert point.optimistic_s is not None
    assert point.pessimistic_s is not None
    assert point.optimistic_s <= real_s <= point.pessimistic_s


def of_one_processor(connections: int, rtt_ms: float, turns: int = 100) -> list[list[tuple[float, float]]]:
    """The same of a client that asks for all of its connections with one processor, first answered, first asked for."""
    random = np.random.default_rng(7)
    free, answered = 0.0, [(random.uniform(0, 1), number) for number in range(connections)]
    asked: list[list[tuple[float, float]]] = [[] for _ in range(connections)]
    for _ in range(turns * connections):
        now, number = heapq.heappop(answered)
        free = max(free, now) + random.uniform(0.2, 0.8)
        done = free + random.exponential(0.1)
        asked[number].append((free, done))
        heapq.heappush(answered, (done + rtt_ms, number))
    return asked


@pytest.mark.parametrize("far_ms", [3.0, 15.0])
@pytest.mark.parametrize("connections", [4, 8])
def test_a_client_that_is_busy_nearby_needs_less_for_each_turn_farther_away(connections: int, far_ms: float) -> None:
    here, there = (of_one_processor(connections, rtt_ms) for rtt_ms in (0.5, far_ms))
    real_s = max(done for each in there for _, done in each) / 1000
    [point] = Measures(recorded(here, 0.5), rtt_baseline_ms=0.5).project([far_ms]).points
    assert point.optimistic_s is not None
    assert point.pessimistic_s is not None
    assert point.optimistic_s <= real_s <= point.pessimistic_s


def test_hosts_at_their_limit_are_no_faster_at_a_shorter_rtt() -> None:
    [point] = Measures(recorded(closed(10, 1, away_ms=2)), rtt_baseline_ms=RTT_MS).project([0.1]).points
    assert point.runtime_s == pytest.approx(2.0, rel=0.1)  # 2,000 turns of 1 ms
    assert point.method == "limited by capacity"


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("connections", [6, 10])
def test_more_connections_than_the_servers_can_serve(servers: int, connections: int) -> None:
    projection = projected(recorded(closed(connections, servers, turns=400)), 40)
    [point] = projection.points
    real_s = really_s(40, servers, 400 * connections)
    assert point.optimistic_s is not None
    assert point.pessimistic_s is not None
    assert point.optimistic_s <= 1.05 * real_s
    assert real_s <= 1.05 * point.pessimistic_s


def test_a_limit_that_shows_is_named() -> None:
    projection = projected(recorded(closed(10, 1)), 40)
    assert projection.limit is not None
    assert projection.limit.kind == "hosts"
    assert projection.capacity_per_s == pytest.approx(1000, rel=0.25)
    assert projection.points[0].method == "limited by capacity"
    assert f"{projection.limit.kind}" in projection.limit.text.lower()


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("connections", [2, 8])
def test_a_service_that_sleeps_shows_no_limit(connections: int, even: bool) -> None:
    projection = projected(recorded(closed(connections, 64, even=even)), 32)
    assert projection.limit is not None
    assert projection.limit.kind == "none"
    assert projection.capacity_per_s is None
    [point] = projection.points
    assert point.optimistic_s == pytest.approx((projection.now.runtime_s or 0) * connections / 32, rel=0.35)  # type: ignore[union-attr]
    assert (point.pessimistic_s or 0) > 1.5 * (point.optimistic_s or 0)


def test_a_server_that_rests_for_a_tenth_of_the_time_shows_no_limit() -> None:
    projection = projected(recorded(closed(7, 1)), 40)
    assert projection.limit is not None
    assert projection.limit.kind == "none"


def in_batches(turns: int) -> list[list[tuple[float, float]]]:
    """Two groups of five take turns; a server needs 0.5 ms for each of those that come, and answers all at its end."""
    random = np.random.default_rng(7)
    free, due = 0.0, [0.0, 0.0]
    asked: list[list[tuple[float, float]]] = [[] for _ in range(10)]
    for turn in range(turns):
        group = turn % 2
        coming = [place for place in range(5) if random.random() < 0.8] or [0]
        begun, free = due[group], max(due[group], free) + 0.5 * len(coming)
        for late, place in enumerate(coming):
            asked[5 * group + place].append((begun, free + 0.02 * late))
        due[group] = free + RTT_MS + 0.2
    return asked


def test_a_server_that_is_always_busy_and_answers_in_bursts_shows_no_limit_and_may_do_as_much_as_in_these() -> None:
    projection = projected(recorded(in_batches(400)), 40)
    assert projection.limit is not None
    assert projection.limit.kind == "none"
    [point], now_s = projection.points, (projection.now and projection.now.runtime_s) or 0.0
    assert (point.optimistic_s or 0) < 0.3 * now_s


def test_a_limit_that_is_seldom_met_is_none() -> None:
    projection = projected(recorded(closed(4, 2, away_ms=40)), 16)
    assert projection.limit is not None
    assert projection.limit.kind == "none"
    assert projection.capacity_per_s is None


@pytest.mark.parametrize("servers", [1, 2])
def test_the_limit_bounds_the_runtime(servers: int) -> None:
    turns = 200
    projection = projected(recorded(closed(8 * servers, servers, turns=turns)), 64)
    [point] = projection.points
    assert projection.capacity_per_s is not None
    assert (point.runtime_s or 0) >= 0.999 * 8 * servers * turns / projection.capacity_per_s
    assert (point.optimistic_s or 0) < (point.runtime_s or 0) < (point.pessimistic_s or 0)


@pytest.mark.parametrize("connections", [1, 2, 8])
def test_where_no_limit_shows_the_range_reaches_from_no_gain_to_full_scaling(connections: int) -> None:
    projection = projected(recorded(closed(connections, 64)), 4 * connections)
    [point] = projection.points
    now_s = (projection.now and projection.now.runtime_s) or 0.0
    assert (point.optimistic_s or 0) <= 1.05 * now_s / 4
    assert (point.pessimistic_s or 0) >= now_s
    assert projection.limit is not None
    assert projection.limit.text.startswith("The capture shows no host or lock limit")
    assert "no speed-up" in projection.limit.text


def test_one_connection_tells_of_no_limit() -> None:
    projection = projected(recorded(closed(1, 1)), 4)
    assert projection.limit is not None
    assert projection.limit.kind == "none"


def test_as_many_connections_as_there_were_take_what_was_observed() -> None:
    projection = projected(recorded(closed(8, 1)), 8)
    assert projection.points[0].runtime_s == pytest.approx(projection.now.runtime_s, rel=0.1)  # type: ignore[union-attr]


@pytest.mark.parametrize("servers", [1, 64])
def test_the_runtime_with_more_connections_never_shrinks_with_the_rtt(servers: int) -> None:
    measures = Measures(recorded(closed(8, servers)), rtt_baseline_ms=RTT_MS)
    projection = measures.project([0, 0.1, 0.5, 1, 2, 5, 20, 100], conditions=Conditions(connections=30))
    for figure in ("optimistic_s", "runtime_s", "pessimistic_s"):
        runtimes = [getattr(point, figure) for point in projection.points]
        assert all(nearer <= farther + 1e-9 for nearer, farther in pairwise(runtimes))


def test_connections_with_room_left_get_more_done() -> None:
    recording = recorded(closed(2, 64))
    runtimes = [projected(recording, count).points[0].runtime_s or 0.0 for count in (2, 4, 8, 16)]
    assert all(more < fewer for fewer, more in pairwise(runtimes))


def transactions(connections: int, turns: int, *, rtt_ms: float = RTT_MS) -> list[Conn]:
    """Transactions of four statements: the second locks the one row, until the commit."""
    asked: list[list[Ex]] = [[] for _ in range(connections)]
    waiting = [(10.0 + 0.3 * number, number) for number in range(connections)]
    free_ms = 0.0
    for _ in range(turns * connections):
        at, number = heapq.heappop(waiting)
        steps = [("query", "begin", at, at + rtt_ms)]
        locked = at + rtt_ms + 0.1
        granted = max(locked + rtt_ms / 2, free_ms)
        answered = granted + 0.05 + rtt_ms / 2
        steps.append(("query", "update t set n = n + ?", locked, answered))
        steps.append(("query", "insert into u values (?)", answered + 0.1, answered + 0.1 + rtt_ms))
        commit = answered + 0.2 + rtt_ms
        steps.append(("query", "commit", commit, commit + rtt_ms))
        free_ms = commit + rtt_ms / 2
        asked[number] += [Ex(verb, sql=sql, at_ms=begin, waited_ms=end - begin) for verb, sql, begin, end in steps]
        heapq.heappush(waiting, (commit + rtt_ms + 0.1, number))
    return [Conn(exchanges=each, rtt_ms=rtt_ms) for each in asked]


def test_what_locks_leave_never_shrinks_with_the_rtt_and_depends_on_no_other_rtt() -> None:
    measures = Measures(build(transactions(4, 100)), rtt_baseline_ms=RTT_MS)
    asked, conditions = [0, 0.1, 0.5, 1, 2, 5, 20], Conditions(connections=20)
    points = measures.project(asked, conditions=conditions).points
    for figure in ("optimistic_s", "runtime_s", "pessimistic_s"):
        runtimes = [getattr(point, figure) for point in points]
        assert all(nearer <= farther + 1e-9 for nearer, farther in pairwise(runtimes))
    assert points[3:4] == measures.project([asked[3]], conditions=conditions).points


def test_locks_limit_more_connections() -> None:
    """Held for two round trips and 0.25 ms: at 1 ms 444 transactions a second, at 5 ms 97, whoever else comes."""
    measures = Measures(build(transactions(4, 100)), rtt_baseline_ms=RTT_MS)
    for rtt_ms, held_ms in ((1.0, 2.25), (5.0, 10.25)):
        projection = measures.project([rtt_ms], conditions=Conditions(connections=20))
        assert projection.limit is not None
        assert projection.limit.kind == "locks"
        assert projection.limit.per_s == pytest.approx(1000 / held_ms, rel=0.1)
        [point] = projection.points
        assert (point.optimistic_s or 0) <= 0.4 * held_ms <= (point.pessimistic_s or 0)


def over_s(transacting: list[Conn]) -> float:
    """When the last of them is answered."""
    return max(each.exchanges[-1].at_ms + each.exchanges[-1].waited_ms for each in transacting) / 1000


@pytest.mark.parametrize("rtt_ms", [1.0, 5.0, 20.0])
def test_fewer_connections_do_not_wait_for_the_locks_of_more(rtt_ms: float) -> None:
    measures = Measures(build(transactions(4, 100)), rtt_baseline_ms=RTT_MS)
    [point], [as_many] = (
        measures.project([rtt_ms], conditions=Conditions(connections=connections)).points for connections in (1, 4)
    )
    alone_s = over_s(transactions(1, 400, rtt_ms=rtt_ms))
    assert (point.runtime_s or 0) < 0.8 * 4 * (as_many.runtime_s or 0)
    assert (point.optimistic_s or 0) <= alone_s <= (point.pessimistic_s or 0)


@pytest.mark.parametrize("rtt_ms", [0.5, 5.0])
def test_locks_that_nobody_waited_for_bound_no_runtime(rtt_ms: float) -> None:
    measures = Measures(build(transactions(1, 100, rtt_ms=20.0)), rtt_baseline_ms=20.0)
    [as_it_was], [one] = (
        measures.project([rtt_ms], conditions=told).points for told in (Conditions(), Conditions(connections=1))
    )
    assert [one.optimistic_s, one.runtime_s, one.pessimistic_s] == pytest.approx(
        [as_it_was.optimistic_s, as_it_was.runtime_s, as_it_was.pessimistic_s], rel=0.02
    )


def test_hosts_that_were_idle_most_of_the_time_have_no_limit_and_may_do_more_than_shows() -> None:
    """A server that needs longer after it slept: the less it has to do, the farther its limit may be."""
    idle, busy = (projected(recorded(closed(8, 1, service_ms=1.0, away_ms=away_ms)), 400) for away_ms in (40.0, 4.0))
    assert [each.limit.kind for each in (idle, busy) if each.limit] == ["none", "hosts"]
    [idle_reach, busy_reach] = [
        (point.runtime_s or 0) / (point.optimistic_s or 1) for each in (idle, busy) for point in each.points
    ]
    assert idle_reach > 1.5 * busy_reach


@pytest.mark.parametrize("connections", [4, 10])
def test_busy_clients_that_hardly_meet_are_no_limit_and_the_range_is_told_in_figures(connections: int) -> None:
    """Their loop is closed and steady, so that someone is always there; but nobody waits for another one."""
    projection = projected(recorded(closed(connections, 2, service_ms=0.3, away_ms=0.3 * connections)), 20)
    [point] = projection.points
    assert projection.limit is not None
    assert projection.limit.kind == "none"
    assert point.method == "replayed"
    assert "At 1 ms that is between " in projection.limit.text
    assert projection.limit.text.endswith(" statements a second; a capture with more connections narrows it.")


def test_locks_that_were_hardly_ever_held_are_no_limit() -> None:
    held = Locks(1000, 0.004, 2, 1, 0.004, 0.2, 0.25, shown=True)
    assert held.limits(runtime_s=1.0)
    assert not held.limits(runtime_s=4.0)


@pytest.mark.parametrize("side", [-1, 0, 1])
@pytest.mark.parametrize("farther_s", [-0.0025, -0.015, -0.0201, 0.0])
def test_transactions_that_take_no_time_there_wait_for_no_locks(farther_s: float, side: int) -> None:
    locks = Locks(400, 0.0025, 1, 1, 0.004, 0.5, 0.55, shown=True)
    hosts = ServiceCenter(1200, 0.0005, 0.0002, 0, 0.0007, shown=False)
    for connections in (2, 4, 16):
        [runtime_s] = ClosedNetwork(4.0, 0.9, hosts, None, locks).runtime(
            np.array([0.5]), np.array([farther_s]), connections, side
        )
        assert 0 < runtime_s < 10
