"""Statements in a result, the costliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.statements import TIMES, StatementGroups
from latpcap.result.rows import objects, ratios
from latpcap.tables.columns import Column
from latpcap.tables.recording import MISSING
from latpcap.tables.times import iso

__all__ = ["StatementResult", "statement_results"]


class StatementResult(Struct, frozen=True):
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
    share: float | None
    """Of what all statements waited for network and server, 0 to 1."""
    cumulative_share: float | None
    """The same together with those before it in the list."""
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


def statement_results(groups: StatementGroups, start_ns: int) -> Iterator[StatementResult]:
    """The statements, the costliest first; times of `groups` count from `start_ns`."""
    cost = groups.network_s + groups.service_s
    reached, whole = np.cumsum(cost), float(cost.sum())
    first_seen, last_seen = (_moments(times, start_ns) for times in (groups.first_seen, groups.last_seen))
    rows = np.array([count or 0 for count in groups.rows], float)
    trips = groups.round_trips
    values: dict[str, Iterable[Any]] = {
        **{name: getattr(groups, name) for name in ("fingerprint", "text", "protocol", "rows", "affected_rows")},
        **{name: getattr(groups, name).tolist() for name in ("executions", "exchanges", "round_trips")},
        **{name: getattr(groups, name).tolist() for name in ("request_bytes", "response_bytes")},
        **{name: getattr(groups, name).tolist() for name in ("network_s", "service_s")},
        "share": ratios(cost, np.full(len(cost), whole)),
        "cumulative_share": ratios(reached, np.full(len(cost), whole)),
        "round_trips_per_execution": ratios(trips, groups.executions),
        "round_trips_per_row": ratios(trips, rows),
        "request_bytes_per_round_trip": ratios(groups.request_bytes, trips),
        "response_bytes_per_round_trip": ratios(groups.response_bytes, trips),
        **{times: objects(getattr(groups, times)) for times in TIMES},
        "first_seen": first_seen,
        "last_seen": last_seen,
    }
    return map(StatementResult, *(values[name] for name in StatementResult.__struct_fields__))


def _moments(times: NDArray[np.int64], start_ns: int) -> list[str | None]:
    """Times of a recording as timestamps."""
    known = times != MISSING
    return iso(Column(np.where(known, times, 0) + start_ns, known))
