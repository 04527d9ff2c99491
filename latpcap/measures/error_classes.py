"""What an error code means for whoever must mend it: one word for each code of four databases.

A code with an SQLSTATE says it in the SQLSTATE's first two characters (ISO/IEC 9075, PostgreSQL's Appendix A); where an
SQLSTATE says nothing of its own (`HY000`) or there is none (Oracle), the server's number does: MySQL's and MariaDB's
server error reference, Oracle's *Database Error Messages*, Firebird's `iberror.h`.
"""

from __future__ import annotations

import re

__all__ = ["CLASSES", "class_of", "meaning_of"]

CLASSES = {
    "syntax": "invalid statement or missing object",
    "permission": "missing privilege",
    "data": "constraint violation or invalid value",
    "conflict": "lock conflict with another transaction",
    "aborted": "the transaction had already failed",
    "login": "login refused",
    "limit": "server resources exhausted",
    "ended": "interrupted: time-out, cancel, kill or shutdown",
    "application": "raised by application code in the database",
    "other": "another reason",
}
"""What each class says of a failure."""

_BY_STATE = {
    # The most telling first: a whole SQLSTATE before its class.
    "42501": "permission",
    "25P02": "aborted",
    "55P03": "conflict",
    "57014": "ended",
    "P0001": "application",
    "45000": "application",
    "HY008": "ended",
    "08004": "login",
    "0A": "syntax",
    "08": "ended",
    "21": "data",
    "22": "data",
    "23": "data",
    "28": "login",
    "3D": "login",
    "3F": "syntax",
    "40": "conflict",
    "42": "syntax",
    "44": "data",
    "53": "limit",
    "54": "limit",
    "57": "ended",
}


def _listed(**numbers: str) -> dict[str, str]:
    return {number: name for name, listed in numbers.items() for number in listed.split()}


_MYSQL = _listed(
    permission="1044 1142 1143 1227 1290 1370 1410 1836 1792",
    conflict="1205 1213 1614 3058 3101 3572",
    login="1045 1049 1129 1130 1131 1251 1524 1698 1820 1862 3118 3159 3955 4151",
    limit="1021 1037 1038 1040 1041 1114 1135 1153 1203 1226 1461",
    ended="1053 1077 1158 1159 1160 1161 1184 1317 1927 1969 1028 3024 4031",
    application="1644",
    syntax="1054 1064 1065 1109 1146 1243 1305 1210 1235 1327",
    data="1048 1062 1136 1216 1217 1242 1264 1265 1292 1364 1366 1406 1451 1452 3819 4025",
)
_FIREBIRD = _listed(permission="335544352", application="335544517")
_ORACLE = _listed(
    permission="1031 1720 1950",
    conflict="54 60 1555 4020 8177 30006",
    login="1004 1005 1017 1045 12504 12505 12514 12516 12518 12519 12520 12528 12541 12618 28000 28001 28040",
    limit="18 20 1536 1652 1653 1654 1688 4030 4031",
    ended="28 1012 1013 1033 1034 1089 1090 1092 2396 3113 3114 3135 12535 12537 12547 12570",
    aborted="25402 25408",
    syntax="900 903 904 905 906 907 911 918 923 933 936 942 947 955 979 1006 1008 1917 2289 4043 6550 6564 65096",
    data="1 1400 1401 1403 1407 1410 1422 1426 1427 1438 1476 1722 1830 1840 1843 2290 2291 2292 6502 12899",
)
_CODE = re.compile(r"(?P<oracle>ORA-)?(?P<number>\w+)(?: \((?P<state>\w{5})\))?")
_ORACLE_APPLICATION = range(20_000, 21_000)
"""Those of `raise_application_error`."""


_MEANINGS = {
    "mysql": {
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
    "postgresql": {
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
    "oracle": {
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
    "firebird": {
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
}
"""What the usual codes mean, in two or three words."""


def meaning_of(protocol: str, code: str) -> str:
    """Return what a code means; empty where its class alone is known.

    >>> meaning_of("mysql", "1213 (40001)"), meaning_of("oracle", "ORA-00060"), meaning_of("postgresql", "XX000")
    ('deadlock', 'deadlock', '')
    """
    found = _CODE.fullmatch(code)
    number = found["number"].lstrip("0") if found and found["oracle"] else found["number"] if found else ""
    return _MEANINGS.get(protocol, {}).get(number, "")


def class_of(protocol: str, code: str) -> str:
    """Return the class of an error's code, a key of `CLASSES`.

    >>> class_of("mysql", "1213 (40001)"), class_of("mysql", "1142 (42000)"), class_of("postgresql", "42P01")
    ('conflict', 'permission', 'syntax')
    >>> class_of("oracle", "ORA-00060"), class_of("oracle", "ORA-20001"), class_of("firebird", "335544665 (23000)")
    ('conflict', 'application', 'data')
    """
    if code == "no answer":
        return "ended"
    found = _CODE.fullmatch(code)
    if found is None:
        return "other"
    number = found["number"]
    if found["oracle"]:
        of_application = number.isdigit() and int(number) in _ORACLE_APPLICATION
        return "application" if of_application else _ORACLE.get(number.lstrip("0"), "other")
    numbers, state = {"mysql": _MYSQL, "firebird": _FIREBIRD}.get(protocol, {}), found["state"] or ""
    state = state or (number if protocol == "postgresql" else "")
    return numbers.get(number) or _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or "other"
