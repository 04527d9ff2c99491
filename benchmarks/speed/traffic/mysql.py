"""MySQL's messages as a MariaDB server and a plain client exchange them: no compression, EOF packets."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from .wire import PUSH_ACK, Record, Wire

SALARY = [("salary", 3), ("from_date", 10)]


def message(sequence: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([sequence & 0xFF]) + payload


def text(value: str) -> bytes:
    return length(len(value)) + value.encode()


def length(value: int) -> bytes:
    """A length-encoded integer, as long as it needs to be."""
    if value < 251:
        return bytes([value])
    return b"\xfc" + struct.pack("<H", value) if value < 1 << 16 else b"\xfd" + struct.pack("<I", value)[:3]


def column(name: str, kind: int) -> bytes:
    names = text("def") + text("lab") + text("salaries") * 2 + text(name) * 2
    return names + struct.pack("<BHIBHBH", 12, 33, 255, kind, 0, 0, 0)


def result(columns: Sequence[tuple[str, int]], rows: Sequence[Sequence[str]]) -> bytes:
    end = b"\xfe\0\0\x02\0"
    payloads = [bytes([len(columns)]), *(column(*each) for each in columns), end]
    payloads += [b"".join(text(value) for value in row) for row in rows] + [end]
    return b"".join(message(number, payload) for number, payload in enumerate(payloads, 1))


def query(sql: str) -> bytes:
    return message(0, b"\x03" + sql.encode())


def greeting() -> bytes:
    salt = b"abcdefgh\0", b"ijklmnopqrst\0"
    capabilities = struct.pack("<HBHHB", 0xF7FE, 45, 2, 0x81BF, 21)
    return message(
        0,
        b"\x0a10.11.6-MariaDB\0\x07\0\0\0" + salt[0] + capabilities + bytes(10) + salt[1] + b"mysql_native_password\0",
    )


def login(user: str = "lab") -> bytes:
    capabilities = struct.pack("<IIB23x", 0x000AA205, 1 << 24, 45)
    return message(1, capabilities + user.encode() + b"\0\x14" + b"\x07" * 20 + b"mysql_native_password\0")


OK = message(2, b"\0\0\0\x02\0\0\0")
"""The answer to a login."""
DONE = message(1, OK[4:])
"""The answer to a command."""
QUIT = message(0, b"\x01")


def log_in(wire: Wire, user: str = "lab") -> Iterator[Record]:
    """Handshake, greeting, login."""
    yield from wire.open()
    yield wire.packet(1, PUSH_ACK, greeting())
    yield from wire.ask(login(user), OK)
