"""Chattiness in a result: round trips for what was done with them, and the pace of the requests.

Each ratio is `None` where there is nothing to divide by: no transaction was told, no row came back, nothing waited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap.display import Displayed, ShortRepr
from latpcap.measures.chattiness import ChattinessGroups
from latpcap.measures.routes import RouteResult
from latpcap.result.statements import quantiles_of, ratios
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.columnar.values import Fractions, Numbers, Rows, Values


class ConnectionChattiness(ShortRepr, Struct, frozen=True):
    """Counts of what the round trips of a connection, or of all, were made for."""

    round_trips_per_s: float | None
    transactions: int
    transaction_round_trips: int
    """Round trips between the begin of a transaction and its end, these included."""
    round_trips_per_transaction: float | None
    statements_outside: int
    """Statements outside of transactions: each commits by itself."""
    rows: int
    """Rows that came back, as far as responses tell."""
    round_trips_per_row: float | None
    """Without the round trips that could not be read: what they brought is not known."""
    request_bytes_per_round_trip: float | None
    response_bytes_per_round_trip: float | None
    network_s: float | None
    network_share: float | None
    """The part of the recording's runtime that its round trips waited for the network; `None` where this is unknown."""
    delta_ms: dict[str, float | None]
    """Inter-query deltas: start of a request → start of the next on its connection."""
    client_ms: dict[str, float | None]
    """Client times: end of a response → start of the next request on its connection."""


class Chattiness(ConnectionChattiness, Displayed, frozen=True):
    """Counts of the whole recording, some of which only it has."""

    round_trips: int
    runtime_s: float
    recorded_s: float
    """The runtime without gaps between files: what the rate is of."""
    routes: int
    """Routes that statements name in sqlcommenter's tags."""
    route_round_trips: int
    round_trips_per_route: float | None
    tasks: int
    """A client's tasks, between idle gaps: `latpcap table tasks`."""
    round_trips_per_task: float | None


def ratio(total: float, divisor: float) -> float | None:
    """`total` for each one of `divisor`; `None` where there is none.

    >>> ratio(30, 10), ratio(30, 0)
    (3.0, None)
    """
    return total / divisor if divisor > 0 else None


def connection_chattiness(groups: ChattinessGroups, runtime_s: float, known: Bools) -> Rows[ConnectionChattiness]:
    """The figures of each connection; those of the network where it is `known`."""
    figures = _figures(groups, runtime_s, known)
    return Rows({name: figures[name] for name in ConnectionChattiness.__struct_fields__}, ConnectionChattiness)


def chattiness(
    groups: ChattinessGroups, runtime_s: float, network_share: float | None, routes: Sequence[RouteResult], tasks: int
) -> Chattiness:
    """The figures of the recording; its share of the network is that of the summary, TCP handshakes included."""
    figures = {name: values[0] for name, values in _figures(groups, 0.0, np.zeros(1, bool)).items()} | {
        "network_share": network_share,
        "network_s": None if network_share is None else network_share * runtime_s,
    }
    trips = sum(route.round_trips for route in routes)
    return Chattiness(
        **figures,
        round_trips=int(groups.round_trips[0]),
        runtime_s=runtime_s,
        recorded_s=float(groups.duration_s[0]),
        routes=len(routes),
        route_round_trips=trips,
        round_trips_per_route=ratio(trips, len(routes)),
        tasks=tasks,
        round_trips_per_task=ratio(int(groups.round_trips[0]), tasks),
    )


def _figures(groups: ChattinessGroups, runtime_s: float, known: Bools) -> dict[str, Values[Any]]:
    """The figures of each row by their names; those of the network where it is `known`."""
    trips, network_s = groups.round_trips, np.where(known, groups.network_s, np.nan)
    return {
        "round_trips_per_s": ratios(trips, groups.duration_s),
        "transactions": Numbers(groups.transactions),
        "transaction_round_trips": Numbers(groups.transaction_round_trips),
        "round_trips_per_transaction": ratios(groups.transaction_round_trips, groups.transactions),
        "statements_outside": Numbers(groups.statements_outside),
        "rows": Numbers(groups.rows),
        "round_trips_per_row": ratios(groups.readable_round_trips, groups.rows),
        "request_bytes_per_round_trip": ratios(groups.request_bytes, trips),
        "response_bytes_per_round_trip": ratios(groups.response_bytes, trips),
        "network_s": Fractions(network_s),
        "network_share": ratios(network_s, np.full(len(trips), runtime_s)),
        "delta_ms": quantiles_of(groups.delta_ms),
        "client_ms": quantiles_of(groups.client_ms),
    }
