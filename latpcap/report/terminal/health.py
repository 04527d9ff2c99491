"""Health: what limits the trust in the result, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.measures.health import HealthNote
from latpcap.report.console import heading
from latpcap.report.text import printable

__all__ = ["health"]

MOST = 50
"""Notes that are shown: of thousands of damaged files nobody reads one each."""


def health(notes: Iterable[HealthNote]) -> Iterator[RenderableType]:
    """The notes; what to do about those that are no mere information."""
    styles = {"error": "bold red", "warning": "yellow", "info": "dim"}
    shown = list(notes)
    if shown:
        yield heading("Health")
    for note in shown[:MOST]:
        yield Text.assemble((f"{note.severity}: ", styles[note.severity]), printable(note.message), f" [{note.code}]")
        if note.effect and note.severity != "info":
            yield Text(f"  {note.effect}; to do: {note.advice}", style="dim")
    if len(shown) > MOST:
        yield Text(f"and {len(shown) - MOST:,} more: `latpcap health` lists all", style="dim")
