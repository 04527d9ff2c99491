"""How many round trips the application makes for what it gets done, and the pace of its requests."""

from __future__ import annotations

from latpcap.report.chattiness import chattiness_rows
from latpcap.report.section import Column, Section, Table
from latpcap.result.chattiness import Chattiness

__all__ = ["chattiness"]

COLUMNS = (Column("ratio"), Column("value", "figures"), Column("from", folds=True))


def chattiness(result: Chattiness) -> Section:
    """The ratios, and what each is made of."""
    rows = list(chattiness_rows(result))
    return Section("chattiness", "Chattiness", [Table(COLUMNS, rows)] if rows else [])
