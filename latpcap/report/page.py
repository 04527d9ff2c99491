"""What an HTML report carries along: the analysis, the job with any fixes over the RTT, the timeline, histograms.

Whatever grows with the recording is bounded here, and the page tells the bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from latpcap.display import plain
from latpcap.report.chattiness import chattiness_rows
from latpcap.result.analysis import Analysis
from latpcap.result.connections import ConnectionResult, busiest
from latpcap.result.exploration import Exploration
from latpcap.result.switches import Switch
from latpcap.tables.values import column_of

__all__ = ["STATEMENTS", "bounded", "page_data"]

SCHEMA = "latpcap.report/1"

STATEMENTS = 200
CONNECTIONS = 200
ROUTES = 200
PATHS = 200
FILES = 50
ERRORS = 200
TEXT = 4000
"""Characters of one text."""
LISTS = frozenset({"connections", "frames"})
"""Of a finding; its first and last frame and its display filter say the same."""
WHOLE_TEXTS = frozenset({"display_filter", "verdict"})
"""Texts that would be wrong if they were cut."""


def page_data(explored: Exploration) -> dict[str, Any]:
    """Return all that the page shows."""
    switches = explored.switches
    page: dict[str, Any] = bounded(
        {
            "schema": SCHEMA,
            "program": explored.analysis.sign_off.program,
            "analysis": _shortened(explored.analysis) | {"findings": _findings(explored)},
            "asked_rtt_ms": explored.first_rtt_ms,
            "moving": plain(explored.moving),
            "lowest_rtt_ms": explored.lowest_rtt_ms,
            "highest_rtt_ms": explored.highest_rtt_ms,
            "switches": [_with_listed_statements(switch) for switch in switches.switches],
            "combined": switches.combined,
            "jobs": plain(switches.jobs),
            "chattiness": [list(row) for row in chattiness_rows(explored.analysis.chattiness)],
            "timeline": explored.timeline,
            "histograms": explored.histograms,
        }
    )
    return page


def _findings(explored: Exploration) -> list[dict[str, Any]]:
    """The findings without the lists that grow with the recording, each with its part of what its fix saves."""
    return [
        {key: value for key, value in plain(finding).items() if key not in LISTS} | {"part": part}
        for finding, part in zip(explored.findings, explored.parts, strict=True)
    ]


def _with_listed_statements(switch: Switch) -> dict[str, Any]:
    """The switch with its parts of those statements that the page lists; it may have many more."""
    listed = tuple(takewhile(lambda part: part.statement < STATEMENTS, switch.statements))
    shortened: dict[str, Any] = plain(replace(switch, statements=listed))
    return shortened


def _shortened(analysis: Analysis) -> dict[str, Any]:
    """The analysis with the costliest statements, the busiest connections and the first files; sums of the rest."""
    statements, connections = analysis.statements, analysis.connections
    order = busiest(connections)
    kept = tuple(connections[place] for place in sorted(order[:CONNECTIONS]))
    result = replace(analysis, statements=statements[:STATEMENTS], connections=kept).to_dict()
    return result | {
        "statements_rest": _sums_of_rest(
            statements,
            range(STATEMENTS, len(statements)),
            ("executions", "exchanges", "round_trips", "rows", "network_s", "service_s"),
        ),
        "connections_rest": _sums_of_rest(
            connections,
            order[CONNECTIONS:],
            ("exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes"),
        ),
        "methods": _methods(connections),
        "errors": _errors(result["errors"]),
        "routes": result["routes"][:ROUTES],
        "routes_rest": _sums(result["routes"][ROUTES:], ("executions", "round_trips", "network_s", "service_s")),
        "paths": result["paths"][:PATHS],
        "paths_rest": _sums(result["paths"][PATHS:], ("connections",)),
        "captures": result["captures"][:FILES],
        "captures_rest": _sums(result["captures"][FILES:], ("packets", "bytes")),
    }


def _errors(errors: dict[str, Any]) -> dict[str, Any]:
    """The most frequent errors without their filters, which the findings have; sums of the rest."""
    found = [{name: value for name, value in each.items() if name != "display_filter"} for each in errors["found"]]
    rest = _sums(found[ERRORS:], ("round_trips",)) | {"failures": sum(each["count"] for each in found[ERRORS:])}
    return errors | {"found": found[:ERRORS], "found_rest": rest}


def _methods(connections: Sequence[ConnectionResult]) -> list[dict[str, Any]]:
    """How the RTT of how many connections is known, the most usual first."""
    names, rtts = ("method", "reason", "position"), column_of(connections, "rtt")
    counts = Counter(zip(*(column_of(rtts, name) for name in names), strict=True))
    return [dict(zip(names, key, strict=True)) | {"connections": count} for key, count in counts.most_common()]


def _sums(rows: list[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    return {"count": len(rows)} | {name: sum(row[name] or 0 for row in rows) for name in names}


def _sums_of_rest(rows: Sequence[Any], rest: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """The same of the rows at the places `rest`, which may be many."""
    values = {name: list(column_of(rows, name)) for name in names}
    return {"count": len(rest)} | {name: sum(column[place] or 0 for place in rest) for name, column in values.items()}


def bounded(value: Any, name: str = "") -> Any:
    """`value` with texts cut to `TEXT` characters and unknown numbers as null, all the way down."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if name in WHOLE_TEXTS or len(value) <= TEXT else value[: TEXT - 1] + "…"
    if isinstance(value, dict):
        return {key: bounded(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return value if value and isinstance(value[0], int) else [bounded(item, name) for item in value]
    return value
