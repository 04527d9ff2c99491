"""Infers what a request was that the capture lost, from those around it.

A loop goes on in the packet that is missing. Where the same two statements always have the same ones between them, a
lost request between them was one of these; where runs of a statement go on behind a lost request as runs of an unknown
one, the request prepared it anew. Nothing else is inferred, so a request at the end of a loop stays unknown.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.groups import Groups
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Codes, Entries, Ints
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording

MAX_LOST_REQUESTS = 4
"""A longer series of lost requests stays unknown."""
MIN_EXAMPLES = 3
"""A lost request is inferred from at least this many places that have the same neighbours."""
MIN_AGREEING_SHARE = 0.8
"""A lost request is inferred where at least this share of the places with the same neighbours agree."""
MAX_BYTES_RATIO = 2
"""A request whose answer is longer, or shorter, than every example's by more than this factor is another request."""
RUNS_PREPARED = "execute "
"""The text of a statement begins with this, and its name follows, where its prepare was not captured."""
WORK = frozenset(("read", "write"))
"""Kinds of statements that a prepared one may be."""
NAMING_PROTOCOLS = frozenset(("postgresql", "mysql"))
"""Protocols in which EXECUTE runs a prepared statement, and nothing else."""


def lost_requests(exchanges: Exchanges) -> Bools:
    """Return which exchanges were waited for and have no request that can be read, on a connection that is clear."""
    unreadable = exchanges.is_for("unreadable") & exchanges.command.where("unknown".__eq__)
    return np.asarray(unreadable & ~exchanges.complete & (exchanges.round_trips > 0), bool)


class Inference(Entries, frozen=True):
    """Lost requests, and for each an exchange that was the same."""

    rows: Ints
    examples: Ints
    same_parameters: Bools
    """All examples of a request have the same parameters."""


def infer(recording: Recording) -> Exchanges:
    """Return the exchanges with what can be inferred of lost requests."""
    exchanges = recording.exchanges
    lost = lost_requests(exchanges)
    if not lost.any():
        return exchanges
    statements = _statements(recording, lost)
    inference = _inference(recording, lost, statements)
    known = np.array_equal(statements, exchanges.fingerprint)
    return exchanges if known and not len(inference.rows) else InferredExchanges(recording, inference, statements)


def unseen_statements(recording: Recording) -> Bools:
    """Return which exchanges are of a statement that has a name and no text, since its prepare was not captured."""
    unseen = recording.statements.marked(RUNS_PREPARED, wanted=_runs_prepared)
    naming = recording.connections.protocol.where(NAMING_PROTOCOLS.__contains__)
    return np.asarray(unseen[recording.exchanges.fingerprint] & naming[recording.exchanges.connection], bool)


def _runs_prepared(text: str) -> bool:
    return text.startswith(RUNS_PREPARED)


class InferredExchanges(Exchanges):
    """The exchanges of a recording, with the statements of lost requests that their neighbours determine."""

    def __init__(self, recording: Recording, inference: Inference, statements: Ints) -> None:
        """Take what is known of the examples for the lost requests, and the `statements` of all others."""
        super().__init__(recording)
        self._whole = recording.exchanges
        self.inference = inference
        self._statements = statements

    @cached_property
    def command(self) -> Codes:  # type: ignore[override]
        """The protocol's name of each."""
        return self._with_examples(self._whole.command)

    @cached_property
    def purpose(self) -> Codes:  # type: ignore[override]
        """The purpose of each."""
        return self._with_examples(self._whole.purpose)

    @cached_property
    def fingerprint(self) -> Ints:  # type: ignore[override]
        """Index into the statements, -1 for none."""
        return _replaced(self._statements, self.inference.rows, self.inference.examples)

    def with_parameters(self, parameters: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the parameters of all exchanges, with those on which all examples of a request agree."""
        agreed = self.inference.where(self.inference.same_parameters)
        return _replaced(parameters, agreed.rows, agreed.examples)

    def _with_examples(self, column: Codes) -> Codes:
        return Codes(_replaced(column.codes, self.inference.rows, self.inference.examples), column.names)


def _replaced(column: NDArray[Any], rows: Ints, examples: Ints) -> NDArray[Any]:
    """Return a copy of the column in which `rows` have the values of `examples`."""
    copied = column.copy()
    copied[rows] = column[examples]
    return copied


def _statements(recording: Recording, lost: Bools) -> Ints:
    """Return the statement of each exchange, that of one whose prepare was lost included."""
    exchanges = recording.exchanges
    statement, connection = exchanges.fingerprint, exchanges.connection
    unseen = unseen_statements(recording)
    unknown = exchanges.is_execution & ((statement < 0) | unseen)
    if not unknown.any():
        return statement
    rows = np.flatnonzero(exchanges.round_trips > 0)
    count = len(recording.statement_texts) + 1
    works = exchanges.is_execution & exchanges.kind.where(WORK.__contains__)
    runs = np.flatnonzero(works & ~unseen & exchanges.complete)
    shown = np.bincount(statement[runs], minlength=count)
    longest, shortest = np.zeros(count, np.int64), np.full(count, np.iinfo(np.int64).max)
    brings, answer = exchanges.rows.is_valid(), exchanges.response_bytes
    np.maximum.at(longest, statement[runs], answer[runs])
    np.minimum.at(shortest, statement[runs], answer[runs])
    reads = np.bincount(statement[runs], brings[runs], count) > 0

    first = np.flatnonzero(lost[rows[1:-1]] & unknown[rows[2:]] & (connection[rows[:-2]] == connection[rows[2:]])) + 2
    before, run = statement[rows[first - 2]], rows[first]
    like = (shown[before] >= MIN_EXAMPLES) & (reads[before] == brings[run]) & (before >= 0)
    like &= (answer[run] <= MAX_BYTES_RATIO * longest[before]) & (MAX_BYTES_RATIO * answer[run] >= shortest[before])
    first, before, run = first[like], before[like], run[like]
    return _gone_on(recording, lost, rows, first, before) if len(run) else statement


def _gone_on(recording: Recording, lost: Bools, rows: Ints, first: Ints, before: Ints) -> Ints:
    """Return the statements, where those that waits `first` of `rows` begin are those that ran `before` them.

    One that has a name is the same throughout its connection, one that has none until another statement runs.
    """
    exchanges = recording.exchanges
    statement, connection = exchanges.fingerprint.copy(), exchanges.connection
    unseen = unseen_statements(recording)
    count = len(recording.statement_texts) + 1
    named = unseen[rows[first]]
    key = connection * count + statement
    names, places = np.unique(key[rows[first[named]]], return_index=True)
    if len(names):
        at = np.minimum(np.searchsorted(names, key), len(names) - 1)
        statement = np.where(unseen & (names[at] == key), before[named][places[at]], statement)
    goes_on = (lost | (exchanges.is_execution & (statement < 0)))[rows]
    begins = np.full(len(rows), -1)
    begins[first[~named]] = before[~named]
    other = ~goes_on | (np.diff(connection[rows], prepend=-1) != 0)
    of_wait = np.where(goes_on, passes.last_known(begins, np.cumsum(other)), -1)
    wait = np.cumsum(exchanges.round_trips > 0) - 1
    inferred = np.where(wait >= 0, of_wait[wait], -1)
    return np.where((statement < 0) & ~lost, inferred, statement)


def _inference(recording: Recording, lost: Bools, statements: Ints) -> Inference:
    """Infer the lost requests of series of every length."""
    series = _WaitSeries(recording, lost, statements)
    of_lengths = [series.inference(length) for length in range(1, MAX_LOST_REQUESTS + 1)]
    joined = Inference.joined(of_lengths)
    return joined.picked(passes.ordered(joined.rows))


NOTHING = Inference(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool))


class _WaitSeries:
    """The exchanges that the client waits for, those of all connections one behind the other."""

    def __init__(self, recording: Recording, lost: Bools, statements: Ints) -> None:
        exchanges = recording.exchanges
        self.rows = rows = np.flatnonzero(exchanges.round_trips > 0)
        kinds = statements, exchanges.command.codes, exchanges.purpose.codes
        self.request = passes.numbered(*(column[rows] for column in kinds))
        self.parameters = recording.exchange_column("parameters").values[rows]
        self.lost, self.connection = lost[rows], exchanges.connection[rows]
        self.response_bytes = exchanges.response_bytes[rows]
        order, starts = passes.grouped(self.request)
        answers = self.response_bytes[order]
        self.longest = np.maximum.reduceat(answers, starts[:-1])
        self.shortest = np.minimum.reduceat(
            np.where(exchanges.complete[rows][order], answers, answers.max()), starts[:-1]
        )

    def inference(self, length: int) -> Inference:
        """Infer the requests of series of `length` lost ones."""
        count = len(self.rows) - length - 1
        if count <= 0:
            return NOTHING
        before, behind = slice(count), slice(length + 1, None)
        so_far = np.cumsum(np.concatenate(([0], self.lost)))
        lost_between = so_far[length + 1 : -1] - so_far[1 : count + 1]
        framed = (self.connection[before] == self.connection[behind]) & ~self.lost[before] & ~self.lost[behind]
        neighbours = self.request[before] * (int(self.request.max()) + 1) + self.request[behind]
        gaps = np.flatnonzero(framed & (lost_between == length))
        places = np.flatnonzero(framed & (lost_between == 0) & np.isin(neighbours, neighbours[gaps]))
        return self._filled(gaps, places, neighbours, 1 + np.arange(length)) if len(places) else NOTHING

    def _filled(self, gaps: Ints, places: Ints, neighbours: Ints, between: Ints) -> Inference:
        """Fill the gaps with what most of the places with the same neighbours have between them."""
        alike = Groups.of(places, neighbours[places], *(self.request[places + each] for each in between))
        rivals = Groups.of(np.arange(len(alike)), neighbours[alike.firsts])
        size = alike.sizes[rivals.rows]
        most = rivals.rows[passes.ordered(rivals.ids, size)][rivals.starts[1:] - 1]
        most = most[alike.sizes[most] >= np.maximum(MIN_AGREEING_SHARE * rivals.sum(size), MIN_EXAMPLES)]
        if not len(most):
            return NOTHING
        known = neighbours[alike.firsts[most]]
        at = np.minimum(np.searchsorted(known, neighbours[gaps]), len(known) - 1)
        fits = known[at] == neighbours[gaps]
        rows = gaps[fits][:, None] + between
        examples = alike.firsts[most][at[fits]][:, None] + between
        same = np.stack([self._agree(alike, each)[most][at[fits]] for each in between], axis=1)
        answer, example = self.response_bytes[rows], self.request[examples]
        short = answer <= MAX_BYTES_RATIO * self.longest[example]
        long = (answer == 0) | (MAX_BYTES_RATIO * answer >= self.shortest[example])
        like = (short & long).all(axis=1)
        return Inference(self.rows[rows[like]].ravel(), self.rows[examples[like]].ravel(), same[like].ravel())

    def _agree(self, alike: Groups, place: int) -> Bools:
        """Return of which groups all have the same parameters at a place behind their first neighbour."""
        parameters, starts = self.parameters[alike.rows + place], alike.starts[:-1]
        return np.asarray(np.minimum.reduceat(parameters, starts) == np.maximum.reduceat(parameters, starts), bool)
