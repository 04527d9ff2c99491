"""Results on a terminal: rich renderables as text, with colour where that shows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import singledispatch
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

from latpcap.report.text import ascii_only

__all__ = ["heading", "parts_of", "print_renderables", "render"]


def render(result: object) -> str:
    """Return the result as text for standard output, with colour where that is a terminal."""
    return print_renderables(parts_of(result))


@singledispatch
def parts_of(result: object) -> Iterator[RenderableType]:
    """What is printed of a result; each kind is registered where it is written."""
    raise TypeError(f"{type(result).__name__} has no text")


def print_renderables(parts: Iterable[RenderableType], width: int | None = None) -> str:
    """Return rich renderables as text that standard output can take, `width` cells wide: by default as the terminal."""
    page = StringIO()
    console = Console(file=page, force_terminal=_on_terminal(), highlight=False, markup=False, emoji=False, width=width)
    for part in parts:
        console.print(part)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return page.getvalue() if encoding.lower().startswith("utf") else ascii_only(page.getvalue())


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def heading(text: str) -> Text:
    """Return what stands above a part of the result."""
    return Text(f"\n{text}", style="bold underline" if _on_terminal() else "")
