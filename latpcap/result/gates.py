"""Gates for CI: `--fail-if CONDITION` ends with status 1 where the condition holds.

```text
condition = figure OPERATOR number          round_trips > 500
          | project(RTT) OPERATOR duration  project(15ms) > 60s
          | finding(CODE)                   finding(n+1)      `finding(any)`: anything that a fix would save
OPERATOR  = > | >= | < | <= | == | !=
```
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from latpcap.errors import GateFailed, UsageError
from latpcap.findings.registry import HEALTHY, PATTERNS
from latpcap.tables.values import column_of
from latpcap.units import (
    MissingUnit,
    format_ms,
    format_ratio,
    format_s,
    parse_duration_ms,
    parse_ms,
    percent,
    significant,
)

if TYPE_CHECKING:
    from latpcap.result.analysis import Analysis
    from latpcap.result.errors import ErrorsResult

__all__ = ["FIGURES", "GRAMMAR", "Gate", "check", "parse", "rtts_of"]

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
COUNTS = ("round_trips", "exchanges", "connections", "statements")
FAILURES: dict[str, tuple[str, str | None]] = {
    "errors": ("failures", None),
    "failed_share": ("failed_share", "statement"),
    "failed_logins": ("failed_logins", "login"),
}
"""Figures of what failed: the field of `ErrorsResult`, and of which kind the codes are that the gate names."""
RATIOS = {
    "round_trips_per_s": "it took no time",
    "round_trips_per_transaction": "no transaction was seen",
    "round_trips_per_row": "no row came back, or none that could be read",
}
"""Figures of chattiness, and why one may be unknown."""
DURATIONS = {"runtime": "runtime_s", "baseline_rtt": "baseline_rtt_ms"}
SHARES = ("network_share", "seconds_per_ms")
FIGURES = (*COUNTS, *FAILURES, *DURATIONS, *SHARES)
ANY = "any"
CODES = (*(pattern.code for pattern in PATTERNS), HEALTHY.code, ANY)

GRAMMAR = (
    f"FIGURE OP NUMBER ({', '.join((*COUNTS, *FAILURES, *SHARES, *RATIOS))}), "
    "runtime OP DURATION, baseline_rtt OP DURATION, "
    f"project(RTT) OP DURATION or finding(CODE); OP is > >= < <= == !=, "
    "for instance 'round_trips > 500', 'project(15ms) > 60s', 'finding(n+1)'"
)

_CONDITION = re.compile(r"\s*(\w+)\s*(?:\(\s*([^()]*?)\s*\))?\s*(?:(>=|<=|==|!=|>|<)\s*(\S.*?))?\s*")


class Gate(Struct, frozen=True):
    """One condition under which the check fails."""

    text: str
    figure: str
    argument: str | None
    """The code of a finding."""
    rtt_ms: float | None
    sign: str | None
    limit: float | None
    """A count, a share, seconds or (for the baseline RTT) milliseconds."""


def parse(text: str) -> Gate:
    """Read a condition; raises `UsageError` with the grammar.

    >>> parse("project(15ms) > 60s").limit
    60.0
    """
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise _malformed(text)
    figure, argument, sign, value = match.groups()
    try:
        return _gate(text.strip(), figure, argument, sign, value)
    except MissingUnit as error:
        raise UsageError(f"`{text.strip()}`: {error}") from None
    except (UsageError, ValueError):
        raise _malformed(text) from None


def _gate(text: str, figure: str, argument: str | None, sign: str | None, value: str | None) -> Gate:
    if figure == "finding":
        if argument not in CODES or sign is not None:
            raise ValueError(figure)
        return Gate(text, figure, argument, None, None, None)
    if sign is None or value is None or (argument is not None) != (figure == "project"):
        raise ValueError(figure)
    if figure == "project":
        return Gate(text, figure, None, parse_ms(argument or ""), sign, parse_duration_ms(value) / 1000)
    if figure in DURATIONS:
        limit = parse_duration_ms(value) / 1000 if figure == "runtime" else parse_ms(value)
        return Gate(text, figure, None, None, sign, limit)
    if figure not in (*COUNTS, *FAILURES, *SHARES, *RATIOS):
        raise ValueError(figure)
    return Gate(text, figure, None, None, sign, _number(value))


def _number(text: str) -> float:
    if not re.fullmatch(r"[0-9][0-9_,]*(?:\.[0-9]+)?%?", text):
        raise ValueError(text)
    number = float(text.rstrip("%").replace(",", "").replace("_", ""))
    return number / 100 if text.endswith("%") else number


def _malformed(text: str) -> UsageError:
    return UsageError(f"`{text}` is not a condition for --fail-if: write {GRAMMAR}")


def rtts_of(gates: Sequence[Gate]) -> list[float]:
    """The RTTs (ms) that the gates ask a projection for."""
    return [gate.rtt_ms for gate in gates if gate.rtt_ms is not None]


def check(gates: Sequence[Gate], analysis: Analysis, projected_s: dict[float, float | None]) -> None:
    """Raise `GateFailed` where a gate's condition holds; `projected_s`: the runtime by RTT in ms."""
    failed = [said for gate in gates if (said := _holds(gate, analysis, projected_s)) is not None]
    if failed:
        raise GateFailed(f"gate failed: {'; '.join(failed)}")


def _holds(gate: Gate, analysis: Analysis, projected_s: dict[float, float | None]) -> str | None:
    """What holds that the gate forbids; `None` if nothing does."""
    if gate.figure == "finding":
        return _has_finding(gate, analysis)
    value, shown = _measure(gate, analysis, projected_s)
    if value is None:
        why = RATIOS.get(gate.figure, "the RTT of this capture is unknown, give it with --rtt-baseline")
        return f"{gate.text}: {why}"
    holds = OPERATORS[gate.sign or ">"](value, gate.limit or 0.0)
    return f"{gate.text}: it is {shown(value)}" if holds else None


def _has_finding(gate: Gate, analysis: Analysis) -> str | None:
    saving = [found for found in analysis.findings if found.fix_name and found.severity != "info"]
    wanted = saving if gate.argument == ANY else [each for each in analysis.findings if each.code == gate.argument]
    if not wanted:
        return None
    first = wanted[0]
    saves = f", {first.round_trips_saved:,} round trips too many" if first.round_trips_saved else ""
    return f"{gate.text}: {first.title}{saves}"


def _measure(
    gate: Gate, analysis: Analysis, projected_s: dict[float, float | None]
) -> tuple[float | None, Callable[[float], str]]:
    """The figure, and how it is written."""
    summary = analysis.summary
    if gate.figure in FAILURES:
        return _failures(gate.figure, analysis.errors)
    if gate.figure in RATIOS:
        return getattr(analysis.chattiness, gate.figure), format_ratio
    if gate.figure == "project":
        return projected_s[gate.rtt_ms or 0.0], format_s
    if gate.figure == "statements":
        return sum(column_of(analysis.statements, "executions")), _count
    if gate.figure == "runtime":
        return summary.runtime_s, format_s
    if gate.figure == "baseline_rtt":
        return summary.baseline_rtt_ms, format_ms
    value: float | None = getattr(summary, gate.figure)
    return value, _count if gate.figure in COUNTS else percent if gate.figure == "network_share" else significant


def _failures(figure: str, errors: ErrorsResult) -> tuple[float, Callable[[float], str]]:
    """The figure, and the codes that it counts."""
    field, kind = FAILURES[figure]
    write: Callable[[float], str] = percent if field == "failed_share" else _count
    codes = errors.codes(kind)
    return getattr(errors, field) or 0.0, lambda value: f"{write(value)} ({codes})" if codes else write(value)


def _count(value: float) -> str:
    return f"{value:,.0f}"
