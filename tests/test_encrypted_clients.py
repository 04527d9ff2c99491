"""Encrypted sessions of many clients, read with their keys: they say what the job in clear says, and Wireshark too.

The captures are real ones (`fixtures/keys`, each with a twin in clear).
"""

from __future__ import annotations

import shutil
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, load_fixture, read_fixture

import latpcap
from latpcap.verify import verify

FOLDER = FIXTURES / "keys"
ENCRYPTED = sorted(path.stem for path in FOLDER.glob("*.toml") if "twin" in tomllib.loads(path.read_text()))
TWO_SESSIONS = "go-sql-driver-tlsv13-two-sessions"
CLOSED_TO_WIRESHARK = {
    "psycopg-direct-tlsv13": "Wireshark 4.0 does not know PostgreSQL's direct TLS",
    "mysql-jdbc-tlsv12-tickets": "Wireshark looks for the session's id, which the client has made up",
}

of_all = pytest.mark.parametrize("name", ENCRYPTED)
of_keys_beside = pytest.mark.parametrize("name", [name for name in ENCRYPTED if (FOLDER / f"{name}.keys").exists()])
of_open_to_wireshark = pytest.mark.parametrize("name", sorted({*ENCRYPTED} - {*CLOSED_TO_WIRESHARK}))


def keys_of(name: str) -> Path | None:
    """The key log beside the capture; none where the secrets lie inside."""
    path = FOLDER / f"{name}.keys"
    return path if path.exists() else None


@cache
def opened(name: str) -> latpcap.Capture:
    return latpcap.read(load_fixture(f"keys/{name}").path, keylog=keys_of(name))


def twin(name: str) -> latpcap.Capture:
    return read_fixture(f"keys/{load_fixture(f'keys/{name}').facts['twin']}")


def work(capture: latpcap.Capture) -> list[tuple[Any, ...]]:
    """Every exchange after the login."""
    names = ("command", "purpose", "statement", "rows", "affected_rows", "error", "round_trips", "complete")
    rows = capture.exchanges.to_dicts()
    return [tuple(row[name] for name in names) for row in rows if row["purpose"] != "setup"]


def who(capture: latpcap.Capture) -> list[tuple[Any, ...]]:
    names = ("user", "database", "server_version", "state")
    return [tuple(row[name] for name in names) for row in capture.connections.to_dicts()]


@of_all
def test_every_exchange_is_that_of_the_same_job_in_clear(name: str) -> None:
    assert work(opened(name)) == work(twin(name))


@of_all
def test_who_was_connected_is_read(name: str) -> None:
    assert who(opened(name)) == who(twin(name))


@of_all
def test_rows_and_errors_are_those_that_the_application_counted(name: str) -> None:
    facts, rows = load_fixture(f"keys/{name}").facts, opened(name).exchanges.to_dicts()
    own = sum(row["rows"] or 0 for row in work_of_the_driver(twin(name)))
    assert sum(row["rows"] or 0 for row in rows) - own == facts["rows"]
    assert sum(1 for row in rows if row["error"]) == facts["errors"]


def work_of_the_driver(capture: latpcap.Capture) -> list[dict[str, Any]]:
    """Statements that no application wrote: a driver asks the server for its settings."""
    return [row for row in capture.exchanges.to_dicts() if not asked_by_the_job(row["statement"] or "")]


def asked_by_the_job(statement: str) -> bool:
    return (
        any(table in statement for table in ("salaries", "employees", "nowhere")) or "one" in statement.lower().split()
    )


@of_all
def test_round_trips_are_the_waits_in_the_clients_system_calls(name: str) -> None:
    assert opened(name).connections.column("round_trips").sum() == load_fixture(f"keys/{name}").facts["round_trips"]


@of_keys_beside
def test_keys_change_no_round_trip(name: str) -> None:
    closed = read_fixture(f"keys/{name}").connections
    assert closed.column("timing_only").all()
    assert sum(closed.column("round_trips")) == sum(opened(name).connections.column("round_trips"))


@of_all
def test_what_was_opened_is_not_timing_only(name: str) -> None:
    connections = opened(name).connections.to_dicts()
    agreed = {f"{each['tls_version']} {each['tls_cipher']}" for each in connections}
    assert agreed == set(load_fixture(f"keys/{name}").facts["tls"])
    assert not any(each["timing_only"] for each in connections)


@of_open_to_wireshark
def test_wireshark_reads_the_same_with_the_same_keys(name: str) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("not installed: tshark")
    result = verify(load_fixture(f"keys/{name}").path, keylog=keys_of(name))
    measures = [each for each in result.measures if "response times" not in each.name]
    assert [each for measure in measures for each in measure.differences if each.reason is None] == []
    assert sum(measure.equal for measure in measures if "statements" in measure.name) > 3


@pytest.mark.parametrize("path", sorted((FIXTURES / "mysql").glob("*.keys")), ids=lambda path: path.stem)
def test_what_is_inside_is_what_the_client_did(path: Path) -> None:
    """Fixtures without a twin, whose facts tell the commands that the client sent."""
    facts, capture = load_fixture(f"mysql/{path.stem}").facts, latpcap.read(path.with_suffix(".pcapng"), keylog=path)
    rows = [row for row in capture.exchanges.to_dicts() if row["purpose"] != "setup"]
    assert Counter(row["command"] for row in rows) == facts["exchanges_by_command"]
    assert sum(row["rows"] or 0 for row in rows) == facts["rows"]
    assert capture.connections.column("round_trips").sum() == facts["round_trips"]


def sessions(name: str) -> dict[str, list[str]]:
    """The lines of a log by the client random of their session."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / f"{name}.keys").read_text().splitlines():
        found.setdefault(line.split()[1], []).append(line)
    return found


@pytest.mark.parametrize("missing", [0, 1])
def test_a_session_that_the_log_lacks_is_timing_only_and_the_other_is_read(missing: int) -> None:
    lines = list(sessions(TWO_SESSIONS).values())
    kept = "\n".join(lines[1 - missing]).encode()
    capture = latpcap.read(load_fixture(f"keys/{TWO_SESSIONS}").path, keylog=kept)
    assert [each["timing_only"] for each in capture.connections.to_dicts()] == [number == missing for number in (0, 1)]
    of_the_other = [row for row in opened(TWO_SESSIONS).exchanges.to_dicts() if row["stream"] != missing]
    read = [row for row in capture.exchanges.to_dicts() if row["stream"] != missing]
    assert [row["statement"] for row in read] == [row["statement"] for row in of_the_other]


def test_a_log_of_many_sessions_opens_each_capture() -> None:
    everything = "\n".join(path.read_text() for path in sorted(FOLDER.glob("*.keys"))).encode()
    for name in ENCRYPTED:
        capture = latpcap.read(load_fixture(f"keys/{name}").path, keylog=everything)
        assert work(capture) == work(opened(name))


def test_a_log_that_ends_inside_a_line_opens_what_came_before() -> None:
    first, second = sessions(TWO_SESSIONS).values()
    whole = "\n".join([*first, *second])
    capture = latpcap.read(load_fixture(f"keys/{TWO_SESSIONS}").path, keylog=whole[:-30].encode())
    assert [each["timing_only"] for each in capture.connections.to_dicts()] == [False, True]


@pytest.mark.parametrize(("wrong", "is_closed"), [(0, False), (1023, False), (1024, True)])
def test_a_session_whose_id_leads_to_nothing_is_found_among_the_first_1024_secrets(wrong: int, is_closed: bool) -> None:
    name = "mysql-jdbc-tlsv12-tickets"
    others = [f"RSA Session-ID:{number:064x} Master-Key:{number:096x}" for number in range(wrong)]
    keylog = "\n".join([*others, (FOLDER / f"{name}.keys").read_text()]).encode()
    path = load_fixture(f"keys/{name}").path
    capture, known = latpcap.read(path, keylog=keylog), read_fixture(f"keys/{name}") if is_closed else opened(name)
    assert [each["timing_only"] for each in capture.connections.to_dicts()] == [is_closed]
    assert work(capture) == work(known)


def test_a_resumed_session_needs_the_secret_of_the_one_that_it_resumes() -> None:
    """Go logs nothing for it: without the first connection's handshake the second stays closed."""
    name = "go-sql-driver-tlsv12-two-sessions"
    assert [each["tls_resumed"] for each in opened(name).connections.to_dicts()] == [False, True]
    assert len(sessions(name)) == 1
    second = opened(name).connections.to_dicts()[1]
    assert not second["timing_only"]
