"""The memory that reading a Parquet file takes, by its footer and page heads, before any of it is decompressed.

<https://parquet.apache.org/docs/file-format/> and, for the bytes, Thrift's compact protocol:
<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>. A few bytes of a page may say
gigabytes, and one text of a dictionary may stand in every row.
"""

from __future__ import annotations

import os
from typing import IO, Any

from msgspec import Struct

MAGIC = b"PAR1"
TRAILER_BYTES = 8
"""A Parquet file ends with the length of its footer and the magic number."""
BYTE_ARRAY_TYPE = 6
MAX_PAGE_HEADER_BYTES = 1 << 16
"""A page's header, with its minimum and maximum, has at most this many bytes."""
MAX_COLUMNS = 256
MAX_DEPTH = 12
WRITTEN = frozenset({0, 2, 3, 4, 5, 8})
"""Encodings: plain, dictionaries, runs, packed bits and deltas of numbers. Others make long texts of few bytes."""
BOOLS, BYTE, INTS, DOUBLE, BINARY, LISTS, STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


class Weight(Struct, frozen=True):
    """Bytes."""

    rows: int
    pages: int = 0
    """Largest page of each column, its dictionary, and the packed bytes, in the row group with most of them."""
    texts: int = 0
    """The most that a row takes: the dictionaries of texts in the row group with most."""
    columns: int = 0


def weighed(path: str | os.PathLike[str] | IO[bytes], most: int) -> Weight:
    """Weigh a file, open or by its path; raises `ValueError` where it is none that latpcap writes.

    A footer of more than a sixteenth of `most` bytes is refused.
    """
    if not isinstance(path, str | os.PathLike):
        return _weighed(path, most // 16)
    with open(path, "rb") as file:
        return _weighed(file, most // 16)


def _weighed(file: IO[bytes], most: int) -> Weight:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - TRAILER_BYTES, 0))
    tail = file.read(TRAILER_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - TRAILER_BYTES:
        raise ValueError("it ends in no Parquet footer")
    if length > most:
        raise ValueError(f"its footer of {length:,} bytes needs more --memory")
    file.seek(size - TRAILER_BYTES - length)
    footer = _parsed(file.read(length))
    groups = [_group(file, group) for group in (_field(footer, 4, list) if 4 in footer else [])]
    if sum(packed for _, packed in groups) > size:
        raise ValueError("its columns lie over each other")
    return Weight(
        sum(each.rows for each, _ in groups),
        max((each.pages for each, _ in groups), default=0),
        max((each.texts for each, _ in groups), default=0),
        max((each.columns for each, _ in groups), default=0),
    )


def _group(file: IO[bytes], group: dict[int, Any]) -> tuple[Weight, int]:
    """A row group, and how many bytes of the file it has."""
    rows, columns = _number(group, 3), [_field(column, 3, dict) for column in _field(group, 1, list)]
    if len(columns) > MAX_COLUMNS:
        raise ValueError(f"it has {len(columns):,} columns")
    packed = sum(_number(column, 7) for column in columns)
    if packed > file.seek(0, os.SEEK_END):
        raise ValueError("its columns lie over each other")
    pages = texts = 0
    for column in columns:
        largest, dictionary = _pages(file, column, rows)
        pages += largest + dictionary
        texts += dictionary if _number(column, 1) == BYTE_ARRAY_TYPE else 0
    return Weight(rows, pages + packed, texts, len(columns)), packed


def _pages(file: IO[bytes], column: dict[int, Any], rows: int) -> tuple[int, int]:
    """The largest page of a column, which has a value in each row, and its dictionary."""
    begin = _number(column, 11) if 11 in column else _number(column, 9)
    end, values, largest, dictionary = begin + _number(column, 7), 0, 0, 0
    while begin < end:
        file.seek(begin)
        head, length = _page(file.read(min(MAX_PAGE_HEADER_BYTES, end - begin)))
        size = _number(head, 2)
        if 7 in head:
            dictionary, known = max(dictionary, size), _field(head, 7, dict)
        else:
            largest, known = max(largest, size), _field(head, 8 if 8 in head else 5, dict)
            values += _number(known, 1)
        if _number(known, 4 if 8 in head else 2) not in WRITTEN:
            raise ValueError("a column is encoded in a way that latpcap never writes")
        begin += length + _number(head, 3)
    if values != rows:
        raise ValueError(f"a column has {values:,} values, and there are {rows:,} rows")
    return largest, dictionary


def _page(data: bytes) -> tuple[dict[int, Any], int]:
    reader = _Compact(data)
    return reader.struct(0), reader.at


def _parsed(data: bytes) -> dict[int, Any]:
    return _Compact(data).struct(0)


def _number(struct: dict[int, Any], field: int) -> int:
    number: int = _field(struct, field, int)
    if number < 0:
        raise ValueError("a size in its footer is negative")
    return number


def _field(struct: Any, field: int, kind: type) -> Any:
    value = struct.get(field) if isinstance(struct, dict) else None
    if not isinstance(value, kind):
        raise ValueError("its footer lacks what every file has")
    return value


class _Compact:
    """Structs of Thrift's compact protocol: fields by their numbers."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > MAX_DEPTH:
            raise ValueError("its footer is too deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == BOOLS[0] if kind in BOOLS else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in INTS:
            return self._signed()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in LISTS:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == BYTE or kind in BOOLS:
            return self._byte()
        if kind == DOUBLE:
            return self._take(8)
        raise ValueError("its footer has a field of an unknown kind")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise ValueError("its footer, or the head of a page, is cut")
        self.at += count
        return taken

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("its footer has a number without an end")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
