"""Chattiness in a result: round trips for what was done with them, and the pace of the requests.

Each ratio is `None` where there is nothing to divide by: no transaction was told, no row came back, nothing waited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from latpcap.display import Displayed, finite
from latpcap.measures.chattiness import ChattinessGroups
from latpcap.measures.routes import RouteResult
from latpcap.units import format_ratio

__all__ = [
    "Chattiness",
    "ConnectionChattiness",
    "chattiness",
    "chattiness_in_words",
    "connection_chattiness",
    "ratio",
]

NOTABLE_SHARE = 0.1
"""Of the runtime; below it the verdict does not speak of chattiness."""


@dataclass(frozen=True, slots=True)
class ConnectionChattiness:
    """What the round trips of a connection, or of all of them, were made for."""

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


@dataclass(frozen=True, slots=True)
class Chattiness(ConnectionChattiness, Displayed):
    """The same of the whole recording, and what only that has."""

    round_trips: int
    runtime_s: float
    routes: int
    """Routes that statements name in sqlcommenter's tags."""
    route_round_trips: int
    round_trips_per_route: float | None
    tasks: int
    """What is done between two rests of a client: `latpcap tasks`."""
    round_trips_per_task: float | None


def ratio(total: float, divisor: float) -> float | None:
    """`total` for each one of `divisor`; `None` where there is none.

    >>> ratio(30, 10), ratio(30, 0)
    (3.0, None)
    """
    return total / divisor if divisor > 0 else None


def connection_chattiness(
    groups: ChattinessGroups, row: int, runtime_s: float, *, knows_network: bool
) -> ConnectionChattiness:
    """The figures of one connection."""
    return ConnectionChattiness(**_figures(groups, row, runtime_s if knows_network else None))  # type: ignore[arg-type]


def chattiness(
    groups: ChattinessGroups, network_share: float | None, routes: Sequence[RouteResult], tasks: int
) -> Chattiness:
    """The figures of the recording; its share of the network is that of the summary, TCP handshakes included."""
    runtime_s = float(groups.duration_s[0])
    figures = _figures(groups, 0, None) | {
        "network_share": network_share,
        "network_s": None if network_share is None else network_share * runtime_s,
    }
    trips = sum(route.round_trips for route in routes)
    return Chattiness(
        **figures,  # type: ignore[arg-type]
        round_trips=int(groups.round_trips[0]),
        runtime_s=runtime_s,
        routes=len(routes),
        route_round_trips=trips,
        round_trips_per_route=ratio(trips, len(routes)),
        tasks=tasks,
        round_trips_per_task=ratio(int(groups.round_trips[0]), tasks),
    )


def _figures(groups: ChattinessGroups, row: int, runtime_s: float | None) -> dict[str, object]:
    """Each figure by its name; without a runtime none of the network."""
    trips, transactions = int(groups.round_trips[row]), int(groups.transactions[row])
    in_transactions, rows = int(groups.transaction_round_trips[row]), int(groups.rows[row])
    network_s = float(groups.network_s[row])
    return {
        "round_trips_per_s": ratio(trips, float(groups.duration_s[row])),
        "transactions": transactions,
        "transaction_round_trips": in_transactions,
        "round_trips_per_transaction": ratio(in_transactions, transactions),
        "statements_outside": int(groups.statements_outside[row]),
        "rows": rows,
        "round_trips_per_row": ratio(int(groups.readable_round_trips[row]), rows),
        "request_bytes_per_round_trip": ratio(int(groups.request_bytes[row]), trips),
        "response_bytes_per_round_trip": ratio(int(groups.response_bytes[row]), trips),
        "network_s": None if runtime_s is None else network_s,
        "network_share": None if runtime_s is None else ratio(network_s, runtime_s),
        "delta_ms": {name: finite(values[row]) for name, values in groups.delta_ms.items()},
        "client_ms": {name: finite(values[row]) for name, values in groups.client_ms.items()},
    }


def chattiness_in_words(result: Chattiness) -> str:
    """One sentence for the verdict: nothing where the round trips take little time, or what they brought is unknown."""
    if result.network_share is None or result.network_share < NOTABLE_SHARE:
        return ""
    per_transaction, per_row = result.round_trips_per_transaction, result.round_trips_per_row
    mostly_transactions = 2 * result.transaction_round_trips > result.round_trips and result.transactions > 1
    if per_transaction and mostly_transactions:
        return f"A transaction takes {format_ratio(per_transaction)} round trips on average."
    if per_row is None or per_row >= 1:  # mostly writes, pings, fetches to the end: rows are not what they were for
        return ""
    return f"A round trip brings {format_ratio(1 / per_row)} rows on average."
