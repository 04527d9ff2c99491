"""Results at a prompt: what a person wants to see of each, on one screen."""

from __future__ import annotations

import textwrap

from latpcap.display import LINE_COLUMNS, as_text
from latpcap.findings.what_if import WhatIf
from latpcap.projection.project import Point, Projection
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.result.pairs.comparison import Comparison
from latpcap.result.pairs.validation import Validation
from latpcap.result.verdict import LABEL_CELLS
from latpcap.units import counted, format_given_ms, format_ms, format_s

MAX_POINTS = 20
"""Rows of a projection; of more, the first and the last are kept."""


@as_text.register
def render(result: Analysis) -> str:
    """Return the verdict, and how much else there is."""
    there = [
        counted(len(result.health), "health note"),
        counted(len(result.findings), "finding"),
        counted(len(result.statements), "statement"),
        counted(len(result.connections), "connection"),
        f"{len(result.projection.points):,} projected RTTs",
    ]
    return f"<latpcap.Analysis: {', '.join(there)}>\n{_answer(result)}"


def _answer(result: Analysis) -> str:
    """The lines of the answer, what goes on below its beginning."""
    below = " " * LABEL_CELLS
    lines = (printable(line) for line in result.text.split("\n"))
    return "\n".join(textwrap.fill(line, LINE_COLUMNS, subsequent_indent=below) for line in lines)


@as_text.register
def render_projection(projection: Projection) -> str:
    """Return the runtimes at the asked RTTs."""
    if projection.baseline_rtt_ms is None:
        return "<latpcap.Projection: the runtime at another RTT is unknown, because the baseline RTT is>"
    here = "" if projection.now is None else f", {_seconds(projection.now.runtime_s)}"
    head = f"<latpcap.Projection from {format_ms(projection.baseline_rtt_ms)}{here}>"
    rows = [("RTT", "runtime", "optimistic", "pessimistic"), *map(_row, projection.points)]
    if len(rows) > MAX_POINTS + 1:
        rows = [*rows[:MAX_POINTS], ("…", "…", "…", "…"), rows[-1]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    within = "" if projection.within is None else f"\n{projection.within.text}"
    return "\n".join((head, *lines)) + within


@as_text.register
def render_what_if(result: WhatIf) -> str:
    """Return what follows, and how many fixes there are."""
    return f"<latpcap.WhatIf: {counted(len(result.fixes), 'fix', 'fixes')}>\n{_folded(result.answer)}"


@as_text.register
def render_comparison(result: Comparison) -> str:
    """Return both runtimes and what explains the difference."""
    runtimes = f"{format_s(result.runtime_before_s)} → {format_s(result.runtime_after_s)}"
    trips = f"{result.round_trips_before:,} → {result.round_trips_after:,} round trips"
    changed = f"{counted(len(result.statements), 'statement')} changed"
    return f"<latpcap.Comparison: {runtimes}, {trips}, {changed}>\n{_folded(result.explanation)}"


@as_text.register
def render_validation(result: Validation) -> str:
    """Return predicted against measured, in one sentence."""
    return f"<latpcap.Validation: {counted(result.round_trips, 'round trip')}>\n{_folded(result.text)}"


def _row(point: Point) -> tuple[str, ...]:
    runtimes = (point.runtime_s, point.optimistic_s, point.pessimistic_s)
    return (format_given_ms(round(point.rtt_ms, 6)), *map(_seconds, runtimes))


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else format_s(seconds)


def _folded(text: str) -> str:
    """Sentences that may name what a capture contains, in lines that fit."""
    return "\n".join(textwrap.fill(printable(line), LINE_COLUMNS) for line in text.split("\n"))
