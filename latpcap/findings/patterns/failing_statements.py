"""Failing statements: the server answers again and again with an error of one class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, Pattern, effect_of
from latpcap.findings.groups import commonest
from latpcap.measures.error_classes import CLASSES
from latpcap.measures.errors import STATEMENT, TRANSACTION
from latpcap.measures.lock_waits import CONFLICT
from latpcap.tables.columnar import passes
from latpcap.units import counted

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MIN_FAILURES = 5
"""Five failures are a finding, or two that are at least a quarter of all statements."""
MIN_FAILURES_OF_FEW, MIN_SHARE = 2, 0.25
"""This many are enough where they are at least this share of all statements."""
ABORTED = "aborted"
"""The category of what a server refuses because another statement of the transaction has failed."""

FIXES = {
    "syntax": "Correct the statement, or create the missing object (a migration that did not run, another schema). It "
    "fails every time: do not use it to test whether the object exists.",
    "permission": "Grant the user the missing privilege, or log in as another user.",
    "data": "Validate values before sending them, or handle the conflict in one statement: `INSERT … ON DUPLICATE KEY "
    "UPDATE`, `ON CONFLICT`, `MERGE`, `UPDATE OR INSERT`.",
    CONFLICT: "Take locks in a fixed order, keep transactions short, and retry the whole transaction after a random "
    "delay.",
    "aborted": "Roll back after the first error, or to a savepoint: until then the server refuses every statement.",
    "login": "Check the user and database that the statement connects with.",
    "limit": "Give the server more resources (memory, disk, connections), or use fewer at once.",
    "ended": "Find out what ends the statements: a client or server time-out, an administrator, a restart.",
    "application": "Check the procedure or trigger that raises the error.",
    "other": "",
}
"""By class of error."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a class of error; what an aborted transaction refuses belongs to the failure that aborted it."""
    failures = evidence.failures
    mine = np.flatnonzero(np.isin(failures.kind, (STATEMENT, TRANSACTION)))
    cause = mine[_causes(evidence, mine)]
    counts = np.bincount(failures.category.codes[cause], minlength=len(failures.category.names))
    for number in np.argsort(-counts, kind="stable"):
        due = failures.category.codes[cause] == number
        few = counts[number] >= MIN_FAILURES_OF_FEW and counts[number] >= MIN_SHARE * _every(evidence, mine[due])
        if counts[number] >= MIN_FAILURES or few:
            yield _candidate(evidence, failures.category.names[number], mine[due], (cause == mine)[due])


def _causes(evidence: Evidence, mine: Ints) -> Ints:
    """Which of `mine` (failures) each is due to: itself, or what had failed before in its transaction, now refused."""
    category, places = evidence.failures.category, np.arange(len(mine))
    refused = category.picked(mine).where(ABORTED.__eq__)
    before = passes.last_known(np.where(refused, -1, places), evidence.transaction[evidence.failures.rows[mine]])
    return np.where(refused & (before >= 0), before, places)


def _every(evidence: Evidence, mine: Ints) -> int:
    """Among how many of their kinds they failed."""
    return int(evidence.failures.of[passes.occurring(evidence.failures.kind[mine])].sum())


def _candidate(evidence: Evidence, category: str, mine: Ints, is_cause: Bools) -> Candidate:
    """`is_cause`: the others were refused after one of these."""
    failures, exchanges = evidence.failures, evidence.exchanges
    rows = failures.rows[mine]
    every = _every(evidence, mine)
    statements = exchanges.fingerprint[rows[is_cause]]
    codes, refused = failures.codes(mine[is_cause]), int(np.count_nonzero(~is_cause))
    if refused:
        codes += f"; {refused:,} more in the failed transactions ({failures.bare_codes(mine[~is_cause])})"
    own = int(exchanges.round_trips[rows].sum())
    trips = _transactions(evidence, rows) if category == CONFLICT else own
    return Candidate(
        shown=rows,
        effect=effect_of(evidence, NOTHING, rows[:0]),
        fingerprint=commonest(statements),
        facts={
            "failures": len(rows),
            "statements": every,
            "category": category,
            "because": CLASSES[category],
            "reason": "" if category == "other" else f"; {CLASSES[category]}",
            "codes": codes,
            "refused_after": refused,
            "first_statement": evidence.text(int(statements[0])) or None,
            "distinct_statements": len(np.unique(statements)),
            "round_trips": trips,
            "cost": counted(trips, "round trip") + (" with their transactions" if trips > own else ""),
        },
        fix=" ".join(
            filter(None, (failures.server_says(mine[is_cause]), FIXES[category], FIXES[ABORTED] if refused else ""))
        ),
        share=len(rows) / every,
    )


def _transactions(evidence: Evidence, rows: Ints) -> int:
    """The round trips of the transactions in which `rows` failed, all of them in vain.

    A transaction reaches from its begin to its end; where no begin is sent, from the end before it. What is in none is
    a transaction by itself.
    """
    places = np.arange(len(evidence.exchanges))
    number = evidence.transaction
    begun = passes.last_known(np.where(evidence.is_begin, places, -1), number)[rows]
    last = np.searchsorted(number, number[rows], "right") - 1
    ended = evidence.is_end[last]
    first = np.where(begun >= 0, begun, np.where(ended, np.searchsorted(number, number[rows]), rows))
    last = np.where(ended | (begun >= 0), last, rows)
    order, starts = passes.grouped(first, last)
    once = order[starts[:-1]]
    trips = np.where(evidence.is_opening & ~evidence.is_begin, 0, evidence.exchanges.round_trips)
    before = np.concatenate(([0], np.cumsum(trips)))
    return int((before[last[once] + 1] - before[first[once]]).sum())


PATTERN = Pattern(
    code="failing-statements",
    fix="",
    title="{failures:,} of {statements:,} statements failed ({cost}): {codes}{reason}",
    why="Each costs a round trip, and a retry costs another. No saving is estimated: the corrected statement needs a "
    "round trip, too.",
    find=find,
    rule="5 or more statements or transaction commands failed for the same [category](errors.md#categories) of reason, "
    "or 2 or more that are a quarter of all. Statements refused in a failed transaction count with its first failure",
    example="40 of 120 statements are answered with `duplicate key`.",
    is_not="a promise of saved time: the corrected statement needs a round trip, too.",
    fixes=FIXES,
)
