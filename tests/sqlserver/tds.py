"""Pieces of TDS: packets, tokens, types and values, as far as real clients need them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
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
IMAGE = b"\x22" + struct.pack("<I", 0x7FFFFFFF) + struct.pack("<H", 0)
"""Before TDS 7.2, with the name of its table; its values have pointers and times."""
POINTER = b"\x10" + bytes(24)


def value(kind: type, given: Any) -> bytes:
    if kind is int:
        return b"\0" if given is None else struct.pack("<Bi", 4, given)
    if kind is str:
        encoded = b"" if given is None else given.encode("utf-16-le")
        return b"\xff\xff" if given is None else struct.pack("<H", len(encoded)) + encoded
    chunk = struct.pack("<I", len(given)) + given
    return struct.pack("<Q", len(given)) + (chunk if given else b"") + bytes(4)


def row(rows: Rows, values: tuple[Any, ...], *, is_wide: bool = True) -> bytes:
    """As ROW, or (since TDS 7.3) as NBCROW where something is null."""
    given = [(kind, each) for (_, kind), each in zip(rows.columns, values, strict=True)]
    if not is_wide:
        values_7_1 = (
            POINTER + struct.pack("<I", len(each)) + each if kind is bytes else value(kind, each)
            for kind, each in given
        )
        return b"\xd1" + b"".join(values_7_1)
    if all(each is not None for _, each in given):
        return b"\xd1" + b"".join(value(kind, each) for kind, each in given)
    nulls = sum(1 << number for number, (_, each) in enumerate(given) if each is None)
    return (
        b"\xd2"
        + nulls.to_bytes((len(given) + 7) // 8, "little")
        + b"".join(value(kind, each) for kind, each in given if each is not None)
    )


@dataclass
class Layout:
    """What a login has agreed to: TDS 7.1 is shorter, and a client of encrypted columns has keys before all columns."""

    is_wide: bool = True
    encrypts: int = 0

    @classmethod
    def agreed(cls, login: bytes) -> Layout:
        minor = login[7] & 0x0F if login[7] > 7 else login[6]
        return cls(minor >= 2, min(_features(login).get(COLUMN_ENCRYPTION, b"\0")[0], 3))

    @property
    def version(self) -> bytes:
        return bytes.fromhex("74000004" if self.is_wide else "71000001")

    @property
    def features(self) -> bytes:
        """What of the client's wishes the server says yes to."""
        ack = struct.pack("<BIB", COLUMN_ENCRYPTION, 1, self.encrypts)
        return b"\xae" + ack + b"\xff" if self.encrypts else b""

    def done(self, kind: int, status: int, command: int, count: int = 0) -> bytes:
        return struct.pack("<BHHQ" if self.is_wide else "<BHHI", kind, status, command, count)

    def columns(self, rows: Rows) -> bytes:
        keys = bytes(2) if self.encrypts else b""
        user_type = bytes(4 if self.is_wide else 2)
        types = TYPES if self.is_wide else TYPES | {bytes: IMAGE}
        each = (user_type + struct.pack("<H", 9) + types[kind] + text(name) for name, kind in rows.columns)
        return struct.pack("<BH", 0x81, len(rows.columns)) + keys + b"".join(each)

    def returned(self, number: int, ordinal: int = 0, name: str = "") -> bytes:
        """A handle that comes back, by the name that it was called with."""
        user_type = bytes(4 if self.is_wide else 2)
        return (
            struct.pack("<BH", 0xAC, ordinal)
            + text(name)
            + b"\1"
            + user_type
            + bytes(2)
            + TYPES[int]
            + value(int, number)
        )

    def behind_headers(self, body: bytes) -> int:
        return struct.unpack_from("<I", body)[0] if self.is_wide else 0

    def behind_package(self, body: bytes, at: int) -> int:
        """Behind what is for an enclave."""
        return at + 2 + int(struct.unpack_from("<H", body, at)[0]) if self.encrypts >= 2 else at


def database(login: bytes) -> str:
    """The one that a client asks for."""
    at, length = struct.unpack_from("<HH", login, 68)
    return login[at : at + 2 * length].decode("utf-16-le") or "shop"


COLUMN_ENCRYPTION = 4


def _features(login: bytes) -> dict[int, bytes]:
    """What a client wishes for beyond its version."""
    found: dict[int, bytes] = {}
    if not login[27] & 0x10:
        return found
    at = struct.unpack_from("<I", login, struct.unpack_from("<H", login, 56)[0])[0]
    while login[at] != 0xFF:
        number, length = struct.unpack_from("<BI", login, at)
        found[number] = login[at + 5 : at + 5 + length]
        at += 5 + length
    return found


class Reader:
    """A call as its client wrote it."""

    def __init__(self, body: bytes, layout: Layout):
        self.body, self.layout, self.at = body, layout, layout.behind_headers(body)

    def take(self, length: int) -> bytes:
        self.at += length
        return self.body[self.at - length : self.at]

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "little")

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.body)

    def procedure(self) -> int | str:
        length = self.number(2)
        name = self.number(2) if length == 0xFFFF else self.take(2 * length).decode("utf-16-le")
        self.number(2)
        self.at = self.layout.behind_package(self.body, self.at)
        return name

    def parameters(self) -> list[Any]:
        """Up to the next call, which begins behind a separator."""
        found = []
        self.first_name = ""
        while not self.is_over:
            length = self.number(1)
            if length >= 0xFE or (length == 0x80 and not self.layout.is_wide):
                break
            name = self.take(2 * length).decode("utf-16-le")
            self.first_name = self.first_name if found else name
            self.take(1)
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
