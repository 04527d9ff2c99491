"""N+1: a query brings rows, and for each of them the program asks once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups, most_frequent
from latpcap.findings.pool_loops import (
    MAX_BETWEEN,
    MIN_DISTINCT_SHARE,
    MIN_REPEATS,
    MIN_ROWS_SHARE,
    Loops,
    are_two_loops,
    pooled_loops,
)
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Ints

MIN_UNFED_REPEATS = 20
"""A loop whose source was not captured, or not that it brought rows, has at least this many repeats."""
MIN_UNCOUNTED_REPEATS = 10
"""A loop behind a query of whose answer a part without two rows was captured has at least this many repeats."""
FED_IN_PART = " (captured in part)"
"""The end of the title where the query that feeds a loop was captured in part."""
MIN_ROW_BYTES = 5
"""A row takes at least this many bytes of an answer."""
SAVED_TIME = SavedShare(client=1.0, service=0.5)
"""The parent's query does half of the work of the children's."""


def find(evidence: Evidence, keys: int | None) -> Iterator[Candidate]:
    """One candidate a repeated statement. `keys`: how many keys an IN-list asks for; by default a join asks for all."""
    loops, source = find_loops(evidence)
    if not len(loops):
        return
    exchanges = evidence.exchanges
    question = evidence.question[loops.firsts]
    for number in most_frequent(evidence.question[loops.rows]):
        mine = loops.where(question == number)
        sources = source[question == number]
        gone = _removed(mine, sources, keys)
        last = int(sources.max())
        yield Candidate(
            shown=evidence.serving(mine.rows),
            effect=effect_of(evidence, SAVED_TIME, evidence.serving(gone), executions=gone),
            fingerprint=evidence.statement_of(number),
            place=evidence.place_of(number),
            facts={
                "repeats": len(mine.rows),
                "distinct_parameters": (different := _distinct(evidence, captured := _captured(evidence, mine.rows))),
                "how": "" if different in (None, len(captured)) else f" ({different:,} different parameters)",
                "connections": len(passes.occurring(exchanges.connection[mine.rows])),
                "least": "at least " if _may_be_more(evidence, mine, sources) else "",
                "source": (evidence.text(int(exchanges.fingerprint[last])) or None) if last >= 0 else None,
                "fed": FED_IN_PART if _are_in_part(evidence, sources) else "",
                "loops": len(mine),
            },
            fix=ADVICE.sentence(evidence, exchanges.connection[mine.rows]),
        )


def _captured(evidence: Evidence, repeats: Ints) -> Ints:
    """The repeats that were not lost."""
    captured: Ints = repeats[~evidence.is_inferred[repeats]]
    return captured


def _distinct(evidence: Evidence, captured: Ints) -> int | None:
    """How many different parameters they have; `None` where not all are known."""
    known = evidence.parameters_known[captured].all()
    return int(np.count_nonzero(np.bincount(evidence.parameter_numbers[captured]))) if known else None


def _may_be_more(evidence: Evidence, loops: Groups, sources: Ints) -> bool:
    """Return whether a lost request beside those that feed the loops lies in one of their intervals."""
    lost = evidence.is_lost.copy()
    lost[sources[sources >= 0]] = False
    return bool(np.isin(evidence.interval[loops.firsts], evidence.interval[lost]).any())


def _are_in_part(evidence: Evidence, sources: Ints) -> bool:
    """Return whether a query that feeds a loop was captured in part."""
    known = sources[sources >= 0]
    return bool((evidence.is_lost | evidence.is_unit_in_part)[known].any())


def _removed(loops: Groups, source: Ints, keys: int | None) -> Ints:
    """The repeats that a fix removes.

    A join removes all of them; an IN-list leaves one in `keys`, and so does a join whose source was not captured leave
    one.
    """
    length = len(loops.rows) + 1 if keys is None else keys
    joined = np.repeat((source >= 0) & (keys is None), loops.sizes)
    gone: Ints = loops.rows[joined | (loops.places % length > 0)]
    return gone


def find_loops(evidence: Evidence) -> Loops:
    """The loops that look like N+1: over the connections of a pool, and on single ones."""
    single, pooled = _on_one_connection(evidence), pooled_loops(evidence)
    if not len(pooled.groups):
        return single
    is_pooled = np.zeros(len(evidence.exchanges), bool)
    is_pooled[pooled.groups.rows] = True
    alone = single.groups.sum(is_pooled[single.groups.rows]) == 0
    left = single.groups.where(alone)
    starts = np.concatenate((left.starts, pooled.groups.starts[1:] + len(left.rows)))
    groups = Groups(np.concatenate((left.rows, pooled.groups.rows)), starts)
    return Loops(groups, np.concatenate((single.source[alone], pooled.source)))


def doubtful_repeats(evidence: Evidence) -> Ints:
    """Return the repeats that may be those of a loop: what was captured in part before them may have fed it."""
    in_part = evidence.is_lost | evidence.is_unit_in_part
    groups = _repeats(evidence) if in_part.any() else Groups(np.empty(0, np.int64), np.zeros(1, np.int64))
    if not len(groups):
        return groups.rows
    unknown = groups.sum(~evidence.parameters_known[groups.rows]) > 0
    differ = groups.distinct(evidence.parameter_numbers[groups.rows]) >= MIN_REPEATS
    return groups.where((unknown | differ) & (_in_part_before(evidence, groups, in_part) >= 0)).rows


def _repeats(evidence: Evidence) -> Groups:
    """The reads of each statement that an interval repeats."""
    asks = evidence.is_read & evidence.is_waited_for & ~evidence.is_opening
    groups = _of_intervals(evidence, asks & ~evidence.failed)
    return groups.where(groups.sizes >= MIN_REPEATS)


def _on_one_connection(evidence: Evidence) -> Loops:
    groups = _repeats(evidence)
    if not len(groups):
        return Loops(groups, groups.firsts)
    source = _sources(evidence, groups)
    fitting = _fits(evidence, groups, source)
    unfed = (groups.sizes >= MIN_UNFED_REPEATS) & _various(evidence, groups)
    late = unfed & evidence.is_late[groups.firsts] & (source < 0) & _opens_interval(evidence, groups)
    lost = np.where(unfed & ~fitting, _in_part_before(evidence, groups, evidence.is_lost), -1)
    keep = fitting | late | (lost >= 0)
    return Loops(groups.where(keep), np.where(fitting, source, lost)[keep])


def _of_intervals(evidence: Evidence, chosen: Bools) -> Groups:
    """The exchanges of each statement in each interval, of those that are `chosen`."""
    rows = np.flatnonzero(chosen)
    return Groups.of(rows, evidence.interval[rows], evidence.exchanges.fingerprint[rows])


def _various(evidence: Evidence, groups: Groups, rounds: Ints | None = None) -> Bools:
    """The parameters change from repeat to repeat, as far as they are known; in each of `rounds`, if there are any.

    A loop that goes through the same rows once more asks for the same. Where most are unknown, they may well change.
    """
    numbers = evidence.parameter_numbers[groups.rows]
    distinct = groups.distinct(numbers)
    apart = distinct if rounds is None else groups.distinct(passes.numbered(rounds, numbers))
    unknown = ~evidence.parameters_known & ~evidence.is_inferred  # those of lost requests count as one more value
    hidden = groups.sum(unknown[groups.rows])
    change = (distinct >= MIN_REPEATS) & (apart >= MIN_DISTINCT_SHARE * (groups.sizes - hidden))
    return bools((2 * hidden >= groups.sizes) | change)


def _sources(evidence: Evidence, groups: Groups) -> Ints:
    """The last query before each loop, on its connection and without think time between, that brought several rows.

    What a driver or an object mapper asks the catalog between them is not what the loop goes through, and a statement
    of unknown text is so only where no other is near.
    """
    source = _last_before(evidence, groups)
    for passed_over in (evidence.reads_catalog, evidence.reads_catalog | evidence.is_unseen):
        if passed_over.any():
            other = _last_before(evidence, groups, ~passed_over)
            source = np.where((other >= 0) & ~evidence.reads_catalog[groups.firsts], other, source)
    return source


def _brings_rows(evidence: Evidence) -> Bools:
    """Reads, or fetches in SQL from a cursor that was declared before, that did not fail."""
    return bools((evidence.is_read | (evidence.is_fetch & evidence.exchanges.is_execution)) & ~evidence.failed)


def _last_before(evidence: Evidence, groups: Groups, counts: Bools | Literal[True] = True) -> Ints:
    """The last query that brought several rows before each group, near it; only executions that `counts` are seen."""
    rows = evidence.unit_rows
    several = _brings_rows(evidence) & ((rows >= 2) | (rows < 0) | evidence.is_unit_in_part)
    several &= ~evidence.is_opening & counts
    places = np.arange(len(several))
    last = passes.last_known(np.where(several, places, -1), evidence.interval)
    before = groups.firsts - 1
    same = (before >= 0) & (evidence.interval[before] == evidence.interval[groups.firsts])
    source = np.where(same, last[before], -1)
    executed = np.cumsum(evidence.is_execution & counts)
    near = executed[before] - executed[source] <= MAX_BETWEEN
    return np.where((source >= 0) & near, source, -1)


def _fits(evidence: Evidence, groups: Groups, source: Ints) -> Bools:
    """The loop has not more repeats than its source brought rows (all executions of it in the interval together).

    A lost request may have been one more execution. Where an answer is incomplete, the count is not known, and a short
    loop is no evidence that there were several rows.
    """
    reads = _of_intervals(evidence, _brings_rows(evidence))
    if len(reads) == 0:
        return np.zeros(len(groups), bool)
    of_sources = reads.holding(source, len(evidence.exchanges))
    brought = reads.sum(np.maximum(evidence.unit_rows[reads.rows], 0))
    in_part = reads.sum(evidence.is_unit_in_part[reads.rows]) > 0
    unknown = in_part | (reads.sum(evidence.unit_rows[reads.rows] < 0) > 0)
    fed = brought + _lost_in_interval(evidence, reads) * np.maximum(brought // reads.sizes, 1)
    enough = unknown[of_sources] | (groups.sizes <= fed[of_sources] * 1.05 + 1)
    least = MIN_UNFED_REPEATS if evidence.are_rows_cut else MIN_UNCOUNTED_REPEATS
    enough &= (evidence.unit_rows[source] >= 2) | ~in_part[of_sources] | (groups.sizes >= least)
    fetched = evidence.is_fetch[source]
    rounds = reads.before(of_sources[groups.ids], groups.rows)  # after which execution of its source each repeat runs
    various = _various(evidence, groups, rounds)
    various |= _one_for_each(evidence, groups, np.where(unknown & ~in_part, 0, brought)[of_sources])
    return bools((source >= 0) & enough & various & (fetched | ~are_two_loops(groups, reads, of_sources)))


def _lost_in_interval(evidence: Evidence, groups: Groups) -> Ints:
    """Return how many requests were lost in the interval of each group, those included that were inferred."""
    lost = evidence.interval[evidence.is_lost | evidence.is_inferred]
    return np.bincount(lost, minlength=int(evidence.interval.max(initial=0)) + 1)[evidence.interval[groups.firsts]]


def _in_part_before(evidence: Evidence, groups: Groups, in_part: Bools) -> Ints:
    """Return the last exchange before each loop that was captured `in_part` and may have brought its rows; -1 for none.

    What sets the connection up brings none, and the answer to a lost request has to be long enough.
    """
    places = np.arange(len(evidence.exchanges))
    before = np.maximum(groups.firsts - 1, 0)
    last = passes.last_known(np.where(in_part, places, -1), evidence.interval)[before]
    opens = evidence.is_opening & evidence.waits & ~in_part & ~evidence.reads_catalog
    opened = passes.last_known(np.where(opens, places, -1), evidence.exchanges.connection)[before]
    there = (last > opened) & (last >= 0) & (evidence.interval[before] == evidence.interval[groups.firsts])
    executed = np.cumsum(evidence.is_execution)
    near = executed[before] - executed[last] <= MAX_BETWEEN
    answer = evidence.exchanges.response_bytes[last]
    enough = ~evidence.is_lost[last] | (answer == 0) | (answer >= MIN_ROW_BYTES * groups.sizes)
    return np.where(there & near & enough, last, -1)


def _one_for_each(evidence: Evidence, groups: Groups, brought: Ints) -> Bools:
    """As many repeats as rows: the same keys may stand in several of them."""
    distinct = groups.distinct(evidence.parameter_numbers[groups.rows])
    return bools((distinct >= MIN_REPEATS) & (brought > 0) & (groups.sizes >= MIN_ROWS_SHARE * brought))


def _opens_interval(evidence: Evidence, groups: Groups) -> Bools:
    """Return which loops no other execution on the connection precedes: they were under way."""
    executed = np.cumsum(evidence.is_execution)
    connection = evidence.exchanges.connection
    first_of_connection = np.searchsorted(connection, connection[groups.firsts])
    before: Ints = executed[groups.firsts] - executed[first_of_connection]
    opens: Bools = before <= 1
    return opens


ADVICE = Advice(
    "n+1",
    "Query once: join the two statements, or fetch all keys with one `IN (…)`; ORMs call this eager loading",
)

PATTERN = Pattern(
    code="n+1",
    fix="n+1",
    title="N+1: one statement runs {least}{repeats:,} times{how}, once for each row of another{fed}",
    why="Each repeat costs a round trip for a few rows; the cost grows with the RTT and with the number of rows.",
    find=find,
    rule="5 or more runs of one reading statement in an interval, at least 5 of them with different parameters, within "
    "8 executions of a query that returned at least as many rows; catalog queries of drivers and ORMs in between are "
    "ignored. Half of the parameters differ from each other after each run of that query, or there is a run for each "
    "row (8 of 10). Across the connections of a pool (one program, user and database): a run for each row. A loop "
    "that had begun before the capture: 20 runs ([losses](#what-the-capture-lost))",
    example="`select id from orders where day = ?` returns 40 rows; then `select * from lines where order_id = ?` runs "
    "40 times, each time with a different id.",
    is_not="the same parameters again and again (`repeated-query`), a loop over keys that no query returned, or "
    "one run for each of many users.",
    fixes={"": ADVICE},
    choices=("join", "in"),
)
