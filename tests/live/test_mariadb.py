"""A real server, three real clients, a real capture: latpcap counts what the clients and the server's log count."""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from loopback import captured
from mariadb_server import (
    EACH,
    EMPLOYEES,
    PASSWORD,
    RAISE,
    ROWS,
    SALARIES,
    SQL,
    WRONG,
    free_port,
    mariadb,
    needs_server_and_capture,
)

pymysql = pytest.importorskip("pymysql")
connector = pytest.importorskip("mysql.connector")

import latpcap  # noqa: E402

pytestmark = needs_server_and_capture


@dataclass
class SectionContents:
    """What a client says it did."""

    rows: int = 0
    waits: int | None = None
    """Reads that followed a write, where the client's socket tells them."""


@dataclass
class Recorded:
    """A capture, what the clients counted, and which commands the server logged, by user."""

    capture: latpcap.Capture
    counted: dict[str, SectionContents] = field(default_factory=dict)
    logged: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


# --- clients ---------------------------------------------------------------------------------------------------------


class CountingSocket:
    """A socket for PyMySQL that counts the reads which follow a write: the client's own round trips."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._asked = False
        self.waits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def sendall(self, data: bytes) -> None:
        self._asked = True
        self._sock.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reads(self))

    def received(self, count: int) -> int:
        self.waits += self._asked and count > 0
        self._asked = self._asked and count == 0
        return count


class _Reads(io.RawIOBase):
    def __init__(self, sock: CountingSocket) -> None:
        super().__init__()
        self._sock = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._sock.received(self._sock.recv_into(buffer))


def with_pymysql(port: int) -> SectionContents:
    database = pymysql.connect(
        host="127.0.0.1", port=port, user="pymysql", password=PASSWORD, database="live", defer_connect=True
    )
    sock = CountingSocket(socket.create_connection(("127.0.0.1", port)))
    database.connect(sock)
    rows = 0
    with database, database.cursor() as cursor:
        for sql in SQL:
            cursor.execute(sql)
            rows += len(cursor.fetchall())
        with pytest.raises(pymysql.err.ProgrammingError):
            cursor.execute(WRONG)
    return SectionContents(rows, sock.waits)


def with_command_line(port: int) -> SectionContents:
    options = [
        "--no-defaults",
        "-h",
        "127.0.0.1",
        "-P",
        str(port),
        "-u",
        "cli",
        "live",
        "--batch",
        "--skip-column-names",
    ]
    environment = os.environ | {"MYSQL_PWD": PASSWORD}
    text = ";\n".join([*SQL, WRONG]) + ";\n"
    done = subprocess.run(
        ["mariadb", *options, "--force"], input=text.encode(), capture_output=True, check=False, env=environment
    )
    assert b"doesn't exist" in done.stderr
    return SectionContents(len(done.stdout.splitlines()))


def with_connector(port: int) -> SectionContents:
    rows = 0
    database = connector.connect(
        host="127.0.0.1", port=port, user="connector", password=PASSWORD, database="live", use_pure=True
    )
    cursor = database.cursor(prepared=True)
    for emp in range(EMPLOYEES):
        cursor.execute(f"{EACH}%s", (emp,))
        rows += len(cursor.fetchall())
    cursor.close()
    database.close()
    return SectionContents(rows)


CLIENTS = {"pymysql": with_pymysql, "cli": with_command_line, "connector": with_connector}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    path = tmp_path_factory.mktemp("live") / "live.pcap"
    home = Path(tempfile.mkdtemp(prefix="latpcap-mariadb-"))  # the folders of pytest are root's alone
    port = free_port()
    try:
        with mariadb(home, port, CLIENTS) as log:
            with captured(path, port):
                counted = {name: client(port) for name, client in CLIENTS.items()}
            capture = latpcap.read(path, show_literals=True)
            yield Recorded(capture, counted, commands(log.read_text()))
    finally:
        shutil.rmtree(home)


def commands(log: str) -> dict[str, list[tuple[str, str]]]:
    """Command and text by user, off the server's general log."""
    by_thread: dict[str, list[tuple[str, str]]] = {}
    users: dict[str, str] = {}
    for thread, command, text in re.findall(r"^(?:\d{6} [\d: ]\d:\d\d:\d\d)?\s+(\d+) (\w+)\t?(.*)$", log, re.MULTILINE):
        if command == "Connect":
            users[thread] = text.partition("@")[0]
        by_thread.setdefault(thread, []).append((command, text))
    return {user: by_thread[thread] for thread, user in users.items()}


# --- they agree ------------------------------------------------------------------------------------------------------

of_each_client = pytest.mark.parametrize("client", CLIENTS)


def stream(recorded: Recorded, client: str) -> dict[str, Any]:
    (row,) = [row for row in recorded.capture.connections.to_dicts() if row["user"] == client]
    return row


def exchanges(recorded: Recorded, client: str) -> list[dict[str, Any]]:
    number = stream(recorded, client)["stream"]
    return [row for row in recorded.capture.exchanges.to_dicts() if row["stream"] == number]


def test_each_client_is_a_connection(recorded: Recorded) -> None:
    rows = recorded.capture.connections.to_dicts()
    assert {row["user"] for row in rows} == set(CLIENTS)
    assert {(row["protocol"], row["database"], row["state"], row["encryption"]) for row in rows} == {
        ("mysql", "live", "complete", None)
    }


@of_each_client
def test_the_statements_are_those_that_the_server_logged(recorded: Recorded, client: str) -> None:
    ours = Counter(row["statement"] for row in exchanges(recorded, client) if row["command"] == "query")
    assert ours == Counter(text for command, text in recorded.logged[client] if command == "Query")


def test_prepared_statements_are_those_that_the_server_logged(recorded: Recorded) -> None:
    seen = Counter(row["command"] for row in exchanges(recorded, "connector"))
    logged = Counter(command for command, _ in recorded.logged["connector"])
    steps = {"Prepare": "stmt_prepare", "Execute": "stmt_execute", "Reset": "stmt_reset", "Close": "stmt_close"}
    assert {step: seen[command] for step, command in steps.items()} == {step: logged[step] for step in steps}
    assert seen["stmt_execute"] == EMPLOYEES


@of_each_client
def test_the_rows_are_those_that_the_client_got(recorded: Recorded, client: str) -> None:
    wanted = {"stmt_execute"} if client == "connector" else {"query"}
    rows = [row["rows"] for row in exchanges(recorded, client) if row["command"] in wanted]
    assert sum(filter(None, rows)) == recorded.counted[client].rows
    assert recorded.counted[client].rows == (EMPLOYEES * SALARIES if client == "connector" else ROWS)


@pytest.mark.parametrize("client", ["pymysql", "cli"])
def test_changed_rows_and_errors_are_seen(recorded: Recorded, client: str) -> None:
    rows = {row["statement"]: row for row in exchanges(recorded, client) if row["command"] == "query"}
    assert rows[RAISE]["affected_rows"] == SALARIES
    assert rows[WRONG]["error"].startswith("1146")


def test_the_round_trips_are_the_waits_of_the_clients_socket(recorded: Recorded) -> None:
    assert stream(recorded, "pymysql")["round_trips"] == recorded.counted["pymysql"].waits


UNANSWERED = {"Quit", "Close"}
NOT_LOGGED = {"connector": 1}
"""Connector/Python pings before it closes; the server logs no pings."""


@of_each_client
def test_every_logged_command_with_an_answer_is_one_wait(recorded: Recorded, client: str) -> None:
    """The login, which the log calls Connect, is one too."""
    answered = [command for command, _ in recorded.logged[client] if command not in UNANSWERED]
    assert stream(recorded, client)["round_trips"] == len(answered) + NOT_LOGGED.get(client, 0)


def test_the_password_is_in_no_table(recorded: Recorded) -> None:
    for table in (recorded.capture.exchanges, recorded.capture.connections, recorded.capture.statements):
        assert PASSWORD not in str(table.to_dicts())
