"""What latpcap and Wireshark agree on: a table, each known difference with its reason, each unknown one by itself."""

from __future__ import annotations

import html
from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import parts_of
from latpcap.report.grid import Grid, Heading
from latpcap.report.terminal import selection
from latpcap.report.text import printable
from latpcap.verify import Difference, Measure, Verification

__all__ = ["render_html", "summary"]

MAX_SHOWN = 10
"""Unexplained differences that are shown of each measure."""

TITLES = ("latpcap", "Wireshark", "equal", "explained", "unexplained")


@parts_of.register
def _verification(result: Verification) -> Iterator[RenderableType]:
    yield from selection(result.selection)
    yield Text(summary(result), style="bold")
    if result.complaint:
        yield Text(f"tshark: {printable(result.complaint)}")
    yield Text()
    yield Grid(
        (Heading("measure", "left"), *map(Heading, TITLES)),
        [(measure.name, *(f"{count:,}" for count in _counts(measure))) for measure in result.measures],
    )
    for measure in result.measures:
        yield from map(Text, _differences(measure))
    if result.unchecked:
        yield Text("\nNot compared")
        yield from (Text(f"  {line}") for line in result.unchecked)


def summary(result: Verification) -> str:
    """Say in one sentence whether the two agree."""
    unexplained = sum(measure.unexplained for measure in result.measures)
    explained = sum(measure.explained for measure in result.measures)
    if unexplained:
        return f"latpcap and Wireshark {result.wireshark} differ: {unexplained:,} differences are unexplained."
    whole = " on everything that was compared" if result.unchecked else " on everything"
    besides = f", but for {explained:,} differences with known reasons" if explained else whole
    return f"latpcap and Wireshark {result.wireshark} agree{besides}."


def _counts(measure: Measure) -> tuple[int, ...]:
    return measure.latpcap, measure.wireshark, measure.equal, measure.explained, measure.unexplained


def _differences(measure: Measure) -> Iterator[str]:
    for reason, count in measure.reasons().most_common():
        yield f"\n{measure.name}, {count:,} ×: {reason}"
    unexplained = [difference for difference in measure.differences if difference.reason is None]
    if unexplained:
        yield f"\n{measure.name}, unexplained:"
    for difference in unexplained[:MAX_SHOWN]:
        yield f"  {_one(difference)}"
    if len(unexplained) > MAX_SHOWN:
        yield f"  … and {len(unexplained) - MAX_SHOWN:,} more (--json lists all)"


def _one(difference: Difference) -> str:
    sides = {"latpcap": difference.latpcap, "Wireshark": difference.wireshark}
    seen = ", ".join(f"{name} {printable(side) if side else 'nothing'}" for name, side in sides.items())
    return f"{difference.where}: {seen}"


def render_html(result: Verification) -> str:
    """Return the comparison for a notebook."""
    head = "".join(f"<th>{title}</th>" for title in ("measure", *TITLES))
    rows = "".join(
        f"<tr><td>{measure.name}</td>" + "".join(f"<td>{count:,}</td>" for count in _counts(measure)) + "</tr>"
        for measure in result.measures
    )
    listed = "".join(
        f"<li>{html.escape(line.strip())}</li>" for measure in result.measures for line in _differences(measure)
    )
    missing = "".join(f"<li>Not compared: {html.escape(line)}</li>" for line in result.unchecked)
    return f"<p>{html.escape(summary(result))}</p><table><tr>{head}</tr>{rows}</table><ul>{listed}{missing}</ul>"
