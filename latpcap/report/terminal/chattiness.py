"""How many round trips the application makes for what it gets done, and the pace of its requests."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from latpcap.report.chattiness import chattiness_rows
from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.result.chattiness import Chattiness

__all__ = ["chattiness"]


def chattiness(result: Chattiness) -> Iterator[RenderableType]:
    """The ratios, and what each is made of."""
    rows = list(chattiness_rows(result))
    if rows:
        yield heading("Chattiness")
        yield Grid((Heading("ratio", "left"), Heading("value"), Heading("from", "left", folds=True)), rows)
