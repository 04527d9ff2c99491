"""A finding: a pattern that costs round trips, where it was seen, and what its fix would remove."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from latpcap.findings.call_time import CallTime, call_time
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import constant

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SavedShare(Struct, frozen=True):
    """The time around a call that goes with it when a fix removes the call.

    A call that is not needed at all (a ping, a login, a cached answer) takes the driver's time and its service
    along. A call whose work is done by another one (the child queries of a join, the rows of a batch) leaves a part of
    its service there.
    """

    client: float = 0.0
    """Part of the driver's own time for the call: see `call_time.py`."""
    service: float = 0.0
    """Part of its service time."""
    call: bool = True
    """The call itself; otherwise only its wait."""
    prepares: bool = False
    """The finding is about prepares, which belong to the executions that they serve elsewhere."""


NOTHING = SavedShare(call=False)


class Effect(Struct, frozen=True):
    """The waits that a fix removes, exchange by exchange; the bytes of removed exchanges travel on.

    Kept for the touched rows only, since a recording may hold millions of exchanges and many findings;
    `saved_round_trips` spreads them over all rows.
    """

    takes: SavedShare
    call: CallTime
    exchanges: int
    rows: Ints
    """The exchanges that lose round trips or time, ascending."""
    saved: Floats
    """How many round trips each loses: 0 up to its `round_trips`."""
    stall_ns: Floats
    """Waiting that each loses beside its round trips, whatever the RTT: held back packets."""
    closed: Ints
    """Connections that are not opened any more."""
    dependents: Ints
    """Exchanges that wait for nothing themselves and go with the others: followers in a pipeline, closes."""

    @property
    def saved_round_trips(self) -> Floats:
        """One value an exchange of the recording: how many of its round trips the fix removes."""
        saved = np.zeros(self.exchanges)
        saved[self.rows] = self.saved
        return saved


class Candidate(Struct, frozen=True):
    """One place where a pattern was recognised, before findings share out the round trips."""

    shown: Ints
    """The exchanges that the pattern is made of: they are counted and shown."""
    effect: Effect
    fingerprint: int = -1
    """The statement, as an index into the texts; -1 for none."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Figures of the pattern, by name: repeats, rows a fetch, …"""
    fix: str = ""
    """The fix in one sentence, with the driver's own setting where the driver is known."""
    statement: str | None = None
    """Shown in the place of the fingerprint's text."""
    needs: tuple[str, ...] = ()
    """Names of the fixes without which this one cannot be made; its saving is that of all of them together."""
    place: str = ""
    """The server and the database, where the recording has several."""
    share: float | None = None
    """How grave it is, 0 to 1, where that is no matter of what a fix saves."""

    @property
    def asked(self) -> tuple[int, str]:
        """The statement, and where it is asked."""
        return self.fingerprint, self.place


class Pattern(Struct, frozen=True):
    """A kind of finding: its texts and how it is recognised. One a file."""

    code: str
    fix: str
    """The name that switches its fix on: `project --fix NAME`."""
    title: str
    """With the candidate's facts in braces."""
    why: str
    find: Callable[[Evidence, int | None], Iterator[Candidate]]
    """From the evidence and the fix's value (rows a fetch, calls a batch; `None` for the usual one)."""
    rule: str
    """How it is recognised, as docs/findings.md has it: Markdown."""
    example: str
    is_not: str
    """The end of a sentence: "It is not …" what is easily taken for it."""
    fixes: Mapping[str, Advice | str]
    """By the kind of it; the only one under an empty name."""
    beside: str = ""
    """The code of a pattern that may be true of the same runs: both are told, although one counts the round trips."""
    suggestion: bool = False
    """Worth a thought rather than wrong: it takes only round trips that nothing else claims."""
    choices: tuple[str, ...] = ()
    """Words that the fix's value may be; a number is allowed where the pattern takes one."""
    usual: int | None = None
    """The fix's value unless another is asked; `None` where it takes none."""


class Finding(Struct, frozen=True):
    """A pattern, where it was seen, and what its fix saves that no other finding counts already."""

    code: str
    fix_name: str
    title: str
    why: str
    fix: str
    share: float
    """Share of the effective round trips that the fix removes, of the stalled runtime, or as the candidate says."""
    suggestion: bool
    """Worth a thought; or nothing is to be saved."""
    fingerprint: str | None
    statement: str | None
    shown: Ints
    effect: Effect
    facts: Mapping[str, object]
    needs: tuple[str, ...] = ()
    statement_id: int = -1
    """The statement, as an index into the texts; -1 for none."""
    place: str = ""
    """The server and the database, where the recording has several."""

    @property
    def asked(self) -> tuple[int, str]:
        """The statement, and where it is asked."""
        return self.statement_id, self.place

    @property
    def round_trips_saved(self) -> int:
        """Whole round trips, TCP handshakes included."""
        return round(float(self.effect.saved.sum()) + len(self.effect.closed))


def effect_of(
    evidence: Evidence,
    takes: SavedShare,
    rows: Ints,
    *,
    call: CallTime | None = None,
    saved: Floats | None = None,
    stall_ns: Floats | None = None,
    closed: Ints | None = None,
    executions: Ints | None = None,
    dependents: Ints | None = None,
) -> Effect:
    """Build an effect; by default each of `rows` loses all of its round trips.

    A round trip that is shared with an exchange which stays is not saved: `executions` are those that go with `rows`.
    What serves one of them and waits for nothing goes along.
    """
    rows = np.asarray(rows, np.int64)
    order = slice(None) if (rows[1:] >= rows[:-1]).all() else passes.ordered(rows)  # mostly they ascend: no copy then
    trips = evidence.exchanges.round_trips[rows].astype(float)
    dependents = (
        evidence.serving_unseen(rows if executions is None else executions) if dependents is None else dependents
    )
    trips[_leads_what_stays(evidence, np.concatenate((rows, dependents)), executions)[: len(rows)]] -= 1
    return Effect(
        takes=takes,
        call=call_time(evidence, rows) if call is None else call,
        exchanges=len(evidence.exchanges),
        rows=rows[order],
        saved=(trips if saved is None else np.minimum(saved, trips))[order],
        stall_ns=constant(0.0, len(rows)) if stall_ns is None else stall_ns[order],
        closed=np.empty(0, np.int64) if closed is None else closed,
        dependents=dependents,
    )


def _leads_what_stays(evidence: Evidence, rows: Ints, executions: Ints | None) -> NDArray[np.bool_]:
    """Which of `rows`, all that goes, share their round trip with an exchange that stays."""
    leads = np.zeros(len(evidence.exchanges), bool)
    sharing = evidence.sharing
    if not len(sharing):
        return leads[rows]
    gone = np.zeros(len(evidence.exchanges), bool)
    gone[rows] = True
    stays = ~gone[sharing]
    if executions is not None:
        stays &= ~evidence.serves(executions)[sharing]
    leads[evidence.leader[sharing[stays]]] = True
    return leads[rows]
