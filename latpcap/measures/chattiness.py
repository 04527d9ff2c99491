"""Chattiness: how many round trips the application makes for what it gets done (docs/design.md, *Chattiness*).

A round trip is what network analysts call an application turn: the client asks, and waits for the answer before it goes
on. All are plain ratios; none is rated, since no source says from which figure on an application is too chatty.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.transactions import transactions
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.quantiles import GroupedValues, quantiles
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording

PACE_QUANTILES = {"p50": 0.50, "p95": 0.95, "max": 1.0}
"""The quantiles of inter-query deltas and client times."""

BESIDE_STATEMENTS = frozenset({"begin", "end", "session", "ping", "fetch"})
"""Kinds of SQL that do no work of the application by themselves."""

SUMS = (
    *("round_trips", "readable_round_trips", "transactions", "transaction_round_trips", "statements_outside"),
    *("rows", "request_bytes", "response_bytes", "network_s"),
)
"""Figures that add up over connections."""


class ChattinessGroups(Struct, frozen=True):
    """The figures behind the ratios, one entry a connection, or one for the whole recording."""

    duration_s: Floats
    """How much of the runtime was recorded, or from the first packet of a connection to its last."""
    round_trips: Ints
    readable_round_trips: Ints
    """The round trips of requests that could be read: what was encrypted returns rows that nobody can count."""
    transactions: Ints
    transaction_round_trips: Ints
    """Begins and ends included."""
    statements_outside: Ints
    """Statements outside of transactions: each is committed by itself."""
    rows: Ints
    """Rows that came back, as far as responses tell."""
    request_bytes: Ints
    response_bytes: Ints
    network_s: Floats
    """Shared seconds: those of connections that work side by side add up to the budget's."""
    delta_ms: dict[str, Floats]
    """Start of a request → start of the next; set-up excepted. NaN where there is none."""
    client_ms: dict[str, Floats]
    """End of a response → start of the next request, likewise."""


def by_connection(recording: Recording, network_ns: NDArray[np.generic]) -> ChattinessGroups:
    """The figures of each database connection."""
    connections, exchanges = recording.connections, recording.exchanges
    groups, count = exchanges.connection, len(connections)
    told = transactions(recording)
    inside = told.of_exchange >= 0

    def total(values: NDArray[np.generic]) -> Ints:
        return passes.sums(groups, values, count)[0]

    def trips(of: Bools) -> Ints:
        return total(np.where(of, exchanges.round_trips, 0))

    return ChattinessGroups(
        duration_s=np.maximum(connections.end - connections.start, 0) / 1e9,
        round_trips=total(exchanges.round_trips),
        readable_round_trips=trips(~exchanges.is_for("unreadable")),
        transactions=np.bincount(told.connection, minlength=count),
        transaction_round_trips=trips(inside),
        statements_outside=total(_works(exchanges) & ~inside),
        rows=total(exchanges.rows.ints(0)),
        request_bytes=total(exchanges.request_bytes),
        response_bytes=total(exchanges.response_bytes),
        network_s=np.bincount(groups, network_ns, count) / 1e9,
        delta_ms=_pace(exchanges, exchanges.delta, groups, count),
        client_ms=_pace(exchanges, exchanges.client, groups, count),
    )


def overall(recording: Recording, connections: ChattinessGroups) -> ChattinessGroups:
    """The figures of the recording from those of its `connections`: one entry."""
    exchanges = recording.exchanges
    sums = {name: getattr(connections, name).sum(keepdims=True) for name in SUMS}
    return ChattinessGroups(
        duration_s=np.array([recording.recorded_s]),
        delta_ms=_pace_of_all(exchanges, exchanges.delta),
        client_ms=_pace_of_all(exchanges, exchanges.client),
        **sums,
    )


def _works(exchanges: Exchanges) -> Bools:
    """Runs a statement of the application: no transaction, session or cursor command."""
    works: Bools = exchanges.is_execution & ~exchanges.kind.where(BESIDE_STATEMENTS.__contains__)
    return works


def _pace(exchanges: Exchanges, spans: Ints, groups: Ints, count: int) -> dict[str, Floats]:
    grouped = GroupedValues.of(groups, spans, count, _has_pace(exchanges, spans))
    return {name: grouped.quantile(fraction) / 1e6 for name, fraction in PACE_QUANTILES.items()}


def _pace_of_all(exchanges: Exchanges, spans: Ints) -> dict[str, Floats]:
    found = quantiles(spans[_has_pace(exchanges, spans)], list(PACE_QUANTILES.values()))
    return {name: np.array([value / 1e6]) for name, value in zip(PACE_QUANTILES, found, strict=True)}


def _has_pace(exchanges: Exchanges, spans: Ints) -> Bools:
    """Whether requests have a pace; those that open a connection have none."""
    has: Bools = ~exchanges.is_setup & (spans >= 0)
    return has
