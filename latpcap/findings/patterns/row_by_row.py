"""Row-by-row DML: rows are inserted, updated or deleted one statement each."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from latpcap.findings.cycles import is_unknown
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups, most_frequent
from latpcap.findings.mapper_reads import decides_nothing, reads_behind
from latpcap.measures.statement_text import CUT, is_cut_behind_table
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools

MIN_REPEATS = 10
DEFAULT_BATCH_ROWS = 100
SAVED_TIME = SavedShare(client=0.5, service=0.5)
"""The rows are still written, by fewer calls."""


def find(evidence: Evidence, size: int | None) -> Iterator[Candidate]:
    """One candidate a statement; `size`: rows a batch after the fix."""
    size = size or DEFAULT_BATCH_ROWS
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
                "changed": CHANGED[verb := _verb(evidence.text(evidence.statement_of(number)))],
            },
            fix=_fix(evidence, verb, mine) + _with_reads(len(reads)),
            needs=("commit",) if _commits_between(evidence, mine) else (),
        )


def _with_reads(count: int) -> str:
    """Say that the reads of inserted rows go, too."""
    text = (
        f" This also saves the {count:,} reads of the inserted rows: a batch returns the keys, or one query reads them."
    )
    return text if count else ""


def _fix(evidence: Evidence, verb: str, series: Groups) -> str:
    said = FIXES[verb].sentence(evidence, evidence.exchanges.connection[series.rows])
    return f"{said} {TOGETHER}" if _commits_between(evidence, series) else said


def _verb(text: str) -> str:
    """Return what a statement does to its row, a key of `FIXES`.

    >>> [_verb(text) for text in ("insert into t values (?)", "update t set a = ?", "merge into t using u on")]
    ['insert', 'update', 'upsert']
    >>> _verb("insert into t values (?) on conflict do nothing"), _verb("with u as (?) delete from t")
    ('upsert', 'delete')
    """
    if UPSERT.match(text):
        return "upsert"
    named = re.search(r"\b(?:insert|update|delete)\b", text)
    return named[0] if named else "upsert"


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


UPSERT = re.compile(r"(?:replace|merge|upsert|update or insert)\b|insert\b.* on (?:conflict|duplicate key)\b")
"""A change that inserts a row or updates the one that is there: no bulk load does that."""
CHANGES = "row-by-row-update"
"""The key of settings for what is no plain insert."""
FIXES = {
    "insert": Advice(
        "row-by-row-dml",
        "Send many rows at once: as a batch, in one multi-row `INSERT`, or with the database's bulk load",
    ),
    "update": Advice(
        CHANGES,
        "Update all rows with one statement (joined with the new values or a temporary table, or `CASE` by key), or "
        "send the updates together, as a batch or a pipeline",
    ),
    "delete": Advice(
        CHANGES,
        "Delete all rows with one statement (`WHERE key IN (…)`), or send the deletes together, as a batch or a "
        "pipeline",
    ),
    "upsert": Advice(
        CHANGES,
        "Send many rows at once: in one multi-row statement, through a temporary table, or as a batch or a pipeline",
    ),
}
"""By what the statement does to its row."""
CHANGED = {"insert": "inserted", "update": "updated", "delete": "deleted", "upsert": "written"}
"""The verb of the title."""
TOGETHER = "This commits the rows together, so do it only if they do not need separate commits."
"""The condition of a batch of rows that are committed one by one."""


PATTERN = Pattern(
    code="row-by-row-dml",
    fix="batch",
    title="{repeats:,} rows {changed} one by one",
    why="Each row costs a round trip; a batch would cost one for many rows.",
    find=find,
    rule="10 or more single-row changes by one statement with nothing but changes and transaction commands between; "
    "sequence keys and catalog reads are ignored; reads of the row just inserted, or of its key, are saved with the "
    "batch",
    example="`insert into log values (?, ?)` runs 500 times, and the program waits for each answer.",
    is_not="a multi-row statement, a batch, a pipeline, or changes with a read between them that the next may "
    "depend on.",
    fixes=FIXES,
    choices=("",),
    usual=DEFAULT_BATCH_ROWS,
)
