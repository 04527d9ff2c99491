"""The exchanges of a recording, as numpy columns that are made when they are asked for.

Times are nanoseconds since `Recording.start_ns`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from arro3.core import Table
from numpy.typing import NDArray

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Codes, Ints, NullableArray
from latpcap.tables.columnar.scratch import Scratch, build_column, spill
from latpcap.tables.connections import MISSING

V = TypeVar("V")

MAX_CACHED_ROWS = 1 << 12
"""A column of so few exchanges, as a small group of a ranking has, takes next to no memory, and longer to make
again."""


class ExchangeTables(Protocol):
    """The source of the columns: a `Recording`."""

    scratch: Scratch | None

    @property
    def statement_kinds(self) -> Codes:
        """The kind of each fingerprint, by id."""

    def exchange_columns(self, *names: str, rows: tuple[int, int] | None = None) -> Table:
        """Some columns as the core has them."""

    def exchange_column(self, name: str, rows: tuple[int, int] | None = None) -> NullableArray:
        """One of them, of numbers or times."""

    def exchange_codes(self, name: str, rows: tuple[int, int] | None = None) -> Codes:
        """One of them, of texts."""

    def connection_of(self, stream: NDArray[Any]) -> Ints:
        """Index into `Connections` of each stream number."""

    def since_start(self, times: NullableArray) -> Ints:
        """Timestamps as ns since the recording began."""


class _Uncached(Generic[V]):
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

    def __init__(self, recording: ExchangeTables, rows: tuple[int, int] | None = None) -> None:
        """Take the columns of `recording`; of some `rows` alone, from a first one up to another."""
        self._recording = recording
        self._rows = rows

    def within(self, begin: int, end: int) -> Exchanges:
        """Some of these rows."""
        return Exchanges(self._recording, (begin, end))

    @cached_property
    def connection(self) -> Ints:
        """Index into `Connections`."""
        return self._recording.connection_of(self._column("stream").values)

    command = cached_property(_codes("command"))
    """The protocol's name of each."""
    purpose = cached_property(_codes("purpose"))
    """The purpose of each; the words are those of `core/src/protocols/purpose.rs`."""
    fingerprint = cached_property(_ints("fingerprint", missing=-1))
    """Index into the statements, -1 for none."""
    text = _Uncached(_ints("text", missing=-1))
    """Index into the texts with literals, where those are shown; -1 for none."""
    request = cached_property(_time("request_time"))
    """When the request's first packet passed; `MISSING` where it was not captured."""
    request_end = cached_property(_time("request_end_time"))
    """When its last did."""
    response = cached_property(_time("response_time"))
    """The answer's first."""
    response_end = cached_property(_time("response_end_time"))
    """The answer's last."""
    waited = _Uncached(_ints("waited_ns"))
    """How long the client waited: its last packet → the answer's first, over all round trips."""
    delta = _Uncached(_ints("delta_ns"))
    """Start of the previous request on the connection → start of this one."""
    client = _Uncached(_ints("client_ns"))
    """End of the previous response on the connection → start of this request."""
    round_trips = cached_property(_ints("round_trips"))
    """How often the client waited."""
    wait = cached_property(_codes("wait"))
    """Does the client wait for the answer? `own`, `shared`, `deferred` or `none` (`core/src/exchange/`)."""
    rows = _Uncached(_column("rows"))
    """How many came back."""
    affected_rows = _Uncached(_column("affected_rows"))
    """How many it changed."""
    error_code = cached_property(_codes("error_code"))
    """The server's code of the error that it answered with, -1 for none."""
    request_bytes = _Uncached(_ints("request_bytes"))
    """Messages, without TCP's and IP's headers."""
    response_bytes = _Uncached(_ints("response_bytes"))
    """Messages of the response, without TCP's and IP's headers."""
    request_wire_bytes = _Uncached(_ints("request_wire_bytes"))
    """As TCP carried them: compressed, with what TLS adds."""
    response_wire_bytes = _Uncached(_ints("response_wire_bytes"))
    """The response as TCP carried it: compressed, with what TLS adds."""
    streamed_bytes = _Uncached(_ints("streamed_bytes"))
    """Bytes of the request that followed after the answer had begun."""
    retransmissions = _Uncached(_ints("retransmissions"))
    """Segments of it that were sent again."""
    stalled = _Uncached(_ints("stalled_ns"))
    """How long delayed acknowledgments held its packets back."""

    @property
    def is_compressed(self) -> bool:
        """TCP carried less than the messages."""
        return bool(self.response_wire_bytes.sum() < self.response_bytes.sum())

    @cached_property
    def kind(self) -> Codes:
        """The kind of its statement; the words are those of `core/src/sql/kind.rs`, -1 for no statement."""
        kinds = self._recording.statement_kinds
        codes, fingerprint = np.append(kinds.codes, kinds.codes.dtype.type(-1)), self.fingerprint
        return Codes(self._filled(codes.dtype, lambda rows: codes[fingerprint[rows]]), kinds.names)

    @cached_property
    def complete(self) -> Bools:
        """All of it was captured."""
        return spill(self._recording.scratch, self._column("complete").values)

    def core(self, *names: str) -> Table:
        """Columns as the core has them, texts as numbers."""
        return self._recording.exchange_columns(*names, rows=self._rows)

    def _column(self, name: str) -> NullableArray:
        return self._recording.exchange_column(name, self._rows)

    def _filled(self, dtype: Any, values: Callable[[slice], Any]) -> NDArray[Any]:
        return build_column(self._recording.scratch, len(self), dtype, values)

    def _ints(self, name: str, missing: int = MISSING) -> Ints:
        column = self._column(name)
        return build_column(
            self._recording.scratch, len(column.values), np.int64, lambda rows: column.picked(rows).ints(missing)
        )

    def _time(self, name: str) -> Ints:
        return self._recording.since_start(self._column(name))

    def _codes(self, name: str) -> Codes:
        coded = self._recording.exchange_codes(name, self._rows)
        return Codes(spill(self._recording.scratch, coded.codes), coded.names)

    @cached_property
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
        """First packet of the response → its last one; `MISSING` unless all were captured."""
        return np.where(self.complete & (self.response != MISSING), self.response_end - self.response, MISSING)

    def __len__(self) -> int:
        return len(self.connection)

    def forget(self, much: int = columns.MIN_RETURNED_BYTES) -> None:
        """Let go of what can be made again, for something that needs the room; what all measures ask for is kept."""
        if len(self) > MAX_CACHED_ROWS:
            columns.forget(self, but=("connection", "round_trips"), much=much)

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
