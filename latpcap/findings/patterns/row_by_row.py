"""Row-by-row DML: rows are inserted, updated or deleted one statement each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.cycles import is_unknown
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedTime, effect_of
from latpcap.findings.groups import Groups, most_frequent
from latpcap.findings.mapper_reads import decides_nothing, reads_behind
from latpcap.measures.statement_text import CUT, is_cut_behind_table
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools

MIN_REPEATS = 10
USUAL_SIZE = 100
SAVED_TIME = SavedTime(client=0.5, service=0.5)
"""The rows are still written, by fewer calls."""


def find(evidence: Evidence, size: int | None) -> Iterator[Candidate]:
    """One candidate a statement; `size`: rows a batch after the fix."""
    size = size or USUAL_SIZE
    exchanges = evidence.exchanges
    series = find_series(evidence)
    if not len(series):
        return
    question = evidence.question[series.firsts]
    for number in most_frequent(question):
        mine = series.where(question == number)
        reads, inserts = reads_behind(evidence, mine.rows)
        batched = mine.rows[mine.places % size > 0]
        gone = np.sort(np.concatenate((batched, reads[np.isin(inserts, batched)])))
        yield Candidate(
            shown=evidence.serving(np.sort(np.concatenate((mine.rows, reads)))),
            effect=effect_of(evidence, SAVED_TIME, evidence.serving(gone), executions=gone),
            fingerprint=evidence.statement_of(number),
            place=evidence.place_of(number),
            facts={
                "repeats": len(mine.rows),
                "series": len(mine),
                "rows_per_batch_after": size,
                "reads_back": len(reads),
            },
            fix=ADVICE.sentence(evidence, exchanges.connection[mine.rows]) + _with_reads(len(reads)),
            needs=("commit",) if _commits_between(evidence, mine) else (),
        )


def _with_reads(count: int) -> str:
    """What becomes of the reads behind the changes."""
    text = f" The {count:,} reads of what was inserted go with it: a batch returns its keys, or is read once."
    return text if count else ""


def _commits_between(evidence: Evidence, series: Groups) -> bool:
    """Changes of several transactions make no batch unless they are committed together."""
    transactions = passes.occurring(evidence.transaction[series.rows])
    return len(transactions) > len(series)


def find_series(evidence: Evidence) -> Groups:
    """Runs of one waiting single-row change, with nothing but other changes and transaction commands between.

    A read between two of them may decide about the second, so it ends the run, and so does what is unknown; what a
    mapper asks for itself does not.
    """
    exchanges = evidence.exchanges
    single = (exchanges.affected_rows.ints(1) <= 1) & evidence.is_waited_for & ~evidence.failed
    rows = np.flatnonzero(evidence.is_write & single & ~_many_rows(evidence))
    may_decide = evidence.is_execution & ~evidence.is_write & ~decides_nothing(evidence)
    reads = np.cumsum(may_decide | (is_unknown(evidence) & ~_is_known_enough(evidence)))
    groups = Groups.of(rows, evidence.interval[rows], reads[rows], exchanges.fingerprint[rows])
    return groups.where(groups.sizes >= MIN_REPEATS)


def _is_known_enough(evidence: Evidence) -> Bools:
    """A change that is cut behind the name of its table, and of which the server said how many rows it changed."""
    named = evidence.texts.marked(CUT, wanted=is_cut_behind_table)[evidence.exchanges.fingerprint]
    return bools(named & evidence.is_write & evidence.exchanges.affected_rows.is_valid())


def _many_rows(evidence: Evidence) -> Bools:
    """A change that names several rows: `values (?, ?)+`; only of those that run often enough to matter."""
    changes, runs = passes.counted(evidence.exchanges.fingerprint[evidence.is_write])
    texts = ((number, evidence.text(number)) for number in changes[runs >= MIN_REPEATS].tolist())
    several = [number for number, text in texts if text.endswith(")+") or ")+ " in text]
    return bools(evidence.runs(several) | evidence.exchanges.command.where(lambda command: "bulk" in command))


ADVICE = Advice(
    "Send the rows as one batch or one multi-row statement",
    {
        "PostgreSQL JDBC": "`addBatch()` with `reWriteBatchedInserts=true`",
        "psycopg": "`execute_values()` (psycopg2), `executemany()` (psycopg 3) or `COPY`",
        "asyncpg": "`executemany()` or `copy_records_to_table()`",
        "MySQL Connector/J": "`rewriteBatchedStatements=true`",
        "MariaDB Connector/J": "`useBulkStmts=true` with `addBatch()`",
        "Python": "`executemany()` with one `INSERT … VALUES`",
        "Oracle JDBC": "`addBatch()`/`executeBatch()`",
        "python-oracledb": "`executemany()`",
        "SQL Server JDBC": "`addBatch()` with `useBulkCopyForBatchInsert=true`",
        "SqlClient": "`SqlBulkCopy` or a table-valued parameter",
        "go-mssqldb": "`mssql.CopyIn()` or a table-valued parameter",
        "tedious": "`BulkLoad` or a table-valued parameter",
        "pymssql": "`bulk_copy()`",
        "python-tds": "`copy_to()`",
        "SQL Server ODBC": "arrays of parameters (pyodbc: `fast_executemany`) or `bcp`",
        "Jaybird": "the batch API (Firebird 4 with Jaybird 5 or newer, `useServerBatch=true`)",
        "libfbclient": "`IBatch` (Firebird 4)",
    },
)

PATTERN = Pattern(
    code="row-by-row-dml",
    fix="batch",
    title="Row by row: {repeats:,} single-row changes, one statement each",
    why="Each row costs a round trip; a batch would cost one for many rows.",
    find=find,
    choices=("",),
    usual=USUAL_SIZE,
)
