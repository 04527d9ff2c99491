"""The runtime with some of the fixes made: `latpcap project --fix NAME[=VALUE]`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from latpcap.display import ShortRepr
from latpcap.errors import UsageError, did_you_mean
from latpcap.findings.registry import PATTERNS
from latpcap.findings.savings import FixSet, Savings
from latpcap.findings.unjudged import Unjudged
from latpcap.projection.assumptions import Conditions
from latpcap.projection.basis import AS_IT_IS
from latpcap.projection.project import Projection, projections, saved_range
from latpcap.tables.columnar.columns import Floats
from latpcap.units import counted, format_given_ms, format_ms, format_s, listed, whole_number

ALL = "all"
SUGGESTIONS = frozenset(pattern.fix for pattern in PATTERNS if pattern.suggestion)
"""Fixes that are made only where they are named."""
MIN_TO_SHORTEN = 3
"""From this many fixes on, those that save nothing are not listed."""
TARGET_TOLERANCE = 1.1
"""A target runtime is met if it is exceeded by no more than this factor."""
NEGLIGIBLE_SHARE = 0.1
"""Fixes that save less than this share of the runtime are negligible."""


class Fix(Struct, frozen=True):
    """One fix as it was asked for."""

    name: str
    value: int | None = None
    """Rows a fetch, calls a batch, keys a list, requests a pipeline; `None` for the usual."""
    text: str = ""


class FixResult(ShortRepr, Struct, frozen=True):
    """The job with one fix made, or with all of them; seconds by the asked RTT in ms."""

    name: str
    findings: int
    round_trips_saved: int
    saved_s: dict[str, float]
    saved_min_s: dict[str, float]
    """With the least that the fixes may take of the time of client and server, in the worst case of the projection."""
    saved_max_s: dict[str, float]
    runtime_s: dict[str, float]
    optimistic_s: dict[str, float]
    pessimistic_s: dict[str, float]
    throughput_per_s: dict[str, float]
    """Statements that are still needed, per second of runtime."""
    seconds_per_ms: float
    """Cost of the next millisecond of RTT then."""
    needs: tuple[str, ...] = ()
    """Fixes that had to be made with it."""
    lost_requests: int = 0
    """Requests that the capture lost beside what is removed: they may go, too, which the optimistic end allows for."""


class WhatIf(ShortRepr, Struct, frozen=True):
    """As it is, each fix alone, all together; and what follows from that."""

    as_is_s: dict[str, float]
    """Seconds by the asked RTT in ms."""
    as_is_optimistic_s: dict[str, float]
    as_is_pessimistic_s: dict[str, float]
    fixes: tuple[FixResult, ...]
    all_fixes: FixResult
    answer: str
    """Keep the database close, or change the code?"""
    headline_rtt_ms: float
    """The RTT that the answer speaks of."""
    left_out: tuple[str, ...] = ()
    """Fixes that would save something and that `all` leaves out, since they are suggestions."""


def parse_fix(text: str) -> list[Fix]:
    """The fixes that `text` names; `all` names every one but the suggestions (`pipeline`).

    >>> parse_fix("fetch=500")
    [Fix(name='fetch', value=500, text='fetch=500')]
    >>> parse_fix("n+1=in:100")[0].value
    100
    """
    name, given, value = text.partition("=")
    if name == ALL and not given:
        names = [pattern.fix for pattern in PATTERNS if pattern.fix and pattern.fix not in SUGGESTIONS]
        return [Fix(fix, None, fix) for fix in names]
    pattern = next((pattern for pattern in PATTERNS if pattern.fix == name and name), None)
    if pattern is None:
        fix = next((pattern.fix for pattern in PATTERNS if pattern.code == name), "")
        if fix:
            raise UsageError(f"`{name}` is a finding: its fix is `{fix}`")
        known = [pattern.fix for pattern in PATTERNS if pattern.fix]
        raise UsageError(f"unknown fix `{text}`{did_you_mean(name, known) or f': {grammar()}'}")
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
    given = whole_number(number, 1, 10**9 - 1)
    if word in choices and bool(colon) == bool(word) and given is not None:
        return given
    raise UsageError(f"unknown fix `{text}`: {grammar()}")


def what_if(
    savings: Savings, rtt_ms: Sequence[float], fixes: Sequence[Fix], conditions: Conditions | None = None
) -> WhatIf | None:
    """The runtimes at `rtt_ms` and under `conditions` with `fixes`; `None` where the baseline RTT is unknown."""
    if savings.base.job is None:
        return None
    fixes = _each_once(fixes)
    values = {fix.name: fix.value for fix in fixes if fix.value is not None}
    names = [[fix.name] for fix in fixes] + [[fix.name for fix in fixes]]
    sets = [savings.fix_set(each, values) for each in names]
    variants = [AS_IT_IS, *(each.variant for each in sets)]
    with savings.base.keeping():
        as_is, *projected = projections(savings.base, variants, rtt_ms, conditions=conditions)
        saved = [saved_range(savings.base, each.variant, rtt_ms, conditions) for each in sets]
    texts = [*(fix.text for fix in fixes), "all fixes"]
    *each, together = (
        _result(text, made, made.needs(fixed), as_is, there, saved_s, savings.in_part(made))
        for text, fixed, made, there, saved_s in zip(texts, names, sets, projected, saved, strict=True)
    )
    shown = tuple(result for result in each if result.findings or len(fixes) < MIN_TO_SHORTEN)
    asked_all = {fix.name for fix in fixes} >= {fix.name for fix in parse_fix(ALL)}
    suggested = savings.findings() if asked_all else []
    left_out = {finding.fix_name for finding in suggested} & SUGGESTIONS - {fix.name for fix in fixes}
    told = as_is.headline_rtt_ms or savings.base.baseline_ms
    times = _Times(savings.base.runtime_s, _runtimes(as_is)[told], together.runtime_s[f"{told:g}"])
    stay, _ = savings.in_part(sets[-1])
    answer = _answer(times, told, together, savings.base.baseline_ms, savings.unjudged, stay, sorted(left_out))
    return WhatIf(
        as_is_s=_by_rtt(_runtimes(as_is)),
        as_is_optimistic_s=_by_rtt({point.rtt_ms: point.optimistic_s or 0.0 for point in as_is.points}),
        as_is_pessimistic_s=_by_rtt({point.rtt_ms: point.pessimistic_s or 0.0 for point in as_is.points}),
        fixes=shown,
        all_fixes=together,
        answer=answer,
        headline_rtt_ms=told,
        left_out=tuple(sorted(left_out)),
    )


def _each_once(fixes: Sequence[Fix]) -> list[Fix]:
    """Each fix once: with its value, where it is named without one, too (`all`). Two values cannot both be made."""
    chosen: dict[str, Fix] = {}
    for fix in fixes:
        before = chosen.setdefault(fix.name, fix)
        if before.value is None:
            chosen[fix.name] = fix
        elif fix.value is not None and fix.text != before.text:
            raise UsageError(f"`{before.text}` and `{fix.text}` contradict each other: give one of them")
    return list(chosen.values())


def _result(
    name: str,
    made: FixSet,
    needs: tuple[str, ...],
    as_is: Projection,
    fixed: Projection,
    saved_s: tuple[Floats, Floats],
    in_part: tuple[int, int],
) -> FixResult:
    """Put together what a fix changes: the round trips `in_part` that stay may be more, and some of them may go."""
    now, then = _runtimes(as_is), _runtimes(fixed)
    stay_s, may_go_s = ({rtt: count * rtt / 1e3 for rtt in now} for count in in_part)
    saved_min_s, saved_max_s = (dict(zip(now, each.tolist(), strict=True)) for each in saved_s)
    least = {each.rtt_ms: max((each.optimistic_s or 0.0) - may_go_s[each.rtt_ms], 0.0) for each in fixed.points}
    most = {each.rtt_ms: (each.pessimistic_s or 0.0) + stay_s[each.rtt_ms] for each in fixed.points}
    return FixResult(
        name=name,
        findings=len(made.made),
        round_trips_saved=made.round_trips_saved,
        saved_s=_by_rtt({rtt: max(now[rtt] - then[rtt], 0.0) for rtt in now}),
        saved_min_s=_by_rtt({rtt: max(seconds - stay_s[rtt], 0.0) for rtt, seconds in saved_min_s.items()}),
        saved_max_s=_by_rtt({rtt: seconds + may_go_s[rtt] for rtt, seconds in saved_max_s.items()}),
        runtime_s=_by_rtt(then),
        optimistic_s=_by_rtt(least),
        pessimistic_s=_by_rtt(most),
        throughput_per_s=_by_rtt({point.rtt_ms: point.throughput_per_s or 0.0 for point in fixed.points}),
        seconds_per_ms=fixed.seconds_per_ms or 0.0,
        needs=needs,
        lost_requests=in_part[1],
    )


def _runtimes(projection: Projection) -> dict[float, float]:
    return {point.rtt_ms: point.runtime_s or 0.0 for point in projection.points}


def _by_rtt(values: dict[float, float]) -> dict[str, float]:
    return {f"{rtt:g}": value for rtt, value in values.items()}


class _Times(Struct, frozen=True):
    """Runtimes that decide, in seconds."""

    here: float
    there: float
    fixed: float
    """There, with the fixes."""

    @property
    def decision(self) -> str:
        """The first word of what follows from them."""
        if self.there <= self.here * TARGET_TOLERANCE:
            return "stay"
        if self.fixed <= self.here * TARGET_TOLERANCE:
            return "change"
        return "move" if self.there - self.fixed < NEGLIGIBLE_SHARE * self.there else "both"

    def hangs_on(self, unknown: Unjudged, stay: int, rtt_ms: float, baseline_ms: float) -> bool:
        """Return whether what was captured in part may decide otherwise: it is needless, or took a round trip more.

        With the fixes, `stay` of these round trips are left.
        """
        in_part = unknown.exchanges + unknown.connections
        lost_here_s, lost_s = in_part * baseline_ms / 1e3, in_part * rtt_ms / 1e3
        around_s = 2 * self.here / max(unknown.of, 1)  # what the client does before a request, and behind it
        needless_s = unknown.round_trips * (rtt_ms / 1e3 + around_s)
        others = (
            _Times(self.here, self.there, max(self.fixed - needless_s, 0.0)),
            _Times(self.here, self.there, self.fixed + stay * rtt_ms / 1e3),
            _Times(self.here + lost_here_s, self.there, self.fixed),
            _Times(max(self.here - lost_here_s, 0.0), self.there, self.fixed),
            _Times(self.here, self.there + lost_s, self.fixed),
            _Times(self.here, max(self.there - lost_s, 0.0), self.fixed),
        )
        return any(other.decision != self.decision for other in others)


def _answer(
    times: _Times,
    rtt: float,
    together: FixResult,
    baseline_ms: float,
    unknown: Unjudged | None,
    stay: int,
    left_out: Sequence[str],
) -> str:
    """In words: whether changing the code makes up for the distance, and whether that hangs on what is unknown."""
    decided = _decided(times, rtt, together.findings, baseline_ms, left_out)
    stays = times.decision == "stay" and rtt > baseline_ms * TARGET_TOLERANCE
    if together.lost_requests and together.findings and not stays:
        decided += f" They may also save {counted(together.lost_requests, 'request')} that the capture lost."
    if unknown is None or rtt <= baseline_ms * TARGET_TOLERANCE:
        return decided
    is_much = unknown.is_much and not unknown.is_only_hidden  # what is encrypted can be needless only
    if not is_much and not times.hangs_on(unknown, stay, rtt, baseline_ms):
        return decided
    if together.findings or times.decision != "move" or not unknown.is_much:
        return f"{decided} This is not certain: {unknown.text}."
    there, here = (
        f"{format_s(s)} at {at}"
        for s, at in ((times.there, format_given_ms(rtt)), (times.here, format_ms(baseline_ms)))
    )
    return f"Whether a code change helps is unknown: {unknown.text}; the job takes {there}, and {here}."


def _decided(times: _Times, rtt: float, findings: int, baseline_ms: float, left_out: Sequence[str]) -> str:
    """Return whether changing the code makes up for the distance, by the runtimes alone."""
    here, there, fixed = (format_s(value) for value in (times.here, times.there, times.fixed))
    at, back = format_given_ms(rtt), format_ms(baseline_ms)
    if rtt <= baseline_ms * TARGET_TOLERANCE:
        return f"With these fixes the job takes {fixed} instead of {there} at {at}."
    if times.decision == "stay":
        return f"No change is needed: the job takes {there} at {at}, hardly more than the {here} at {back}."
    if times.decision == "change":
        slower = "no slower" if times.fixed <= times.here or fixed == here else "hardly slower"
        return (
            f"Change the code: with these fixes the job takes {fixed} at {at}, {slower} than today's {here} at {back}."
        )
    if times.decision == "move" and left_out and not findings:
        without = f"without it the job takes {there} at {at}, {here} at {back}"
        return f"Only a suggestion applies ({listed(left_out)}): {without}."
    if times.decision == "move":
        saved = format_s(times.there - times.fixed)
        fixes = f"these fixes save only {saved} of {there} at {at}" if findings else "none of these fixes applies"
        return f"Keep the database close: {fixes}; the job takes {there} at {at}, and {here} at {back}."
    return (
        f"Change the code first: with these fixes the job takes {fixed} instead of {there} at {at}; "
        f"at {back} it takes {here} without any change."
    )
