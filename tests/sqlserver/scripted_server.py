"""A scripted SQL Server: enough of TDS 7.4 and 8.0 for genuine clients on loopback.

It is a test peer, not a database: `script.run` answers SQL, and every connection counts how often its client waited.
Alone: `python -m sqlserver.scripted_server 1433 none` in `tests/`.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
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
SMP, SYN, ACK, FIN, DATA = 0x53, 1, 2, 4, 8
WINDOW = 4


class Goodbye(Exception):
    """The client has closed the connection."""


@dataclass
class Server:
    """Listens on loopback while the block runs; `waits` are those of all clients together."""

    encryption: str = NONE
    tls: ssl.SSLContext | None = None
    slow_seconds: float = 0.0
    port: int = 0
    sessions: list[Connection] = field(default_factory=list)

    def __enter__(self) -> Server:
        self.listener = socket.create_server(("127.0.0.1", self.port))
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
        self._flush(wrapped, waited)

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
        self.waits, self.requests = 0, []
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
            self.logged_in()
            return False
        mars = _option(asked, 4) == b"\1"
        encryption = AGREED[self.server.encryption]
        options = {0: bytes([16, 0, 0x10, 0x27, 0, 0]), 1: bytes([encryption]), 4: bytes([mars])}
        self.answer(_options(options))
        plain = self.wire
        if encryption in (0, 3):
            self.wire = Tls(plain, self.server.tls, self.waited, wrapped=True)
        kind, _ = self.message()
        if encryption == 0:
            self.wire = plain
        assert kind == tds.LOGIN
        self.logged_in()
        return mars

    def logged_in(self) -> None:
        acknowledged = b"\1" + bytes.fromhex("74000004") + tds.text("Microsoft SQL Server") + bytes([16, 0, 0x10, 0x27])
        self.answer(
            tds.token(0xE3, b"\1" + tds.text("shop") + tds.text("master"))
            + tds.token(0xE3, b"\7" + bytes([5]) + tds.COLLATION + b"\0")
            + tds.info(5701, "Changed database context to 'shop'.")
            + tds.token(0xAD, acknowledged)
            + tds.token(0xE3, b"\4" + tds.text("4096") + tds.text("4096"))
            + tds.done(tds.DONE, 0, 0)
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


class Session:
    """What is asked and answered, whatever carries it."""

    def __init__(self, connection: Connection, packet: Callable[[], Any], answer: Callable[[bytes], None]):
        self.connection, self.packet, self.answer = connection, packet, answer
        self.prepared: dict[int, str] = {}
        self.cursors: dict[int, Cursor] = {}
        self.transaction = 0

    def request(self) -> None:
        kind, body = whole(self.packet)
        match kind:
            case tds.BATCH:
                self.batch(body[struct.unpack_from("<I", body)[0] :].decode("utf-16-le"))
            case tds.CALL:
                self.calls(body)
            case tds.BULK:
                self.asks("bulk_load")
                self.answer(tds.done(tds.DONE, tds.COUNT, BULK, body.count(b"\xd1")))
            case tds.TRANSACTION:
                self.about_transaction(struct.unpack_from("<H", body, struct.unpack_from("<I", body)[0])[0])
            case tds.ATTENTION:
                self.asks("attention")
                self.answer(tds.done(tds.DONE, tds.ATTENDED, 0))

    def asks(self, request: str) -> None:
        self.connection.requests.append(request)

    def batch(self, sql: str) -> None:
        self.asks("batch")
        if "waitfor" in sql.lower():
            return  # until the client has had enough
        time.sleep(self.connection.server.slow_seconds)
        self.answer(self.statements(sql, tds.DONE))

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
                answers += tds.done(kind, tds.ERROR | (tds.MORE if kind == tds.DONE_IN_CALL else 0), 0)
                break
        return answers

    def statement(self, text: str, kind: int, more: int) -> bytes:
        word = text.strip().lower().removeprefix("if @@trancount > 0 ")
        if word.startswith(("begin tran", "commit", "rollback tran", "rollback")) and "savepoint" not in word:
            return self.changes(8 if word.startswith("begin") else 9) + tds.done(kind, more, OTHER)
        match run(text):
            case Rows() as rows:
                each = [tds.row(rows, values) for values in rows.rows]
                return tds.columns(rows) + b"".join(each) + tds.done(kind, more | tds.COUNT, SELECT, len(each))
            case Changed(command, count):
                return tds.done(kind, more | tds.COUNT, command, count)
            case _:
                return tds.done(kind, more, OTHER)

    # --- transactions ---

    def changes(self, kind: int) -> bytes:
        number = struct.pack("<BQ", 8, 77)
        return tds.token(0xE3, bytes([kind]) + (number + b"\0" if kind == 8 else b"\0" + number))

    def about_transaction(self, kind: int) -> None:
        self.asks({5: "begin", 7: "commit", 8: "rollback"}.get(kind, "transaction"))
        self.answer(self.changes({5: 8, 7: 9, 8: 10}[kind]) + tds.done(tds.DONE, 0, OTHER))

    # --- calls ---

    def calls(self, body: bytes) -> None:
        reader = tds.Reader(body)
        reader.headers()
        time.sleep(self.connection.server.slow_seconds)
        answers = []
        while not reader.is_over:
            name = reader.procedure()
            answers.append(self.call(PROCEDURES.get(name, name), reader.parameters()))
        ended = b"".join(self.over(answer, number < len(answers)) for number, answer in enumerate(answers, 1))
        self.answer(ended)

    @staticmethod
    def over(answer: bytes, more: bool) -> bytes:
        return answer + tds.done(tds.DONE_CALL, (tds.MORE | tds.CALL_IN_BATCH) if more else 0, 224)

    def call(self, name: str, given: list[Any]) -> bytes:
        known = str(name).lower().split(".")[-1]
        self.asks(known if known in PROCEDURES.values() or known == "sp_reset_connection" else "rpc")
        status = b"\x79" + bytes(4)
        match known:
            case "sp_executesql":
                return self.statements(given[0], tds.DONE_IN_CALL) + status
            case "sp_prepare" | "sp_cursorprepare":
                return status + tds.returned(self.prepare(given[2]))
            case "sp_prepexec":
                handle = self.prepare(given[2])
                return self.statements(given[2], tds.DONE_IN_CALL) + status + tds.returned(handle)
            case "sp_execute":
                return self.statements(self.prepared[given[0]], tds.DONE_IN_CALL) + status
            case "sp_cursoropen":
                return self.open_cursor(given[1])
            case "sp_cursorprepexec":
                handle = self.prepare(given[3])
                return self.open_cursor(given[3], tds.returned(handle))
            case "sp_cursorexecute":
                return self.open_cursor(self.prepared[given[0]])
            case "sp_cursorfetch":
                return self.fetch(self.cursors[given[0]], given[3])
            case _:
                return status

    def prepare(self, sql: str) -> int:
        self.prepared[len(self.prepared) + 1] = sql
        return len(self.prepared)

    def open_cursor(self, sql: str, before: bytes = b"") -> bytes:
        rows = run(sql)
        assert isinstance(rows, Rows)
        number = 180_150_000 + len(self.cursors) + 1
        self.cursors[number] = Cursor(rows, iter(rows.rows))
        described = tds.columns(rows) + tds.done(tds.DONE_IN_CALL, tds.MORE | tds.COUNT, SELECT, 0)
        numbers = b"".join(tds.returned(each, at + 1) for at, each in enumerate((number, 16, 1, 0)))
        return described + b"\x79" + bytes(4) + before + numbers

    @staticmethod
    def fetch(cursor: Cursor, count: int) -> bytes:
        each = [tds.row(cursor.rows, values) for values in islice(cursor.left, count)]
        ended = tds.done(tds.DONE_IN_CALL, tds.MORE | tds.COUNT, SELECT, len(each))
        return tds.columns(cursor.rows) + b"".join(each) + ended + b"\x79" + bytes(4)


if __name__ == "__main__":
    with Server(port=int(sys.argv[1]), encryption=sys.argv[2] if len(sys.argv) > 2 else NONE) as alone:
        threading.Event().wait()
