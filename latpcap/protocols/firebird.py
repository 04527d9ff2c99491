"""Firebird: `iberror.h`, and `connect` of its protocol."""

from __future__ import annotations

import struct

from latpcap.protocols.protocol import Protocol, Question, by_number


def _connect() -> bytes:
    """One protocol without any encryption: what it says next does not matter, as the connection ends."""
    connect, attach, connect_version, generic, no_text, one = 1, 19, 3, 1, 0, 1
    protocol, least_type, most_type, weight = 10, 2, 3, 2
    fields = connect, attach, connect_version, generic, no_text, one, no_text
    return struct.pack(">12I", *fields, protocol, generic, least_type, most_type, weight)


_ANSWERS = (3, 4, 9, 94, 98)
"""accept, reject, response, accept with data, conditional accept."""


PROTOCOL = Protocol(
    "firebird",
    "Firebird",
    error_classes=by_number(permission="335544352", application="335544517"),
    error_meanings={
        "335544321": "arithmetic error",
        "335544336": "deadlock",
        "335544345": "lock conflict",
        "335544347": "column validation failed",
        "335544352": "no permission",
        "335544466": "foreign key",
        "335544472": "wrong user or password",
        "335544517": "raised by a procedure",
        "335544558": "check constraint",
        "335544580": "no such table",
        "335544634": "syntax error",
        "335544665": "duplicate key",
    },
    empty_phrases=frozenset(("dynamic SQL error", "SQL error code = ?", "gds ?")),
    question=Question(
        "answer to connect",
        _connect(),
        lambda answer: len(answer) >= 4 and struct.unpack_from(">I", answer)[0] in _ANSWERS,
        "they leave no trace",
    ),
)
