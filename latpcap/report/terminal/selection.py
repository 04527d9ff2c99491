"""What the result is of, where it is not of the whole captures."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.text import printable
from latpcap.tables.selection import Selected

__all__ = ["selection"]


def selection(selected: Selected | None) -> Iterator[RenderableType]:
    """By what it was selected, and how much that is."""
    if selected is not None:
        yield Text(f"Selected: {printable(selected.text)}", style="dim")
