"""The cost of connecting: the TCP handshake, TLS and authentication, connection by connection.

Counted is what comes before a connection's first statement; where authentication is encrypted and could not be read, it
is told by what the decoders take for it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.measures.timing_only import part_of
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.quantiles import quantiles
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording
from latpcap.units import counted, format_ms


class Connect(Struct, frozen=True):
    """One entry a connection; NaN (and 0 round trips) where its beginning was not captured."""

    total_ms: Floats
    """SYN → the end of its last step before the first statement."""
    tcp_ms: Floats
    greeting_ms: Floats
    """From the end of the TCP handshake on; NaN where the client speaks first."""
    tls_ms: Floats
    """The steps of TLS that are exchanges of their own; NaN where there is none."""
    authentication_ms: Floats
    """The steps of authentication that are exchanges of their own; NaN where there are none."""
    round_trips: Ints
    """All waits: TCP handshake, greeting, TLS, authentication."""


class Connecting(Struct, frozen=True):
    """The medians of all connections whose beginning was captured."""

    connections: int
    round_trips: int
    connect_ms: float
    tcp_ms: float
    greeting_ms: float | None
    """`None` where no server speaks first."""
    tls_ms: float | None
    """`None` where no connection speaks TLS."""
    tls_connections: int
    """The connections that speak it."""
    authentication_ms: float | None

    @property
    def text(self) -> str:
        """Describe it in words; empty where nothing is encrypted.

        >>> Connecting(3, 5, 6.25, 1.0, None, 2.5, 3, None).text
        'The median connection set-up takes 5 round trips and 6.25 ms, of which TCP 1.00 ms, TLS 2.50 ms.'
        >>> Connecting(9, 3, 3.5, 1.0, 1.5, 12.0, 2, 0.5).text.partition("of which ")[2]
        'TCP 1.00 ms, greeting 1.50 ms, TLS (2 of 9 connections) 12.0 ms, authentication 0.500 ms.'
        """
        if self.tls_ms is None:
            return ""
        all_of_them = self.tls_connections == self.connections
        tls = "TLS" if all_of_them else f"TLS ({part_of(self.tls_connections, self.connections)})"
        parts = {"TCP": self.tcp_ms, "greeting": self.greeting_ms, tls: self.tls_ms}
        parts["authentication"] = self.authentication_ms
        told = ", ".join(f"{name} {format_ms(value)}" for name, value in parts.items() if value is not None)
        trips = counted(self.round_trips, "round trip")
        whose = "Connection" if self.connections == 1 else "The median connection"
        return f"{whose} set-up takes {trips} and {format_ms(self.connect_ms)}, of which {told}."


def connect(recording: Recording) -> Connect:
    """The time that each connection took to connect."""
    connections, exchanges = recording.connections, recording.exchanges
    count, rows = len(connections), _first_steps(recording)
    whose, ends = exchanges.connection[rows], exchanges.response_end[rows]
    asked = exchanges.request[rows]
    is_whole = (asked != MISSING) & (ends != MISSING) & (ends >= asked)  # a clock that was set back tells no time
    is_tls = exchanges.command.picked(rows).where("tls".__eq__)
    took_ms = np.where(is_whole, ends - asked, 0) / 1e6
    seen = (connections.syn != MISSING) & (connections.syn_ack != MISSING)
    answered = np.where(connections.ack != MISSING, connections.ack, connections.syn_ack)
    seen &= answered >= connections.syn
    last = answered.copy()
    np.maximum.at(last, whose, np.maximum(ends, exchanges.request_end[rows]))

    def total(of: Bools) -> Floats:
        there = np.bincount(whose[of], minlength=count) > 0
        return np.where(there & seen, np.bincount(whose[of], took_ms[of], count), np.nan)

    trips = np.bincount(whose, exchanges.round_trips[rows], count).astype(np.int64)
    greeted = (connections.server_first & seen)[whose] & exchanges.is_first[rows]
    greeted &= (asked == MISSING) & (ends >= answered[whose])
    greeting = np.full(count, np.nan)
    greeting[whose[greeted]] = (ends[greeted] - answered[whose[greeted]]) / 1e6
    return Connect(
        total_ms=np.where(seen, (last - connections.syn) / 1e6, np.nan),
        tcp_ms=np.where(seen, (answered - connections.syn) / 1e6, np.nan),
        greeting_ms=greeting,
        tls_ms=total(is_whole & is_tls),
        authentication_ms=total(is_whole & ~is_tls),
        round_trips=np.where(seen, trips + 1 + connections.server_first, 0),
    )


def connecting(recording: Recording) -> Connecting | None:
    """The typical connection; `None` where the beginning of no connection was captured."""
    each = connect(recording)
    seen = ~np.isnan(each.total_ms)
    if not seen.any():
        return None
    return Connecting(
        connections=int(np.count_nonzero(seen)),
        round_trips=int(quantiles(each.round_trips[seen], [0.5])[0]),
        connect_ms=_median(each.total_ms) or 0.0,
        tcp_ms=_median(each.tcp_ms) or 0.0,
        greeting_ms=_median(each.greeting_ms),
        tls_ms=_median(each.tls_ms),
        tls_connections=int(np.count_nonzero(~np.isnan(each.tls_ms))),
        authentication_ms=_median(each.authentication_ms),
    )


def _first_steps(recording: Recording) -> Ints:
    """The exchanges that open a connection, as far as nothing else came before them on it."""
    exchanges = recording.exchanges
    rows = np.flatnonzero(exchanges.is_setup)
    whose = exchanges.connection[rows]
    before = np.arange(len(rows)) - np.searchsorted(whose, whose)
    steps: Ints = rows[rows - np.searchsorted(exchanges.connection, whose) == before]
    return steps


def _median(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(quantiles(np.round(known * 1e6).astype(np.int64), [0.5])[0]) / 1e6 if len(known) else None
