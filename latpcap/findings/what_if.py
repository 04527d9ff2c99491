"""What the runtime would be with some of the fixes made: `latpcap project --fix NAME[=VALUE]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from latpcap.errors import UsageError
from latpcap.findings.evidence import Evidence
from latpcap.findings.overlap import share_out
from latpcap.findings.recognise import candidates
from latpcap.findings.registry import PATTERNS
from latpcap.findings.savings import Costs, changes_of, saved_seconds
from latpcap.projection.project import Basis, Point
from latpcap.units import format_ms, format_s

__all__ = ["Fix", "FixResult", "WhatIf", "parse_fix", "what_if"]

ALL = "all"
MOVED_ENOUGH = 1.1
"""A runtime is met if it is exceeded by no more than this factor."""
LITTLE = 0.1
"""Fixes that save less than this share of the runtime change little."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One fix as it was asked for."""

    name: str
    value: int | None = None
    """Rows a fetch, calls a batch, keys a list, requests a pipeline; `None` for the usual."""
    text: str = ""


@dataclass(frozen=True, slots=True)
class FixResult:
    """The runtimes with one fix, or with all of them."""

    name: str
    findings: int
    round_trips_saved: int
    saved_s: dict[str, float]
    """By the asked RTT in ms."""
    runtime_s: dict[str, float]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """As it is, each fix alone, all together; and what follows from that."""

    as_is_s: dict[str, float]
    fixes: tuple[FixResult, ...]
    all_fixes: FixResult
    answer: str
    """Move the database back, or change the code?"""


def parse_fix(text: str) -> list[Fix]:
    """The fixes that `text` names; `all` names every one but `pipeline`.

    >>> parse_fix("fetch=500")
    [Fix(name='fetch', value=500, text='fetch=500')]
    >>> parse_fix("n+1=in:100")[0].value
    100
    """
    name, given, value = text.partition("=")
    if name == ALL and not given:
        return [Fix(pattern.fix, None, pattern.fix) for pattern in PATTERNS if pattern.fix and not pattern.suggestion]
    pattern = next((pattern for pattern in PATTERNS if pattern.fix == name and name), None)
    if pattern is None:
        raise UsageError(f"unknown fix `{text}`: {grammar()}")
    return [Fix(name, _value(text, pattern.choices, value) if given else None, text)]


def grammar() -> str:
    """The fixes and their values, in one line."""
    written = {"n+1": "n+1[=join|=in:KEYS]"}
    listed = (
        written.get(pattern.fix, f"{pattern.fix}[=NUMBER]" if pattern.choices else pattern.fix)
        for pattern in PATTERNS
        if pattern.fix
    )
    return f"write {', '.join(listed)} or {ALL}"


def _value(text: str, choices: Sequence[str], value: str) -> int | None:
    word, colon, number = value.rpartition(":")
    if value in choices and value == "join":
        return None
    if (
        word in choices
        and bool(colon) == bool(word)
        and number.isascii()
        and number.isdigit()
        and 0 < int(number) < 10**9
    ):
        return int(number)
    raise UsageError(f"unknown fix `{text}`: {grammar()}")


def what_if(
    evidence: Evidence, costs: Costs, base: Basis, points: Sequence[Point], fixes: Sequence[Fix]
) -> WhatIf | None:
    """The runtimes at `points` with `fixes`; `None` where the baseline RTT is unknown."""
    as_is = {point.rtt_ms: point.runtime_s for point in points if point.runtime_s is not None}
    if not as_is:
        return None
    each = tuple(_result(evidence, costs, base, as_is, [fix], fix.text) for fix in fixes)
    together = _result(evidence, costs, base, as_is, fixes, "all fixes")
    told = tuple(result for fix, result in zip(fixes, each, strict=True) if result.findings or len(fixes) < 3)
    return WhatIf(_by_rtt(as_is), told, together, _answer(as_is, together, costs, evidence.timeline.runtime_s))


def _result(
    evidence: Evidence, costs: Costs, base: Basis, as_is: dict[float, float], fixes: Sequence[Fix], name: str
) -> FixResult:
    values = {fix.name: fix.value for fix in fixes if fix.value is not None}
    names = {fix.name for fix in fixes}
    found = [claimed for claimed in candidates(evidence, values) if claimed[0].fix in names]
    farthest = max(as_is)
    kept = share_out(evidence, found, lambda effect: saved_seconds(effect, farthest, costs))
    effects = [candidate.effect for _, candidate in kept]
    job = base.job
    saved_s = [0.0] * len(as_is) if job is None else base.saved_s(changes_of(effects, costs, job), list(as_is))
    saved = dict(zip(as_is, saved_s, strict=True))
    least = evidence.timeline.budget.think_s
    return FixResult(
        name=name,
        findings=len(effects),
        round_trips_saved=round(sum(float(effect.saved.sum()) + len(effect.closed) for effect in effects)),
        saved_s=_by_rtt(saved),
        runtime_s=_by_rtt({rtt: max(as_is[rtt] - saved[rtt], least) for rtt in as_is}),
    )


def _by_rtt(values: dict[float, float]) -> dict[str, float]:
    return {f"{rtt:g}": value for rtt, value in values.items()}


def _answer(as_is: dict[float, float], together: FixResult, costs: Costs, here_s: float) -> str:
    """In words: whether changing the code makes up for the distance."""
    rtt = max(as_is)
    there_s, fixed_s = as_is[rtt], together.runtime_s[f"{rtt:g}"]
    here, there, fixed = (format_s(value) for value in (here_s, there_s, fixed_s))
    at, back = format_ms(rtt), format_ms(costs.baseline_ms)
    if rtt <= costs.baseline_ms * MOVED_ENOUGH:
        return f"With these fixes {fixed} instead of {there} at {at}."
    if there_s <= here_s * MOVED_ENOUGH:
        return f"Neither: at {at} it takes {there}, hardly more than the {here} at {back}."
    if fixed_s <= here_s * MOVED_ENOUGH:
        return (
            f"Change the code: with these fixes {fixed} at {at}, no more than the {here} at {back} today; "
            "the database need not move back."
        )
    if there_s - fixed_s < LITTLE * there_s:
        saved = format_s(there_s - fixed_s)
        return f"Move the database back: these fixes save {saved} of {there} at {at}; at {back} it takes {here}."
    return (
        f"Change the code first: with these fixes {fixed} instead of {there} at {at}; "
        f"moving the database back to {back} gives {here} without any change."
    )
