"""Counts what the capture has in part only, and of how much no finding can therefore be told or excluded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from latpcap.findings.evidence import Evidence
from latpcap.findings.overlap import Claimed
from latpcap.findings.patterns.connect_per_query import MIN_CONNECTIONS
from latpcap.findings.patterns.n_plus_one import doubtful_repeats
from latpcap.measures.timing_only import OPAQUE, part_of, timing_only
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording
from latpcap.units import counted, listed

MAX_SHARE = 0.1
"""The share of the round trips up to which what is unknown leaves room for saying that there is no finding."""


class Unjudged(Struct, frozen=True):
    """Counts of exchanges captured in part, and of round trips that cannot be judged because of it."""

    exchanges: int
    """Exchanges of which a packet is missing."""
    of: int
    """All exchanges that the client waited for."""
    connections: int
    """Connections of whose TCP handshake or login a packet is missing."""
    round_trips: int
    """Round trips in no finding that may be needless, as their statement, parameters or rows are unknown."""
    share: float
    """`round_trips` as a part of all round trips."""
    cut: bool
    """The snap length cut packets."""
    hidden: str = ""
    """Which connections hide their statements, in words."""

    @property
    def is_only_hidden(self) -> bool:
        """Whether no packet is missing or cut: what is unknown is encrypted."""
        return bool(self.hidden) and not (self.exchanges or self.connections or self.cut)

    @property
    def is_much(self) -> bool:
        """Whether that nothing was found does not mean that nothing is there."""
        return self.share > MAX_SHARE

    @property
    def text(self) -> str:
        """A sentence part that names how much was lost, cut or is encrypted."""
        if self.is_only_hidden:
            return self.hidden
        lost = "the snap length cut rows" if self.cut else self._in_part
        return f"{lost}, and {self.hidden}" if self.hidden else lost

    @property
    def _in_part(self) -> str:
        parts = (
            [f"{self.exchanges:,} of {counted(self.of, 'exchange')}"] if self.exchanges or not self.connections else []
        )
        parts += [counted(self.connections, "connection opening")] if self.connections else []
        was = "was" if self.exchanges + self.connections == 1 else "were"
        return f"{listed(parts)} {was} captured in part"


def unjudged(evidence: Evidence, claimed: Sequence[Claimed]) -> Unjudged | None:
    """Count what is unknown beside what was `claimed`; `None` where all was captured and read."""
    exchanges, recording = evidence.exchanges, evidence.recording
    timed = recording.timing_only[exchanges.connection]
    clear = ~timed & evidence.waits
    in_part = int(np.count_nonzero(clear & ~exchanges.complete))
    opened = _opened_in_part(evidence)
    late = int(np.count_nonzero(opened & ~recording.timing_only))
    unread = timed & evidence.is_unread
    unknown = (clear & evidence.is_unjudged) | unread
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
        of=int(np.count_nonzero(evidence.waits)),
        connections=late,
        round_trips=trips,
        share=trips / max(int(exchanges.round_trips.sum(where=evidence.waits)), 1),
        cut=evidence.are_rows_cut,
        hidden=_hidden(recording) if unread.any() else "",
    )


def _opened_in_part(evidence: Evidence) -> Bools:
    """Return of which connections the TCP handshake was lost and not the login, or the login and not the handshake."""
    exchanges, connections = evidence.exchanges, evidence.recording.connections
    shaken = (connections.syn != MISSING) & (connections.syn_ack != MISSING)
    logged_in, worked = (
        np.bincount(exchanges.connection[which], minlength=len(connections)) > 0
        for which in (exchanges.is_setup, evidence.waits)
    )
    lost = evidence.recording.connection_column("lost_bytes").ints(0) > 0
    return np.asarray((logged_in & ~shaken) | (shaken & ~logged_in & worked & lost), bool)


def _hidden(recording: Recording) -> str:
    """Say which connections hide their statements."""
    hidden = timing_only(recording)
    if hidden is None:
        return ""
    encrypted = "is encrypted" if hidden.connections == 1 else "are encrypted"
    return f"{part_of(hidden.connections, hidden.of)} {'cannot be read' if OPAQUE in hidden.kinds else encrypted}"
