"""A result, or the rows of a table, as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from latpcap.display import Displayed, plain
from latpcap.tables.columnar.table import Table
from latpcap.tables.columnar.values import Rows

DECIMALS = 9
"""Decimals kept: nanoseconds in seconds, and more than enough in milliseconds."""


def render(result: Displayed | Table, beside: Mapping[str, Any] | None = None) -> Iterator[str | bytes]:
    """Yield the result as JSON in pieces, as it may be large; `beside` are further keys of the object."""
    more = dict(beside or {})
    return _rows(result, more) if isinstance(result, Table) else _pieces(result.parts() | more)


def _rows(table: Table, more: dict[str, Any]) -> Iterator[str | bytes]:
    """`{"schema": …, "rows": […]}`: each row as a line of JSON Lines has it."""
    yield f'{{\n  "schema": {_json(table.schema)},\n  "rows": ['
    separator = b"\n    "
    for part in table.encode("jsonl"):
        for line in part.splitlines():
            yield separator + line
            separator = b",\n    "
    yield "\n  ]" if len(table) else "]"
    for key, item in more.items():
        yield f",\n  {_json(key)}: "
        yield from _lines(item)
    yield "\n}\n"


def dump(value: dict[str, Any]) -> str:
    """Return an object as JSON: a line for each of its values, and one for each row of its lists."""
    return "".join(piece if isinstance(piece, str) else piece.decode() for piece in _pieces(value))


def _pieces(value: dict[str, Any]) -> Iterator[str | bytes]:
    separator = "{\n"
    for key, item in value.items():
        yield f"{separator}  {_json(key)}: "
        yield from _lines(item)
        separator = ",\n"
    yield "\n}\n"


def _lines(value: Any) -> Iterator[str | bytes]:
    if not isinstance(value, list | tuple | Rows) or not value:
        yield _json(value)
        return
    yield "[\n    "
    yield from value.encode(",\n    ") if isinstance(value, Rows) else [",\n    ".join(map(_json, value))]
    yield "\n  ]"


def _json(value: Any) -> str:
    return _ENCODER.encode(plain(value, _rounded))


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _rounded(value: float) -> float:
    return round(value, DECIMALS)
