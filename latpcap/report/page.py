"""What an HTML report carries along: the analysis, the job with any fixes over the RTT, the timeline, histograms.

Whatever grows with the recording is bounded here, and the page tells the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from latpcap.report.histograms import BINS_PER_DECADE, histograms
from latpcap.report.timeline import timeline
from latpcap.result.analysis import Measures, plain
from latpcap.result.verdict import TYPICAL_RTT_MS
from latpcap.tables.columns import take
from latpcap.tables.recording import Recording

__all__ = ["page_data"]

SCHEMA = "latpcap.report/1"

MIN_RTT_MS, MAX_RTT_MS = 0.05, 300.0
STATEMENTS = 200
CONNECTIONS = 200
FILES = 50
TEXT = 4000
"""Characters of one text."""
LISTS = frozenset({"connections", "frames"})
"""Of a finding; its first and last frame and its display filter say the same."""
WHOLE_TEXTS = frozenset({"display_filter", "verdict"})
"""Texts that would be wrong if they were cut."""


def page_data(measures: Measures, rtt_ms: Sequence[float] | None = None) -> dict[str, Any]:
    """Return all that the page shows; `rtt_ms` are the RTTs that were asked for."""
    result, recording = measures.analyze(rtt_ms).to_dict(), measures.recording
    baseline_ms = result["projection"]["baseline_rtt_ms"]
    first_rtt_ms = _first_rtt(baseline_ms, rtt_ms)
    low_ms, high_ms = min(MIN_RTT_MS, baseline_ms or math.inf), max(MAX_RTT_MS, baseline_ms or 0)
    asked_ms = sorted({first_rtt_ms, *(point["rtt_ms"] for point in result["projection"]["points"])})
    explored = plain(measures.explore(low_ms, high_ms, asked_ms, first_rtt_ms))
    drawn = timeline(recording, measures.baselines.baseline, measures.timeline.own_service_ns)
    _name_statements(drawn, recording)
    page: dict[str, Any] = _bounded(
        {
            "schema": SCHEMA,
            "program": _program(),
            "analysis": _shortened(result) | {"findings": _findings(explored)},
            "asked_rtt_ms": first_rtt_ms,
            "lowest_rtt_ms": low_ms,
            "highest_rtt_ms": high_ms,
            "switches": _listed_statements(explored["switches"]["switches"]),
            "combined": explored["switches"]["combined"],
            "jobs": explored["switches"]["jobs"],
            "timeline": drawn,
            "histograms": {"bins_per_decade": BINS_PER_DECADE} | histograms(recording.exchanges),
        }
    )
    return page


def _program() -> str:
    return f"latpcap {version('latpcap')}"


def _first_rtt(baseline_ms: float | None, asked: Sequence[float] | None) -> float:
    """Where the slider stands at first: the largest RTT asked for, else a typical distance as in the verdict."""
    if asked:
        return min(max(max(asked), MIN_RTT_MS), max(MAX_RTT_MS, baseline_ms or 0))
    return min(max(TYPICAL_RTT_MS, 2 * (baseline_ms or 0)), MAX_RTT_MS)


def _findings(explored: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings without the lists that grow with the recording, each with its part of what its fix saves."""
    return [
        {key: value for key, value in finding.items() if key not in LISTS} | {"part": part}
        for finding, part in zip(explored["findings"], explored["parts"], strict=True)
    ]


def _listed_statements(switches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The switches with their parts of those statements that the page lists."""
    return [
        switch | {"statements": [part for part in switch["statements"] if part["statement"] < STATEMENTS]}
        for switch in switches
    ]


def _shortened(result: dict[str, Any]) -> dict[str, Any]:
    """The analysis with the costliest statements, the busiest connections and the first files; sums of the rest."""
    statements, connections = result["statements"], result["connections"]
    busiest = sorted(range(len(connections)), key=lambda row: -connections[row]["round_trips"])
    kept = sorted(busiest[:CONNECTIONS])
    return result | {
        "statements": statements[:STATEMENTS],
        "statements_rest": _sums(
            statements[STATEMENTS:], ("executions", "exchanges", "round_trips", "rows", "network_s", "service_s")
        ),
        "connections": [connections[row] for row in kept],
        "connections_rest": _sums(
            [connections[row] for row in busiest[CONNECTIONS:]],
            ("exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes"),
        ),
        "methods": _methods(connections),
        "captures": result["captures"][:FILES],
        "captures_rest": _sums(result["captures"][FILES:], ("packets", "bytes")),
    }


def _methods(connections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How the RTT of how many connections is known, the most usual first."""
    counts: dict[tuple[str, str, str], int] = {}
    for connection in connections:
        rtt = connection["rtt"]
        key = (rtt["method"], rtt["reason"], rtt["position"])
        counts[key] = counts.get(key, 0) + 1
    names = ("method", "reason", "position")
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return [dict(zip(names, key, strict=True)) | {"connections": count} for key, count in ordered]


def _sums(rows: list[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    return {"count": len(rows)} | {name: sum(row[name] or 0 for row in rows) for name in names}


def _name_statements(drawn: dict[str, Any], recording: Recording) -> None:
    """Replace the ids of statements in the timeline by indices into a list of their texts."""
    lanes = [lane for lane in drawn["lanes"] if "statement" in lane]
    ids, counts = np.unique(
        np.array([one for lane in lanes for one in lane["statement"]], np.int64), return_counts=True
    )
    usual = ids[np.argsort(-counts, kind="stable")]
    usual = usual[usual >= 0][:STATEMENTS]
    index = {int(number): row for row, number in enumerate(usual)}
    texts = take(recording.statement_texts, usual)
    drawn["statements"] = [str(text)[:200] for text in texts.to_pylist()]
    for lane in lanes:
        lane["statement"] = [index.get(number, -1) for number in lane["statement"]]


def _bounded(value: Any, name: str = "") -> Any:
    """`value` with texts cut to `TEXT` characters and unknown numbers as null, all the way down."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value if name in WHOLE_TEXTS or len(value) <= TEXT else value[: TEXT - 1] + "…"
    if isinstance(value, dict):
        return {key: _bounded(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return value if value and isinstance(value[0], int) else [_bounded(item, name) for item in value]
    return value
