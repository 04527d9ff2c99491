"""Commit per row: a transaction for each changed row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import most_frequent
from latpcap.findings.patterns.row_by_row import find_series
from latpcap.tables.columnar import passes

MIN_COMMITS = 10
MIN_SHARE = 0.8
"""Share of changes with a transaction of their own."""
DEFAULT_BATCH_ROWS = 100
SAVED_TIME = SavedShare(client=1.0, service=1.0)
"""All time of the calls is saved."""


def find(evidence: Evidence, size: int | None) -> Iterator[Candidate]:
    """One candidate a changing statement; `size`: changes a transaction after the fix."""
    size = size or DEFAULT_BATCH_ROWS
    exchanges = evidence.exchanges
    series = find_series(evidence)
    question = evidence.question[series.firsts]
    bounds = (evidence.is_begin | evidence.is_end) & evidence.waits
    for number in most_frequent(question):
        changes = series.where(question == number).rows
        transactions = passes.occurring(evidence.transaction[changes])
        mine = bounds & np.isin(evidence.transaction, transactions)
        ends = passes.occurring(evidence.transaction[evidence.is_end & mine])
        if len(ends) < max(MIN_COMMITS, MIN_SHARE * len(changes)):
            continue
        rows = np.flatnonzero(mine)
        place = np.searchsorted(transactions, evidence.transaction[rows])
        gone = rows[~_kept(place, len(transactions), size, evidence.is_end[rows])]
        yield Candidate(
            shown=rows,
            effect=effect_of(evidence, SAVED_TIME, gone),
            fingerprint=evidence.statement_of(number),
            place=evidence.place_of(number),
            facts={"commits": len(ends), "changes": len(changes), "changes_per_commit_after": size},
            fix=ADVICE.sentence(evidence, exchanges.connection[rows]),
        )


def _kept(place: NDArray[np.int64], count: int, size: int, is_end: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The begin of the first and the end of the last of each `size` transactions stay."""
    last = (place % size == size - 1) | (place == count - 1)
    return bools(np.where(is_end, last, place % size == 0))


ADVICE = Advice(
    "commit-per-row",
    "Commit many rows per transaction, unless each must be durable at once (payments, acknowledged messages); run a "
    "transaction of one statement in autocommit, which saves BEGIN and COMMIT",
)

PATTERN = Pattern(
    code="commit-per-row",
    fix="commit",
    title="Commit per row: {commits:,} commits for {changes:,} changes",
    why="Each commit costs a round trip and a wait for the server's disk.",
    find=find,
    rule="a series of `row-by-row-dml` with 80 % of its changes (and 10) in transactions of their own that the client "
    "ends",
    example="500 times BEGIN, INSERT, COMMIT: 1,500 round trips for 500 rows.",
    is_not="a fault where each change must be durable before the next begins (payments, messages): there the commits "
    "are needed, and the finding shows their cost.",
    fixes={"": ADVICE},
    choices=("",),
    usual=DEFAULT_BATCH_ROWS,
)
