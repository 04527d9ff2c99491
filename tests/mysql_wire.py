"""MySQL captures made by hand, for what no server would send: benchmarks/speed/traffic lays the packets out."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from speed.traffic import mysql
from speed.traffic import wire as tcp

message = mysql.message
SEGMENT = 60_000
"""Bytes of a request in one packet, as offloading shows them."""
OK = b"\0\0\0\x02\0\0\0"
PROTOCOL_41, SECURE_CONNECTION, CONNECT_WITH_DB, PLUGIN_AUTH = 1 << 9, 1 << 15, 1 << 3, 1 << 19


def greeting(version: str) -> bytes:
    usual = mysql.greeting()
    body = usual[4:].replace(b"10.11.6-MariaDB", version.encode(), 1)
    return message(0, body)


def login(user: str, database: str) -> bytes:
    flags = PROTOCOL_41 | SECURE_CONNECTION | CONNECT_WITH_DB | PLUGIN_AUTH
    names = user.encode() + b"\0\x14" + b"\x07" * 20 + database.encode() + b"\0mysql_native_password\0"
    return message(1, struct.pack("<IIB23x", flags, 1 << 24, 45) + names)


def query(sql: str) -> bytes:
    return message(0, b"\x03" + sql.encode())


def error(text: str) -> bytes:
    return message(1, b"\xff\x28\x04#42000" + text.encode())


def result(rows: int) -> bytes:
    return mysql.result([("n", 3)], [[str(number)] for number in range(rows)])


def records(
    asked: Iterable[tuple[bytes, bytes]], *, version: str = "10.11.6-MariaDB", user: str = "lab", database: str = "lab"
) -> list[bytes]:
    """The packets, each with its pcap header: handshake, login, and each request with its response."""
    wire = tcp.Wire(1_000_000)
    made = [wire.packet(0, tcp.SYN)]
    wire.now_ns += wire.rtt_ns
    made += [wire.packet(1, tcp.SYN | tcp.ACK), wire.packet(0, tcp.ACK)]
    wire.now_ns += wire.rtt_ns
    made.append(wire.packet(1, tcp.PUSH_ACK, greeting(version)))
    made += wire.ask(login(user, database), message(2, OK))
    for request, response in asked:
        *first, last = (request[at : at + SEGMENT] for at in range(0, len(request), SEGMENT))
        made += [wire.packet(0, tcp.PUSH_ACK, piece) for piece in first]
        made += wire.ask(last, response)
    return made


def capture(asked: Iterable[tuple[bytes, bytes]], **names: str) -> bytes:
    return tcp.PCAP_HEADER + b"".join(records(asked, **names))
