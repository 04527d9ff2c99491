"""A result as one JSON object."""

from __future__ import annotations

import json
from typing import Any

from latpcap.display import Displayed

__all__ = ["dump", "render"]

DIGITS = 9
"""Decimals that are kept: nanoseconds in seconds, and more than enough in milliseconds."""


def render(result: Displayed) -> str:
    """Return the result as JSON."""
    return dump(result.to_dict())


def dump(value: dict[str, Any]) -> str:
    """Return an object as JSON: a line for each of its values, and one for each row of its lists."""
    return "{\n" + ",\n".join(f"  {_json(key)}: {_lines(item)}" for key, item in value.items()) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return _json(value)
    return "[\n" + ",\n".join(f"    {_json(row)}" for row in value) + "\n  ]"


def _json(value: Any) -> str:
    return json.dumps(_rounded(value), ensure_ascii=False, allow_nan=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
