"""Tasks: where they begin and end, who works on them, and that nothing is lost or counted twice."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, read_fixture

from latpcap import Capture, UsageError, read
from latpcap.measures.tasks import Tasks
from latpcap.result.tasks import summary

Run = Callable[..., subprocess.CompletedProcess[bytes]]

LIST, SHOW = "route='%2Flist'", "route='%2Fshow'"


def found(connections: list[Conn], idle_s: float = 1.0, by: str = "idle") -> Tasks:
    return Capture(build(connections)).measures.tasks(idle_s, by)  # type: ignore[arg-type]


def burst(count: int, rest_ms: float = 0.0, **more: object) -> list[Ex]:
    """`count` queries, the first of them after a rest."""
    return [Ex(client_ms=rest_ms if n == 0 else 0.5, service_ms=1, **more) for n in range(count)]  # type: ignore[arg-type]


def test_a_rest_ends_a_task() -> None:
    tasks = found([Conn(exchanges=[*burst(3), *burst(2, rest_ms=1500), *burst(4, rest_ms=900)])])
    assert tasks.round_trips.tolist() == [3, 6]
    assert tasks.statements.tolist() == [3, 6]


@pytest.mark.parametrize("name", ["findings/deadlocks-pg", "findings/prepared-each", "mysql/nplus1-300-server"])
def test_a_task_that_is_all_there_is_waits_for_the_network_as_the_recording_does(name: str) -> None:
    measures = read_fixture(name).measures
    assert measures.tasks().network_ns.tolist() == pytest.approx([1e9 * measures.timeline.waits.shared_s], abs=1)


def test_the_length_of_the_rest_is_the_users() -> None:
    exchanges = [*burst(3), *burst(2, rest_ms=1500), *burst(4, rest_ms=900)]
    assert len(found([Conn(exchanges=exchanges)], idle_s=0.5)) == 3
    assert len(found([Conn(exchanges=exchanges)], idle_s=2)) == 1


def test_a_task_lasts_from_its_first_packet_to_its_last() -> None:
    tasks = found([Conn(rtt_ms=10, handshake=False, exchanges=burst(3))])
    assert tasks.duration_ns[0] == pytest.approx((3 * 11 + 2 * 0.5) * 1e6)


def test_the_handshake_belongs_to_the_task_that_it_opens_and_counts_as_a_wait() -> None:
    tasks = found([Conn(rtt_ms=10, exchanges=burst(3))])
    assert tasks.round_trips.tolist() == [3]
    assert tasks.effective_round_trips.tolist() == [4]


def test_a_pool_serves_one_task_after_the_other() -> None:
    """Three connections that take turns: each rests while others work, yet they rest together only once."""
    turns = [[Ex(at_ms=1000 * n + 300 * turn + 10, service_ms=1) for n in (0, 1, 2, 20, 21)] for turn in range(3)]
    tasks = found([Conn(exchanges=each, client=f"10.0.0.1:4000{n}") for n, each in enumerate(turns)])
    assert tasks.round_trips.tolist() == [9, 6]
    assert tasks.connections.tolist() == [3, 3]


def test_workers_that_rest_at_different_times_have_tasks_of_their_own() -> None:
    def worker(starts: list[int]) -> list[Ex]:
        return [Ex(at_ms=start + 10 * n, service_ms=9) for start in starts for n in range(400)]

    tasks = found(
        [
            Conn(exchanges=worker([10, 6010]), client="10.0.0.1:40000"),
            Conn(exchanges=worker([2010, 8010]), client="10.0.0.1:40001"),
            Conn(exchanges=worker([4010]), client="10.0.0.1:40002"),
        ]
    )
    assert tasks.round_trips.tolist() == [400] * 5
    assert set(tasks.connections.tolist()) == {1}


def test_connections_that_rest_together_work_on_one_task_and_count_once() -> None:
    def worker() -> list[Ex]:
        return [Ex(at_ms=start + 10 * n, service_ms=9) for start in (10, 5010) for n in range(100)]

    tasks = found([Conn(exchanges=worker(), client=f"10.0.0.1:4000{n}", handshake=False) for n in range(4)])
    assert tasks.round_trips.tolist() == [400, 400]
    assert tasks.effective_round_trips.tolist() == pytest.approx([100, 100], rel=0.05)


def test_other_hosts_have_other_tasks() -> None:
    hosts = [Conn(exchanges=burst(3), client=f"10.0.0.{n}:40000") for n in (1, 2)]
    tasks = found(hosts)
    assert tasks.client == ["10.0.0.1", "10.0.0.2"]
    assert tasks.effective_round_trips.tolist() == [4, 4]


def test_a_goodbye_after_a_rest_is_no_task() -> None:
    quit_later = Ex("quit", client_ms=5000, answered=False, round_trips=0)
    tasks = found([Conn(exchanges=[*burst(3), quit_later])])
    assert tasks.round_trips.tolist() == [3]
    assert tasks.exchanges.tolist() == [4]
    assert tasks.duration_ns[0] < 1e9


def test_a_task_by_route_ends_where_the_route_changes() -> None:
    steps = [*burst(2, tags=LIST), *burst(3, tags=SHOW), *burst(1, tags=LIST)]
    tasks = found([Conn(exchanges=steps)], by="route")
    assert tasks.route == ["/list", "/show", "/list"]
    assert tasks.round_trips.tolist() == [2, 3, 1]


def test_what_opens_a_transaction_belongs_to_the_route_after_it_and_all_else_to_that_before() -> None:
    def request(tags: str) -> list[Ex]:
        return [Ex(sql="begin"), Ex(sql="select a", tags=tags), Ex(sql="commit")]

    tasks = found([Conn(exchanges=[*request(LIST), *request(SHOW)])], by="route")
    assert tasks.route == ["/list", "/show"]
    assert tasks.round_trips.tolist() == [3, 3]
    assert tasks.transactions.tolist() == [1, 1]


def test_between_rests_a_task_has_a_route_where_all_its_statements_name_one() -> None:
    assert found([Conn(exchanges=burst(3, tags=LIST))]).route == ["/list"]
    assert found([Conn(exchanges=[*burst(1, tags=LIST), *burst(1, tags=SHOW)])]).route == [None]


def test_where_no_rtt_is_known_the_waits_are_counted_and_their_time_is_not() -> None:
    capture = Capture(build([Conn(exchanges=[Ex(), Ex()])]))
    assert capture.tasks.column("network_s")[0] == pytest.approx(0.003)
    unknown = found([Conn(handshake=False, exchanges=[Ex(answered=False)])])
    assert unknown.round_trips.tolist() == [1]
    assert np.isnan(unknown.network_ns[0])


@pytest.mark.parametrize("by", ["idle", "route"])
@pytest.mark.parametrize(
    "name", ["mysql/pool-4.pcapng", "mysql/parallel-8.pcapng", "findings/orm-requests-pg.pcapng.zst"]
)
def test_every_exchange_belongs_to_one_task(name: str, by: str) -> None:
    capture = read(FIXTURES / name)
    tasks = capture.measures.tasks(0.01, by)  # type: ignore[arg-type]
    assert np.bincount(tasks.of_exchange, minlength=len(tasks)).tolist() == tasks.exchanges.tolist()
    assert tasks.round_trips.sum() == capture.exchanges.column("round_trips").sum()
    assert (tasks.duration_ns >= 0).all()


def test_one_task_is_the_whole_analysis() -> None:
    capture = read(FIXTURES / "mysql/nplus1-300-client.pcapng")
    [task], summed = capture.tasks.to_dicts(), capture.analyze().summary
    assert task["round_trips"] == summed.round_trips
    assert task["duration_s"] == pytest.approx(summed.runtime_s)
    assert task["seconds_per_ms"] == pytest.approx(summed.seconds_per_ms)
    assert task["network_s"] / task["duration_s"] == pytest.approx(summed.network_share, rel=1e-6)


def test_a_capture_at_the_server_shows_the_tasks_of_the_client() -> None:
    client, server = (read(FIXTURES / f"mysql/nplus1-300-{end}.pcapng").tasks for end in ("client", "server"))
    assert client.column("round_trips").tolist() == server.column("round_trips").tolist()
    assert client.column("duration_s") == pytest.approx(server.column("duration_s"), rel=0.01)


def test_on_a_path_that_changes_each_task_has_the_rtt_of_its_time() -> None:
    capture = read(FIXTURES / "mysql/path-changes.pcapng.zst")
    [whole], summed = capture.tasks.to_dicts(), capture.analyze().summary
    assert whole["network_s"] == pytest.approx(summed.network_s, rel=0.01)
    trips = capture.tasks_at(idle_s=0.004)
    assert trips.column("baseline_rtt_ms").min() < 6
    assert trips.column("baseline_rtt_ms").max() > 15


def test_what_is_typical_are_values_that_a_task_had() -> None:
    typical = summary(found([Conn(exchanges=[*burst(3), *burst(2, rest_ms=1500), *burst(9, rest_ms=1500)])]))
    assert typical is not None
    assert (typical.tasks, typical.round_trips.p50, typical.round_trips.p95) == (3, 3, 9)


def test_a_rest_is_a_length_of_time() -> None:
    capture = Capture(build([Conn(exchanges=burst(2))]))
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError):
            capture.tasks_at(wrong)


def test_the_command_says_what_is_typical_and_lists_them(latpcap: Run) -> None:
    path = FIXTURES / "mysql/think-time.pcapng"
    text = latpcap("table", "tasks", path, "--quiet").stdout.decode()
    assert text.startswith("3 tasks; median 10 round trips, 12.1 ms; largest 12 round trips, ")
    rows = [
        json.loads(line) for line in latpcap("table", "tasks", path, "--format", "jsonl", "--quiet").stdout.splitlines()
    ]
    assert [row["round_trips"] for row in rows] == [12, 10, 10]
    assert len(latpcap("table", "tasks", path, "--idle", "10s", "--format", "jsonl").stdout.splitlines()) == 1


def test_routes_are_shown_where_there_are_any(latpcap: Run) -> None:
    tagged, plain = FIXTURES / "findings/tagged-my.pcapng.zst", FIXTURES / "mysql/think-time.pcapng"
    assert b"/shop/show" in latpcap("table", "tasks", tagged, "--by", "route", "--quiet").stdout
    assert b"route" not in latpcap("table", "tasks", plain, "--quiet").stdout


def test_tasks_are_a_table_of_sql() -> None:
    pytest.importorskip("duckdb")
    capture = read(FIXTURES / "mysql/think-time.pcapng")
    assert capture.sql("select max(round_trips) as most from tasks").column("most").tolist() == [12]
