"""What the report says of itself, where somebody gave it something to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.text import TOP, printable
from latpcap.result.captures import CaptureFile
from latpcap.result.signoff import SignOff

__all__ = ["cover", "sign_off"]


def cover(told: SignOff) -> Iterator[RenderableType]:
    """Its title, whom it is for, its date and notes: above the verdict."""
    if told.title:
        yield Text(printable(told.title), style="bold")
    yield from (
        Text(f"{name}: {printable(text)}") for name, text in (("Customer", told.customer), ("Date", told.date)) if text
    )
    yield from (Text(printable(note)) for note in told.notes)
    if told.is_asked:
        yield Text()


def sign_off(told: SignOff, captures: Sequence[CaptureFile]) -> Iterator[RenderableType]:
    """Of which packets it is, under which assumptions, and how right it may be: at the end."""
    if not told.is_asked:
        return
    yield Text("\nSign-off", style="bold")
    when = f" of packets captured on {told.captured} (UTC)" if told.captured else ""
    yield Text(f"made by {told.program}{when}; {told.packets.text}")
    for each in captures[:TOP]:
        yield Text(f"{printable(each.path)}: SHA-256 {each.sha256 or 'unknown'}")
    yield from (Text(f"… {len(captures):,} files in all") for _ in captures[TOP : TOP + 1])
    yield Text(f"accuracy class: {told.accuracy.work or 'none'}. {told.accuracy.text}")
    yield from (Text(f"assumed: {each}") for each in told.assumptions)
