"""Blob per row: each blob or LOB is read, or written, in round trips of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import most_frequent
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.units import counted

MIN_BLOBS = 5
SAVED_TIME = SavedShare(client=0.0, service=0.5)
"""The bytes still travel, with the rows."""
CREATES = ("create_blob", "create_blob2", "lob_create_temporary")
WRITES = (*CREATES, "put_segment", "batch_segments", "batch_blob_stream", "lob_write", "lob_trim")
CLOSES = ("close_blob", "cancel_blob", "lob_close", "lob_free_temporary")
"""Commands that close the blob that the connection read or wrote last."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a statement, and whether its blobs are read or written."""
    exchanges = evidence.exchanges
    if not evidence.is_blob.any():
        return
    blobs = np.flatnonzero(evidence.is_blob)
    waits, written = evidence.waits[blobs], _written(evidence, blobs)
    key = evidence.question[blobs] * 2 + written
    for number in most_frequent(key[waits]):
        mine, dependents = blobs[waits & (key == number)], blobs[~waits & (key == number)]
        trips, question = int(exchanges.round_trips[mine].sum()), number // 2
        rows = _created(evidence, blobs[key == number]) if number % 2 else _brought(evidence, mine)
        if len(mine) < MIN_BLOBS or trips < rows:
            continue
        advice, verb = (SENDING, "write") if number % 2 else (ADVICE, "open and read")
        yield Candidate(
            shown=mine,
            effect=effect_of(evidence, SAVED_TIME, mine, dependents=dependents),
            fingerprint=evidence.statement_of(question),
            place=evidence.place_of(question),
            facts={"round_trips": trips, "rows": rows, "what": f"{verb} {_blobs(rows, bool(number % 2))}"},
            fix=advice.sentence(evidence, exchanges.connection[mine]),
        )


def _written(evidence: Evidence, blobs: Ints) -> Bools:
    """Return which write; a close counts as what came before it on its connection."""
    command = evidence.exchanges.command.picked(blobs)
    does = np.where(command.where(CLOSES.__contains__), -1, command.where(WRITES.__contains__))
    return bools(passes.last_known(does, evidence.exchanges.connection[blobs]) > 0)


def _created(evidence: Evidence, blobs: Ints) -> int:
    return int(evidence.exchanges.command.picked(blobs).where(CREATES.__contains__).sum())


def _brought(evidence: Evidence, blobs: Ints) -> int:
    """The rows that these blobs were of."""
    units = passes.occurring(evidence.unit[blobs])
    return int(np.maximum(evidence.unit_rows[units[units >= 0]], 0).sum())


def _blobs(count: int, written: bool) -> str:
    return counted(count, "blob") if written else f"blobs of {counted(count, 'row')}"


SENDING = Advice(
    "blob-per-row/write",
    "Send small blobs as bound values of the statement instead of creating each one first",
)
ADVICE = Advice("blob-per-row", "Fetch small blobs with their rows instead of opening each one")

PATTERN = Pattern(
    code="blob-per-row",
    fix="blob",
    title="Blob per row: {round_trips:,} round trips {what}",
    why="Blobs are not part of their rows: each one costs at least one more round trip.",
    find=find,
    rule="as many round trips that open and read blobs as the statement has rows, or that create and write them as "
    "there are blobs, 5 or more",
    example="20 rows with a blob each: 20 times open, read and close of a blob behind one fetch.",
    is_not="a blob that is too large to travel with its row, which takes several round trips in any case.",
    fixes={"read": ADVICE, "write": SENDING},
)
