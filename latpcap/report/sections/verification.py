"""The agreement of latpcap and Wireshark: a table, known differences with their reasons, unknown ones one by one."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.report.section import Column, Entry, Line, Section, SectionTable, Sentence, sections_of
from latpcap.report.sections.opening import asked_for
from latpcap.report.text import printable
from latpcap.verify import Difference, Measure, Verification

MAX_DIFFERENCES = 10
"""Unexplained differences that are shown of each measure."""

COLUMNS = (
    Column("measure"),
    *(Column(title, "count") for title in ("latpcap", "Wireshark", "equal", "explained", "unexplained")),
)


@sections_of.register
def _verification(result: Verification) -> Iterator[Section]:
    complaint = [Sentence(f"tshark: {result.complaint}")] if result.complaint else []
    rows = [(measure.name, *_counts(measure)) for measure in result.measures]
    said = [*asked_for(result.selection, None), Sentence(summary(result), "strong"), *complaint]
    yield Section("verification", "", [*said, SectionTable(COLUMNS, rows, "Counts")])
    for name, title, entries in (
        ("differences", "Differences", [entry for measure in result.measures for entry in _differences(measure)]),
        ("unchecked", "Not compared", [Entry(line) for line in result.unchecked]),
    ):
        yield Section(name, title, entries)


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


def _differences(measure: Measure) -> Iterator[Entry]:
    for reason, count in measure.reasons().most_common():
        yield Entry(f"{measure.name}, {count:,} ×: {reason}")
    unexplained = [difference for difference in measure.differences if difference.reason is None]
    left = len(unexplained) - MAX_DIFFERENCES
    more = [Line(f"… and {left:,} more (--json lists all)")] if left > 0 else []
    if unexplained:
        lines = [Line(_one(each)) for each in unexplained[:MAX_DIFFERENCES]]
        yield Entry(f"{measure.name}, unexplained:", lines=(*lines, *more))


def _one(difference: Difference) -> str:
    sides = {"latpcap": difference.latpcap, "Wireshark": difference.wireshark}
    seen = ", ".join(f"{name} {printable(side) if side else 'nothing'}" for name, side in sides.items())
    return f"{difference.where}: {seen}"
