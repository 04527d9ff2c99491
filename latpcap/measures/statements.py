"""Totals by statement: what each fingerprint cost, whatever served it (prepare, execute, fetch, close).

Exchanges without a statement (connect, ping, commit) are grouped under their command's name. The same totals can be had
by user, database, client, application or server.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from arro3.core import Array, DataType
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.budget import BudgetTimeline
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import NullableArray, take
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.columnar.values import Names, Numbers
from latpcap.tables.connections import MISSING
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.part.groups import names_of
from latpcap.tables.recording import Recording

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

QUANTILES = {"min": 0.0, "p50": 0.50, "p95": 0.95, "p99": 0.99, "max": 1.0}
_PACE = ("p50", "p95", "max")
TIMES = {
    "response_ms": ("min", "avg", "stddev", "p50", "p95", "p99", "max"),
    "delta_ms": _PACE,
    "client_ms": _PACE,
    "request_spread_ms": _PACE,
    "response_spread_ms": _PACE,
}
"""The times of a statement, and what is told of each; `stddev` is that of the population."""


class StatementGroups(Struct, frozen=True):
    """One entry a statement or command, sorted by cost. Seconds are shared ones: they sum to the budget's."""

    fingerprint: Names
    """The statement; `None` where the group is a command."""
    text: Names
    """The first text that was executed (with its literals where they are shown), or the command's name."""
    protocol: Names
    executions: Ints
    exchanges: Ints
    round_trips: Ints
    rows: Numbers
    affected_rows: Numbers
    request_bytes: Ints
    response_bytes: Ints
    network_s: Floats
    service_s: Floats
    loss_s: Floats
    response_ms: dict[str, Floats]
    """First packet of the request → last packet of the response; NaN where there is none."""
    delta_ms: dict[str, Floats]
    """Start of the previous request on the connection → start of this one."""
    client_ms: dict[str, Floats]
    """End of the previous response on the connection → start of this request."""
    request_spread_ms: dict[str, Floats]
    """First packet of the request → its last one."""
    response_spread_ms: dict[str, Floats]
    """First packet of the response → its last one."""
    first_seen: Ints
    """When the first of its exchanges began; `MISSING` where no packet of them was captured."""
    last_seen: Ints
    """When the last one did."""
    first: Ints
    """The first exchange of each."""
    of_exchange: NDArray[np.unsignedinteger[Any]]
    """The entry that each exchange belongs to: narrow where there are few."""

    def __len__(self) -> int:
        return len(self.text)


def group(recording: Recording, timeline: BudgetTimeline) -> StatementGroups:
    """Sum up the exchanges of `recording` by statement."""
    exchanges = recording.exchanges
    protocol = recording.connections.protocol.renamed(str)
    keys = _keys(exchanges, protocol.codes[exchanges.connection], len(protocol.names))
    return _grouped(recording, timeline, keys)


def group_by(recording: Recording, timeline: BudgetTimeline, grouping: str) -> tuple[list[str | None], StatementGroups]:
    """Sum up the exchanges of `recording` by what their connection tells, and name the groups."""
    named = names_of(recording, grouping)
    names = sorted({name for name in named if name is not None})
    numbers = {name: number for number, name in enumerate([None, *names])}
    of_connection = np.array([numbers[name] for name in named], np.int64)
    groups = _grouped(recording, timeline, of_connection[recording.exchanges.connection])
    return [named[connection] for connection in recording.exchanges.connection[groups.first]], groups


def _grouped(recording: Recording, timeline: BudgetTimeline, keys: Ints) -> StatementGroups:
    """Sum up the exchanges with the same key."""
    exchanges = recording.exchanges
    present, groups = _number(keys)
    count = len(present)

    def total(values: NDArray[np.generic]) -> Ints:
        return passes.sums(groups, values, count)[0]

    parts = (timeline.network_ns, timeline.service_ns, timeline.loss_ns)
    network, service, loss = (np.bincount(groups, ns, count) / 1e9 for ns in parts)
    executed = exchanges.is_execution
    executions = total(executed)
    timed = executed | (executions == 0)[groups]
    begins = _first_rows(groups, count)
    order = np.lexsort((begins, -(network + service)))  # of what costs the same, what came first

    def times(name: str, spans: Ints) -> dict[str, Floats]:
        grouped = GroupedValues.of(groups, spans, count, timed & (spans >= 0))
        return {which: values[order] / 1e6 for which, values in _told(grouped, TIMES[name])}

    first = begins[order]
    fingerprint, shown, command = (
        column[first].astype(np.int64) for column in (exchanges.fingerprint, exchanges.text, exchanges.command.codes)
    )
    named, fingerprint, shown = _named(recording.statement_texts, fingerprint, shown)
    texts = Texts.joined(named, Array(exchanges.command.names, DataType.string()))
    command += len(named)
    first_seen, last_seen = _seen(groups, exchanges.begin, count)
    return StatementGroups(
        fingerprint=Names(texts, fingerprint),
        text=Names(texts, _first_with_text(texts, shown, fingerprint, command)),
        protocol=Names.coded(recording.connections.protocol).at(exchanges.connection[first]),
        executions=executions[order],
        exchanges=np.bincount(groups, minlength=count)[order],
        round_trips=total(exchanges.round_trips)[order],
        rows=_sums(groups, exchanges.rows, count, order),
        affected_rows=_sums(groups, exchanges.affected_rows, count, order),
        request_bytes=total(exchanges.request_bytes)[order],
        response_bytes=total(exchanges.response_bytes)[order],
        network_s=network[order],
        service_s=service[order],
        loss_s=loss[order],
        response_ms=times("response_ms", response_ns(exchanges)),
        delta_ms=times("delta_ms", exchanges.delta),
        client_ms=times("client_ms", exchanges.client),
        request_spread_ms=times("request_spread_ms", exchanges.request_spread),
        response_spread_ms=times("response_spread_ms", exchanges.response_spread),
        first_seen=first_seen[order],
        last_seen=last_seen[order],
        first=first,
        of_exchange=_places(order).astype(np.min_scalar_type(count))[groups],
    )


def response_ns(exchanges: Exchanges) -> Ints:
    """APDU response time: first packet of the request → last of the response; `MISSING` unless both are whole."""
    whole = exchanges.complete & (exchanges.request != MISSING) & (exchanges.response_end != MISSING)
    return np.where(whole, exchanges.response_end - exchanges.request, MISSING)


def _named(texts: Array, fingerprint: Ints, shown: Ints) -> tuple[Array, Ints, Ints]:
    """The texts that these numbers name, and the numbers that they have there; all of them, unless most are others'."""
    if 4 * len(fingerprint) >= len(texts):
        return texts, fingerprint, shown
    used = np.unique(np.concatenate((fingerprint, shown)))
    used = used[used >= 0]
    here, text = (np.where(each < 0, each, np.searchsorted(used, each)) for each in (fingerprint, shown))
    return take(texts, used), here, text


def _keys(exchanges: Exchanges, protocol: Ints, protocols: int) -> Ints:
    """One number for each group: commands first (by code), then statements (by id), each times the protocols."""
    commands = len(exchanges.command.names)
    kind = np.where(exchanges.fingerprint >= 0, exchanges.fingerprint + commands, exchanges.command.codes)
    return kind * protocols + protocol


def _number(keys: Ints) -> tuple[Ints, Ints]:
    """The keys that occur, in ascending order, and the index of each row's key among them."""
    return passes.occurring(keys), passes.numbered(keys)


def _first_rows(groups: Ints, count: int) -> Ints:
    """The first row of each group."""
    first = np.zeros(count, np.int64)
    first[groups[::-1]] = np.arange(len(groups))[::-1]
    return first


def _first_with_text(texts: Texts, *columns: Ints) -> Ints:
    """The first of `columns` that names a text that is not empty, row by row."""
    *others, chosen = columns
    says = np.append(texts.sizes > 0, False)
    for column in reversed(others):
        chosen = np.where(says[column], column, chosen)
    return chosen


def _places(order: Ints) -> Ints:
    """The place of each group in `order`."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _sums(groups: Ints, values: NullableArray, count: int, order: Ints) -> Numbers:
    """The sum of each group; not known where no exchange of it has a number."""
    sums, known = passes.sums(groups, values.ints(0), count, values.valid)
    return Numbers(sums[order], known[order])


def _told(times: GroupedValues, names: tuple[str, ...]) -> Iterator[tuple[str, Floats]]:
    """The figures of the times that `names` ask for."""
    for name in names:
        if name == "avg":
            yield name, times.mean()
        elif name == "stddev":
            yield name, times.deviation()
        else:
            yield name, times.quantile(QUANTILES[name])


def _seen(groups: Ints, begin: Ints, count: int) -> tuple[Ints, Ints]:
    """When the first and the last exchange of each group began."""
    known = begin != MISSING
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, MISSING)
    np.minimum.at(first, groups[known], begin[known])
    np.maximum.at(last, groups[known], begin[known])
    return np.where(last == MISSING, MISSING, first), last
