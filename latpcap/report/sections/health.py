"""Health: what limits the trust in the result, the most serious first; and what became of the gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from latpcap.measures.health import HealthNote
from latpcap.report.section import Column, Entry, Line, Section, Sentence
from latpcap.result.checks.gates import Gates
from latpcap.units import capitalised

HEALTH = (
    Column("code", "text", least=8, name="code"),
    Column("severity", "text", least=8, name="severity"),
    Column("count", "count", name="count"),
    Column("message", "text", least=30, folds=True, name="message"),
)

MAX_NOTES = 50
"""Notes shown: of thousands of damaged files nobody reads one each."""


def health(notes: Iterable[HealthNote], already: Callable[[str], bool]) -> Section:
    """Return the notes, and what to do about warnings; messages that stand `already` in the answer are not repeated."""
    found = [note for note in notes if (note.effect and note.severity != "info") or not already(note.message)]
    shown = [
        Entry(_effect(note), note.severity, note.severity, note.code)
        if already(note.message)
        else Entry(note.message, note.severity, note.severity, note.code, _more(note))
        for note in found[:MAX_NOTES]
    ]
    rest = len(found) - MAX_NOTES
    more = [Sentence(f"and {rest:,} more: `latpcap table health` lists all", "quiet")] if rest > 0 else []
    return Section("health", "Health", [*shown, *more])


def _more(note: HealthNote) -> tuple[Line, ...]:
    return (Line(_effect(note), kind="quiet", detail=note.severity == "info"),) if note.effect else ()


def _effect(note: HealthNote) -> str:
    return f"{capitalised(note.effect)}. To do: {note.advice}."


def gates(found: Gates | None) -> Section:
    """Show gates, failed and undecided ones first."""
    each = sorted(found.gates if found else (), key=lambda gate: not gate.failed)
    words = ["failed" if gate.failed else "passed" for gate in each]
    shown = (Entry(f"`{gate.condition}`: {gate.text}", word, word) for gate, word in zip(each, words, strict=True))
    return Section("gates", "Gates", [*shown])
