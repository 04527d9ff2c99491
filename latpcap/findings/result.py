"""A finding as reports and JSON show it: plain values, with seconds at the asked RTTs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap.display import Brief
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Finding
from latpcap.findings.frames import (
    MAX_STRETCHES,
    FrameRanges,
    Frames,
    display_filter,
    frames_of_connections,
    frames_of_exchanges,
)
from latpcap.findings.savings import Saving, Savings

MIN_TOGETHER = 2
HIGH, MEDIUM = 0.25, 0.05
"""Shares that a fix saves."""


class FindingResult(Brief, Struct, frozen=True):
    """One finding; see docs/findings.md."""

    code: str
    title: str
    why: str
    fix: str
    severity: str
    """`high`, `medium`, `low` by the larger share: of the effective round trips that the fix saves, or of the runtime
    of the capture; `info` for suggestions and where nothing is to be saved."""
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
    """What `latpcap project --fix` calls it; empty where there is nothing to switch on."""
    facts: dict[str, Any]
    needs: tuple[str, ...]
    """Names of the fixes without which this one cannot be made: `saved_s` is with these."""
    round_trips_alone: int
    """What the fix removes when it is made alone, as in `saved_s`; `round_trips_saved` counts each round trip once."""
    estimated: bool
    """The finding's share of what its fix saves with all its findings; otherwise replayed by itself."""


class FixesTogether(Struct, frozen=True):
    """What all fixes but the suggestions save at once; less than the sum where they remove the same waits."""

    fixes: tuple[str, ...]
    round_trips_saved: int
    saved_s: dict[str, float]
    """By the asked RTT in ms."""


def fixes_together(savings: Savings, rtt_ms: Sequence[float]) -> FixesTogether | None:
    """`None` where there are not several."""
    found = [finding for finding in savings.findings() if finding.fix_name and not finding.suggestion]
    names = tuple(dict.fromkeys(finding.fix_name for finding in found))
    if len(names) < MIN_TOGETHER or savings.base.job is None:
        return None
    made = savings.fix_set(names)
    [seconds] = savings.saved_s([made], rtt_ms)
    return FixesTogether(
        names, made.round_trips_saved, {f"{rtt:g}": float(s) for rtt, s in zip(rtt_ms, seconds, strict=True)}
    )


def _severity(saving: Saving, runtime_s: float) -> str:
    if saving.finding.suggestion:
        return "info"
    saved = float(saving.saved_s[-1]) / runtime_s if runtime_s > 0 else 0.0
    saves = saving.finding.round_trips_saved > 0 and runtime_s > 0
    if saves and len(saving.saved_s) and float(np.max(saving.saved_s)) < MEDIUM * runtime_s:
        return "low"  # whatever part of the round trips: a poll waits for its time, at no RTT for the network
    share = max(saving.finding.share, saved)
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

    `rank_ms` (one of `rtt_ms`; default: the largest) is where their order comes from.
    """
    evidence, known = savings.evidence, savings.base.job is not None
    asked = list(rtt_ms) if known else []
    ranked = max(asked, default=None) if rank_ms is None or not known else rank_ms
    for saving in savings.savings([*asked, savings.base.baseline_ms] if known else [], ranked):
        finding = saving.finding
        whole = len(finding.effect.closed) > 0
        connection = np.flatnonzero(np.bincount(evidence.exchanges.connection[finding.shown]))
        frames = shown_ranges(evidence, finding)
        shown = frames.first_of(MAX_STRETCHES)
        result = FindingResult(
            code=finding.code,
            title=finding.title,
            why=finding.why,
            fix=finding.fix,
            severity=_severity(saving, savings.base.runtime_s if known else 0.0),
            statement=finding.statement,
            fingerprint=finding.fingerprint,
            exchanges=len(finding.shown),
            round_trips_saved=finding.round_trips_saved,
            saved_s={f"{rtt:g}": float(seconds) for rtt, seconds in zip(asked, saving.saved_s, strict=False)},
            saved_at_baseline_s=float(saving.saved_s[-1]) if known else None,
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
            estimated=saving.estimated and known,
        )
        yield result, saving
