"""Oracle: *Database Error Messages*, and `tnsping`."""

from __future__ import annotations

import struct

from latpcap.protocols.protocol import Protocol, Question, by_number

_PING = b"(CONNECT_DATA=(COMMAND=ping))"
_TNS_CONNECT = 58
"""The data's offset."""
_TNS_CONNECT_TYPE, _TNS_REFUSE_TYPE = 1, 4


def _tns_connect() -> bytes:
    """Versions, options, sizes, the data's length and place; see `core/src/protocols/oracle/connect.rs`."""
    version, lowest, options, unit, transport, characteristics, turns, one = 318, 300, 0, 8192, 32767, 32632, 0, 1
    sizes = unit, transport, characteristics, turns, one, len(_PING), _TNS_CONNECT
    header = struct.pack(">HHBBH", _TNS_CONNECT + len(_PING), 0, _TNS_CONNECT_TYPE, 0, 0)
    return (header + struct.pack(">10H", version, lowest, options, *sizes)).ljust(_TNS_CONNECT, b"\0") + _PING


PROTOCOL = Protocol(
    "oracle",
    "Oracle",
    error_classes=by_number(
        permission="1031 1720 1950",
        conflict="54 60 1555 4020 8177 30006",
        login="1004 1005 1017 1045 12504 12505 12514 12516 12518 12519 12520 12528 12541 12618 28000 28001 28040",
        limit="18 20 1536 1652 1653 1654 1688 4030 4031",
        ended="28 1012 1013 1033 1034 1089 1090 1092 2396 3113 3114 3135 12535 12537 12547 12570",
        aborted="25402 25408",
        syntax="900 903 904 905 906 907 911 918 923 933 936 942 947 955 979 1006 1008 1917 2289 4043 6550 6564 65096",
        data="1 1400 1401 1403 1407 1410 1422 1426 1427 1438 1476 1722 1830 1840 1843 2290 2291 2292 6502 12899",
    ),
    error_meanings={
        "1": "duplicate key",
        "54": "row is locked",
        "60": "deadlock",
        "904": "no such column",
        "942": "no such table",
        "1017": "wrong user or password",
        "1400": "null not allowed",
        "1438": "value out of range",
        "1722": "malformed number",
        "2291": "foreign key",
        "2292": "foreign key",
        "12514": "no such service",
        "12899": "value too long",
    },
    application_errors=range(20_000, 21_000),  # of `raise_application_error`
    question=Question(
        "answer to a ping of the listener",
        _tns_connect(),
        lambda answer: answer[4:5] == bytes((_TNS_REFUSE_TYPE,)),
        "each leaves a line in the listener's log",
    ),
)
