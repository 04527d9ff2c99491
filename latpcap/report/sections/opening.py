"""What a report begins with: what it was given to say of itself, of what it is, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from latpcap.report.section import Section, Sentence
from latpcap.result.settings import Settings
from latpcap.result.signoff import SignOff
from latpcap.tables.part.selection import Selected

__all__ = ["asked_for", "cover", "opening"]


def cover(told: SignOff) -> Section:
    """Its title, whom it is for, by whom, its date and notes."""
    named = [
        Sentence(f"{name}: {text}")
        for name, text in (("Customer", told.customer), ("Author", told.author), ("Date", told.date))
        if text
    ]
    return Section("cover", told.title or "", [*named, *map(Sentence, told.notes)], level=1)


def opening(selected: Selected | None, settings: Settings, verdict: str) -> Section:
    """The verdict; before it of what it is, where that is not all, and what was asked for beside the captures."""
    first, *others = (line for line in verdict.split("\n") if line)
    return Section("verdict", "", [*asked_for(selected, settings), Sentence(first, "strong"), *map(Sentence, others)])


def asked_for(selected: Selected | None, settings: Settings | None) -> Iterator[Sentence]:
    """Of which part of the captures a result is, and with what it was asked for."""
    if selected is not None:
        yield Sentence(f"Selected: {selected.text}", "quiet")
    if settings is not None and settings.text:
        yield Sentence(f"Asked for: {settings.text}", "quiet")
