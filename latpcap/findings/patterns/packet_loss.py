"""Packet loss: lost packets and their time-outs take much of the time, at any RTT."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, Pattern, effect_of
from latpcap.units import counted, format_s

FIX = (
    "Find where packets are lost: error and drop counters of interfaces and switches, full queues, a rate limit, "
    "Wi-Fi, a VPN. A retransmission time-out lasts 0.2 s or longer at any RTT: a lower RTT does not remove it."
)
MIN_SHARE = 0.05
"""The share of the time, think time apart, from which on loss is worth a search."""
MIN_WAITS = 3
"""Fewer waits with a loss are an accident."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording at most."""
    timeline = evidence.timeline
    parts = timeline.budget.parts()
    total_s, seconds = sum(parts.values()) - parts["think_s"], parts["loss_s"]
    rows = np.flatnonzero(timeline.loss_ns > 0)
    if len(rows) < MIN_WAITS or seconds < MIN_SHARE * total_s:
        return
    timeouts = int(evidence.recording.connection_column("timeouts").values.sum())
    probable_s = float(timeline.loss_ns.sum(where=timeline.probably_lost)) / 1e9
    yield Candidate(
        shown=rows,
        effect=effect_of(evidence, NOTHING, np.empty(0, np.int64)),
        facts={
            "seconds": seconds,
            "share": seconds / total_s,
            "share_of_runtime": seconds / sum(parts.values()),
            "waits": len(rows),
            "timeouts": timeouts,
            "took": ("probably " if 2 * probable_s > seconds else "") + f"took {format_s(seconds)}",
            "cost": counted(len(rows), "wait") + (f", {counted(timeouts, 'time-out')}" if timeouts else ""),
        },
        fix=FIX,
        share=seconds / sum(parts.values()),
    )


PATTERN = Pattern(
    code="packet-loss",
    fix="",
    title="Lost packets {took} ({share_of_runtime:.0%} of the time): {cost}",
    why="Lost packets are sent again, mostly after a time-out of 0.2 s or longer; meanwhile the client waits.",
    find=find,
    rule="3 or more waits with a lost packet that take longer than similar waits, by 5 % of the time without think "
    "time",
    example="12 of 3,000 requests wait 0.2 s for a retransmission.",
    is_not="packets that only the capture lost: no client waited for them (`capture-loss`).",
    fixes={"": FIX},
)
