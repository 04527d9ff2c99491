"""Delayed-ACK stall: a small second packet waits for the acknowledgment of the first (`measures.stalls`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.measures.stalls import MIN_STALLS

SAVED_TIME = SavedShare(client=0.0, service=0.0, call=False)
"""Only the wait for the acknowledgment goes."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording."""
    exchanges = evidence.exchanges
    stall = evidence.timeline.timers.total
    rows = np.flatnonzero(stall > 0)
    if len(rows) < MIN_STALLS:
        return
    yield Candidate(
        shown=rows,
        effect=effect_of(evidence, SAVED_TIME, rows, saved=np.zeros(len(rows)), stall_ns=stall[rows]),
        fingerprint=int(exchanges.fingerprint[rows[0]]),
        facts={"stalls": len(rows), "median_ms": round(float(np.median(stall[rows])) / 1e6, 1)},
        fix=ADVICE.sentence(evidence, exchanges.connection[rows]),
    )


ADVICE = Advice("delayed-ack", "Set TCP_NODELAY, or send each request in a single write")

PATTERN = Pattern(
    code="delayed-ack",
    fix="nodelay",
    title="Delayed-ACK stall: {stalls:,} messages waited about {median_ms:g} ms each",
    why="The sender waits for an acknowledgment (Nagle's algorithm) that the receiver delays (delayed ACK).",
    find=find,
    rule="3 or more small messages whose second packet comes 30–510 ms (and the RTT) after the first, or after a "
    "request without a response: Nagle's algorithm waits for a delayed acknowledgment. Without a captured "
    "handshake, the fastest response shows what is late, from the second stall on",
    example="A request leaves in two small packets, and the second waits 40 ms for the acknowledgment of the first.",
    is_not="a slow server or a high RTT: a timer sets the time, which is the same at any RTT.",
    fixes={"": ADVICE},
)
