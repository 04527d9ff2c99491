"""Two captures side by side, for people: a comparison, or a validation."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import parts_of
from latpcap.report.grid import Grid, Heading
from latpcap.report.terminal.budget import PARTS
from latpcap.report.terminal.selection import selection
from latpcap.report.terminal.settings import settings
from latpcap.report.text import printable
from latpcap.result.comparison import Comparison, ErrorChange
from latpcap.result.settings import Settings
from latpcap.result.validation import Validation
from latpcap.units import format_ms, percent

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
    yield from selection(result.selection_before)
    yield from selection(result.selection_after)
    yield from _asked(result.settings_before, result.settings_after)
    yield Text(result.explanation, style="bold")
    yield Grid(
        (Heading("", "left"), *map(Heading, ("before", "after", "difference"))),
        [
            ("runtime s", *_both(result.runtime_before_s, result.runtime_after_s)),
            ("round trips", *_counts(result.round_trips_before, result.round_trips_after)),
            ("baseline RTT", _rtt(result.baseline_before_ms), _rtt(result.baseline_after_ms), ""),
            ("network share", _share(result.network_share_before), _share(result.network_share_after), ""),
            *((f"{PARTS[part.name][1]} s", *_both(part.before_s, part.after_s)) for part in result.budget),
        ],
    )
    yield from _errors(result.errors)
    if result.statements:
        yield Text(f"\nStatements that changed ({result.unchanged:,} did not)", style="bold")
        titles = ("ran before", "after", "round trips before", "after")
        yield Grid(
            (Heading("change", "left"), *map(Heading, titles), Heading("statement", "left", least=30)),
            [
                (
                    change.change,
                    f"{change.executions_before:,}",
                    f"{change.executions_after:,}",
                    f"{change.round_trips_before:,}",
                    f"{change.round_trips_after:,}",
                    printable(change.text),
                )
                for change in result.statements[:TOP]
            ],
        )
        if len(result.statements) > TOP:
            yield Text(f"and {len(result.statements) - TOP:,} more", style="dim")


def _errors(errors: tuple[ErrorChange, ...]) -> Iterator[RenderableType]:
    if errors:
        yield Text("\nErrors", style="bold")
        yield Grid(
            (*map(Heading, ("before", "after")), Heading("what", "left"), Heading("code", "left")),
            [(f"{each.before:,}", f"{each.after:,}", each.kind, printable(each.code)) for each in errors[:TOP]],
        )


def _both(before: float, after: float) -> tuple[str, str, str]:
    return _seconds(before), _seconds(after), _difference(after - before)


def _difference(seconds: float) -> str:
    """With its sign, but for zero."""
    return f"{seconds:+,.3f}" if abs(seconds) >= 0.0005 else "0.000"


def _counts(before: int, after: int) -> tuple[str, str, str]:
    return f"{before:,}", f"{after:,}", f"{after - before:+,}"


def _seconds(value: float) -> str:
    return f"{value:,.3f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else percent(value)


def _rtt(value: float | None) -> str:
    return "unknown" if value is None else format_ms(value)
