"""What failed: which statements, logins and ends of transactions the server answered with an error.

Only what the server calls an error counts: a warning, a notice and the end of a cursor's rows are none. Each failure
counts once: an execution that was sent behind the prepare that failed adds nothing, and of a login its last answer
decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.tables import columns
from latpcap.tables.recording import MISSING, Exchanges, Recording

__all__ = ["KINDS", "Failures", "failures"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KINDS = ("statement", "login", "transaction", "other")
"""What failed: a statement (its prepare, execution or fetch), a login, the begin or end of a transaction, the rest."""
STATEMENT, LOGIN, TRANSACTION, OTHER = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class Failures:
    """The failing exchanges, and among how many of each kind they are."""

    rows: Ints
    """The exchanges that failed, ascending."""
    kind: Ints
    """Of each of `rows`, an index into `KINDS`."""
    count: Ints
    """How many of each of `KINDS` failed."""
    of: Ints
    """How many of each there were, failed or not; of the rest only those that failed."""
    unread_logins: int
    """Logins whose outcome is encrypted or was not captured."""
    cost: Ints
    """The exchanges that served what failed, ascending: of a login all that set its connection up."""
    cost_of: Ints
    """Which of `rows` each of `cost` served."""


def failures(recording: Recording) -> Failures:
    """Look for what failed."""
    exchanges = recording.exchanges
    transaction = _is_of_transaction(exchanges)
    statement = exchanges.is_for("execute", "prepare", "describe", "fetch")
    kind = np.select([exchanges.is_setup, transaction, statement], [LOGIN, TRANSACTION, STATEMENT], OTHER)
    login, decided = _logins(recording)
    echo = _follows_failed_prepare(exchanges)
    failed = exchanges.failed & ~echo & (~exchanges.is_setup | login)
    rows = np.flatnonzero(failed)
    count = np.bincount(kind[rows], minlength=len(KINDS))
    ran = exchanges.is_execution & ~transaction & ~echo
    never_ran = failed & (kind == STATEMENT) & exchanges.is_for("prepare", "describe")
    statements = max(int(np.count_nonzero(ran | never_ran)), int(count[STATEMENT]))
    of = np.array([statements, np.count_nonzero(login & decided), np.count_nonzero(transaction), count[OTHER]])
    cost, cost_of = _cost(exchanges, rows, echo)
    return Failures(rows, kind[rows], count, of, int(np.count_nonzero(login & ~decided)), cost, cost_of)


def _is_of_transaction(exchanges: Exchanges) -> Bools:
    """Begins or ends a transaction, by a command or by SQL."""
    by_statement = exchanges.is_execution & exchanges.kind.where({"begin", "end"}.__contains__)
    return np.asarray(exchanges.is_for("begin", "end", "transaction") | by_statement, bool)


def _follows_failed_prepare(exchanges: Exchanges) -> Bools:
    """Executions that were sent behind a prepare of the same statement, which failed."""
    behind = exchanges.is_execution & exchanges.failed & exchanges.wait.where("shared".__eq__)
    same = np.roll(exchanges.connection, 1) == exchanges.connection
    same &= np.roll(exchanges.fingerprint, 1) == exchanges.fingerprint
    prepare = np.roll(exchanges.failed & exchanges.is_for("prepare"), 1)
    prepare[:1] = False
    return np.asarray(behind & same & prepare, bool)


def _logins(recording: Recording) -> tuple[Bools, Bools]:
    """The exchanges that end a login, and those whose outcome was seen.

    A greeting that nobody answered is no login, if it is no refusal. What TLS encrypts says nothing of the login.
    """
    exchanges = recording.exchanges
    setup = np.flatnonzero(exchanges.is_setup)
    ends = setup[np.diff(exchanges.connection[setup], append=-1) != 0]
    login = np.zeros(len(exchanges), bool)
    login[ends] = (exchanges.request[ends] != MISSING) | exchanges.failed[ends]
    encryption = columns.texts(recording.all_connections_table, "encryption")
    hidden = np.array([encryption[row] == "tls" for row in recording.database_rows], bool)
    answered = exchanges.complete & (exchanges.response != MISSING) & ~hidden[exchanges.connection]
    return login, np.asarray(exchanges.failed | answered, bool)


def _cost(exchanges: Exchanges, rows: Ints, echo: Bools) -> tuple[Ints, Ints]:
    """The exchanges that served `rows`, and which of them each served."""
    serves = np.full(len(exchanges), -1, np.int64)
    serves[rows] = np.arange(len(rows))
    logins = rows[exchanges.is_setup[rows]]
    of_connection = np.full(int(exchanges.connection.max(initial=0)) + 1, -1, np.int64)
    of_connection[exchanges.connection[logins]] = serves[logins]
    setup = np.flatnonzero(exchanges.is_setup)
    serves[setup] = of_connection[exchanges.connection[setup]]
    behind = np.flatnonzero(echo)
    serves[behind] = serves[behind - 1]
    cost = np.flatnonzero(serves >= 0)
    return cost, serves[cost]
