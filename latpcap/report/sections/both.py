"""Two captures of one job: what changed, why, and what both would take elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from latpcap.report.section import Column, Drawn, Entry, Line, Section, SectionTable, Sentence, sections_of, table_of
from latpcap.report.sections.budget import PARTS, bars
from latpcap.report.sections.findings import hidden_patterns
from latpcap.report.sections.health import gates as gates_section
from latpcap.report.sections.opening import asked_for, captures, cover, sign_off, title_of
from latpcap.report.text import MAX_LIST_ROWS, between, number
from latpcap.result.analysis import Analysis
from latpcap.result.checks.gates import Gates
from latpcap.result.pairs.before_after import BeforeAfter, FindingChange
from latpcap.result.pairs.comparison import Comparison
from latpcap.result.pairs.validation import Validation, ValidationPart
from latpcap.result.settings import Settings
from latpcap.result.tables import flat
from latpcap.tables.part.selection import Selected
from latpcap.units import counted, format_given_ms, format_ms, format_s, percent, significant

MAX_ROWS = 20
"""Rows of a list in a comparison."""
TERMS = (Column("part"), *(Column(title, "figures") for title in ("predicted s", "measured s", "difference s")))

SENTENCE = re.compile(r"(?<=\.) (?=[A-Z])")
"""Between two sentences of the explanation."""
FIGURES = tuple(Column(title, "figures") for title in ("before", "after", "difference", "after ÷ before"))
BUDGET = (
    Column("part"),
    Column("", "key"),
    *(Column(f"{each.title} s", "figures") for each in FIGURES[:3]),
    FIGURES[3],
)
ELSEWHERE = tuple(
    Column(title, "figures", full=full)
    for title, full in (
        *(("RTT", ""), ("before s", ""), ("range s", "range before s"), ("after s", "")),
        *(("range s", "range after s"), ("difference s", ""), ("after ÷ before", "")),
    )
)
STATEMENTS = (
    Column("change", name="change"),
    Column("ran before", "count", name="executions_before"),
    Column("after", "count", full="ran after", name="executions_after"),
    Column("round trips before", "count", name="round_trips_before"),
    Column("after", "count", full="round trips after", name="round_trips_after"),
    Column("statement", "code", least=30, heads=True, name="text"),
)
ERRORS = (
    *(Column(name, "count", name=name) for name in ("before", "after")),
    Column("what failed", name="kind"),
    Column("code", name="code"),
)
Figure = tuple[str, Any, Any, Callable[[Any], str]]
"""Its name, before, after, and how it is written."""


def both(result: BeforeAfter, gates: Gates | None = None, most: int = MAX_LIST_ROWS) -> Iterator[Section]:
    """Everything that is said of the two; of a long list the first `most`."""
    before, after = result.before, result.after
    title, about = (" → ".join(text(each) for each in (before, after)) for text in (_title, _about))
    yield cover(after.sign_off, title, about)
    yield _verdict(result.comparison)
    yield gates_section(gates)
    yield _figures([*_of_comparison(result.comparison), *_of_analyses(before, after)])
    yield _budget(result.comparison)
    yield _elsewhere(before, after)
    yield _findings(result)
    yield _statements(result.comparison, most)
    yield _errors(result.comparison, most)
    for when, each, already in (("Before", before, None), ("After", after, before.sign_off)):
        for section in (sign_off(each.sign_off, already), captures(each.captures, most)):
            yield replace(section, name=f"{when.lower()}-{section.name}", title=f"{when}: {section.title}")


def _title(result: Analysis) -> str:
    return title_of(result.captures)


def _about(result: Analysis) -> str:
    selected = result.selection.text if result.selection else ""
    parts = (_title(result), counted(result.summary.exchanges, "exchange"), selected, result.settings.text)
    return ", ".join(filter(None, parts))


@sections_of.register
def _compared(result: Comparison) -> Iterator[Section]:
    """The part of it that a comparison by itself says."""
    yield _verdict(result)
    yield _figures(_of_comparison(result))
    yield _budget(result)
    yield _errors(result, MAX_ROWS)
    yield _statements(result, MAX_ROWS)


@sections_of.register
def _validated(result: Validation) -> Iterator[Section]:
    asked = _asked(result.selection_base, result.selection_other, result.settings_base, result.settings_other)
    rows = [
        (PARTS[term.name][1], number(term.predicted_s), number(term.measured_s), _off(term)) for term in result.terms
    ]
    trips = f"Round trips: {result.round_trips:,} in the base, {result.other_round_trips:,} in the other capture"
    yield Section(
        "validation", "", [*asked, Sentence(result.text, "strong"), SectionTable(TERMS, rows, "Parts"), Sentence(trips)]
    )


def _off(term: ValidationPart) -> str:
    return _signed(term.predicted_s - term.measured_s, number)


def _asked(before: Selected | None, after: Selected | None, *settings: Settings) -> Iterator[Sentence]:
    """Yield selections and settings: once, where both were asked for alike."""
    yield from asked_for(before, None)
    yield from asked_for(after, None)
    for text in dict.fromkeys(each.text for each in settings):
        if text:
            yield Sentence(f"Asked for: {text}", "quiet")


def _verdict(result: Comparison) -> Section:
    asked = _asked(result.selection_before, result.selection_after, result.settings_before, result.settings_after)
    first, *others = SENTENCE.split(result.explanation)
    return Section("verdict", "", [*asked, Sentence(first, "strong"), *map(Sentence, others)])


def _figures(rows: Sequence[Figure]) -> Section:
    return Section(
        "figures",
        "The figures",
        [SectionTable((Column("figure"), *FIGURES), [_row(*each) for each in rows], "Figures")],
    )


def _of_comparison(result: Comparison) -> list[Figure]:
    return [
        ("runtime s", result.runtime_before_s, result.runtime_after_s, number),
        ("round trips", result.round_trips_before, result.round_trips_after, _count),
        ("baseline RTT", result.baseline_before_ms, result.baseline_after_ms, format_ms),
        ("network share", result.network_share_before, result.network_share_after, percent),
    ]


def _of_analyses(before: Analysis, after: Analysis) -> list[Figure]:
    counts = {
        "effective round trips": "effective_round_trips",
        "exchanges": "exchanges",
        "database connections": "connections",
    }
    rows: list[Figure] = [
        (title, getattr(before.summary, name), getattr(after.summary, name), lambda value: _count(round(value)))
        for title, name in counts.items()
    ]
    rows.append(("errors", before.errors.failures, after.errors.failures, _count))
    per_ms = before.summary.seconds_per_ms, after.summary.seconds_per_ms
    return [*rows, ("seconds for each further ms", *per_ms, significant)]


def _budget(result: Comparison) -> Section:
    changed = {part.name: part for part in result.budget if part.before_s or part.after_s}
    sides = {
        "before": {name: part.before_s for name, part in changed.items()},
        "after": {name: part.after_s for name, part in changed.items()},
    }
    drawn = list(bars(sides))
    keys = {f"{piece.name}_s": piece for bar in drawn for piece in bar.pieces}
    rows = []
    for name, part in changed.items():
        title, *figures = _row(PARTS[name][1], part.before_s, part.after_s, number)
        rows.append((title, keys.get(name), *figures))
    before, after = (sum(parts.values()) for parts in sides.values())
    runtime, *figures = _row("runtime", before, after, number)
    return Section(
        "budget", "Where the time went", [*drawn, SectionTable(BUDGET, rows, "Time by part", (runtime, None, *figures))]
    )


def _elsewhere(before: Analysis, after: Analysis) -> Section:
    title = "At the same round-trip time"
    if before.projection.baseline_rtt_ms is None or after.projection.baseline_rtt_ms is None:
        text = "The RTT of one of the captures is unknown, so they cannot be projected onto the same one; "
        return Section("elsewhere", title, [Sentence(f"{text}give it with `--rtt-baseline`.")])
    rows = []
    for old, new in zip(before.projection.points, after.projection.points, strict=True):
        ranges = [between(each.optimistic_s, each.pessimistic_s) for each in (old, new)]
        _, was, now, difference, ratio = _row("", old.runtime_s or 0.0, new.runtime_s or 0.0, significant)
        rows.append((format_given_ms(old.rtt_ms), was, ranges[0], now, ranges[1], difference, ratio))
    how = dict.fromkeys((before.projection.range_text, after.projection.range_text))
    return Section(
        "elsewhere",
        title,
        [Drawn("curves"), SectionTable(ELSEWHERE, rows, title), *(Sentence(text, "quiet") for text in how if text)],
    )


def _findings(result: BeforeAfter) -> Section:
    hidden = {"Before": result.before.timing_only, "After": result.after.timing_only}
    texts = {when: hidden_patterns(what) for when, what in hidden.items() if what}
    said = [
        Sentence(
            f"{' and '.join(when for when, each in texts.items() if each == text).capitalize()}: {text}", "missing"
        )
        for text in dict.fromkeys(texts.values())
    ]
    return Section("findings", "Findings", [*(_finding(each, result) for each in result.findings), *said])


def _finding(each: FindingChange, result: BeforeAfter) -> Entry:
    latest = each.latest
    lines = (
        Line("; ".join(_savings(each, result))),
        Line(latest.statement or "", "statement", kind="code"),
        Line(latest.fix if each.after is not None else "", "fix"),
    )
    tone = "" if each.change == "gone" else latest.severity
    return Entry(latest.title, each.change, tone, latest.code, tuple(line for line in lines if line.text))


def _savings(change: FindingChange, result: BeforeAfter) -> Iterator[str]:
    """Yield the fix's saving in either."""
    told = result.before.projection.headline_rtt_ms
    for when, found in (("before", change.before), ("after", change.after)):
        if found is not None and found.round_trips_saved:
            seconds = found.saved_s.get(f"{told:g}") if told is not None else None
            beside = "" if told is None or seconds is None else f", {format_s(seconds)} at {format_given_ms(told)}"
            whose = f"{when} " if change.change == "remaining" else ""
            yield f"{whose}{counted(found.round_trips_saved, 'round trip')} to save{beside}"


def _statements(result: Comparison, most: int) -> Section:
    count = len(result.statements)
    shown = f"the {most} that changed most of {count:,}" if count > most else f"{count:,}"
    rows = [*map(flat, result.statements[:most])]
    title = f"Statements that changed ({shown}; {result.unchanged:,} did not)"
    return Section("statements", title, [table_of(STATEMENTS, rows, "Statements that changed")] if rows else [])


def _errors(result: Comparison, most: int) -> Section:
    rows = [*map(flat, result.errors[:most])]
    return Section("errors", "Errors", [table_of(ERRORS, rows, "Errors")] if rows else [])


def _row(name: str, before: Any, after: Any, show: Callable[[Any], str]) -> tuple[str, str, str, str, str]:
    """Before, after, by how much and to which part it changed; nothing said of what is unknown."""
    known = before is not None and after is not None
    told = ("unknown" if value is None else show(value) for value in (before, after))
    changed = _signed(after - before, show) if known and show is not percent else ""
    return (name, *told, changed, f"× {significant(after / before)}" if known and before > 0 else "")  # type: ignore[return-value]


def _count(value: int) -> str:
    return f"{value:,}"


def _signed(difference: float, show: Callable[[Any], str]) -> str:
    """With its sign, but for what rounds to nothing."""
    text = show(abs(round(difference, 9)))
    if not any(digit in text for digit in "123456789"):
        return text
    return f"{'+' if difference > 0 else '−'}{text}"
