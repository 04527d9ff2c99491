"""Captures beside what the same work really took at other RTTs, or with more clients."""

from __future__ import annotations

import pytest
from conftest import FIXTURES, load_fixture, read_fixture

from latpcap import Capture
from latpcap.projection.assumptions import Conditions

NAMES = sorted(f"runs/{path.stem}" for path in (FIXTURES / "runs").glob("*.toml"))


def elsewhere(name: str, key: str = "elsewhere_s") -> list[tuple[float, float]]:
    """RTTs in ms, and what was measured there."""
    return [(float(rtt_ms), measured) for rtt_ms, measured in load_fixture(name).facts[key].items()]


def notes(capture: Capture, code: str) -> list[str]:
    return [note["message"] for note in capture.health.to_dicts() if note["code"] == code]


@pytest.mark.parametrize("name", NAMES)
def test_the_counts_are_those_of_the_workload(name: str) -> None:
    facts, connections = load_fixture(name).facts, read_fixture(name).connections
    assert facts["round_trips"] == sum(facts["arithmetic"].values())
    assert (len(connections), connections.column("round_trips").sum()) == (facts["connections"], facts["round_trips"])


@pytest.mark.parametrize(("rtt_ms", "per_s"), elsewhere("runs/pgbench-tpcb-c10", "elsewhere_per_s"))
def test_a_limit_by_locks_is_named_and_holds_what_more_clients_got_done(rtt_ms: float, per_s: float) -> None:
    name = "runs/pgbench-tpcb-c10"
    conditions = Conditions(connections=load_fixture(name).facts["elsewhere_clients"])
    limit = read_fixture(name).measures.project([rtt_ms], conditions=conditions).limit
    assert limit is not None
    assert limit.kind == "locks"
    assert (limit.low or 0) <= per_s <= (limit.high or 0)


def test_a_sender_that_paces_is_told() -> None:
    [message] = notes(read_fixture("runs/pymysql-bbr-40"), "paced-sender")
    assert message.startswith("40 of 40 large messages were spread evenly over a round trip")
    assert not notes(read_fixture("runs/psycopg2-notified-15"), "paced-sender")


@pytest.mark.parametrize("name", ["runs/pymysql-bbr-40", "runs/psycopg2-notified-15"])
def test_what_the_same_work_took_elsewhere_is_in_the_range(name: str) -> None:
    """Of the paced answers and of those that wait for a notification, farther away and nearer."""
    for rtt_ms, measured_s in elsewhere(name):
        [point] = read_fixture(name).project([rtt_ms]).points
        assert (point.optimistic_s or 0) <= measured_s <= (point.pessimistic_s or 0)
