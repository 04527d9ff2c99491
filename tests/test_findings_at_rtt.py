"""Findings at the RTT that is asked for: whether there is nothing to fix, how grave each is, and their order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

import latpcap
from latpcap.capture import Capture
from latpcap.findings import FindingResult


def reads(count: int, client_ms: float) -> list[Ex]:
    return [Ex(sql=f"select a from t{n}", rows=1, client_ms=client_ms) for n in range(count)]


def found(rtt_ms: float, *connections: Conn) -> list[FindingResult]:
    return list(Capture(build(list(connections))).analyze([rtt_ms]).findings)


@pytest.mark.parametrize(("rtt_ms", "code"), [(0.1, "healthy"), (1, "healthy"), (15, "network-bound")])
def test_nothing_to_fix_is_judged_at_the_asked_rtt(rtt_ms: float, code: str) -> None:
    (only,) = found(rtt_ms, Conn(rtt_ms=0.1, exchanges=reads(9, client_ms=20)))
    assert only.code == code
    assert only.title.startswith("Nothing to fix" if code == "healthy" else "No avoidable round trips found, but at 15")


def test_a_slow_capture_is_healthy_where_it_is_asked_for_a_short_rtt() -> None:
    conn = Conn(rtt_ms=40, exchanges=reads(9, client_ms=20))
    assert [found(rtt, conn)[0].code for rtt in (40, 0.5)] == ["network-bound", "healthy"]


@pytest.mark.parametrize(
    "name", ["mysql/jdbc-mariadb-batch-bulk", "postgresql/pgbench-pipeline", "postgresql/psycopg3-pipeline-50"]
)
def test_who_sends_statements_together_is_not_told_to(name: str) -> None:
    (only,) = read_fixture(name).analyze([15]).findings
    assert only.code == "network-bound"
    assert "pipeline" not in only.fix
    assert "batch" not in only.fix


def pings(work_ms: float) -> Conn:
    steps = [each for n in range(12) for each in (Ex("ping"), Ex(sql=f"select a from t{n}", rows=1, client_ms=work_ms))]
    return Conn(rtt_ms=0.1, exchanges=[Ex(sql="select 0", rows=1), *steps])


@pytest.mark.parametrize(("rtt_ms", "severity"), [(15, "low"), (100, "medium"), (900, "high")])
def test_severity_is_the_share_of_the_runtime_at_the_asked_rtt(rtt_ms: float, severity: str) -> None:
    ping = next(each for each in found(rtt_ms, pings(600)) if each.code == "validation-ping")
    assert ping.severity == severity


def test_what_saves_nothing_at_any_rtt_is_no_finding() -> None:
    longer = Conn(exchanges=[Ex(sql="select b from u"), Ex(sql="select c from v", client_ms=900)], client="10.0.0.9:9")
    assert [each.code for each in found(0.2, pings(1), longer) if each.code == "validation-ping"] == []


def test_findings_come_by_severity_then_by_what_they_save() -> None:
    failing = [Ex(sql=f"select a from absent{n}", error="1146 (42S02): no such table") for n in range(40)]
    all_found = found(15, pings(600), Conn(exchanges=failing, client="10.0.0.9:9"))
    grades = [each.severity for each in all_found]
    assert grades == sorted(grades, key=("high", "medium", "low", "info").index)
    assert [each.code for each in all_found[:2]] == ["failing-statements", "validation-ping"]


def test_a_setting_behind_a_commit_is_no_unit_of_work() -> None:
    request = [
        Ex("ping"),
        Ex(sql="set autocommit = ?", parameters=1),
        Ex(sql="select name from hosts where id = ?", rows=1, parameters=7),
        Ex(sql="commit"),
        Ex(sql="set autocommit = ?", parameters=2),
    ]
    ping = next(each for each in found(15, Conn(exchanges=[request[2], *request * 12])) if each.fix_name == "ping")
    assert (ping.facts["tested"], ping.facts["pieces_of_work"], ping.round_trips_saved) == (12, 13, 12)


@pytest.mark.parametrize(
    ("name", "pings", "units"),
    [("a12_django_my", 29, 30), ("a12_django_pg", 29, 30), ("a21_sa", 29, 30), ("a4_rails_pg", 40, 40)],
)
def test_units_of_work_are_counted_once(
    shared_capture: Callable[[str], Path], name: str, pings: int, units: int
) -> None:
    findings = latpcap.read(shared_capture(f"reports/{name}.pcapng.zst")).analyze([15]).findings
    (ping,) = [each for each in findings if each.code == "validation-ping"]
    assert (ping.facts["tested"], ping.facts["pieces_of_work"]) == (pings, units)
