"""Counts what the capture has in part only, and of how much no finding can therefore be told or excluded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from latpcap.findings.evidence import Evidence
from latpcap.findings.overlap import Claimed
from latpcap.findings.patterns.connect_per_query import MIN_CONNECTIONS
from latpcap.findings.patterns.n_plus_one import doubtful_repeats
from latpcap.tables.connections import MISSING
from latpcap.units import counted, listed

MAX_SHARE = 0.1
"""The share of the round trips up to which what is unknown leaves room for saying that there is no finding."""


class Unjudged(Struct, frozen=True):
    """What was captured in part, and what cannot be told for that."""

    exchanges: int
    """Exchanges of which a packet is missing."""
    of: int
    """All exchanges that the client waited for."""
    connections: int
    """Connections whose login was captured, and not their TCP handshake."""
    round_trips: int
    """Those in no finding whose statement, parameters or rows are not known, so that they may be needless."""
    share: float
    """Of the round trips."""
    cut: bool
    """The snap length cut packets."""

    @property
    def is_much(self) -> bool:
        """Whether that nothing was found does not mean that nothing is there."""
        return self.share > MAX_SHARE

    @property
    def text(self) -> str:
        """What was captured in part, in words."""
        if self.cut:
            return "rows were cut (snap length)"
        parts = (
            [f"{self.exchanges:,} of {counted(self.of, 'exchange')}"] if self.exchanges or not self.connections else []
        )
        parts += [counted(self.connections, "TCP handshake")] if self.connections else []
        was = "was" if self.exchanges + self.connections == 1 else "were"
        return f"{listed(parts)} {was} captured in part"


def unjudged(evidence: Evidence, claimed: Sequence[Claimed]) -> Unjudged | None:
    """Count what is unknown beside what was `claimed`; `None` where all was captured."""
    exchanges, recording = evidence.exchanges, evidence.recording
    clear = ~recording.timing_only[exchanges.connection] & evidence.waits
    in_part = int(np.count_nonzero(clear & ~exchanges.complete))
    opened = recording.connections.syn == MISSING
    opened[opened] = np.isin(np.flatnonzero(opened), exchanges.connection[exchanges.is_setup])
    late = int(np.count_nonzero(opened & ~recording.timing_only))
    unknown = clear & evidence.is_unjudged
    unknown[doubtful_repeats(evidence)] = True
    if len(opened) >= MIN_CONNECTIONS:  # one more of them may be opened without need
        unknown |= clear & evidence.is_opening & opened[exchanges.connection]
    for pattern, candidate in claimed:
        if not pattern.suggestion:
            unknown[candidate.effect.rows] = False
    trips = int(exchanges.round_trips.sum(where=unknown))
    if not in_part + late + trips:
        return None
    return Unjudged(
        exchanges=in_part,
        of=int(np.count_nonzero(clear)),
        connections=late,
        round_trips=trips,
        share=trips / max(int(exchanges.round_trips.sum(where=clear)), 1),
        cut=evidence.are_rows_cut,
    )
