"""A result, or the rows of a table, as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from latpcap.display import VALUES, Displayed, fields_of
from latpcap.tables.table import Table

__all__ = ["dump", "render"]

DIGITS = 9
"""Decimals that are kept: nanoseconds in seconds, and more than enough in milliseconds."""


def render(result: Displayed | Table) -> str | Iterator[str | bytes]:
    """Return the result as JSON; a table, which may be large, in pieces."""
    return _rows(result) if isinstance(result, Table) else dump(result.parts())


def _rows(table: Table) -> Iterator[str | bytes]:
    """`{"schema": …, "rows": […]}`: each row as a line of JSON Lines has it."""
    yield f'{{\n  "schema": {_json(table.schema)},\n  "rows": ['
    separator = b"\n    "
    for part in table.encode("jsonl"):
        for line in part.splitlines():
            yield separator + line
            separator = b",\n    "
    yield "\n  ]\n}\n" if len(table) else "]\n}\n"


def dump(value: dict[str, Any]) -> str:
    """Return an object as JSON: a line for each of its values, and one for each row of its lists."""
    return "{\n" + ",\n".join(f"  {_json(key)}: {_lines(item)}" for key, item in value.items()) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, list | tuple) or not value:
        return _json(value)
    return "[\n" + ",\n".join(f"    {_json(row)}" for row in value) + "\n  ]"


def _json(value: Any) -> str:
    return _ENCODER.encode(_rounded(value))


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _rounded(value: Any) -> Any:
    """Numbers rounded, and all as `plain` has it: in one go, as a result may have a million rows."""
    kind = type(value)
    if kind is float:
        return round(value, DIGITS)
    if kind in VALUES:
        return value
    if names := fields_of(kind):  # type: ignore[arg-type]
        return {name: _rounded(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: round(item, DIGITS) if type(item) is float else _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, DIGITS) if isinstance(value, float) else value
