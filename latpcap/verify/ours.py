"""The view of latpcap on captures, in the form in which it is compared."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from arro3.core import Table as ArrowTable
from msgspec import Struct, field

from latpcap import _core
from latpcap.errors import CaptureError, UsageError
from latpcap.result.analysis import Measures
from latpcap.result.tables import exchange_table
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.table import Table
from latpcap.tables.part.selected import select
from latpcap.tables.part.selection import Selected, Selection
from latpcap.tables.reading.keys import key_log
from latpcap.tables.recording import Recording
from latpcap.units import DEFAULT_MEMORY_BYTES

NO_TIME = np.iinfo(np.int64).min
UNREADABLE = "unreadable"
"""The command of a turn of an encrypted connection."""


class Connection(Struct, frozen=True):
    """A TCP connection."""

    stream: int
    ends: frozenset[str]
    server: str
    protocol: str | None
    encrypted: bool
    timing_only: bool
    """Its content could not be read: it is encrypted."""
    compressed: bool
    state: str
    syn_ns: int | None
    syn_ack_ns: int | None
    ack_ns: int | None
    handshake_retransmitted: bool
    captured_twice: bool
    """Some of its packets were."""
    lost: bool
    """The capture misses bytes of it."""
    replication: bool


class Exchange(Struct, frozen=True):
    """A request with its response; frames are 0 where there is none."""

    stream: int
    number: int
    command: str
    is_setup: bool
    """Opens its connection."""
    statement: str | None
    fingerprint: str
    request_frame: int
    request_end_frame: int
    response_frame: int
    response_end_frame: int
    request_end_ns: int | None
    response_ns: int | None
    request_bytes: int
    round_trips: int
    retransmissions: int
    complete: bool
    failed: bool
    """The server answered with an error."""


class Ours(Struct, dict=True):
    """One recording as latpcap reads it."""

    files: list[dict[str, Any]]
    first_ns: int | None
    last_ns: int | None
    connections: list[Connection]
    exchanges: dict[int, list[Exchange]] = field(default_factory=dict)
    """By stream; what is encrypted is left out."""
    selected: Selected | None = None
    """Which connections these are; `None` for all."""

    @property
    def packets(self) -> int:
        """The packets of all files."""
        return sum(row["packets"] for row in self.files)

    @cached_property
    def ports(self) -> dict[str, set[int]]:
        """The server ports of each protocol."""
        found: dict[str, set[int]] = {}
        for connection in self.connections:
            if connection.protocol is not None:
                found.setdefault(connection.protocol, set()).add(int(connection.server.rpartition(":")[2]))
        return found

    @cached_property
    def by_stream(self) -> dict[int, Connection]:
        """The connections by their stream."""
        return {connection.stream: connection for connection in self.connections}

    def speaking(self, protocol: str) -> list[Connection]:
        """The connections that speak a protocol in clear or at least began to."""
        return [connection for connection in self.connections if connection.protocol == protocol]

    def of(self, protocol: str) -> Iterator[Exchange]:
        """The exchanges of a protocol."""
        for connection in self.speaking(protocol):
            yield from self.exchanges.get(connection.stream, ())

    def around(self, stream: int, frame: int) -> Iterator[Exchange]:
        """The exchanges of a stream that had begun and not ended in a frame."""
        for exchange in self.exchanges.get(stream, ()):
            ends = max(exchange.request_end_frame, exchange.response_end_frame)
            if exchange.request_frame <= frame <= ends:
                yield exchange


def read(
    paths: list[str],
    decode_as: dict[int, str],
    memory: int = DEFAULT_MEMORY_BYTES,
    progress: Any = None,
    selection: Selection | None = None,
    keylog: Any = None,
) -> Ours:
    """Read `paths` as one recording, or some of its connections, with literals: they are compared, never shown."""
    try:
        tables = _core.read(
            paths,  # type: ignore[arg-type]
            show_literals=True,
            decode_as=decode_as,
            memory=memory,
            keylog=key_log(keylog, memory=memory),
            progress=progress,
        )
    except _core.CaptureError as error:
        raise CaptureError(str(error)) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    recording = select(Recording(tables), selection or Selection())
    files = Table(recording.captures_table)
    ours = Ours(
        files.to_dicts(),
        min((time for time in _times(files, "first_time") if time is not None), default=None),
        max((time for time in _times(files, "last_time") if time is not None), default=None),
        list(_connections(Table(recording.all_connections_table))),
        selected=recording.selected,
    )
    for exchange in _exchanges(recording):
        if exchange.command != UNREADABLE:
            ours.exchanges.setdefault(exchange.stream, []).append(exchange)
    return ours


def _connections(table: Table) -> Iterator[Connection]:
    syn, syn_ack, ack = (_times(table, f"{name}_time") for name in ("syn", "syn_ack", "ack"))
    for index, row in enumerate(table.to_dicts()):
        yield Connection(
            stream=row["stream"],
            ends=frozenset((row["client"], row["server"])),
            server=row["server"],
            protocol=row["protocol"],
            encrypted=row["encryption"] is not None,
            timing_only=row["timing_only"],
            compressed=row["compression"] is not None,
            state=row["state"],
            syn_ns=syn[index],
            syn_ack_ns=syn_ack[index],
            ack_ns=ack[index],
            handshake_retransmitted=row["handshake_retransmitted"],
            captured_twice=row["duplicate_packets"] > 0,
            lost=row["lost_bytes"] > 0 or row["gaps"] > 0,
            replication=row["replication"],
        )


def _exchanges(recording: Recording) -> Iterator[Exchange]:
    if len(recording.database_rows) == 0:
        return
    table = exchange_table(Measures(recording))
    arrow = ArrowTable.from_arrow(table)
    texts = {name: columns.texts(arrow, name) for name in ("command", "statement", "fingerprint", "error")}
    numbers = {name: _ints(table, name) for name in NUMBERS}
    times = {name: _times(table, name) for name in ("request_end_time", "response_time")}
    complete = table.column("complete").tolist()
    is_setup = recording.exchanges.is_setup.tolist()
    for row in range(len(table)):
        yield Exchange(
            command=texts["command"][row] or "",
            is_setup=is_setup[row],
            statement=texts["statement"][row],
            fingerprint=texts["fingerprint"][row] or "",
            number=numbers["exchange"][row],
            request_end_ns=times["request_end_time"][row],
            response_ns=times["response_time"][row],
            complete=complete[row],
            failed=texts["error"][row] is not None,
            **{name: values[row] for name, values in numbers.items() if name != "exchange"},
        )


NUMBERS = (
    *("stream", "exchange", "request_frame", "request_end_frame", "response_frame", "response_end_frame"),
    *("request_bytes", "round_trips", "retransmissions"),
)


def _ints(table: Table, name: str) -> list[int]:
    return [int(value) for value in np.nan_to_num(table.column(name).astype(float))]


def _times(table: Table, name: str) -> list[int | None]:
    values = table.column(name).view(np.int64).tolist()
    return [None if value == NO_TIME else value for value in values]
