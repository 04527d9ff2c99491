"""Statement cycle: reads, transactions and look-ups around a write that the write does not need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from latpcap.findings.cycles import MIN_CYCLES, changes_rows, repeated_cycles, steps_of
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, RemovedAlong, effect_of
from latpcap.findings.groups import Groups
from latpcap.findings.mapper_reads import read_back, reads_key
from latpcap.findings.patterns.n_plus_one import find_loops
from latpcap.findings.patterns.row_by_row import find_series
from latpcap.findings.patterns.serial_reads import PAUSE_NS
from latpcap.measures.statement_text import is_volatile, locks_rows, named_row, reads_any, written_table
from latpcap.measures.transactions import transactions
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Ints, known

MIN_SHARE = 0.9
"""Of its cycles, those in which a step must look needless."""
QUICK = 4
"""One cycle in so many is a quick one: a busy machine delays the others."""
COUNTS = ("select count(", "select exists")
"""How a read begins that brings a row whether the row exists or not."""
MAX_BOUND = 24
"""Characters of a transaction command that are shown."""
TAKES = RemovedAlong(client=1.0, service=1.0)
"""Nothing of it is needed any more."""

READ_AGAIN = "the same row is read twice: keep what the first read brought (TypeORM: `update()` instead of `save()`)"
READ_TO_WRITE = "a row is read, then written by the same key: one `UPDATE … WHERE` does both unless the program needs what it read"
LOOK_UP = "a look-up decides between insert and update: one upsert does it (`ON CONFLICT`, `ON DUPLICATE KEY UPDATE`, `MERGE`)"
READ_BACK = "an inserted row is read back: `RETURNING` (`OUTPUT`) brings it with the insert"
KEY = "a key is asked for apart from its insert: `RETURNING` or the insert's own answer brings it; sequences can be drawn in blocks"
TRANSACTION = "a single write has a transaction of its own: autocommit does it (GORM: `SkipDefaultTransaction`)"


class Needless(Struct, frozen=True):
    """The steps of one kind of cycle that can go."""

    rows: Ints
    """The exchanges of its cycles, one row a cycle and one column a step."""
    why: Mapping[int, str]
    """By place in the cycle."""

    @property
    def gone(self) -> Ints:
        """The exchanges that can go."""
        return np.sort(self.rows[:, sorted(self.why)].reshape(-1))


class Steps:
    """Which exchanges look needless by themselves, and which belong to another pattern."""

    def __init__(self, evidence: Evidence) -> None:
        """Keep what is looked up on demand."""
        self.evidence = evidence

    @cached_property
    def reads_back(self) -> Bools:
        """Reads the row that was inserted just before."""
        return self._of(read_back(self.evidence))

    @cached_property
    def reads_key(self) -> Bools:
        """Asks for the key of a row."""
        return reads_key(self.evidence)

    @cached_property
    def transaction(self) -> Ints:
        """The transaction of each exchange; -1 for none."""
        return transactions(self.evidence.recording).of_exchange

    @cached_property
    def is_of_loop(self) -> Bools:
        """Belongs to an N+1, whose fix replaces it."""
        return self._of(find_loops(self.evidence)[0].rows)

    @cached_property
    def is_of_series(self) -> Bools:
        """Belongs to a series of single-row changes, whose commits are another pattern's."""
        return self._of(find_series(self.evidence).rows)

    def _of(self, rows: Ints) -> Bools:
        found = np.zeros(len(self.evidence.exchanges), bool)
        found[rows] = True
        return found


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a write: the steps around it that can go; and one for each statement that is read twice in a row."""
    steps = Steps(evidence)
    found: dict[int, list[Needless]] = {}
    for rows in repeated_cycles(evidence):
        why = _needless(steps, rows)
        if why:
            write = next(row for row in rows[0] if changes_rows(evidence)[row])
            found.setdefault(int(evidence.question[write]), []).append(Needless(rows, why))
    for question, kinds in found.items():
        yield _candidate(evidence, question, kinds)
    claimed = np.concatenate([each.gone for kinds in found.values() for each in kinds] or [np.empty(0, np.int64)])
    for pairs in _read_twice(steps, claimed):
        yield _candidate(evidence, int(evidence.question[pairs[0, 0]]), [Needless(pairs, {1: READ_AGAIN})])


def _needless(steps: Steps, rows: Ints) -> dict[int, str]:
    """Which places of a cycle can go, and why.

    None where it locks rows, takes back what it wrote, or calls what cannot be looked into.
    """
    evidence, first = steps.evidence, rows[0]
    runs = [place for place, row in enumerate(first) if evidence.is_execution[row]]
    texts = [evidence.text(number) for number in evidence.exchanges.fingerprint[first].tolist()]
    if any(locks_rows(text) or text.startswith("rollback") for text in texts):
        return {}
    cycle = Cycle(steps, rows, runs, texts)
    reasons = {place: reason for place in runs if (reason := cycle.reason(place))}
    is_known = (evidence.is_read | evidence.is_write)[first[runs]].all() or LOOK_UP in reasons.values()
    return reasons | dict.fromkeys(cycle.bounds(reasons), TRANSACTION) if is_known else {}


class Cycle(Struct, frozen=True):
    """One kind of cycle."""

    steps: Steps
    rows: Ints
    """Its exchanges, one row a cycle and one column a step."""
    runs: list[int]
    """The places that run a statement."""
    texts: list[str]
    """By place."""

    def reason(self, place: int) -> str:
        """Why a statement of the cycle is needless; empty where it may be needed."""
        rows, after = self.rows[:, place], self._neighbour(place, 1)
        if self._writes(place):
            return LOOK_UP if self._misses(place) else ""
        if self._mostly(self.steps.reads_key[rows]):
            return KEY
        if self.steps.reads_back[rows].all():  # all: what is read before the first insert is no row of one
            return READ_BACK
        writes_its_row = after is not None and after == self._only_write() and not self._works_before(after)
        if self._reads_again(place, writes_its_row):
            return READ_AGAIN
        return self._reason_by_write(place, after) if writes_its_row and after is not None else ""

    def bounds(self, needless: Mapping[int, str]) -> list[int]:
        """The begin and the end of a transaction that needs to run one write only."""
        write = self._only_write()
        if write is None or self._mostly(self.steps.is_of_series[self.rows[:, write]]):
            return []
        transaction = self.steps.transaction[self.rows]
        inside = [
            place for place in range(self.rows.shape[1]) if (transaction[:, place] == transaction[:, write]).all()
        ]
        runs = [place for place in inside if place in self.runs and place not in needless]
        if (transaction[:, write] < 0).any() or any(place != write and not self._is_of_loop(place) for place in runs):
            return []
        return [place for place in inside if place not in self.runs]

    def _reason_by_write(self, place: int, write: int) -> str:
        """Why a read is needless right before the write."""
        read = named_row(self.texts[place])
        if read is None:
            return ""
        rows = self.steps.evidence.unit_rows[self.rows[:, place]]
        changes = written_table(self.texts[write])
        if self.texts[write].startswith("insert") or not changes:  # a function that inserts, made on the fly
            finds_none = self._mostly(rows == 0) or self.texts[place].startswith(COUNTS)
            same = read[0] == changes if changes else reads_any(self.texts[write], frozenset({read[0]}))
            return LOOK_UP if finds_none and same else ""
        same = self._mostly(rows == 1) and named_row(self.texts[write]) == read
        return READ_TO_WRITE if same and not self._is_of_loop(place) else ""

    def _reads_again(self, place: int, writes_its_row: bool) -> bool:
        """The read right before it brought the same: by the same statement, or the row that the write changes."""
        evidence, before = self.steps.evidence, self._neighbour(place, -1)
        if before is None or before != place - 1 or self._writes(before):
            return False
        rows = self.rows[:, [before, place]]
        if self.texts[before] == self.texts[place]:
            numbers = evidence.parameter_numbers[rows]
            same = (numbers[:, 0] == numbers[:, 1]) & evidence.parameters_known[rows].all(axis=1)
            return self._mostly(same) and not is_volatile(self.texts[place])
        key = named_row(self.texts[place])
        is_of_write = writes_its_row and key == named_row(self.texts[self._neighbour(place, 1) or 0])
        one = self._mostly((evidence.unit_rows[rows] == 1).all(axis=1))
        return key is not None and is_of_write and one and key == named_row(self.texts[before])

    def _misses(self, place: int) -> bool:
        """A change that finds no row, before the insert into its table."""
        after = self._neighbour(place, 1)
        if after is None or not self.texts[after].startswith("insert") or not self.texts[place].startswith("update"):
            return False
        affected = self.steps.evidence.exchanges.affected_rows.ints(-1)[self.rows[:, place]]
        return self._mostly(affected == 0) and written_table(self.texts[place]) == written_table(self.texts[after])

    def _only_write(self) -> int | None:
        """The one statement that changes rows; `None` where there are several."""
        writes = [place for place in self.runs if self._writes(place) and not self._misses(place)]
        return writes[0] if len(writes) == 1 else None

    def _works_before(self, place: int) -> bool:
        """The program works between a read and the write, in its quick cycles too: it uses what it read."""
        evidence, rows = self.steps.evidence, self.rows[:, (self._neighbour(place, -1) or 0) + 1]
        pauses = evidence.exchanges.client[rows] - known(evidence.rtt.each_baseline)[rows]
        return bool(np.sort(pauses)[len(pauses) // QUICK] > PAUSE_NS)

    def _writes(self, place: int) -> bool:
        """It runs anything but a read."""
        return not self.steps.evidence.is_read[self.rows[0, place]]

    def _is_of_loop(self, place: int) -> bool:
        return not self._writes(place) and self._mostly(self.steps.is_of_loop[self.rows[:, place]])

    def _neighbour(self, place: int, by: int) -> int | None:
        """The place of the statement before or after one."""
        number = self.runs.index(place) + by
        return self.runs[number] if 0 <= number < len(self.runs) else None

    @staticmethod
    def _mostly(holds: Bools) -> bool:
        return float(np.mean(holds)) >= MIN_SHARE


def _read_twice(each: Steps, claimed: Ints) -> Iterator[Ints]:
    """Pairs of reads, one right behind the other, that ask for the same; by statement."""
    evidence, steps = each.evidence, steps_of(each.evidence)
    statement, parameters = evidence.question[steps], evidence.parameter_numbers[steps]
    reads = (evidence.is_read & evidence.parameters_known & evidence.is_waited_for & ~evidence.failed)[steps]
    same = (np.diff(statement) == 0) & (np.diff(parameters) == 0) & (np.diff(evidence.interval[steps]) == 0)
    again = np.flatnonzero(same & reads[1:] & reads[:-1]) + 1
    again = again[~np.isin(steps[again], claimed)]
    if len(again) < MIN_CYCLES:
        return
    again = again[~each.is_of_loop[steps[again]]]
    alike = Groups.of(again, statement[again])
    for number in np.flatnonzero(alike.sizes >= MIN_CYCLES).tolist():
        mine = alike.rows[alike.starts[number] : alike.starts[number + 1]]
        if not is_volatile(evidence.text(evidence.statement_of(int(statement[mine[0]])))):
            yield np.stack((steps[mine - 1], steps[mine]), axis=1)


def _candidate(evidence: Evidence, question: int, kinds: list[Needless]) -> Candidate:
    """The cycles around one write, shown by the most frequent kind of them."""
    shown = max(kinds, key=lambda each: len(each.rows)).rows[0].tolist()
    gone = np.sort(np.concatenate([each.gone for each in kinds]))
    whole = np.unique(np.concatenate([each.rows.reshape(-1) for each in kinds]))
    reasons = list(dict.fromkeys(reason for each in kinds for _, reason in sorted(each.why.items())))
    trips = int(evidence.exchanges.round_trips[evidence.serving(whole)].sum())
    needless = int(evidence.exchanges.round_trips[evidence.serving(gone)].sum())
    return Candidate(
        shown=evidence.serving(whole),
        effect=effect_of(evidence, TAKES, evidence.serving(gone), executions=gone),
        fingerprint=evidence.statement_of(question),
        place=evidence.place_of(question),
        facts={
            "cycles": sum(len(each.rows) for each in kinds),
            "steps": [_step(evidence, row) for row in shown],
            "round_trips": trips,
            "needless": needless,
            "reasons": reasons,
            "distinct_parameters": _keys(evidence, kinds),
            "how": ", ".join(_step(evidence, row) for row in shown),
        },
        fix=" ".join(f"{reason[0].upper()}{reason[1:]}." for reason in reasons),
    )


def _keys(evidence: Evidence, kinds: list[Needless]) -> int:
    """How many different parameters the first read of the cycles has."""
    of_reads = [each.rows[:, np.argmax(evidence.is_read[each.rows[0]])] for each in kinds]
    return len(passes.occurring(evidence.parameter_numbers[np.concatenate(of_reads)]))


def _step(evidence: Evidence, row: int) -> str:
    """A statement in two words, or its command."""
    text = evidence.text(int(evidence.exchanges.fingerprint[row]))
    if (evidence.is_begin | evidence.is_end)[row] and text:
        return text[:MAX_BOUND].upper()
    if not text:
        return evidence.exchanges.command.names[int(evidence.exchanges.command.codes[row])]
    named = named_row(text)
    verb, *words = re.findall(r"[\w$]+", text)[:2] or [text]
    return " ".join((verb.upper(), named[0] if named else written_table(text) or " ".join(words))).rstrip()


PATTERN = Pattern(
    code="statement-cycle",
    fix="cycle",
    title="Statement cycle: {cycles:,} × ({how}); {needless:,} of {round_trips:,} round trips are needless",
    why="Each step waits for a round trip, and the write needs only some of them.",
    find=find,
)
