"""Cycles: the same few statements again and again, each time up to a write or the end of its transaction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.evidence import Evidence, bools
from latpcap.findings.groups import MAX_STATEMENTS, Groups
from latpcap.measures.statement_text import CUT, is_cut
from latpcap.measures.transactions import transactions
from latpcap.tables.columnar.columns import Bools, Ints

MIN_CYCLES = 10
MAX_STEPS = 8
"""Statements and transaction commands of one cycle; longer ones are business of their own."""


def repeated_cycles(evidence: Evidence) -> Iterator[Ints]:
    """The exchanges of each kind of cycle, one row a cycle and one column a step; long kinds first."""
    steps = steps_of(evidence)
    starts = np.append(np.flatnonzero(_begins_cycle(evidence, steps)), len(steps))
    ends, sizes = starts[1:], np.diff(starts)
    if not len(sizes):
        return
    statement, writes = _numbers(evidence)[steps], np.add.reduceat(changes_rows(evidence)[steps], starts[:-1])
    cycles = np.flatnonzero((sizes > 1) & (sizes <= MAX_STEPS) & (writes > 0))
    columns = (_before_end(statement, ends[cycles], sizes[cycles], steps) for steps in range(1, MAX_STEPS + 1))
    kinds = Groups.of(cycles, *columns)
    kinds = kinds.where(kinds.sizes >= MIN_CYCLES)
    rest = np.flatnonzero(~np.isin(np.arange(len(sizes)), kinds.rows))
    unknown = is_unknown(evidence)
    so_far = np.cumsum(unknown)
    usable = ~(evidence.failed | _is_guarded(evidence) | unknown | _in_transaction_of(evidence, unknown))
    frequent = np.argsort(-kinds.sizes, kind="stable")[:MAX_STATEMENTS]
    for number in sorted(frequent.tolist(), key=lambda number: -sizes[kinds.rows[kinds.starts[number]]]):
        mine = kinds.rows[kinds.starts[number] : kinds.starts[number + 1]]
        size = int(sizes[mine[0]])
        longer = _ending_like(statement, ends, sizes, rest, statement[ends[mine[0]] - size : ends[mine[0]]])
        rest = rest[~np.isin(rest, longer)]
        rows = steps[ends[np.sort(np.concatenate((mine, longer)))][:, None] - np.arange(size, 0, -1)]
        rows = rows[usable[rows].all(axis=1) & (so_far[rows[:, -1]] == so_far[rows[:, 0]])]
        if len(rows) >= MIN_CYCLES:
            yield rows


def _ending_like(statement: Ints, ends: Ints, sizes: Ints, cycles: Ints, last: Ints) -> Ints:
    """The longer ones of `cycles` whose last statements are these: a program does other things before its first."""
    for steps, number in enumerate(last[::-1].tolist(), start=1):
        cycles = cycles[_before_end(statement, ends[cycles], sizes[cycles], steps) == number]
    return cycles


def steps_of(evidence: Evidence) -> Ints:
    """The executions of the application, and the begins and ends of its transactions."""
    bounds = evidence.is_begin | evidence.is_end
    works = evidence.is_execution & ~evidence.reads_catalog
    return np.flatnonzero((works | bounds) & ~evidence.is_opening)


def is_unknown(evidence: Evidence) -> Bools:
    """Asks something of which the statement was lost or cut, or cannot be read: it may be anything."""
    runs, statement = evidence.exchanges.is_execution, evidence.exchanges.fingerprint
    cut = evidence.texts.marked(CUT, wanted=is_cut)[statement]
    return bools(evidence.is_lost | evidence.is_unread | (runs & (cut | (statement < 0))))


def _in_transaction_of(evidence: Evidence, some: Bools) -> Bools:
    """Each exchange is in a transaction that holds one of `some`."""
    transaction = transactions(evidence.recording).of_exchange
    holds = np.zeros(transaction.max(initial=-1) + 2, bool)
    holds[transaction[some]] = True
    holds[-1] = False  # in none
    return bools(holds[transaction])


def changes_rows(evidence: Evidence) -> Bools:
    """Runs a statement that does not only read: a write, or a call that may be one."""
    return bools(evidence.is_execution & ~evidence.is_read)


def _is_guarded(evidence: Evidence) -> Bools:
    """Its connection asked for an isolation in which a transaction fails where another one changed what it read."""
    asks = evidence.texts.marked("serializable", "repeatable read")[evidence.exchanges.fingerprint]
    asks &= evidence.is_session | evidence.is_begin
    connection = evidence.exchanges.connection
    return bools((np.bincount(connection, asks) > 0)[connection])


def _begins_cycle(evidence: Evidence, steps: Ints) -> Bools:
    """Behind the end of a transaction, a write in none, and time in which the program thinks.

    A change that finds no row goes on with the write behind it.
    """
    writes = changes_rows(evidence)[steps]
    misses = writes & (evidence.exchanges.affected_rows.ints(-1)[steps] == 0) & np.append(writes[1:], False)
    alone = writes & (transactions(evidence.recording).of_exchange[steps] < 0) & ~misses
    over = evidence.is_end[steps] | alone
    new = np.diff(evidence.interval[steps], prepend=-1) != 0
    new[1:] |= over[:-1]
    return bools(new)


def _numbers(evidence: Evidence) -> Ints:
    """The statement of each exchange, or where it has none its command."""
    commands = -2 - evidence.exchanges.command.codes.astype(np.int64)
    return np.where(evidence.question >= 0, evidence.question, commands)


def _before_end(statement: Ints, ends: Ints, sizes: Ints, steps: int) -> Ints:
    """The statement so many steps before the end of each cycle; -1 before its begin."""
    return np.where(steps <= sizes, statement[ends - np.minimum(steps, sizes)], -1)
