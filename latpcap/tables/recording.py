"""The core's tables as numpy columns: database connections and their exchanges, numbered so that they fit together.

Times are nanoseconds since `Recording.start_ns`, as integers: exact, and small enough for floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from arro3.core import Array, RecordBatchReader, Table
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Codes, Entries, NullableArray
from latpcap.tables.columnar.scratch import Scratch, filled, laid
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.part.selection import Selected

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
V = TypeVar("V")

MISSING = np.iinfo(np.int64).min
"""A time or span that the capture does not show."""
FEW = 1 << 12
"""Of so few exchanges, as a small group of a ranking has, a column takes next to no room, and longer to make again."""
CUT = "under_way_until"
"""A column of connections in a window: `Connections.under_way`."""
METHODS = (
    *("captures", "notes", "cases", "connections", "exchanges", "statements", "tags", "taps"),
    *("rtt_samples", "clock_readings", "segments"),
)
"""What gives the tables of a `latpcap._core.Recording`."""
TIMES = {
    "start": "start",
    "end": "end",
    "syn": "syn_time",
    "syn_ack": "syn_ack_time",
    "ack": "ack_time",
    "client_fin": "client_fin_time",
    "server_fin": "server_fin_time",
}
"""Of `Connections`, ns since the recording began: the columns that they are made of."""
NUMBERS = {
    f"{side}_{name}": f"{side}_{name}{unit}"
    for side in ("client", "server")
    for unit, names in {"_ns": ("handshake", "answer"), "": ("mss",), "_bytes": ("window", "window_limit")}.items()
    for name in names
}
"""Likewise of what is no time of day, `MISSING` where it is not known."""
ADJOIN_NS = 60_000_000_000
"""Files that follow each other sooner adjoin."""


class Gap(Struct, frozen=True):
    """Nothing was recorded between two files."""

    before: int
    """Rows of `captures_table`: the file that ends before it, and the one that begins behind it."""
    after: int
    begin: int
    end: int


class Connections(Struct, frozen=True):
    """The database connections, one entry each."""

    stream: Ints
    client: Codes
    host: Codes
    """Of the client: its ports differ from connection to connection."""
    server: Codes
    protocol: Codes
    start: Ints
    end: Ints
    syn: Ints
    syn_ack: Ints
    ack: Ints
    client_fin: Ints
    """When each side first said that it sends no more."""
    server_fin: Ints
    handshake_retransmitted: Bools
    server_handshake: Ints
    """SYN → SYN/ACK, `MISSING` where it cannot be timed."""
    client_handshake: Ints
    """SYN/ACK → ACK, likewise."""
    server_answer: Ints
    """The fastest data of the server that acknowledge the client's, after these; `MISSING` where there is none."""
    client_answer: Ints
    """The same the other way round."""
    client_mss: Ints
    """The largest segment that the client takes, in bytes; `MISSING` where its SYN was not captured."""
    server_mss: Ints
    client_window: Ints
    """The largest receive window that the client advertised, in bytes, scaled; `MISSING` where the SYNs with the
    scale were not captured."""
    server_window: Ints
    client_window_limit: Ints
    """How far that can grow, by its scale; `MISSING` likewise."""
    server_window_limit: Ints
    server_first: Bools
    under_way: Ints
    """Until when an exchange went on that had begun before the selected window; else `MISSING`."""

    def __len__(self) -> int:
        return len(self.stream)


class _Made(Generic[V]):
    """A column that is made anew each time it is asked for."""

    def __init__(self, make: Callable[[Exchanges], V]) -> None:
        self._make = make

    def __get__(self, exchanges: Exchanges, kind: type | None = None) -> V:
        return self._make(exchanges)


def _column(name: str) -> Callable[[Exchanges], NullableArray]:
    return lambda exchanges: exchanges._column(name)


def _ints(name: str, missing: int = MISSING) -> Callable[[Exchanges], Ints]:
    return lambda exchanges: exchanges._ints(name, missing)


def _time(name: str) -> Callable[[Exchanges], Ints]:
    return lambda exchanges: exchanges._time(name)


def _codes(name: str) -> Callable[[Exchanges], Codes]:
    return lambda exchanges: exchanges._codes(name)


class Exchanges:
    """The exchanges of `Connections`, in the order of connection and request.

    A column is made from the core's when it is asked for. What most measures ask for is kept; what few do is made anew
    each time, which costs less than the room that it would take.
    """

    def __init__(self, recording: Recording, rows: tuple[int, int] | None = None) -> None:
        """Take the columns of `recording`; of some `rows` alone, from a first one up to another."""
        self._recording = recording
        self._rows = rows

    def within(self, begin: int, end: int) -> Exchanges:
        """Some of these rows."""
        return Exchanges(self._recording, (begin, end))

    @cached_property
    def connection(self) -> Ints:
        """Index into `Connections`."""
        return self._recording._connection_of(self._column("stream").values)

    command = cached_property(_codes("command"))
    """What the protocol calls each."""
    purpose = cached_property(_codes("purpose"))
    """What each is for; the words are those of `core/src/protocols/purpose.rs`."""
    fingerprint = cached_property(_ints("fingerprint", missing=-1))
    """Index into the statements, -1 for none."""
    text = _Made(_ints("text", missing=-1))
    """The same for the text with its literals, where those are shown."""
    request = cached_property(_time("request_time"))
    """When the request's first packet passed; `MISSING` where it was not captured."""
    request_end = cached_property(_time("request_end_time"))
    """When its last did."""
    response = cached_property(_time("response_time"))
    """The answer's first."""
    response_end = cached_property(_time("response_end_time"))
    """The answer's last."""
    waited = _Made(_ints("waited_ns"))
    """How long the client waited: its last packet → the answer's first, over all round trips."""
    delta = _Made(_ints("delta_ns"))
    """Start of the previous request on the connection → start of this one."""
    client = _Made(_ints("client_ns"))
    """End of the previous response on the connection → start of this request."""
    round_trips = cached_property(_ints("round_trips"))
    """How often the client waited."""
    wait = cached_property(_codes("wait"))
    """Does the client wait for the answer? `own`, `shared`, `deferred` or `none` (`core/src/exchange/`)."""
    rows = _Made(_column("rows"))
    """How many came back."""
    affected_rows = _Made(_column("affected_rows"))
    """How many it changed."""
    error_code = cached_property(_codes("error_code"))
    """What the server calls the error that it answered with, -1 for none."""
    request_bytes = _Made(_ints("request_bytes"))
    """Messages, without TCP's and IP's headers."""
    response_bytes = _Made(_ints("response_bytes"))
    """Likewise."""
    request_wire_bytes = _Made(_ints("request_wire_bytes"))
    """As TCP carried them: compressed, with what TLS adds."""
    response_wire_bytes = _Made(_ints("response_wire_bytes"))
    """Likewise."""
    streamed_bytes = _Made(_ints("streamed_bytes"))
    """What of the request followed after the answer had begun."""
    retransmissions = _Made(_ints("retransmissions"))
    """Segments of it that were sent again."""
    stalled = _Made(_ints("stalled_ns"))
    """How long delayed acknowledgments held its packets back."""

    @property
    def is_compressed(self) -> bool:
        """TCP carried less than the messages."""
        return bool(self.response_wire_bytes.sum() < self.response_bytes.sum())

    @cached_property
    def kind(self) -> Codes:
        """What its statement does; the words are those of `core/src/sql/kind.rs`, -1 for no statement."""
        kinds = columns.codes(self._recording.statements_table, "kind")
        codes, fingerprint = np.append(kinds.codes, kinds.codes.dtype.type(-1)), self.fingerprint
        return Codes(self._filled(codes.dtype, lambda rows: codes[fingerprint[rows]]), kinds.names)

    @cached_property
    def complete(self) -> Bools:
        """All of it was captured."""
        return laid(self._recording.scratch, self._column("complete").values)

    def core(self, *names: str) -> Table:
        """Columns as the core has them, texts as numbers."""
        return self._recording.exchange_columns(*names, rows=self._rows)

    def _column(self, name: str) -> NullableArray:
        return self._recording.exchange_column(name, self._rows)

    def _filled(self, dtype: Any, values: Callable[[slice], Any]) -> NDArray[Any]:
        return filled(self._recording.scratch, len(self), dtype, values)

    def _ints(self, name: str, missing: int = MISSING) -> Ints:
        column = self._column(name)
        return filled(
            self._recording.scratch, len(column.values), np.int64, lambda rows: column.picked(rows).ints(missing)
        )

    def _time(self, name: str) -> Ints:
        return self._recording._since_start(self._column(name))

    def _codes(self, name: str) -> Codes:
        coded = self._recording.exchange_codes(name, self._rows)
        return Codes(laid(self._recording.scratch, coded.codes), coded.names)

    @property
    def begin(self) -> Ints:
        """The first packet of each; `MISSING` where none was captured."""
        unknown = self.request == MISSING
        return np.where(unknown, self.response, self.request) if unknown.any() else self.request

    @property
    def end(self) -> Ints:
        """The last packet of each; `MISSING` where none was captured."""
        return np.maximum(np.maximum(self.request_end, self.response_end), self.begin)

    @property
    def request_spread(self) -> Ints:
        """First packet of the request → its last one; `MISSING` unless all were captured."""
        return np.where(self.complete & (self.request != MISSING), self.request_end - self.request, MISSING)

    @property
    def response_spread(self) -> Ints:
        """The same of the response."""
        return np.where(self.complete & (self.response != MISSING), self.response_end - self.response, MISSING)

    def __len__(self) -> int:
        return len(self.connection)

    def forget(self) -> None:
        """Let go of what can be made again, for something that needs the room; what all measures ask for is kept."""
        if len(self) > FEW:
            columns.forget(self, but=("connection", "round_trips"))

    def is_for(self, *purposes: str) -> Bools:
        """Their purpose is one of these."""
        return self.purpose.where(purposes.__contains__)

    @cached_property
    def is_first(self) -> Bools:
        """The first of its connection."""
        first: Bools = np.diff(self.connection, prepend=-1) != 0
        return first

    @cached_property
    def failed(self) -> Bools:
        """The server answered with an error."""
        return self.error_code.codes >= 0

    @cached_property
    def is_setup(self) -> Bools:
        """Opens its connection."""
        return self.is_for("setup")

    @cached_property
    def is_execution(self) -> Bools:
        """Runs a statement."""
        return self.is_for("execute")

    @property
    def begins_transaction(self) -> Bools:
        """Begins a transaction, by a command or by SQL."""
        by_statement: Bools = self.is_execution & self.kind.where("begin".__eq__)
        return self.is_for("begin") | by_statement

    @property
    def ends_transaction(self) -> Bools:
        """Commits or rolls back, by a command or by SQL."""
        by_statement: Bools = self.is_execution & self.kind.where("end".__eq__)
        return self.is_for("end") | by_statement


class Samples(Entries, frozen=True):
    """In-stream RTT samples: data → its acknowledgment, at the capture point."""

    connection: NDArray[np.int32]
    by_server: Bools
    time: Ints
    """When the acknowledgment passed."""
    rtt: Ints
    segments: Ints
    in_flight: Ints
    """Segments under way when the acknowledged one was sent, itself included."""


class Readings(Entries, frozen=True):
    """What senders' clocks read when their data passed (TCP timestamps)."""

    connection: Ints
    by_server: Bools
    time: Ints
    ticks: Ints
    """Of the sender's clock, modulo 2³²."""


class ChangedTables:
    """The tables of a recording, of which a subclass changes some: what `Recording` takes."""

    def __init__(self, tables: Any) -> None:
        """Take those that they are made of."""
        self._tables = tables
        self.core = getattr(tables, "core", tables)
        """What the core has read, all of it."""
        self.real = getattr(tables, "real", None)
        """The tables with the names as they are, where others are shown."""

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        return getattr(self._tables, name)


class Recording:
    """One recording's tables: as the core gives them (Arrow), and as numpy columns of what counts."""

    def __init__(
        self,
        tables: Any,
        selected: Selected | None = None,
        period: tuple[int, int] | None = None,
        whole: Recording | None = None,
        scratch: Scratch | None = None,
    ) -> None:
        """Take over the tables of a `latpcap._core.Recording`, or of anything with the same methods.

        `selected` says what was selected. A window has a `period` (ns since 1970), when it begins and ends, and the
        `whole` recording of its connections, from which more is known of them. What does not fit in memory goes to
        `scratch`.
        """
        self._tables = tables
        self.scratch = scratch
        self.selected = selected
        self.period = period
        self.whole = whole

    @property
    def tables(self) -> Any:
        """What this was made from."""
        return self._tables

    @property
    def core(self) -> Any:
        """The `latpcap._core.Recording` behind it, whatever is selected or replaced."""
        return getattr(self._tables, "core", self._tables)

    @cached_property
    def captures_table(self) -> Table:
        """One row a file."""
        return Table.from_arrow(self._tables.captures())

    @cached_property
    def tick_ns(self) -> int:
        """How fine the captures' clocks are, the coarsest of all: 1 where it does not show."""
        return int(columns.column(self.captures_table, "tick_ns").ints(1).max(initial=1))

    @cached_property
    def notes_table(self) -> Table:
        """What the core noticed."""
        return Table.from_arrow(self._tables.notes())

    @cached_property
    def notes(self) -> list[tuple[str, str, str, int, int | None]]:
        """The same: code, severity, message and count of each."""
        return columns.notes(self.notes_table)

    @cached_property
    def is_relayed(self) -> bool:
        """A relay recorded it, or a part of it."""
        return any(code == "relayed" for code, *_ in self.notes)

    @cached_property
    def all_connections_table(self) -> Table:
        """Every TCP connection, database traffic or not."""
        return Table.from_arrow(self._tables.connections())

    @cached_property
    def taps_rows(self) -> list[dict[str, Any]]:
        """One row for each two taps that saw the same packets of a path."""
        rows: Any = Table.from_arrow(self._tables.taps()).to_struct_array()
        return [*rows.to_pylist()]

    @property
    def exchanges_table(self) -> Table:
        """One row an exchange, with every column: made anew each time."""
        return Table.from_arrow(self._tables.exchanges())

    def exchange_columns(self, *names: str, rows: tuple[int, int] | None = None) -> Table:
        """Some columns of the same, and of some rows, texts as numbers where the core has them so: likewise."""
        asked = ([*names],) if rows is None else ([*names], rows)
        return Table.from_arrow(self._tables.exchanges(*asked))

    def exchange_column(self, name: str, rows: tuple[int, int] | None = None) -> NullableArray:
        """One of them, of numbers or times."""
        return columns.column(self.exchange_columns(name, rows=rows), name)

    def exchange_codes(self, name: str, rows: tuple[int, int] | None = None) -> Codes:
        """One of them, of texts."""
        return columns.codes(self.exchange_columns(name, rows=rows), name)

    @cached_property
    def statements_table(self) -> Table:
        """Texts by id, and what they do where they are fingerprints."""
        return Table.from_arrow(self._tables.statements())

    @cached_property
    def ending_statements(self) -> Bools:
        """Which statements end a transaction, by id."""
        return columns.codes(self.statements_table, "kind").where("end".__eq__)

    @cached_property
    def statement_texts(self) -> Array:
        """Text by id."""
        text = self.statements_table.column("text")
        return text.chunk(0) if text.num_chunks == 1 else text.combine_chunks()

    @cached_property
    def statements(self) -> Texts:
        """The same, to look words up in."""
        return Texts.of(self.statement_texts)

    @cached_property
    def tag_texts(self) -> list[str]:
        """What statements say of the code that sent them, by number: `key='value'`, commas between, URL-encoded."""
        return [text or "" for text in columns.texts(Table.from_arrow(self._tables.tags()), "text")]

    @cached_property
    def database_rows(self) -> Ints:
        """Rows of the connection table that are database traffic."""
        return np.flatnonzero(columns.codes(self.all_connections_table, "protocol").codes >= 0)

    def connection_column(self, name: str) -> NullableArray:
        """A column of the connection table, of the database connections."""
        return columns.column(self.all_connections_table, name).picked(self.database_rows)

    def said(self, name: str) -> Codes:
        """A text column of the connection table, of the database connections."""
        return columns.codes(self.all_connections_table, name).picked(self.database_rows)

    @cached_property
    def timing_only(self) -> Bools:
        """The database connections of which nothing but times is known: what they say could not be read."""
        return self.connection_column("timing_only").values.astype(bool)

    @cached_property
    def start_ns(self) -> int:
        """First packet of the first database connection, in ns since 1970."""
        if self.period is not None:
            return self.period[0]
        starts = self.connection_column("start").values
        return int(starts.min()) if len(starts) else 0

    @cached_property
    def runtime_s(self) -> float:
        """First packet of the first database connection → last packet that carries data of one."""
        if self.period is not None:
            return (self.period[1] - self.period[0]) / 1e9
        if len(self.database_rows) == 0:
            return 0.0
        data_end = self.connection_column("data_end").ints(MISSING)
        last = data_end.max() if (data_end > MISSING).any() else self.connection_column("end").values.max()
        return max(float(last - self.start_ns), 0.0) / 1e9

    @cached_property
    def gaps(self) -> list[Gap]:
        """Where the files do not adjoin: what passed then was not recorded.

        A file begins where the one before it ended, or as soon as there is something to record: a gap is one that lasts
        for longer than a minute and than both of its files.
        """
        begin, end = (columns.column(self.captures_table, name).ints(MISSING) for name in ("first_time", "last_time"))
        found, latest = list[Gap](), -1
        for row in np.argsort(begin, kind="stable").tolist():
            if begin[row] == MISSING:
                continue
            if latest >= 0:
                longest = max(end[latest] - begin[latest], end[row] - begin[row], ADJOIN_NS)
                if begin[row] - end[latest] > longest:
                    found.append(Gap(latest, row, int(end[latest] - self.start_ns), int(begin[row] - self.start_ns)))
            if latest < 0 or end[row] > end[latest]:
                latest = row
        return found

    @cached_property
    def recorded_s(self) -> float:
        """The runtime without what lies between files that do not adjoin."""
        runtime_ns = round(self.runtime_s * 1e9)
        apart = sum(max(min(gap.end, runtime_ns) - max(gap.begin, 0), 0) for gap in self.gaps)
        return max(self.runtime_s - apart / 1e9, 0.0)

    @cached_property
    def clock_stepped_s(self) -> float:
        """By how much the capture's clock was set, forwards and backwards, as the database connections show."""
        stepped = self.connection_column("clock_stepped_ns").values
        return float(stepped.sum(dtype=float)) / 1e9

    @cached_property
    def connections(self) -> Connections:
        """The database connections."""
        table, rows = self.all_connections_table, self.database_rows
        client = self.said("client")
        return Connections(
            stream=columns.column(table, "stream").values[rows].astype(np.int64),
            client=client,
            host=client.renamed(host_of),
            server=self.said("server"),
            protocol=self.said("protocol"),
            handshake_retransmitted=columns.column(table, "handshake_retransmitted").values[rows],
            server_first=columns.column(table, "server_first").values[rows],
            under_way=self._under_way(table)[rows],
            **{name: self._time(table, column)[rows] for name, column in TIMES.items()},
            **{name: columns.column(table, column).ints(MISSING)[rows] for name, column in NUMBERS.items()},
        )

    @cached_property
    def exchanges(self) -> Exchanges:
        """The exchanges; the core makes them of database connections only."""
        return Exchanges(self)

    @property
    def exchange_count(self) -> int:
        """How many they are: a dataset says so without reading them."""
        known = getattr(self._tables, "exchange_count", None)
        return len(self.exchanges) if known is None else known

    @property
    def samples(self) -> Iterator[Samples]:
        """The in-stream RTT samples of the database connections, part by part: made anew each time."""
        for batch in RecordBatchReader.from_arrow(self._tables.rtt_samples()):
            table = Table.from_batches([batch])
            connection = self._connection_of(columns.column(table, "stream").values)
            keep = connection >= 0
            yield Samples(
                connection=connection[keep].astype(np.int32),
                by_server=columns.column(table, "by_server").values[keep].astype(bool),
                time=self._time(table, "time")[keep],
                rtt=columns.column(table, "rtt_ns").values[keep],
                segments=columns.column(table, "segments").values[keep].astype(np.int64),
                in_flight=columns.column(table, "in_flight").values[keep].astype(np.int64),
            )

    def _under_way(self, table: Table) -> Ints:
        """Only a window cuts exchanges."""
        return np.full(len(table), MISSING) if self.period is None else self._time(table, CUT)

    @cached_property
    def readings(self) -> Readings:
        """The senders' clocks on the database connections."""
        table = Table.from_arrow(self._tables.clock_readings())
        connection = self._connection_of(columns.column(table, "stream").values)
        keep = connection >= 0
        return Readings(
            connection=connection[keep],
            by_server=columns.column(table, "by_server").values[keep].astype(bool),
            time=self._time(table, "time")[keep],
            ticks=columns.column(table, "ticks").values[keep].astype(np.int64),
        )

    def _connection_of(self, stream: NDArray[Any]) -> Ints:
        """Index into `connections` of each stream number; -1 for those that are none."""
        streams = columns.column(self.all_connections_table, "stream").values[self.database_rows]
        highest = max(int(streams.max(initial=0)), int(stream.max(initial=0)))
        index = np.full(highest + 1, -1, np.int64)
        index[streams] = np.arange(len(streams))
        return filled(self.scratch, len(stream), np.int64, lambda rows: index[stream[rows]])

    def _time(self, table: Table, name: str) -> Ints:
        """A timestamp column as ns since `start_ns`; `MISSING` for null."""
        return self._since_start(columns.column(table, name))

    def _since_start(self, times: NullableArray) -> Ints:
        start_ns = self.start_ns

        def shifted(rows: slice) -> Ints:
            since: Ints = times.values[rows] - start_ns
            return since if times.valid is None else np.where(times.valid[rows], since, MISSING)

        return filled(self.scratch, len(times.values), np.int64, shifted)
