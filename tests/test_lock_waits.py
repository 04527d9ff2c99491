"""Waits for locks: told from the server's work by how they end."""

from __future__ import annotations

import pytest
from builder import Conn, Ex, build

from latpcap import Capture
from latpcap.findings.result import FindingResult

UPDATE = "update acc set v = ? where id = ?"


def slow_server(*connections: Conn) -> FindingResult:
    result = Capture(build(list(connections))).analyze([15])
    return next(each for each in result.findings if each.code == "slow-server")


def deadlocks(count: int) -> list[Conn]:
    """Two connections wait for each other for a second; one is refused then, and the other goes on."""
    refused, served = [], []
    for number in range(count):
        at_ms = 10 + 1200.0 * number
        refused += [Ex(sql=UPDATE, at_ms=at_ms, service_ms=1000, error="1213 (40001)"), Ex(sql="rollback")]
        served += [Ex(sql=UPDATE, at_ms=at_ms, service_ms=1000.3), Ex(sql="commit")]
    return [Conn(each, client=f"10.0.0.1:{port}") for port, each in ((40000, refused), (40001, served))]


def behind_a_lock(pauses_ms: list[float]) -> list[Conn]:
    """One connection holds a lock until it commits; another one's update is answered so long after that."""
    holds, waits = [], []
    for number, pause_ms in enumerate(pauses_ms):
        at_ms = 10 + 90.0 * number
        holds += [Ex(sql=UPDATE, at_ms=at_ms), Ex(sql="commit", client_ms=80)]
        waits += [Ex(sql=UPDATE, at_ms=at_ms + 20, waited_ms=62 + pause_ms)]
    return [Conn(each, client=f"10.0.0.1:{port}") for port, each in ((40000, holds), (40001, waits))]


def test_a_deadlock_is_told_as_a_wait_for_a_lock() -> None:
    result = Capture(build(deadlocks(6))).analyze([15])
    found = slow_server(*deadlocks(6))
    assert found.title.endswith("6.00 s of that in 12 waits for locks")
    assert "keep transactions short" in found.fix
    assert "cheaper" not in found.fix
    assert "server (mostly lock waits)" in result.text


def test_who_is_answered_when_another_transaction_ends_waited_for_it() -> None:
    found = slow_server(*behind_a_lock([0.3] * 6))
    assert found.facts["lock_waits"] == 6


@pytest.mark.parametrize(
    "connections",
    [behind_a_lock([0.3, 0.3]), behind_a_lock([2.0 - 2 * number for number in range(8)])],
    ids=["twice", "at any time"],
)
def test_who_is_answered_at_another_time_waited_for_the_server(connections: list[Conn]) -> None:
    found = slow_server(*connections)
    assert "locks" not in found.title
    assert found.fix.startswith("Speed up the statements")


def test_commits_that_a_disk_ends_together_are_no_locks() -> None:
    def flushed(lane: int) -> Conn:
        text = "commit" if lane == 0 else "insert into t values (?)"
        runs = [Ex(sql=text, at_ms=1 + 26.0 * number + 0.2 * lane, service_ms=24 - 0.2 * lane) for number in range(40)]
        return Conn(runs, client=f"10.0.0.1:{40000 + lane}")

    assert "locks" not in slow_server(*(flushed(lane) for lane in range(6))).title


def test_a_transaction_that_is_refused_when_it_is_checked_waited_for_no_lock() -> None:
    refused = [Ex(sql=UPDATE, service_ms=900, error="40001") for _ in range(6)]
    assert "locks" not in slow_server(Conn(refused)).title
