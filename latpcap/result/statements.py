"""Statements in a result, sorted by cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.display import ShortRepr
from latpcap.measures.statements import TIMES, StatementGroups
from latpcap.tables.columnar.values import Fractions, Numbers, Rows, Times, Values
from latpcap.tables.connections import MISSING


class StatementResult(ShortRepr, Struct, frozen=True):
    """One statement, or one command that serves none; response and delta times are those of its executions."""

    fingerprint: str | None
    text: str
    protocol: str
    executions: int
    exchanges: int
    round_trips: int
    rows: int | None
    affected_rows: int | None
    request_bytes: int
    response_bytes: int
    network_s: float
    service_s: float
    loss_s: float
    """Time that retransmissions added; no part of the share."""
    share: float | None
    """The share of all statements' waits for network and server, 0 to 1."""
    cumulative_share: float | None
    """The share of this one and those before it in the list."""
    round_trips_per_execution: float | None
    round_trips_per_row: float | None
    request_bytes_per_round_trip: float | None
    response_bytes_per_round_trip: float | None
    response_ms: dict[str, float | None]
    delta_ms: dict[str, float | None]
    client_ms: dict[str, float | None]
    request_spread_ms: dict[str, float | None]
    response_spread_ms: dict[str, float | None]
    first_seen: str | None
    last_seen: str | None


def statement_results(groups: StatementGroups, start_ns: int) -> Rows[StatementResult]:
    """The statements, sorted by cost; times of `groups` count from `start_ns`."""
    cost = groups.network_s + groups.service_s
    reached, whole = np.cumsum(cost), np.full(len(cost), float(cost.sum()))
    trips = groups.round_trips
    values: dict[str, Values[Any]] = {
        **{name: getattr(groups, name) for name in ("fingerprint", "text", "protocol", "rows", "affected_rows")},
        **{name: Numbers(getattr(groups, name)) for name in ("executions", "exchanges", "round_trips")},
        **{name: Numbers(getattr(groups, name)) for name in ("request_bytes", "response_bytes")},
        **{name: Fractions(getattr(groups, name)) for name in ("network_s", "service_s", "loss_s")},
        "share": ratios(cost, whole),
        "cumulative_share": ratios(reached, whole),
        "round_trips_per_execution": ratios(trips, groups.executions),
        "round_trips_per_row": ratios(trips, groups.rows.values),
        "request_bytes_per_round_trip": ratios(groups.request_bytes, trips),
        "response_bytes_per_round_trip": ratios(groups.response_bytes, trips),
        **{times: quantiles_of(getattr(groups, times)) for times in TIMES},
        **{seen: _moments(getattr(groups, seen), start_ns) for seen in ("first_seen", "last_seen")},
    }
    return Rows({name: values[name] for name in StatementResult.__struct_fields__}, StatementResult)


def _moments(times: NDArray[np.int64], start_ns: int) -> Times:
    """Times of a recording as timestamps."""
    known = times != MISSING
    return Times(np.where(known, times, 0) + start_ns, known)


def ratios(totals: NDArray[Any], divisors: NDArray[Any]) -> Fractions:
    """Each total for one of its divisor; `None` where there is none.

    >>> list(ratios(np.array([30, 30]), np.array([10, 0])))
    [3.0, None]
    """
    found = np.full(len(totals), np.nan)
    np.divide(totals, divisors, out=found, where=np.asarray(divisors) > 0)
    return Fractions(found)


def quantiles_of(times: Mapping[str, NDArray[np.float64]]) -> Rows[dict[str, float | None]]:
    """Each row as an object: a time by the name of its column."""
    return Rows({name: Fractions(values) for name, values in times.items()}, dict)
