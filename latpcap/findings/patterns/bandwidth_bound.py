"""Bandwidth bound: moving bytes dominates, so fewer round trips hardly help."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.dominant_part import dominated_by
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern
from latpcap.measures.windows import held_back
from latpcap.tables.connections import MISSING

FIX = (
    "Move fewer bytes: name the columns, filter and aggregate at the server, compress the protocol. "
    "More bandwidth helps only where the link is full."
)


MIN_BYTES = 100_000


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording at most."""
    exchanges = evidence.exchanges
    sent = float((exchanges.request_wire_bytes + exchanges.response_wire_bytes).sum())
    if sent < MIN_BYTES:
        return iter(())
    spread = np.where(exchanges.response == MISSING, 0, exchanges.response_end - exchanges.response).astype(float)
    spread -= np.minimum(evidence.timeline.timers.inside, spread)
    if held_back(evidence.recording, evidence.rtt, evidence.timeline.job.windows).total.sum() > spread.sum() / 2:
        return iter(())  # no bandwidth helps
    seconds = max(evidence.timeline.budget.transfer_s, 1e-9)
    rate = sent * 8 / seconds / 1e6
    sent_again_s = float(spread.sum(where=exchanges.retransmissions > 0)) / 1e9  # may have waited for the copy
    return dominated_by(evidence, "transfer_s", spread, FIX, sent_again_s, mbit_per_s=round(rate, 1))


PATTERN = Pattern(
    code="bandwidth-bound",
    fix="",
    title="Moving data takes {share_of_runtime:.0%} of the time{without}, at {mbit_per_s:,g} Mbit/s",
    why="The client waits for bytes in transit, not for the first byte of a response.",
    find=find,
    rule="transfer is half of the time, and 100 kB were moved on the wire; not where a window holds half of it back",
    example="A report reads 400 MB of rows in a few round trips.",
    is_not="a matter of the RTT, as long as no window limits the transfer (`window-bound`).",
    fixes={"": FIX},
)
