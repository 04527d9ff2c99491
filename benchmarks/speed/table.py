"""Markdown tables: words stand at the left, figures at the right."""

from __future__ import annotations

from collections.abc import Sequence

Rows = list[tuple[str, ...]]


def table(rows: Sequence[Sequence[str]]) -> str:
    """`rows`, the header first; the first column is words."""
    head, *body = rows
    _, *columns = zip(*body, strict=True)
    kinds = ["---", *("--:" if all(map(is_figure, column)) else "---" for column in columns)]
    lines = [line(head), f"|{'|'.join(kinds)}|", *map(line, body)]
    return "\n".join(lines) + "\n"


def line(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


def is_figure(text: str) -> bool:
    return not text or text[0] in "0123456789–"


def number(value: float) -> str:
    """Three significant digits, and thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"
