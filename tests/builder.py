"""Recordings made from a readable list of exchanges: the core's tables without a capture.

>>> recording = build([Conn(rtt_ms=10, exchanges=[Ex("query", sql="select ?", service_ms=1), Ex("query")])])
>>> recording.runtime_s
0.0...
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from arro3.core import Array, DataType, Table

from latpcap import _core
from latpcap.tables.host_curve import HostCurve
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.reading.sources import NOT_SHOWN
from latpcap.tables.recording import Recording

EPOCH_NS = 1_600_000_000_000_000_000
TIME = DataType.timestamp("ns", tz="UTC")
U8, U32, U64, I64 = DataType.uint8(), DataType.uint32(), DataType.uint64(), DataType.int64()
TEXT, BOOL = DataType.string(), DataType.bool()
TROUBLES = (
    *("client_packets", "server_packets", "data_packets", "spurious_retransmissions"),
    *("duplicate_packets", "cut_packets", "offloaded_packets", "reordered_packets"),
    *("duplicate_acks", "zero_windows", "timeouts", "timeout_ns", "stalls", "stalled_ns", "clock_steps"),
    "clock_stepped_ns",
    *("client_data_packets", "client_retransmissions", "client_spurious_retransmissions"),
    *("client_reordered_packets", "client_zero_windows"),
)
SMALL_TABLES = ("captures", "notes", "connections", "statements", "tags", "segments")
SEGMENTS = ("data_packets", "retransmissions", "spurious_retransmissions")
MS = 1_000_000
RESETS = ("client_reset_time", "server_reset_time")


PURPOSES = {
    **dict.fromkeys(("connect", "tls", "authenticate"), "setup"),
    **dict.fromkeys(("query", "execute", "stmt_execute"), "execute"),
    **dict.fromkeys(("fetch", "stmt_fetch"), "fetch"),
    "stmt_prepare": "prepare",
    "stmt_close": "close",
    "ping": "ping",
    "reset_connection": "session",
    "attention": "cancel",
    "quit": "disconnect",
    **dict.fromkeys(("unreadable", "unknown"), "unreadable"),
}
"""What the decoders say of the commands in these tests."""
KINDS = {
    **dict.fromkeys(("select", "with", "values"), "read"),
    **dict.fromkeys(("insert", "update", "delete"), "write"),
    **dict.fromkeys(("commit", "rollback"), "end"),
    "begin": "begin",
    **dict.fromkeys(("set", "discard", "savepoint"), "session"),
    "fetch": "fetch",
}
"""What the core says of the statements in these tests, by their first word."""


@dataclass
class Ex:
    """One exchange. By default its request follows the previous response after `client_ms`, and it waits once."""

    command: str = "query"
    sql: str | None = None
    client_ms: float = 0.0
    service_ms: float = 0.0
    request_ms: float = 0.0
    """First → last packet of the request."""
    transfer_ms: float = 0.0
    """First → last packet of the response."""
    round_trips: int = 1
    answered: bool = True
    at_ms: float | None = None
    """When the request starts, in ms since the connection began: for pipelines."""
    waited_ms: float | None = None
    rows: int | None = None
    affected_rows: int | None = None
    request_bytes: int = 100
    response_bytes: int = 100
    response_wire_bytes: int | None = None
    """As many where there are none."""
    error: str | None = None
    retransmissions: int = 0
    lost_before_ms: float = 0.0
    stalled_ms: float = 0.0
    silent_ms: float = 0.0
    request_silent_ms: float = 0.0
    request_paced_ms: float = 0.0
    response_paced_ms: float = 0.0
    told_ms: float = 0.0
    complete: bool = True
    parameters: int = 0
    tags: str | None = None
    transaction: str | None = None


CLIENT = ("driver", "driver_version", "driver_known_by", "framework", "framework_known_by")
TLS = ("tls_version", "tls_cipher", "server_name", "certificate_subject", "tls_resumed", "tls_reading")


@dataclass
class Conn:
    """One connection: SYN at `at_ms`, then its exchanges, as seen by whoever captured it."""

    exchanges: list[Ex] = field(default_factory=list)
    rtt_ms: float = 1.0
    at_ms: float = 0.0
    client: str = "10.0.0.1:40000"
    server: str = "10.0.0.2:3306"
    protocol: str | None = "mysql"
    near_share: float = 0.0
    """The part of the RTT between capture point and client: 0 at the client, 1 at the server."""
    handshake: bool = True
    handshake_rtt_ms: float | None = None
    handshake_retransmitted: bool = False
    mss: int = 1460
    window_bytes: int = 65_536
    window_limit_bytes: int = 65_535 << 7
    """What both sides announce, where there is a handshake."""
    greeting: bool = False
    replication: bool = False
    state: str = "complete"
    encryption: str | None = None
    tls: dict[str, Any] = field(default_factory=dict)
    """What the core says of it: `tls_version`, `server_name`, …; `tls_reading` is `no-keys` unless said."""
    user: str | None = "app"
    database: str | None = "shop"
    application: str | None = None
    software: dict[str, str] = field(default_factory=dict)
    """The driver and framework: columns of `CLIENT`."""
    server_version: str | None = "10.11.6-MariaDB"
    far_ms: list[float] = field(default_factory=list)
    """In-stream samples of two segments, acknowledged by the server."""
    near_ms: list[float] = field(default_factory=list)
    delayed_far_ms: list[float] = field(default_factory=list)
    """In-stream samples of one segment: candidates for delayed ACKs."""
    delayed_near_ms: list[float] = field(default_factory=list)
    far_answer_ms: float | None = None
    """The fastest data of the server that acknowledges the client's."""
    near_answer_ms: float | None = None
    tail_ms: float = 0.0
    server_fin_ms: float | None = None
    """The server hangs up so long after the last request; the client does right after it."""
    lost_bytes: int = 0
    retransmissions: int = 0
    session: int | None = None
    """A hash of what the server made up for this session."""


def build(connections: list[Conn], notes: list[tuple[str, str, str, int]] | None = None) -> Recording:
    """The recording that the core would give for `connections`."""
    return Recording(Rows(connections, notes or []).recording())


def build_awake(connections: list[Conn]) -> Recording:
    """Build a recording of hosts that were measured to answer as fast behind a rest."""
    recording = build(connections)
    hosts = {host_of(end) for each in connections for end in (each.client, each.server)}
    recording.host_curve = HostCurve((1.0,), (0.0,), frozenset(hosts))
    return recording


def _kind(sql: str) -> str:
    is_ping = sql in ("", "select ?", "select ? from dual", "do ?")
    return "ping" if is_ping else KINDS.get(sql.split(" ")[0], "other")


def _wire_bytes(ex: Ex) -> int:
    return ex.response_bytes if ex.response_wire_bytes is None else ex.response_wire_bytes


def _ns(milliseconds: float) -> int:
    return round(milliseconds * 1e6)


class Rows:
    """The rows of a recording's tables."""

    def __init__(self, connections: list[Conn], notes: list[tuple[str, str, str, int]]) -> None:
        self.texts: list[str] = []
        self.tag_texts: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.connection_rows: list[dict[str, Any]] = []
        self.note_rows = notes
        self.sample_rows: list[tuple[int, bool, int, int]] = []
        for stream, connection in enumerate(connections):
            self._connect(stream, connection)

    def _text(self, sql: str | None) -> int | None:
        if sql is None:
            return None
        shown = NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", sql)
        if shown not in self.texts:
            self.texts.append(shown)
        return self.texts.index(shown)

    def _tags(self, tags: str | None) -> int | None:
        if tags is None:
            return None
        if tags not in self.tag_texts:
            self.tag_texts.append(tags)
        return self.tag_texts.index(tags)

    def _connect(self, stream: int, c: Conn) -> None:
        rtt, near = _ns(c.rtt_ms), _ns(c.rtt_ms * c.near_share)
        start = EPOCH_NS + _ns(c.at_ms)
        shake = rtt if c.handshake_rtt_ms is None else _ns(c.handshake_rtt_ms)
        shake_near = round(shake * c.near_share)
        syn_ack, ack = start + shake - shake_near, start + shake
        now = ack if c.handshake else start
        previous_request: int | None = None
        previous_response: int | None = None
        awaited_until: int | None = None
        first = len(self.rows)
        if c.greeting:
            now = now + rtt - near
            self.rows.append(self._row(stream, 0, Ex("connect", round_trips=0), None, None, now, now, None, None, None))
            previous_response = now
            now += near
        for ex in c.exchanges:
            request = start + _ns(ex.at_ms) if ex.at_ms is not None else now + _ns(ex.client_ms)
            request_end = request + _ns(ex.request_ms)
            waited = (rtt - near) * max(ex.round_trips, 1) + _ns(ex.service_ms)
            if ex.waited_ms is not None:
                waited = _ns(ex.waited_ms)
            response = request_end + waited if ex.answered else None
            response_end = response + _ns(ex.transfer_ms) if response is not None else None
            delta = None if previous_request is None else request - previous_request
            client = None if previous_response is None else request - previous_response
            times = (request, request_end, response, response_end)
            number = len(self.rows) - first
            self.rows.append(self._row(stream, number, ex, *times, waited if ex.answered else None, delta, client))
            if ex.round_trips:
                awaited_until = response
            elif ex.answered:
                shares = awaited_until is not None and request <= awaited_until
                self.rows[-1]["wait"] = "shared" if shares else "deferred"
            previous_request = request
            previous_response = response_end or previous_response
            now = max(now, (response_end or request_end) + (near if ex.round_trips else 0))
        mine = self.rows[first:]
        ends = [
            row[name] for row in mine for name in ("request_end_time", "response_end_time") if row[name] is not None
        ]
        server_fin = None if c.server_fin_ms is None else mine[-1]["request_end_time"] + _ns(c.server_fin_ms)
        timed = c.handshake and not c.handshake_retransmitted
        data_end = max(ends) + _ns(c.tail_ms) if ends else None
        self.connection_rows.append(
            {
                "stream": stream,
                "client": c.client,
                "server": c.server,
                "protocol": c.protocol,
                "server_version": c.server_version,
                "user": c.user,
                "database": c.database,
                "application": c.application,
                **dict.fromkeys(CLIENT),
                **c.software,
                "encryption": c.encryption,
                "compression": None,
                **dict.fromkeys(TLS),
                "tls_reading": "no-keys" if c.encryption == "tls" else None,
                "timing_only": c.encryption is not None and c.tls.get("tls_reading") != "decrypted",
                **c.tls,
                "state": c.state,
                "replication": c.replication,
                "first_frame": 2 * first + 1,
                "last_frame": 2 * len(self.rows),
                "start": start,
                "end": data_end or ack,
                "data_end": data_end,
                "syn_time": start if c.handshake else None,
                "syn_ack_time": syn_ack if c.handshake else None,
                "ack_time": ack if c.handshake else None,
                "client_fin_time": None if server_fin is None else server_fin + near,
                "server_fin_time": server_fin,
                **dict.fromkeys(RESETS),
                "handshake_retransmitted": c.handshake_retransmitted,
                "server_handshake_ns": syn_ack - start if timed else None,
                "client_handshake_ns": ack - syn_ack if timed else None,
                "server_answer_ns": None if c.far_answer_ms is None else _ns(c.far_answer_ms),
                "client_answer_ns": None if c.near_answer_ms is None else _ns(c.near_answer_ms),
                "client_mss": c.mss if c.handshake else None,
                "server_mss": c.mss if c.handshake else None,
                "client_window_bytes": c.window_bytes if c.handshake else None,
                "server_window_bytes": c.window_bytes if c.handshake else None,
                "client_window_limit_bytes": c.window_limit_bytes if c.handshake else None,
                "server_window_limit_bytes": c.window_limit_bytes if c.handshake else None,
                "cancels": None,
                "session": c.session,
                "server_first": c.greeting,
                "exchanges": len(mine),
                "round_trips": sum(row["round_trips"] for row in mine),
                "request_bytes": sum(row["request_bytes"] for row in mine),
                "response_bytes": sum(row["response_bytes"] for row in mine),
                "retransmissions": c.retransmissions,
                "lost_bytes": c.lost_bytes,
                "gaps": 1 if c.lost_bytes else 0,
                **dict.fromkeys(TROUBLES, 0),
            }
        )
        for by_server, values, segments in (
            (True, c.far_ms, 2),
            (False, c.near_ms, 2),
            (True, c.delayed_far_ms, 1),
            (False, c.delayed_near_ms, 1),
        ):
            self.sample_rows += [(stream, by_server, _ns(value), segments) for value in values]

    def _row(
        self,
        stream: int,
        number: int,
        ex: Ex,
        request: int | None,
        request_end: int | None,
        response: int | None,
        response_end: int | None,
        waited: int | None,
        delta: int | None,
        client: int | None,
    ) -> dict[str, Any]:
        frame = len(self.rows) * 2 + 1
        return {
            "stream": stream,
            "exchange": number,
            "command": ex.command,
            "purpose": PURPOSES[ex.command],
            "fingerprint": self._text(ex.sql),
            "text": self._text(ex.sql),
            "parameters": ex.parameters,
            "tags": self._tags(ex.tags),
            "request_frame": frame if request is not None else None,
            "request_end_frame": frame if request is not None else None,
            "response_frame": frame + 1 if response is not None else None,
            "response_end_frame": frame + 1 if response is not None else None,
            "request_time": request,
            "request_end_time": request_end,
            "response_time": response,
            "response_end_time": response_end,
            "request_bytes": ex.request_bytes if request is not None else 0,
            "response_bytes": ex.response_bytes if response is not None else 0,
            "request_wire_bytes": ex.request_bytes if request is not None else 0,
            "response_wire_bytes": _wire_bytes(ex) if response is not None else 0,
            "streamed_bytes": 0,
            "round_trips": ex.round_trips,
            "wait": "own" if ex.round_trips else "none",
            "waited_ns": waited,
            "rows": ex.rows,
            "affected_rows": ex.affected_rows,
            "error": ex.error,
            "error_code": ex.error.partition(":")[0] if ex.error else None,
            "delta_ns": delta,
            "client_ns": client,
            "retransmissions": ex.retransmissions,
            "lost_before_ns": _ns(ex.lost_before_ms),
            "stalled_ns": _ns(ex.stalled_ms),
            "silent_ns": _ns(ex.silent_ms),
            "request_silent_ns": _ns(ex.request_silent_ms),
            "request_paced_ns": _ns(ex.request_paced_ms),
            "response_paced_ns": _ns(ex.response_paced_ms),
            "since_push_ns": _ns(ex.told_ms),
            "transaction": ex.transaction,
            "complete": ex.complete,
        }

    def recording(self) -> _core.Recording:
        """The core's recording of them."""
        tables = {name: [getattr(self, name)()] for name in SMALL_TABLES}
        return _core.Recording.of(tables, [(0, self.exchanges())], [self.rtt_samples()], contents=[None])

    def captures(self) -> Table:
        times = [row["start"] for row in self.connection_rows]
        return _table(
            [
                {
                    "path": "built.pcap",
                    "format": "pcap",
                    "packets": 2 * len(self.rows),
                    "bytes": 1000,
                    "first_time": min(times, default=None),
                    "last_time": max((row["end"] for row in self.connection_rows), default=None),
                    "tick_ns": self._tick_ns(),
                }
            ],
            {"path": TEXT, "format": TEXT, "packets": U64, "bytes": U64, "first_time": TIME, "last_time": TIME}
            | {"tick_ns": U64},
        )

    def _tick_ns(self) -> int | None:
        """What all times are multiples of, where there are enough of them."""
        names = ("request_time", "request_end_time", "response_time", "response_end_time")
        times = {row[name] for row in self.rows for name in names if row[name] is not None}
        return math.gcd(*times) if len(times) >= 16 else None

    def notes(self) -> Table:
        names = ("code", "severity", "message", "count")
        rows = [dict(zip(names, note, strict=True)) for note in self.note_rows]
        return _table(rows, {"code": TEXT, "severity": TEXT, "message": TEXT, "count": U64, "first_frame": U64})

    def connections(self) -> Table:
        return _table(self.connection_rows, _types("connections"))

    def exchanges(self) -> Table:
        return _table(self.rows, _types("exchanges"))

    def statements(self) -> Table:
        rows = [{"id": number, "text": text, "kind": _kind(text)} for number, text in enumerate(self.texts)]
        return _table(rows, {"id": U32, "text": TEXT, "kind": TEXT})

    def tags(self) -> Table:
        return _table([{"text": text} for text in self.tag_texts], {"text": TEXT})

    def rtt_samples(self) -> Table:
        names = ("stream", "by_server", "rtt_ns", "segments")
        rows = [
            dict(zip(names, sample, strict=True)) | {"time": EPOCH_NS, "in_flight": 1} for sample in self.sample_rows
        ]
        types = {"stream": U32, "by_server": BOOL, "time": TIME, "rtt_ns": I64, "segments": U32, "in_flight": U32}
        return _table(rows, types)

    def segments(self) -> Table:
        """Of each exchange a packet of either side, and those that the client sent again."""
        names = [f"{side}_{name}" for name in SEGMENTS for side in ("client", "server")]
        rows = [
            {"stream": row["stream"], "time": row["request_time"] // MS * MS, "length_ns": MS}
            | dict(zip(names, (1 + row["retransmissions"], 1, row["retransmissions"], 0, 0, 0), strict=True))
            for row in self.rows
            if row["request_time"] is not None
        ]
        return _table(rows, {"stream": U32, "time": TIME, "length_ns": I64} | dict.fromkeys(names, U32))


@cache
def _types(table: str) -> dict[str, Any]:
    """The columns of a table of the core: what no test builds is null."""
    none: Any = _core.Recording.of({}, [], [])
    schema = Table.from_arrow(getattr(none, table)()).schema
    kinds = {name: schema.field(name).type for name in schema.names}
    return {name: TEXT if DataType.is_dictionary(kind) else kind for name, kind in kinds.items()}


def _table(rows: list[dict[str, Any]], types: dict[str, Any]) -> Table:
    arrays: dict[str, Any] = {}
    for name, kind in types.items():
        values = [row.get(name) for row in rows]
        is_time = DataType.is_timestamp(kind)
        storage = I64 if is_time else kind
        array = Array(values, storage) if values else Array.from_numpy(np.empty(0, np.int64)).cast(storage)
        arrays[name] = array.cast(TIME) if is_time else array
    return Table.from_pydict(arrays)
