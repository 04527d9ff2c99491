"""Every fixture against what is true of it: the counts come from the client that made the traffic."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, analysed, load_fixture, read_fixture

pytest.importorskip("latpcap._core", reason="the core is not built")

import latpcap
from latpcap._core import protocols

NOBODY_ANSWERED = {"mysql/refused": "refused", "mysql/filtered": "unanswered"}
"""What the health of these says; no connection of theirs is one to a database."""
NAMES = sorted(
    name
    for protocol in protocols()
    for path in (FIXTURES / protocol).glob("*.toml")
    if (name := path.relative_to(FIXTURES).with_suffix("").as_posix()) not in NOBODY_ANSWERED
)


def fact(name: str, key: str) -> Any:
    return load_fixture(name).facts.get(key)


def telling(*keys: str) -> list[str]:
    """The fixtures whose facts tell all of `keys`."""
    return [name for name in NAMES if all(load_fixture(name).facts.get(key) is not None for key in keys)]


def readable(names: list[str]) -> list[str]:
    """Those that were captured whole and in clear."""
    unreadable = {"encrypted", "snap-length", "incomplete-exchanges"}
    return [name for name in names if not unreadable & set(read_fixture(name).health.column("code"))]


@pytest.mark.parametrize("name", telling("connections"))
def test_connections(name: str) -> None:
    assert len(read_fixture(name).connections) == fact(name, "connections")


@pytest.mark.parametrize(("name", "code"), NOBODY_ANSWERED.items())
def test_what_nobody_answered_is_no_connection(name: str, code: str) -> None:
    counts = {row["code"]: row["count"] for row in read_fixture(name).health.to_dicts()}
    assert counts[code] == fact(name, "connections")
    with pytest.raises(latpcap.NoDatabaseTraffic):
        analysed(name)


@pytest.mark.parametrize("name", telling("round_trips"))
def test_round_trips(name: str) -> None:
    """The wait for the first packet of a replication stream is the stream's, and kept out of the counts."""
    streams = load_fixture(name).facts.get("arithmetic", {}).get("dump", 0)
    assert read_fixture(name).connections.column("round_trips").sum() == fact(name, "round_trips") - streams


OPENING = {"connect", "tls", "authenticate"}

MYSQL = [name for name in telling("exchanges_by_command", "rows", "statements") if name.startswith("mysql/")]
"""Their `exchanges_by_command` counts exchanges; those of other protocols count messages."""


@pytest.mark.parametrize("name", [name for name in MYSQL if "tls" not in name])
def test_commands(name: str) -> None:
    """A request that was lost is an `unknown` one."""
    fixture, capture = load_fixture(name), read_fixture(name)
    true = Counter(fact(name, "exchanges_by_command"))
    seen = Counter(command for command in capture.exchanges.column("command") if command not in OPENING)
    unknown = seen.pop("unknown", 0)
    assert not seen - true
    assert (true - seen).total() <= (unknown if "derived_from" in fixture.facts else 0)


LOGGED = {
    "Query": "query",
    "Prepare": "stmt_prepare",
    "Execute": "stmt_execute",
    "Reset stmt": "stmt_reset",
    "Close stmt": "stmt_close",
    "Change user": "change_user",
    "Quit": "quit",
}
"""What MySQL's general log calls the commands; the others it does not take down."""

MORE_IN_LOG = {
    "mysql/mysql97-cli-several": {"Query": 20},
    "mysql/mysql97-cli-execute": {"Prepare": 1, "Execute": 20},
    "mysql/mysql97-pure-prepared": {"Prepare": 1},
    "mysql/mysql97-pure-zlib": {"Prepare": 1},
}
"""Each of three statements in a query, what EXECUTE as SQL executes, what the server prepares again by itself."""


@pytest.mark.parametrize("name", [name for name in readable(MYSQL) if fact(name, "logged")])
def test_the_servers_log_has_the_same_commands(name: str) -> None:
    """It leaves out what it cannot parse."""
    exchanges = read_fixture(name).exchanges.to_dicts()
    unparsed = [row for row in exchanges if (row["error"] or "").startswith("1064")]
    seen = Counter(row["command"] for row in exchanges) - Counter(row["command"] for row in unparsed)
    ours = Counter({entry: seen[command] for entry, command in LOGGED.items()})
    assert +(ours + Counter(MORE_IN_LOG.get(name, {}))) == Counter(fact(name, "logged"))


@pytest.mark.parametrize("name", readable(MYSQL))
def test_rows(name: str) -> None:
    """The application counts its own rows; those of the queries its driver adds are ours to see, one row each."""
    capture = read_fixture(name)
    drivers_own = int(capture.statements.column("executions").sum()) - fact(name, "statements")
    rows = capture.exchanges.column("rows")
    assert 0 <= int(np.nansum(rows)) - fact(name, "rows") <= max(drivers_own, 1)


@pytest.mark.parametrize("name", NAMES)
def test_the_budget_sums_to_the_runtime(name: str) -> None:
    result = analysed(name)
    assert sum(result.budget.parts().values()) == pytest.approx(result.summary.runtime_s, abs=1e-6)


@pytest.mark.parametrize("name", telling("total_seconds"))
def test_the_runtime_is_the_applications(name: str) -> None:
    """The application's clock also holds its own start and end, and what it did before its first connection."""
    result = analysed(name)
    assert result.summary.runtime_s <= fact(name, "total_seconds") * 1.01


@pytest.mark.parametrize(
    "name", [name for name in telling("rtt_measured_ms", "round_trips") if fact(name, "round_trips")]
)
def test_the_baseline_is_near_the_links_rtt(name: str) -> None:
    """The link's handshakes are slower than its data by up to 0.3 ms; what is told lies between the two."""
    baseline = analysed(name).summary.baseline_rtt_ms
    handshake = fact(name, "rtt_measured_ms")
    assert baseline is not None
    assert handshake - 0.3 <= baseline <= handshake * 1.2


@pytest.mark.parametrize("there", ["nplus1-1000-rtt1", "nplus1-1000-rtt15"])
def test_a_projection_from_the_least_rtt_meets_the_run_that_was_really_made(there: str) -> None:
    """The RTT that is asked for is the link's, as TCP handshakes measured it beside the capture."""
    measured = analysed(f"mysql/{there}").summary
    rtt_ms = fact(f"mysql/{there}", "rtt_measured_ms")
    point = read_fixture("mysql/nplus1-1000").project(rtt_ms, rtt_is="handshake").points[0]
    assert point.runtime_s == pytest.approx(measured.runtime_s, rel=0.10)
    assert point.optimistic_s <= measured.runtime_s <= point.pessimistic_s


def test_the_same_traffic_costs_the_same_at_both_ends() -> None:
    client, server = (read_fixture(f"mysql/nplus1-300-{end}").analyze([1, 100]) for end in ("client", "server"))
    assert client.connections[0].rtt.position == "client"
    assert server.connections[0].rtt.position == "server"
    assert server.budget.network_s == pytest.approx(client.budget.network_s, rel=0.05)
    assert server.projection.points[-1].runtime_s == pytest.approx(client.projection.points[-1].runtime_s, rel=0.01)


def test_a_cancel_connection_names_the_connection_it_came_for() -> None:
    connections = read_fixture("postgresql/psycopg2-cancel").connections.to_dicts()
    assert [connection["cancels"] for connection in connections] == [None, 0, 0]


def test_each_exchange_tells_whether_a_transaction_is_open() -> None:
    exchanges = read_fixture("postgresql/psycopg2-transactions").exchanges.to_dicts()
    told = {(exchange["statement"] or "").split(" ")[0]: exchange["transaction"] for exchange in exchanges}
    assert (told["begin"], told["update"], told["commit"]) == ("open", "open", "idle")


def test_without_autocommit_mysql_tells_of_a_transaction_from_the_first_statement_that_needs_one() -> None:
    exchanges = read_fixture("findings/orm-requests").exchanges.to_dicts()
    told = {(exchange["statement"] or "").split(" ")[0]: exchange["transaction"] for exchange in exchanges}
    assert (told["select"], told["update"], told["commit"], told["rollback"]) == ("open", "open", "idle", "idle")
