"""One job with drivers and object mappers of many languages: latpcap, their system calls and the server's log agree."""

from __future__ import annotations

import pytest
from conftest import FIXTURES, analysed, load_fixture, read_fixture

NAMES = sorted(f"clients/{path.stem}" for path in (FIXTURES / "clients").glob("*.toml"))


@pytest.mark.parametrize("name", NAMES)
def test_round_trips_are_the_waits_in_the_clients_system_calls(name: str) -> None:
    connections = read_fixture(name).connections
    facts = load_fixture(name).facts
    assert len(connections) == facts["connections"]
    assert connections.column("round_trips").sum() == facts["round_trips"]


@pytest.mark.parametrize("name", NAMES)
def test_statements_and_rows_are_those_of_the_servers_log(name: str) -> None:
    """A server logs no execution of a statement that it refused to prepare; the client asked for it all the same.

    It logs every text, also one that only prepares or closes a statement: these are no executions.
    """
    capture, facts = read_fixture(name), load_fixture(name).facts
    refused, exchanges = facts.get("refused", 0), capture.exchanges.to_dicts()
    named = [each for each in exchanges if each["command"] == "query" and each["purpose"] in ("prepare", "close")]
    executions = capture.statements.column("executions").sum()
    assert executions + len(named) == facts["statements"] + refused
    assert sum(exchange["rows"] or 0 for exchange in exchanges) == facts["rows_sent"]


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_that_the_server_refuses_is_the_one_error(name: str) -> None:
    errors = [exchange for exchange in read_fixture(name).exchanges.to_dicts() if exchange["error"]]
    assert all("select nothing from nowhere" in exchange["statement"] for exchange in errors)
    assert len(errors) == load_fixture(name).facts["errors"] + load_fixture(name).facts.get("refused", 0)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_job_does_badly_is_found(name: str) -> None:
    found = {finding.code for finding in analysed(name).findings}
    assert found >= set(load_fixture(name).facts["findings"])
