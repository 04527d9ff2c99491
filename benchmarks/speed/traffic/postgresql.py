"""PostgreSQL's messages: the extended protocol, one statement parsed, bound, described, executed and synced at once."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from .wire import Record, Wire


def message(tag: str, body: bytes) -> bytes:
    return tag.encode() + struct.pack(">I", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def sized(value: str) -> bytes:
    return struct.pack(">I", len(value)) + value.encode()


READY = message("Z", b"I")
GOODBYE = message("X", b"")


def startup(user: str = "lab") -> bytes:
    body = struct.pack(">I", 3 << 16) + text("user") + text(user) + text("database") + text("lab") + b"\0"
    return struct.pack(">I", len(body) + 4) + body


def welcome() -> bytes:
    settings = {"server_version": "15.14", "client_encoding": "UTF8", "integer_datetimes": "on"}
    told = b"".join(message("S", text(name) + text(value)) for name, value in settings.items())
    return message("R", bytes(4)) + told + message("K", bytes(8)) + READY


def query(sql: str, *values: str) -> bytes:
    parse = message("P", b"\0" + text(sql) + struct.pack(">H", 0))
    bound = struct.pack(">H", len(values)) + b"".join(sized(value) for value in values)
    bind = message("B", b"\0\0" + struct.pack(">H", 0) + bound + struct.pack(">H", 0))
    return parse + bind + message("D", b"P\0") + message("E", b"\0" + bytes(4)) + message("S", b"")


def result(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    described = b"".join(text(name) + struct.pack(">IHIhiH", 0, 0, 25, -1, -1, 0) for name in columns)
    answer = message("1", b"") + message("2", b"") + message("T", struct.pack(">H", len(columns)) + described)
    for row in rows:
        answer += message("D", struct.pack(">H", len(row)) + b"".join(sized(value) for value in row))
    return answer + message("C", text(f"SELECT {len(rows)}")) + READY


def log_in(wire: Wire) -> Iterator[Record]:
    yield from wire.open()
    yield from wire.ask(startup(), welcome())
