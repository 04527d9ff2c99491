"""Small fetch size: the rows of a result come a few at a time, and each handful waits a round trip."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups, most_frequent
from latpcap.measures.tcp import INITIAL_WINDOW_SEGMENTS, MSS_BYTES
from latpcap.tables.columnar.columns import Bools, Ints

MIN_FETCHES = 3
"""Fetches of one cursor."""
DEFAULT_FETCH_ROWS = 1000
INITIAL_WINDOW_BYTES = INITIAL_WINDOW_SEGMENTS * MSS_BYTES
"""A sender may send this much at once, so a smaller fetch wastes its round trip."""
SAVED_TIME = SavedShare(client=0.0, service=0.5)
"""The rows are still read, by fewer calls."""


def find(evidence: Evidence, size: int | None) -> Iterator[Candidate]:
    """One candidate a statement; `size`: rows a fetch after the fix."""
    size = size or DEFAULT_FETCH_ROWS
    cursors = _cursors(evidence, size)
    if len(cursors) == 0:
        return
    exchanges, rows_of = evidence.exchanges, evidence.exchanges.rows.ints(0)
    question = evidence.question[cursors.firsts]
    for number in most_frequent(evidence.question[cursors.rows]):
        mine = cursors.where(question == number)
        rows = rows_of[mine.rows]
        gone = _removed(evidence, mine, rows_of, size)
        if len(gone) == 0:
            continue
        yield Candidate(
            shown=mine.rows,
            effect=effect_of(evidence, SAVED_TIME, gone),
            fingerprint=evidence.statement_of(number),
            place=evidence.place_of(number),
            facts={
                "fetches": len(mine.rows),
                "rows": int(rows.sum()),
                "rows_per_fetch": int(np.median(rows[rows > 0])),
                "cursors": len(mine),
                "rows_per_fetch_after": size,
            },
            fix=ADVICE.sentence(evidence, exchanges.connection[mine.rows]),
        )


def _cursors(evidence: Evidence, size: int) -> Groups:
    """The waiting fetches of each cursor that fetches few rows, or few bytes, at a time."""
    exchanges = evidence.exchanges
    rows = np.flatnonzero(evidence.is_fetch & evidence.waits)
    by_sql = exchanges.is_execution[rows]
    groups = Groups.of(rows, exchanges.connection[rows], exchanges.fingerprint[rows], _cursor(evidence, rows, by_sql))
    fetched = groups.sum(exchanges.rows.ints(0)[groups.rows])
    brought = groups.sum(exchanges.response_bytes[groups.rows])
    few = (fetched > 0) & (fetched < groups.sizes * size / 2) & (brought < groups.sizes * INITIAL_WINDOW_BYTES)
    return groups.where((groups.sizes >= MIN_FETCHES) & few)


def _cursor(evidence: Evidence, rows: Ints, by_sql: Bools) -> Ints:
    """Fetches of one execution are of one cursor; those in SQL, of one transaction.

    Where the statement is unknown, one cursor's fetches have no execution between them.
    """
    unit = evidence.unit[rows]
    transaction = np.cumsum(evidence.is_end)[rows]
    executions = np.cumsum(evidence.exchanges.is_execution)[rows]
    return np.where(by_sql, -2 - transaction, np.where(unit >= 0, unit, -2 - executions))


def _removed(evidence: Evidence, cursors: Groups, rows: Ints, size: int) -> Ints:
    """The fetches that larger ones make needless; `rows` are those that each exchange brought.

    A cursor of R rows needs ⌈R / size⌉ fetches, less one where its execution brings rows already.
    """
    fetched = cursors.sum(rows[cursors.rows])
    executions = evidence.unit[cursors.firsts]
    brings = np.where(executions >= 0, np.where(evidence.is_fetch[executions], 0, rows[executions]), 0)
    after = np.ceil((fetched + brings) / size) - (brings > 0)
    gone: Ints = cursors.rows[cursors.places >= after[cursors.ids]]
    return gone


ADVICE = Advice(
    "small-fetch",
    "Raise the fetch size, or read a result that fits into the client's memory without a server-side cursor",
)

PATTERN = Pattern(
    code="small-fetch",
    fix="fetch",
    title="Small fetch size: {fetches:,} fetches return {rows:,} rows, usually {rows_per_fetch:,} each",
    why="Every fetch costs a round trip, which could carry more rows.",
    find=find,
    rule="3 or more fetches of a cursor that return less than half of the rows, and less than ten segments each",
    example="10,000 rows of one cursor come in 1,000 fetches of 10 rows.",
    is_not="fetches of a few long rows (ten segments or more), or a result returned whole by its execution.",
    fixes={"": ADVICE},
    choices=("",),
    usual=DEFAULT_FETCH_ROWS,
)
