"""Totals by statement: what each fingerprint cost, whatever served it (prepare, execute, fetch, close).

Exchanges without a statement (connect, ping, commit) are grouped under their command's name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.measures.budget import Timeline
from latpcap.tables.columns import Column, take
from latpcap.tables.quantiles import Grouped
from latpcap.tables.recording import MISSING, Exchanges, Recording

__all__ = ["StatementGroups", "group"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

RESPONSE_QUANTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}
DELTA_QUANTILES = {"p50": 0.50, "p95": 0.95, "max": 1.0}


@dataclass(frozen=True, slots=True)
class StatementGroups:
    """One entry a statement or command, the costliest first. Seconds are shared ones: they sum to the budget's."""

    fingerprint: list[str | None]
    """The statement; `None` where the group is a command."""
    text: list[str]
    """The first text that was executed (with its literals where they are shown), or the command's name."""
    protocol: list[str]
    executions: Ints
    exchanges: Ints
    round_trips: Ints
    rows: list[int | None]
    affected_rows: list[int | None]
    request_bytes: Ints
    response_bytes: Ints
    network_s: Floats
    service_s: Floats
    response_ms: dict[str, Floats]
    """First packet of the request → last packet of the response; NaN where there is none."""
    delta_ms: dict[str, Floats]
    """Start of the previous request on the connection → start of this one."""
    of_exchange: Ints
    """The entry that each exchange belongs to."""

    def __len__(self) -> int:
        return len(self.text)


def group(recording: Recording, timeline: Timeline) -> StatementGroups:
    """Sum up the exchanges of `recording` by statement."""
    exchanges = recording.exchanges
    protocols = sorted(set(recording.connections.protocol))
    of_connection = np.array([protocols.index(name) for name in recording.connections.protocol], np.int64)
    keys = _keys(exchanges, of_connection[exchanges.connection], len(protocols))
    present, groups = _number(keys)
    count = len(present)

    def total(values: NDArray[np.generic]) -> Floats:
        return np.bincount(groups, values, count).astype(float)

    network, service = total(timeline.network_ns) / 1e9, total(timeline.service_ns) / 1e9
    executed = exchanges.is_execution
    timed = executed | (total(executed) == 0)[groups]
    order = np.argsort(-(network + service), kind="stable")
    first = _first_rows(groups, count)[order]
    fingerprint = take(recording.statement_texts, exchanges.fingerprint[first]).to_pylist()
    text = take(recording.statement_texts, exchanges.text[first]).to_pylist()
    command = [exchanges.command.names[code] for code in exchanges.command.codes[first]]
    return StatementGroups(
        fingerprint=list(fingerprint),
        text=[shown or statement or name for shown, statement, name in zip(text, fingerprint, command, strict=True)],
        protocol=[recording.connections.protocol[connection] for connection in exchanges.connection[first]],
        executions=total(executed).astype(np.int64)[order],
        exchanges=np.bincount(groups, minlength=count)[order],
        round_trips=total(exchanges.round_trips).astype(np.int64)[order],
        rows=_sums(groups, exchanges.rows, count, order),
        affected_rows=_sums(groups, exchanges.affected_rows, count, order),
        request_bytes=total(exchanges.request_bytes).astype(np.int64)[order],
        response_bytes=total(exchanges.response_bytes).astype(np.int64)[order],
        network_s=network[order],
        service_s=service[order],
        response_ms=_quantiles(groups, response_ns(exchanges), timed, count, order, RESPONSE_QUANTILES),
        delta_ms=_quantiles(groups, exchanges.delta, timed, count, order, DELTA_QUANTILES),
        of_exchange=np.argsort(order, kind="stable")[groups],
    )


def response_ns(exchanges: Exchanges) -> Ints:
    """APDU response time: first packet of the request → last of the response; `MISSING` unless both are whole."""
    whole = exchanges.complete & (exchanges.request != MISSING) & (exchanges.response_end != MISSING)
    return np.where(whole, exchanges.response_end - exchanges.request, MISSING)


def _keys(exchanges: Exchanges, protocol: Ints, protocols: int) -> Ints:
    """One number for each group: commands first (by code), then statements (by id), each times the protocols."""
    commands = len(exchanges.command.names)
    kind = np.where(exchanges.fingerprint >= 0, exchanges.fingerprint + commands, exchanges.command.codes)
    return kind * protocols + protocol


def _number(keys: Ints) -> tuple[Ints, Ints]:
    """The keys that occur, in ascending order, and the index of each row's key among them."""
    occurs = np.bincount(keys) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[keys] if len(keys) else keys


def _first_rows(groups: Ints, count: int) -> Ints:
    """The first row of each group."""
    first = np.zeros(count, np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]
    return first


def _sums(groups: Ints, values: Column, count: int, order: Ints) -> list[int | None]:
    """The sum of each group; `None` where no exchange of it has a number."""
    sums = np.bincount(groups, values.ints(0), count)[order]
    known = np.bincount(groups, values.is_valid(), count)[order] > 0
    return [int(total) if valid else None for total, valid in zip(sums, known, strict=True)]


def _quantiles(
    groups: Ints, values: Ints, wanted: NDArray[np.bool_], count: int, order: Ints, quantiles: dict[str, float]
) -> dict[str, Floats]:
    usable = wanted & (values >= 0)
    grouped = Grouped.of(groups[usable], values[usable], count)
    return {name: grouped.quantile(fraction)[order] / 1e6 for name, fraction in quantiles.items()}
