"""SQL Server: *Database Engine events and errors*, [MS-TDS]."""

from __future__ import annotations

import struct

from latpcap.protocols.protocol import Protocol, Question, by_number

_PRELOGIN, _ANSWER, _LAST, _HEADER, _OPTION = 18, 4, 1, 8, 5
_END = b"\xff"
_VERSION, _ENCRYPTION, _NOT_SUPPORTED = 0, 1, 2


def _prelogin() -> bytes:
    """Its version and that it speaks no TLS: what it says next does not matter, as the connection ends."""
    version, encryption = bytes(6), bytes([_NOT_SUPPORTED])
    at = 2 * _OPTION + len(_END)
    options = struct.pack(">BHHBHH", _VERSION, at, len(version), _ENCRYPTION, at + len(version), len(encryption))
    body = options + _END + version + encryption
    return struct.pack(">BBHHBB", _PRELOGIN, _LAST, _HEADER + len(body), 0, 1, 0) + body


PROTOCOL = Protocol(
    "sqlserver",
    "SQL Server",
    error_classes=by_number(
        permission="229 230 262 297 300 916 15247 15517",
        conflict="1205 1222 3960 3961 41302 41305 41325",
        login="4060 4064 18452 18456 18461 18470 18486 18487 18488 40532 40615",
        limit="701 802 1101 1105 8645 8651 9002 10928 10929 40501 40544 40549 40551 40552 40553",
        ended="596 3617 6005 40143 40197 40613",
        aborted="3930 3998",
        syntax="102 105 137 156 170 195 201 207 208 209 213 214 319 343 2812 3701 4104 8144 8145 8146 8155 8178",
        data="206 220 232 241 242 244 245 248 512 515 544 547 2601 2627 2628 8114 8115 8134 8152",
    ),
    error_meanings={
        "102": "syntax error",
        "156": "syntax error",
        "207": "no such column",
        "208": "no such table",
        "229": "no permission",
        "245": "malformed value",
        "515": "null not allowed",
        "547": "foreign key or check",
        "1205": "deadlock",
        "1222": "lock wait time-out",
        "2601": "duplicate key",
        "2627": "duplicate key",
        "2628": "value too long",
        "2812": "no such procedure",
        "3960": "update conflict",
        "4060": "no such database",
        "8115": "value out of range",
        "8134": "division by zero",
        "8152": "value too long",
        "18456": "wrong user or password",
    },
    application_errors=range(50_000, 2**31),  # of `RAISERROR` and `THROW`
    question=Question(
        "answer to a pre-login",
        _prelogin(),
        lambda answer: answer[:2] == bytes((_ANSWER, _LAST)) and len(answer) > _HEADER,
        "each may leave a line in the server's error log",
    ),
)
