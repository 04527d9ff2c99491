"""The least that makes a server of each protocol answer: no login, no statement, nothing that it keeps.

| protocol | asked | answered |
|---|---|---|
| MySQL | nothing: it speaks first | its greeting, or why it lets nobody in |
| PostgreSQL | SSLRequest, 8 bytes | one byte: `S` or `N` |
| Oracle | CONNECT with `COMMAND=ping`, as `tnsping` sends it | REFUSE, in which `ERR=0` |
| Firebird | `connect` with version 10 of the protocol | `accept` or `reject` |
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from msgspec import Struct

from latpcap._core import greeting_of

__all__ = ["QUESTIONS", "Question"]


class Question(Struct, frozen=True):
    """What is sent, what must come back, and what it does to the server."""

    protocol: str
    title: str
    called: str
    """The question with its answer, for people."""
    asks: bytes
    is_answer: Callable[[bytes], bool]
    leaves: str
    """What becomes of such connections at the server."""
    refusal: Callable[[bytes], str] = lambda answer: ""
    """What it says where it lets nobody in."""


_SSL_REQUEST = struct.pack(">II", 8, 80877103)

_PING = b"(CONNECT_DATA=(COMMAND=ping))"
_TNS_CONNECT = 58
"""Where the data begins."""
_TNS_CONNECT_TYPE, _TNS_REFUSE_TYPE = 1, 4


def _tns_connect() -> bytes:
    """Versions, options, sizes, the data's length and place; see `core/src/protocols/oracle/connect.rs`."""
    version, lowest, options, unit, transport, characteristics, turns, one = 318, 300, 0, 8192, 32767, 32632, 0, 1
    sizes = unit, transport, characteristics, turns, one, len(_PING), _TNS_CONNECT
    header = struct.pack(">HHBBH", _TNS_CONNECT + len(_PING), 0, _TNS_CONNECT_TYPE, 0, 0)
    return (header + struct.pack(">10H", version, lowest, options, *sizes)).ljust(_TNS_CONNECT, b"\0") + _PING


def _firebird_connect() -> bytes:
    """One protocol without any encryption: what it says next does not matter, as the connection ends."""
    connect, attach, connect_version, generic, no_text, one = 1, 19, 3, 1, 0, 1
    protocol, least_type, most_type, weight = 10, 2, 3, 2
    fields = connect, attach, connect_version, generic, no_text, one, no_text
    return struct.pack(">12I", *fields, protocol, generic, least_type, most_type, weight)


_FIREBIRD_ANSWERS = (3, 4, 9, 94, 98)
"""accept, reject, response, accept with data, conditional accept."""


def _mysql_refusal(answer: bytes) -> str:
    """The text of an ERR packet in the place of the greeting: `length u24 | 0 | ff | code u16 | text`."""
    return answer[7:].decode("utf-8", "replace") if answer[3:5] == b"\0\xff" else ""


QUESTIONS = {
    each.protocol: each
    for each in (
        Question(
            "mysql",
            "MySQL",
            "greeting",
            b"",
            lambda answer: greeting_of(answer) == "mysql",
            "each counts towards max_connect_errors (100 unless set) until this host next logs in",
            _mysql_refusal,
        ),
        Question(
            "postgresql",
            "PostgreSQL",
            "answer to SSLRequest",
            _SSL_REQUEST,
            lambda answer: answer in (b"S", b"N"),
            "each leaves a line in the log of a server with TLS",
        ),
        Question(
            "oracle",
            "Oracle",
            "answer to a ping of the listener",
            _tns_connect(),
            lambda answer: answer[4:5] == bytes((_TNS_REFUSE_TYPE,)),
            "each leaves a line in the listener's log",
        ),
        Question(
            "firebird",
            "Firebird",
            "answer to connect",
            _firebird_connect(),
            lambda answer: len(answer) >= 4 and struct.unpack_from(">I", answer)[0] in _FIREBIRD_ANSWERS,
            "they leave no trace",
        ),
    )
}
