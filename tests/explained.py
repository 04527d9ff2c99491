"""The pages that `latpcap explain` prints, as text made of docs/: `python tests/reference.py` writes them anew."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from latpcap.cli.explain import plain

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 79
REST = "\n## Without keys\n"
"""The heading from which on a page is about something else."""


def page(topic: str) -> Path:
    """Return the place of a topic's text."""
    return ROOT / f"latpcap/cli/{topic}.txt"


def as_text(topic: str) -> str:
    """Return a page of docs/ as text for a terminal."""
    markdown, _, _ = (ROOT / f"docs/{topic}.md").read_text().partition(REST)
    blocks = re.split(r"\n\n+", plain(markdown).replace("**", "").strip())
    return "\n\n".join("\n".join(_lines(block)) for block in blocks) + "\n"


def _wrapped(text: str, first: str = "", others: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def _lines(block: str) -> Iterator[str]:
    lines = block.split("\n")
    if block.startswith("    "):
        yield from lines
    elif block.startswith("|"):
        for row in lines[2:]:
            client, *cells = (cell.strip() for cell in row.strip("|").split(" | "))
            yield from _wrapped(f"- {client}", others="  ")
            for cell in filter(None, cells):
                yield from _wrapped(cell, "    ", "    ")
    elif block.startswith("- "):
        for item in re.split(r"\n(?=- )", block):
            yield from _wrapped(" ".join(item.split()), others="  ")
    else:
        yield from _wrapped(" ".join(block.lstrip("# ").split()))
