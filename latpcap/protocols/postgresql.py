"""PostgreSQL: Appendix A of its manual, and SSLRequest."""

from __future__ import annotations

import struct

from latpcap.protocols.protocol import Protocol, Question

_SSL_REQUEST = struct.pack(">II", 8, 80877103)

PROTOCOL = Protocol(
    "postgresql",
    "PostgreSQL",
    error_meanings={
        "22001": "value too long",
        "22003": "value out of range",
        "22012": "division by zero",
        "22P02": "malformed value",
        "23502": "null not allowed",
        "23503": "foreign key",
        "23505": "duplicate key",
        "23514": "check constraint",
        "25P02": "transaction aborted",
        "28000": "connection not permitted",
        "28P01": "wrong password",
        "3D000": "no such database",
        "40001": "serialization failure",
        "40P01": "deadlock",
        "42501": "no permission",
        "42601": "syntax error",
        "42703": "no such column",
        "42883": "no such function",
        "42P01": "no such table",
        "42P07": "table exists",
        "53300": "too many connections",
        "55P03": "row is locked",
        "57014": "cancelled",
        "57P01": "ended by an administrator",
        "57P03": "server is starting or stopping",
        "P0001": "raised by a procedure",
    },
    codes_are_states=True,
    question=Question(
        "answer to SSLRequest",
        _SSL_REQUEST,
        lambda answer: answer in (b"S", b"N"),
        "each leaves a line in the log of a server with TLS",
    ),
)
