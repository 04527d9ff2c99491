"""The tables of a recording as users see them: exchanges, connections, statements, findings, health, RTT samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable

from latpcap.findings import FindingResult
from latpcap.measures.health import HealthNote
from latpcap.measures.statements import DELTA_QUANTILES, RESPONSE_QUANTILES
from latpcap.result.analysis import Measures
from latpcap.result.connections import ConnectionResult, connection_results
from latpcap.result.errors import ErrorResult
from latpcap.result.statements import StatementResult, statement_results
from latpcap.tables import columns
from latpcap.tables.columns import Codes, nullable, take
from latpcap.tables.recording import MISSING, Recording
from latpcap.tables.table import Table

__all__ = [
    "connection_table",
    "error_table",
    "exchange_table",
    "finding_table",
    "health_table",
    "rtt_sample_table",
    "statement_table",
]

MS = 1e6
"""Nanoseconds in a millisecond."""


def error_table(measures: Measures) -> Table:
    """One row an error code of a statement, the most frequent first."""
    rows = []
    for result in measures.errors.found:
        row = asdict(result) | {"users": ", ".join(result.users)}
        for name in ("first_time", "last_time"):
            row[name] = np.datetime64(str(row[name])[:-1])
        rows.append(row)
    return _rows_table(rows, _ERROR_TYPES, "errors")


def health_table(notes: Iterable[HealthNote]) -> Table:
    """What limits the trust in the result."""
    types = {"code": _TEXT, "severity": _TEXT, "message": _TEXT, "count": _COUNT}
    return _rows_table([asdict(note) for note in notes], types, "notes", "latpcap.health/1")


def exchange_table(measures: Measures) -> Table:
    """One row an exchange: frames, times, bytes, round trips, rows, and its times in ms."""
    return Table(_exchange_columns(measures.recording, measures), "exchanges")


def connection_table(measures: Measures) -> Table:
    """One row a database connection, its RTT with `rtt_` before the names, what TCP shows with `tcp_`."""
    rows = []
    for result in connection_results(measures.recording, measures.baselines):
        row = asdict(result)
        rtt = row.pop("rtt")
        row["start"], row["end"] = np.datetime64(row["start"][:-1]), np.datetime64(row["end"][:-1])
        tcp = {f"tcp_{name}": value for name, value in row.pop("tcp").items()}
        rows.append(row | {f"rtt_{name}": value for name, value in rtt.items()} | tcp)
    return _rows_table(rows, _CONNECTION_TYPES, "connections")


def statement_table(measures: Measures) -> Table:
    """One row a statement, the costliest first; percentiles with their name before them."""
    rows = []
    for result in statement_results(measures.statements):
        row = asdict(result)
        for name in ("response_ms", "delta_ms"):
            row |= {f"{name.removesuffix('_ms')}_{which}_ms": value for which, value in row.pop(name).items()}
        rows.append(row)
    return _rows_table(rows, _STATEMENT_TYPES, "statements")


def finding_table(findings: Iterable[FindingResult], rtt_ms: Sequence[float]) -> Table:
    """One row a finding, the costliest first, with the seconds that each fix saves at the RTTs of `rtt_ms`."""
    saved = {f"saved_{rtt:g}ms_s": _FLOAT for rtt in rtt_ms}
    rows = []
    for found in findings:
        row = {name: getattr(found, name) for name in _FINDING_TYPES}
        row["connections"] = " ".join(map(str, found.connections))
        rows.append(row | {f"saved_{rtt:g}ms_s": found.saved_s.get(f"{rtt:g}") for rtt in rtt_ms})
    return _rows_table(rows, _FINDING_TYPES | saved, "findings")


def rtt_sample_table(recording: Recording) -> Table:
    """One row an in-stream RTT sample: data → its acknowledgment, on either side of the capture point."""
    samples, streams = recording.samples, recording.connections.stream
    return Table(
        ArrowTable.from_pydict(
            {
                "stream": Array.from_numpy(streams[samples.connection]).cast(_COUNT),
                "by_server": nullable(samples.by_server, np.ones(len(samples.rtt), bool)),
                "rtt_ms": Array.from_numpy(samples.rtt / MS),
                "segments": Array.from_numpy(samples.segments).cast(_COUNT),
            }
        ),
        "RTT samples",
        "latpcap.rtt_samples/1",
    )


def _exchange_columns(recording: Recording, measures: Measures) -> ArrowTable:
    """The columns of `EXCHANGE_COLUMNS`: those of the core, and what follows from them."""
    exchanges, texts = recording.exchanges, recording.statement_texts
    known = exchanges.complete & (exchanges.waited >= 0) & ~np.isnan(measures.baselines.baseline)[exchanges.connection]
    answered = exchanges.complete & (exchanges.response != MISSING)
    made = {
        "protocol": take(Array(recording.connections.protocol, DataType.string()), exchanges.connection),
        **{name: _names(getattr(exchanges, name)) for name in ("command", "purpose", "wait")},
        "statement": take(texts, exchanges.text),
        "parameters": nullable(columns.numbered(columns.column(recording.exchanges_table, "parameters").values)),
        "tags": take(
            Array(recording.tag_texts, DataType.string()), columns.column(recording.exchanges_table, "tags").ints(-1)
        ),
        "fingerprint": take(texts, exchanges.fingerprint),
        "service_ms": nullable(measures.timeline.own_service_ns / MS, known),
        "response_spread_ms": nullable((exchanges.response_end - exchanges.response) / MS, answered),
        "stalled_ms": nullable(exchanges.stalled / MS),
        "delta_ms": nullable(exchanges.delta / MS, exchanges.delta >= 0),
        "client_ms": nullable(exchanges.client / MS, exchanges.client >= 0),
    }
    return ArrowTable.from_pydict(
        {name: made[name] if name in made else recording.exchanges_table.column(name) for name in EXCHANGE_COLUMNS}
    )


def _names(coded: Codes) -> Array:
    return take(Array(coded.names, DataType.string()), coded.codes)


EXCHANGE_COLUMNS = (
    "stream",
    "exchange",
    "protocol",
    "command",
    "statement",
    "fingerprint",
    "request_frame",
    "request_end_frame",
    "response_frame",
    "response_end_frame",
    "request_time",
    "request_end_time",
    "response_time",
    "response_end_time",
    "request_bytes",
    "response_bytes",
    "round_trips",
    "rows",
    "affected_rows",
    "error",
    "service_ms",
    "response_spread_ms",
    "delta_ms",
    "client_ms",
    "complete",
    "parameters",
    "retransmissions",
    "stalled_ms",
    "transaction",
    "tags",
    "purpose",
    "wait",
    "error_code",
)


_TEXT, _COUNT, _FLOAT, _BOOL = DataType.string(), DataType.uint64(), DataType.float64(), DataType.bool()
_TIME = DataType.timestamp("ns", tz="UTC")

_KINDS = {str: _TEXT, int: _COUNT, float: _FLOAT, bool: _BOOL}


def _types(result: type, prefix: str = "") -> dict[str, DataType]:
    """The columns of a result's fields; those of a result within it have its name before theirs."""
    types: dict[str, DataType] = {}
    for name, hint in get_type_hints(result).items():
        if isinstance(hint, type) and is_dataclass(hint):
            types |= _types(hint, f"{name}_")
        elif get_origin(hint) is not dict:
            types[prefix + name] = _KINDS[next(iter(get_args(hint)), hint)]
    return types


_CONNECTION_TYPES = _types(ConnectionResult) | {"start": _TIME, "end": _TIME}
_STATEMENT_TYPES = (
    _types(StatementResult)
    | {f"response_{name}_ms": _FLOAT for name in RESPONSE_QUANTILES}
    | {f"delta_{name}_ms": _FLOAT for name in DELTA_QUANTILES}
)
_ERROR_TYPES = _types(ErrorResult) | {"users": _TEXT, "first_time": _TIME, "last_time": _TIME}
_FINDING_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("severity", "code", "title"), _TEXT),
    **dict.fromkeys(("round_trips_saved", "exchanges"), _COUNT),
    **dict.fromkeys(("statement", "fingerprint", "why", "fix", "fix_name", "connections"), _TEXT),
    **dict.fromkeys(("first_frame", "last_frame"), _COUNT),
    "display_filter": _TEXT,
    "saved_at_baseline_s": _FLOAT,
}


def _rows_table(rows: list[dict[str, Any]], types: dict[str, DataType], name: str, schema: str = "") -> Table:
    """A table of few rows from their dictionaries."""
    return Table(
        ArrowTable.from_pydict(
            {column: _column([row[column] for row in rows], kind) for column, kind in types.items()}
        ),
        name,
        schema,
    )


def _column(values: list[Any], kind: DataType) -> Array:
    if kind is _TIME:
        return Array.from_numpy(np.array(values, "datetime64[ns]").astype(np.int64)).cast(_TIME)
    return Array(values, kind)
