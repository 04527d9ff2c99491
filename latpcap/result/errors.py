"""Errors in a result: what failed, how often, with which code, and among how many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.display import ShortRepr
from latpcap.findings import Evidence
from latpcap.findings.frames import MAX_RANGES, display_filter, frames_of_each
from latpcap.findings.groups import Groups
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
"""Names of what kinds of failure are counted among, where not their own."""
MIN_FAILED_SHARE = 0.01
"""The answer names failures of a kind from this share on."""


class ErrorResult(ShortRepr, Struct, frozen=True):
    """One error code of one statement, login or command."""

    count: int
    code: str
    """As the protocol has it: MySQL's number and SQLSTATE, PostgreSQL's SQLSTATE, `ORA-nnnnn`, Firebird's gds code, SQL
    Server's number, class and state."""
    kind: str
    """The kind: `statement`, `login`, `transaction` (its begin or end), `other`; at TCP a `connection`."""
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
    """Round trips of failing exchanges; of a login those of its connection set-up, TCP's handshake apart."""
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


class ErrorsResult(ShortRepr, Struct, frozen=True):
    """The failures, and among how many; see docs/errors.md."""

    failures: int = 0
    statements: int = 0
    failed_statements: int = 0
    failed_share: float | None = None
    """The share of statements, 0 to 1; `None` without any."""
    logins: int = 0
    """Logins whose outcome was seen."""
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
    """Time lost by clients until the refusal, the last SYN or the reset; at least, where nobody answered."""
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
        """Say what failed in one sentence, and if nothing did, among how many."""
        answers = "; the response to {} was not captured, and may be an error" if self.unread_statements else ""
        unread = answers.format(counted(self.unread_statements, "statement"))
        if self.failures or self.failed_connections:
            lost = f", which cost clients at least {format_s(self.lost_s)}" if self.failed_connections else ""
            return f"{self.failed_of_all} failed{lost}{unread}"
        every = f"{counted(self.statements, 'statement')} and {counted(self.logins, 'login')}"
        logins = f"; {counted(self.unread_logins, 'login')} could not be read" if self.unread_logins else ""
        if not self.statements and not self.logins:
            return f"whether anything failed is unknown: no statement and no login could be read{unread}"
        return f"no errors in {every}{logins}{unread}"

    def codes(self, kind: str | None = None) -> str:
        """List what failed, the most frequent first: `20 × no such table (1146)`; `kind` of it only."""
        return failures_said((each.words, each.count) for each in self.found if kind in (None, each.kind))


def said_of_errors(errors: ErrorsResult) -> str:
    """Say what failed, for the verdict; nothing where few did."""
    said = [
        f"{of_all(kind, failed, every)} failed: {errors.codes(kind)}."
        for kind, failed, every in errors.by_kind
        if failed and failed >= MIN_FAILED_SHARE * every
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
    groups = Groups.of(np.arange(len(rows)), _group_numbers(evidence))
    begins, order = groups.starts[:-1], groups.rows
    group = np.empty_like(order)
    group[order] = groups.ids
    trips = np.bincount(group[failures.cost_of], exchanges.round_trips[failures.cost], len(groups))
    spent = np.bincount(group[failures.cost_of], _spent_ns(exchanges)[failures.cost], len(groups)) / 1e9
    mine = rows[order]
    first_time = iso(columns.NullableArray(np.minimum.reduceat(exchanges.begin[mine], begins) + recording.start_ns))
    last_time = iso(columns.NullableArray(np.maximum.reduceat(exchanges.end[mine], begins) + recording.start_ns))
    connections = groups.distinct(exchanges.connection[mine])
    messages, users, filters = recording.exchange_codes("error"), _users(evidence, groups), _filters(evidence, groups)
    first_frame = np.minimum.reduceat(evidence.first_frame[mine], begins).tolist()
    last_frame = np.maximum.reduceat(evidence.last_frame[mine], begins).tolist()
    for number, (failure, count) in enumerate(zip(groups.firsts.tolist(), groups.sizes.tolist(), strict=True)):
        first = int(rows[failure])
        code = failures.code.name(failure)
        yield ErrorResult(
            count=count,
            code=code,
            kind=KINDS[failures.kind[failure]],
            category=failures.category.name(failure),
            message=messages.name(first).removeprefix(f"{code}: ") if code != NO_ANSWER else HUNG_UP,
            statement=evidence.text(int(exchanges.fingerprint[first])) or exchanges.command.name(first),
            protocol=recording.connections.protocol.name(exchanges.connection[first]),
            connections=int(connections[number]),
            users=users[number],
            round_trips=int(trips[number]),
            seconds=float(spent[number]),
            first_frame=_frame(first_frame[number]),
            last_frame=_frame(last_frame[number]),
            first_time=first_time[number],
            last_time=last_time[number],
            display_filter=filters[number],
        )


def _group_numbers(evidence: Evidence) -> Ints:
    """A number for each failure that those of the same kind, code and statement share: that of the first of them."""
    failures, exchanges = evidence.failures, evidence.exchanges
    rows, protocol = failures.rows, evidence.recording.connections.protocol
    asked = np.where(exchanges.fingerprint[rows] >= 0, exchanges.fingerprint[rows], -1 - exchanges.command.codes[rows])
    of = protocol.codes[exchanges.connection[rows]]
    return passes.first_alike(passes.numbered(failures.kind, failures.code.codes, asked, of))


def _users(evidence: Evidence, groups: Groups) -> list[tuple[str, ...]]:
    """Whose connections the failures of each group were on."""
    user = evidence.recording.said("user")
    codes = user.codes[evidence.exchanges.connection[evidence.failures.rows[groups.rows]]]
    distinct = Groups.of(np.arange(len(codes)), groups.ids, codes)
    names: list[list[str]] = [[] for _ in range(len(groups))]
    for group, code in zip(groups.ids[distinct.firsts].tolist(), codes[distinct.firsts].tolist(), strict=True):
        if code >= 0 and user.names[code]:
            names[group].append(user.names[code])
    return [tuple(sorted(each)) for each in names]


def _filters(evidence: Evidence, groups: Groups) -> list[str]:
    """The packets of each group's first failures as a filter for Wireshark; empty where none was captured."""
    shown = groups.places < MAX_RANGES
    rows = evidence.failures.rows[groups.rows[shown]]
    frames, group = frames_of_each(evidence, rows, groups.ids[shown])
    edges = np.searchsorted(group, np.arange(len(groups) + 1)).tolist()
    found = (frames.between(*bounds) for bounds in pairwise(edges))
    return [display_filter(each, whole=False) if each else "" for each in found]


def _spent_ns(exchanges: Exchanges) -> Ints:
    seen = (exchanges.request != MISSING) & (exchanges.response_end != MISSING)
    spent: Ints = np.where(seen, exchanges.response_end - exchanges.request, 0)
    return np.maximum(spent, 0)  # packets of a damaged capture may stand before those that they answer


def _frame(number: int) -> int | None:
    return int(number) if number >= 0 else None
