"""A finding as reports and JSON show it: plain values, with seconds at the asked RTTs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Finding
from latpcap.findings.frames import MAX_STRETCHES, Frames, display_filter, frames_of_connections, frames_of_exchanges
from latpcap.findings.savings import Costs, saved_seconds

__all__ = ["FindingResult", "finding_results"]


@dataclass(frozen=True, slots=True)
class FindingResult:
    """One finding; see docs/findings.md."""

    code: str
    title: str
    why: str
    fix: str
    severity: str
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
    """Stretches that are neither in `frames` nor in the filter, because they are too many."""
    display_filter: str
    fix_name: str
    """What `latpcap project --fix` calls it; empty where there is nothing to switch on."""
    facts: dict[str, Any]


def finding_results(
    evidence: Evidence, findings: Sequence[Finding], costs: Costs, rtt_ms: Sequence[float]
) -> Iterator[FindingResult]:
    """The findings with seconds at each of `rtt_ms`; none where the baseline RTT is unknown."""
    known = not math.isnan(costs.baseline_ms)
    for finding in findings:
        saved = {f"{rtt:g}": saved_seconds(finding.effect, rtt, costs) for rtt in rtt_ms} if known else {}
        whole = len(finding.effect.closed) > 0
        connection = np.unique(evidence.exchanges.connection[finding.shown])
        frames = frames_of_connections(evidence, connection) if whole else frames_of_exchanges(evidence, finding.shown)
        shown = frames[:MAX_STRETCHES]
        yield FindingResult(
            code=finding.code,
            title=finding.title,
            why=finding.why,
            fix=finding.fix,
            severity=finding.severity,
            statement=finding.statement,
            fingerprint=finding.fingerprint,
            exchanges=len(finding.shown),
            round_trips_saved=finding.round_trips_saved,
            saved_s=saved,
            saved_at_baseline_s=saved_seconds(finding.effect, costs.baseline_ms, costs) if known else None,
            connections=tuple(map(int, evidence.recording.connections.stream[connection])),
            first_frame=min((each.first for each in shown), default=None),
            last_frame=max((each.last for each in shown), default=None),
            frames=tuple(shown),
            frames_left_out=len(frames) - len(shown),
            display_filter=display_filter(shown, whole) if shown else "",
            fix_name=finding.fix_name,
            facts=dict(finding.facts),
        )
