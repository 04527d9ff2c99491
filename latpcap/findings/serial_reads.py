"""Serial reads: queries that seem independent wait for each other's answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings import drivers
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, effect_of
from latpcap.findings.groups import Groups

FEWEST = 10
"""Reads in a row."""
DEPTH = 100


def find(evidence: Evidence, depth: int | None) -> Iterator[Candidate]:
    """One candidate a recording; `depth`: requests that are sent together after the fix.

    Whether one read needs the answer of another cannot be seen from outside: it is a suggestion.
    """
    depth = depth or DEPTH
    exchanges = evidence.exchanges
    rows = np.flatnonzero(evidence.is_read & evidence.waits & ~evidence.is_opening & ~evidence.failed)
    breaks = np.cumsum((evidence.is_execution & ~evidence.is_read) | evidence.is_fetch | evidence.is_blob)
    runs = Groups.of(rows, evidence.stretch[rows], breaks[rows])
    runs = runs.where(runs.sizes >= FEWEST)
    if len(runs) == 0:
        return
    behind = runs.rows[runs.places % depth > 0]
    trips = np.ones(len(behind))
    statements = len(np.unique(exchanges.fingerprint[runs.rows]))
    yield Candidate(
        shown=runs.rows,
        effect=effect_of(evidence, "pipeline", behind, saved=trips, carrier=behind),
        fingerprint=int(exchanges.fingerprint[runs.rows[0]]) if statements == 1 else -1,
        facts={"reads": len(runs.rows), "runs": len(runs), "statements": statements, "depth_after": depth},
        fix=drivers.sentence(evidence, "pipeline", exchanges.connection[runs.rows]),
    )


PATTERN = Pattern(
    code="serial-reads",
    fix="pipeline",
    title="{reads:,} reads one after the other, which perhaps do not need each other's answers",
    why="What does not depend on an answer can be asked before it comes; then the waits overlap.",
    find=find,
    suggestion=True,
    choices=("",),
    usual=DEPTH,
)
