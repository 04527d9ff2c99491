"""Serial reads: queries that seem independent wait for each other's answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import known

MIN_READS = 10
"""Reads in a row."""
DEFAULT_DEPTH = 100
MAX_PAUSE_NS = 20e6
"""A program that works longer between two reads uses the answer of the first."""
SAVED_TIME = SavedShare(client=0.0, service=0.0, call=False)
"""The reads are sent all the same, only earlier."""


def find(evidence: Evidence, depth: int | None) -> Iterator[Candidate]:
    """One candidate a recording; `depth`: requests that are sent together after the fix.

    Whether one read needs the answer of another cannot be seen from outside: it is a suggestion.
    """
    depth = depth or DEFAULT_DEPTH
    exchanges = evidence.exchanges
    asks = evidence.is_read & evidence.waits & ~evidence.is_opening & ~evidence.failed
    rows = np.flatnonzero(asks & ~evidence.reads_catalog)  # which is the driver's or the mapper's own affair
    runs = Groups.of(rows, np.cumsum(_breaks(evidence))[rows])
    runs = runs.where(runs.sizes >= MIN_READS)
    if len(runs) == 0:
        return
    behind = runs.rows[runs.places % depth > 0]
    trips = np.ones(len(behind))
    statements = len(passes.counted(exchanges.fingerprint[runs.rows])[0])
    yield Candidate(
        shown=runs.rows,
        effect=effect_of(evidence, SAVED_TIME, behind, saved=trips),
        fingerprint=int(exchanges.fingerprint[runs.rows[0]]) if statements == 1 else -1,
        facts={"reads": len(runs.rows), "runs": len(runs), "statements": statements, "depth_after": depth},
        fix=ADVICE.sentence(evidence, exchanges.connection[runs.rows]),
    )


def _breaks(evidence: Evidence) -> NDArray[np.bool_]:
    """Before these a run of reads ends: anything else that is waited for, and time in which the program works."""
    exchanges = evidence.exchanges
    serves_read = ~exchanges.is_execution & evidence.does("read") & ~evidence.is_fetch & ~evidence.is_blob
    other = evidence.waits & ~evidence.is_read & ~serves_read
    paused = exchanges.client > MAX_PAUSE_NS + known(evidence.rtt.each_baseline)
    return bools(other | paused | exchanges.is_first)


ADVICE = Advice(
    "serial-reads",
    "Combine independent reads in one query, or send them over several connections or in a pipeline, if the driver has "
    "one; a batch does not help, as it returns no rows",
)

PATTERN = Pattern(
    code="serial-reads",
    fix="pipeline",
    title="{reads:,} reads one after another that look independent",
    why="Independent reads can be sent without waiting for each other, so their waits overlap.",
    find=find,
    rule="10 reads in a row on a connection, each sent within 20 ms of the response before; catalog reads do not "
    "count. The capture does not show whether one needs another's result: a suggestion",
    example="A page reads user, basket, prices and stock one after another, each with its own statement.",
    is_not="proof that they are independent: only the program knows whether one read needs the result of another.",
    fixes={"": ADVICE},
    suggestion=True,
    choices=("",),
    usual=DEFAULT_DEPTH,
)
