"""Session chatter: SET, SHOW, pool resets, cancels of what is over, transactions around nothing that needs one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from latpcap.findings.cycles import is_unknown
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import commonest
from latpcap.tables.columnar.columns import Bools, Ints, first_that_holds
from latpcap.units import counted, listed

MIN_COMMANDS = 5
MIN_SHARE = 0.1
"""Share of round trips after connection set-up."""
MIN_KIND_SHARE = 0.2
"""The share of the commands from which on the fix speaks of a kind."""
RESET_COMMANDS = frozenset(("reset_connection", "change_user", "sp_reset_connection"))
RESET_WORDS = ("discard all", "reset all", "pg_advisory_unlock_all")
RESETS = re.compile("discard all|reset all|select pg_advisory_unlock_all")
SAVEPOINT_WORDS = ("savepoint", "release", "rollback", "save tran")
SAVEPOINTS = re.compile("savepoint|release|rollback (?:(?:work|transaction) )?to|save tran")
SAVED_TIME = SavedShare(client=1.0, service=1.0)
"""All time of the calls is saved."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording."""
    exchanges = evidence.exchanges
    late_cancels = exchanges.is_for("cancel")  # the answer had come: what comes earlier belongs to its request
    needless = _needless(evidence)
    chats = (evidence.is_session | late_cancels | needless) & evidence.waits & ~evidence.is_opening
    rows = np.flatnonzero(chats)
    trips = exchanges.round_trips[rows].sum()
    if len(rows) < MIN_COMMANDS or trips < MIN_SHARE * exchanges.round_trips[~evidence.is_opening].sum():
        return
    kinds = _kinds(evidence, rows, late_cancels, needless)
    counts = Counter(kinds.tolist()).most_common()
    yield Candidate(
        shown=rows,
        effect=effect_of(evidence, SAVED_TIME, rows),
        facts={
            "commands": len(rows),
            "most_frequent": _most_frequent(evidence, rows),
            "kinds": {KINDS[kind].name: count for kind, count in counts},
            "what": listed([counted(count, KINDS[kind].one, KINDS[kind].many) for kind, count in counts]),
        },
        fix=" ".join(
            KINDS[kind].advice.sentence(evidence, exchanges.connection[rows[kinds == kind]])
            for kind, count in counts
            if count >= MIN_KIND_SHARE * len(rows)
        ),
        statement=_most_frequent(evidence, rows),
    )


def _kinds(evidence: Evidence, rows: Ints, late_cancels: Bools, needless: Bools) -> Ints:
    """Return the index of each row's kind in `KINDS`."""
    exchanges = evidence.exchanges
    resets = exchanges.command.where(RESET_COMMANDS.__contains__)
    resets |= evidence.texts.marked(*RESET_WORDS, wanted=is_reset)[exchanges.fingerprint]
    savepoints = evidence.texts.marked(*SAVEPOINT_WORDS, wanted=is_savepoint)[exchanges.fingerprint]
    begun = np.bincount(evidence.transaction, evidence.is_begin) > 0
    rolls_back = evidence.texts.marked("rollback")[exchanges.fingerprint] | exchanges.command.where("rollback".__eq__)
    rollbacks = evidence.is_end & rolls_back & ~begun[evidence.transaction]
    rules = {CANCEL: late_cancels, RESET: resets, SAVEPOINT: savepoints, ROLLBACK: rollbacks, TRANSACTION: needless}
    return first_that_holds([each[rows] for each in rules.values()], list(rules), SETTING)


def is_reset(text: str) -> bool:
    """Return whether a statement takes back what a use of the session left behind.

    >>> is_reset("discard all"), is_reset("select pg_advisory_unlock_all(); close all; unlisten *; reset all")
    (True, True)
    >>> is_reset("reset search_path"), is_reset("set a = ?")
    (False, False)
    """
    return RESETS.match(text) is not None


def is_savepoint(text: str) -> bool:
    """Return whether a statement sets, releases or goes back to a savepoint.

    >>> [is_savepoint(text) for text in ("savepoint a", "release savepoint a", "rollback to a", "rollback")]
    [True, True, True, False]
    """
    return SAVEPOINTS.match(text) is not None


def _needless(evidence: Evidence) -> Bools:
    """Begins and ends of transactions that changed nothing and ran at most one statement, all of it known."""
    count = int(evidence.transaction.max(initial=0)) + 1
    ran = np.bincount(evidence.transaction, evidence.is_execution | evidence.is_fetch, count)
    wrote = np.bincount(evidence.transaction, evidence.is_execution & ~evidence.is_read, count)
    ended = np.bincount(evidence.transaction, evidence.is_end, count)
    unknown = np.bincount(evidence.transaction, is_unknown(evidence), count)
    needless = (ran <= 1) & (wrote == 0) & (unknown == 0) & (ended > 0)
    return bools((evidence.is_begin | evidence.is_end) & needless[evidence.transaction])


def _most_frequent(evidence: Evidence, rows: Ints) -> str:
    exchanges = evidence.exchanges
    key = np.where(exchanges.fingerprint[rows] >= 0, exchanges.fingerprint[rows], -1 - exchanges.command.codes[rows])
    first = commonest(key)
    return evidence.text(first) if first >= 0 else exchanges.command.names[-1 - first]


class Kind(NamedTuple):
    """One kind of chatter."""

    name: str
    one: str
    many: str
    """How a title counts several."""
    advice: Advice


SETTING, RESET, ROLLBACK, TRANSACTION, SAVEPOINT, CANCEL = range(6)
KINDS = (
    Kind(
        "setting",
        "session command (SET, SHOW, …)",
        "session commands (SET, SHOW, …)",
        Advice(
            "session-chatter",
            "Set up the session once per connection (driver options, the pool's hook for new connections, or the "
            "user's defaults), and drop settings that do not change",
        ),
    ),
    Kind(
        "reset",
        "session reset by the connection pool",
        "session resets by the connection pool",
        Advice(
            "session-chatter/reset",
            "Run several statements before a connection goes back to the pool; turn the pool's reset off only if no "
            "use leaves an open transaction, a changed setting, a lock or a temporary table behind",
        ),
    ),
    Kind(
        "rollback",
        "rollback after at most one read",
        "rollbacks after at most one read",
        Advice(
            "session-chatter/rollback",
            "Run single reads in autocommit, so the pool has nothing to roll back when a connection is returned",
        ),
    ),
    Kind(
        "transaction",
        "transaction command around at most one read",
        "transaction commands around at most one read",
        Advice(
            "session-chatter/transaction",
            "Run single reads in autocommit, and begin a transaction only for statements that belong together",
        ),
    ),
    Kind(
        "savepoint",
        "savepoint command",
        "savepoint commands",
        Advice(
            "session-chatter/savepoint",
            "Set a savepoint only where the program continues after an error",
        ),
    ),
    Kind(
        "cancel",
        "cancel of a response that had already arrived",
        "cancels of responses that had already arrived",
        Advice("session-chatter/cancel", "Read each result to the end, or close it, before the next statement"),
    ),
)
"""By their index."""

PATTERN = Pattern(
    code="session-chatter",
    fix="session",
    title="{what}",
    why="Each costs a round trip and reads or changes no row.",
    find=find,
    rule="5 or more SET, SHOW, isolation, savepoint, schema or reset commands (asyncpg's `select "
    "pg_advisory_unlock_all(); …` is one) after the connection was set up, cancels of responses that had already "
    "arrived, or transactions around at most one read; 10 % of the round trips",
    example="A pool that sends `DISCARD ALL` (or resets the connection) after each use; BEGIN and COMMIT around one "
    "`select`.",
    is_not="commands that open a connection, or a transaction of several statements. A pool's reset keeps one user's "
    "settings from the next: the finding shows its cost, not that it is wrong.",
    fixes={kind.name: kind.advice for kind in KINDS},
)
