"""Errors in a result: what failed, how often, with which code, and among how many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.findings import Evidence
from latpcap.findings.frames import MAX_STRETCHES, display_filter, frames_of_exchanges
from latpcap.measures.errors import KINDS, LOGIN, NO_ANSWER, STATEMENT, TRANSACTION, codes_said
from latpcap.tables import columns
from latpcap.tables.recording import MISSING, Recording
from latpcap.tables.times import iso
from latpcap.units import counted

__all__ = ["ErrorResult", "ErrorsResult", "errors_result", "of_all", "said_of_errors"]

Ints = NDArray[np.int64]

HUNG_UP = "the server closed the connection before it answered"
NOTABLE = 0.01
"""The share of failures of a kind from which on the verdict says so."""


@dataclass(frozen=True, slots=True)
class ErrorResult:
    """One error code of one statement, login or command."""

    count: int
    code: str
    """As the protocol has it: MySQL's number and SQLSTATE, PostgreSQL's SQLSTATE, `ORA-nnnnn`, Firebird's gds code."""
    kind: str
    """What failed: `statement`, `login`, `transaction` (its begin or end), `other`."""
    category: str
    """Why, in one word: see `latpcap.measures.error_classes`."""
    message: str
    """The server's words the first time, without the values that it repeats."""
    statement: str | None
    """The fingerprint, else the command's name."""
    protocol: str
    connections: int
    users: tuple[str, ...]
    round_trips: int
    """Of the failing exchanges; of a login those of its whole connection set-up, TCP's handshake apart."""
    seconds: float
    """From request to response of these, summed up: side by side counts twice."""
    first_frame: int | None
    last_frame: int | None
    first_time: str | None
    last_time: str | None
    display_filter: str
    """The packets in Wireshark, of the first 2,000."""


@dataclass(frozen=True, slots=True)
class ErrorsResult:
    """What failed, and among how many; see docs/errors.md."""

    failures: int
    statements: int
    failed_statements: int
    failed_share: float | None
    """Of the statements, 0 to 1; `None` without statements."""
    logins: int
    """Those whose outcome was seen."""
    failed_logins: int
    unread_logins: int
    """Logins whose outcome is encrypted or was not captured."""
    transactions: int
    """Begins and ends of transactions."""
    failed_transactions: int
    others: int
    """Other requests that failed."""
    round_trips: int
    seconds: float
    found: tuple[ErrorResult, ...]
    """The most frequent first."""

    @property
    def all_logins_failed(self) -> bool:
        """Nobody came in, so nothing was asked of the database."""
        return self.failed_logins > 0 and self.failed_logins == self.logins and self.statements == 0

    @property
    def by_kind(self) -> tuple[tuple[str, int, int], ...]:
        """Each kind that can be counted whole: how many failed, and of how many."""
        return (
            ("login", self.failed_logins, self.logins),
            ("statement", self.failed_statements, self.statements),
            ("transaction", self.failed_transactions, self.transactions),
        )

    @property
    def failed_of_all(self) -> str:
        """`30 of 42 statements, 1 of 2 logins`: of each kind what failed."""
        said = [of_all(kind, failed, every) for kind, failed, every in self.by_kind if failed]
        return ", ".join((*said, *([counted(self.others, "other request")] if self.others else [])))

    def codes(self, kind: str | None = None) -> str:
        """What failed by code, the most frequent first: `1146 × 20, 1064 × 10`; `kind` of it only."""
        return codes_said((each.code, each.count) for each in self.found if kind in (None, each.kind))


def said_of_errors(errors: ErrorsResult) -> str:
    """What the verdict says of them; nothing where few failed."""
    said = [
        f"{of_all(kind, failed, every)} failed: {errors.codes(kind)}."
        for kind, failed, every in errors.by_kind
        if failed and failed >= NOTABLE * every
    ]
    return " ".join(said)


def of_all(kind: str, failed: int, every: int) -> str:
    """Return how many of a kind failed.

    >>> of_all("statement", 1, 1), of_all("transaction", 1, 2)
    ('1 of 1 statement', '1 of 2 transaction commands')
    """
    return f"{failed:,} of {counted(every, 'transaction command' if kind == 'transaction' else kind)}"


def errors_result(evidence: Evidence) -> ErrorsResult:
    """Sum up what failed by code and statement."""
    failures = evidence.failures
    count, of = failures.count, failures.of
    found = sorted(_found(evidence), key=lambda each: -each.count)
    return ErrorsResult(
        failures=len(failures.rows),
        statements=int(of[STATEMENT]),
        failed_statements=int(count[STATEMENT]),
        failed_share=float(count[STATEMENT] / of[STATEMENT]) if of[STATEMENT] else None,
        logins=int(of[LOGIN]),
        failed_logins=int(count[LOGIN]),
        unread_logins=failures.unread_logins,
        transactions=int(of[TRANSACTION]),
        failed_transactions=int(count[TRANSACTION]),
        others=len(failures.rows) - int(count[[STATEMENT, LOGIN, TRANSACTION]].sum()),
        round_trips=sum(each.round_trips for each in found),
        seconds=sum(each.seconds for each in found),
        found=tuple(found),
    )


def _found(evidence: Evidence) -> Iterator[ErrorResult]:
    """One a code and statement, in the order of their first failures."""
    failures, exchanges = evidence.failures, evidence.exchanges
    rows = failures.rows
    if len(rows) == 0:
        return
    asked = np.where(exchanges.fingerprint[rows] >= 0, exchanges.fingerprint[rows], -1 - exchanges.command.codes[rows])
    keys = np.stack((failures.kind, failures.code.codes, asked, _protocols(evidence.recording)[rows]))
    _, group = np.unique(keys, axis=1, return_inverse=True)
    group = group.reshape(-1)
    trips = np.bincount(group[failures.cost_of], exchanges.round_trips[failures.cost], group.max() + 1)
    spent = np.bincount(group[failures.cost_of], _spent_ns(evidence)[failures.cost], group.max() + 1) / 1e9
    messages = columns.codes(evidence.recording.exchanges_table, "error")
    users = columns.texts(evidence.recording.all_connections_table, "user")
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    for part in sorted(parts, key=lambda part: int(part[0])):
        first, number = int(rows[part[0]]), int(group[part[0]])
        code = failures.code.name(int(part[0]))
        connection = np.unique(exchanges.connection[rows[part]])
        named = {users[row] for row in evidence.recording.database_rows[connection]}
        protocol = evidence.recording.connections.protocol[exchanges.connection[first]]
        first_time, last_time = _times(evidence.recording, rows[part])
        yield ErrorResult(
            count=len(part),
            code=code,
            kind=KINDS[failures.kind[part[0]]],
            category=failures.category.name(int(part[0])),
            message=messages.name(first).removeprefix(f"{code}: ") if code != NO_ANSWER else HUNG_UP,
            statement=evidence.text(int(exchanges.fingerprint[first])) or exchanges.command.name(first),
            protocol=protocol,
            connections=len(connection),
            users=tuple(sorted(filter(None, named))),
            round_trips=int(trips[number]),
            seconds=float(spent[number]),
            first_frame=_frame(evidence.first_frame[rows[part]].min()),
            last_frame=_frame(evidence.last_frame[rows[part]].max()),
            first_time=first_time,
            last_time=last_time,
            display_filter=_filter(evidence, rows[part]),
        )


def _protocols(recording: Recording) -> Ints:
    """The protocol of each exchange, as a number."""
    names = sorted(set(recording.connections.protocol))
    of_connection = np.array([names.index(name) for name in recording.connections.protocol], np.int64)
    return of_connection[recording.exchanges.connection]


def _spent_ns(evidence: Evidence) -> Ints:
    exchanges = evidence.exchanges
    seen = (exchanges.request != MISSING) & (exchanges.response_end != MISSING)
    return np.where(seen, exchanges.response_end - exchanges.request, 0)


def _times(recording: Recording, rows: Ints) -> tuple[str | None, str | None]:
    """When the first of `rows` began and the last one ended."""
    begin, end = recording.exchanges.begin[rows], recording.exchanges.end[rows]
    times = columns.Column(np.array([begin.min(), end.max()]) + recording.start_ns)
    first, last = iso(times)
    return first, last


def _frame(number: int) -> int | None:
    return int(number) if number >= 0 else None


def _filter(evidence: Evidence, rows: Ints) -> str:
    frames = frames_of_exchanges(evidence, rows[:MAX_STRETCHES])
    return display_filter(frames, whole=False) if frames else ""
