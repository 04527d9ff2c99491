"""Two captures side by side, for people: a comparison, or a validation."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import parts_of
from latpcap.report.grid import Grid, Heading
from latpcap.report.sections.both import compared
from latpcap.report.sections.budget import PARTS
from latpcap.report.terminal import drawn, selection, settings
from latpcap.result.comparison import Comparison
from latpcap.result.settings import Settings
from latpcap.result.validation import Validation

TOP = 20


@parts_of.register
def _validation(result: Validation) -> Iterator[RenderableType]:
    yield from selection(result.selection_base)
    yield from selection(result.selection_other)
    yield from _asked(result.settings_base, result.settings_other)
    yield Text(result.text, style="bold")
    yield Grid(
        (Heading("part", "left"), *map(Heading, ("predicted s", "measured s", "difference s"))),
        [
            (
                PARTS[term.name][1],
                _seconds(term.predicted_s),
                _seconds(term.measured_s),
                _difference(term.predicted_s - term.measured_s),
            )
            for term in result.terms
        ],
    )
    yield Text(f"{result.round_trips:,} round trips in the base, {result.other_round_trips:,} in the other")


def _asked(first: Settings, second: Settings) -> Iterator[RenderableType]:
    """Once, where both were asked for alike."""
    yield from settings(first)
    if second != first:
        yield from settings(second)


@parts_of.register
def _comparison(result: Comparison) -> Iterator[RenderableType]:
    for section in compared(result, TOP):
        yield from drawn(section)


def _difference(seconds: float) -> str:
    """With its sign, but for zero."""
    return f"{seconds:+,.3f}" if abs(seconds) >= 0.0005 else "0.000"


def _seconds(value: float) -> str:
    return f"{value:,.3f}"
