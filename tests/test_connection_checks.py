"""Connections without a login, and logins refused before they came: what load balancers' checks look like."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import mysql_wire
import pytest
from conftest import Done
from mysql_wire import message
from test_unread import ACK, RST, Packet, connection, datagram, mysql, notes, read

Run = Callable[..., Done]
FIN = 1
GREETING = (1, mysql_wire.greeting("10.11.6-MariaDB"))


def error(sequence: int, code: int, text: str) -> tuple[int, bytes]:
    return 1, message(sequence, b"\xff" + struct.pack("<H", code) + b"#08S01" + text.encode())


def closed(
    *turns: tuple[int, bytes], by: int, after_s: float = 0.05, flag: int = FIN, port: int = 3306
) -> list[Packet]:
    """A connection that one side (0: client, 1: server) closes or resets, and the other then closes."""
    packets = connection(port, *(turns or [(0, b"")]), at=60)
    numbers = [100, 500]
    for sender, payload in turns:
        numbers[sender] += len(payload)
    end = packets[-1][0] + after_s
    packets.append((end, datagram(by, port, flag | ACK, (numbers[by], numbers[1 - by]), at=60)))
    if flag == FIN:
        answer = (numbers[1 - by], numbers[by] + 1)
        packets.append((end + 0.001, datagram(1 - by, port, FIN | ACK, answer, at=60)))
    return packets


def errors(packets: list[Packet]) -> list[tuple[str, str, int]]:
    return [(row["kind"], row["code"], row["round_trips"]) for row in read(packets).errors.to_dicts()]


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.1\r", bytes(15), b"\x0b\0\0\0\x03select 1 ", b"\r\n\r\n"],
    ids=["HTTP", "zeros", "query", "lines"],
)
def test_what_is_no_login_is_a_failed_one(said: bytes) -> None:
    packets = closed(GREETING, (0, said), error(1, 1156, "Got packets out of order"), by=1)
    assert errors(packets) == [("login", "1156 (08S01)", 1)]
    capture = read([*mysql(), *packets])
    assert {"unreadable", "incomplete-exchanges"}.isdisjoint(notes(capture))
    assert "1 of 2 logins failed" in capture.analyze().text


def test_an_error_may_come_before_any_login() -> None:
    packets = closed(GREETING, error(2, 1159, "Got timeout reading communication packets"), by=1, after_s=0)
    assert errors(packets) == [("login", "1159 (08S01)", 0)]
    greeting_ms = read([*mysql(), *packets]).analyze().connecting.greeting_ms
    assert greeting_ms == pytest.approx(1, abs=0.01), "the greeting alone"


def test_a_check_that_says_good_bye_behind_its_login_has_logged_in() -> None:
    check = mysql_wire.login("haproxy", "lab") + b"\x01\0\0\0\x01"
    capture = read(closed(GREETING, (0, check), (1, message(2, mysql_wire.OK)), by=1))
    assert [(row["command"], row["complete"]) for row in capture.exchanges[["command", "complete"]]] == [
        ("connect", True),
        ("authenticate", True),
        ("quit", True),
    ]
    assert capture.errors.to_dicts() == []


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"by": 0}, "1 connection was opened and closed without a login (1 by the client)"),
        ({"by": 0, "flag": RST}, "1 connection was opened and closed without a login (1 by the client)"),
        (
            {"by": 1, "after_s": 10.0},
            "1 connection was opened and closed without a login (1 by the server after up to 10.0 s)",
        ),
    ],
    ids=["left", "reset", "timed out"],
)
def test_connections_without_a_login_are_named(ends: dict[str, Any], said: str) -> None:
    packets = closed(GREETING, **ends)
    for capture in (read(packets), read([*mysql(), *packets])):
        count, text = notes(capture)["no-login"]
        assert count == 1
        assert text.startswith(f"{said}, like health checks of load balancers and monitors (first: frame ")
        assert capture.errors.to_dicts() == []


def test_a_check_of_tcp_alone_is_named_beside_sessions() -> None:
    silent = [each for each in closed(by=0) if each[0] != 1_700_000_060.003]
    assert notes(read([*mysql(), *silent]))["no-login"][0] == 1


@pytest.mark.parametrize(
    "packets",
    [
        connection(3306, GREETING, at=60),
        closed(GREETING, (0, mysql_wire.login("lab", "lab")), by=1),
        closed(GREETING, (0, b"\0\0"), by=1),
        closed((0, b"GET / HTTP/1.1\r\n\r\n"), by=0, port=8080),
    ],
    ids=["goes on", "asked", "said something", "elsewhere"],
)
def test_others_are_none(packets: list[Packet]) -> None:
    assert "no-login" not in notes(read([*mysql(), *packets]))
