"""Pieces of TDS: packets, tokens, types and values, as far as real clients need them."""

from __future__ import annotations

import struct
from typing import Any

from sqlserver.script import Rows

BATCH, CALL, ANSWER, ATTENTION, BULK, TRANSACTION, LOGIN, SSPI, PRELOGIN = 1, 3, 4, 6, 7, 14, 16, 17, 18
HEADER, LAST = 8, 1
PACKET = 4096
COLLATION = bytes.fromhex("0904d00034")
MORE, ERROR, COUNT, ATTENDED, CALL_IN_BATCH = 1, 2, 0x10, 0x20, 0x80
DONE, DONE_CALL, DONE_IN_CALL = 0xFD, 0xFE, 0xFF


def packets(kind: int, body: bytes, size: int = PACKET) -> list[bytes]:
    """A message in packets of that size."""
    parts = [body[at : at + size - HEADER] for at in range(0, len(body), size - HEADER)] or [b""]
    return [
        struct.pack(">BBHHBB", kind, LAST if number == len(parts) else 0, len(part) + HEADER, 52, number % 256, 0)
        + part
        for number, part in enumerate(parts, 1)
    ]


def text(value: str) -> bytes:
    """A text behind its length in characters, one byte."""
    return bytes([len(value)]) + value.encode("utf-16-le")


def long_text(value: str) -> bytes:
    return struct.pack("<H", len(value)) + value.encode("utf-16-le")


def token(kind: int, body: bytes) -> bytes:
    return struct.pack("<BH", kind, len(body)) + body


def done(kind: int, status: int, command: int, count: int = 0) -> bytes:
    return struct.pack("<BHHQ", kind, status, command, count)


def error(number: int, message: str, level: int, line: int = 1) -> bytes:
    return token(
        0xAA,
        struct.pack("<IBB", number, 1, level) + long_text(message) + text("srv") + text("") + struct.pack("<I", line),
    )


def info(number: int, message: str) -> bytes:
    return token(
        0xAB, struct.pack("<IBB", number, 2, 0) + long_text(message) + text("srv") + text("") + struct.pack("<I", 1)
    )


TYPES = {
    int: bytes([0x26, 4]),
    str: bytes([0xE7]) + struct.pack("<H", 8000) + COLLATION,
    bytes: bytes([0xA5, 0xFF, 0xFF]),
}
"""INTN, NVARCHAR, VARBINARY(MAX)."""


def columns(rows: Rows) -> bytes:
    each = (struct.pack("<IH", 0, 9) + TYPES[kind] + text(name) for name, kind in rows.columns)
    return struct.pack("<BH", 0x81, len(rows.columns)) + b"".join(each)


def value(kind: type, given: Any) -> bytes:
    if kind is int:
        return b"\0" if given is None else struct.pack("<Bi", 4, given)
    if kind is str:
        encoded = b"" if given is None else given.encode("utf-16-le")
        return b"\xff\xff" if given is None else struct.pack("<H", len(encoded)) + encoded
    chunk = struct.pack("<I", len(given)) + given
    return struct.pack("<Q", len(given)) + (chunk if given else b"") + bytes(4)


def row(rows: Rows, values: tuple[Any, ...]) -> bytes:
    """As ROW, or as NBCROW where something is null."""
    given = [(kind, each) for (_, kind), each in zip(rows.columns, values, strict=True)]
    if all(each is not None for _, each in given):
        return b"\xd1" + b"".join(value(kind, each) for kind, each in given)
    nulls = sum(1 << number for number, (_, each) in enumerate(given) if each is None)
    return (
        b"\xd2"
        + nulls.to_bytes((len(given) + 7) // 8, "little")
        + b"".join(value(kind, each) for kind, each in given if each is not None)
    )


def returned(number: int, ordinal: int = 0) -> bytes:
    """A handle that comes back."""
    return struct.pack("<BHBBIH", 0xAC, ordinal, 0, 1, 0, 0) + TYPES[int] + value(int, number)


class Reader:
    """A call as its client wrote it."""

    def __init__(self, body: bytes):
        self.body, self.at = body, 0

    def take(self, length: int) -> bytes:
        self.at += length
        return self.body[self.at - length : self.at]

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "little")

    def headers(self) -> None:
        self.at = struct.unpack_from("<I", self.body)[0]

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.body)

    def procedure(self) -> int | str:
        length = self.number(2)
        name = self.number(2) if length == 0xFFFF else self.take(2 * length).decode("utf-16-le")
        self.number(2)
        return name

    def parameters(self) -> list[Any]:
        """Up to the next call, which begins behind a separator."""
        found = []
        while not self.is_over:
            length = self.number(1)
            if length >= 0xFE:
                break
            self.take(2 * length + 1)
            found.append(self.parameter())
        return found

    def parameter(self) -> Any:
        kind = self.number(1)
        if kind in (0xA5, 0xA7, 0xAD, 0xAF, 0xE7, 0xEF):
            return self.short(kind)
        if kind in (0x22, 0x23, 0x63):
            self.take(4 if kind == 0x22 else 9)
            length = self.number(4)
            return (
                None if length == 0xFFFFFFFF else self.take(length).decode("utf-16-le" if kind == 0x63 else "latin-1")
            )
        fixed = {0x30: 1, 0x32: 1, 0x34: 2, 0x38: 4, 0x3E: 8, 0x3D: 8, 0x7F: 8}
        if kind in fixed:
            return self.number(fixed[kind])
        self.take({0x28: 0, 0x6A: 3, 0x6C: 3}.get(kind, 1))
        return int.from_bytes(self.take(self.number(1)), "little")

    def short(self, kind: int) -> Any:
        longest = self.number(2)
        self.take(0 if kind in (0xA5, 0xAD) else 5)
        if longest == 0xFFFF:
            given = self.chunks()
        else:
            length = self.number(2)
            given = None if length == 0xFFFF else self.take(length)
        if given is None or kind in (0xA5, 0xAD):
            return given
        return given.decode("utf-16-le" if kind in (0xE7, 0xEF) else "latin-1")

    def chunks(self) -> bytes | None:
        if self.number(8) == 0xFFFFFFFFFFFFFFFF:
            return None
        found = b""
        while length := self.number(4):
            found += self.take(length)
        return found
