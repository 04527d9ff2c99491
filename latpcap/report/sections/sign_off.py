"""Of what a report is, and how right it may be; and the files, each with what it can be recognised by."""

from __future__ import annotations

from collections.abc import Sequence

from latpcap.report.section import Entry, Line, Section, Sentence
from latpcap.result.captures import CaptureFile
from latpcap.result.signoff import SignOff
from latpcap.units import counted

__all__ = ["captures", "sign_off"]


def sign_off(told: SignOff, already: SignOff | None = None) -> Section:
    """Made by whom, of which packets, under which assumptions; of these only those that were not said `already`."""
    known = already.assumptions if already else ()
    assumed = [f"assumed: {each}" for each in told.assumptions if each not in known]
    others = ["assumed: all else as above"] if len(assumed) < len(told.assumptions) else []
    when = f" of packets captured on {told.captured} (UTC)" if told.captured else ""
    work = f"{told.accuracy.work}. " if told.accuracy.work else ""
    lines = (
        *(f"made by {told.program}{when}", told.packets.text, f"accuracy class: {work}{told.accuracy.text}"),
        *assumed,
        *others,
    )
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
