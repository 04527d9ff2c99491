"""Only a part of a job goes elsewhere: one of its servers, or how much of their own time client and server take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build, build_awake
from conftest import FIXTURES

from latpcap import read
from latpcap.capture import Capture, CaptureOptions
from latpcap.errors import NothingSelected, UsageError
from latpcap.projection.project import Projection
from latpcap.units import parse_part

Run = Callable[..., Any]
DATA = CaptureOptions(rtt_is="in-stream")
N_PLUS_ONE = FIXTURES / "mysql/jdbc-mysql-nplus1.pcapng"


def two_servers() -> Capture:
    """100 statements to each of two servers, one after the other: half a second at 1 ms, half a second at 2 ms."""
    statements = [Ex(sql="select a from t", service_ms=1, client_ms=2)] * 100
    near = Conn(statements, server="10.0.0.2:3306", rtt_ms=1)
    far = Conn(statements, server="10.0.0.3:5432", rtt_ms=2, at_ms=401)
    return Capture(build_awake([near, far]), DATA)


def runtime(projection: Projection) -> float:
    [point] = projection.points
    assert point.runtime_s is not None
    return point.runtime_s


def added(capture: Capture, **asked: object) -> float:
    projection = capture.project(**asked)  # type: ignore[arg-type]
    assert projection.now is not None
    assert projection.now.runtime_s is not None
    return runtime(projection) - projection.now.runtime_s


@pytest.mark.parametrize("server", ["10.0.0.3", "10.0.0.3:5432", ":5432"])
def test_only_the_server_that_is_moved_gets_the_rtt(server: str) -> None:
    assert added(two_servers(), move={server: 12.0}) == pytest.approx(101 * 0.010, rel=0.01)


def test_all_else_has_the_rtt_that_is_asked_for() -> None:
    moved = added(two_servers(), rtt_ms=4.0, move={"10.0.0.3": 12.0})
    assert moved == pytest.approx(101 * 0.010 + 101 * 0.003, rel=0.01)


def test_a_move_of_its_own_is_one_point_at_its_rtt() -> None:
    projection = two_servers().project(move={"10.0.0.2": 5.0, "10.0.0.3": 12.0})
    assert [point.rtt_ms for point in projection.points] == [12.0]
    assert (
        projection.conditions.text
        == "RTTs of the data itself, only 10.0.0.2:3306 at 5 ms and 10.0.0.3:5432 at 12 ms, all else unchanged"
    )


def test_a_move_to_where_it_is_changes_nothing() -> None:
    assert abs(added(two_servers(), move={"10.0.0.3": 2.0})) < 1e-6


def test_the_next_millisecond_is_that_of_what_moves() -> None:
    capture = two_servers()
    assert capture.project(move={"10.0.0.3": 12.0}).seconds_per_ms == pytest.approx(0.101, rel=0.01)
    assert capture.project(12.0).seconds_per_ms == pytest.approx(0.202, rel=0.01)


def test_the_rtt_that_meets_a_runtime_is_that_of_what_moves() -> None:
    capture = two_servers()
    target = runtime(capture.project(move={"10.0.0.3": 12.0}))
    within = capture.project(within_s=target, move={"10.0.0.3": 30.0}).within
    assert within is not None
    assert within.rtt_ms == pytest.approx(12.0, rel=0.01)


def test_a_longer_rtt_is_never_faster_wherever_one_server_moves() -> None:
    capture = two_servers()
    runtimes = [runtime(capture.project(move={"10.0.0.3": rtt})) for rtt in (0.0, 0.5, 2.0, 2.1, 9.0, 50.0)]
    assert runtimes == sorted(runtimes)


def test_a_server_that_is_none_of_them_is_refused_with_those_there_are() -> None:
    with pytest.raises(NothingSelected, match=r"10\.0\.0\.2:3306 .*10\.0\.0\.3:5432"):
        two_servers().project(move={"10.0.0.9": 12.0})


def test_one_server_has_one_rtt() -> None:
    with pytest.raises(UsageError, match="give one of them"):
        two_servers().project(move={"10.0.0.3": 12.0, ":5432": 13.0})


def test_a_pseudonym_is_moved_and_shown_for_a_real_name() -> None:
    text = read(N_PLUS_ONE, pseudonymise=True).project(move={":3306": 15.0}).conditions.text
    assert text == "only server-1:3306 at 15 ms, all else unchanged"


def test_a_part_of_the_own_time_is_saved_statement_by_statement() -> None:
    exchanges = [Ex(sql="select a from t", service_ms=3, client_ms=2)] * 100
    capture = Capture(build_awake([Conn(exchanges, rtt_ms=1)]))
    assert added(capture, rtt_ms=1.0, service=0.5) == pytest.approx(-100 * 0.0015, rel=0.01)
    assert added(capture, rtt_ms=1.0, client=0.5) == pytest.approx(-100 * 0.001, rel=0.02)
    assert added(capture, rtt_ms=1.0, service=2.0) == pytest.approx(100 * 0.003, rel=0.01)


def test_a_faster_client_thinks_as_long() -> None:
    pauses = [Ex(sql="select a from t", service_ms=1, client_ms=2_000)] * 5
    assert abs(added(Capture(build([Conn(pauses, rtt_ms=1)])), rtt_ms=1.0, client=0.5)) < 1e-6


def test_what_faster_hosts_save_stands_beside_what_the_network_takes() -> None:
    capture = Capture(build_awake([Conn([Ex(sql="select a from t", service_ms=1)] * 100, rtt_ms=1)]), DATA)
    hosts = capture.project(15.0, service=0.5).hosts
    assert hosts is not None
    assert hosts.saved_s == pytest.approx(0.05, rel=0.02)
    assert hosts.network_s == pytest.approx(101 * 0.015, rel=0.02)
    assert "at 15 ms" in hosts.text


def test_the_budget_there_adds_up_to_the_runtime_there() -> None:
    for rtt_ms in (0.2, 1.0, 15.0, 100.0):
        projection = read(N_PLUS_ONE).project(rtt_ms)
        assert projection.headline_budget is not None
        assert sum(projection.headline_budget.parts().values()) == pytest.approx(runtime(projection))


def test_at_the_baseline_the_budget_is_that_of_the_capture() -> None:
    capture = read(N_PLUS_ONE)
    now = capture.analyze().budget
    baseline = capture.project().baseline_rtt_ms
    there = capture.project(baseline).headline_budget
    assert there is not None
    assert there.parts() == pytest.approx(now.parts(), abs=1e-6)


@pytest.mark.parametrize("command", ["project", "analyze"])
def test_the_commands_say_what_moved(command: str, latpcap: Run) -> None:
    done = latpcap(command, N_PLUS_ONE, "--move", ":3306=15ms")
    assert (done.returncode, "all else unchanged" in done.stdout.decode()) == (0, True)


@pytest.mark.parametrize(
    ("name", "told"),
    [("report.md", "only 10.77.0.2:3306 at 15 ms"), ("report.html", "The slider moves 10.77.0.2:3306 alone")],
)
def test_a_report_moves_a_server(tmp_path: Path, latpcap: Run, name: str, told: str) -> None:
    assert latpcap("analyze", N_PLUS_ONE, "--move", ":3306=15ms", "-o", tmp_path / name).returncode == 0
    assert told in (tmp_path / name).read_text("utf-8")


@pytest.mark.parametrize("given", ["15ms", "=15ms", "10.0.0.3=soon"])
def test_a_move_names_a_server_and_its_rtt(given: str, latpcap: Run) -> None:
    done = latpcap("project", N_PLUS_ONE, "--move", given)
    assert (done.returncode, "--move" in done.stderr.decode()) == (2, True)


def test_a_gate_asks_for_the_runtime_where_one_server_moved(latpcap: Run) -> None:
    gate = ["--fail-if", "project(15ms) > 10min"]
    assert latpcap("project", N_PLUS_ONE, "--move", ":3306=15ms", *gate).returncode == 0


def test_a_client_in_per_cent_is_its_own_time(latpcap: Run) -> None:
    done = latpcap("project", N_PLUS_ONE, "--rtt", "15ms", "--client-time", "50%")
    assert (done.returncode, "50% of the client's own time" in done.stdout.decode()) == (0, True)


@pytest.mark.parametrize("text", ["-1%", "half", "1e9"])
def test_what_is_no_part_of_a_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_part(text)
