"""Delayed-ACK stall: a small second packet waits for the acknowledgment of the first, and that is held back.

Nagle's algorithm (RFC 896) keeps a small segment until everything before it is acknowledged; the receiver delays its ACK
(RFC 1122 4.2.3.2: up to 500 ms; Linux 40 ms, Windows and others 200 ms).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latpcap.findings import drivers
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, effect_of
from latpcap.recording import MISSING

FEWEST = 3
TIMERS_MS = ((38.0, 48.0), (190.0, 220.0))
"""The usual timers, with what scheduling adds."""
SMALL_BYTES = 2 * 1460
"""A message in a full segment and a rest: longer ones may be held up by the window."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording."""
    exchanges = evidence.exchanges
    asked = _held(exchanges.request, exchanges.request_end, exchanges.request_bytes)
    answered = _held(exchanges.response, exchanges.response_end, exchanges.response_bytes)
    baseline = np.nan_to_num(evidence.baselines.baseline)[exchanges.connection]
    stall = np.where(asked > 0, asked, answered) - baseline
    held = ((asked > 0) | (answered > 0)) & (stall > 0) & (exchanges.retransmissions == 0) & exchanges.complete
    rows = np.flatnonzero(held & ~exchanges.is_setup)
    if len(rows) < FEWEST:
        return
    yield Candidate(
        shown=rows,
        effect=effect_of(evidence, "nodelay", rows, saved=np.zeros(len(rows)), stall_ns=stall[rows]),
        fingerprint=int(exchanges.fingerprint[rows[0]]),
        facts={"stalls": len(rows), "median_ms": round(float(np.median(stall[rows])) / 1e6, 1)},
        fix=drivers.sentence(evidence, "nodelay", exchanges.connection[rows]),
    )


def _held(first: NDArray[np.int64], last: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.float64]:
    """How long (ns) a small message was held up between its packets for about the time of an ACK timer; else 0."""
    span = np.where((first == MISSING) | (last == MISSING), 0, last - first) / 1e6
    quantised = np.zeros(len(span), bool)
    for least, most in TIMERS_MS:
        quantised |= (span >= least) & (span <= most)
    return np.where(quantised & (size <= SMALL_BYTES), span * 1e6, 0.0)


PATTERN = Pattern(
    code="delayed-ack",
    fix="nodelay",
    title="Delayed-ACK stall: {stalls:,} messages were held back for about {median_ms:g} ms",
    why="The sender waits for an acknowledgment (Nagle), and the receiver holds it back in the hope of sending it along.",
    find=find,
)
