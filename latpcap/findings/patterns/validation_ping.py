"""Validation ping: the connection is tested before each use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import before
from latpcap.units import format_average

MIN_PINGS = 5
MIN_SHARE = 0.5
"""Share of pieces of work that follow a ping."""
SAVED_TIME = SavedShare(client=1.0, service=1.0)
"""All time of the calls is saved."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording.

    A piece of work runs statements; it begins with its pings, after a transaction's end, or after think time. What only
    sets the session (`SET autocommit` behind a COMMIT) is none.
    """
    exchanges = evidence.exchanges
    pings = evidence.is_ping & evidence.waits
    works = evidence.is_execution | evidence.is_fetch
    new = np.diff(evidence.interval, prepend=-1) != 0
    again = pings & before(pings) & ~new
    edge = (pings & ~again) | evidence.is_end | new
    piece = np.cumsum(edge) - 1
    pieces = passes.occurring(piece[works & ~evidence.is_opening])
    begins = np.flatnonzero(edge)[pieces]
    tested = begins[pings[begins]]
    if len(tested) < MIN_PINGS or len(tested) < MIN_SHARE * len(pieces):
        return
    # The pings that stand one behind the other at the beginning of a piece.
    run = np.cumsum(pings & ~again)
    tests = np.flatnonzero(pings & np.isin(run, run[tested]))
    each = len(tests) / len(tested)
    first = int(tests[0])
    statement = int(exchanges.fingerprint[first])
    yield Candidate(
        shown=tests,
        effect=effect_of(evidence, SAVED_TIME, tests),
        fingerprint=statement,
        facts={
            "pings": len(tests),
            "tested": len(tested),
            "pieces_of_work": len(pieces),
            "pings_each": "a ping" if each == 1 else f"{format_average(each)} pings",
        },
        fix=ADVICE.sentence(evidence, exchanges.connection[tests]),
        statement=None if statement >= 0 else exchanges.command.names[int(exchanges.command.codes[first])],
    )


ADVICE = Advice(
    "validation-ping",
    "Test a connection only after it has been idle for a while, not before every use; the program must handle one that "
    "breaks in between, as it must with a ping",
)

PATTERN = Pattern(
    code="validation-ping",
    fix="ping",
    title="Validation ping: {pings_each} before {tested:,} of {pieces_of_work:,} uses of a connection",
    why="Each ping costs a round trip and shows no more than the statement after it would.",
    find=find,
    rule="5 pings or more (COM_PING, `SELECT 1`, `SELECT NULL`, an empty query, a Sync that ends nothing), at the "
    "beginning of half of the uses of a connection (up to a transaction's end or think time; settings alone do not "
    "count); all consecutive pings there count",
    example="`SELECT 1` before each of 80 transactions.",
    is_not="a ping of a connection that was idle, such as a keep-alive, or `select ?` with values that differ.",
    fixes={"": ADVICE},
)
