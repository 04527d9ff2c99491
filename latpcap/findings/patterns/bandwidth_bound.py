"""Bandwidth bound: moving bytes dominates, so fewer round trips hardly help."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.dominant_part import dominated_by
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern
from latpcap.measures.windows import held_back
from latpcap.tables.connections import MISSING
from latpcap.units import format_bandwidth

FIX = (
    "Transfer fewer bytes: select only the columns that are needed, filter and aggregate on the server, compress the "
    "protocol."
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
    if held_back(evidence.recording, evidence.rtt, evidence.timeline.job).total.sum() > spread.sum() / 2:
        return iter(())  # no bandwidth helps
    seconds = max(evidence.timeline.budget.transfer_s, 1e-9)
    sent_again_s = float(spread.sum(where=exchanges.retransmissions > 0)) / 1e9  # may have waited for the copy
    return dominated_by(evidence, "transfer_s", spread, FIX, sent_again_s, **_rate(sent * 8 / seconds))


def _rate(bits_per_s: float) -> dict[str, object]:
    return {"mbit_per_s": round(bits_per_s / 1e6, 1), "rate": format_bandwidth(float(f"{bits_per_s:.3g}"))}


PATTERN = Pattern(
    code="bandwidth-bound",
    fix="",
    title="Transferring data takes {share_of_runtime:.0%} of the time{without}, at {rate}",
    why="The client waits for bytes in transit, not for the first byte of a response.",
    find=find,
    rule="transfer takes half of the time, and 100 kB or more crossed the wire; not if a receive window causes half of "
    "it",
    example="A report reads 400 MB of rows in a few round trips.",
    is_not="an effect of the RTT, unless a window limits the transfer (`window-bound`).",
    fixes={"": FIX},
)
