"""Prepare per execute: a statement is prepared anew for every execution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups, most_frequent
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.connections import MISSING

MIN_PREPARES = 5
MIN_SHARE = 0.9
"""Prepares to executions, from which on each execution has its own."""
SAVED_TIME = SavedShare(client=1.0, service=1.0, prepares=True)
"""All time of the calls is saved."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a statement: all but the first prepare of each connection can go."""
    exchanges = evidence.exchanges
    repeated, executions = _repeated(evidence)
    question = evidence.question[repeated.rows]
    for number in most_frequent(question):
        mine = question == number
        prepares = repeated.rows[mine]
        again = repeated.rows[mine & (repeated.places > 0)]
        before = repeated.rows[mine & (repeated.places < repeated.sizes[repeated.ids] - 1)]
        of_gone = _preparing(evidence, again) | _closing(evidence, before)
        of_all = _preparing(evidence, prepares) | _closing(evidence, prepares)
        yield Candidate(
            shown=np.flatnonzero(of_all & evidence.waits),
            effect=effect_of(
                evidence,
                SAVED_TIME,
                np.flatnonzero(of_gone & evidence.waits),
                dependents=np.flatnonzero((of_gone | _closing_unseen(evidence, prepares)) & ~evidence.waits),
            ),
            fingerprint=evidence.statement_of(number),
            place=evidence.place_of(number),
            facts={
                "prepares": int(mine.sum()),
                "executions": int(executions[evidence.question[repeated.firsts] == number].sum()),
            },
            fix=ADVICE.sentence(evidence, exchanges.connection[again]),
        )


def _repeated(evidence: Evidence) -> tuple[Groups, Ints]:
    """The prepares of each statement and connection where nearly every execution has one; and the executions."""
    exchanges = evidence.exchanges
    # What shares the wait of the close before it waits as well: tokio-postgres sends both in one packet.
    waits = evidence.waits | ((evidence.leader >= 0) & evidence.is_close[evidence.leader])
    prepares = np.flatnonzero(evidence.is_prepare & (evidence.unit >= 0) & waits)
    # A prepare and its describe serve one execution: they are one preparation.
    firsts = np.sort(Groups.of(prepares, evidence.unit[prepares]).firsts)
    repeated = Groups.of(firsts, exchanges.connection[firsts], exchanges.fingerprint[firsts])
    repeated = repeated.where(repeated.sizes >= MIN_PREPARES)
    executions = _executions(evidence, repeated.firsts)
    often = repeated.sizes >= MIN_SHARE * executions
    return repeated.where(often), executions[often]


def _preparing(evidence: Evidence, prepares: Ints) -> Bools:
    """The prepares and describes of the executions that `prepares` serve."""
    return bools(evidence.serves(evidence.unit[prepares]) & evidence.is_prepare)


def _closing(evidence: Evidence, prepares: Ints) -> Bools:
    """The closes that the server answers: of the executions that `prepares` serve."""
    closes = evidence.is_close & (evidence.exchanges.response != MISSING)
    return bools(evidence.serves(evidence.unit[prepares]) & closes)


def _closing_unseen(evidence: Evidence, prepares: Ints) -> Bools:
    """Unanswered closes of the executions that `prepares` serve: a statement that is kept is not closed."""
    closes = (evidence.exchanges.response == MISSING) & ~evidence.exchanges.is_execution
    return bools(evidence.serves(evidence.unit[prepares]) & closes)


def _executions(evidence: Evidence, rows: Ints) -> Ints:
    """How often the statement of each row was executed on its connection."""
    if len(rows) == 0:
        return rows
    groups = evidence.by_statement
    counts = groups.sum(evidence.exchanges.is_execution[groups.rows])
    found = np.empty(len(groups.rows), np.int64)
    found[groups.rows] = np.repeat(counts, groups.sizes)
    return found[rows]


ADVICE = Advice(
    "prepare-per-execute",
    "Prepare each statement once per connection and keep it, or send statement and values together without a prepare",
)

PATTERN = Pattern(
    code="prepare-per-execute",
    fix="prepare",
    title="Prepared again for each execution: {prepares:,} prepares for {executions:,} executions",
    why="Each prepare costs a round trip and makes the server parse and plan the same statement again.",
    find=find,
    rule="5 or more waiting prepares of a statement on a connection, for 90 % of its executions; one that shares a "
    "packet with the close before it waits as well. Closes that wait (`DEALLOCATE`) are saved, too",
    example="200 times prepare, execute, close of one statement: 400 of the 600 round trips do no work.",
    is_not="a prepare that is sent together with its execution, or the first one of each connection.",
    fixes={"": ADVICE},
)
