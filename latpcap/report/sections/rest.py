"""What the rows together are that a table has no room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latpcap.tables.columnar.values import column_of

__all__ = ["sums_of_rest"]


def sums_of_rest(rows: Sequence[Any], rest: Sequence[int], names: Sequence[str]) -> tuple[float, ...] | None:
    """The sums of some columns over the rows at the places `rest`, which may be many; none where there are none."""
    columns = [list(column_of(rows, name)) for name in names] if rest else []
    return tuple(sum(column[place] or 0 for place in rest) for column in columns) or None
