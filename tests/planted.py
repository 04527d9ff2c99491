"""Captures with secrets planted in every place where a session carries some.

| word | what it is | where it may be shown |
|---|---|---|
| `hush…` | a password, a key, a proof | never |
| `datum…`, 7310… | a literal, a bind value, a row, a file's content | in texts with `--show-literals` |
| `acme…` and the addresses | a name | not with `--pseudonymise` |
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import mysql_wire
from mysql_wire import message, tcp

CLIENT, SERVER = 0, 1
RAW_IP = 101
MSS = 1400
RTT_NS = 1_000_000
PROXY_CLIENT, PROXY_SERVER = ("203.0.113.7", 40001), ("203.0.113.9", 1521)

STATEMENTS = (
    "select datumalias from t where a = 7310001 and b = 'datumliteral'".replace("datumalias", "a"),
    "insert into t values ('datuma', 7310002), ('datumb', 7310003) -- password=hushcomment",
    "select * from orders where mail in ('datumin', 'datum''in') and n between 7310004 and 7310005",
    "create user acmebob password hushbare",
    "select dblink_connect('postgresql://u:hushuri@h/db'), dblink_connect('host=h password=hushkey')",
    "select connect('Server=h;Uid=u;Pwd=hushpwd;'), connect('scott/hushtns@orders')",
    "update accounts set passwd = md5('hushmd5'), api_key = 'hushapi' where id = 7310006",
    "select pgp_sym_encrypt('datumnot', 'hushpgp')".replace("'datumnot'", "a"),
    "copy t from 's3://b' credentials 'aws_access_key_id=a;aws_secret_access_key=hushaws'",
    "select 'a never closed datumopen",
    "insert into t values ('it's datumapostrophe', 7310020)",
    "select 'the dogs' datumstray bone', 'b'",
    "set my.api_key = hushassigned",
    "select * from accounts where token = hushcompared and a = 7310021",
    "select set_config('my.api_key', 'hushconfig', false)",
    "select run('till -phushoption'), run('till --password hushlong'), run('Bearer hushbearer')",
    "select * from t where mail = 'datumé\x1b[31m<b>datumhtml</b>'",
)
OF_DIALECT = {
    "mysql": (
        "create user 'acmebob'@'acmehost' identified by 'hushmysql'",
        "alter user acmebob identified with caching_sha2_password by 'hushnew' replace 'hushold'",
        "set password for acmebob = password('hushset')",
        "rename user acmecarl to acmedan, acmeeve to acmefred",
        "create definer = acmegus@acmehost view v as select 1",
        "show grants for acmehal@acmedesk",
        "change master to master_host='acmehost', master_password='hushmaster'",
        "change replication source to source_password='hushsource'",
        "create server s foreign data wrapper mysql options (user 'u', password 'hushserver')",
        'select * from t where mail = "datumdouble" and b = "it\\"s datumescaped"',
        "load data local infile 'datumpath' into table t",
        "prepare s from 'alter user x identified by ''hushprepared'' '",
        "select * from acmeshop.orders",
        "use acmecrm",
    ),
    "postgresql": (
        "select * from acmeshop.public.orders",
        "alter role acmebob with encrypted password 'hushpg'",
        'alter role acmebob password "hushdoublequoted"',
        "drop role acmecarl, acmedan",
        "reassign owned by acmeeve, acmefred to acmegus",
        "create user mapping for acmebob server s options (user 'u', password 'hushmapping')",
        "create subscription s connection 'host=h password=hushsubscription' publication p",
        "do $$ begin execute 'alter role x password ''hushdo'' '; perform $a$datumdollar$a$; end $$",
        "select E'it\\'s datumescape', U&'datumunicode', B'01', $x$datumtag$x$",
    ),
    "firebird": ("create user acmebob password 'hushfb'", "select * from t where mail = 'datumfb'"),
    "oracle": (
        "select * from acmeshop.orders",
        "create user acmebob identified by hushora",
        'alter user acmebob identified by "hushquoted" replace hushreplaced',
        "create database link l connect to acmebob identified by hushlink using 'datumlink'",
        "select q'[it's datumq]', n'datumnational' from dual",
    ),
    "sqlserver": (
        "select * from acmeshop.dbo.orders",
        "create login acmebob with password = N'hushlogin' old_password = 'hushold'",
        "open symmetric key k decryption by password = 'hushopen'",
        "create credential c with identity = 'u', secret = 'hushsecret'",
        "exec sp_addlinkedsrvlogin 's', 'false', null, 'u', 'hushlinked'",
        "exec sp_setapprole 'r', {encrypt N'hushrole'}, 'odbc'",
        "select * from openrowset('SQLNCLI', 'h';'u';'hushrowset', 'select 1')",
        "select [datumnot], N'datumnational' from [t]".replace("datumnot", "a"),
    ),
}


@dataclass
class Talk:
    """One TCP connection, written down packet by packet as raw IP."""

    client: tuple[str, int]
    server: tuple[str, int]
    packets: list[tuple[int, bytes]] = field(default_factory=list)
    now_ns: int = 1_700_000_000_000_000_000
    sequence: list[int] = field(default_factory=lambda: [1000, 5000])

    def __post_init__(self) -> None:
        self._packet(CLIENT, tcp.SYN)
        self.now_ns += RTT_NS
        self._packet(SERVER, tcp.SYN | tcp.ACK)
        self._packet(CLIENT, tcp.ACK)

    def say(self, side: int, payload: bytes) -> None:
        self.now_ns += RTT_NS
        for start in range(0, len(payload), MSS):
            self._packet(side, tcp.PUSH_ACK, payload[start : start + MSS])

    def ask(self, request: bytes, response: bytes) -> None:
        self.say(CLIENT, request)
        self.say(SERVER, response)

    def _packet(self, side: int, flags: int, payload: bytes = b"") -> None:
        (source, port), (target, to) = (self.client, self.server) if side == CLIENT else (self.server, self.client)
        numbers = self.sequence[side], self.sequence[1 - side] if flags & tcp.ACK else 0
        segment = struct.pack(">HHIIBBHHH", port, to, *numbers, 5 << 4, flags, 8192, 0, 0) + payload
        self.packets.append((self.now_ns, _ip(source, target, len(segment)) + segment))
        self.sequence[side] += len(payload) + bool(flags & tcp.SYN)
        self.now_ns += 10_000


def _ip(source: str, target: str, length: int) -> bytes:
    """The IP header of so many bytes of TCP."""
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    ends = socket.inet_pton(family, source) + socket.inet_pton(family, target)
    if family == socket.AF_INET6:
        return struct.pack(">IHBB", 6 << 28, length, socket.IPPROTO_TCP, 64) + ends
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 1, 0, 64, socket.IPPROTO_TCP, 0) + ends


def pcapng(talks: Iterable[Talk]) -> bytes:
    """The packets in a file whose comments, interface and key log hold secrets too."""
    comment = _option(1, b"hushcomment datumcomment")
    file = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + comment + _END)
    interface = _option(2, b"datumiface") + _option(3, b"datumdescription") + _option(9, b"\x09") + _END
    file += _block(1, struct.pack("<HHI", RAW_IP, 0, 0) + interface)
    file += _block(10, struct.pack("<II", 0x544C534B, 28) + b"CLIENT_RANDOM hushk hushkey\n")
    for time_ns, raw in sorted(packet for talk in talks for packet in talk.packets):
        head = struct.pack("<IIIII", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(raw), len(raw))
        file += _block(6, head + raw + bytes(-len(raw) % 4) + comment + _END)
    return file


_END = bytes(4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


# --- MySQL ----------------------------------------------------------------------------------------------------------


def _lenenc(*texts: bytes) -> bytes:
    return b"".join(bytes([len(text)]) + text for text in texts)


def mysql() -> list[Talk]:
    talk = Talk(("203.0.113.7", 40000), ("203.0.113.8", 3306))
    talk.say(SERVER, mysql_wire.greeting("10.11.6-MariaDB").replace(b"abcdefgh", b"hushsalt"))
    attributes = _lenenc(b"program_name", b"acmetill pwd=hushattribute", b"_secret", b"hushother")
    flags = 1 << 9 | 1 << 15 | 1 << 3 | 1 << 19 | 1 << 20
    login = struct.pack("<IIB23x", flags, 1 << 24, 45) + b"acmeuser\0" + _lenenc(b"hushproofhushproofhu")
    login += b"acmeshop\0mysql_native_password\0" + _lenenc(attributes)
    talk.ask(message(1, login), message(2, b"\xfemysql_clear_password\0hushseed\0"))
    talk.ask(message(3, b"hushclear\0"), message(4, mysql_wire.OK))
    for sql in (*STATEMENTS, *OF_DIALECT["mysql"]):
        answer = message(1, b"\xfbdatumpath") if "infile" in sql else mysql_wire.result(1)
        talk.ask(mysql_wire.query(sql), answer)
        if "infile" in sql:
            talk.ask(message(2, b"datumcontent,hushcontent") + message(3, b""), message(4, mysql_wire.OK))
    for text in (
        "Duplicate entry 'datumdup' it's' for key 'users.mail'",
        "Incorrect integer value: 'datum' s int' for column `t`.`c` at row 7310007",
        "check the right syntax to use near 'name = 'datumnear' and pin = '7310008'' at line 1",
        "near 'identified by hushnear' at line 1",
        "Access denied for user 'acmemary'@'acmedesk' (using password: YES)",
        "no server at mysql://u:hushfederated@h/",
    ):
        talk.ask(mysql_wire.query("select 7310009"), mysql_wire.error(text))
    talk.ask(mysql_wire.query("select b"), message(1, b"\xff\x6c\x06#45000datumsignal has no credit"))
    talk.ask(mysql_wire.query("create user x identified by hush y"), mysql_wire.error('at or near "hush"'))
    prepared = b"\0" + struct.pack("<IHHBH", 1, 0, 1, 0, 0)
    parameter = _lenenc(b"def", b"", b"", b"", b"?", b"") + struct.pack("<BHIBHBH", 12, 63, 0, 253, 0, 0, 0)
    end = b"\xfe\0\0\x02\0"
    talk.ask(
        message(0, b"\x16insert into t values (?)"), message(1, prepared) + message(2, parameter) + message(3, end)
    )
    bound = struct.pack("<IBI", 1, 0, 1) + b"\0\x01\xfd\0" + _lenenc(b"datumbind")
    talk.ask(message(0, b"\x17" + bound), message(1, mysql_wire.OK))
    changed = b"\x11acmeother\0" + _lenenc(b"hushchange") + b"acmecrm\0" + b"\x2d\0mysql_native_password\0"
    talk.ask(message(0, changed), message(1, mysql_wire.OK))
    talk.ask(message(0, b"\xddhushunknown datumunknown"), message(1, mysql_wire.OK))
    talk.ask(mysql_wire.query("select a from acmecrm.t"), mysql_wire.result(2))
    return [talk]


# --- PostgreSQL -----------------------------------------------------------------------------------------------------


def _pg(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack(">I", len(body) + 4) + body


_READY = _pg(b"Z", b"I")


def _pg_error(code: str, text: str) -> bytes:
    fields = {"S": "ERROR", "C": code, "M": text, "D": "Key (mail)=(datumdetail) already exists.", "H": "datumhint"}
    fields |= {"W": "PL/pgSQL datumwhere", "q": "select 'datuminternal'"}
    return _pg(b"E", b"".join(name.encode() + text.encode() + b"\0" for name, text in fields.items()) + b"\0") + _READY


def postgresql() -> list[Talk]:
    talk = Talk(("2001:db8::7", 40000), ("2001:db8::8", 5432))
    names = (
        b"user\0acmeuser\0database\0acmeshop\0application_name\0postgresql://acme:hushapp@h/x\0options\0hushoption\0\0"
    )
    talk.ask(struct.pack(">II", len(names) + 8, 3 << 16) + names, _pg(b"R", struct.pack(">I", 3)))
    talk.ask(_pg(b"p", b"hushclear\0"), _pg(b"R", struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"))
    first = b"n,,n=acmeuser,r=hushnonce"
    talk.ask(
        _pg(b"p", b"SCRAM-SHA-256\0" + struct.pack(">I", len(first)) + first),
        _pg(b"R", struct.pack(">I", 11) + b"r=hushnonce,s=hushsalt,i=4096"),
    )
    status = _pg(b"S", b"server_version\x0016.1\0") + _pg(b"S", b"datumsetting\0datumvalue\0")
    done = _pg(b"R", struct.pack(">I", 12) + b"v=hushsignature") + _pg(b"R", bytes(4)) + status
    talk.ask(_pg(b"p", b"c=biws,r=hushnonce,p=hushproof"), done + _pg(b"K", b"hushkey0") + _READY)
    rows = _pg(b"T", struct.pack(">H", 1) + b"a\0" + bytes(18))
    rows += _pg(b"D", struct.pack(">HI", 1, 8) + b"datumrow") + _pg(b"C", b"SELECT 1\0")
    notice = _pg(b"N", b"SNOTICE\0C00000\0Mdatumnotice\0\0")
    for sql in (*STATEMENTS, *OF_DIALECT["postgresql"]):
        talk.ask(_pg(b"Q", sql.encode() + b"\0"), notice + rows + _READY)
    for code, text in (
        ("22P02", 'invalid input syntax for type integer: "datumint"'),
        ("22023", 'time zone "datumzone" not recognized'),
        ("23502", "Failing row contains (7310010, datumfailing, null)."),
        ("23505", "Key (mail)=(datumkey) already exists."),
        ("42601", 'unterminated quoted string at or near "\'datumquote"'),
        ("28P01", 'password authentication failed for user "acmemary"'),
        ("28000", 'no pg_hba.conf entry for host "acmedesk", user "acmemary", database "acmeother"'),
        ("P0001", "datumraise has no credit"),
        ("08001", "could not connect to postgresql://u:hushdblink@h/db"),
    ):
        talk.ask(_pg(b"Q", b"select 7310011\0"), _pg_error(code, text))
    talk.ask(_pg(b"Q", b"alter role x password hush y\0"), _pg_error("42601", 'syntax error at or near "hush"'))
    parse = _pg(b"P", b"\0select a from t where b = $1 and c = 'datumparse'\0\0\0")
    bind = _pg(b"B", b"\0\0\0\0" + struct.pack(">HI", 1, 9) + b"datumbind" + b"\0\0")
    batch = parse + bind + _pg(b"D", b"P\0") + _pg(b"E", bytes(5)) + _pg(b"S", b"")
    talk.ask(batch, _pg(b"1", b"") + _pg(b"2", b"") + rows + _READY)
    talk.ask(_pg(b"Q", b"copy t from stdin\0"), _pg(b"G", b"\0\0\x01\0\0"))
    talk.ask(_pg(b"d", b"datumcopy\thushcopy\n") + _pg(b"c", b""), _pg(b"C", b"COPY 1\0") + _READY)
    talk.ask(_pg(b"Q", b"listen x\0"), _pg(b"A", bytes(4) + b"x\0datumpayload\0") + _pg(b"C", b"LISTEN\0") + _READY)
    talk.ask(b"\x01\x02datumgarbage hushgarbage", b"\x05datumgarbage")
    talk.ask(_pg(b"Q", b"select a from t\0"), rows + _READY)
    return [talk]


# --- Firebird -------------------------------------------------------------------------------------------------------


def _words(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}I", *(number & 0xFFFFFFFF for number in numbers))


def _buffer(value: bytes) -> bytes:
    return _words(len(value)) + value + bytes(-len(value) % 4)


def _clumplets(*values: tuple[int, bytes]) -> bytes:
    return b"".join(bytes([tag, len(value)]) + value for tag, value in values)


def _status(*items: int | bytes) -> bytes:
    """A failure: codes (1) with texts (2)."""
    vector = b"".join(_words(1, item) if isinstance(item, int) else _words(2) + _buffer(item) for item in items)
    return _words(9, 0, 0, 0, 0) + vector + _words(0)


_TEXT = bytes([5, 2, 4, 0, 2, 0, 14, 12, 0, 7, 0, 255, 76])
"""A message of one CHAR(12)."""


_GOOD = _words(9, 0, 0, 0, 0, 1, 0, 0)


def attached_to_firebird() -> Talk:
    """A connection behind its login, with a transaction and a statement."""
    talk = Talk(("203.0.113.7", 40000), ("203.0.113.8", 3050))
    path = b"/srv/acmecustomer/shop.fdb"
    user = _clumplets((9, b"acmeuser"), (8, b"Srp"), (7, b"\0hushpublic"), (4, b"hushhost"))
    hello = _words(1, 19, 3, 1) + _buffer(path) + _words(1) + _buffer(user) + _words(0xFFFF800F, 1, 0, 5, 2)
    accept = _words(94, 0xFFFF800F, 1, 5) + _buffer(b"hushsalt") + _buffer(b"Srp") + _words(0) + _buffer(b"hushkeys")
    talk.ask(hello, accept)
    values = ((28, b"acmeuser"), (29, b"hushdpb"), (30, b"hushencrypted"), (74, b"/opt/acmetill pwd=hushprocess"))
    talk.ask(_words(19, 0) + _buffer(path) + _buffer(b"\x01" + _clumplets(*values)), _GOOD)
    talk.ask(_words(29, 0) + _buffer(b"\x03\x09"), _words(9, 1, 0, 0, 0, 1, 0, 0))
    talk.ask(_words(62, 0), _words(9, 2, 0, 0, 0, 1, 0, 0))
    return talk


def prepare(talk: Talk, sql: str, answer: bytes = _GOOD) -> None:
    talk.ask(_words(68, 1, 2, 3) + _buffer(sql.encode()) + _buffer(b"\x15\x04") + _words(1024), answer)


def firebird() -> list[Talk]:
    talk = attached_to_firebird()
    for sql in (*STATEMENTS, *OF_DIALECT["firebird"]):
        prepare(talk, sql)
    for failure in (
        _status(335544334, b"datumconversion"),
        _status(335544901, b"datumargument", b"datum second"),
        _status(335544665, b"PK_T", b"T", 335545072, b"(\"MAIL\" = 'datum' s key')"),
        _status(335544517, b"7310012", 335544382, b"datumexception", b"datum has no credit"),
        _status(335544472, b"acmemary"),
    ):
        prepare(talk, "select 7310013 from t", failure)
    prepare(talk, "create user x password hush y", _status(335544634, b"1", b"2", 335544382, b"hush"))
    prepare(talk, "insert into t values (?)")
    row = _words(0) + b"datumbound12"
    talk.ask(_words(63, 2, 1) + _buffer(_TEXT) + _words(0, 1) + row, _GOOD)
    talk.ask(_words(63, 2, 1) + _buffer(_TEXT) + _words(0, 1) + row, _status(335544334, b"datumexecuted"))
    talk.ask(_words(65, 2) + _buffer(_TEXT) + _words(0, 10), _words(66, 0, 1, 0) + b"datumrow1234" + _words(66, 100, 0))
    talk.ask(_words(77, 2, 1), _words(9, 0, 0, 0) + _buffer(b"datumwrong hush") + _words(1, 0, 0))
    talk.ask(_words(65, 2) + _buffer(_TEXT) + _words(0, 10), _words(78, 0) + b"datumlost")
    prepare(talk, "select a from t")
    return [talk]


# --- Oracle ---------------------------------------------------------------------------------------------------------


class Recorder:
    """Passes one connection on to `port` and writes down what passes."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.talk = Talk(PROXY_CLIENT, PROXY_SERVER)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self._to = (host, port)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait until both sides have closed."""
        self._thread.join(5)

    def _accept(self) -> None:
        with self.listener:
            client, _ = self.listener.accept()
        with client, socket.create_connection(self._to) as server:
            back = threading.Thread(target=self._pass, args=(SERVER, server, client), daemon=True)
            back.start()
            self._pass(CLIENT, client, server)
            back.join(5)

    def _pass(self, side: int, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                with self._lock:
                    self.talk.say(side, data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


def failing(
    run: Callable[[str], Any], errors: Iterable[tuple[int, str]], kind: type[Exception]
) -> Callable[[str], Any]:
    """What a scripted server runs; of what is to fail each is the next error."""
    left = iter(errors)

    def answer(sql: str) -> Any:
        if "fails" in sql:
            raise kind(*next(left))
        return run(sql)

    return answer


def oracle(monkeypatch: Any) -> list[Talk]:
    """python-oracledb against the scripted server, which raises errors with values in them."""
    import oracledb
    from oracle import o5logon, scripted_server

    monkeypatch.setattr(o5logon, "PASSWORD", b"hushlogon")
    run = failing(scripted_server.run, ORACLE_ERRORS, scripted_server.OracleError)
    monkeypatch.setattr(scripted_server, "run", run)
    with scripted_server.Server() as server:
        recorder = Recorder(server.port)
        dsn = f"127.0.0.1:{recorder.port}/acmeshop"
        connection = oracledb.connect(
            user="acmeuser", password="hushlogon", dsn=dsn, disable_oob=True, program="acmetill"
        )
        cursor = connection.cursor()
        for sql in (*STATEMENTS, *OF_DIALECT["oracle"]):
            if sql.count("'") % 2 == 0:  # else the client refuses to send it
                cursor.execute(sql)
        cursor.execute("insert into items values (:1, :2)", [7310014, "datumbind"])
        for _ in ORACLE_ERRORS:
            try:
                cursor.execute("insert into fails values (7310015)")
            except oracledb.Error:
                continue
        connection.close()
        recorder.join()
    return [recorder.talk]


def sqlserver(monkeypatch: Any) -> list[Talk]:
    """python-tds against the scripted server, which raises errors with values in them."""
    import pytds
    from sqlserver import scripted_server

    run = failing(scripted_server.run, SQLSERVER_ERRORS, scripted_server.SqlServerError)
    monkeypatch.setattr(scripted_server, "run", run)
    with scripted_server.Server() as server:
        recorder = Recorder(server.port)
        names = {"user": "acmeuser", "password": "hushlogon", "appname": "acmetill"}
        connection = pytds.connect("127.0.0.1", "acmeshop", port=recorder.port, **names)
        cursor = connection.cursor()
        for sql in (*STATEMENTS, *OF_DIALECT["sqlserver"]):
            cursor.execute(sql)
        cursor.execute("insert into items values (%s, %s)", (7310014, "datumbind"))
        cursor.callproc("sp_addlogin", ("acmebob", "hushcalled"))
        for _ in SQLSERVER_ERRORS:
            with suppress(pytds.Error):
                cursor.execute("insert into fails values (7310015)")
        connection.close()
        recorder.join()
    return [recorder.talk]


SQLSERVER_ERRORS = (
    (245, "Conversion failed when converting the varchar value 'datumnumber' to data type int."),
    (2627, "Violation of PRIMARY KEY constraint 'pk'. The duplicate key value is (datumkey, 7310016)."),
    (2628, "String or binary data would be truncated in table 't', column 'c'. Truncated value: 'datumlong'."),
    (50000, "datumraise has no credit"),
    (18456, "Login failed for user 'acmemary'."),
    (7399, "cannot reach Server=h;Uid=u;Pwd=hushprovider;"),
)
ORACLE_ERRORS = (
    (1722, "unable to convert string value containing 'datumnumber' to a number: "),
    (3301, "(ORA-00001 details) row with column values (MAIL:'datumkey', ID:7310016) already exists"),
    (20001, "datumraise has no credit"),
    (12154, "cannot resolve scott/hushresolve@orders"),
)
