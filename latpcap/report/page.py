"""What an HTML report carries along: the analysis, the curve over the RTT, the timeline and the histograms.

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

__all__ = ["page_data", "rtt_grid"]

SCHEMA = "latpcap.report/1"

LEAST_RTT_MS, MOST_RTT_MS = 0.05, 300.0
GRID = 96
"""Points of the curve: between neighbours, 9 % apart, a straight line."""
STRAIGHT = 0.001
"""Where that could be wrong by more, points are `CLOSER` times as close."""
CLOSER = 8
ENDS = ("runtime_s", "optimistic_s", "pessimistic_s")
STATEMENTS = 200
CONNECTIONS = 200
FILES = 50
TEXT = 4000
"""Characters of one text."""
LISTS = frozenset({"connections", "frames"})
"""Of a finding; its first and last frame and its display filter say the same."""
WHOLE_TEXTS = frozenset({"display_filter", "verdict"})
"""Texts that would be wrong if they were cut."""


def rtt_grid(baseline_ms: float | None) -> list[float]:
    """The RTTs of the curve in ms, ascending: evenly spaced on a logarithmic scale, and the baseline itself."""
    low, high = min(LEAST_RTT_MS, baseline_ms or LEAST_RTT_MS), max(MOST_RTT_MS, baseline_ms or MOST_RTT_MS)
    grid = set(np.geomspace(low, high, GRID).round(9).tolist())
    return sorted(grid | {baseline_ms} if baseline_ms else grid)


def page_data(measures: Measures, rtt_ms: Sequence[float] | None = None) -> dict[str, Any]:
    """Return all that the page shows; `rtt_ms` are the RTTs that were asked for."""
    result, recording = measures.analyze(rtt_ms).to_dict(), measures.recording
    baseline_ms = result["projection"]["baseline_rtt_ms"]
    first_rtt_ms = _first_rtt(baseline_ms, rtt_ms)
    dense = measures.analyze(rtt_grid(baseline_ms)).to_dict()
    drawn = timeline(recording, measures.baselines.baseline, measures.timeline.own_service_ns)
    _name_statements(drawn, recording)
    page: dict[str, Any] = _bounded(
        {
            "schema": SCHEMA,
            "program": _program(),
            "analysis": _shortened(result) | {"findings": _findings(dense["findings"], first_rtt_ms)},
            "curve": _curve(measures, dense["projection"]["points"]),
            "asked_rtt_ms": first_rtt_ms,
            "setup_network_s": measures.timeline.setup_network_s,
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
        return min(max(max(asked), LEAST_RTT_MS), max(MOST_RTT_MS, baseline_ms or 0))
    return min(max(TYPICAL_RTT_MS, 2 * (baseline_ms or 0)), MOST_RTT_MS)


def _curve(measures: Measures, points: list[dict[str, Any]]) -> dict[str, list[float | None]]:
    """The projection, densely enough to read any RTT off it, one list a column."""
    bends = _bends(points)
    closer = [plain(point) for point in measures.project(bends).points] if bends else []
    ordered = sorted(points + closer, key=lambda point: point["rtt_ms"])
    return {name: [point[name] for point in ordered] for name in ("rtt_ms", *ENDS, "throughput_per_s")}


def _bends(points: list[dict[str, Any]]) -> list[float]:
    """RTTs between neighbouring points where a straight line could be wrong, as the slope changes there.

    Between two lines whose slopes differ by d, a chord of length h is wrong by d × h ÷ 4 at most.
    """
    rtt = np.array([point["rtt_ms"] for point in points])
    found = np.zeros(len(rtt) - 1, bool)
    for name in ENDS:
        seconds = np.array([point[name] for point in points], float)
        slope = np.diff(seconds) / np.diff(rtt)
        around = np.pad(slope, 1, "edge")
        wrong = np.abs(around[2:] - around[:-2]) * np.diff(rtt) / 4
        found |= wrong > STRAIGHT * seconds[:-1]
    between = np.arange(1, CLOSER) / CLOSER
    return [float(at) for left in np.flatnonzero(found) for at in rtt[left] + between * (rtt[left + 1] - rtt[left])]


def _findings(findings: list[dict[str, Any]], rtt_ms: float) -> list[dict[str, Any]]:
    """The findings, those that save most at `rtt_ms` first, without the lists that grow with the recording."""

    def saved(finding: dict[str, Any]) -> float:
        points = sorted((float(rtt), float(seconds)) for rtt, seconds in finding["saved_s"].items())
        if not points:
            return 0.0
        return float(np.interp(rtt_ms, [rtt for rtt, _ in points], [seconds for _, seconds in points]))

    ordered = sorted(findings, key=saved, reverse=True)
    return [{key: value for key, value in finding.items() if key not in LISTS} for finding in ordered]


def _shortened(result: dict[str, Any]) -> dict[str, Any]:
    """The analysis with the dearest statements, the busiest connections and the first files; sums of the rest."""
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
