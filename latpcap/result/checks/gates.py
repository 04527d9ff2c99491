"""Gates for CI: `--fail-if CONDITION` ends with status 1 where the condition holds.

```text
condition = figure OPERATOR limit           round_trips > 500
          | project(RTT) OPERATOR limit     project(15ms) > 60s
          | finding(CODE)                   finding(n+1)      `finding(any)`: anything that a fix would save
                                                              `finding(new)`: of these, what the baseline has not
limit     = number or duration
          | baseline                        round_trips > baseline
          | baseline +|- number             runtime > baseline + 200ms
          | baseline +|- percentage         round_trips > baseline + 10%     of the baseline's figure
          | baseline * number               runtime > baseline * 1.1
OPERATOR  = > | >= | < | <= | == | !=
```

The baseline is the result of an earlier run (`result/checks/baseline.py`); for `compare`, the first capture.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from latpcap.display import Displayed
from latpcap.errors import GateFailed, UsageError, nearest
from latpcap.findings.registry import NO_FINDINGS
from latpcap.findings.unjudged import Unjudged
from latpcap.result.checks.baseline import saved
from latpcap.result.checks.figures import (
    CODES,
    FIGURES,
    PROJECTED,
    Figure,
    FindingFigures,
    ImpossibleAmount,
    Measured,
    amount,
    count,
    of_measures,
)
from latpcap.tables.columnar.columns import Floats
from latpcap.units import ImpossibleRtt, MissingUnit, listed, parse_rtt_ms

if TYPE_CHECKING:
    from latpcap.result.analysis import Measures

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
"""Comparisons of two numbers, or of many."""
ANY, NEW = "any", "new"
NEED_NO_STATEMENTS = frozenset(
    (
        "connect-per-query",
        "delayed-ack",
        "failing-logins",
        "packet-loss",
        "window-bound",
        "bandwidth-bound",
        "slow-server",
        "request-loop",
        *NO_FINDINGS,
    )
)
"""Patterns that are found without statements, parameters and rows, or only where all of these are known."""
COMPARED_DECIMALS = 9
"""Decimals compared: as many as the JSON keeps, so that a capture equals its own baseline."""

GRAMMAR = (
    f"FIGURE OP NUMBER ({', '.join(name for name, figure in FIGURES.items() if figure.unit is None)}), "
    "runtime OP DURATION, baseline_rtt OP DURATION, project(RTT) OP DURATION or finding(CODE); OP is > >= < <= == !=; "
    "with --baseline also baseline, baseline + 10% or baseline * 1.1 as the limit; for instance 'round_trips > 500', "
    "'project(15ms) > 60s', 'finding(n+1)', 'round_trips > baseline + 10%'"
)

CONDITION = re.compile(r"\s*(\w+)\s*(?:\(\s*([^()]*?)\s*\))?\s*(?:(>=|<=|==|!=|>|<)\s*(\S.*?))?\s*")
_OF_BASELINE = re.compile(r"baseline(?:\s*([-+*])\s*(\S.*))?")


Number = TypeVar("Number", float, Floats)


class Threshold(Struct, frozen=True):
    """The limit of a figure: an amount, or the baseline's figure changed by one."""

    amount: float
    of_baseline: bool = False
    change: str | None = None
    """`+`, `-` or `*`; `None`: the baseline's figure as it is."""
    is_part: bool = False
    """The amount is a part of the baseline's figure."""

    def at(self, baseline: float | None) -> float | None:
        """The limit where the baseline's figure is known; `None` where it is not and counts.

        >>> Threshold(0.1, of_baseline=True, change="+", is_part=True).at(300.0)
        330.0
        """
        if not self.of_baseline:
            return self.amount
        if baseline is None:
            return None
        return round(self.changed(baseline), COMPARED_DECIMALS)

    def changed(self, baseline: Number) -> Number:
        """The baseline's figure, or many at once, changed as the condition says."""
        if self.change is None:
            return baseline
        if self.change == "*":
            return baseline * self.amount
        by = self.amount * baseline if self.is_part else self.amount
        return baseline + by if self.change == "+" else baseline - by


class Gate(Struct, frozen=True):
    """One condition under which the check fails."""

    text: str
    figure: str
    argument: str | None
    """The code of a finding."""
    rtt_ms: float | None
    sign: str | None
    limit: Threshold | None

    @property
    def needs_baseline(self) -> bool:
        """Whether it compares with an earlier result."""
        return self.argument == NEW or (self.limit is not None and self.limit.of_baseline)

    @property
    def kind(self) -> Figure:
        """How its figure is read and written."""
        return FIGURES.get(self.figure, PROJECTED)


class GateResult(Struct, frozen=True):
    """The outcome of one condition."""

    condition: str
    figure: str
    """`round_trips`, `project(15ms)`, `finding(n+1)`."""
    value: float | None
    """In `unit`; of findings, how many there are. Null where it is unknown."""
    limit: float | None
    baseline: float | None
    """The figure of the baseline; null where the condition does not speak of it."""
    unit: str | None
    """`s` or `ms`; null for numbers and shares."""
    holds: bool | None
    """Whether the check fails by it; null where that cannot be told, and then it fails, too."""
    text: str
    """The outcome in words."""

    @property
    def failed(self) -> bool:
        """Whether the check fails by it."""
        return self.holds is not False

    @property
    def sentence(self) -> str:
        """The condition and what is so."""
        return f"{self.condition}: {self.text}"


class Gates(Displayed, Struct, frozen=True):
    """The outcomes of all conditions."""

    gates: tuple[GateResult, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether none of the conditions holds."""
        return not self.failed

    @property
    def failed(self) -> tuple[GateResult, ...]:
        """Return the gates that hold, or that cannot be decided."""
        return tuple(each for each in self.gates if each.failed)

    def __repr__(self) -> str:
        said = "; ".join(each.sentence for each in self.failed)
        return f"<latpcap.Gates failed: {said}>" if said else f"<latpcap.Gates: all {len(self.gates)} passed>"

    def enforce(self) -> None:
        """Raise `GateFailed` where one failed."""
        if self.failed:
            raise GateFailed(f"gate failed: {'; '.join(each.sentence for each in self.failed)}")


def parse(text: str) -> Gate:
    """Read a condition; raises `UsageError` with the grammar.

    >>> parse("project(15ms) > 60s").limit
    Threshold(amount=60.0, of_baseline=False, change=None, is_part=False)
    """
    match = CONDITION.fullmatch(text)
    if match is None:
        raise _malformed(text)
    figure, argument, sign, value = match.groups()
    try:
        return _gate(text.strip(), figure, argument, sign, value)
    except (MissingUnit, ImpossibleAmount, ImpossibleRtt) as error:
        raise UsageError(f"`{text.strip()}`: {error}") from None
    except (UsageError, ValueError):
        raise _misspelt(text, figure, argument) or _malformed(text) from None


def _misspelt(text: str, figure: str, argument: str | None) -> UsageError | None:
    """Return the error that names the word that is none, and the nearest one that is; `None` where none is near."""
    words = (*FIGURES, "project", "finding")
    kind, word, known = ("finding", argument or "", CODES) if figure == "finding" else ("figure", figure, words)
    near = None if word in known else nearest(word, known)
    return UsageError(f"`{text.strip()}`: no {kind} is called `{word}`; did you mean `{near}`?") if near else None


def _gate(text: str, figure: str, argument: str | None, sign: str | None, value: str | None) -> Gate:
    if figure == "finding":
        if argument not in (*CODES, ANY, NEW) or sign is not None:
            raise ValueError(figure)
        return Gate(text, figure, argument, None, None, None)
    if sign is None or value is None or (argument is not None) != (figure == "project"):
        raise ValueError(figure)
    if figure == "project":
        return Gate(text, figure, None, parse_rtt_ms(argument or ""), sign, limit_of(value, PROJECTED.read))
    if figure not in FIGURES:
        raise ValueError(figure)
    return Gate(text, figure, None, None, sign, limit_of(value, FIGURES[figure].read))


def limit_of(text: str, read: Callable[[str], float]) -> Threshold:
    """Return the limit of a figure; `read` reads an amount of it, and raises for anything else."""
    of_baseline = _OF_BASELINE.fullmatch(text)
    if of_baseline is None:
        return Threshold(read(text))
    change, by = of_baseline.groups()
    if change is None:
        return Threshold(0.0, of_baseline=True)
    is_part = by.endswith("%")
    read = amount if is_part or change == "*" else read
    return Threshold(read(by), of_baseline=True, change=change, is_part=is_part and change != "*")


def _malformed(text: str) -> UsageError:
    return UsageError(f"`{text}` is not a condition for --fail-if: write {GRAMMAR}")


def rtts_of(gates: Sequence[Gate]) -> list[float]:
    """The RTTs (ms) that the gates ask a projection for."""
    return [gate.rtt_ms for gate in gates if gate.rtt_ms is not None]


def check(
    conditions: Sequence[str], measures: Measures, baseline: Measures | Mapping[str, Any] | str | Path | None = None
) -> Gates:
    """Say of each condition whether it holds of `measures`; the baseline is another capture, or a saved result."""
    gates = [parse(each) for each in conditions]
    rtts = rtts_of(gates)
    if baseline is None or isinstance(baseline, str | Path | Mapping):
        before = None if baseline is None else saved(baseline)
    else:
        before = of_measures(baseline, rtts)
    return judge(gates, of_measures(measures, rtts), before)


def judge(gates: Sequence[Gate], measured: Measured, baseline: Measured | None = None) -> Gates:
    """Say of each gate whether its condition holds; `UsageError` where one needs a baseline and there is none."""
    return Gates(tuple(_judged(gate, measured, baseline) for gate in gates))


def _judged(gate: Gate, measured: Measured, baseline: Measured | None) -> GateResult:
    if gate.needs_baseline and baseline is None:
        raise UsageError(f"`{gate.text}`: there is no baseline, name an earlier result with --baseline")
    if gate.figure == "finding":
        return _finding(gate, measured, baseline)
    if gate.needs_baseline and gate.rtt_ms is not None and baseline is not None:
        _under_the_same_conditions(gate, measured, baseline)
    value = _value(gate, measured)
    before = before_of(gate, baseline) if baseline else None
    limit = gate.limit.at(before) if gate.limit else None
    holds = None if value is None or limit is None else OPERATORS[gate.sign or ">"](value, limit)
    text = gate.kind.unknown if value is None else _told(gate, value, measured) + _beside(gate, before, limit)
    if value is not None and limit is not None and _hangs_on_lost(gate, value, limit, measured.unjudged):
        text += f"; not certain: {measured.unjudged.text}" if measured.unjudged else ""
    return GateResult(gate.text, _name(gate), value, limit, before, gate.kind.unit, holds, text)


def _hangs_on_lost(gate: Gate, value: float, limit: float, unknown: Unjudged | None) -> bool:
    """Return whether exchanges that were captured in part may decide: each may cost a round trip more or less."""
    if unknown is None:
        return False
    in_part = unknown.exchanges + unknown.connections
    by = {"project": in_part * (gate.rtt_ms or 0.0) / 1e3, "round_trips": float(in_part)}.get(gate.figure, 0.0)
    compare = OPERATORS[gate.sign or ">"]
    return bool(compare(value - by, limit) != compare(value + by, limit))


def _under_the_same_conditions(gate: Gate, measured: Measured, baseline: Measured) -> None:
    """The distance is part of the RTT; a baseline of an older version may not know them all."""
    known = (measured.conditions.keys() & baseline.conditions.keys()) - {"distance_km"}
    different = sorted(name for name in known if measured.conditions[name] != baseline.conditions[name])
    if different:
        raise UsageError(f"`{gate.text}`: the baseline was projected with another {listed(different)}")


def _name(gate: Gate) -> str:
    if gate.figure == "finding":
        return f"finding({gate.argument})"
    return gate.figure if gate.rtt_ms is None else f"project({gate.rtt_ms:g}ms)"


def before_of(gate: Gate, baseline: Measured) -> float | None:
    """The figure of the baseline that a gate compares with; a file may not have it: `UsageError`."""
    if not gate.needs_baseline:
        return None
    if gate.argument == NEW:
        return float(len(_wanted(gate, baseline.findings)))
    return _value(gate, baseline)


def _value(gate: Gate, measured: Measured) -> float | None:
    value = measured.value(gate.kind) if gate.rtt_ms is None else measured.projected(gate.rtt_ms)
    return None if value is None else round(value, COMPARED_DECIMALS)


def _told(gate: Gate, value: float, measured: Measured) -> str:
    codes = "" if gate.kind.failed is None else measured.error_codes(gate.kind.failed)
    return f"it is {gate.kind.write(value)}{f' ({codes})' if codes else ''}"


def _beside(gate: Gate, baseline: float | None, limit: float | None) -> str:
    """The baseline's figure, and what follows from it."""
    if not gate.needs_baseline:
        return ""
    if baseline is None or limit is None:
        return ", unknown in the baseline"
    write, changed = gate.kind.write, gate.limit is not None and gate.limit.change
    return f", in the baseline {write(baseline)}{f' (limit {write(limit)})' if changed else ''}"


def _finding(gate: Gate, measured: Measured, baseline: Measured | None) -> GateResult:
    found, before = _wanted(gate, measured.findings), None
    if gate.argument == NEW and baseline is not None:
        before, known = before_of(gate, baseline), {each.key for each in _wanted(gate, baseline.findings)}
        found = [each for each in found if each.key not in known]
    unknown = measured.unjudged
    if not found and unknown and unknown.is_much and gate.argument not in NEED_NO_STATEMENTS:
        text = f"it cannot be decided: {unknown.text}"
        return GateResult(gate.text, _name(gate), None, 0.0, before, None, None, text)
    text = _findings_text(found)
    if unknown and (not found or unknown.is_much):
        text += f", though {unknown.text}"
    return GateResult(gate.text, _name(gate), float(len(found)), 0.0, before, None, bool(found), text)


def _wanted(gate: Gate, findings: Sequence[FindingFigures]) -> list[FindingFigures]:
    if gate.argument in (ANY, NEW):
        return [each for each in findings if each.saves]
    return [each for each in findings if each.code == gate.argument]


def _findings_text(found: Sequence[FindingFigures]) -> str:
    if not found:
        return "there is none"
    first = found[0]
    return first.title + (f", {count(first.round_trips_saved)} round trips too many" if first.round_trips_saved else "")
