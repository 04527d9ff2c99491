"""`read()` and `Capture`: one recording, its tables, its measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable

from latpcap.tables import columns
from latpcap.tables import sources
from latpcap.measures import views
from latpcap.result.analysis import Analysis, Measures, connection_results, statement_results
from latpcap.tables.columns import nullable, take
from latpcap.errors import CaptureError, NoDatabaseTraffic, UsageError
from latpcap.findings.what_if import Fix, WhatIf, parse_fix
from latpcap.projection.project import DEFAULT_LADDER_MS, Conditions, Projection
from latpcap.tables.pseudonyms import PseudonymousTables, Pseudonyms, without_paths
from latpcap.tables.recording import MISSING, Recording
from latpcap.measures.statements import DELTA_QUANTILES, RESPONSE_QUANTILES
from latpcap.tables.table import Table
from latpcap.measures.tcp import TcpResult
from latpcap.measures.views import Deltas, Timeline

__all__ = ["TABLES", "Capture", "read"]

MS = 1e6
"""Nanoseconds in a millisecond."""

TABLES = ("exchanges", "connections", "statements", "findings", "health", "captures", "rtt_samples")
"""The tables of a `Capture`, as its attributes, the tables of SQL and the commands that write them are called."""


def read(
    source: Any,
    *,
    show_literals: bool = False,
    decode_as: dict[int, str] | None = None,
    think_s: float = 1.0,
    rtt_baseline_ms: float | None = None,
    pseudonymise: bool | Pseudonyms = False,
    progress: Any = None,
) -> Capture:
    """Read one or several captures as one recording.

    `source` is a path, a glob, `-` (standard input), a file object, bytes, packets of scapy or a reader of dpkt, or a
    list of these. `show_literals` keeps the literals of statements; `decode_as` names the protocol of a server port;
    client time above `think_s` seconds counts as think time; `rtt_baseline_ms` overrules the measured RTT;
    `pseudonymise` puts stable names in the place of addresses, users, databases, applications and files (one
    `latpcap.Pseudonyms` given to several readings keeps the names the same in all of them);
    `progress` (a `latpcap.Progress`) can be watched and cancelled from another thread.

    Raises `CaptureError` where a file cannot be read or is no capture.
    """
    from latpcap import _core

    if think_s < 0 or (rtt_baseline_ms is not None and rtt_baseline_ms < 0):
        raise UsageError("durations cannot be negative")
    resolved = sources.resolve(source)
    names = Pseudonyms() if pseudonymise is True else pseudonymise or None
    try:
        tables = _core.read(resolved, show_literals=show_literals, decode_as=decode_as or {}, progress=progress)
    except _core.CaptureError as error:
        paths = [path for path in resolved if isinstance(path, str)]
        raise CaptureError(without_paths(str(error), paths, names) if names else str(error)) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    recording = Recording(PseudonymousTables(tables, names) if names else tables)
    return Capture(recording, think_s=think_s, rtt_baseline_ms=rtt_baseline_ms)


class Capture:
    """One recording: tables of what was seen (`exchanges`, `connections`, `statements`, …) and what follows from it."""

    def __init__(self, recording: Recording, *, think_s: float = 1.0, rtt_baseline_ms: float | None = None) -> None:
        """Wrap `recording`; use `latpcap.read` to make one from files."""
        self._recording = recording
        self._think_s = think_s
        self._rtt_baseline_ms = rtt_baseline_ms

    def __repr__(self) -> str:
        files = ", ".join(str(row["path"]) for row in self.captures.to_dicts())
        counts = f"{len(self._recording.database_rows):,} connections, {len(self._recording.exchanges):,} exchanges"
        return f"<latpcap.Capture {files}: {counts}>"

    def _repr_html_(self) -> str:
        from latpcap.report.notebook import render

        return render(self.analyze())

    @cached_property
    def _measures(self) -> Measures:
        if len(self._recording.database_rows) == 0:
            raise NoDatabaseTraffic(self._no_traffic())
        return Measures(self._recording, think_s=self._think_s, rtt_baseline_ms=self._rtt_baseline_ms)

    def _no_traffic(self) -> str:
        files = columns.texts(self._recording.captures_table, "path")
        where = f"{files[0]}" if len(files) == 1 else f"{len(files)} files"
        seen = len(self._recording.all_connections_table)
        if seen == 0:
            return f"{where}: no TCP connection in it, so no database traffic"
        of = "connection" if seen == 1 else "connections"
        hint = "if a server listens on an unusual port, name it with --decode-as PORT=PROTOCOL"
        return f"{where}: no database traffic among {seen:,} TCP {of}; {hint}"

    # --- results -----------------------------------------------------------------------------------------------------

    def analyze(self, rtt_ms: float | Sequence[float] | None = None, within_s: float | None = None) -> Analysis:
        """Return the whole result: verdict, health, budget, connections, statements, projection."""
        return self._measures.analyze(_ladder(rtt_ms), within_s)

    def project(
        self,
        rtt_ms: float | Sequence[float] | None = None,
        within_s: float | None = None,
        *,
        bandwidth_bps: float | None = None,
        loss: float | None = None,
        jitter_ms: float = 0.0,
        connections: int | None = None,
    ) -> Projection:
        """Return the runtime at each RTT of `rtt_ms` (ms), and the RTT that meets a runtime of `within_s` seconds.

        What else may be different there: the bottleneck's bandwidth in bits a second, the part of the packets that is
        lost (0 to 1), the jitter, and how many connections share the work.
        """
        conditions = Conditions(bandwidth_bps, loss, jitter_ms, connections)
        return self._measures.project(_ladder(rtt_ms), within_s, conditions)

    def what_if(self, fixes: Sequence[str | Fix], rtt_ms: float | Sequence[float] | None = None) -> WhatIf | None:
        """Return the runtimes at each RTT of `rtt_ms` as it is, with each of `fixes` (`n+1=join`, …), and with all.

        `None` where the baseline RTT is unknown.
        """
        asked = [fix for each in fixes for fix in (parse_fix(each) if isinstance(each, str) else [each])]
        return self._measures.what_if(asked, _ladder(rtt_ms))

    @cached_property
    def deltas(self) -> Deltas:
        """How far apart requests begin: `.plot()` shows the pace of the application."""
        return views.deltas(self._recording, self._measures.project([]).baseline_rtt_ms)

    @cached_property
    def timeline(self) -> Timeline:
        """When which connection was busy: `.plot()` shows a lane for each."""
        return views.timeline(self._recording)

    def report(self, path: str | Path, rtt_ms: float | Sequence[float] | None = None) -> None:
        """Write the report to `path` (`.html`): one file that needs no network, with a slider for the RTT."""
        from latpcap.report.html import render

        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{path}: a report is an .html file")
        Path(path).write_bytes(render(self, _ladder(rtt_ms)).encode("utf-8", "replace"))

    # --- tables ------------------------------------------------------------------------------------------------------

    def tables(self) -> dict[str, Table]:
        """Every table, by its name."""
        return {name: getattr(self, name) for name in TABLES if hasattr(type(self), name)}

    def sql(self, query: str) -> Table:
        """Return what `query` selects from the tables (extra `sql`); it reads nothing but these.

        >>> capture.sql("select command, sum(round_trips) as trips from exchanges group by all")  # doctest: +SKIP
        """
        from latpcap.tables import sql

        return sql.query(self.tables(), query)

    @cached_property
    def captures(self) -> Table:
        """The files."""
        return Table(self._recording.captures_table, "files")

    @cached_property
    def health(self) -> Table:
        """What limits the trust in the result."""
        types = {"code": _TEXT, "severity": _TEXT, "message": _TEXT, "count": _COUNT}
        return _rows_table([asdict(note) for note in self.analyze().health], types, "notes")

    @cached_property
    def exchanges(self) -> Table:
        """One row an exchange: frames, times, bytes, round trips, rows, and its times in ms."""
        return Table(_exchange_columns(self._recording, self._measures), "exchanges")

    @cached_property
    def connections(self) -> Table:
        """One row a database connection, its RTT with `rtt_` before the names, what TCP shows with `tcp_`."""
        rows = []
        for result in connection_results(self._recording, self._measures.baselines):
            row = asdict(result)
            rtt = row.pop("rtt")
            row["start"], row["end"] = np.datetime64(row["start"][:-1]), np.datetime64(row["end"][:-1])
            tcp = {f"tcp_{name}": value for name, value in row.pop("tcp").items()}
            rows.append(row | {f"rtt_{name}": value for name, value in rtt.items()} | tcp)
        return _rows_table(rows, _CONNECTION_TYPES, "connections")

    @cached_property
    def statements(self) -> Table:
        """One row a statement, the costliest first; percentiles with their name before them."""
        rows = []
        for result in statement_results(self._measures.statements):
            row = asdict(result)
            for name in ("response_ms", "delta_ms"):
                row |= {f"{name.removesuffix('_ms')}_{which}_ms": value for which, value in row.pop(name).items()}
            rows.append(row)
        return _rows_table(rows, _STATEMENT_TYPES, "statements")

    @cached_property
    def findings(self) -> Table:
        """One row a finding, the dearest first; what it saves at the default RTTs (`saved_15ms_s`, …)."""
        return self.findings_at()

    def findings_at(self, rtt_ms: float | Sequence[float] | None = None) -> Table:
        """The findings with the seconds that each fix saves at the RTTs of `rtt_ms`."""
        rtts = _ladder(rtt_ms) or DEFAULT_LADDER_MS
        saved = {f"saved_{rtt:g}ms_s": _FLOAT for rtt in rtts}
        rows = []
        for found in self._measures.findings(rtts):
            row = {name: getattr(found, name) for name in _FINDING_TYPES}
            row["connections"] = " ".join(map(str, found.connections))
            rows.append(row | {f"saved_{rtt:g}ms_s": found.saved_s.get(f"{rtt:g}") for rtt in rtts})
        return _rows_table(rows, _FINDING_TYPES | saved, "findings")

    @cached_property
    def rtt_samples(self) -> Table:
        """One row an in-stream RTT sample: data → its acknowledgment, on either side of the capture point."""
        samples, streams = self._recording.samples, self._recording.connections.stream
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
        )


def _ladder(rtt_ms: float | Sequence[float] | None) -> Sequence[float] | None:
    if rtt_ms is None:
        return None
    asked = [float(rtt_ms)] if isinstance(rtt_ms, int | float) else [float(value) for value in rtt_ms]
    if any(not value >= 0 or value == float("inf") for value in asked):
        raise UsageError("an RTT is a number of milliseconds from 0 on")
    return asked


# --- exchanges ------------------------------------------------------------------------------------------------------


def _exchange_columns(recording: Recording, measures: Measures) -> ArrowTable:
    """The columns of docs/design.md §4, and what else the core tells."""
    exchanges, texts = recording.exchanges, recording.statement_texts
    known = exchanges.complete & (exchanges.waited >= 0) & ~np.isnan(measures.baselines.baseline)[exchanges.connection]
    answered = exchanges.complete & (exchanges.response != MISSING)
    made = {
        "protocol": take(Array(recording.connections.protocol, DataType.string()), exchanges.connection),
        "command": take(Array(exchanges.command.names, DataType.string()), exchanges.command.codes),
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
)


_TEXT, _COUNT, _FLOAT, _BOOL = DataType.string(), DataType.uint64(), DataType.float64(), DataType.bool()
_TIME = DataType.timestamp("ns", tz="UTC")

_CONNECTION_TYPES: dict[str, DataType] = {
    "stream": _COUNT,
    **dict.fromkeys(("client", "server", "protocol", "server_version", "user", "database", "application"), _TEXT),
    **dict.fromkeys(("encryption", "compression", "state"), _TEXT),
    "replication": _BOOL,
    "start": _TIME,
    "end": _TIME,
    **dict.fromkeys(("exchanges", "round_trips", "request_bytes", "response_bytes"), _COUNT),
    **dict.fromkeys(("retransmissions", "lost_bytes", "cancels"), _COUNT),
    **dict.fromkeys(("rtt_baseline_ms", "rtt_low_ms", "rtt_high_ms"), _FLOAT),
    "rtt_method": _TEXT,
    "rtt_reason": _TEXT,
    **dict.fromkeys(("rtt_handshake_ms", "rtt_in_stream_min_ms", "rtt_in_stream_median_ms"), _FLOAT),
    **dict.fromkeys(("rtt_in_stream_mean_ms", "rtt_response_floor_ms"), _FLOAT),
    "rtt_samples": _COUNT,
    "rtt_position": _TEXT,
    **{f"tcp_{each.name}": _FLOAT if each.name.endswith("_ms") else _COUNT for each in fields(TcpResult)},
}

_STATEMENT_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("fingerprint", "text", "protocol"), _TEXT),
    **dict.fromkeys(("executions", "exchanges", "round_trips", "rows", "affected_rows"), _COUNT),
    **dict.fromkeys(("request_bytes", "response_bytes"), _COUNT),
    **dict.fromkeys(("network_s", "service_s"), _FLOAT),
    **{f"response_{name}_ms": _FLOAT for name in RESPONSE_QUANTILES},
    **{f"delta_{name}_ms": _FLOAT for name in DELTA_QUANTILES},
}

_FINDING_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("severity", "code", "title"), _TEXT),
    **dict.fromkeys(("round_trips_saved", "exchanges"), _COUNT),
    **dict.fromkeys(("statement", "fingerprint", "why", "fix", "fix_name", "connections"), _TEXT),
    **dict.fromkeys(("first_frame", "last_frame"), _COUNT),
    "display_filter": _TEXT,
    "saved_at_baseline_s": _FLOAT,
}


def _rows_table(rows: list[dict[str, Any]], types: dict[str, DataType], name: str) -> Table:
    """A table of few rows from their dictionaries."""
    return Table(
        ArrowTable.from_pydict(
            {column: _column([row[column] for row in rows], kind) for column, kind in types.items()}
        ),
        name,
    )


def _column(values: list[Any], kind: DataType) -> Array:
    if kind is _TIME:
        return Array.from_numpy(np.array(values, "datetime64[ns]").astype(np.int64)).cast(_TIME)
    return Array(values, kind)
