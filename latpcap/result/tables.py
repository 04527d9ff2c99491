"""The tables of a recording as users see them: exchanges, connections, statements, findings, health, RTT samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.findings import FindingResult
from latpcap.measures.chattiness import PACE_QUANTILES
from latpcap.measures.health import HealthNote
from latpcap.measures.statements import TIMES, StatementGroups, group_by, response_ns
from latpcap.result.analysis import Measures
from latpcap.result.chattiness import ConnectionChattiness
from latpcap.result.connections import ConnectionResult
from latpcap.result.errors import ErrorResult, ErrorsResult
from latpcap.result.statements import StatementResult, statement_results
from latpcap.result.taps import TapsResult, taps_results
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Codes, Ints, nullable, take
from latpcap.tables.columnar.table import MAX_PASSES, MIN_BLOCK_ROWS, ROWS_PER_WRITE, Table
from latpcap.tables.columnar.values import Fractions, Names, Rows, TableColumn
from latpcap.tables.recording import Recording

NS_PER_MS = 1e6
"""Nanoseconds in a millisecond."""


def error_table(errors: ErrorsResult) -> Table:
    """One row an error code of a statement, the most frequent first."""
    rows = [flat(result) | {"users": ", ".join(result.users)} for result in errors.found]
    return rows_table(rows, _ERROR_TYPES, "errors")


def health_table(notes: Iterable[HealthNote]) -> Table:
    """List what limits the trust in the result."""
    types = {"code": _TEXT, "severity": _TEXT, "message": _TEXT, "count": COUNT, "first_frame": COUNT}
    return rows_table([flat(note) for note in notes], types, "notes", "latpcap.health/1")


def exchange_table(measures: Measures) -> Table:
    """One row an exchange: frames, times, bytes, round trips, rows, and its times in ms."""
    return Table(_ExchangeRows(measures), "exchanges")


def connection_table(measures: Measures) -> Table:
    """One row a database connection, its RTT with `rtt_` before the names, what TCP shows with `tcp_`."""
    return _values_table(_flat_columns(measures.connections()), "connections")


def statement_table(measures: Measures, rtt_ms: Sequence[float] = ()) -> Table:
    """One row a statement, sorted by cost; percentiles with their name before them; then its network at other RTTs."""
    results = statement_results(measures.statements, measures.recording.start_ns)
    return _values_table(_flat_columns(results) | _network_there(measures, rtt_ms, measures.statements), "statements")


def _network_there(measures: Measures, rtt_ms: Sequence[float], groups: StatementGroups) -> dict[str, Fractions]:
    """The seconds of each row that the network takes at each RTT: all waits of a job grow alike."""
    grown = measures.network_growth(rtt_ms) if rtt_ms else {}
    return {f"network_{rtt:g}ms_s": Fractions(groups.network_s * factor) for rtt, factor in grown.items()}


def grouped_table(measures: Measures, grouping: str, rtt_ms: Sequence[float] = ()) -> Table:
    """The figures of a statement for each user, database, client, application or server; null where it is not known."""
    names, groups = group_by(measures.recording, measures.timeline, grouping)
    flat = _flat_columns(statement_results(groups, measures.recording.start_ns))
    told = {name: values for name, values in flat.items() if name not in _OF_STATEMENTS}
    values: dict[str, TableColumn[Any]] = {grouping: Names.of(names)} | told
    values |= _network_there(measures, rtt_ms, groups)
    return _values_table(values, f"statements by {grouping}", f"latpcap.statements-by-{grouping}/1")


def _flat_columns(rows: Rows[Any]) -> dict[str, TableColumn[Any]]:
    """The columns as `flat` names the values of a row; times of several (`delta_ms`) stand at the end of their part."""
    flattened, times = dict[str, TableColumn[Any]](), dict[str, TableColumn[Any]]()
    for name, values in rows.columns.items():
        if isinstance(values, Rows):
            of_parts = times if values.kind is dict else flattened
            of_parts |= {_part_of(name, values.kind, part): one for part, one in _flat_columns(values).items()}
        elif isinstance(values, TableColumn):
            flattened[name] = values
    return flattened | times


def _part_of(name: str, kind: Any, part: str) -> str:
    """The column of a part of a result: the ratios have their own names, times their quantile within."""
    if kind is dict:
        return f"{name.removesuffix('_ms')}_{part}_ms"
    return part if kind is ConnectionChattiness else f"{name}_{part}"


def _values_table(values: Mapping[str, TableColumn[Any]], name: str, schema: str = "") -> Table:
    """A table of any length."""
    return Table(ArrowTable.from_pydict({column: each.arrow() for column, each in values.items()}), name, schema)


def finding_table(findings: Iterable[FindingResult], rtt_ms: Sequence[float]) -> Table:
    """One row a finding, sorted by cost, with the seconds that each fix saves at the RTTs of `rtt_ms`."""
    saved = {f"saved_{rtt:g}ms_s": _FLOAT for rtt in rtt_ms}
    rows = []
    for found in findings:
        row = {name: getattr(found, name) for name in _FINDING_TYPES}
        row["connections"] = " ".join(map(str, found.connections))
        rows.append(row | {f"saved_{rtt:g}ms_s": found.saved_s.get(f"{rtt:g}") for rtt in rtt_ms})
    return rows_table(rows, _FINDING_TYPES | saved, "findings")


def taps_table(recording: Recording) -> Table:
    """One row for each two taps that saw the same packets, and each path."""
    rows = [flat(each) for each in taps_results(recording)]
    return rows_table(rows, _TAPS_TYPES, "taps", "latpcap.taps/1")


def flat(result: Struct) -> dict[str, Any]:
    """The values of a result by the names of its table's columns: parts of a part have its name before theirs."""
    values: dict[str, Any] = {}
    for name in result.__struct_fields__:
        value = getattr(result, name)
        if isinstance(value, Struct | dict):
            parts = value if isinstance(value, dict) else flat(value)
            values |= {_part_of(name, type(value), part): one for part, one in parts.items()}
        else:
            values[name] = value
    return values


def rtt_sample_table(recording: Recording) -> Table:
    """One row an in-stream RTT sample: data → its acknowledgment, on either side of the capture point."""
    samples = ArrowTable.from_arrow(recording.core.rtt_samples())
    keep = recording.connection_of(columns.column(samples, "stream").values) >= 0

    def values(name: str) -> NDArray[Any]:
        return columns.column(samples, name).values[keep].astype(np.int64)

    rtt = values("rtt_ns")
    return Table(
        ArrowTable.from_pydict(
            {
                "stream": Array.from_numpy(values("stream")).cast(COUNT),
                "by_server": nullable(values("by_server").astype(bool), np.ones(len(rtt), bool)),
                "time": Array.from_numpy(values("time")).cast(_TIME),
                "rtt_ms": Array.from_numpy(rtt / NS_PER_MS),
                "segments": Array.from_numpy(values("segments")).cast(COUNT),
            }
        ),
        "RTT samples",
        "latpcap.rtt_samples/1",
    )


class _ExchangeRows:
    """The rows of the exchanges, made piece by piece: columns of the core, and what follows from them.

    The core's columns are made for a block of rows, of which the texts are put in their places a piece at a time.
    """

    def __init__(self, measures: Measures) -> None:
        self.column_names = [*EXCHANGE_COLUMNS]
        self._measures = measures
        self._recording = measures.recording
        self._length = len(measures.recording.exchanges)
        self._block_rows = max(MIN_BLOCK_ROWS, -(-self._length // MAX_PASSES))
        self._block = _Block(self, 0)

    def __len__(self) -> int:
        return self._length

    def piece(self, begin: int, end: int, names: Sequence[str] | None = None) -> ArrowTable:
        """The rows from `begin` up to `end`."""
        parts: list[ArrowTable] = []
        while begin < end or not parts:
            block = self._block_of(begin)
            until = min(end, block.end)
            parts.append(block.rows(begin - block.begin, until - block.begin, names or EXCHANGE_COLUMNS))
            begin = until
        return columns.joined(parts)

    def ends(self) -> Iterator[int]:
        """Pieces within a block, each with no more text than fits."""
        begin = 0
        while begin < self._length:
            block = self._block_of(begin)
            last = np.searchsorted(block.text_bytes, block.text_bytes[begin - block.begin] + MAX_TEXT_BYTES)
            begin = min(block.begin + max(int(last), begin - block.begin + 1), begin + ROWS_PER_WRITE, block.end)
            yield begin
        if self._length == 0:
            yield 0

    def _block_of(self, row: int) -> _Block:
        begin = row // self._block_rows * self._block_rows
        if self._block.begin != begin:
            self._block = _Block(self, begin)
        return self._block

    @cached_property
    def text_lengths(self) -> NDArray[np.int64]:
        """Bytes of each statement's text; the last of them is of none."""
        return np.append(np.diff(columns.text_buffers(self._recording.statement_texts)[0]), 0)

    @cached_property
    def parameters(self) -> NDArray[np.uint64]:
        """Equal ones have equal numbers."""
        parameters = self._recording.exchange_column("parameters").values
        return columns.numbering(parameters)(parameters)


class _Block:
    """Some of the rows, whose columns are kept while pieces of it are asked for."""

    def __init__(self, of: _ExchangeRows, begin: int) -> None:
        self.begin = begin
        self.end = min(begin + of._block_rows, len(of))
        self._of = of
        self._exchanges = of._recording.exchanges.within(begin, self.end)
        self._columns: dict[str, Any] = {}

    @cached_property
    def text_bytes(self) -> NDArray[np.int64]:
        """Add up the text bytes of all rows before each."""
        exchanges, lengths = self._exchanges, self._of.text_lengths
        tags = np.array([*(len(tag) for tag in self._of._recording.tag_texts), 0])
        each = lengths[exchanges.text] + lengths[exchanges.fingerprint] + tags[self._ints("tags", -1)]
        errors = columns.codes(exchanges.core("error"), "error")
        each += np.array([*(len(name) for name in errors.names), 0])[errors.codes]
        before: NDArray[np.int64] = np.cumsum(each) - each
        return before

    def rows(self, begin: int, end: int, names: Sequence[str]) -> ArrowTable:
        """Rows of the block."""
        return ArrowTable.from_pydict({name: self._part(name, begin, end) for name in names})

    def _part(self, name: str, begin: int, end: int) -> Any:
        if name not in self._columns:
            self._columns[name] = self._column(name)
        made = self._columns[name]
        if isinstance(made, tuple):
            texts, codes = made
            return take(texts, codes[begin:end])
        return made.slice(begin, end - begin)

    def _column(self, name: str) -> Any:
        """A column of the block; of texts all that there are, and the number of each row's."""
        recording, exchanges = self._of._recording, self._exchanges
        made: dict[str, Callable[[], Any]] = {
            "protocol": lambda: _coded(recording.connections.protocol.picked(exchanges.connection)),
            "statement": lambda: (recording.statement_texts, exchanges.text),
            "parameters": lambda: nullable(self._of.parameters[self.begin : self.end]),
            "tags": lambda: (Array(recording.tag_texts, DataType.string()), self._ints("tags", -1)),
            "fingerprint": lambda: (recording.statement_texts, exchanges.fingerprint),
            "service_ms": lambda: self._known_ms(self._of._measures.timeline.own_service_ns),
            "loss_ms": lambda: self._known_ms(self._of._measures.timeline.own_loss_ns),
            "request_spread_ms": lambda: _span_ms(exchanges.request_spread),
            "response_spread_ms": lambda: _span_ms(exchanges.response_spread),
            "stalled_ms": lambda: nullable(exchanges.stalled / NS_PER_MS),
            "delta_ms": lambda: _span_ms(exchanges.delta),
            "client_ms": lambda: _span_ms(exchanges.client),
            "response_ms": lambda: _span_ms(response_ns(exchanges)),
        }
        if name in made:
            return made[name]()
        if name in CODED:
            return _coded(columns.codes(exchanges.core(name), name))
        column = exchanges.core(name).column(name).combine_chunks()
        return column.cast(column.type)  # forgets that nothing was null in these rows

    def _known_ms(self, times: Ints) -> Array:
        """Return the block's times in ms, null where the wait or the RTT is not known."""
        exchanges, rows = self._exchanges, slice(self.begin, self.end)
        known = exchanges.complete & (exchanges.waited >= 0) & ~np.isnan(self._of._measures.rtt.each_baseline[rows])
        return nullable(np.asarray(times[rows] / NS_PER_MS), known)

    def _ints(self, name: str, missing: int) -> NDArray[np.int64]:
        return columns.column(self._exchanges.core(name), name).ints(missing)


def _span_ms(spans: NDArray[np.int64]) -> Array:
    """Spans in ms, null where there is none."""
    return nullable(spans / NS_PER_MS, spans >= 0)


def _coded(coded: Codes) -> tuple[Array, NDArray[Any]]:
    """The texts of a column, and the number of each row's."""
    return Array(coded.names, DataType.string()), coded.codes


CODED = ("command", "purpose", "wait", "error", "error_code", "transaction")
"""Columns of the core that are texts."""
MAX_TEXT_BYTES = 4_000_000
"""Bytes of texts that are put in their places at a time."""


EXCHANGE_COLUMNS = (
    *("stream", "exchange", "protocol", "command", "statement", "fingerprint"),
    *("request_frame", "request_end_frame", "response_frame", "response_end_frame"),
    *("request_time", "request_end_time", "response_time", "response_end_time"),
    *("request_bytes", "response_bytes", "round_trips", "rows", "affected_rows", "error"),
    *("service_ms", "request_spread_ms", "response_spread_ms", "delta_ms", "client_ms"),
    *("complete", "parameters", "retransmissions", "stalled_ms", "transaction", "tags"),
    *("purpose", "wait", "error_code", "response_ms", "loss_ms"),
)


_TEXT, COUNT, _FLOAT, _BOOL = DataType.string(), DataType.uint64(), DataType.float64(), DataType.bool()
_TIME = DataType.timestamp("ns", tz="UTC")

_KINDS = {str: _TEXT, int: COUNT, float: _FLOAT, bool: _BOOL}


def types_of(result: type) -> dict[str, DataType]:
    """The columns of a result's fields; those of a result within it have its name before theirs, but for ratios."""
    types: dict[str, DataType] = {}
    for name, hint in get_type_hints(result).items():
        if isinstance(hint, type) and issubclass(hint, Struct):
            types |= {_part_of(name, hint, part): kind for part, kind in types_of(hint).items()}
        elif get_origin(hint) is not dict:
            types[name] = _KINDS[next(iter(get_args(hint)), hint)]
    return types


_CONNECTION_TYPES = (
    types_of(ConnectionResult)
    | {"start": _TIME, "end": _TIME}
    | {_part_of(name, dict, which): _FLOAT for name in ("delta_ms", "client_ms") for which in PACE_QUANTILES}
)
_STATEMENT_TYPES = (
    types_of(StatementResult)
    | {_part_of(name, dict, which): _FLOAT for name, told in TIMES.items() for which in told}
    | {"first_seen": _TIME, "last_seen": _TIME}
)
_ERROR_TYPES = types_of(ErrorResult) | {"users": _TEXT, "first_time": _TIME, "last_time": _TIME}
_TAPS_TYPES = types_of(TapsResult)
_OF_STATEMENTS = frozenset({"fingerprint", "text", "protocol"})
"""Columns that tell statements apart."""
_FINDING_TYPES: dict[str, DataType] = {
    **dict.fromkeys(("severity", "code", "title"), _TEXT),
    **dict.fromkeys(("round_trips_saved", "exchanges"), COUNT),
    **dict.fromkeys(("statement", "fingerprint", "why", "fix", "fix_name", "connections"), _TEXT),
    **dict.fromkeys(("first_frame", "last_frame"), COUNT),
    "display_filter": _TEXT,
    "saved_at_baseline_s": _FLOAT,
}

COLUMNS: dict[str, tuple[str, ...]] = {
    "exchanges": EXCHANGE_COLUMNS,
    "connections": tuple(_CONNECTION_TYPES),
    "statements": tuple(_STATEMENT_TYPES),
    "errors": tuple(_ERROR_TYPES),
    "findings": tuple(_FINDING_TYPES),
}
"""The columns of a table, by its name."""


def rows_table(rows: list[dict[str, Any]], types: dict[str, DataType], name: str, schema: str = "") -> Table:
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
        moments = np.array([value and value.removesuffix("Z") for value in values], "datetime64[ns]")
        return nullable(moments.astype(np.int64), ~np.isnat(moments)).cast(_TIME)
    return Array(values, kind)
