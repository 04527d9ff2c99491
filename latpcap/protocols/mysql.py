"""MySQL and MariaDB: the server error reference of both."""

from __future__ import annotations

from latpcap._core import greeting_of
from latpcap.protocols.protocol import Protocol, Question, by_number


def _refusal(answer: bytes) -> str:
    """The text of an ERR packet in the place of the greeting: `length u24 | 0 | ff | code u16 | text`."""
    return answer[7:].decode("utf-8", "replace") if answer[3:5] == b"\0\xff" else ""


PROTOCOL = Protocol(
    "mysql",
    "MySQL",
    error_classes=by_number(
        permission="1044 1142 1143 1227 1290 1370 1410 1836 1792",
        conflict="1205 1213 1614 3058 3101 3572",
        login="1045 1049 1129 1130 1131 1251 1524 1698 1820 1862 3118 3159 3955 4151",
        limit="1021 1037 1038 1040 1041 1114 1135 1153 1203 1226 1461",
        ended="1053 1077 1158 1159 1160 1161 1184 1317 1927 1969 1028 3024 4031",
        application="1644",
        syntax="1054 1064 1065 1109 1146 1243 1305 1210 1235 1327",
        data="1048 1062 1136 1216 1217 1242 1264 1265 1292 1364 1366 1406 1451 1452 3819 4025",
    ),
    error_meanings={
        "1040": "too many connections",
        "1044": "no access to the database",
        "1045": "access denied",
        "1048": "null not allowed",
        "1049": "no such database",
        "1054": "no such column",
        "1062": "duplicate key",
        "1064": "syntax error",
        "1142": "no access to the table",
        "1146": "no such table",
        "1205": "lock wait time-out",
        "1213": "deadlock",
        "1264": "value out of range",
        "1292": "malformed value",
        "1305": "no such procedure",
        "1317": "interrupted",
        "1364": "value missing",
        "1366": "malformed value",
        "1406": "value too long",
        "1451": "foreign key",
        "1452": "foreign key",
        "1969": "statement time-out",
        "3024": "statement time-out",
        "3572": "row is locked",
    },
    question=Question(  # none: it speaks first, with its greeting, or says why it lets nobody in
        "greeting",
        b"",
        lambda answer: greeting_of(answer) == "mysql",
        "each counts towards max_connect_errors (100 unless set) until this host next logs in",
        _refusal,
    ),
)
