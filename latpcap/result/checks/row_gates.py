"""Gates of rows: `latpcap rank … --fail-if 'share_per_ms > 5%'` fails where the condition holds for any row.

```text
condition = COLUMN OPERATOR limit      round_trips > 50, duration > 2s, round_trips > baseline + 10%
```

The limit is that of other gates (`gates.py`). A column that ends with its unit (`duration_s`, `response_p95_ms`) is
written without it, and compared with a duration. With a baseline, earlier rows of the same table, a row is compared
with the row of the same name; one that the baseline lacks is not, and how many these are is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.errors import UsageError, did_you_mean
from latpcap.result.checks.baseline import read_json
from latpcap.result.checks.figures import ImpossibleAmount, amount, count, read_rise, read_share
from latpcap.result.checks.gates import COMPARED_DECIMALS, CONDITION, OPERATORS, GateResult, Gates, Threshold, limit_of
from latpcap.tables.columnar.columns import Bools, Floats
from latpcap.tables.columnar.table import Table
from latpcap.units import MissingUnit, format_ms, format_s, parse_duration_ms, percent, significant

GRAMMAR = (
    "COLUMN OP LIMIT, for instance 'round_trips > 50', 'duration > 2s', 'share_per_ms > 5%'; OP is > >= < <= == !=; "
    "with --baseline also baseline, baseline + 10% or baseline * 1.1 as the limit"
)
_NOT_A_UNIT = ("_per_s", "_per_ms")
_IN = {"s": 1000.0, "ms": 1.0}
"""Milliseconds in the unit of a column."""


class RowGate(Struct, frozen=True):
    """One condition under which the check fails; which columns there are is known with the rows."""

    text: str
    figure: str
    sign: str
    limit: Threshold
    is_duration: bool
    """The amount of the limit is in milliseconds."""

    @property
    def needs_baseline(self) -> bool:
        """Whether it compares with earlier rows."""
        return self.limit.of_baseline

    @property
    def needs_no_unit(self) -> bool:
        """Whether its limit is the baseline's figure, or a multiple of it."""
        return self.limit.of_baseline and (self.limit.change in (None, "*") or self.limit.is_part)


class RowBaseline(Struct, frozen=True):
    """Earlier rows of the same table."""

    name: str
    """The file's name."""
    rows: tuple[Mapping[str, Any], ...]

    def values(self, column: str, rows: Table, named_by: Sequence[str]) -> Floats:
        """For each of `rows`, what the row of the same name had in this column; NaN where there is none, or no number.

        A row is called by all of these columns; of several rows with one name none is the same.
        """
        if any(name not in row for row in self.rows for name in (*named_by, column)):
            raise UsageError(f"{self.name}: the baseline has other columns: write it with the same options and --json")
        known: dict[tuple[Any, ...], float] = {}
        for row in self.rows:
            name, value = tuple(row[each] for each in named_by), row[column]
            is_number = isinstance(value, int | float) and not isinstance(value, bool) and name not in known
            known[name] = float(value) if is_number else np.nan
        called = zip(*(rows.column(name) for name in named_by), strict=True)
        return np.array([known.get(tuple(name), np.nan) for name in called], np.float64)


def saved_rows(path: str, table: str) -> RowBaseline:
    """Read the rows that `latpcap TABLE … --json` has written; `UsageError` where it is none."""
    how = f"write it with `latpcap {table} CAPTURE --json -o baseline.json`"
    saved = read_json(path, how)
    schema, rows = (saved.get("schema"), saved.get("rows")) if isinstance(saved, dict) else (None, None)
    if not re.fullmatch(rf"latpcap\.{re.escape(table)}(-by-\w+)?/1", str(schema)):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{path}: has no rows of `latpcap {table}`: {how}")
    return RowBaseline(path, tuple(rows))


def parse_row_gate(text: str) -> RowGate:
    """Read a condition; raises `UsageError` with the grammar.

    >>> parse_row_gate("duration > 2s").limit.amount
    2000.0
    """
    match = CONDITION.fullmatch(text)
    if match is None or match[2] is not None or match[3] is None:
        raise _malformed(text)
    figure, _, sign, limit = match.groups()
    try:
        return RowGate(text.strip(), figure, sign, limit_of(limit, _reader(figure)), False)
    except (MissingUnit, ImpossibleAmount) as error:
        raise UsageError(f"`{text.strip()}`: {error}") from None
    except ValueError:
        pass
    try:
        return RowGate(text.strip(), figure, sign, limit_of(limit, parse_duration_ms), True)
    except (UsageError, ValueError):
        raise _malformed(text) from None


def _reader(column: str) -> Callable[[str], float]:
    """Return what reads an amount of a column that is no duration."""
    if not _is_share(column):
        return amount
    return read_rise if column.endswith(_NOT_A_UNIT) else read_share


def _is_share(column: str) -> bool:
    return "share" in column


def _malformed(text: str) -> UsageError:
    return UsageError(f"`{text}` is not a condition for rows: write {GRAMMAR}")


def judge_rows(
    gates: Sequence[RowGate], rows: Table, named_by: Sequence[str], baseline: RowBaseline | None = None
) -> Gates:
    """Say of each gate whether its condition holds for any of `rows`, which are called as these columns have it."""
    return Gates(tuple(_judged(gate, rows, named_by, baseline) for gate in gates))


def _judged(gate: RowGate, rows: Table, named_by: Sequence[str], baseline: RowBaseline | None) -> GateResult:
    column, unit = _column(gate, rows)
    values = np.round(_numbers(gate, rows.column(column)), COMPARED_DECIMALS)
    before = _before(gate, column, rows, named_by, baseline)
    limits = _limits(gate, unit, before)
    can_be_told: Bools = ~np.isnan(values) & ~np.isnan(limits)
    known = np.flatnonzero(can_be_told)
    if not len(known):
        return _untold(gate, column, unit, rows)
    holding = known[OPERATORS[gate.sign](values[known], limits[known])]
    shown = holding if len(holding) else known
    beyond = values - limits if gate.needs_baseline else values
    worst = int(shown[(np.argmin if gate.sign in ("<", "<=") else np.argmax)(beyond[shown])])
    text = f"it is {_written(values[worst], column, unit)} in {_name(rows, worst, named_by)}"
    was = None
    if gate.needs_baseline:
        was = float(before[worst])
        limit = f" (limit {_written(limits[worst], column, unit)})" if gate.limit.change else ""
        text += f", in the baseline {_written(was, column, unit)}{limit}"
    if len(holding) > 1:
        text += f", and so in {len(holding) - 1:,} more"
    if gate.needs_baseline and (new := int(np.count_nonzero(np.isnan(before)))):
        text += f"; of {new:,} other {'row' if new == 1 else 'rows'} the baseline says nothing"
    return GateResult(
        gate.text, column, float(values[worst]), float(limits[worst]), was, unit, bool(len(holding)), text
    )


def _untold(gate: RowGate, column: str, unit: str | None, rows: Table) -> GateResult:
    """A gate that no row can be compared by: without rows it holds for none, else that cannot be told."""
    holds, text = (None, "it is unknown in each row") if len(rows) else (False, "there is no row")
    if gate.needs_baseline and len(rows):
        text = "there is no row of which the baseline says anything"
    limit = None if gate.needs_baseline else float(_limits(gate, unit, np.zeros(1))[0])
    return GateResult(gate.text, column, None, limit, None, unit, holds, text)


def _before(gate: RowGate, column: str, rows: Table, named_by: Sequence[str], baseline: RowBaseline | None) -> Floats:
    """The figures that rows are compared with; of no account where a gate compares with none."""
    if not gate.needs_baseline:
        return np.zeros(len(rows))
    if baseline is None:
        raise UsageError(f"`{gate.text}`: there is no baseline, name an earlier result with --baseline")
    return np.round(baseline.values(column, rows, named_by), COMPARED_DECIMALS)


def _limits(gate: RowGate, unit: str | None, before: Floats) -> Floats:
    """The limit of each row, in the unit of the column."""
    limit = gate.limit
    if unit and gate.is_duration:
        limit = replace(limit, amount=limit.amount / _IN[unit])
    if not limit.of_baseline:
        return np.full(len(before), limit.amount)
    changed: Floats = np.round(limit.changed(before), COMPARED_DECIMALS)
    return changed


def _column(gate: RowGate, rows: Table) -> tuple[str, str | None]:
    """The column that is meant, and its unit."""
    for column in (gate.figure, f"{gate.figure}_s", f"{gate.figure}_ms"):
        if column in rows.column_names:
            unit = None if column.endswith(_NOT_A_UNIT) else next((u for u in _IN if column.endswith(f"_{u}")), None)
            if unit and not (gate.is_duration or gate.needs_no_unit):
                limit = f"{gate.limit.amount:g}"
                raise MissingUnit(f"`{gate.text}`: the limit has no unit: write {limit}s or {limit}ms")
            if gate.is_duration and not unit:
                raise UsageError(f"`{gate.text}`: {column} is no duration: write a number")
            return column, unit
    hint = did_you_mean(gate.figure, rows.column_names, "there are")
    raise UsageError(f"`{gate.text}`: no column `{gate.figure}`{hint}")


def _numbers(gate: RowGate, values: NDArray[Any]) -> Floats:
    if values.dtype.kind not in "fiu":
        raise UsageError(f"`{gate.text}`: `{gate.figure}` is no number")
    return values.astype(np.float64)


def _written(value: float, column: str, unit: str | None) -> str:
    if _is_share(column):
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
