"""Errors in a result: what failed, how often, with which code, and among how many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.display import Brief
from latpcap.findings import Evidence
from latpcap.findings.frames import MAX_STRETCHES, display_filter, frames_of_exchanges
from latpcap.measures.errors import KINDS, LOGIN, NO_ANSWER, STATEMENT, TRANSACTION, error_words, failures_said
from latpcap.tables.columnar import columns, passes
from latpcap.tables.columnar.times import iso
from latpcap.tables.connections import MISSING
from latpcap.tables.exchanges import Exchanges
from latpcap.units import counted, format_s

Ints = NDArray[np.int64]

CONNECTION = "connection"
"""The kind of what failed at TCP."""
HUNG_UP = "the server closed the connection before it answered"
COUNTED_AS = {"transaction": "transaction command", "connection": "TCP connection"}
"""What a kind of failure is counted among, where its name does not say that."""
NOTABLE = 0.01
"""The share of failures of a kind from which on the verdict says so."""


class ErrorResult(Brief, Struct, frozen=True):
    """One error code of one statement, login or command."""

    count: int
    code: str
    """As the protocol has it: MySQL's number and SQLSTATE, PostgreSQL's SQLSTATE, `ORA-nnnnn`, Firebird's gds code, SQL
    Server's number, class and state."""
    kind: str
    """What failed: `statement`, `login`, `transaction` (its begin or end), `other`; at TCP a `connection`."""
    category: str
    """Why, in one word: see `latpcap.measures.error_classes`; of a connection `network`."""
    message: str
    """The server's words the first time, without the values that it repeats."""
    statement: str | None
    """The fingerprint, else the command's name; of a connection its server."""
    protocol: str
    connections: int
    users: tuple[str, ...]
    round_trips: int
    """Of the failing exchanges; of a login those of its whole connection set-up, TCP's handshake apart."""
    seconds: float
    """From request to response of these, summed up: side by side counts twice. Of a connection what its client lost."""
    first_frame: int | None
    last_frame: int | None
    first_time: str | None
    last_time: str | None
    display_filter: str
    """The packets in Wireshark, of the first 2,000."""

    @property
    def words(self) -> str:
        """The error in a few words, with its code."""
        said = "" if self.code == NO_ANSWER or self.kind == CONNECTION else self.message
        return error_words(self.protocol, self.code, said)


class ErrorsResult(Brief, Struct, frozen=True):
    """What failed, and among how many; see docs/errors.md."""

    failures: int = 0
    statements: int = 0
    failed_statements: int = 0
    failed_share: float | None = None
    """Of the statements, 0 to 1; `None` without statements."""
    logins: int = 0
    """Those whose outcome was seen."""
    failed_logins: int = 0
    unread_logins: int = 0
    """Logins whose outcome is encrypted or was not captured."""
    unread_statements: int = 0
    """Statements of whose answer nothing was captured, as the snap length cut it: they failed or did not."""
    transactions: int = 0
    """Begins and ends of transactions."""
    failed_transactions: int = 0
    others: int = 0
    """Other requests that failed."""
    connections: int = 0
    """TCP connections to databases, also those that were only tried."""
    failed_connections: int = 0
    """Refused, never answered or reset at TCP: in none of the counts above."""
    lost_s: float = 0.0
    """What clients lost by these, until the refusal, the last SYN or the reset; at least, where nobody answered."""
    round_trips: int = 0
    seconds: float = 0.0
    found: tuple[ErrorResult, ...] = ()
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
            ("connection", self.failed_connections, self.connections),
        )

    @property
    def failed_of_all(self) -> str:
        """`30 of 42 statements, 1 of 2 logins`: of each kind what failed."""
        said = [of_all(kind, failed, every) for kind, failed, every in self.by_kind if failed]
        return ", ".join((*said, *([counted(self.others, "other request")] if self.others else [])))

    @property
    def text(self) -> str:
        """What failed in one sentence, and if nothing did, among how many."""
        answers = "; the response to {} was not captured, and may be an error" if self.unread_statements else ""
        unread = answers.format(counted(self.unread_statements, "statement"))
        if self.failures or self.failed_connections:
            lost = f", which cost clients at least {format_s(self.lost_s)}" if self.failed_connections else ""
            return f"{self.failed_of_all} failed{lost}{unread}"
        every = counted(self.statements, "statement"), counted(self.logins, "login")
        logins = f"; {counted(self.unread_logins, 'login')} could not be read" if self.unread_logins else ""
        if not self.statements and not self.logins:
            return f"whether anything failed is unknown: no statement and no login could be read{unread}"
        return f"nothing failed among {' and '.join(every)}{logins}{unread}"

    def codes(self, kind: str | None = None) -> str:
        """List what failed, the most frequent first: `20 × no such table (1146)`; `kind` of it only."""
        return failures_said((each.words, each.count) for each in self.found if kind in (None, each.kind))


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
    return f"{failed:,} of {counted(every, COUNTED_AS.get(kind, kind))}"


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
        unread_statements=failures.unread_statements,
        transactions=int(of[TRANSACTION]),
        failed_transactions=int(count[TRANSACTION]),
        others=len(failures.rows) - int(count[[STATEMENT, LOGIN, TRANSACTION]].sum()),
        round_trips=sum(each.round_trips for each in found),
        seconds=sum(each.seconds for each in found),
        found=tuple(found),
    )


def _found(evidence: Evidence) -> Iterator[ErrorResult]:
    """One a code and statement, in the order of their first failures."""
    failures, exchanges, recording = evidence.failures, evidence.exchanges, evidence.recording
    rows = failures.rows
    if len(rows) == 0:
        return
    group = _groups(evidence)
    count = int(group.max()) + 1
    trips = np.bincount(group[failures.cost_of], exchanges.round_trips[failures.cost], count)
    spent = np.bincount(group[failures.cost_of], _spent_ns(exchanges)[failures.cost], count) / 1e9
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    begun, ended = exchanges.begin[rows][order], exchanges.end[rows][order]
    first_time = iso(columns.NullableArray(np.minimum.reduceat(begun, begins) + recording.start_ns))
    last_time = iso(columns.NullableArray(np.maximum.reduceat(ended, begins) + recording.start_ns))
    messages = recording.exchange_codes("error")
    users = recording.said("user")
    for number, part in enumerate(np.split(order, begins[1:])):
        first, mine = int(rows[part[0]]), rows[part]
        code = failures.code.name(int(part[0]))
        connection = passes.occurring(exchanges.connection[mine])
        named = [users.names[code] for code in passes.occurring(users.codes[connection]) if code >= 0]
        yield ErrorResult(
            count=len(part),
            code=code,
            kind=KINDS[failures.kind[part[0]]],
            category=failures.category.name(int(part[0])),
            message=messages.name(first).removeprefix(f"{code}: ") if code != NO_ANSWER else HUNG_UP,
            statement=evidence.text(int(exchanges.fingerprint[first])) or exchanges.command.name(first),
            protocol=recording.connections.protocol.name(exchanges.connection[first]),
            connections=len(connection),
            users=tuple(sorted(filter(None, named))),
            round_trips=int(trips[number]),
            seconds=float(spent[number]),
            first_frame=_frame(evidence.first_frame[mine].min()),
            last_frame=_frame(evidence.last_frame[mine].max()),
            first_time=first_time[number],
            last_time=last_time[number],
            display_filter=_filter(evidence, mine),
        )


def _groups(evidence: Evidence) -> Ints:
    """The number of each failure's group, in the order in which they first appear: same kind, code and statement."""
    failures, exchanges = evidence.failures, evidence.exchanges
    rows, protocol = failures.rows, evidence.recording.connections.protocol
    asked = np.where(exchanges.fingerprint[rows] >= 0, exchanges.fingerprint[rows], -1 - exchanges.command.codes[rows])
    keys = np.stack((failures.kind, failures.code.codes, asked, protocol.codes[exchanges.connection[rows]]))
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group.reshape(-1)]


def _spent_ns(exchanges: Exchanges) -> Ints:
    seen = (exchanges.request != MISSING) & (exchanges.response_end != MISSING)
    spent: Ints = np.where(seen, exchanges.response_end - exchanges.request, 0)
    return np.maximum(spent, 0)  # packets of a damaged capture may stand before those that they answer


def _frame(number: int) -> int | None:
    return int(number) if number >= 0 else None


def _filter(evidence: Evidence, rows: Ints) -> str:
    frames = frames_of_exchanges(evidence, rows[:MAX_STRETCHES]).first_of(MAX_STRETCHES)
    return display_filter(frames, whole=False) if frames else ""
