"""The meaning of an error code for whoever must fix it: one word for each code.

A code with an SQLSTATE says it in the SQLSTATE's first two characters (ISO/IEC 9075, PostgreSQL's Appendix A); where an
SQLSTATE says nothing of its own (`HY000`) or there is none (Oracle), the server's number does: `latpcap/protocols/`.
"""

from __future__ import annotations

import re

from latpcap.protocols import protocol_called

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
"""The sentence of each class."""

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


_CODE = re.compile(r"(?:ORA-0*)?(?P<number>\w+)(?: \((?:(?P<state>\w{5})|class \d+, state \d+)\))?")


def meaning_of(protocol: str, code: str) -> str:
    """Return what a code means; empty where its class alone is known.

    >>> meaning_of("mysql", "1213 (40001)"), meaning_of("oracle", "ORA-00060"), meaning_of("postgresql", "XX000")
    ('deadlock', 'deadlock', '')
    """
    found = _CODE.fullmatch(code)
    return protocol_called(protocol).error_meanings.get(found["number"], "") if found else ""


def class_of(protocol: str, code: str) -> str:
    """Return the class of an error's code, a key of `CLASSES`.

    >>> class_of("mysql", "1213 (40001)"), class_of("mysql", "1142 (42000)"), class_of("postgresql", "42P01")
    ('conflict', 'permission', 'syntax')
    >>> class_of("oracle", "ORA-00060"), class_of("oracle", "ORA-20001"), class_of("firebird", "335544665 (23000)")
    ('conflict', 'application', 'data')
    >>> class_of("sqlserver", "1205 (class 13, state 51)"), class_of("sqlserver", "50000 (class 16, state 1)")
    ('conflict', 'application')
    """
    if code == "no answer":
        return "ended"
    found = _CODE.fullmatch(code)
    if found is None:
        return "other"
    number, state = found["number"], found["state"] or ""
    spoken = protocol_called(protocol)
    state = state or (number if spoken.codes_are_states else "")
    return spoken.class_of(number) or _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or "other"
