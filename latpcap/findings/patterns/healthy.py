"""Healthy: no pattern wastes round trips. Where the network takes much of the time all the same, what would help."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, Pattern, effect_of
from latpcap.measures.responses import FEWEST_RESPONSES, responses
from latpcap.measures.transactions import transactions
from latpcap.units import counted, percent, significant

MUCH = 0.3
"""The network's share of the runtime from which on `nothing to fix` would not be all."""
PIPELINES = "postgresql"
"""The protocol whose drivers send several statements before they read the first answer."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate: asked for where nothing else was found."""
    share = evidence.timeline.waits.shared_s / evidence.timeline.runtime_s if evidence.timeline.runtime_s > 0 else 0.0
    much = share >= MUCH and responses(evidence.recording) >= FEWEST_RESPONSES
    title = f"No pattern wastes round trips, and yet the network takes {percent(share)} of the time" if much else ""
    if failed := _failed(evidence):
        title = f"{title or 'No pattern wastes round trips'}; {failed}"
    nothing = np.empty(0, np.int64)
    yield Candidate(
        shown=nothing,
        effect=effect_of(evidence, NOTHING, nothing),
        facts={"network_share": share, "said": title or "Nothing to fix: no pattern wastes round trips"},
        fix=" ".join(_helps(evidence)) if much else "",
    )


def _failed(evidence: Evidence) -> str:
    """What failed all the same, which is too little for a pattern."""
    failures = evidence.failures
    return (
        f"{counted(len(failures.rows), 'request')} failed: {failures.codes(np.arange(len(failures.rows)))}"
        if len(failures.rows)
        else ""
    )


def _helps(evidence: Evidence) -> Iterator[str]:
    """What would shorten the waits of this capture."""
    waits, exchanges = evidence.timeline.waits, evidence.exchanges
    opening = waits.count - waits.round_trips + int(exchanges.round_trips.sum(where=exchanges.is_setup))
    if 2 * opening >= waits.count:
        connections = counted(len(evidence.recording.connections), "connection")
        yield f"{opening:,} of {waits.count:,} waits open and close {connections}: keep connections open to save them."
    told = transactions(evidence.recording)
    inside = int(exchanges.round_trips.sum(where=told.of_exchange >= 0))
    statements = int(exchanges.round_trips.sum(where=exchanges.is_execution))
    if len(told) and inside >= 2 * len(told):
        each = f"A transaction waits {significant(inside / len(told))} times on average"
        yield f"{each}: {_fewer(evidence)} would wait once for several statements."
    elif statements > 1:
        yield f"{statements:,} statements wait one by one: {_fewer(evidence)} would wait once for several."
    yield "Beyond that, only a shorter distance helps."


def _fewer(evidence: Evidence) -> str:
    pipelines = PIPELINES in evidence.recording.connections.protocol.names
    return "a stored procedure, a pipeline or a batch" if pipelines else "a stored procedure or a batch"


PATTERN = Pattern(
    code="healthy",
    fix="",
    title="{said}",
    why="Each wait for the network is for a response that the program needs.",
    find=find,
)
