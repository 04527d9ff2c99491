"""When the RTT of paths changed, and the phases that cuts their connections into: one each, where nothing changed."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from latpcap.tables.columnar.columns import Ints


class ChangeEvidence(IntEnum):
    """The evidence that a path changed, and not the server."""

    MEASURED = 0
    ANSWERS = 1
    CLOCKS = 2
    STATEMENTS = 3


SHOWN_TEXTS = {
    ChangeEvidence.MEASURED: "TCP handshakes and data ACKs before and after",
    ChangeEvidence.ANSWERS: "responses that were faster, before or after, than the RTT measured at the other time",
    ChangeEvidence.CLOCKS: "responses and TCP timestamps: it was the path, not the server",
    ChangeEvidence.STATEMENTS: "responses to different statements, all longer by the same amount: server work would "
    "differ",
}


class PathChanges(Struct, frozen=True):
    """When which path changed, in the order of path and time."""

    path: Ints
    time: Ints
    """From then on another RTT, in ns since the recording began."""
    shown: Ints
    """The evidence for each."""
    first: Ints
    """The first period of each path, and the number of all periods."""
    begin_of_period: Ints
    """When each period begins; `MISSING` for the first of a path."""

    def shown_text(self, index: int) -> str:
        """The evidence for a change, in words."""
        return SHOWN_TEXTS[ChangeEvidence(self.shown[index])]

    def __len__(self) -> int:
        return len(self.path)


class Phases(Struct, frozen=True):
    """The phases of connections, in the order of connection and time."""

    changes: PathChanges
    opening: Ints
    """The first phase of each connection."""
    closing: Ints
    """The last one."""
    period: Ints
    """The period of its path for each phase."""
    connection: Ints
    """The connection of each phase."""

    def __len__(self) -> int:
        return len(self.period)
