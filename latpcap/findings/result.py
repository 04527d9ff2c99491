"""A finding as reports and JSON show it: plain values, with seconds at the asked RTTs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.display import ShortRepr
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Finding
from latpcap.findings.frames import (
    MAX_RANGES,
    FrameRanges,
    Frames,
    display_filter,
    frames_of_connections,
    frames_of_exchanges,
)
from latpcap.findings.patterns.healthy import network_bound
from latpcap.findings.recognise import find
from latpcap.findings.registry import NO_FINDINGS
from latpcap.findings.savings import Saving, Savings
from latpcap.projection.assumptions import CENTRAL
from latpcap.projection.basis import AS_IT_IS
from latpcap.projection.budget_elsewhere import budgets_there
from latpcap.units import format_given_ms

MIN_FINDINGS = 2
MIN_SAVED_S = 1e-6
"""Seconds; a fix that saves no more at any RTT is none."""
HIGH, MEDIUM = 0.25, 0.05
"""Shares of the runtime that a fix saves."""
SEVERITIES = ("high", "medium", "low", "info")


class FindingResult(ShortRepr, Struct, frozen=True):
    """One finding; see docs/findings.md."""

    code: str
    title: str
    why: str
    fix: str
    severity: str
    """`high`, `medium`, `low` by the share of the runtime that the fix saves at the RTT of the order; of failures, by
    their share of all statements or logins. `info` for suggestions and where nothing is to be saved."""
    statement: str | None
    fingerprint: str | None
    exchanges: int
    """How many exchanges show it."""
    round_trips_saved: int
    saved_s: dict[str, float]
    """Seconds that the fix saves, by the asked RTT in ms."""
    saved_at_baseline_s: float | None
    connections: tuple[int, ...]
    """`tcp.stream` of each."""
    first_frame: int | None
    last_frame: int | None
    frames: tuple[Frames, ...]
    frames_left_out: int
    """Intervals that are neither in `frames` nor in the filter, because they are too many."""
    display_filter: str
    fix_name: str
    """Its name for `latpcap project --fix`; empty where there is nothing to switch on."""
    facts: dict[str, Any]
    needs: tuple[str, ...]
    """Names of the fixes without which this one cannot be made: `saved_s` is with these."""
    round_trips_alone: int
    """Round trips that the fix saves alone, as in `saved_s`; `round_trips_saved` counts each round trip once."""
    estimated: bool
    """The finding's share of what its fix saves with all its findings; otherwise replayed by itself."""


class FixesTogether(Struct, frozen=True):
    """Savings of all fixes but the suggestions at once; less than the sum where they remove the same waits."""

    fixes: tuple[str, ...]
    round_trips_saved: int
    saved_s: dict[str, float]
    """By the asked RTT in ms."""


def fixes_together(savings: Savings, rtt_ms: Sequence[float]) -> FixesTogether | None:
    """`None` where there are not several."""
    found = [finding for finding in savings.findings() if finding.fix_name and not finding.suggestion]
    names = tuple(dict.fromkeys(finding.fix_name for finding in found))
    if len(names) < MIN_FINDINGS or savings.base.job is None:
        return None
    made = savings.fix_set(names)
    [seconds] = savings.saved_s([made], rtt_ms)
    return FixesTogether(
        names, made.round_trips_saved, {f"{rtt:g}": float(s) for rtt, s in zip(rtt_ms, seconds, strict=True)}
    )


def _severity(finding: Finding, saved_share: float | None) -> str:
    """By the part of the runtime that the fix saves; of failures, and where no RTT is known, by the finding's share."""
    if finding.suggestion:
        return "info"
    share = finding.share if saved_share is None or not finding.fix_name else saved_share
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"


def shown_ranges(evidence: Evidence, finding: Finding) -> FrameRanges:
    """All packets that show a finding: exchanges, or whole connections where these are what its fix avoids."""
    if len(finding.effect.closed) == 0:
        return frames_of_exchanges(evidence, finding.shown)
    return frames_of_connections(evidence, np.flatnonzero(np.bincount(evidence.exchanges.connection[finding.shown])))


def finding_results(
    savings: Savings, rtt_ms: Sequence[float], rank_ms: float | None = None
) -> Iterator[tuple[FindingResult, Saving]]:
    """The findings with seconds at each of `rtt_ms`; none where the baseline RTT is unknown.

    They come by severity, then by what each saves at `rank_ms` (one of `rtt_ms`; default: the largest).
    """
    evidence, known = savings.evidence, savings.base.job is not None
    asked = [*rtt_ms, savings.base.baseline_ms] if known else []
    ranked = (max(rtt_ms, default=savings.base.baseline_ms) if rank_ms is None else rank_ms) if known else None
    runtime_s = _runtime_s(savings, ranked)
    found = [_result(evidence, saving, asked, ranked, runtime_s) for saving in _savings(savings, asked, ranked)]
    yield from sorted(found, key=lambda pair: SEVERITIES.index(pair[0].severity))


def _savings(savings: Savings, rtt_ms: Sequence[float], ranked: float | None) -> list[Saving]:
    """The savings of findings that save anything at any RTT, or promise nothing; where none does, that all is well."""
    found = savings.savings(rtt_ms, ranked)
    kept = [each for each in found if not each.finding.fix_name or not len(rtt_ms) or each.saved_s.max() > MIN_SAVED_S]
    nothing = np.zeros(len(rtt_ms))
    if found and not kept:
        kept = [Saving(finding, 0, nothing, 1.0, estimated=False) for finding in find(savings.evidence, ())]
    return [_at_rtt(savings, each, ranked) if each.finding.code in NO_FINDINGS else each for each in kept]


def _at_rtt(savings: Savings, saving: Saving, rtt_ms: float | None) -> Saving:
    """That there is nothing to fix, as it stands at an RTT."""
    runtime_s = _runtime_s(savings, rtt_ms)
    if rtt_ms is None or not runtime_s:
        return saving
    [there] = budgets_there(savings.base, [rtt_ms], [runtime_s], savings.base.as_usual)
    where = f"at {format_given_ms(rtt_ms)} " if rtt_ms != savings.base.baseline_ms else ""
    return replace(saving, finding=network_bound(savings.evidence, saving.finding, there.network_s / runtime_s, where))


def _runtime_s(savings: Savings, rtt_ms: float | None) -> float | None:
    """The runtime at an RTT, as the job is."""
    if rtt_ms is None or savings.base.job is None:
        return None
    [[runtime_s]] = savings.base.runtimes_of([(AS_IT_IS, [rtt_ms])], [CENTRAL])
    return float(runtime_s[0])


def _result(
    evidence: Evidence, saving: Saving, asked: Sequence[float], ranked: float | None, runtime_s: float | None
) -> tuple[FindingResult, Saving]:
    """`asked`: the RTTs of what it saves, of which the last is the baseline."""
    finding, saved_s = saving.finding, saving.saved_s.tolist()
    whole = len(finding.effect.closed) > 0
    connection = np.flatnonzero(np.bincount(evidence.exchanges.connection[finding.shown]))
    frames = shown_ranges(evidence, finding)
    shown = frames.between(0, MAX_RANGES)
    result = FindingResult(
        code=finding.code,
        title=finding.title,
        why=finding.why,
        fix=finding.fix,
        severity=_severity(
            finding, saved_s[asked.index(ranked)] / runtime_s if ranked is not None and runtime_s else None
        ),
        statement=finding.statement,
        fingerprint=finding.fingerprint,
        exchanges=len(finding.shown),
        round_trips_saved=finding.round_trips_saved,
        saved_s={f"{rtt:g}": seconds for rtt, seconds in zip(asked[:-1], saved_s, strict=False)},
        saved_at_baseline_s=saved_s[-1] if asked else None,
        connections=tuple(map(int, evidence.recording.connections.stream[connection])),
        first_frame=min((each.first for each in shown), default=None),
        last_frame=max((each.last for each in shown), default=None),
        frames=tuple(shown),
        frames_left_out=len(frames) - len(shown),
        display_filter=display_filter(shown, whole) if shown else "",
        fix_name=finding.fix_name,
        facts=dict(finding.facts),
        needs=finding.needs,
        round_trips_alone=saving.round_trips,
        estimated=saving.estimated and bool(asked),
    )
    return result, saving
