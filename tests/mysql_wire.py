"""MySQL captures made by hand, for what no server would send: benchmarks/nplus1.py lays the packets out."""

from __future__ import annotations

import importlib.util
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_PATH = Path(__file__).parent.parent / "benchmarks" / "nplus1.py"
_SPEC = importlib.util.spec_from_file_location("nplus1", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
nplus1 = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(nplus1)

message = nplus1.message
SEGMENT = 60_000
"""Bytes of a request in one packet, as offloading shows them."""
OK = b"\0\0\0\x02\0\0\0"
PROTOCOL_41, SECURE_CONNECTION, CONNECT_WITH_DB, PLUGIN_AUTH = 1 << 9, 1 << 15, 1 << 3, 1 << 19


def greeting(version: str) -> bytes:
    usual: bytes = nplus1.greeting()
    body = usual[4:].replace(b"10.11.6-MariaDB", version.encode(), 1)
    return bytes(message(0, body))


def login(user: str, database: str) -> bytes:
    flags = PROTOCOL_41 | SECURE_CONNECTION | CONNECT_WITH_DB | PLUGIN_AUTH
    names = user.encode() + b"\0\x14" + b"\x07" * 20 + database.encode() + b"\0mysql_native_password\0"
    return bytes(message(1, struct.pack("<IIB23x", flags, 1 << 24, 45) + names))


def query(sql: str) -> bytes:
    return bytes(message(0, b"\x03" + sql.encode()))


def error(text: str) -> bytes:
    return bytes(message(1, b"\xff\x28\x04#42000" + text.encode()))


def result(rows: int) -> bytes:
    return bytes(nplus1.result([("n", 3)], [[str(number)] for number in range(rows)]))


def records(
    asked: Iterable[tuple[bytes, bytes]], *, version: str = "10.11.6-MariaDB", user: str = "lab", database: str = "lab"
) -> list[bytes]:
    """The packets, each with its pcap header: handshake, login, and each request with its response."""
    wire: Any = nplus1.Wire(1_000_000)
    made = [wire.packet(0, nplus1.SYN)]
    wire.now_ns += wire.rtt_ns
    made += [wire.packet(1, nplus1.SYN | nplus1.ACK), wire.packet(0, nplus1.ACK)]
    wire.now_ns += wire.rtt_ns
    made.append(wire.packet(1, nplus1.PUSH_ACK, greeting(version)))
    made += wire.ask(login(user, database), message(2, OK))
    for request, response in asked:
        *first, last = (request[at : at + SEGMENT] for at in range(0, len(request), SEGMENT))
        made += [wire.packet(0, nplus1.PUSH_ACK, piece) for piece in first]
        made += wire.ask(last, response)
    return made


def capture(asked: Iterable[tuple[bytes, bytes]], **names: str) -> bytes:
    return bytes(nplus1.PCAP_HEADER) + b"".join(records(asked, **names))
