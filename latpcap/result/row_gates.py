"""Gates of rows: `latpcap rank … --fail-if 'share_per_ms > 5%'` fails where the condition holds for any row.

```text
condition = COLUMN OPERATOR limit      round_trips > 50, duration > 2s
```

A column that ends with its unit (`duration_s`, `response_p95_ms`) is written without it, and compared with a duration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.errors import UsageError
from latpcap.result.figures import amount, count
from latpcap.result.gates import OPERATORS, GateResult, Gates
from latpcap.tables.columns import Floats
from latpcap.tables.table import Table
from latpcap.units import MissingUnit, format_ms, format_s, parse_duration_ms, percent, significant

__all__ = ["RowGate", "judge_rows", "parse_row_gate"]

GRAMMAR = (
    "COLUMN OP LIMIT, for instance 'round_trips > 50', 'duration > 2s', 'share_per_ms > 5%'; OP is > >= < <= == !="
)
_CONDITION = re.compile(r"\s*(\w+)\s*(>=|<=|==|!=|>|<)\s*(\S.*?)\s*")
_NOT_A_UNIT = ("_per_s", "_per_ms")
_IN = {"s": 1000.0, "ms": 1.0}
"""Milliseconds in the unit of a column."""


class RowGate(Struct, frozen=True):
    """One condition under which the check fails; which columns there are is known with the rows."""

    text: str
    figure: str
    sign: str
    limit: float
    is_duration: bool
    """The limit is in milliseconds."""


def parse_row_gate(text: str) -> RowGate:
    """Read a condition; raises `UsageError` with the grammar.

    >>> parse_row_gate("duration > 2s").limit
    2000.0
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise _malformed(text)
    figure, sign, limit = match.groups()
    try:
        return RowGate(text.strip(), figure, sign, amount(limit), False)
    except ValueError:
        pass
    try:
        return RowGate(text.strip(), figure, sign, parse_duration_ms(limit), True)
    except UsageError:
        raise _malformed(text) from None


def _malformed(text: str) -> UsageError:
    return UsageError(f"`{text}` is not a condition for rows: write {GRAMMAR}")


def judge_rows(gates: Sequence[RowGate], rows: Table, named_by: Sequence[str]) -> Gates:
    """Say of each gate whether its condition holds for any of `rows`, which are called as these columns have it."""
    return Gates(tuple(_judged(gate, rows, named_by) for gate in gates))


def _judged(gate: RowGate, rows: Table, named_by: Sequence[str]) -> GateResult:
    column, unit = _column(gate, rows)
    values = _numbers(gate, rows.column(column))
    limit = gate.limit / _IN[unit] if unit else gate.limit
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        holds, text = (None, "it is unknown in each row") if len(rows) else (False, "there is no row")
        return GateResult(gate.text, column, None, limit, None, unit, holds, text)
    holding = known[OPERATORS[gate.sign](values[known], limit)]
    shown = holding if len(holding) else known
    worst = int(shown[(np.argmin if gate.sign in ("<", "<=") else np.argmax)(values[shown])])
    others = f", and so in {len(holding) - 1:,} more" if len(holding) > 1 else ""
    text = f"it is {_written(values[worst], column, unit)} in {_name(rows, worst, named_by)}{others}"
    return GateResult(gate.text, column, float(values[worst]), limit, None, unit, bool(len(holding)), text)


def _column(gate: RowGate, rows: Table) -> tuple[str, str | None]:
    """The column that is meant, and its unit."""
    for column in (gate.figure, f"{gate.figure}_s", f"{gate.figure}_ms"):
        if column in rows.column_names:
            unit = None if column.endswith(_NOT_A_UNIT) else next((u for u in _IN if column.endswith(f"_{u}")), None)
            if unit and not gate.is_duration:
                raise MissingUnit(f"`{gate.text}`: the limit has no unit: write {gate.limit:g}s or {gate.limit:g}ms")
            if gate.is_duration and not unit:
                raise UsageError(f"`{gate.text}`: {column} is no duration: write a number")
            return column, unit
    raise UsageError(f"`{gate.text}`: no column `{gate.figure}`: there are {', '.join(rows.column_names)}")


def _numbers(gate: RowGate, values: NDArray[Any]) -> Floats:
    if values.dtype.kind not in "fiu":
        raise UsageError(f"`{gate.text}`: `{gate.figure}` is no number")
    return values.astype(np.float64)


def _written(value: float, column: str, unit: str | None) -> str:
    if "share" in column:
        return percent(value)
    if unit is None:
        return count(value) if value == round(value) else significant(value)
    return format_s(value) if unit == "s" else format_ms(value)


def _name(rows: Table, row: int, named_by: Sequence[str]) -> str:
    """`task 3`, or what the row is called; the first of the columns that says something."""
    [cells] = rows.slice(row, 1).to_dicts()
    column = next((name for name in named_by if cells.get(name) is not None), None)
    if column is None:
        return f"row {row + 1}"
    return str(cells[column]) if isinstance(cells[column], str) else f"{column} {cells[column]}"
