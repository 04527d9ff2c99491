"""Statement cycle: reads, look-ups and transaction commands around a write that the write does not need."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from latpcap.findings.cycles import MAX_STEPS, MIN_CYCLES, changes_rows, is_unknown, repeated_cycles, steps_of
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import most_frequent
from latpcap.findings.mapper_reads import read_back, reads_behind, reads_key
from latpcap.findings.patterns.n_plus_one import find_loops
from latpcap.findings.patterns.row_by_row import find_series
from latpcap.findings.patterns.serial_reads import MAX_PAUSE_NS
from latpcap.measures.statement_text import (
    always_brings_row,
    is_volatile,
    locks_rows,
    named_row,
    reads_any,
    written_table,
)
from latpcap.measures.transactions import transactions
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints, known

MIN_SHARE = 0.9
"""Share of its cycles in which a step must look needless."""
QUICK_QUANTILE = 0.25
"""Cycles up to this quantile are quick: a busy machine delays the others."""
MAX_BOUND_LENGTH = 24
"""Characters of a transaction command that a title shows."""
SAVED_TIME = SavedShare(client=1.0, service=1.0)
"""All time of the calls is saved."""

READ_AGAIN, READ_TO_WRITE, LOOK_UP = "read-again", "read-to-write", "look-up"
READ_BACK, KEY, TRANSACTION = "read-back", "key", "transaction"
FIXES = {
    READ_AGAIN: Advice("statement-cycle", "Keep the result of the first read instead of reading twice"),
    READ_TO_WRITE: Advice(
        "statement-cycle",
        "Change the row with one `UPDATE … WHERE` without reading it first, unless the program needs the old row",
    ),
    LOOK_UP: Advice(
        "statement-cycle",
        "Replace look-up and insert by one upsert (`ON CONFLICT`, `ON DUPLICATE KEY UPDATE`, `MERGE`)",
    ),
    READ_BACK: Advice(
        "statement-cycle", "Let the insert return its row (`RETURNING`, `OUTPUT`) instead of reading it back"
    ),
    KEY: Advice(
        "statement-cycle",
        "Let the insert return its key (`RETURNING`, `OUTPUT`; MySQL's response has it), or allocate keys in blocks",
    ),
    TRANSACTION: Advice("statement-cycle", "Run a single write in autocommit, without a transaction"),
}
"""By kind of what is needless."""


class UnneededSteps(Struct, frozen=True):
    """One kind of cycle, and the steps of it that can go."""

    rows: Ints
    """The exchanges of its cycles, one row a cycle and one column a step."""
    kinds: Mapping[int, str]
    """Why a step is needless, by its place in the cycle."""

    @property
    def gone(self) -> Ints:
        """The exchanges that can go."""
        return np.sort(self.rows[:, sorted(self.kinds)].reshape(-1))


class Steps:
    """Exchanges that look needless by themselves, and those that another pattern is about."""

    def __init__(self, evidence: Evidence) -> None:
        """Look things up on demand."""
        self.evidence = evidence

    @cached_property
    def reads_back(self) -> Bools:
        """Reads the row that was inserted just before."""
        return self._flags(read_back(self.evidence))

    @cached_property
    def reads_key(self) -> Bools:
        """Asks for the key of a row."""
        return reads_key(self.evidence)

    @cached_property
    def is_read_of_series(self) -> Bools:
        """Reads what a series of single-row changes inserted: it goes with these."""
        return self._flags(reads_behind(self.evidence, find_series(self.evidence).rows)[0])

    @cached_property
    def transaction(self) -> Ints:
        """The transaction of each exchange; -1 for none."""
        return transactions(self.evidence.recording).of_exchange

    @cached_property
    def is_of_loop(self) -> Bools:
        """Belongs to an N+1, whose fix replaces it."""
        return self._flags(find_loops(self.evidence)[0].rows)

    @cached_property
    def is_of_series(self) -> Bools:
        """Belongs to a series of single-row changes, whose commits are another pattern's."""
        return self._flags(find_series(self.evidence).rows)

    def _flags(self, rows: Ints) -> Bools:
        flags = np.zeros(len(self.evidence.exchanges), bool)
        flags[rows] = True
        return flags


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a write, with the steps around it that can go; and one for each statement that runs twice."""
    steps = Steps(evidence)
    by_write: dict[int, list[UnneededSteps]] = {}
    for rows in repeated_cycles(evidence):
        kinds = _needless(steps, rows)
        if kinds:
            write = rows[0][changes_rows(evidence)[rows[0]]][0]
            by_write.setdefault(int(evidence.question[write]), []).append(UnneededSteps(rows, kinds))
    for question, cycles in by_write.items():
        yield _candidate(evidence, question, cycles)
    claimed = [each.gone for cycles in by_write.values() for each in cycles]
    for pairs in _read_twice(steps, np.concatenate([np.empty(0, np.int64), *claimed])):
        yield _candidate(evidence, int(evidence.question[pairs[0, 0]]), [UnneededSteps(pairs, {1: READ_AGAIN})])


def _needless(steps: Steps, rows: Ints) -> dict[int, str]:
    """The places of a cycle that can go, by kind.

    None where it locks rows, takes back what it wrote, or calls what cannot be looked into.
    """
    evidence, first = steps.evidence, rows[0]
    runs = [place for place, row in enumerate(first) if evidence.is_execution[row]]
    texts = [evidence.text(number) for number in evidence.exchanges.fingerprint[first].tolist()]
    if any(map(locks_rows, texts)) or any(_takes_back(_said(evidence, row)) for row in first[evidence.is_end[first]]):
        return {}
    cycle = Cycle(steps, rows, runs, texts)
    kinds = {place: kind for place in runs if (kind := cycle.kind(place))}
    is_readable = (evidence.is_read | evidence.is_write)[first[runs]].all() or LOOK_UP in kinds.values()
    return kinds | dict.fromkeys(cycle.bounds(kinds), TRANSACTION) if is_readable else {}


class Cycle(Struct, frozen=True):
    """One kind of cycle."""

    steps: Steps
    rows: Ints
    """Its exchanges, one row a cycle and one column a step."""
    runs: list[int]
    """The places that run a statement."""
    texts: list[str]
    """By place."""

    def kind(self, place: int) -> str:
        """Why a statement of the cycle is needless; empty where it may be needed."""
        rows, after = self.rows[:, place], self._neighbour(place, 1)
        if self._writes(place):
            return LOOK_UP if self._misses(place) else ""
        if _mostly(self.steps.is_read_of_series[rows]):
            return ""
        if _mostly(self.steps.reads_key[rows]):
            return KEY
        if _mostly(self.steps.reads_back[rows]) and (self.steps.reads_back[rows[0]] or self._goes_on(place)):
            return READ_BACK
        write = after if after == self._only_write() and not self._works_behind(place) else None
        if self._reads_again(place, write):
            return READ_AGAIN
        return "" if write is None else self._kind_before(place, write)

    def bounds(self, needless: Mapping[int, str]) -> list[int]:
        """The begin and the end of a transaction that needs to run one write only."""
        write = self._only_write()
        if write is None or _mostly(self.steps.is_of_series[self.rows[:, write]]):
            return []
        transaction = self.steps.transaction[self.rows]
        if not _mostly(transaction[:, write] >= 0):
            return []
        inside = [place for place, same in enumerate((transaction == transaction[:, [write]]).T) if _mostly(same)]
        others = [place for place in inside if place in self.runs and place not in needless and place != write]
        return [place for place in inside if place not in self.runs] if all(map(self._is_of_loop, others)) else []

    def _kind_before(self, place: int, write: int) -> str:
        """Why a read is needless right before the write."""
        read, changes = named_row(self.texts[place]), written_table(self.texts[write])
        if read is None:
            return ""
        brings = self.steps.evidence.unit_rows[self.rows[:, place]]
        if self.texts[write].startswith("insert") or not changes:  # or a function that inserts, made on the fly
            finds_none = _mostly(brings == 0) or always_brings_row(self.texts[place])
            same = read[0] == changes if changes else reads_any(self.texts[write], frozenset({read[0]}))
            return LOOK_UP if finds_none and same else ""
        same = _mostly(brings == 1) and named_row(self.texts[write]) == read
        return READ_TO_WRITE if same and not self._is_of_loop(place) else ""

    def _reads_again(self, place: int, write: int | None) -> bool:
        """The read right before brought the same: by the same statement, or both the row of the write."""
        evidence, before = self.steps.evidence, self._neighbour(place, -1)
        if before is None or before != place - 1 or self._writes(before):
            return False
        rows = self.rows[:, [before, place]]
        if self.texts[before] == self.texts[place]:
            numbers = evidence.parameter_numbers[rows]
            same = (numbers[:, 0] == numbers[:, 1]) & evidence.parameters_known[rows].all(axis=1)
            return _mostly(same) and not is_volatile(self.texts[place])
        row = named_row(self.texts[place])
        if write is None or row is None or not _mostly((evidence.unit_rows[rows] == 1).all(axis=1)):
            return False
        return row == named_row(self.texts[before]) == named_row(self.texts[write])

    def _goes_on(self, place: int) -> bool:
        """The read of a place runs once more behind the last cycle: it belongs to the write before it."""
        evidence, last = self.steps.evidence, int(self.rows[-1, -1])
        behind = slice(last + 1, last + 1 + MAX_STEPS)
        same = evidence.question[behind] == evidence.question[self.rows[-1, place]]
        return bool((same & (evidence.interval[behind] == evidence.interval[last])).any())

    def _misses(self, place: int) -> bool:
        """A change that finds no row, before the insert into its table."""
        after = self._neighbour(place, 1)
        if after is None or not self.texts[after].startswith("insert") or not self.texts[place].startswith("update"):
            return False
        affected = self.steps.evidence.exchanges.affected_rows.ints(-1)[self.rows[:, place]]
        return _mostly(affected == 0) and written_table(self.texts[place]) == written_table(self.texts[after])

    def _only_write(self) -> int | None:
        """The one statement that changes rows; `None` where there are several."""
        writes = [place for place in self.runs if self._writes(place) and not self._misses(place)]
        return writes[0] if len(writes) == 1 else None

    def _works_behind(self, place: int) -> bool:
        """The program works behind a read, in its quick cycles too: it uses what it read."""
        pauses = np.sort(_pause_ns(self.steps.evidence, self.rows[:, place + 1]))
        return bool(pauses[int(QUICK_QUANTILE * len(pauses))] > MAX_PAUSE_NS)

    def _writes(self, place: int) -> bool:
        """It runs anything but a read."""
        return not self.steps.evidence.is_read[self.rows[0, place]]

    def _is_of_loop(self, place: int) -> bool:
        return not self._writes(place) and _mostly(self.steps.is_of_loop[self.rows[:, place]])

    def _neighbour(self, place: int, by: int) -> int | None:
        """The place of the statement before or after one."""
        number = self.runs.index(place) + by
        return self.runs[number] if 0 <= number < len(self.runs) else None


def _takes_back(end: str) -> bool:
    """The end of a transaction, by its text or command, undoes what ran in it."""
    return "rollback" in end or end.startswith("abort")


def _pause_ns(evidence: Evidence, rows: Ints) -> Floats:
    """The time that the program takes before each of some `rows`."""
    pauses: Floats = evidence.exchanges.client[rows] - known(evidence.rtt.each_baseline)[rows]
    return pauses


def _mostly(holds: Bools) -> bool:
    return float(np.mean(holds)) >= MIN_SHARE


def _read_twice(steps: Steps, claimed: Ints) -> Iterator[Ints]:
    """Pairs of reads, one right behind the other without a pause, that ask for the same; by statement."""
    evidence, rows = steps.evidence, steps_of(steps.evidence)
    statement, parameters = evidence.question[rows], evidence.parameter_numbers[rows]
    reads = (evidence.is_read & evidence.parameters_known & evidence.is_waited_for & ~evidence.failed)[rows]
    same = (np.diff(statement) == 0) & (np.diff(parameters) == 0) & (np.diff(evidence.interval[rows]) == 0)
    same &= (np.diff(np.cumsum(is_unknown(evidence))[rows]) == 0) & (_pause_ns(evidence, rows[1:]) <= MAX_PAUSE_NS)
    again = np.flatnonzero(same & reads[1:] & reads[:-1]) + 1
    if len(again) < MIN_CYCLES:
        return
    again = again[~np.isin(rows[again], claimed) & ~steps.is_of_loop[rows[again]]]
    for question in most_frequent(statement[again]):
        mine = again[statement[again] == question]
        if len(mine) >= MIN_CYCLES and not is_volatile(evidence.text(evidence.statement_of(question))):
            yield np.stack((rows[mine - 1], rows[mine]), axis=1)


def _candidate(evidence: Evidence, question: int, cycles: list[UnneededSteps]) -> Candidate:
    """The cycles around one write, shown by the most frequent kind of them."""
    gone = np.sort(np.concatenate([each.gone for each in cycles]))
    whole = np.unique(np.concatenate([each.rows.reshape(-1) for each in cycles]))
    trips = evidence.exchanges.round_trips
    kinds: Counter[str] = Counter()
    for each in cycles:
        for _, kind in sorted(each.kinds.items()):
            kinds[kind] += len(each.rows)
    shown = max(cycles, key=lambda each: len(each.rows)).rows[0].tolist()
    first_reads = np.concatenate([each.rows[:, np.argmax(evidence.is_read[each.rows[0]])] for each in cycles])
    return Candidate(
        shown=evidence.serving(whole),
        effect=effect_of(evidence, SAVED_TIME, evidence.serving(gone), executions=gone),
        fingerprint=evidence.statement_of(question),
        place=evidence.place_of(question),
        facts={
            "cycles": sum(len(each.rows) for each in cycles),
            "steps": (steps := [_step(evidence, row) for row in shown]),
            "how": ", ".join(steps),
            "distinct_parameters": len(passes.occurring(evidence.parameter_numbers[first_reads])),
            "round_trips": int(trips[evidence.serving(whole)].sum()),
            "needless": int(trips[evidence.serving(gone)].sum()),
            "kinds": dict(kinds),
        },
        fix=Advice("statement-cycle", ". ".join(FIXES[kind].general for kind in kinds)).sentence(
            evidence, evidence.exchanges.connection[whole]
        ),
    )


def _said(evidence: Evidence, row: int) -> str:
    """The text of a statement, or where it has none its command."""
    command = evidence.exchanges.command
    return evidence.text(int(evidence.exchanges.fingerprint[row])) or command.names[int(command.codes[row])]


def _step(evidence: Evidence, row: int) -> str:
    """A statement in two words, or its command."""
    text = evidence.text(int(evidence.exchanges.fingerprint[row]))
    if not text:
        return _said(evidence, row)
    if (evidence.is_begin | evidence.is_end)[row]:
        return text[:MAX_BOUND_LENGTH].upper()
    named = named_row(text)
    verb, *words = re.findall(r"[\w$]+", text)[:2] or [text]
    return " ".join((verb.upper(), named[0] if named else written_table(text) or " ".join(words))).rstrip()


PATTERN = Pattern(
    code="statement-cycle",
    fix="cycle",
    title="Statement cycle: {cycles:,} × ({how}); {needless:,} of {round_trips:,} round trips are avoidable",
    why="Each step waits for a round trip, and the write needs only some of them.",
    find=find,
    rule="10 or more times the same few statements (8 at most) around one write, some of them avoidable: a read "
    "right before a change by the same key, or before an insert where it found nothing; the same read twice; a "
    "key asked for, or the row read back; begin and end around nothing else. No lock, second write, rollback, "
    "serializable isolation, further column in the change's condition (a version), or 20 ms of work between. "
    "Reads of an `n+1` and commits of a `commit-per-row` count there",
    example="40 times `select … from users where id = ?` and `update users set … where id = ?`: the update alone would "
    "do.",
    is_not="a read that locks its row or guards the change by a version, or one after which the program works for "
    "20 ms or more.",
    fixes=FIXES,
)
