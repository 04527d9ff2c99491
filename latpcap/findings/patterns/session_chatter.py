"""Session chatter: SET, SHOW, isolation, cancels of what is over, transactions around nothing that needs one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.cycles import is_unknown
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedTime, effect_of
from latpcap.findings.groups import commonest

MIN_COMMANDS = 5
MIN_SHARE = 0.1
"""Of the round trips after the connections were set up."""
SAVED_TIME = SavedTime(client=1.0, service=1.0)
"""Nothing of it is needed any more."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording."""
    exchanges = evidence.exchanges
    late_cancels = exchanges.is_for("cancel")  # the answer had come: what comes earlier belongs to its request
    chats = (evidence.is_session | late_cancels | _needless(evidence)) & evidence.waits & ~evidence.is_opening
    rows = np.flatnonzero(chats)
    trips = exchanges.round_trips[rows].sum()
    if len(rows) < MIN_COMMANDS or trips < MIN_SHARE * exchanges.round_trips[~evidence.is_opening].sum():
        return
    effect = effect_of(evidence, SAVED_TIME, rows)
    advice = CANCELS if 2 * late_cancels[rows].sum() > len(rows) else ADVICE
    yield Candidate(
        shown=rows,
        effect=effect,
        facts={"commands": len(rows), "most_frequent": _most_frequent(evidence, rows)},
        fix=advice.sentence(evidence, exchanges.connection[rows]),
        statement=_most_frequent(evidence, rows),
    )


def _needless(evidence: Evidence) -> NDArray[np.bool_]:
    """Begins and ends of transactions that changed nothing and ran at most one statement, all of it known."""
    count = int(evidence.transaction.max(initial=0)) + 1
    ran = np.bincount(evidence.transaction, evidence.is_execution | evidence.is_fetch, count)
    wrote = np.bincount(evidence.transaction, evidence.is_execution & ~evidence.is_read, count)
    ended = np.bincount(evidence.transaction, evidence.is_end, count)
    unknown = np.bincount(evidence.transaction, is_unknown(evidence), count)
    needless = (ran <= 1) & (wrote == 0) & (unknown == 0) & (ended > 0)
    return bools((evidence.is_begin | evidence.is_end) & needless[evidence.transaction])


def _most_frequent(evidence: Evidence, rows: NDArray[np.int64]) -> str:
    exchanges = evidence.exchanges
    key = np.where(exchanges.fingerprint[rows] >= 0, exchanges.fingerprint[rows], -1 - exchanges.command.codes[rows])
    first = commonest(key)
    return evidence.text(first) if first >= 0 else exchanges.command.names[-1 - first]


ADVICE = Advice(
    "Set up the session once per connection; drop settings that do not change",
    {
        "psycopg": "`autocommit=True` where no transaction is needed",
        "MySQL Connector/J": "`useLocalSessionState=true&cacheServerConfiguration=true`",
        "Python": "`autocommit=True` in `connect()` where no transaction is needed",
    },
)
CANCELS = Advice(
    "Read each result to its end: these cancel what is over already",
    {"python-tds": "`cursor.nextset()` after the last row, as else the next `execute()` cancels what follows it"},
)

PATTERN = Pattern(
    code="session-chatter",
    fix="session",
    title="Session chatter: {commands:,} session, cancel or transaction commands that nothing needs",
    why="Each costs a round trip and gains the application nothing.",
    find=find,
)
