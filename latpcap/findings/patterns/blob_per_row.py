"""Blob per row: each blob or LOB is opened and read in round trips of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, Takes, effect_of
from latpcap.findings.groups import most_frequent
from latpcap.tables import passes

MIN_BLOBS = 5
TAKES = Takes(client=0.0, service=0.5)
"""The bytes are still read, with the rows."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a statement."""
    exchanges = evidence.exchanges
    blobs = np.flatnonzero(evidence.is_blob & evidence.waits)
    followers = np.flatnonzero(evidence.is_blob & ~evidence.waits)
    statement = exchanges.fingerprint[blobs]
    for number in most_frequent(statement):
        mine = blobs[statement == number]
        trips = int(exchanges.round_trips[mine].sum())
        units = passes.occurring(evidence.unit[mine])
        rows = int(np.maximum(evidence.unit_rows[units[units >= 0]], 0).sum())
        if len(mine) < MIN_BLOBS or trips < rows:
            continue
        yield Candidate(
            shown=mine,
            effect=effect_of(evidence, TAKES, mine, along=followers[exchanges.fingerprint[followers] == number]),
            fingerprint=number,
            facts={"round_trips": trips, "rows": rows},
            fix=ADVICE.sentence(evidence, exchanges.connection[mine]),
        )


ADVICE = Advice(
    "Fetch small blobs with their rows instead of opening each",
    {
        "Oracle JDBC": "`defaultLobPrefetchSize`",
        "python-oracledb": "`oracledb.defaults.fetch_lobs = False`",
        "Jaybird": "Firebird 5.0.3: `maxInlineBlobSize`; or `cast(… as varchar(…))`",
        "libfbclient": "Firebird 5.0.3: inline blobs; or `cast(… as varchar(…))`",
        "isql": "`set blob off`, or `cast(… as varchar(…))`",
    },
)

PATTERN = Pattern(
    code="blob-per-row",
    fix="blob",
    title="Blob per row: {round_trips:,} round trips open and read blobs of {rows:,} rows",
    why="A blob does not travel with its row: each waits once or more often for itself.",
    find=find,
)
