"""Reads between two changes that decide nothing: what drivers and object mappers ask for themselves."""

from __future__ import annotations

import numpy as np

from latpcap.findings.evidence import Evidence, bools
from latpcap.measures.statement_text import KEY_WORDS, always_brings_row, asks_for_key, reads_any, written_table
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
    """The reads that follow an INSERT at once, and bring one row of its table for a parameter."""
    executions = np.flatnonzero(evidence.is_execution)
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


def _is_of_same_table(change: str, read: str) -> bool:
    """The change inserts into a table that the read names.

    >>> _is_of_same_table("insert into t (a) values (?)", "select a from t where id = ?")
    True
    """
    table = written_table(change)
    if table is None or not change.startswith("insert") or always_brings_row(read):
        return False
    return reads_any(read, frozenset({table}))
