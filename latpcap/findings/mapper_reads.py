"""Reads between two changes that decide nothing: what drivers and object mappers ask for themselves."""

from __future__ import annotations

import numpy as np

from latpcap.findings.evidence import Evidence, bools
from latpcap.measures.statement_text import (
    KEY_WORDS,
    NEXT_KEY_WORDS,
    always_brings_row,
    asks_for_key,
    reads_any,
    written_table,
)
from latpcap.tables.columnar.columns import Bools, Ints


def decides_nothing(evidence: Evidence) -> Bools:
    """Asks the catalog, or a sequence for a key, or reads the row back that was inserted just before."""
    found = evidence.reads_catalog | reads_key(evidence)
    found[read_back(evidence)] = True
    return bools(found)


def reads_key(evidence: Evidence) -> Bools:
    """Asks a sequence for a key, or the session for the last one."""
    of_keys = evidence.texts.marked(*KEY_WORDS, wanted=asks_for_key)[evidence.exchanges.fingerprint]
    return bools(evidence.is_read & of_keys)


def read_back(evidence: Evidence) -> Ints:
    """The reads right behind an INSERT, or the read of its key, that bring one row of its table for a parameter."""
    executions = np.flatnonzero(evidence.is_execution & ~reads_key(evidence))
    before, after = executions[:-1], executions[1:]
    together = evidence.interval[before] == evidence.interval[after]
    brings_one = evidence.is_read & (evidence.unit_rows == 1) & (evidence.parameters != 0) & ~evidence.failed
    follows = together & evidence.is_write[before] & brings_one[after]
    changes, reads = before[follows], after[follows]
    if len(reads) == 0:
        return np.empty(0, np.int64)
    statement = evidence.exchanges.fingerprint
    kinds, kind = np.unique(np.stack((statement[changes], statement[reads])), axis=1, return_inverse=True)
    same = [_is_of_same_table(*map(evidence.text, pair)) for pair in kinds.T.tolist()]
    rows: Ints = reads[np.array(same, bool)[kind.reshape(-1)]]
    return rows


def reads_behind(evidence: Evidence, changes: Ints) -> tuple[Ints, Ints]:
    """The reads of the keys and rows that some changes have inserted, and the change before each.

    A read that asks a sequence for the next key belongs to the insert behind it.
    """
    executions = np.flatnonzero(evidence.is_execution)
    belongs = reads_key(evidence) & ~_reads_next_key(evidence)
    belongs[read_back(evidence)] = True
    is_behind = belongs[executions]
    change = np.maximum.accumulate(np.where(is_behind, -1, np.arange(len(executions))))
    mine = is_behind & (change >= 0)
    reads, before = executions[mine], executions[change[mine]]
    same = (evidence.interval[reads] == evidence.interval[before]) & np.isin(before, changes)
    return reads[same], before[same]


def _reads_next_key(evidence: Evidence) -> Bools:
    wanted = evidence.texts.marked(*NEXT_KEY_WORDS, wanted=asks_for_key)
    return bools(wanted[evidence.exchanges.fingerprint])


def _is_of_same_table(change: str, read: str) -> bool:
    """The change inserts into a table that the read names.

    >>> _is_of_same_table("insert into t (a) values (?)", "select a from t where id = ?")
    True
    """
    table = written_table(change)
    if table is None or not change.startswith("insert") or always_brings_row(read):
        return False
    return reads_any(read, frozenset({table}))
