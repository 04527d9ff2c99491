"""Statements in a result, the costliest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from latpcap.display import finite
from latpcap.measures.statements import StatementGroups

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
    response_ms: dict[str, float | None]
    delta_ms: dict[str, float | None]


def statement_results(groups: StatementGroups) -> Iterator[StatementResult]:
    """The statements, the costliest first."""
    for row in range(len(groups)):
        yield StatementResult(
            fingerprint=groups.fingerprint[row],
            text=groups.text[row],
            protocol=groups.protocol[row],
            executions=int(groups.executions[row]),
            exchanges=int(groups.exchanges[row]),
            round_trips=int(groups.round_trips[row]),
            rows=groups.rows[row],
            affected_rows=groups.affected_rows[row],
            request_bytes=int(groups.request_bytes[row]),
            response_bytes=int(groups.response_bytes[row]),
            network_s=float(groups.network_s[row]),
            service_s=float(groups.service_s[row]),
            response_ms={name: finite(values[row]) for name, values in groups.response_ms.items()},
            delta_ms={name: finite(values[row]) for name, values in groups.delta_ms.items()},
        )
