"""Results as text: rich renderables, as wide and as colourful as where they go takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from latpcap.report.destination import going_to
from latpcap.report.text import ascii_only

FIGURE_AND_UNIT = re.compile(r"(?<=[0-9]) (?=(?:ns|µs|ms|s|min|h|d)\b)")
BOUND = "\ue000"
"""A space that is no place to break a line; of private use, so no text has it."""


def print_renderables(parts: Iterable[RenderableType], width: int | None = None) -> str:
    """Return rich renderables as text for where they go, `width` cells wide unless that says it."""
    page, there = StringIO(), going_to()
    console = Console(
        file=page,
        force_terminal=there.is_coloured,
        color_system=("auto" if there.is_terminal else "standard") if there.is_coloured else None,
        no_color=not there.is_coloured,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        width=width or there.width,
    )
    for part in parts:
        if isinstance(part, Text) and part.overflow == "ignore":
            console.print(part, no_wrap=True, overflow="ignore", crop=False)
        else:
            console.print(_wrapped(part, console) if isinstance(part, Text) and not part.no_wrap else part)
    return page.getvalue() if there.takes_unicode else ascii_only(page.getvalue())


def _wrapped(text: Text, console: Console) -> Text:
    """The lines of a sentence: a figure stays with its unit, and what follows an indented line is indented, too."""
    if cell_len(text.plain) <= console.width or "\n" in text.plain:
        return text
    indent = len(text.plain) - len(text.plain.lstrip(" "))
    lines = wrapped(text[indent:], console, max(console.width - indent, 1))
    return Text("\n").join(Text(" " * indent) + line for line in lines)


def wrapped(text: Text, console: Console, width: int) -> list[Text]:
    """Return the lines of a text; a figure stays with its unit."""
    text.plain = FIGURE_AND_UNIT.sub(BOUND, text.plain)
    lines = text.wrap(console, width)
    for line in lines:
        line.rstrip()
        line.plain = line.plain.replace(BOUND, " ")
    return list(lines)


def heading(text: str) -> Text:
    """Return what stands above a part of the result."""
    return Text(f"\n{text}", style="bold underline" if going_to().is_coloured else "")
