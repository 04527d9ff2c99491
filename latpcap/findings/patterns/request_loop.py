"""Request loop: where statements cannot be read, requests of one size that follow each other are probably a loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.evidence import Bools, Evidence, bools
from latpcap.findings.finding import NOTHING, Candidate, Pattern, effect_of
from latpcap.findings.groups import Groups
from latpcap.findings.patterns.serial_reads import MAX_PAUSE_NS
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints, known

MIN_REQUESTS = 20
"""A shorter run of requests of one size may be a coincidence."""
MAX_SPREAD_BYTES = 4
"""The parameters of one statement differ by so many digits."""
FIX = (
    "Look for a loop in the program that runs one statement per row: a join, a list of keys, a batch or a larger fetch "
    "takes one round trip for many rows. With the client's keys (--keylog), latpcap names the statement."
)


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording at most; what the requests are for is unknown, so no saving is claimed."""
    exchanges = evidence.exchanges
    rows = np.flatnonzero(evidence.is_unread)
    if not len(rows):
        return
    runs = Groups.of(rows, np.cumsum(_breaks(evidence))[rows])
    runs = _split(runs.where(runs.sizes >= MIN_REQUESTS), exchanges.request_bytes)
    runs = runs.where(runs.sizes >= MIN_REQUESTS)
    if not len(runs):
        return
    requests = f"{len(runs.rows):,} requests"
    many = f"{requests}, in {len(runs):,} runs of one size each: probably loops"
    yield Candidate(
        shown=runs.rows,
        effect=effect_of(evidence, NOTHING, rows[:0]),
        facts={
            "requests": len(runs.rows),
            "runs": len(runs),
            "seconds": float(evidence.timeline.network_ns[runs.rows].sum()) / 1e9,
            "said": many if len(runs) > 1 else f"{requests} of one size, one after another: probably a loop",
        },
        fix=FIX,
    )


def _split(runs: Groups, request_bytes: Ints) -> Groups:
    """Split each run where its requests would differ by more than those of one statement do."""
    if not len(runs):
        return runs
    sizes, starts = request_bytes[runs.rows], runs.starts[:-1]
    spread = np.maximum.reduceat(sizes, starts) - np.minimum.reduceat(sizes, starts)
    added = []
    for number in np.flatnonzero(spread > MAX_SPREAD_BYTES):
        begin, end = runs.starts[number : number + 2]
        least = most = sizes[begin]
        for place in range(begin, end):
            least, most = min(least, sizes[place]), max(most, sizes[place])
            if most - least > MAX_SPREAD_BYTES:
                added.append(place)
                least = most = sizes[place]
    return Groups(runs.rows, np.sort(np.concatenate((runs.starts, np.array(added, np.int64)))))


def _breaks(evidence: Evidence) -> Bools:
    """Before these a run ends: another size, anything that can be read, and time in which the program works."""
    exchanges = evidence.exchanges
    apart = np.abs(exchanges.request_bytes - columns.before(exchanges.request_bytes)) > MAX_SPREAD_BYTES
    paused = exchanges.client > MAX_PAUSE_NS + known(evidence.rtt.each_baseline)
    return bools(apart | paused | (evidence.waits & ~evidence.is_unread) | exchanges.is_first)


PATTERN = Pattern(
    code="request-loop",
    fix="",
    title="{said}",
    why="Each waits for a round trip. Their contents cannot be read.",
    find=find,
    rule="20 or more requests of one size (within 4 bytes) on a connection that cannot be read, each sent within 20 ms "
    "of the response before. Their contents are unknown: a suggestion",
    example="Behind TLS, 300 requests of 212 bytes each, one after another.",
    is_not="proof of a loop: the requests cannot be read without the keys.",
    fixes={"": FIX},
)
