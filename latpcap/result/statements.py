"""Statements in a result, the costliest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.display import finite
from latpcap.measures.statements import TIMES, StatementGroups
from latpcap.result.chattiness import ratio
from latpcap.tables.columns import Column
from latpcap.tables.recording import MISSING
from latpcap.tables.times import iso

__all__ = ["StatementResult", "statement_results"]


@dataclass(frozen=True, slots=True)
class StatementResult:
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
    for row in range(len(groups)):
        executions, trips, rows = int(groups.executions[row]), int(groups.round_trips[row]), groups.rows[row]
        request_bytes, response_bytes = int(groups.request_bytes[row]), int(groups.response_bytes[row])
        yield StatementResult(
            fingerprint=groups.fingerprint[row],
            text=groups.text[row],
            protocol=groups.protocol[row],
            executions=executions,
            exchanges=int(groups.exchanges[row]),
            round_trips=trips,
            rows=rows,
            affected_rows=groups.affected_rows[row],
            request_bytes=request_bytes,
            response_bytes=response_bytes,
            network_s=float(groups.network_s[row]),
            service_s=float(groups.service_s[row]),
            share=ratio(float(cost[row]), whole),
            cumulative_share=ratio(float(reached[row]), whole),
            round_trips_per_execution=ratio(trips, executions),
            round_trips_per_row=ratio(trips, rows or 0),
            request_bytes_per_round_trip=ratio(request_bytes, trips),
            response_bytes_per_round_trip=ratio(response_bytes, trips),
            **{
                times: {name: finite(values[row]) for name, values in getattr(groups, times).items()} for times in TIMES
            },
            first_seen=first_seen[row],
            last_seen=last_seen[row],
        )


def _moments(times: NDArray[np.int64], start_ns: int) -> list[str | None]:
    """Times of a recording as timestamps."""
    known = times != MISSING
    return iso(Column(np.where(known, times, 0) + start_ns, known))
