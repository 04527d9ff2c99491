"""Healthy: no pattern wastes round trips. Network-bound: none does, and the network takes much of the time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, Finding, Pattern, effect_of
from latpcap.measures.responses import MIN_RESPONSES, responses
from latpcap.measures.transactions import transactions
from latpcap.units import counted, format_average, percent

MIN_NETWORK_SHARE = 0.3
"""A recording is network-bound from this share of the runtime on."""
MIN_SAVED_SHARE = 0.1
"""Share of statements sent in a batch or a pipeline from which on neither is advice."""
PIPELINES = "postgresql"
"""The protocol whose drivers send several statements before they read the first answer."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate: asked for where nothing else was found."""
    nothing, failed = np.empty(0, np.int64), _failed(evidence)
    yield Candidate(
        shown=nothing,
        effect=effect_of(evidence, NOTHING, nothing),
        facts={"said": f"{NO_WASTE}; {failed}" if failed else f"Nothing to fix: {NO_WASTE[0].lower()}{NO_WASTE[1:]}"},
    )


def network_bound(evidence: Evidence, finding: Finding, network_share: float, where: str) -> Finding:
    """The finding that nothing is to be fixed, at an RTT (`where`) at which the network has a share of the runtime."""
    facts = {**finding.facts, "network_share": network_share}
    if network_share < MIN_NETWORK_SHARE or responses(evidence.recording) < MIN_RESPONSES:
        return replace(finding, facts=facts)
    failed = _failed(evidence)
    helps = list(_helps(evidence))
    title = f"{NO_WASTE}, but {where}{percent(network_share)} of the time is network"
    return replace(
        finding,
        code=NETWORK_BOUND.code,
        title=f"{title}; {failed}" if failed else title,
        fix=" ".join((*helps, f"{'Otherwise only' if helps else 'Only'} a lower RTT helps.")),
        facts=facts,
    )


def _failed(evidence: Evidence) -> str:
    """The failures, which are too few for a pattern."""
    failures = evidence.failures
    return (
        f"{counted(len(failures.rows), 'request')} failed: {failures.codes(np.arange(len(failures.rows)))}"
        if len(failures.rows)
        else ""
    )


def _helps(evidence: Evidence) -> Iterator[str]:
    """Advice that would shorten the capture's waits."""
    waits, exchanges = evidence.timeline.waits, evidence.exchanges
    opening = waits.count - waits.round_trips + int(exchanges.round_trips.sum(where=exchanges.is_setup))
    if 2 * opening >= waits.count:
        connections = counted(len(evidence.recording.connections), "connection")
        yield f"{opening:,} of {waits.count:,} waits open and close {connections}: keep connections open."
    if not _sends_together(evidence):
        yield from _fewer_waits(evidence, _fewer(evidence))


def _fewer_waits(evidence: Evidence, means: str) -> Iterator[str]:
    """Yield advice that lets several statements share one wait."""
    exchanges, each = evidence.exchanges, transactions(evidence.recording)
    inside = int(exchanges.round_trips.sum(where=each.of_exchange >= 0))
    statements = int(exchanges.round_trips.sum(where=exchanges.is_execution))
    if len(each) and inside >= 2 * len(each):
        yield f"Each transaction makes {format_average(inside / len(each))} round trips: {means} would make fewer."
    elif statements > 1:
        yield f"{statements:,} statements are sent one at a time: {means} would send several in one round trip."


def _sends_together(evidence: Evidence) -> bool:
    """The client sends statements without waiting for each, or many rows with one."""
    runs = evidence.is_execution
    bulk = evidence.exchanges.command.where(lambda command: "bulk" in command)
    rows = evidence.texts.marked(MANY_ROWS)[evidence.exchanges.fingerprint]
    return bool((runs & ((evidence.leader >= 0) | bulk | rows)).sum() >= max(MIN_SAVED_SHARE * runs.sum(), 1))


def _fewer(evidence: Evidence) -> str:
    pipelines = PIPELINES in evidence.recording.connections.protocol.names
    return "a stored procedure, a pipeline or a batch" if pipelines else "a stored procedure or a batch"


NO_WASTE = "No avoidable round trips found"
MANY_ROWS = ")+"
"""How the fingerprint of an insert of several rows ends its list of values."""
WHY = "The program needs the response to each of its requests, as far as the capture shows."

PATTERN = Pattern(
    code="healthy",
    fix="",
    title="{said}",
    why=WHY,
    find=find,
    rule="no other pattern, and 90 % of the round trips could be read",
    example="2,000 different statements, most of the time spent in the server.",
    is_not="a promise that nothing can be improved: only the patterns of this list were looked for.",
    fixes={},
)
NETWORK_BOUND = replace(
    PATTERN,
    code="network-bound",
    title="No avoidable round trips found, but much of the time is network",
    rule="no other pattern, and the network takes 30 % of the runtime or more at the requested RTT. Names what the "
    "client does not do yet: keep connections open, make fewer round trips per transaction (procedure, batch, "
    "pipeline)",
    example="Transactions of four statements each, all needed, at an RTT of 30 ms.",
    is_not="a fault of the network: the RTT may be fine, and the job waits for it often.",
    fixes={"": "Make fewer round trips (a stored procedure, a pipeline, a batch), or move closer to the server."},
)
