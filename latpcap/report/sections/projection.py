"""The runtime at other RTTs, as the job is and with fixes made."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.findings.what_if import FixResult, WhatIf
from latpcap.projection.project import Point, Projection
from latpcap.report.section import Column, Drawn, Section, SectionTable, Sentence
from latpcap.report.sections.budget import PARTS
from latpcap.report.text import printable
from latpcap.units import format_given_ms, format_ms, percent, significant

__all__ = ["budget_there", "projection", "what_if"]

SAVINGS = 3
COLUMNS = (
    Column("", "figures"),
    Column("RTT ms", "figures"),
    *(Column(title, "figure") for title in ("runtime s", "×", "optimistic s", "pessimistic s", "statements/s")),
    Column("how", optional=True, detail=True),
)
THERE = (Column(""), *(Column(title, "figure") for title in ("now s", "there s")), Column("share", "figures"))


def projection(found: Projection) -> Section:
    """The runtimes, and how they came about."""
    if found.baseline_rtt_ms is None:
        text = "unknown, because the baseline RTT is; give it with `--rtt-baseline`"
        return Section("elsewhere", "At another RTT", [Sentence(text)])
    methods = {point.method for point in found.points}
    how = {each: each if len(methods) > 1 else "" for each in methods}
    now = () if found.now is None else (("now", significant(found.now.rtt_ms), *_figures(found.now), ""),)
    there = (("", f"{point.rtt_ms:,g}", *_figures(point), how[point.method]) for point in found.points)
    table = SectionTable(COLUMNS, [*now, *there], "At other round-trip times")
    alike = [Sentence(f"Each is {each}.", "quiet", detail=True) for each in methods if len(methods) == 1]
    said = (*alike, *_said(found, found.baseline_rtt_ms))
    return Section("elsewhere", "At another RTT", [Drawn("what-if"), table, *said])


def _said(found: Projection, baseline_ms: float) -> Iterator[Sentence]:
    yield Sentence(f"×: runtime there ÷ runtime now, at the baseline RTT of {format_ms(baseline_ms)}", "quiet")
    yield Sentence(found.range_text, "quiet")
    if found.guess_text:
        yield Sentence(found.guess_text)
    if found.conditions.text:
        yield Sentence(f"with {found.conditions.text}", "quiet")
    for each in (found.limit, found.hosts, found.within):
        if each is not None:
            yield Sentence(each.text)
    if found.told_rtt_ms is not None:
        for saving in found.fetches[:SAVINGS]:
            yield Sentence(f"{printable(saving.statement)[:60]}: {saving.text(found.told_rtt_ms)}")


def budget_there(found: Projection) -> Section:
    """Where the time goes there, beside where it went."""
    now, there = found.budget_now, found.budget_at
    if now is None or there is None or found.told_rtt_ms is None:
        return Section("budget-there", "", [])
    total = sum(there.parts().values())
    rows = [
        (PARTS[name][1], before, after, percent(after / total))
        for name, after in there.parts().items()
        if total > 0 and ((before := now.parts()[name]) > 0 or after > 0)
    ]
    return Section(
        "budget-there", f"Where the time goes at {format_given_ms(found.told_rtt_ms)}", [SectionTable(THERE, rows)]
    )


def _figures(point: Point) -> tuple[float | None, ...]:
    """A projection has three digits at most; that of the capture itself has no range."""
    return (point.runtime_s, point.factor, point.optimistic_s, point.pessimistic_s, point.throughput_per_s)


def what_if(changed: WhatIf | None) -> Section:
    """The runtimes with fixes: as is, each, all; and what to do."""
    if changed is None:
        return Section("what-if", "", [])
    rtt = f"{changed.told_rtt_ms:g}"
    as_is = ("as is", None, changed.as_is_s, changed.as_is_optimistic_s[rtt], changed.as_is_pessimistic_s[rtt])
    fixed = (
        (_with_needs(each), each.round_trips_saved, each.runtime_s, each.optimistic_s[rtt], each.pessimistic_s[rtt])
        for each in (*changed.fixes, changed.all_fixes)
    )
    columns = (
        *(Column("fix"), Column("trips saved", "count")),
        *(Column(f"{rtt} ms, s", "figure") for rtt in changed.as_is_s),
        Column(f"range at {rtt} ms", "figures"),
    )
    rows = [
        (name, trips, *runtimes.values(), f"{significant(least)} to {significant(most)}")
        for name, trips, runtimes, least, most in (as_is, *fixed)
    ]
    left = ", ".join(changed.left_out)
    said = [Sentence(f"`all` leaves out {left}, a suggestion: name it to try it.", "quiet")] if left else []
    return Section("what-if", "With fixes", [SectionTable(columns, rows), *said, Sentence(changed.answer, "strong")])


def _with_needs(fixed: FixResult) -> str:
    return f"{fixed.name} (with {', '.join(fixed.needs)})" if fixed.needs else fixed.name
