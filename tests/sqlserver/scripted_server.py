"""A scripted SQL Server: enough of TDS 7.4 and 8.0 for genuine clients on loopback.

It is a test peer, not a database: `script.run` answers SQL, and every connection counts how often its client waited.
Alone: `python -m sqlserver.scripted_server 1433 none [HOST SECONDS]` in `tests/`.
"""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sqlserver import tds
from sqlserver.script import BULK, OTHER, SELECT, Changed, Rows, SqlServerError, run

NONE, LOGIN_ONLY, ALL, STRICT = "none", "login", "all", "strict"
AGREED = {NONE: 2, LOGIN_ONLY: 0, ALL: 3, STRICT: 2}
"""What the pre-login says of encryption."""
PROCEDURES = {
    2: "sp_cursoropen", 3: "sp_cursorprepare", 4: "sp_cursorexecute", 5: "sp_cursorprepexec", 6: "sp_cursorunprepare",
    7: "sp_cursorfetch", 8: "sp_cursoroption", 9: "sp_cursorclose", 10: "sp_executesql", 11: "sp_prepare",
    12: "sp_execute", 13: "sp_prepexec", 15: "sp_unprepare",
}  # fmt: skip
DESCRIBING = "first_result_set", "undeclared_parameters", "parameter_encryption"
NAMED = {*PROCEDURES.values(), "sp_reset_connection", *(f"sp_describe_{what}" for what in DESCRIBING)}
SMP, SYN, ACK, FIN, DATA = 0x53, 1, 2, 4, 8
WINDOW = 4
CURSOR_INFO = 0x100


class Goodbye(Exception):
    """The client has closed the connection."""


@dataclass
class Server:
    """Listens while the block runs; `waits` are those of all clients together."""

    encryption: str = NONE
    tls: ssl.SSLContext | None = None
    slow_seconds: float = 0.0
    port: int = 0
    host: str = "127.0.0.1"
    sessions: list[Connection] = field(default_factory=list)

    def __enter__(self) -> Server:
        self.listener = socket.create_server((self.host, self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        for session in self.sessions:
            session.join(10)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                session = Connection(self.listener.accept()[0], self)
                self.sessions.append(session)
                session.start()

    @property
    def waits(self) -> int:
        return sum(session.waits for session in self.sessions)

    @property
    def rows(self) -> int:
        return sum(session.rows for session in self.sessions)

    @property
    def changes(self) -> int:
        return sum(session.changes for session in self.sessions)

    @property
    def requests(self) -> list[str]:
        """What was asked, in order, connection by connection."""
        return [request for session in self.sessions for request in session.requests]


class Plain:
    """Bytes as they pass."""

    def __init__(self, sock: socket.socket):
        self.sock, self.inbox = sock, b""

    def receive(self) -> bytes:
        received = self.sock.recv(65_536)
        if not received:
            raise Goodbye
        return received

    def read(self, length: int) -> bytes:
        while len(self.inbox) < length:
            self.inbox += self.receive()
        taken, self.inbox = self.inbox[:length], self.inbox[length:]
        return taken

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)


class Tls(Plain):
    """TLS whose handshake travels in pre-login packets, or does not (`wrapped`)."""

    def __init__(self, under: Plain, context: ssl.SSLContext, waited: Callable[[], None], *, wrapped: bool):
        super().__init__(under.sock)
        self.under, self.incoming, self.outgoing = under, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        while True:
            try:
                self.object.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush(wrapped, waited)
                self.incoming.write(self._handshake() if wrapped else under.receive())
        is_awaited = self.object.version() != "TLSv1.3"  # else these are tickets
        self._flush(wrapped, waited if is_awaited else lambda: None)

    def _handshake(self) -> bytes:
        header = self.under.read(tds.HEADER)
        return self.under.read(struct.unpack_from(">H", header, 2)[0] - tds.HEADER)

    def _flush(self, wrapped: bool, waited: Callable[[], None]) -> None:
        if made := self.outgoing.read():
            self.under.send(b"".join(tds.packets(tds.PRELOGIN, made)) if wrapped else made)
            waited()

    def receive(self) -> bytes:
        while True:
            try:
                if data := self.object.read(65_536):
                    return data
                raise Goodbye
            except ssl.SSLWantReadError:
                self.incoming.write(self.under.receive())
            except ssl.SSLZeroReturnError:
                raise Goodbye from None

    def send(self, data: bytes) -> None:
        self.object.write(data)
        self.under.send(self.outgoing.read())


class Connection(threading.Thread):
    """One client, from its pre-login to its goodbye."""

    def __init__(self, sock: socket.socket, server: Server):
        super().__init__(daemon=True)
        self.server, self.wire = server, Plain(sock)
        self.waits, self.requests, self.layout = 0, [], tds.Layout()
        self.rows = self.changes = 0
        self.sock = sock

    def run(self) -> None:
        with contextlib.suppress(Goodbye, ConnectionError, ssl.SSLError), self.sock:
            if self.server.encryption == STRICT:
                self.wire = Tls(self.wire, self.server.tls, self.waited, wrapped=False)
            mars = self.login()
            if mars:
                Multiplexer(self).serve()
            session = Session(self, self.packet, self.answer)
            while True:
                session.request()

    def waited(self) -> None:
        self.waits += 1

    def packet(self) -> tuple[int, int, bytes]:
        header = self.wire.read(tds.HEADER)
        kind, status, length = struct.unpack_from(">BBH", header)
        return kind, status, self.wire.read(length - tds.HEADER)

    def answer(self, body: bytes) -> None:
        self.waited()
        self.wire.send(b"".join(tds.packets(tds.ANSWER, body)))

    def message(self) -> tuple[int, bytes]:
        return whole(self.packet)

    def login(self) -> bool:
        """True where both wish for several sessions at once."""
        kind, asked = self.message()
        if kind == tds.LOGIN:  # an old client, which asks for nothing before
            self.logged_in(asked)
            return False
        mars = _option(asked, 4) == b"\1"
        can_seal = _option(asked, 1)[:1] != b"\2"
        encryption = AGREED[self.server.encryption] if can_seal or self.server.encryption != LOGIN_ONLY else 2
        options = {0: bytes([16, 0, 0x10, 0x27, 0, 0]), 1: bytes([encryption]), 4: bytes([mars])}
        self.answer(_options(options))
        plain = self.wire
        if encryption in (0, 3):
            self.wire = Tls(plain, self.server.tls, self.waited, wrapped=True)
        kind, login = self.message()
        if encryption == 0:
            self.wire = plain
        assert kind == tds.LOGIN
        self.logged_in(login)
        return mars

    def logged_in(self, login: bytes) -> None:
        self.layout = tds.Layout.agreed(login)
        name = tds.text("Microsoft SQL Server")
        acknowledged = b"\1" + self.layout.version + name + bytes([16, 0, 0x10, 0x27])
        self.answer(
            tds.token(0xE3, b"\1" + tds.text(tds.database(login)) + tds.text("master"))
            + tds.token(0xE3, b"\7" + bytes([5]) + tds.COLLATION + b"\0")
            + tds.info(5701, "Changed database context to 'shop'.")
            + tds.token(0xAD, acknowledged)
            + tds.token(0xE3, b"\4" + tds.text("4096") + tds.text("4096"))
            + self.layout.features
            + self.layout.done(tds.DONE, 0, 0)
        )


def whole(packet: Callable[[], tuple[int, int, bytes]]) -> tuple[int, bytes]:
    """A message: its packets up to the last one."""
    kind, status, body = packet()
    while not status & tds.LAST:
        _, status, more = packet()
        body += more
    return kind, body


def _option(body: bytes, wanted: int) -> bytes:
    at = 0
    while body[at] != 0xFF:
        option, offset, length = struct.unpack_from(">BHH", body, at)
        if option == wanted:
            return body[offset : offset + length]
        at += 5
    return b""


def _options(options: dict[int, bytes]) -> bytes:
    at, heads, data = 5 * len(options) + 1, b"", b""
    for option, value in options.items():
        heads += struct.pack(">BHH", option, at + len(data), len(value))
        data += value
    return heads + b"\xff" + data


class Multiplexer:
    """Sessions over one connection: SMP."""

    def __init__(self, connection: Connection):
        self.connection, self.sessions = connection, {}

    def serve(self) -> None:
        while True:
            header = self.connection.wire.read(16)
            kind, flags, number, length, _, window = struct.unpack("<BBHIII", header)
            body = self.connection.wire.read(length - 16)
            assert kind == SMP
            if flags == SYN:
                self.sessions[number] = Multiplexed(self.connection, number)
            self.sessions[number].takes(flags, body, window)
            if flags == FIN:
                self.sessions.pop(number)


class Multiplexed:
    """One of these sessions: it sends no more than its client has room for."""

    def __init__(self, connection: Connection, number: int):
        self.connection, self.number = connection, number
        self.sent, self.room, self.received = 0, WINDOW, 0
        self.outbox: list[bytes] = []
        self.inbox: list[tuple[int, int, bytes]] = []
        self.session = Session(connection, self.packet, self.answer)

    def packet(self) -> tuple[int, int, bytes]:
        return self.inbox.pop(0)

    def takes(self, flags: int, body: bytes, window: int) -> None:
        self.room = window
        self.flush()
        if flags == FIN:
            self.connection.wire.send(
                struct.pack("<BBHIII", SMP, FIN, self.number, 16, self.sent, self.received + WINDOW)
            )
        if flags != DATA:
            return
        self.received += 1
        kind, status = body[0], body[1]
        self.inbox.append((kind, status, body[tds.HEADER :]))
        if status & tds.LAST:
            self.session.request()

    def answer(self, body: bytes) -> None:
        self.connection.waited()
        self.outbox += tds.packets(tds.ANSWER, body)
        self.flush()

    def flush(self) -> None:
        while self.outbox and self.sent < self.room:
            packet = self.outbox.pop(0)
            self.sent += 1
            window = self.received + WINDOW
            header = struct.pack("<BBHIII", SMP, DATA, self.number, 16 + len(packet), self.sent, window)
            self.connection.wire.send(header + packet)


@dataclass
class Cursor:
    rows: Rows
    left: Iterator[tuple[Any, ...]]
    count: int


class Session:
    """What is asked and answered, whatever carries it."""

    def __init__(self, connection: Connection, packet: Callable[[], Any], answer: Callable[[bytes], None]):
        self.connection, self.packet, self.answer = connection, packet, answer
        self.layout = connection.layout
        self.prepared: dict[int, str] = {}
        self.cursors: dict[int, Cursor] = {}
        self.handle = ""
        self.pace = random.Random(7)

    def request(self) -> None:
        kind, body = whole(self.packet)
        match kind:
            case tds.BATCH:
                at = self.layout.behind_package(body, self.layout.behind_headers(body))
                self.batch(body[at:].decode("utf-16-le"))
            case tds.CALL:
                self.calls(body)
            case tds.BULK:
                self.asks("bulk_load")
                loaded = body.count(b"\xd1")
                self.connection.changes += loaded
                self.answer(self.layout.done(tds.DONE, tds.COUNT, BULK, loaded))
            case tds.TRANSACTION:
                self.about_transaction(struct.unpack_from("<H", body, self.layout.behind_headers(body))[0])
            case tds.ATTENTION:
                self.asks("attention")
                self.answer(self.layout.done(tds.DONE, tds.ATTENDED, 0))

    def asks(self, request: str) -> None:
        self.connection.requests.append(request)

    def batch(self, sql: str) -> None:
        self.asks("batch")
        if "waitfor" in sql.lower():
            return  # until the client has had enough
        self.work()
        self.answer(self.statements(sql, tds.DONE))

    def work(self) -> None:
        """As long as a server would: half to twice of what it was asked for."""
        time.sleep(self.connection.server.slow_seconds * self.pace.uniform(0.5, 2))

    def statements(self, sql: str, kind: int) -> bytes:
        """The answer to a text of several statements, one behind the other."""
        texts = [text for text in sql.split(";") if text.strip()] or [""]
        answers = b""
        for number, text in enumerate(texts, 1):
            more = tds.MORE if number < len(texts) or kind == tds.DONE_IN_CALL else 0
            try:
                answers += self.statement(text, kind, more)
            except SqlServerError as failed:
                answers += tds.error(failed.number, failed.message, failed.level)
                answers += self.layout.done(kind, tds.ERROR | (tds.MORE if kind == tds.DONE_IN_CALL else 0), 0)
                break
        return answers

    def statement(self, text: str, kind: int, more: int) -> bytes:
        word = text.strip().lower().removeprefix("if @@trancount > 0 ")
        if word.startswith(("begin tran", "commit", "rollback tran", "rollback")) and "savepoint" not in word:
            return self.changes(8 if word.startswith("begin") else 9) + self.layout.done(kind, more, OTHER)
        match run(text):
            case Rows() as rows:
                each = self.rows_of(rows, rows.rows)
                return (
                    self.layout.columns(rows)
                    + b"".join(each)
                    + self.layout.done(kind, more | tds.COUNT, SELECT, len(each))
                )
            case Changed(command, count):
                self.connection.changes += count
                return self.layout.done(kind, more | tds.COUNT, command, count)
            case _:
                return self.layout.done(kind, more, OTHER)

    def rows_of(self, rows: Rows, given: Iterable[tuple[Any, ...]]) -> list[bytes]:
        each = [tds.row(rows, values, is_wide=self.layout.is_wide) for values in given]
        self.connection.rows += len(each)
        return each

    # --- transactions ---

    def changes(self, kind: int) -> bytes:
        number = struct.pack("<BQ", 8, 77)
        return tds.token(0xE3, bytes([kind]) + (number + b"\0" if kind == 8 else b"\0" + number))

    def about_transaction(self, kind: int) -> None:
        self.asks({5: "begin", 7: "commit", 8: "rollback"}.get(kind, "transaction"))
        self.answer(self.changes({5: 8, 7: 9, 8: 10}[kind]) + self.layout.done(tds.DONE, 0, OTHER))

    # --- calls ---

    def calls(self, body: bytes) -> None:
        reader = tds.Reader(body, self.layout)
        self.work()
        answers = []
        while not reader.is_over:
            name = reader.procedure()
            given = reader.parameters()
            self.handle = reader.first_name
            answers.append(self.call(PROCEDURES.get(name, name), given))
        ended = b"".join(self.over(answer, number < len(answers)) for number, answer in enumerate(answers, 1))
        self.answer(ended)

    def over(self, answer: bytes, more: bool) -> bytes:
        return answer + self.layout.done(tds.DONE_CALL, (tds.MORE | tds.CALL_IN_BATCH) if more else 0, 224)

    def call(self, name: str, given: list[Any]) -> bytes:
        known = str(name).lower().split(".")[-1]
        self.asks(known if known in NAMED else "rpc")
        status = b"\x79" + bytes(4)
        match known:
            case "sp_executesql":
                return self.statements(given[0], tds.DONE_IN_CALL) + status
            case "sp_prepare" | "sp_cursorprepare":
                return status + self.layout.returned(self.prepare(given[2]), name=self.handle)
            case "sp_prepexec":
                handle = self.prepare(given[2])
                return self.statements(given[2], tds.DONE_IN_CALL) + status + self.layout.returned(handle)
            case "sp_execute":
                return self.statements(self.prepared[given[0]], tds.DONE_IN_CALL) + status
            case "sp_cursoropen":
                return self.open_cursor(given[1])
            case "sp_cursorprepexec":
                handle = self.prepare(given[3])
                return self.open_cursor(given[3], self.layout.returned(handle))
            case "sp_cursorexecute":
                return self.open_cursor(self.prepared[given[0]])
            case "sp_cursorfetch":
                return self.fetch(self.cursors[given[0]], *given[1:4])
            case _:
                return status

    def prepare(self, sql: str) -> int:
        self.prepared[len(self.prepared) + 1] = sql
        return len(self.prepared)

    def open_cursor(self, sql: str, before: bytes = b"") -> bytes:
        rows = run(sql)
        assert isinstance(rows, Rows)
        number = 180_150_000 + len(self.cursors) + 1
        all_rows = list(rows.rows)
        self.cursors[number] = Cursor(rows, iter(all_rows), len(all_rows))
        described = self.layout.columns(rows) + self.layout.done(tds.DONE_IN_CALL, tds.MORE | tds.COUNT, SELECT, 0)
        numbers = b"".join(self.layout.returned(each, at + 1) for at, each in enumerate((number, 16, 1, 0)))
        return described + b"\x79" + bytes(4) + before + numbers

    def fetch(self, cursor: Cursor, kind: int, _first: int, count: int) -> bytes:
        if kind == CURSOR_INFO:
            return b"\x79" + bytes(4) + self.layout.returned(0, 2) + self.layout.returned(cursor.count, 3)
        each = self.rows_of(cursor.rows, islice(cursor.left, count))
        ended = self.layout.done(tds.DONE_IN_CALL, tds.MORE | tds.COUNT, SELECT, len(each))
        return self.layout.columns(cursor.rows) + b"".join(each) + ended + b"\x79" + bytes(4)


if __name__ == "__main__":
    _, number, kind, *place = sys.argv
    where, seconds = place or ("127.0.0.1", "0")
    with Server(port=int(number), encryption=kind, host=where, slow_seconds=float(seconds)) as alone:
        print(f"listening on port {alone.port}", file=sys.stderr, flush=True)
        threading.Event().wait()
