"""The data of a page with a slider and switches: a recording at any RTT, with any fix made. A finished result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap.errors import UsageError
from latpcap.findings import FindingResult, finding_results
from latpcap.measures.charts import Deltas, binned
from latpcap.measures.statements import response_ns
from latpcap.projection.assumptions import Conditions
from latpcap.projection.project import DEFAULT_LADDER_MS, headline_rtt_ms
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.cover import Cover
from latpcap.result.page.switches import Switches, switches
from latpcap.result.page.timeline import timeline
from latpcap.tables.columnar.columns import take
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording
from latpcap.units import listed as in_words

MIN_RTT_MS, MAX_RTT_MS = 0.05, 300.0
MAX_STATEMENTS = 200
"""Texts that the timeline names."""


class Exploration(Struct, frozen=True):
    """The analysis at the asked RTTs, and what can be chosen between the lowest and the highest."""

    analysis: Analysis
    findings: tuple[FindingResult, ...]
    """In their order at the first RTT."""
    parts: tuple[float, ...]
    """The part of its fix's saving that each finding has."""
    switches: Switches
    first_rtt_ms: float
    lowest_rtt_ms: float
    highest_rtt_ms: float
    timeline: dict[str, Any]
    distributions: dict[str, Deltas]
    moving: SliderMove


class SliderMove(Struct, frozen=True):
    """The part that the slider moves."""

    text: str
    """The part of the job, in words; empty where it is all of it."""
    measured_ms: float | None
    """The RTT that this had in the capture; `None` where it had none of its own."""


def explore(
    measures: Measures,
    rtt_ms: Sequence[float] | None = None,
    within_s: float | None = None,
    conditions: Conditions | None = None,
    cover: Cover | None = None,
) -> Exploration:
    """Explore a recording; the slider begins with the RTTs of `rtt_ms` (ms) and moves what `conditions` leave to it."""
    measures = measures.application
    conditions = conditions or measures.basis.as_usual
    analysis, recording = measures.analyze(rtt_ms, within_s, conditions, cover), measures.recording
    moving = _moving(analysis, conditions)
    baseline_ms = analysis.projection.baseline_rtt_ms
    first_rtt_ms = _first_rtt(baseline_ms, rtt_ms)
    low_ms, high_ms = min(MIN_RTT_MS, baseline_ms or math.inf), max(MAX_RTT_MS, baseline_ms or 0)
    asked_ms = sorted({first_rtt_ms, *(point.rtt_ms for point in analysis.projection.points)})
    places_ms = sorted({*asked_ms, *([] if moving.measured_ms is None else [moving.measured_ms])})
    found = list(finding_results(measures.savings, asked_ms, first_rtt_ms))
    listed = [saving for _, saving in found]
    drawn = timeline(recording, measures.rtt.each_baseline, measures.timeline)
    _name_statements(drawn, recording)
    return Exploration(
        analysis=analysis,
        findings=tuple(result for result, _ in found),
        parts=tuple(saving.part for saving in listed),
        switches=switches(measures.savings, listed, measures.statements, low_ms, high_ms, places_ms, conditions),
        first_rtt_ms=first_rtt_ms,
        lowest_rtt_ms=low_ms,
        highest_rtt_ms=high_ms,
        timeline=drawn,
        distributions=_distributions(recording.exchanges, analysis.summary.baseline_rtt_ms),
        moving=moving,
    )


def _moving(analysis: Analysis, conditions: Conditions) -> SliderMove:
    """All of it, some servers, or all but some servers."""
    if not conditions.moved:
        return SliderMove("", analysis.projection.baseline_rtt_ms)
    if not conditions.others_stay:
        return SliderMove(f"{conditions.text}; the slider moves everything else.", None)
    if len({move.rtt_ms for move in conditions.moved}) > 1:
        raise UsageError("the page's slider moves the servers of --move together: give them one RTT, or write Markdown")
    servers = [move.server for move in conditions.moved]
    text = f"The slider moves {in_words(servers)} alone; all else stays where it is."
    had_ms = {path.rtt.baseline_ms for path in analysis.paths if path.server in servers}
    return SliderMove(text, had_ms.pop() if len(had_ms) == 1 else None)


def _first_rtt(baseline_ms: float | None, asked: Sequence[float] | None) -> float:
    """Return the slider's first place: the RTT of the verdict."""
    told = headline_rtt_ms(asked or DEFAULT_LADDER_MS, baseline_ms or 0.0)
    return min(max(told or 0.0, MIN_RTT_MS), max(MAX_RTT_MS, baseline_ms or 0))


def _distributions(exchanges: Exchanges, baseline_ms: float | None) -> dict[str, Deltas]:
    """Response times of exchanges that wait, and inter-query deltas; those that open a connection are left out."""
    working = ~exchanges.is_setup
    response, waits = response_ns(exchanges), exchanges.round_trips > 0
    return {
        "response": binned(response[working & waits & (response >= 0)], baseline_ms),
        "delta": binned(exchanges.delta[working & (exchanges.delta >= 0)], None),
    }


def _name_statements(drawn: dict[str, Any], recording: Recording) -> None:
    """Replace the ids of statements in the timeline by indices into a list of their texts."""
    lanes = [lane for lane in drawn["lanes"] if "statement" in lane]
    ids, counts = np.unique(
        np.array([one for lane in lanes for one in lane["statement"]], np.int64), return_counts=True
    )
    usual = ids[np.argsort(-counts, kind="stable")]
    usual = usual[usual >= 0][:MAX_STATEMENTS]
    index = {int(number): row for row, number in enumerate(usual)}
    texts = take(recording.statement_texts, usual)
    drawn["statements"] = [str(text)[:200] for text in texts.to_pylist()]
    for lane in lanes:
        lane["statement"] = [index.get(number, -1) for number in lane["statement"]]
