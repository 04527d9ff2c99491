"""How TTC writes numbers, strings and values: both ways."""

from __future__ import annotations

from decimal import Decimal

SHORT = 252
CHUNK = 32767


def ub(number: int) -> bytes:
    """A universal unsigned number: how many bytes, then the bytes.

    >>> ub(0), ub(100), ub(300)
    (b'\\x00', b'\\x01d', b'\\x02\\x01,')
    """
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def string(value: bytes | None) -> bytes:
    """Bytes with their length, in chunks where they are long."""
    if value is None:
        return b"\0"
    if len(value) <= SHORT:
        return bytes([len(value)]) + value
    chunks = (value[at : at + CHUNK] for at in range(0, len(value), CHUNK))
    return b"\xfe" + b"".join(ub(len(chunk)) + chunk for chunk in chunks) + b"\0"


def string_with_length(value: bytes) -> bytes:
    return ub(len(value)) + string(value) if value else b"\0"


def number(value: int) -> bytes:
    """Oracle's NUMBER: an exponent, then digits to the base of 100."""
    if value == 0:
        return b"\x80"
    digits = format(abs(Decimal(value)), "f")
    digits = "0" * (len(digits) % 2) + digits
    pairs = [int(digits[at : at + 2]) for at in range(0, len(digits), 2)]
    exponent = len(pairs)
    while pairs[-1] == 0:
        pairs.pop()
    if value > 0:
        return bytes([0xC0 + exponent, *(pair + 1 for pair in pairs)])
    return bytes([0xFF - 0xC0 - exponent, *(101 - pair for pair in pairs), 102])


def date(year: int, month: int, day: int) -> bytes:
    return bytes([year // 100 + 100, year % 100 + 100, month, day, 1, 1, 1])


class Reader:
    """A place in a message."""

    def __init__(self, message: bytes, at: int = 0):
        self.message, self.at = message, at

    def u8(self) -> int:
        self.at += 1
        return self.message[self.at - 1]

    def raw(self, length: int) -> bytes:
        self.at += length
        return self.message[self.at - length : self.at]

    def ub(self) -> int:
        return int.from_bytes(self.raw(self.u8() & 0x7F), "big")

    def skip(self, kinds: str) -> None:
        """Skip fields: `u` a universal number, `b` a byte."""
        for kind in kinds:
            self.ub() if kind == "u" else self.u8()

    def string(self) -> bytes:
        length = self.u8()
        if length != 0xFE:
            return self.raw(length)
        chunks = []
        while length := self.ub():
            chunks.append(self.raw(length))
        return b"".join(chunks)

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.message)
