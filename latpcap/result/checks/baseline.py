"""The result of an earlier run, read from its JSON: what gates compare with.

`latpcap analyze … --json` is a baseline for every figure, `latpcap project … --json` for its projections.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from latpcap.errors import UsageError
from latpcap.result.checks.figures import Measured, at

ANALYSIS, PROJECTION = "latpcap.analysis/1", "latpcap.projection/1"
HOW = "write one with `latpcap analyze CAPTURE --json -o baseline.json`"
MAX_RTT_ERROR_MS = 1e-9
"""RTTs that differ by less are the same, as the JSON rounds them."""


def saved(source: Mapping[str, Any] | str | Path) -> Measured:
    """Read a baseline from its file, or take it as `to_dict()` has it; `UsageError` where it is none."""
    name = "the result" if isinstance(source, Mapping) else str(source)
    result = dict(source) if isinstance(source, Mapping) else _read(name)
    schema = result.get("schema")
    if schema not in (ANALYSIS, PROJECTION):
        told = f"its schema is `{schema}`" if isinstance(schema, str) else "it has no schema"
        raise UsageError(f"{name}: {told}, and that of a baseline is `{ANALYSIS}`: {HOW}")
    if schema == PROJECTION:
        result = {"projection": result}
    return Measured(result, lambda rtt_ms: _projected_s(name, result, rtt_ms), name, _conditions(result))


def _read(path: str) -> dict[str, Any]:
    result = read_json(path, HOW)
    if not isinstance(result, dict):
        raise UsageError(f"{path}: it is no result of latpcap: {HOW}")
    return result


def read_json(path: str, how: str) -> Any:
    """Read a baseline's file; `UsageError` says `how` one is written."""
    try:
        return msgspec.json.decode(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: the baseline cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"{path}: a baseline is a JSON file: {how}") from None


def _conditions(result: Mapping[str, Any]) -> Mapping[str, Any]:
    projection = result.get("projection")
    conditions = projection.get("conditions") if isinstance(projection, dict) else None
    return conditions if isinstance(conditions, dict) else {}


def _projected_s(name: str, result: Mapping[str, Any], rtt_ms: float) -> float | None:
    """The runtime at an RTT that was projected onto then."""
    projection = result.get("projection")
    points = projection.get("points") if isinstance(projection, dict) else None
    for point in points if isinstance(points, list) else []:
        there = at(point, "rtt_ms", name)
        if there is not None and abs(there - rtt_ms) < MAX_RTT_ERROR_MS:
            return at(point, "runtime_s", name)
    raise UsageError(f"{name}: the baseline has no projection onto {rtt_ms:g} ms: write it with --rtt {rtt_ms:g}ms")
