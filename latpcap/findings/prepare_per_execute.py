"""Prepare per execute: a statement is prepared anew for every execution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings import drivers
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, effect_of
from latpcap.findings.groups import Groups

FEWEST = 5
SHARE = 0.9
"""Prepares to executions, from which on each execution has its own."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a statement: all but the first prepare of each connection, and what frees its result, can go."""
    exchanges = evidence.exchanges
    known = exchanges.fingerprint >= 0
    prepares = np.flatnonzero(evidence.is_prepare & known & evidence.waits & ~evidence.is_opening)
    groups = Groups.of(
        prepares, exchanges.connection[prepares], exchanges.fingerprint[prepares], evidence.unit[prepares]
    )
    firsts = groups.firsts  # a prepare and its describe serve one execution
    per_statement = Groups.of(firsts, exchanges.connection[firsts], exchanges.fingerprint[firsts])
    per_statement = per_statement.where(per_statement.sizes >= FEWEST)
    per_statement = per_statement.where(per_statement.sizes >= SHARE * _executions(evidence, per_statement.firsts))
    statement = exchanges.fingerprint[per_statement.rows]
    for number in np.unique(statement):
        mine = statement == number
        own = per_statement.rows[mine & (per_statement.places > 0)]
        units = evidence.unit[own]
        gone = evidence.serving(units[units >= 0], evidence.is_prepare)
        shown = evidence.serving(evidence.unit[per_statement.rows[mine]], evidence.is_prepare)
        yield Candidate(
            shown=shown,
            effect=effect_of(evidence, "prepare", gone),
            fingerprint=int(number),
            facts={
                "prepares": int(mine.sum()),
                "executions": int(_executions(evidence, firsts_of(per_statement, mine)).sum()),
            },
            fix=drivers.sentence(evidence, "prepare", exchanges.connection[own]),
        )


def firsts_of(groups: Groups, rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """The first row of each group among `rows`."""
    return groups.rows[rows & (groups.places == 0)]


def _executions(evidence: Evidence, rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """How often the statement of each row was executed on its connection."""
    exchanges = evidence.exchanges
    executed = np.flatnonzero(exchanges.is_execution & (exchanges.fingerprint >= 0))
    both = np.concatenate((executed, rows))
    groups = Groups.of(both, exchanges.connection[both], exchanges.fingerprint[both])
    counts = groups.sum(exchanges.is_execution[groups.rows])
    found = np.zeros(len(exchanges), np.int64)
    found[groups.rows] = counts[groups.ids]
    return found[rows]


PATTERN = Pattern(
    code="prepare-per-execute",
    fix="prepare",
    title="Prepared anew for each execution: {prepares:,} prepares for {executions:,} executions",
    why="Preparing waits a round trip and makes the server parse and plan the same statement again.",
    find=find,
)
