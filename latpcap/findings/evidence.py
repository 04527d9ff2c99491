"""The evidence of every finding: the exchanges, what each is for, whom it serves, and what came before it.

A *unit* is one execution of a statement with all that serves it on its connection: the prepare before it, its fetches,
blob reads and closes. An *interval* is work of one connection without think time in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.groups import Groups
from latpcap.findings.inference import InferredExchanges, infer, lost_requests, unseen_statements
from latpcap.measures.budget import BudgetTimeline
from latpcap.measures.errors import Failures, failures
from latpcap.measures.lock_waits import LockWaits, lock_waits
from latpcap.measures.proxies import ProxySuspect, hidden_networks
from latpcap.measures.routes import parse_tags, site_of
from latpcap.measures.statement_text import CATALOG_WORDS, CUT, is_cut, reads_catalog
from latpcap.rtt import Estimate
from latpcap.tables.columnar import columns, passes
from latpcap.tables.columnar.columns import Codes
from latpcap.tables.columnar.scratch import build_column
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.connections import MISSING
from latpcap.tables.exchanges import MAX_CACHED_ROWS, Exchanges
from latpcap.tables.recording import Recording

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_QUESTIONS = 5
"""A driver does not ask for the same this often to open one connection. (It may well set the same again.)"""
QUESTIONS = ("select ", "show ")
"""How a statement begins that asks the session for something."""
MAX_LOOKUPS = 5
"""Catalog reads that belong to the opening of a connection; what reads more is the application itself."""


class Evidence:
    """One recording as the findings see it; every property is an array with one value an exchange unless said."""

    def __init__(self, recording: Recording, rtt: Estimate, timeline: BudgetTimeline, think_s: float) -> None:
        """Look at `recording`, measured."""
        self.recording = recording
        self.rtt = rtt
        self.timeline = timeline
        self.think_ns = think_s * 1e9
        self.exchanges: Exchanges = infer(recording)

    def forget(self) -> None:
        """Let go of what can be made again, for something that needs the room: replays do."""
        if len(self.exchanges) > MAX_CACHED_ROWS:
            columns.forget(self, Groups)
        self.exchanges.forget(columns.MIN_RETURNED_BYTES // 8)

    # --- what an exchange is for --------------------------------------------------------------------------------------

    @cached_property
    def texts(self) -> Texts:
        """The statements, by their number."""
        return self.recording.statements

    def text(self, fingerprint: int) -> str:
        """The text of a fingerprint; empty for none."""
        return self.texts[fingerprint] if fingerprint >= 0 else ""

    @cached_property
    def kind(self) -> Codes:
        """The kind of each exchange's statement, whatever the command."""
        reads, writes = self._unseen_statements
        reads = np.concatenate((self._questions_like_pings, reads))
        if not len(reads) + len(writes):
            return self.exchanges.kind
        kind, names = self.exchanges.kind.codes, [*self.exchanges.kind.names, "read", "write"]
        kind = np.where(self.runs(reads), len(names) - 2, np.where(self.runs(writes), len(names) - 1, kind))
        return Codes(kind, names)

    def runs(self, statements: Sequence[int] | Ints) -> Bools:
        """The statement of each exchange, by its number, is one of `statements`."""
        wanted = np.zeros(len(self.recording.statement_texts) + 1, bool)
        wanted[np.asarray(statements, np.int64)] = True
        found: Bools = wanted[self.exchanges.fingerprint]
        return found

    def does(self, *kinds: str) -> Bools:
        """The statement of each exchange is one of these."""
        return self.kind.where(kinds.__contains__)

    @cached_property
    def _questions_like_pings(self) -> Ints:
        """`SELECT ?` with many different values asks something after all."""
        rows = self.exchanges.kind.where("ping".__eq__)
        groups = Groups.of(np.flatnonzero(rows), self.exchanges.fingerprint[rows])
        different = groups.distinct(passes.first_alike(self.parameters[groups.rows]))
        return self.exchanges.fingerprint[groups.firsts[different > 2]]

    @cached_property
    def is_unseen(self) -> Bools:
        """Is of a statement that has a name and no text: its prepare was not captured."""
        return bools(
            unseen_statements(self.recording) & (self.exchanges.fingerprint == self.recording.exchanges.fingerprint)
        )

    @cached_property
    def _unseen_statements(self) -> tuple[Ints, Ints]:
        """Statements whose prepare was not captured, by their answers: those that read, and those that write.

        One without a number of changed rows (it was cut, perhaps) tells of no change.
        """
        rows = np.flatnonzero(self.is_unseen)
        statement, brought = self.exchanges.fingerprint[rows], self.exchanges.rows.is_valid()[rows]
        changed = self.exchanges.affected_rows.is_valid()[rows] & ~self.failed[rows]
        reads = passes.occurring(statement[brought])
        writes = passes.occurring(statement[changed & ~self.runs(reads)[rows]])
        return reads, writes

    @property
    def parameters(self) -> NDArray[np.uint64]:
        """A hash of literals and bind values; 0 for none, or none known."""
        parameters = self.recording.exchange_column("parameters").values
        return (
            self.exchanges.with_parameters(parameters) if isinstance(self.exchanges, InferredExchanges) else parameters
        )

    @cached_property
    def parameter_numbers(self) -> Ints:
        """The first exchange with the same: enough to tell them apart, and quicker to group by than hashes."""
        return passes.first_alike(self.parameters)

    @cached_property
    def parameters_known(self) -> Bools:
        """Equal `parameters` mean equal values: some were seen, or the statement has none."""
        has_statement = self.exchanges.fingerprint >= 0
        holds_none = has_statement & ~self.texts.marked("?")[self.exchanges.fingerprint]
        cut = self.texts.marked(CUT, wanted=is_cut)[self.exchanges.fingerprint]
        return bools(((self.parameters != 0) | holds_none) & ~cut)

    @cached_property
    def failed(self) -> Bools:
        """The server answered with an error."""
        return self.exchanges.failed

    @cached_property
    def failures(self) -> Failures:
        """Failures, and among how many."""
        return failures(self.recording)

    @cached_property
    def hidden_networks(self) -> tuple[ProxySuspect, ...]:
        """Servers that seem to be, or may be, behind a proxy."""
        return hidden_networks(self.recording, self.rtt)

    @cached_property
    def lock_waits(self) -> LockWaits:
        """Waits for locks of other connections."""
        return lock_waits(self.recording, self.timeline, self.failures)

    @cached_property
    def waits(self) -> Bools:
        """The client waited for it."""
        return self.exchanges.round_trips > 0

    @cached_property
    def waited(self) -> Ints:
        """How many exchanges, up to each and with it, the client waited for."""
        return np.cumsum(self.waits)

    @cached_property
    def is_execution(self) -> Bools:
        """Runs a statement of the application: no transaction, session or cursor command."""
        return bools(self.exchanges.is_execution & self._is_of_application)

    @cached_property
    def handshake_trips(self) -> Floats:
        """Round trips that the TCP handshake and the greeting of each connection count as."""
        trips, weight = self.exchanges.round_trips, self.timeline.weight
        of_exchanges = np.bincount(self.exchanges.connection, trips * weight, len(self.recording.connections))
        return np.maximum(self.timeline.effective - of_exchanges, 0)

    @cached_property
    def _is_of_application(self) -> Bools:
        return self.does("read", "write", "other")

    @cached_property
    def is_read(self) -> Bools:
        """Runs a statement that only reads."""
        return bools(self.exchanges.is_execution & self.does("read"))

    @cached_property
    def is_write(self) -> Bools:
        """Runs a statement that changes rows."""
        return bools(self.exchanges.is_execution & self.does("write"))

    @cached_property
    def is_fetch(self) -> Bools:
        """Brings more rows of a cursor, by a command or by SQL."""
        return self._asked("fetch", "fetch")

    @cached_property
    def is_prepare(self) -> Bools:
        """Prepares or describes a statement."""
        return bools(self.exchanges.is_for("prepare", "describe") & ~self._asks_about_last_execution)

    @cached_property
    def is_close(self) -> Bools:
        """Closes a statement or cursor."""
        return self.exchanges.is_for("close")

    @cached_property
    def is_blob(self) -> Bools:
        """Opens, reads, writes or closes a blob or LOB."""
        return self.exchanges.is_for("blob")

    @cached_property
    def is_begin(self) -> Bools:
        """Begins a transaction."""
        return self._asked("begin", "begin")

    @cached_property
    def is_end(self) -> Bools:
        """Ends a transaction."""
        return self._asked("end", "end")

    @cached_property
    def is_session(self) -> Bools:
        """Sets or asks something of the session."""
        return self._asked("session", "session")

    @cached_property
    def is_ping(self) -> Bools:
        """Asks whether the server is there."""
        return self._asked("ping", "ping")

    @cached_property
    def is_goodbye(self) -> Bools:
        """Closes the connection."""
        return self.exchanges.is_for("disconnect", "cancel")

    def _asked(self, purpose: str, kind: str) -> Bools:
        return bools(self.exchanges.is_for(purpose) | (self.exchanges.is_execution & self.does(kind)))

    @cached_property
    def is_unread(self) -> Bools:
        """Asks something, and what cannot be read: the connection is encrypted."""
        return bools(self.exchanges.is_for("unreadable") & self.waits & ~self.is_lost)

    @cached_property
    def is_lost(self) -> Bools:
        """Asks something that the capture lost, and nothing around it tells what."""
        return lost_requests(self.exchanges)

    @cached_property
    def is_inferred(self) -> Bools:
        """Asks something that the capture lost, and what is around it tells what."""
        inferred = np.zeros(len(self.exchanges), bool)
        if isinstance(self.exchanges, InferredExchanges):
            inferred[self.exchanges.inference.rows] = True
        return inferred

    @cached_property
    def is_unjudged(self) -> Bools:
        """Asks something of which the statement, the parameters or the rows were lost: it may be part of a pattern.

        The purpose of a request is unknown, too, where the end of it was cut.
        """
        statement, brought = self.exchanges.fingerprint, self.exchanges.rows.is_valid()
        runs = self.exchanges.is_execution | self.exchanges.is_for("other")
        cut = self.texts.marked(CUT, wanted=is_cut)[statement]
        uncounted = (self.is_read | self.is_fetch) & ~brought & ~self.failed & self.are_rows_cut
        unnamed = self.exchanges.is_execution & ((statement < 0) | self.is_unseen)
        return bools(self.is_lost | (runs & cut) | uncounted | unnamed)

    @cached_property
    def are_rows_cut(self) -> bool:
        """The snap length cut packets of the recording."""
        return any(code == "snap-length" for code, *_ in self.recording.notes)

    @cached_property
    def is_unit_in_part(self) -> Bools:
        """An execution of which, or of what serves it, a part was lost or cut: it may have brought more rows."""
        if self.are_rows_cut:
            return bools(self._is_unit_incomplete | (self.is_read & (self.unit_rows < 0)))
        return self._is_unit_incomplete

    @property
    def _is_unit_incomplete(self) -> Bools:
        incomplete = ~self.exchanges.complete
        if not incomplete.any():
            return incomplete
        return bools(self._sum_by_unit(incomplete.astype(np.int64)) > 0)

    # --- whom it is about ---------------------------------------------------------------------------------------------

    @cached_property
    def place(self) -> Codes:
        """The server and the database that each connection asks: two of them answer the same statement otherwise."""
        server, database = self.recording.connections.server, self.recording.said("database")
        order, starts = passes.grouped(server.codes, database.codes)
        firsts = order[starts[:-1]]
        servers, databases = server.picked(firsts).texts(), database.picked(firsts).texts()
        names = [
            f"{asked}, database {named}" if named else str(asked)
            for asked, named in zip(servers, databases, strict=True)
        ]
        return Codes(passes.numbered(server.codes, database.codes), names)

    @cached_property
    def question(self) -> Ints:
        """The statement of each exchange and the place where it is asked, as one number; -1 for no statement."""
        statement = self.exchanges.fingerprint
        if len(self.place.names) <= 1:
            return statement
        asked = statement + self.place.codes[self.exchanges.connection] * len(self.texts)
        return np.where(statement >= 0, asked, -1)

    def statement_of(self, question: int) -> int:
        """The statement of a `question`."""
        return question % len(self.texts) if question >= 0 else -1

    def place_of(self, question: int) -> str:
        """Its place in words, where the recording has several; else empty."""
        names = self.place.names
        return names[question // len(self.texts)] if question >= 0 and len(names) > 1 else ""

    @cached_property
    def sites(self) -> tuple[list[str], Ints]:
        """The places in the code that comments of statements name, and for each exchange which; -1 for none."""
        tags, texts = self.recording.exchange_column("tags").ints(-1), self.recording.tag_texts
        distinct = passes.occurring(tags)  # a group has few of those that all have
        named = [site_of(parse_tags(texts[tag])) if tag >= 0 else None for tag in distinct.tolist()]
        places = sorted({name for name in named if name})
        numbers = {name: number for number, name in enumerate(places)}
        of_tags = np.array([numbers.get(name or "", -1) for name in named], np.int64)
        return places, of_tags[np.searchsorted(distinct, tags)] if places else of_tags[:0]

    # --- what belongs together ----------------------------------------------------------------------------------------

    @cached_property
    def interval(self) -> Ints:
        """Numbers the intervals of work without think time."""
        new = self.exchanges.is_first
        return np.cumsum(new | (self.exchanges.client > self.think_ns))

    @cached_property
    def transaction(self) -> Ints:
        """Numbers the transactions: an end belongs to what it ends."""
        new = self.exchanges.is_first
        ended_before = columns.before(self.is_end)
        ended_before[:1] = False
        return np.cumsum(new | ended_before)

    @cached_property
    def leader(self) -> Ints:
        """The exchange whose round trip each shares, having been sent before that was answered; -1 for none."""
        own, shared = (self.exchanges.wait.where(word.__eq__) for word in ("own", "shared"))
        if not shared.any():
            return columns.constant(-1, len(own))
        before = passes.last_known(np.where(own, np.arange(len(own)), -1), self.exchanges.connection)
        return np.where(shared, before, -1)

    @cached_property
    def sharing(self) -> Ints:
        """The exchanges that share the round trip of a leader."""
        return np.flatnonzero(self.leader >= 0)

    @cached_property
    def unit(self) -> Ints:
        """The execution (its row) that each exchange serves; its own row for an execution, -1 where it serves none."""
        has_statement = self.exchanges.fingerprint >= 0
        executes = self.exchanges.is_execution & has_statement
        groups = self.by_statement
        return passes.serving(groups.rows, groups.starts, executes, self.is_prepare & has_statement)

    @cached_property
    def by_statement(self) -> Groups:
        """The exchanges of each statement of each connection."""
        rows = np.arange(len(self.exchanges))
        return Groups.of(rows, self.exchanges.connection, self.exchanges.fingerprint)

    @cached_property
    def _asks_about_last_execution(self) -> Bools:
        """A describe that follows an execution at once asks how many rows it changed."""
        describes = self.exchanges.is_for("describe")
        if not describes.any():
            return describes
        follows = columns.before(self.exchanges.is_execution) & (
            columns.before(self.exchanges.fingerprint) == self.exchanges.fingerprint
        )
        return bools(describes & follows)

    @cached_property
    def unit_rows(self) -> Ints:
        """Rows that each execution brought, those of its fetches included; -1 where unknown."""
        rows = self.exchanges.rows
        return self._sum_by_unit(rows.ints(0), rows.valid)

    @property
    def unit_trips(self) -> Ints:
        """Round trips of each execution with all that serves it."""
        return self._sum_by_unit(self.exchanges.round_trips)

    def _sum_by_unit(self, values: Ints, known: Bools | None = None) -> Ints:
        sums, any_known = passes.sums(self.unit, values, len(self.exchanges), known)
        sums[~any_known] = -1
        return sums

    def serving(self, executions: Ints) -> Ints:
        """The exchanges that wait and serve one of `executions` (rows), these included, ascending."""
        wanted = np.zeros(len(self.exchanges) + 1, bool)
        wanted[executions] = True
        leaders = self.leader[executions]
        wanted[leaders[(leaders >= 0) & self.is_begin[leaders]]] = True
        serving = (wanted[self.unit] | wanted[:-1]) & self.waits
        return np.flatnonzero(serving)

    def serving_unseen(self, executions: Ints) -> Ints:
        """The exchanges that serve one of `executions` (rows) and wait for nothing themselves, ascending."""
        return np.flatnonzero(self.serves(executions) & ~self.waits)

    def serves(self, executions: Ints) -> Bools:
        """Each exchange serves one of `executions` (rows)."""
        wanted = np.zeros(len(self.exchanges) + 1, bool)
        wanted[executions] = True
        found: Bools = wanted[self.unit]
        return found

    @cached_property
    def is_waited_for(self) -> Bools:
        """An execution that waits, by itself, by what serves it, or by the BEGIN that it was sent behind."""
        leader = self.leader
        behind_begin = (leader >= 0) & self.is_begin[leader]
        return bools((self.unit_trips > 0) | behind_begin)

    # --- what came before ---------------------------------------------------------------------------------------------

    @cached_property
    def is_opening(self) -> Bools:
        """Opens its connection or sets it up: all before the first statement of the application."""
        setting_up = self.exchanges.is_setup | self.is_session | self.is_begin | self.is_end | self.is_ping
        unknown = self.exchanges.is_execution & (self.kind.codes < 0)
        works = (self.is_prepare & self._is_of_application) | self.is_execution | self.is_fetch | unknown
        works = (works & ~setting_up & ~self._looks_around) | self.insists | self.is_unread
        so_far = np.cumsum(works)
        first = self.exchanges.is_first
        base: Ints = (so_far - works)[first]
        return bools((so_far - base[np.cumsum(first) - 1] == 0) & ~self.is_goodbye)

    @cached_property
    def insists(self) -> Bools:
        """Asks for the same of the session so often on one connection that no driver does it to open it."""
        told = passes.occurring(self.exchanges.fingerprint[self.is_session])
        asks = self.runs([statement for statement in told.tolist() if self.text(statement).startswith(QUESTIONS)])
        rows = np.flatnonzero(self.is_session & asks)
        alike = Groups.of(rows, self.exchanges.connection[rows], self.exchanges.fingerprint[rows])
        insists = np.zeros(len(self.exchanges), bool)
        insists[alike.where(alike.sizes >= MIN_QUESTIONS).rows] = True
        return bools(insists)

    @cached_property
    def _looks_around(self) -> Bools:
        """Among the first that a connection runs, and about the catalog: drivers look up types and names."""
        if not self.reads_catalog.any():
            return self.reads_catalog
        so_far = np.cumsum(self.reads_catalog)
        first = np.flatnonzero(self.exchanges.is_first)
        before = np.repeat(so_far[first], np.diff(first, append=len(so_far)))
        return bools(self.reads_catalog & (so_far - before < MAX_LOOKUPS))

    @cached_property
    def reads_catalog(self) -> Bools:
        """Asks for the database's own tables, as drivers and object mappers do in the middle of their work."""
        of_catalog = self.texts.marked(*CATALOG_WORDS, wanted=reads_catalog)
        return bools(self.is_execution & of_catalog[self.exchanges.fingerprint])

    @cached_property
    def gap_ns(self) -> Floats:
        """The client's time before each exchange, without the near half of the RTT and stalls; NaN where unknown."""
        near, paused = self.rtt.of_phases.near, self.exchanges.client
        stalled, trips, phase = self.timeline.own_stalled_ns.before, self.exchanges.round_trips, self.rtt.of_exchanges

        def gaps(rows: slice) -> Floats:
            gap = paused[rows] - near[phase[rows]] * trips[rows] - stalled[rows]
            return np.where((paused[rows] != MISSING) & (gap > 0), gap, np.nan)

        return build_column(self.recording.scratch, len(paused), np.float64, gaps)

    @cached_property
    def is_late(self) -> Bools:
        """Its connection was there before the capture began."""
        begun_before: Bools = self.recording.connections.syn == MISSING
        late: Bools = begun_before[self.exchanges.connection]
        return late

    # --- frames -------------------------------------------------------------------------------------------------------

    @cached_property
    def first_frame(self) -> Ints:
        """The frame in which each exchange begins; -1 where none was captured."""
        return self._edge_frame(("request_frame", "response_frame"))

    @cached_property
    def last_frame(self) -> Ints:
        """The frame in which each exchange ends."""
        return self._edge_frame(("response_end_frame", "request_end_frame"))

    def _edge_frame(self, names: tuple[str, ...]) -> Ints:
        frames = [self.recording.exchange_column(name).ints(-1) for name in names]
        return np.where(frames[0] >= 0, frames[0], frames[1])


def bools(values: Any) -> Bools:
    """Return numpy's results typed."""
    return np.asarray(values, bool)
