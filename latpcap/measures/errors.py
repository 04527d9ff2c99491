"""Failures: which statements, logins and ends of transactions the server answered with an error.

What the server calls an error counts, and a request that it left without an answer when it hung up; a warning, a notice
and the end of a cursor's rows are none. Each failure counts once: an execution that was sent behind the prepare that
failed adds nothing, and of a login its last answer decides.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.error_classes import CLASSES, class_of, meaning_of
from latpcap.protocols import protocol_called
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Codes, first_that_holds
from latpcap.tables.connections import MISSING
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

KINDS = ("statement", "login", "transaction", "other")
"""Kinds: a statement (its prepare, execution or fetch), a login, the begin or end of a transaction, the rest."""
STATEMENT, LOGIN, TRANSACTION, OTHER = range(len(KINDS))
NO_ANSWER = "no answer"
"""The code of a request during which the server closed the connection."""
MAX_CODES = 3
"""Codes that a sentence names."""
MAX_MESSAGE_CHARS = 250
"""The length of a server's message in a text."""
MAX_TITLE_CHARS = 70
"""The length of a server's message in a title."""


class Failures(Struct, frozen=True):
    """The failing exchanges, and among how many of each kind they are."""

    rows: Ints
    """The exchanges that failed, ascending."""
    kind: Ints
    """The kind of each of `rows`, an index into `KINDS`."""
    code: Codes
    """The server's name of the error of each of `rows`, or `NO_ANSWER`."""
    count: Ints
    """How many of each of `KINDS` failed."""
    of: Ints
    """How many of each there were, failed or not; of the rest only those that failed."""
    unread_logins: int
    """Logins whose outcome is encrypted or was not captured."""
    unread_statements: int
    """Statements of whose answer nothing was captured: they failed or did not."""
    cost: Ints
    """The exchanges that served what failed, ascending: of a login all that set its connection up."""
    cost_of: Ints
    """Which of `rows` each of `cost` served."""
    category: Codes
    """Why each of `rows` failed, in the words of `error_classes`."""
    protocol: Codes
    """The cause of each of `rows`."""
    message: Codes
    """The server's words for each of `rows`, behind its code."""

    def codes(self, mine: Ints) -> str:
        """Return what `mine`, indices into `rows`, failed of, and how often: `6 × deadlock (1213)`."""
        return failures_said((error_words(*error), count) for *error, count in self._distinct(mine))

    def server_says(self, mine: Ints) -> str:
        """Return a sentence with the messages of `mine` that say more than `codes` does; empty for none."""
        said = [
            (meaning_of(protocol, code), _message(protocol, code, text))
            for protocol, code, text, _ in self._distinct(mine)
        ]
        more = (text for meaning, text in said if text.lower() != meaning and (meaning or text != _shortened(text)))
        shown = [
            textwrap.shorten(text, MAX_MESSAGE_CHARS, placeholder=" …") for text in dict.fromkeys(filter(None, more))
        ]
        return f"The server says: {' / '.join(shown[:MAX_CODES])}." if shown else ""

    def _distinct(self, mine: Ints) -> list[tuple[str, str, str, int]]:
        """Return protocol, code and message of each error of `mine`, and how often it is there, most frequent first."""
        each = [codes.picked(mine) for codes in (self.protocol, self.code, self.message)]
        order, starts = passes.grouped(*(codes.codes for codes in each))
        firsts, counts = order[starts[:-1]], np.diff(starts)
        by_count = np.lexsort((firsts, -counts))
        texts = (codes.picked(firsts[by_count]).texts() for codes in each)
        return [
            (protocol or "", code or NO_ANSWER, message or "", count)
            for protocol, code, message, count in zip(*texts, counts[by_count].tolist(), strict=True)
        ]

    def bare_codes(self, mine: Ints) -> str:
        """The codes alone: `25P02`."""
        return ", ".join(sorted({_bare(code or NO_ANSWER) for code in self.code.picked(mine).texts()})[:MAX_CODES])

    def by_category(self, *kinds: int) -> Iterator[tuple[str, Ints]]:
        """The failures of these kinds, as indices into `rows`, by what they are due to; the most frequent first."""
        of_kinds = np.isin(self.kind, kinds)
        counts = np.bincount(self.category.codes[of_kinds], minlength=len(self.category.names))
        for number in np.argsort(-counts, kind="stable"):
            if counts[number]:
                yield self.category.names[number], np.flatnonzero(of_kinds & (self.category.codes == number))


def failures(recording: Recording) -> Failures:
    """Look for what failed."""
    exchanges = recording.exchanges
    transaction = _is_of_transaction(exchanges)
    statement = exchanges.is_for("execute", "prepare", "describe", "fetch")
    kind = first_that_holds([exchanges.is_setup, transaction, statement], [LOGIN, TRANSACTION, STATEMENT], OTHER)
    login, decided = _logins(recording)
    echo = _follows_failed_prepare(exchanges)
    failed = (exchanges.failed | _unanswered(recording)) & ~echo & (~exchanges.is_setup | login)
    decided |= failed
    rows = np.flatnonzero(failed)
    count = np.bincount(kind[rows], minlength=len(KINDS))
    ran = exchanges.is_execution & ~transaction & ~echo & (failed | ~_sets_up_session(exchanges))
    never_ran = failed & (kind == STATEMENT) & exchanges.is_for("prepare", "describe")
    statements = max(int(np.count_nonzero(ran | never_ran)), int(count[STATEMENT]))
    of = np.array([statements, np.count_nonzero(login & decided), np.count_nonzero(transaction), count[OTHER]])
    code = Codes(exchanges.error_code.codes[rows].astype(np.int64), [*exchanges.error_code.names, NO_ANSWER])
    return Failures(
        rows,
        kind[rows],
        code,
        count,
        of,
        int(np.count_nonzero(login & ~decided)),
        int(np.count_nonzero(ran & ~failed & _is_unread(recording))),
        *_cost(exchanges, rows, echo),
        _categories(recording, rows, code),
        recording.connections.protocol.picked(exchanges.connection[rows]),
        recording.exchange_codes("error").picked(rows),
    )


def failures_said(found: Iterable[tuple[str, int]]) -> str:
    """Return what failed with its numbers, the most frequent first.

    >>> failures_said([("1064", 10), ("1146", 15), ("1146", 5)])
    '20 × 1146, 10 × 1064'
    """
    counts: Counter[str] = Counter()
    for words, count in found:
        counts[words] += count
    shown = [f"{count:,} × {words}" for words, count in counts.most_common(MAX_CODES)]
    return ", ".join(shown) + (" and others" if len(counts) > MAX_CODES else "")


def error_words(protocol: str, code: str, message: str) -> str:
    """Return an error in a few words, the server's own where its code is no usual one, and the code.

    >>> error_words("mysql", "1213 (40001)", "Deadlock found when trying to get lock; try restarting transaction")
    'deadlock (1213)'
    >>> error_words("firebird", "335544332 (0B000)", "335544332 (0B000): dynamic SQL error; invalid transaction handle")
    'invalid transaction handle (335544332)'
    >>> error_words("oracle", "ORA-20001", ""), error_words("mysql", "no answer", "")
    ('ORA-20001', 'no answer')
    """
    words = meaning_of(protocol, code) or _shortened(_message(protocol, code, message))
    return f"{words} ({_bare(code)})" if words else _bare(code)


def _shortened(message: str) -> str:
    """Return the first sentence of a message, cut to the length that a title has for it.

    >>> _shortened("Data modification failed. Try again"), _shortened(f"all {'words ' * 20}")[-7:]
    ('Data modification failed', 'words …')
    """
    return textwrap.shorten(message.partition(". ")[0], MAX_TITLE_CHARS, placeholder=" …")


def _message(protocol: str, code: str, message: str) -> str:
    """Return the server's words without the code, and without the parts that stand in the words for every error."""
    parts = message.removeprefix(code).removeprefix(": ").split("; ")
    empty = protocol_called(protocol).empty_phrases
    return "; ".join(part for part in parts if part not in empty).strip().rstrip(".")


def _bare(code: str) -> str:
    """Without the SQLSTATE."""
    return code.split(" (")[0]


def _categories(recording: Recording, rows: Ints, code: Codes) -> Codes:
    """Why each of `rows` failed; a code is looked up once a protocol."""
    protocol = recording.connections.protocol
    names = protocol.names
    keys = (code.codes % len(code.names)) * len(names) + protocol.codes[recording.exchanges.connection[rows]]
    distinct, index = np.unique(keys, return_inverse=True)
    found = [class_of(names[key % len(names)], code.names[key // len(names)]) for key in distinct]
    words = list(CLASSES)
    return Codes(np.array([words.index(name) for name in found], np.int64)[index], words)


def _is_of_transaction(exchanges: Exchanges) -> Bools:
    """Begins or ends a transaction, by a command or by SQL."""
    by_statement = exchanges.is_execution & exchanges.kind.where({"begin", "end"}.__contains__)
    return np.asarray(exchanges.is_for("begin", "end", "transaction") | by_statement, bool)


def _follows_failed_prepare(exchanges: Exchanges) -> Bools:
    """Executions that were sent behind a prepare of the same statement, which failed."""
    behind = exchanges.is_execution & exchanges.failed & exchanges.wait.where("shared".__eq__)
    if not behind.any():
        return behind
    same = np.roll(exchanges.connection, 1) == exchanges.connection
    same &= np.roll(exchanges.fingerprint, 1) == exchanges.fingerprint
    prepare = np.roll(exchanges.failed & exchanges.is_for("prepare"), 1)
    prepare[:1] = False
    return np.asarray(behind & same & prepare, bool)


def _sets_up_session(exchanges: Exchanges) -> Bools:
    """Statements that drivers send before the first statement of the application: `SET NAMES`, `SHOW VARIABLES`."""
    session = exchanges.is_execution & exchanges.kind.where("session".__eq__)
    if not session.any():
        return session
    works = np.cumsum(exchanges.is_execution & ~session & ~_is_of_transaction(exchanges))
    first = np.flatnonzero(exchanges.is_first)
    before = np.repeat(np.concatenate(([0], works))[first], np.diff(first, append=len(works)))
    return np.asarray(session & (works == before), bool)


def _unanswered(recording: Recording) -> Bools:
    """The server said that it sends no more, before the client did, and left a request without any answer."""
    exchanges, connections = recording.exchanges, recording.connections
    lost = recording.connection_column("lost_bytes").values > 0
    client_first = (connections.client_fin != MISSING) & (connections.client_fin < connections.server_fin)
    closed = (connections.server_fin != MISSING) & ~client_first & ~lost & ~_is_hidden(recording)
    if not closed.any():
        return np.zeros(len(exchanges), bool)
    asked = (exchanges.request != MISSING) & (exchanges.response == MISSING) & ~exchanges.failed
    # Behind a request for encryption nothing can be read: that it was waited for does not show.
    asked &= _is_waited_for(exchanges) | exchanges.is_setup
    asked &= ~exchanges.is_for("disconnect", "close", "cancel", "unreadable")
    return np.asarray(asked & closed[exchanges.connection], bool)


def _is_waited_for(exchanges: Exchanges) -> Bools:
    return np.asarray(exchanges.wait.where({"own", "shared"}.__contains__), bool)


def _is_unread(recording: Recording) -> Bools:
    """Return exchanges whose answers were not captured; those that a pipeline or a reset dropped have none."""
    exchanges = recording.exchanges
    unread = np.asarray(_is_waited_for(exchanges) & (exchanges.response_bytes == 0), bool)
    nothing = exchanges.response == MISSING
    unread &= ~(exchanges.complete & (nothing | _is_read_with_another(exchanges)))
    if unread.any():
        resets = (recording.connection_column(f"{side}_reset_time").is_valid() for side in ("client", "server"))
        unread &= ~(nothing & np.logical_or(*resets)[exchanges.connection])
    return unread


def _is_read_with_another(exchanges: Exchanges) -> Bools:
    """Return which requests share their packets with one whose response was read: its bytes count for all of them."""
    columns = np.stack((exchanges.connection, exchanges.request, exchanges.response))
    begins = np.any(np.diff(columns, prepend=columns[:, :1] - 1), axis=0)
    packet = np.cumsum(begins)
    return np.asarray((np.bincount(packet, exchanges.response_bytes > 0) > 0)[packet], bool)


def _is_hidden(recording: Recording) -> Bools:
    """The connections that are encrypted from their login on, and were not opened."""
    return np.asarray(recording.said("encryption").where("tls".__eq__) & recording.timing_only, bool)


def _logins(recording: Recording) -> tuple[Bools, Bools]:
    """The exchanges that end a login, and those whose outcome was seen.

    A greeting that nobody answered is no login, if it is no refusal. What TLS encrypts says nothing of the login.
    """
    exchanges = recording.exchanges
    setup = np.flatnonzero(exchanges.is_setup)
    ends = setup[np.diff(exchanges.connection[setup], append=-1) != 0]
    login = np.zeros(len(exchanges), bool)
    login[ends] = (exchanges.request[ends] != MISSING) | exchanges.failed[ends]
    answered = exchanges.complete & (exchanges.response != MISSING) & ~_is_hidden(recording)[exchanges.connection]
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
