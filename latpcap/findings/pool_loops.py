"""Loops over the connections of a pool: a query brings rows on one of them, and the repeats run on any.

One connection shows a part of such a loop and perhaps not what it goes through. So the executions of all connections of
one program, user and database are looked at in the order of time. Others may run between them: only as many repeats as
the query brought rows make a loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.groups import Groups
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Ints

MIN_REPEATS = 5
"""Repeats, and distinct parameters among them."""
MIN_DISTINCT_SHARE = 0.5
MIN_ROWS_SHARE = 0.8
"""Share of rows for which a loop asks where it asks for the same keys several times, or over a pool."""
MIN_OWN_LOOP = 3
"""Executions of what looks like the source, all before the loop, that make it a loop of its own."""
MAX_BETWEEN = 8
"""Executions of other statements that may lie between the source and the first repeat."""


class Loops(NamedTuple):
    """Runs of one statement with changing parameters within an interval of work."""

    groups: Groups
    """The executions of each loop."""
    source: Ints
    """The execution that brought the rows each loop goes through; -1 where it was not captured."""


WHOSE = ("application", "user", "database")


def pooled_loops(evidence: Evidence) -> Loops:
    """The loops that run over several connections."""
    nothing = np.empty(0, np.int64)
    none = Loops(Groups.of(nothing, nothing), nothing)
    program = _programs(evidence)
    connection = evidence.exchanges.connection
    rows = np.flatnonzero((program >= 0)[connection] & evidence.is_execution)
    if not len(rows):
        return none
    rows = rows[passes.ordered(program[connection[rows]], evidence.exchanges.begin[rows])]
    interval = _intervals(evidence, program[connection[rows]], rows)
    asks = evidence.is_read & evidence.is_waited_for & ~evidence.is_opening & ~evidence.failed
    places = np.flatnonzero(asks[rows])
    reads = Groups.of(places, interval[places], evidence.exchanges.fingerprint[rows[places]])
    loops = reads.where(reads.sizes >= MIN_REPEATS)
    if not len(loops):
        return none
    source = _sources(evidence, rows, interval, loops.firsts)
    keep = (source >= 0) & _fits(evidence, rows, reads, loops, source)
    found = loops.where(keep)
    return Loops(Groups(rows[found.rows], found.starts), rows[source[keep]])


def _programs(evidence: Evidence) -> Ints:
    """The program, user and database of each connection by a number; -1 where it has this connection only."""
    recording, connections = evidence.recording, evidence.recording.connections
    said = (recording.said(name).codes for name in WHOSE)
    numbers = passes.numbered(connections.host.codes, connections.server.codes, *said)
    several = np.bincount(numbers, minlength=1) > 1
    return np.where(several[numbers], numbers, -1)


def _intervals(evidence: Evidence, program: Ints, rows: Ints) -> Ints:
    """Numbers the intervals of work of each program without think time on all of its connections."""
    begin, end = evidence.exchanges.begin[rows], evidence.exchanges.end[rows]
    new = np.diff(program, prepend=-1) != 0
    new[1:] |= begin[1:] - passes.running_maximum(end, program)[:-1] > evidence.think_ns
    return np.cumsum(new)


def _sources(evidence: Evidence, rows: Ints, interval: Ints, firsts: Ints) -> Ints:
    """The last query before each place that brought several rows, near it; -1 for none."""
    of_application = ~evidence.reads_catalog[rows]
    brings = evidence.is_read & ~evidence.failed & (evidence.unit_rows >= 2) & ~evidence.is_opening
    last = passes.last_known(np.where(brings[rows] & of_application, np.arange(len(rows)), -1), interval)
    before = np.maximum(firsts - 1, 0)
    source = np.where((firsts > 0) & (interval[before] == interval[firsts]), last[before], -1)
    executed = np.cumsum(of_application)
    return np.where((source >= 0) & (executed[before] - executed[source] <= MAX_BETWEEN), source, -1)


def _fits(evidence: Evidence, rows: Ints, reads: Groups, loops: Groups, source: Ints) -> Bools:
    """Several connections, changing parameters, and one repeat for each row that the source brought."""
    of_source = reads.holding(source, len(rows))
    brought = reads.sum(np.maximum(evidence.unit_rows[rows[reads.rows]], 0))[of_source]
    fits = (loops.sizes <= brought * 1.05 + 1) & (loops.sizes >= MIN_ROWS_SHARE * brought)
    repeats = rows[loops.rows]
    known = loops.sum(evidence.parameters_known[repeats]) == loops.sizes
    fits &= ~known | (loops.distinct(evidence.parameter_numbers[repeats]) >= MIN_REPEATS)
    fits &= loops.distinct(passes.first_alike(evidence.exchanges.connection[repeats])) > 1
    return bools(fits & ~are_two_loops(loops, reads, of_source))


def are_two_loops(loops: Groups, reads: Groups, of_source: Ints) -> Bools:
    """The source itself ran several times before the loop and never during it: one loop follows another."""
    first, last = (reads.before(of_source, rows) for rows in (loops.firsts, loops.lasts))
    return bools((first >= MIN_OWN_LOOP) & (last == first))
