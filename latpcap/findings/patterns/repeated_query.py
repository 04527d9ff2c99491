"""Repeated query: the same statement with the same parameters, again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups, most_frequent
from latpcap.measures.statement_text import is_volatile, reads_any, written_table
from latpcap.tables.columnar import passes

Ints = NDArray[np.int64]

MIN_REPEATS = 5
SAVED_TIME = SavedShare(client=1.0, service=1.0)
"""All time of the calls is saved."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a statement: all but the first run of each set of parameters could be answered from memory."""
    exchanges = evidence.exchanges
    asking = evidence.is_read & evidence.parameters_known & evidence.is_waited_for
    rows = np.flatnonzero(asking & ~evidence.is_opening & ~evidence.failed)
    alike = Groups.of(rows, evidence.question[rows], evidence.parameter_numbers[rows])
    alike = alike.where(alike.sizes >= MIN_REPEATS)
    if not len(alike):
        return
    rows = np.sort(alike.rows)
    parameters = evidence.parameter_numbers[rows]
    groups = Groups.of(rows, evidence.question[rows], parameters, _epoch(evidence, rows))
    groups = groups.where(groups.sizes >= MIN_REPEATS)
    question = evidence.question[groups.firsts]
    for number in most_frequent(evidence.question[groups.rows]):
        if is_volatile(evidence.text(evidence.statement_of(number))):
            continue
        mine = groups.where(question == number)
        again = mine.rows[mine.places > 0]
        yield Candidate(
            shown=evidence.serving(mine.rows),
            effect=effect_of(evidence, SAVED_TIME, evidence.serving(again), executions=again),
            fingerprint=evidence.statement_of(number),
            place=evidence.place_of(number),
            facts=_facts(evidence, mine),
            fix=ADVICE.sentence(evidence, exchanges.connection[again]),
        )


def _facts(evidence: Evidence, runs: Groups) -> dict[str, object]:
    different = len(passes.occurring(evidence.parameter_numbers[runs.rows]))
    how = "the same parameters" if different == 1 else f"only {different:,} different sets of parameters"
    return {"repeats": len(runs.rows), "distinct_parameters": different, "how": how}


def _epoch(evidence: Evidence, rows: Ints) -> Ints:
    """Runs with a write between them that may have changed the answer have different numbers.

    Only statements that name a table which is written are parted, each connection by its own writes.
    """
    if len(rows) == 0:
        return rows
    writes, _ = passes.counted(evidence.exchanges.fingerprint[evidence.is_write])
    tables = frozenset(filter(None, (written_table(evidence.text(int(number))) for number in writes)))
    if not tables:
        return np.zeros(len(rows), np.int64)
    statement = evidence.exchanges.fingerprint[rows]
    asked, _ = passes.counted(statement)
    touched = [number for number in asked.tolist() if reads_any(evidence.text(number), tables)]
    written = np.cumsum(evidence.is_write)[rows]
    return np.where(evidence.runs(touched)[rows], written, -1)


ADVICE = Advice(
    "repeated-query",
    "Query once and pass the result on, or cache it as long as stale data is acceptable",
)

PATTERN = Pattern(
    code="repeated-query",
    fix="cache",
    title="Repeated query: {repeats:,} runs with {how}",
    why="The result is already known: each repeat costs a round trip and server time for no new data.",
    find=find,
    rule="one reading statement 5 times or more with the same parameters. Reported as well as an N+1 of the same runs "
    "where a cache would save half as much. Volatile functions and locking reads do not count; where a connection "
    "writes the table it reads, only runs between two writes count",
    example="`select value from settings where name = ?` runs 200 times with the same name.",
    is_not="a function whose answer changes (`now()`, `nextval`), a read that locks, or one that follows a write to "
    "its table.",
    fixes={"": ADVICE},
    beside="n+1",
)
