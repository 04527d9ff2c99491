"""How far away is a server: told from servers of the tests' own, which count what they are asked."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import latpcap as package
from latpcap.errors import ServerUnreachable, UsageError
from latpcap.live.calibrate import calibrate
from latpcap.live.server import Server
from latpcap.protocols import NAMES, protocol_called

GREETING = b"10.11.0-x\0" + struct.pack("<I", 7) + b"saltsalt\0" + bytes(18) + b"restofthesalt\0mysql_native_password\0"
MYSQL = struct.pack("<I", 1 + len(GREETING))[:3] + b"\0" + b"\x0a" + GREETING
MYSQL_REFUSES = b"\x18\0\0\0\xff\x6a\x04Host is not allowed\x1b[m"
TNS_REFUSE = b"\0\x2a\0\0\x04\0\0\0\x22\0\0\x1e(DESCRIPTION=(ERR=0)(ALIAS=x))"

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="TCP_INFO is Linux's")


@contextmanager
def serving(answer: Callable[[socket.socket], None], host: str = "127.0.0.1") -> Iterator[tuple[int, list[int]]]:
    """A server that does this with each connection; yields its port, and a list with an item a connection."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made: list[int] = []
    with socket.create_server((host, 0), family=family) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    made.append(1)
                    answer(connection)
                    while connection.recv(100):
                        pass

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], made
        listener.shutdown(socket.SHUT_RDWR)


def mysql(connection: socket.socket) -> None:
    connection.sendall(MYSQL)


def postgresql(connection: socket.socket) -> None:
    assert connection.recv(8) == struct.pack(">II", 8, 80877103)
    connection.sendall(b"N")


def silent(connection: socket.socket) -> None:
    pass


def test_a_server_that_speaks_first_is_known_by_its_greeting() -> None:
    with serving(mysql) as (port, made):
        found = calibrate(f"127.0.0.1:{port}")
    assert (found.protocol, found.connections, len(made)) == ("mysql", 10, 10)
    assert {each.name: each.count for each in found.series}["greeting"] == 10
    assert found.options.startswith("--rtt ")
    assert "on this machine" in " ".join(found.notes)


def test_no_more_connections_are_made_than_asked_for() -> None:
    with serving(postgresql) as (port, made):
        found = calibrate(f"127.0.0.1:{port}", protocol="postgresql", connections=3)
    assert (found.protocol, found.connections, len(made)) == ("postgresql", 3, 3)
    assert found.low_ms <= found.rtt_ms <= found.high_ms


@pytest.mark.parametrize("wanted", [0, 11])
def test_eleven_connections_are_refused(wanted: int) -> None:
    with pytest.raises(UsageError, match="1 to 10"):
        calibrate("127.0.0.1:3306", connections=wanted)


def test_what_is_no_database_is_measured_by_handshakes() -> None:
    with serving(silent) as (port, _):
        found = calibrate(f"127.0.0.1:{port}", connections=2)
    assert (found.protocol, found.rtt_is) == (None, "handshake")
    assert "TCP handshakes only" in " ".join(found.notes)


def test_an_answer_of_another_protocol_does_not_count() -> None:
    with serving(mysql) as (port, _):
        found = calibrate(f"127.0.0.1:{port}", protocol="postgresql", connections=2)
    assert found.protocol is None
    assert "2 of 2 responses were not from PostgreSQL" in " ".join(found.notes)


def test_a_server_that_does_not_answer_what_it_is_asked_ends_in_time() -> None:
    with serving(silent) as (port, _):
        found = calibrate(f"127.0.0.1:{port}", protocol="postgresql", connections=2, timeout_s=0.5)
    assert found.protocol is None
    assert "got no response" in " ".join(found.notes)


def test_why_nobody_is_let_in_is_told_without_steering_the_terminal(latpcap: Callable[..., object]) -> None:
    with serving(lambda connection: connection.sendall(MYSQL_REFUSES)) as (port, _):
        done = latpcap("calibrate", f"127.0.0.1:{port}", "--protocol", "mysql", "--connections", "1")
    assert b"refuses connections from this host: Host is not allowed" in done.stdout  # type: ignore[attr-defined]
    assert b"\x1b" not in done.stdout  # type: ignore[attr-defined]


def test_the_listener_of_oracle_is_pinged() -> None:
    asked: list[bytes] = []

    def listener(connection: socket.socket) -> None:
        asked.append(connection.recv(200))
        connection.sendall(TNS_REFUSE)

    with serving(listener) as (port, _):
        assert calibrate(f"127.0.0.1:{port}", protocol="oracle", connections=1).protocol == "oracle"
    packet = asked[0]
    length, place = struct.unpack_from(">HH", packet, 24)
    assert struct.unpack_from(">H", packet)[0] == len(packet)
    assert packet[place : place + length] == b"(CONNECT_DATA=(COMMAND=ping))"


def test_ipv6_is_written_in_brackets() -> None:
    try:
        with serving(mysql, "::1") as (port, _):
            found = calibrate(f"[::1]:{port}", connections=1)
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert found.address == f"[::1]:{port}"


def test_the_next_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(mysql) as (port, _):
        known = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("127.0.0.2", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
        found = calibrate(f"db.example:{port}", connections=1)
    assert (found.addresses, found.address) == (2, f"127.0.0.1:{port}")
    assert "has 2 addresses" in " ".join(found.notes)


def test_what_cannot_be_reached_is_one_line(latpcap: Callable[..., object]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        done = latpcap("calibrate", f"127.0.0.1:{unused.getsockname()[1]}", "--quiet")
    assert done.returncode == 7  # type: ignore[attr-defined]
    assert done.stderr.count(b"\n") == 1  # type: ignore[attr-defined]
    assert b"refused the connection" in done.stderr  # type: ignore[attr-defined]


def test_a_name_that_does_not_resolve_is_told() -> None:
    with pytest.raises(ServerUnreachable, match=r"^nowhere\.invalid: the name "):
        calibrate("nowhere.invalid:3306")


@pytest.mark.parametrize("text", ["db.example", "db:0", "db:70000", "::1:5432", ":5432", "[::1]", "a b:1", ""])
def test_a_server_is_written_with_its_port(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        Server.of(text)


def test_what_will_happen_is_said_before(latpcap: Callable[..., object]) -> None:
    with serving(mysql) as (port, _):
        done = latpcap("calibrate", f"127.0.0.1:{port}", "--protocol", "mysql", "--connections", "2", "--json")
    assert b"2 connections for MySQL's greeting" in done.stderr  # type: ignore[attr-defined]
    assert b"max_connect_errors" in done.stderr  # type: ignore[attr-defined]
    assert json.loads(done.stdout)["schema"] == "latpcap.calibration/1"  # type: ignore[attr-defined]


@on_linux
def test_the_system_times_its_own_packets() -> None:
    """A program that is late to look does not make the RTT longer."""
    with serving(postgresql) as (port, _):
        found = calibrate(f"127.0.0.1:{port}", protocol="postgresql")
    series = {each.name: each for each in found.series}
    assert series["TCP handshake"].median_ms <= series["handshake by this program's clock"].median_ms
    assert found.path_mtu is not None


def test_it_is_public() -> None:
    assert package.calibrate is calibrate
    assert all(protocol_called(name).question.is_answer(b"") is False for name in NAMES)
