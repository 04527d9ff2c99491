"""A scripted Oracle server: enough of TNS and TTC for genuine thin clients (python-oracledb, JDBC) on loopback.

It is a test peer, not a database: `script.run` answers SQL, and every session counts how often its client waited.
Profiles: `19c` (TNS 318) and `23ai` (TNS 319, fast authentication, marked ends of responses, pipelines).
Alone: `python -m oracle.scripted_server 1521 23ai` in `tests/`.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
import ssl
import struct
import sys
import threading
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from oracle.o5logon import Logon
from oracle.script import BLOB, BLOCK, CHANGE, CLOB, DATE, NUMBER, VARCHAR, Column, OracleError, Rows, run
from oracle.ttc import Reader, date, number, string, string_with_length, ub

CONNECT, ACCEPT, REFUSE, REDIRECT, DATA, RESEND, MARKER, CONTROL = 1, 2, 4, 5, 6, 11, 12, 14
END_OF_FILE, END_OF_RESPONSE = 0x40, 0x2000
BREAK, RESET = b"\1\0\1", b"\1\0\2"

# Capabilities as real servers of these versions send them.
COMPILE_CAPABILITIES = {
    "19c": "060101016f07010c010101010101017fff030e03030101ff01ffff010b0101ff01060be2017f050f0f0d07",
    "23ai": "06010101ef0f0118010101010101017fff031003030101ff01ffff010e0101ff01060cf6097f050fff0d0b00ff03"
    "00000000000702020d",
}
RUNTIME_CAPABILITIES = {"19c": "02010001180077", "23ai": "0201000118007f01020000"}
VERSION_NUMBERS = {"19c": "320208896", "23ai": "387588096"}
BANNER = b"Oracle Database 19c Standard Edition 2 Release 19.0.0.0.0 - Production\nVersion 19.22.0.0.0"
NO_NATIVE_SERVICES = bytes.fromhex(
    "deadbeef007500000000000400000400030000000000040005171a200000020006001f000e0001deadbeef00030000000200040001000100020000"
    "000000040005171a200000020006fbff000200020000000000040005171a20000001000200000300020000000000040005171a20000001000200"
)


@dataclass
class Profile:
    name: str = "19c"
    session_data_unit: int = 8192
    resend: bool = False
    redirect_port: int = 0
    native_services: bool = False
    bit_vectors: bool = False


@dataclass
class Cursor:
    number: int
    sql: str
    binds: int
    columns: list[Column] = field(default_factory=list)
    rows: Any = None
    kind: Any = None
    count: int = 0
    previous: tuple[Any, ...] | None = None
    row_counts: bool = False
    prefetched_lobs: list[int] = field(default_factory=list)


class Goodbye(Exception):
    """The client has closed the connection."""


class Wire:
    """TNS packets over a socket, and how often the client waited for one."""

    def __init__(self, sock: socket.socket, profile: Profile):
        self.sock, self.profile = sock, profile
        self.large = False
        self.unit = profile.session_data_unit
        self.inbox = b""
        self.heard = False
        self.waits = 0

    def packet(self) -> bytes:
        while True:
            if len(self.inbox) >= 8:
                length = int.from_bytes(self.inbox[: 4 if self.large else 2], "big")
                if len(self.inbox) >= length:
                    packet, self.inbox = self.inbox[:length], self.inbox[length:]
                    self.heard = True
                    return packet
            received = self.sock.recv(65536)
            if not received:
                raise Goodbye
            self.inbox += received

    def header(self, kind: int, length: int) -> bytes:
        length += 8
        return (struct.pack(">I", length) if self.large else struct.pack(">HH", length, 0)) + bytes([kind, 0, 0, 0])

    def answer(self, *packets: bytes) -> None:
        self.waits += self.heard
        self.heard = False
        self.sock.sendall(b"".join(packets))

    def send(self, kind: int, body: bytes = b"") -> None:
        self.answer(self.header(kind, len(body)) + body)

    def send_data(self, message: bytes, marks_end: bool) -> None:
        room = self.unit - 10
        parts = [message[at : at + room] for at in range(0, len(message), room)]
        flags = [0] * (len(parts) - 1) + [END_OF_RESPONSE if marks_end else 0]
        self.answer(
            *(
                self.header(DATA, len(part) + 2) + struct.pack(">H", flag) + part
                for part, flag in zip(parts, flags, strict=True)
            )
        )


class Session(threading.Thread):
    """One client, from its CONNECT to its goodbye."""

    def __init__(self, sock: socket.socket, profile: Profile):
        super().__init__(daemon=True)
        self.wire, self.profile = Wire(sock, profile), profile
        self.marks_ends = self.may_mark_ends = False
        self.field_version = 0
        self.strings_have_lengths = True
        self.authenticated = False
        self.transaction = 0
        self.end_to_end = 0
        self.token = 0
        self.cursors: dict[int, Cursor] = {}
        self.lobs: dict[bytes, tuple[int, Any]] = {}
        self.logon = Logon()
        self.calls: list[str] = []

    def run(self) -> None:
        with contextlib.suppress(Goodbye, ConnectionError), self.wire.sock:
            if self.connect():
                while True:
                    self.request()

    def request(self) -> None:
        packet = self.wire.packet()
        if packet[4] == MARKER:
            return
        if packet[4] != DATA or int.from_bytes(packet[8:10], "big") & END_OF_FILE:
            raise Goodbye
        message = packet[10:]
        while len(packet) >= self.wire.unit - 1:
            packet = self.wire.packet()
            message += packet[10:]
        self.message(message)

    # --- connecting ---

    def connect(self) -> bool:
        connect, data = self.connect_packet()
        if self.profile.resend:
            self.wire.send(RESEND)
            self.connect_packet()
        if self.profile.redirect_port:
            return self.redirect(data)
        if b"SERVICE_NAME=nosuch" in data:
            text = b"(DESCRIPTION=(TMP=)(VSNNUM=320208896)(ERR=12514)(ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))"
            self.wire.send(REFUSE, b"\x22\0" + struct.pack(">H", len(text)) + text)
            return False
        self.accept(connect)
        return True

    def connect_packet(self) -> tuple[bytes, bytes]:
        connect = self.wire.packet()
        length, offset = struct.unpack(">HH", connect[24:28])
        return connect, connect[offset : offset + length] or (self.wire.packet()[10:] if length else b"")

    def redirect(self, data: bytes) -> bool:
        host = self.wire.sock.getsockname()[0]
        text = f"(ADDRESS=(PROTOCOL=tcp)(HOST={host})(PORT={self.profile.redirect_port}))".encode() + b"\0" + data
        self.wire.answer(
            self.wire.header(REDIRECT, 2) + struct.pack(">H", len(text)),
            self.wire.header(DATA, len(text) + 2) + struct.pack(">H", END_OF_FILE) + text,
        )
        with contextlib.suppress(Goodbye):
            self.wire.packet()
        return False

    def accept(self, connect: bytes) -> None:
        wanted, options = struct.unpack(">H2xH", connect[8:14])
        version = min(wanted, 318 if self.profile.name == "19c" else 319)
        unit = self.wire.unit = min(self.profile.session_data_unit, struct.unpack(">I", connect[58:62])[0])
        flags = 0x1A000000 if version >= 319 else 0
        native = b"\x41\x01" if self.profile.native_services else b"\xc5\x00"
        body = struct.pack(
            ">HHHHHHH",
            version,
            0x0801 if options & 0x0800 else 1,
            min(unit, 65535),
            min(unit, 65535),
            256,
            0,
            61 if version >= 319 else 45,
        )
        body += native + bytes(8) + struct.pack(">IIBI", unit, unit, 0, flags)
        self.wire.send(ACCEPT, body + (secrets.token_bytes(16) if version >= 319 else b""))
        self.wire.large = True
        self.may_mark_ends = flags != 0

    # --- messages ---

    def answer(self, message: bytes) -> None:
        if self.token:
            message = b"\x21" + ub(self.token) + message
        self.wire.send_data(message + b"\x1d" * self.marks_ends, self.marks_ends)

    def message(self, message: bytes) -> None:
        match message[0]:
            case 0xDE:
                self.wire.answer(self.wire.header(DATA, len(NO_NATIVE_SERVICES) + 2) + b"\0\0" + NO_NATIVE_SERVICES)
            case 1:
                self.answer(self.protocol())
            case 2:
                response, marks_ends = self.data_types(Reader(message))
                self.answer(response)
                self.marks_ends = marks_ends
            case 34:
                self.fast_authentication(message)
            case _:
                self.functions(Reader(message))

    def protocol(self) -> bytes:
        formats = bytes([1, 0x24, 0x0F, 5, 0x0B, 0, 0, 0, 0]) + struct.pack(">H", 2000) + bytes(5)
        capabilities = (
            bytes.fromhex(table[self.profile.name]) for table in (COMPILE_CAPABILITIES, RUNTIME_CAPABILITIES)
        )
        charset = struct.pack("<H", 873) + b"\1\0\0"
        return (
            b"\1\6\0x86_64/Linux 2.4.xx\0"
            + charset
            + struct.pack(">H", len(formats))
            + formats
            + b"".join(map(string, capabilities))
        )

    def data_types(self, reader: Reader) -> tuple[bytes, bool]:
        reader.raw(5)
        self.strings_have_lengths = bool(reader.u8() & 2)
        compile_time, runtime = reader.string(), reader.string()
        response = b"\2"
        if runtime[1] & 1:
            versioned = len(compile_time) > 37 and compile_time[37] & 2
            reader.raw(15 if versioned else 11)
            response += bytes.fromhex("800000003c3c3c80000000") + (b"\0\0\0\x2d" if versioned else b"")
        if reader.message[reader.at : reader.at + 2] == b"\xd0\x07":  # JDBC names the national character set here
            reader.raw(2)
        while kind := int.from_bytes(reader.raw(2), "big"):
            converted = int.from_bytes(reader.raw(2), "big")
            response += struct.pack(">HH", kind, converted) + (reader.raw(4) if converted else b"")
        self.field_version = min(compile_time[7], bytes.fromhex(COMPILE_CAPABILITIES[self.profile.name])[7])
        marks_ends = self.may_mark_ends and len(compile_time) > 40 and bool(compile_time[40] & 0x20)
        return response + b"\0\0", marks_ends

    def fast_authentication(self, message: bytes) -> None:
        banner = message.index(b"\0", 4) + 1
        reader = Reader(message, message.index(b"\0", banner) + 1)
        reader.raw(6)
        data_types, self.marks_ends = self.data_types(reader)
        self.answer(self.protocol() + data_types + self.pairs(self.logon.challenge()) + self.end(1))

    def functions(self, reader: Reader) -> None:
        """Walk over piggybacks to the call."""
        while not reader.is_over:
            kind, function, sequence = reader.raw(3)
            if self.field_version >= 18 and self.authenticated:
                self.token = reader.ub()
            if kind == 26:
                self.calls.append("one_way")
                return
            if kind == 3:
                self.call(function, sequence, reader)
                return
            if function == 0x69:
                reader.u8()
                for _ in range(reader.ub()):
                    self.cursors.pop(reader.ub(), None)
            else:
                following = re.compile(rb"[\x03\x11][^\0]" + re.escape(bytes([(sequence + 1) & 255])))
                reader.at = following.search(reader.message, reader.at).start()

    def call(self, function: int, sequence: int, reader: Reader) -> None:
        match function:
            case 118:
                self.answer(self.pairs(self.logon.challenge()) + self.end(sequence))
            case 115:
                self.authenticate(sequence, reader.message)
            case 59:
                banner = string(BANNER) if self.strings_have_lengths else BANNER
                self.answer(b"\x08" + ub(len(BANNER)) + banner + b"\4\x13\x16\0\0" + self.status())
            case 94:
                self.execute(sequence, reader)
            case 5:
                self.fetch(sequence, self.cursors[reader.ub()], reader.ub())
            case 4 | 78:
                cursor, rows = self.cursors[reader.ub()], reader.ub()
                self.run_cursor(sequence, cursor, rows if function == 78 else 0, iterations=rows, again=True)
            case 96:
                self.lob(sequence, reader)
            case _:
                self.transaction &= 0 if function in (14, 15) else 2
                self.answer(self.status())

    # --- logon ---

    def pairs(self, pairs: list[tuple[str, str, int]]) -> bytes:
        written = (
            string_with_length(key.encode()) + string_with_length(value.encode()) + ub(flags)
            for key, value, flags in pairs
        )
        return b"\x08" + ub(len(pairs)) + b"".join(written)

    def authenticate(self, sequence: int, message: bytes) -> None:
        proof = self.logon.response(message)
        if proof is None:
            self.answer(self.end(sequence, error=OracleError(1017, "invalid username/password; logon denied")))
            return
        self.authenticated = True
        told = {
            "AUTH_VERSION_STRING": "- Production",
            "AUTH_VERSION_SQL": "24",
            "AUTH_XACTION_TRAITS": "3",
            "AUTH_VERSION_NO": VERSION_NUMBERS[self.profile.name],
            "AUTH_VERSION_STATUS": "0",
            "AUTH_CAPABILITY_TABLE": "",
            "AUTH_DBNAME": "FREEPDB1",
            "AUTH_DB_MOUNT_ID\0": "4035372866",
            "AUTH_DB_ID\0": "3928294024",
            "AUTH_USER_ID": "95",
            "AUTH_SESSION_ID": "699",
            "AUTH_SERIAL_NUM": "42146",
            "AUTH_INSTANCE_NO": "1",
            "AUTH_SERVER_PID": "4711",
            "AUTH_SC_SERVER_HOST": "fakedb",
            "AUTH_SC_DBUNIQUE_NAME": "FREE",
            "AUTH_SC_INSTANCE_NAME": "FREE",
            "AUTH_SC_INSTANCE_ID": "1",
            "AUTH_SC_DB_DOMAIN": "",
            "AUTH_SC_SERVICE_NAME": "freepdb1",
            "AUTH_INSTANCENAME": "FREE",
            "AUTH_MAX_OPEN_CURSORS": "300",
            "AUTH_MAX_IDEN_LENGTH": "128",
            "AUTH_NLS_LXLAN": "AMERICAN",
            "AUTH_NLS_LXCTERRITORY": "AMERICA",
            "AUTH_NLS_LXCCHARSET": "AL32UTF8",
            "AUTH_NLS_LXNCHARSET": "AL16UTF16",
            "AUTH_SVR_RESPONSE": proof,
        }
        self.answer(self.pairs([(key, value, 0) for key, value in told.items()]) + self.end(sequence))

    # --- ends of calls ---

    def status(self) -> bytes:
        self.end_to_end += 1
        return b"\x09" + ub(1 | self.transaction) + ub(self.end_to_end)

    def end(
        self, sequence: int, rows: int = 0, cursor: int = 0, error: OracleError | None = None, number: int = 3
    ) -> bytes:
        self.end_to_end += 1
        code = error.code if error else 0
        end = (
            b"\4" + ub(1 | self.transaction) + ub(self.end_to_end) + ub(rows) + ub(code) + b"\0\0" + ub(cursor) + b"\0"
        )
        end += bytes([number]) + bytes(5) + bytes(5) + b"\0\0" + bytes([sequence]) + b"\0" + ub(code in (0, 1403))
        end += bytes(4) + ub(code) + ub(rows)
        if self.field_version >= 14:
            end += ub(number) + b"\0"
        return end + (string(error.message) if error else b"")

    def fail(self, sequence: int, error: OracleError, cursor: int = 0) -> None:
        """An error interrupts: the client has to say that it is ready before it is told which."""
        self.wire.answer(*(self.wire.header(MARKER, 3) + marker for marker in (BREAK, RESET)))
        while self.wire.packet()[4] != MARKER:
            pass
        self.answer(self.end(sequence, cursor=cursor, error=error))

    # --- statements ---

    def execute(self, sequence: int, reader: Reader) -> None:
        options, cursor_number = reader.ub(), reader.ub()
        reader.u8()
        length = reader.ub()
        reader.skip("bubbu")
        prefetch = reader.ub()
        reader.skip("ub")
        binds = reader.ub()
        reader.skip("bbbbbb")
        defines = reader.ub()
        reader.skip("ubbbubuubub")
        reader.skip("bubub" * (self.field_version >= 8) + "bu" * (self.field_version >= 9))
        sql = None
        if length:
            sql = (reader.string() if self.strings_have_lengths else reader.raw(length)).decode()
        further = [reader.ub() for _ in range(13)]
        if sql is not None:
            cursor_number = max(self.cursors, default=0) + 1
            self.cursors[cursor_number] = Cursor(cursor_number, sql, binds)
        cursor = self.cursors[cursor_number]
        if options & 0x10 and not options & 0x20:  # define only
            cursor.prefetched_lobs = [self.define(reader) for _ in range(defines)]
            self.send_rows(sequence, cursor, max(prefetch, further[1]) if options & 0x40 else 0)
            return
        cursor.row_counts = bool(further[9] & 0x4000)
        self.run_cursor(sequence, cursor, prefetch, iterations=max(1, further[1]), new=sql is not None)

    def define(self, reader: Reader) -> int:
        """How much of a LOB the client wants with its row."""
        reader.raw(4)
        reader.skip("uu")
        flags = reader.ub()
        if reader.ub():
            reader.string()
        reader.skip("uub")
        longest = reader.ub()
        reader.skip("u" * (self.field_version >= 8))
        return longest if flags & 0x2000000 else 0

    def run_cursor(
        self, sequence: int, cursor: Cursor, rows: int, iterations: int, new: bool = False, again: bool = False
    ) -> None:
        try:
            cursor.kind = result = run(cursor.sql)
        except OracleError as error:
            self.fail(sequence, error, cursor.number)
            return
        parameters = self.parameters(cursor) if new else b""
        if isinstance(result, Rows):
            cursor.columns, cursor.rows, cursor.count, cursor.previous = result.columns, result.rows, 0, None
            has_lobs = any(column.is_lob for column in cursor.columns)
            description = self.description(cursor.columns) if new else b""
            self.send_rows(sequence, cursor, 0 if has_lobs and not again else rows, description, parameters)
        elif result is CHANGE:
            self.transaction = 2
            counts = [1] * iterations if cursor.row_counts else None
            parameters = self.parameters(cursor, counts) if new or counts else b""
            self.answer(parameters + self.end(sequence, iterations, cursor.number, number=2))
        else:
            directions = (
                b"\x0b\5" + ub(cursor.binds) + b"\0" + ub(1) + bytes(3) + b" " * cursor.binds
                if result is BLOCK and cursor.binds
                else b""
            )
            self.answer(
                directions + parameters + self.end(sequence, int(result is BLOCK), cursor.number, number=result.number)
            )

    def fetch(self, sequence: int, cursor: Cursor, rows: int) -> None:
        self.send_rows(sequence, cursor, rows)

    def send_rows(
        self, sequence: int, cursor: Cursor, wanted: int, description: bytes = b"", parameters: bytes = b""
    ) -> None:
        try:
            rows = list(islice(cursor.rows, wanted))
        except OracleError as error:
            self.fail(sequence, error, cursor.number)
            return
        cursor.count += len(rows)
        header = bytes([6, 0x22]) + ub(1) + b"\0" + ub(wanted) + bytes(3) if wanted else b""
        body = b"".join(self.row(cursor, row) for row in rows)
        over = OracleError(1403, "no data found") if len(rows) < wanted else None
        self.answer(description + header + body + parameters + self.end(sequence, cursor.count, cursor.number, over))

    def parameters(self, cursor: Cursor, counts: list[int] | None = None) -> bytes:
        listed = ub(len(counts)) + b"".join(map(ub, counts)) if counts is not None else b""
        return b"\x08" + ub(6) + ub(0x200F00) + b"\0" + ub(cursor.number) + bytes(6) + listed

    def description(self, columns: list[Column]) -> bytes:
        out = (
            b"\x10"
            + string(secrets.token_bytes(16) + date(2024, 5, 5))
            + ub(sum(column.size for column in columns))
            + ub(len(columns))
            + b"\x5c"
        )
        for position, column in enumerate(columns):
            out += bytes([column.kind, 0x80 * column.has_charset, column.precision, 0]) + ub(column.size) + bytes(4)
            out += ub(873 * column.has_charset) + bytes([column.has_charset]) + ub(column.size * column.has_charset)
            out += b"\0" * (self.field_version >= 8)
            out += (
                b"\1"
                + bytes([len(column.name)])
                + string_with_length(column.name.encode())
                + b"\0\0"
                + ub(position)
                + b"\0"
            )
            out += (
                b"\0\0" * (self.field_version >= 17)
                + b"\0" * (self.field_version >= 20)
                + b"\0\0\0" * (self.field_version >= 24)
            )
        return out + string_with_length(date(2024, 5, 5)) + b"\0" + ub(0x1FE8) + ub(2) + ub(2) + b"\0"

    def row(self, cursor: Cursor, row: tuple[Any, ...]) -> bytes:
        previous, cursor.previous = cursor.previous, row
        repeated = [
            self.profile.bit_vectors and previous is not None and previous[place] == value and not column.is_lob
            for place, (column, value) in enumerate(zip(cursor.columns, row, strict=True))
        ]
        vector = b""
        if any(repeated):
            bits = sum(1 << place for place, same in enumerate(repeated) if not same)
            vector = b"\x15" + ub(repeated.count(False)) + bits.to_bytes((len(row) + 7) // 8, "little")
        prefetched = cursor.prefetched_lobs or [0] * len(row)
        values = (
            self.value(*one)
            for one, same in zip(zip(cursor.columns, row, prefetched, strict=True), repeated, strict=True)
            if not same
        )
        return vector + b"\7" + b"".join(values)

    def value(self, column: Column, value: Any, prefetched: int) -> bytes:
        match column.kind:
            case _ if column.kind == NUMBER:
                return string(number(value))
            case _ if column.kind == VARCHAR:
                return string(value.encode())
            case _ if column.kind == DATE:
                return string(value)
            case _:
                return self.lob_value(column.kind, value, prefetched)

    # --- LOBs ---

    def lob_value(self, kind: int, value: Any, prefetched: int) -> bytes:
        locator = bytearray(40)
        struct.pack_into(">HH", locator, 0, 38, 4)
        locator[4:8] = bytes([1 if kind == BLOB else 2, 0x0C, 0x80 * (kind == CLOB), 0])
        struct.pack_into(">I", locator, 12, 1)
        struct.pack_into(">I", locator, 36, len(self.lobs) + 1)
        self.lobs[bytes(locator)] = (kind, value)
        out = ub(len(locator)) + ub(len(value)) + ub(8132)
        if prefetched:
            part = value[:prefetched]
            out += (b"\1" + ub(2000) + b"\1" + string(part.encode("utf-16-be"))) if kind == CLOB else string(part)
        return out + string(bytes(locator))

    def lob(self, sequence: int, reader: Reader) -> None:
        reader.u8()
        length = reader.ub()
        reader.skip("buuubbb")
        operation = reader.ub()
        reader.skip("bb")
        offset = reader.ub()
        reader.ub()
        has_amount = reader.u8()
        reader.raw(6)
        locator = reader.raw(length)
        amount = reader.ub() if has_amount and not reader.is_over else 0
        kind, value = self.lobs[locator]
        result, data = len(value), b""
        if operation == 2:
            part = value[offset - 1 : offset - 1 + amount]
            result, data = len(part), b"\x0e" + string(part if kind == BLOB else part.encode("utf-16-be"))
        elif operation == 0x4000:
            result = 8132
        self.answer(data + b"\x08" + locator + (ub(result) if has_amount else b"") + self.end(sequence))


class Server:
    """Listens on loopback, a thread for each client; a context manager. With `tls` its port is one of TCPS."""

    def __init__(self, profile: Profile | None = None, port: int = 0, tls: ssl.SSLContext | None = None):
        self.profile, self.tls = profile or Profile(), tls
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self.listener.getsockname()[1]
        self.sessions: list[Session] = []

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client = self.tls.wrap_socket(client, server_side=True) if self.tls else client
                self.sessions.append(Session(client, self.profile))
                self.sessions[-1].start()

    @property
    def waits(self) -> int:
        """How often clients waited for this server."""
        return sum(session.wire.waits for session in self.sessions)


if __name__ == "__main__":
    port, profile = [*sys.argv[1:], "19c"][:2]
    with Server(Profile(profile), int(port)) as server:
        print("listening on", server.port, flush=True)
        threading.Event().wait()
