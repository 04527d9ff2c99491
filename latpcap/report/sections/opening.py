"""A report's beginning and end: the answer, what to do, whom it is for, of what it is, and how it was made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from latpcap.findings import FindingResult
from latpcap.findings.registry import NO_FINDINGS
from latpcap.report.section import Column, Entry, Labelled, Line, Section, SectionPart, SectionTable, Sentence
from latpcap.report.sections.budget import bars
from latpcap.report.sections.findings import missing_patterns, together
from latpcap.report.text import printable
from latpcap.result.analysis import Analysis
from latpcap.result.captures import CaptureFile
from latpcap.result.settings import Settings
from latpcap.result.signoff import SignOff
from latpcap.result.verdict import Step, VerdictLine
from latpcap.tables.part.selection import Selected
from latpcap.units import capitalised, counted, format_given_ms, format_ms, format_s

MAX_FINDINGS = 3
"""Findings of the first page."""
CAPTURES = (
    Column("format", "text", least=6, name="format"),
    Column("packets", "count", name="packets"),
    Column("bytes", "count", least=9, name="bytes"),
    Column("first packet", "moment", name="first_time"),
    Column("local time", "local", optional=True, name="first_time"),
    Column("last packet", "moment", optional=True, name="last_time"),
    Column("clock resolution ns", "count", optional=True, name="tick_ns"),
    Column("file", "text", least=20, folds=True, name="path"),
)


def cover(told: SignOff, title: str = "", about: str = "") -> Section:
    """For whom, by whom, of when, and what else somebody wanted said, below the title; `title` where none was given."""
    whom = " ".join(f"{word} {who}" for word, who in (("for", told.customer), ("by", told.author)) if who)
    said = ", ".join(filter(None, (whom, told.date)))
    texts = filter(None, (capitalised(said), *told.notes))
    beneath = [Sentence(about, "quiet")] if about else []
    return Section("cover", printable(told.title) or title, [*map(Sentence, texts), *beneath], level=1)


def title_of(found: Sequence[CaptureFile]) -> str:
    """Name a report of these files that was given no title."""
    first, *others = [re.split(r"[/\\]", each.path)[-1] for each in found] or ["capture"]
    return printable(first) + (f" and {len(others):,} more" if others else "")


def size_of(result: Analysis) -> str:
    """When, and how much."""
    first, summary = min((each.first_time for each in result.captures if each.first_time), default=None), result.summary
    parts = (
        f"{first[:10]} {first[11:19]} UTC" if first else "",
        counted(sum(each.packets for each in result.captures), "packet"),
        counted(summary.connections, "database connection"),
        counted(summary.exchanges, "exchange"),
        f"runtime {format_s(summary.runtime_s)}",
    )
    return " · ".join(filter(None, parts))


def opening(selected: Selected | None, settings: Settings, verdict: Iterable[VerdictLine], name: str = "") -> Section:
    """Return the answer, whose first line begins with the `name` of the captures where no title stands above it.

    Before it stands of which part of them it is, and what was asked for beside them.
    """
    begin = f"{name}: " if name else ""
    lines = (
        Sentence(f"{begin}{line.text}", "strong")
        if line.kind == "head"
        else Labelled(line.label, line.text, line.kind == "code")
        for line in verdict
    )
    return Section("verdict", "", [*asked_for(selected, settings), *lines])


def further(result: Analysis) -> Section:
    """Return where to go on from the answer."""
    has_warnings = any(note.severity != "info" for note in result.health)
    second = "table health" if has_warnings else "statements"
    text = f"latpcap findings FILE, latpcap {second} FILE, -v, -o report.html"
    return Section("further", "", [Labelled("MORE", text)])


def asked_for(selected: Selected | None, settings: Settings | None) -> Iterator[Sentence]:
    """Yield which part of the captures a result is of, and its settings."""
    if selected is not None:
        yield Sentence(f"Selected: {selected.text}", "quiet")
    if settings is not None and settings.text:
        yield Sentence(f"Asked for: {settings.text}", "quiet")


def summary(result: Analysis) -> Iterator[Section]:
    """The verdict with both runtimes, the findings that save most, and the method in two lines."""
    verdict = opening(result.selection, result.settings, result.verdict)
    yield Section(verdict.name, "", [*verdict.parts, *_now_and_there(result)])
    yield Section("to-do", "What to do", [*_to_do(result)])
    yield Section("in-short", "How this is known", [*map(Sentence, _in_short(result))])


def _now_and_there(result: Analysis) -> list[SectionPart]:
    """Both runtimes as bars on one scale."""
    found = result.projection
    if found.budget_now is None or found.headline_budget is None or found.headline_rtt_ms is None:
        return [*bars({"As measured": result.budget.parts()})]
    now = f"As measured, at {format_ms(found.baseline_rtt_ms or 0.0)}"
    there = f"At {format_given_ms(found.headline_rtt_ms)}"
    return [*bars({now: found.budget_now.parts(), there: found.headline_budget.parts()})]


def _to_do(result: Analysis) -> Iterator[SectionPart]:
    told = result.projection.headline_rtt_ms
    at = "" if told is None else f"{told:g}"
    found = [each for each in result.findings if each.fix and each.code not in NO_FINDINGS]
    rows = [*(_row(each, at) for each in found[:MAX_FINDINGS]), *(_step(each) for each in result.steps)]
    if rows:
        there = "" if told is None else f" at {format_given_ms(told)}"
        columns = (
            Column("what costs time", least=30),
            *(Column(title, "figures") for title in ("round trips saved", f"saves{there}")),
            Column("what to do", least=40, folds=True),
        )
        yield SectionTable(columns, rows, "What to do")
    else:
        yield Sentence("No avoidable round trips found.")
    yield from together(result.fixes_together, told)
    if hidden := missing_patterns(result.timing_only, result.unjudged):
        yield Sentence(hidden, "missing")


def _row(found: FindingResult, at: str) -> tuple[str, str, str, str]:
    seconds = found.saved_s.get(at) if found.fix_name else None
    trips = f"{found.round_trips_alone:,}" if found.round_trips_alone else ""
    return found.title, trips, format_s(seconds) if seconds else "", found.fix


def _step(each: Step) -> tuple[str, str, str, str]:
    return capitalised(each.text), "", "", f"{capitalised(each.advice)}."


def _in_short(result: Analysis) -> Iterator[str]:
    made, baseline_ms = result.sign_off, result.summary.baseline_rtt_ms
    when = f", captured on {made.captured} (UTC)" if made.captured else ""
    known = "no RTT could be measured" if baseline_ms is None else f"the baseline RTT is {format_ms(baseline_ms)}"
    yield (
        f"Measured: {counted(made.packets.decoded, 'packet')} of databases{when}; a round trip is counted where the "
        f"client waits for the server; {known}."
    )
    if result.projection.baseline_rtt_ms is not None:
        projected = "Projected: the same job, replayed at another RTT with all else as captured."
        yield f"{projected} {made.accuracy.text}".rstrip()


def sign_off(told: SignOff, already: SignOff | None = None) -> Section:
    """Made by whom, of which packets, under which assumptions; of these only those that were not said `already`."""
    known = already.assumptions if already else ()
    assumed = [f"assumed: {each}" for each in told.assumptions if each not in known]
    others = ["assumed: all else as above"] if len(assumed) < len(told.assumptions) else []
    when = f" of packets captured on {told.captured} (UTC)" if told.captured else ""
    is_said = told.accuracy.longer or told.accuracy.shorter  # above: how often the range held
    accuracy = filter(None, (told.accuracy.work, "" if is_said else told.accuracy.text))
    made = (f"made by {told.program}{when}", told.packets.text, f"accuracy class: {'. '.join(accuracy)}")
    lines = (*made, *assumed, *others)
    return Section("how-made", "Packets, assumptions, accuracy", [*map(Entry, lines)])


def captures(found: Sequence[CaptureFile], most: int) -> Section:
    """The first files, and how many there are."""
    shown = [Entry(_file(each), lines=_hash(each)) for each in found[:most]]
    more = [Sentence(f"… {len(found):,} files in all")] if len(found) > most else []
    return Section("captures", "Captures", [*shown, *more])


def _file(each: CaptureFile) -> str:
    times = [time[:19].replace("T", " ") for time in (each.first_time, each.last_time) if time]
    span = f", {' to '.join(times)} UTC" if times else ""
    return f"`{each.path}`: {counted(each.packets, 'packet')}, {each.format}{span}"


def _hash(each: CaptureFile) -> tuple[Line, ...]:
    return (Line(f"SHA-256 `{each.sha256}`, {each.size_bytes:,} bytes"),) if each.sha256 else ()
