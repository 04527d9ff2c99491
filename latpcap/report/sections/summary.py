"""The first page of a report, for whoever decides: the answer, one chart, what to do, and how that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from latpcap.findings import FindingResult
from latpcap.findings.registry import HEALTHY
from latpcap.report.section import Column, Section, SectionPart, SectionTable, Sentence
from latpcap.report.sections.budget import bars
from latpcap.report.sections.findings import together
from latpcap.report.sections.opening import opening
from latpcap.report.timing_only import about_findings
from latpcap.result.analysis import Analysis
from latpcap.units import counted, format_given_ms, format_ms, format_s

__all__ = ["summary"]

MOST = 3
"""Findings of the first page."""


def summary(result: Analysis) -> Iterator[Section]:
    """The verdict with both runtimes, the findings that save most, and the method in two lines."""
    verdict = opening(result.selection, result.settings, result.summary.verdict)
    yield Section(verdict.name, "", [*verdict.parts, *_trust(result), *_now_and_there(result)])
    yield Section("to-do", "What to do", [*_to_do(result)])
    yield Section("in-short", "How this is known", [*map(Sentence, _in_short(result))])


def _trust(result: Analysis) -> Iterator[Sentence]:
    """Where something limits the trust in it."""
    counts = Counter(note.severity for note in result.health)
    words = [counted(counts[severity], severity) for severity in ("error", "warning") if counts[severity]]
    if words:
        yield Sentence(f"{' and '.join(words)} about the capture itself: see Health in the appendix.", "quiet")


def _now_and_there(result: Analysis) -> list[SectionPart]:
    """Both runtimes as bars on one scale."""
    found = result.projection
    if found.budget_now is None or found.budget_at is None or found.told_rtt_ms is None:
        return [*bars({"As measured": result.budget.parts()})]
    now = f"As measured, at {format_ms(found.baseline_rtt_ms or 0.0)}"
    there = f"At {format_given_ms(found.told_rtt_ms)}"
    return [*bars({now: found.budget_now.parts(), there: found.budget_at.parts()})]


def _to_do(result: Analysis) -> Iterator[SectionPart]:
    told = result.projection.told_rtt_ms
    at = "" if told is None else f"{told:g}"
    found = [each for each in result.findings if each.fix and each.code != HEALTHY.code]
    found.sort(key=lambda each: -each.saved_s.get(at, 0.0))
    if found:
        there = "" if told is None else f" at {format_given_ms(told)}"
        columns = (
            Column("finding", least=30),
            *(Column(title, "figures") for title in ("round trips fewer", f"saves{there}")),
            Column("what to do", least=40, folds=True),
        )
        yield SectionTable(columns, [_row(each, at) for each in found[:MOST]], "What to do")
    else:
        which = "Of what could be looked for, no" if result.timing_only else "No"
        yield Sentence(f"{which} pattern was found that costs round trips without need.")
    yield from together(result.fixes_together, told)
    if hidden := about_findings(result.timing_only):
        yield Sentence(hidden, "missing")


def _row(found: FindingResult, at: str) -> tuple[str, str, str, str]:
    seconds = found.saved_s.get(at) if found.fix_name else None
    trips = f"{found.round_trips_alone:,}" if found.round_trips_alone else ""
    return found.title, trips, format_s(seconds) if seconds else "", found.fix


def _in_short(result: Analysis) -> Iterator[str]:
    made, baseline_ms = result.sign_off, result.summary.baseline_rtt_ms
    when = f" captured on {made.captured} (UTC)" if made.captured else ""
    known = "no RTT could be measured" if baseline_ms is None else f"the baseline RTT is {format_ms(baseline_ms)}"
    yield (
        f"Measured: {counted(made.packets.decoded, 'packet')}{when}; a round trip is counted where the client waits "
        f"for the server; {known}."
    )
    if result.projection.baseline_rtt_ms is not None:
        yield f"Projected: the same job, replayed at another RTT with all else as captured. {made.accuracy.text}"
