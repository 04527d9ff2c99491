"""TCP's figures of each connection besides its data: limits that the sides announced, and anomalies, counted."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from latpcap.display import ShortRepr
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.values import Fractions, Numbers, Rows, Values
from latpcap.tables.recording import Recording

MSS_BYTES = 1460
"""The payload of a segment on Ethernet."""
INITIAL_WINDOW_SEGMENTS = 10
"""Segments that a sender may send at once (RFC 6928); after them the window doubles every round trip."""

MISSING = -1


class TcpResult(ShortRepr, Struct, frozen=True):
    """One connection; counts are packets."""

    client_mss: int | None
    """The largest segment that the client takes, in bytes; null where its SYN was not captured."""
    server_mss: int | None
    client_window_bytes: int | None
    """The largest receive window that the client advertised; null where the SYNs with its scale are missing."""
    server_window_bytes: int | None
    client_packets: int
    server_packets: int
    data_packets: int
    """The packets of both that carry data, retransmissions included."""
    spurious_retransmissions: int
    """Retransmissions of data that had arrived, as acknowledgments show (D-SACK, echoed timestamps)."""
    duplicate_packets: int
    """Captured twice; in no other count."""
    cut_packets: int
    """Captured in part, because of the snap length."""
    offloaded_packets: int
    """Longer than the receiver's MSS."""
    reordered_packets: int
    duplicate_acks: int
    gaps: int
    """Holes that the capture never filled."""
    zero_windows: int
    timeouts: int
    """Silences that ended with a retransmission; where both sides waited for one loss it counts once."""
    timeout_ms: float
    stalls: int
    """Packets that waited for a delayed acknowledgment, and how long."""
    stalled_ms: float
    clock_steps: int


def tcp_results(recording: Recording) -> Rows[TcpResult]:
    """The database connections, in the order of their streams."""
    table, rows = recording.all_connections_table, recording.database_rows
    limits = ("client_mss", "server_mss", "client_window_bytes", "server_window_bytes")
    counts = (
        *("client_packets", "server_packets", "data_packets", "spurious_retransmissions"),
        *("duplicate_packets", "cut_packets", "offloaded_packets"),
        *("reordered_packets", "duplicate_acks", "gaps", "zero_windows", "timeouts", "stalls", "clock_steps"),
    )
    numbers = {
        name: columns.column(table, name).ints(MISSING)[rows] for name in (*limits, *counts, "timeout_ns", "stalled_ns")
    }
    values: dict[str, Values[Any]] = {
        **{name: Numbers(numbers[name], numbers[name] != MISSING) for name in limits},
        **{name: Numbers(numbers[name]) for name in counts},
        "timeout_ms": Fractions(numbers["timeout_ns"] / 1e6),
        "stalled_ms": Fractions(numbers["stalled_ns"] / 1e6),
    }
    return Rows({name: values[name] for name in TcpResult.__struct_fields__}, TcpResult)
