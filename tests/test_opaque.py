"""Streams that cannot be read: every clear fixture, read as if it were one, counts the same round trips.

The same packets stand on both sides, so what differs is the error of counting without statements.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from arro3.core import Table
from conftest import FIXTURES

import latpcap
from latpcap import Capture

MORE = {
    # Recorded on one host, where the answer to what is not waited for comes before the next request is sent.
    "firebird/fbclient3-blobs": "deferred requests",
    "firebird/fbclient3-compressed": "deferred requests",
    "firebird/fbclient5-blobs": "deferred requests",
    "firebird/firebird4-jaybird6-blobs": "deferred requests",
    "firebird/firebirdsql-blobs": "deferred requests",
    "firebird/jaybird5-blobs": "deferred requests",
    "firebird/jaybird6-blobs": "deferred requests",
    "mysql/jdbc-mariadb-batch-pipelined": "a pipeline",
    "postgresql/psycopg3-pipeline-all-client": "a pipeline",
}
FEWER = {
    # The last thing that a client says and gets no answer to looks like its good-bye.
    "findings/killed-my": "the server hangs up instead of answering",
    "findings/killed-pg": "the server hangs up instead of answering",
    "tcp/failed-connections": "a reset comes instead of an answer, twice",
    "proxies/haproxy-nplus1": "the recording ends before the answer",
    "proxies/haproxy-queries-application": "the recording ends before the answer",
    "proxies/pgbouncer-nplus1-application": "the recording ends before the answer",
    "proxies/pgbouncer-transactions": "the recording ends before the answer",
}
PARTIAL = ("lost-", "hole-", "filtered", "refused")


def clear_fixtures() -> list[str]:
    paths = [path for path in FIXTURES.glob("*/*.pcapng*") if not path.name.startswith(PARTIAL)]
    return sorted(f"{path.parent.name}/{path.name.partition('.')[0]}" for path in paths)


def read(name: str, **how: object) -> Capture:
    path = next(path for path in Path(FIXTURES).glob(f"{name}.pcapng*"))
    return latpcap.read(path, **how)


def as_opaque(name: str, decoded: Capture) -> Capture:
    servers = Table.from_arrow(decoded.connections)["server"].to_pylist()
    return read(name, decode_as={int(server.rpartition(":")[2]): "opaque" for server in servers})


def round_trips(capture: Capture) -> int:
    return sum(Table.from_arrow(capture.exchanges)["round_trips"].to_pylist())


def is_clear(capture: Capture) -> bool:
    table = Table.from_arrow(capture.connections)
    return not any(table["encryption"].to_pylist()) and not any(table["replication"].to_pylist())


@pytest.mark.parametrize("name", [name for name in clear_fixtures() if name not in MORE | FEWER])
def test_turns_are_round_trips(name: str) -> None:
    decoded = read(name)
    if is_clear(decoded):
        assert round_trips(as_opaque(name, decoded)) == round_trips(decoded)


@pytest.mark.parametrize("name", MORE)
def test_without_a_distance_what_is_not_waited_for_looks_like_a_wait(name: str) -> None:
    decoded = read(name)
    assert round_trips(decoded) < round_trips(as_opaque(name, decoded)) <= 2 * round_trips(decoded)


@pytest.mark.parametrize("name", FEWER)
def test_a_last_request_without_an_answer_looks_like_a_good_bye(name: str) -> None:
    decoded = read(name)
    assert round_trips(decoded) > round_trips(as_opaque(name, decoded))


@pytest.mark.parametrize("name", ["mysql/nplus1-300-client", "postgresql/psycopg2-nplus1-100", "mysql/prepared-each"])
def test_the_projection_needs_no_statements(name: str) -> None:
    decoded = read(name)
    read_on, turns = (capture.project([15.0]).points[0] for capture in (decoded, as_opaque(name, decoded)))
    assert turns.runtime_s == pytest.approx(read_on.runtime_s, rel=0.01)


def test_a_server_that_greets_is_waited_for() -> None:
    decoded = read("mysql/churn-20")
    waits = [capture.analyze().waits for capture in (decoded, as_opaque("mysql/churn-20", decoded))]
    assert [wait.greetings for wait in waits] == [20, 20]


@pytest.mark.parametrize(
    ("encrypted", "clear"),
    [
        ("fbclient3-encrypted", "fbclient3-nplus1"),
        ("firebird4-fbclient5-encrypted", "firebird4-fbclient5-nplus1"),
        ("firebird4-jaybird6-encrypted", "firebird4-jaybird6-nplus1"),
        ("jaybird5-encrypted", "jaybird5-nplus1"),
    ],
)
def test_firebirds_wire_encryption_hides_no_round_trip(encrypted: str, clear: str) -> None:
    work = [round_trips_of_work(read(f"firebird/{name}")) for name in (encrypted, clear)]
    assert work[0] == work[1] > 0


def round_trips_of_work(capture: Capture) -> int:
    table = Table.from_arrow(capture.exchanges)
    rows = zip(table["purpose"].to_pylist(), table["round_trips"].to_pylist(), strict=True)
    return sum(round_trips for purpose, round_trips in rows if purpose != "setup")


def test_a_server_that_refuses_to_encrypt_leaves_the_connection_clear() -> None:
    (encryption,) = Table.from_arrow(read("firebird/go-firebirdsql-refused").connections)["encryption"].to_pylist()
    assert encryption is None
