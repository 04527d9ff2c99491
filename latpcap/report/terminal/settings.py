"""With what the result was asked for, where that is not as usual."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.text import printable
from latpcap.result.settings import Settings

__all__ = ["settings"]


def settings(asked: Settings) -> Iterator[RenderableType]:
    """What was asked for beside the captures."""
    if asked.text:
        yield Text(f"Asked for: {printable(asked.text)}", style="dim")
