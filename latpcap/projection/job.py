"""The job of a recording, ready to be done again on another network: the columns that the core's replay takes.

The core does the work turn by turn (docs/model.md C.4); here the recording's times are put to the client's side, and
the cases of the range are named.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap._core import Replay
from latpcap.measures import missing
from latpcap.measures.goodbyes import goodbyes
from latpcap.measures.pacing import pacing
from latpcap.measures.stalls import ack_stalls
from latpcap.measures.tcp import INITIAL_WINDOW, MSS_BYTES, TIMESTAMPS_BYTES
from latpcap.measures.windows import narrow_windows
from latpcap.rtt import Beyond, Estimate
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Codes, known
from latpcap.tables.columnar.scratch import zeros
from latpcap.tables.recording import FEW, MISSING, Connections, Exchanges, Recording

__all__ = ["Columns", "FixEffects", "Job", "Replay", "ReplayNetwork", "Waiting"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Waiting = Literal["evidence", "independent", "chained", "clocked", "unclocked"]

WINDOW_BYTES = 4_000_000.0
"""What a sender may have under way at most: the send buffer grows to 4 MB on Linux by default (tcp_wmem)."""
TAKEN = 0.85
"""What is under way to a receiver with a small buffer, of the largest window that it announces: it opens in steps."""
TIMEOUT_NS = 200e6
"""Linux's smallest retransmission time-out; a lost lone packet is noticed so long after its RTT."""


class Job:
    """The job of a recording. Its columns are as large as the recording, so they are made where they are needed."""

    def __init__(self, recording: Recording, rtt: Estimate, baseline: Floats, low: Floats, high: Floats) -> None:
        """The job of `recording`; the three baselines are known for every phase of a connection (ns)."""
        self._recording, self._rtt = recording, rtt
        self._baselines = baseline, low, high
        self.connections, self.exchanges = len(recording.connections), len(recording.exchanges)
        self.segment_bytes = _segment_bytes(recording.connections)
        self._kept: Columns | None = None

    @property
    def server(self) -> Codes:
        """Of each connection."""
        return self._recording.connections.server

    @property
    def connection(self) -> Ints:
        """Of each phase."""
        connection = self._rtt.phases.connection
        return connection if self.beyond is None else np.concatenate((connection, self.beyond.connection))

    @property
    def beyond(self) -> Beyond | None:
        """The networks behind a proxy, of the last phases."""
        return self._rtt.beyond

    @property
    def baseline_ns(self) -> Floats:
        """Of each phase."""
        return self._baselines[0]

    def columns(self) -> Columns:
        """What is replayed; of few exchanges it is kept."""
        if self._kept is not None:
            return self._kept
        columns = Columns.of(self._recording, self._rtt, *self._baselines)
        self._recording.exchanges.forget()  # the replay needs the room
        self._kept = columns if self.exchanges <= FEW else None
        return columns

    def segments(self) -> tuple[Floats, Floats]:
        """What the request and the response of each exchange fill."""
        exchanges = self._recording.exchanges
        requests = _request_segments(exchanges, self.segment_bytes)
        exchanges.forget()
        responses = _response_segments(exchanges, self.segment_bytes)
        exchanges.forget()
        return requests, responses

    @property
    def unreadable(self) -> bool:
        """What some requests ask for is not known."""
        return bool(self._recording.exchanges.purpose.where("unreadable".__eq__).any())


class Columns(Struct, frozen=True):
    """What was captured: times in ns since the recording began, as the client saw them."""

    baseline_ns: Floats
    """Of each phase of a connection, as the next two."""
    low_ns: Floats
    high_ns: Floats
    opening: NDArray[np.uint32]
    """The first phase of each connection."""
    client: NDArray[np.uint32]
    opened_ns: Ints
    established_ns: Ints
    closed_ns: Ints
    server_first: NDArray[np.bool_]
    segment_bytes: Floats
    client_window_bytes: Floats
    server_window_bytes: Floats
    connection: NDArray[np.uint32]
    phase: NDArray[np.uint32]
    request_ns: Ints
    request_end_ns: Ints
    response_ns: Ints
    response_end_ns: Ints
    round_trips: NDArray[np.uint32]
    stalled_before_ns: Floats
    """Of each exchange, as the next; both empty where none stalled."""
    stalled_within_ns: Floats
    request_segments: Floats
    response_segments: Floats
    setup: NDArray[np.bool_]
    complete: NDArray[np.bool_]
    ends_transaction: NDArray[np.bool_]
    statement: NDArray[np.uint32]
    """What it asks: which statement, and what for."""
    shared: NDArray[np.bool_]
    deferred: NDArray[np.bool_]
    streamed: NDArray[np.bool_]
    """The request went on when the answer had begun: the client did not wait for that."""
    silent_ns: Floats
    """Of each exchange, as the next three; empty where nobody was held back. How long a sender waited for ACKs."""
    request_silent_ns: Floats
    """What of that the client waited."""
    request_paced_ns: Floats
    """How long a sender that paces kept its request, or its response, back."""
    response_paced_ns: Floats
    told_ns: Floats
    """Of each exchange; empty where the server pushed nothing. How long before the request it did; 0 where not."""

    @classmethod
    def of(cls, recording: Recording, rtt: Estimate, baseline: Floats, low: Floats, high: Floats) -> Columns:
        """The columns of a recording's job; the three baselines are known for every phase of a connection (ns)."""
        connections, exchanges, phases = recording.connections, recording.exchanges, rtt.phases
        near = known(baseline * rtt.of_phases.near_share)
        half = np.rint(near / 2).astype(np.int64)
        shift = half[rtt.of_exchanges] if half.any() else None  # at the client, times are the client's
        back = None if shift is None else -shift
        near, opened, closed = near[phases.opening], half[phases.opening], half[phases.closing]
        segment_bytes = _segment_bytes(connections)
        stalls, windows = ack_stalls(exchanges), narrow_windows(connections, exchanges)
        silent, told = exchanges.silent, exchanges.told
        paced = pacing(recording, rtt)
        held = len(exchanges) if paced.shows or silent.any() else 0
        near_ns = 2.0 * half[rtt.of_exchanges] if told.any() else 0.0
        stalled = len(exchanges) if stalls.before.any() or stalls.inside.any() else 0
        never = _never_waits(connections, exchanges)
        aside = never[exchanges.connection] if never.any() else None
        seen = missing.times(exchanges, len(connections))
        return cls(
            baseline_ns=baseline,
            low_ns=low,
            high_ns=high,
            opening=phases.opening.astype(np.uint32),
            client=connections.host.codes.astype(np.uint32),
            opened_ns=_shifted(connections.syn, -opened),
            established_ns=_shifted(connections.syn_ack, opened),
            closed_ns=_shifted(goodbyes(recording, np.rint(near).astype(np.int64)), closed),
            server_first=connections.server_first,
            segment_bytes=segment_bytes,
            client_window_bytes=TAKEN * windows.client_bytes,
            server_window_bytes=TAKEN * windows.server_bytes,
            connection=exchanges.connection.astype(np.uint32),
            phase=rtt.of_exchanges.astype(np.uint32),
            request_ns=_shifted(seen.request, back, aside),
            request_end_ns=_shifted(seen.request_end, back, aside),
            response_ns=_shifted(seen.response, shift, aside),
            response_end_ns=_shifted(seen.response_end, shift, aside),
            round_trips=exchanges.round_trips.astype(np.uint32),
            stalled_before_ns=stalls.before[:stalled],
            stalled_within_ns=stalls.inside[:stalled],
            request_segments=_request_segments(exchanges, segment_bytes),
            response_segments=_response_segments(exchanges, segment_bytes),
            setup=exchanges.is_setup,
            complete=exchanges.complete,
            ends_transaction=exchanges.ends_transaction,
            statement=_asked(exchanges),
            shared=exchanges.wait.where("shared".__eq__),
            deferred=exchanges.wait.where("deferred".__eq__),
            streamed=_streamed(exchanges, segment_bytes),
            silent_ns=silent[:held].astype(float),
            request_silent_ns=exchanges.request_silent[:held].astype(float),
            request_paced_ns=paced.requests[:held],
            response_paced_ns=paced.responses[:held],
            told_ns=np.where(told > 0, np.maximum(told - near_ns, 1.0), 0.0) if told.any() else np.empty(0),
        )


class FixEffects(Struct, frozen=True):
    """What fixes leave of a job, from 0 (gone) to 1 (as it was): one value an exchange, `closed` one a connection."""

    closed: NDArray[np.bool_]
    """Not opened any more."""
    trips: Floats
    """Which part of its round trips, or of its share in those of the exchange that it was sent behind."""
    gap: Floats
    """Which part of the client time before it, and of its service."""
    service: Floats
    stalled_before: NDArray[np.bool_]
    """Its waits for a delayed ACK are left, before its request and within request and response."""
    stalled_within: NDArray[np.bool_]
    request_segments: Floats
    """What requests and responses fill from now on: what travels together shares packets."""
    response_segments: Floats


class ReplayNetwork(Struct, frozen=True):
    """The network that a job is replayed on; see `core/src/job`."""

    bandwidth: float = np.inf
    loss: float = 0.0
    growth: float = 2.0
    window_bytes: float = WINDOW_BYTES
    taken: float = 1.0
    hidden: float = 0.5
    timeout_ns: float = TIMEOUT_NS
    restarts: bool = True
    skips: bool = False
    baseline: int = 0
    added_ns: float = 0.0


def _asked(exchanges: Exchanges) -> NDArray[np.uint32]:
    """A number for each statement and what is done with it: prepared, run, fetched."""
    purpose = exchanges.purpose
    asked: NDArray[np.uint32] = ((exchanges.fingerprint + 1) * len(purpose.names) + purpose.codes).astype(np.uint32)
    return asked


def _never_waits(connections: Connections, exchanges: Exchanges) -> Bools:
    """Connections on which the client waits for nothing and which open before the capture: they are no part of the job.

    The good-bye of one that was used before says when somebody hung up, not what others have to wait for.
    """
    waits = np.bincount(exchanges.connection, exchanges.round_trips, len(connections)) > 0
    never: Bools = ~waits & (connections.syn == MISSING)
    return never


def _segment_bytes(connections: Connections) -> Floats:
    """The payload of a full segment of each connection: the smaller of both sides' MSS less the usual options."""
    announced = [np.where(mss == MISSING, MSS_BYTES, mss) for mss in (connections.client_mss, connections.server_mss)]
    payload: Floats = np.maximum(np.minimum(*announced) - TIMESTAMPS_BYTES, 1).astype(float)
    return payload


def _request_segments(exchanges: Exchanges, segment_bytes: Floats) -> Floats:
    sizes, begin, end = exchanges.request_wire_bytes, exchanges.request, exchanges.request_end
    return _segments(sizes, begin, end, exchanges.connection, segment_bytes)


def _response_segments(exchanges: Exchanges, segment_bytes: Floats) -> Floats:
    sizes, begin, end = exchanges.response_wire_bytes, exchanges.response, exchanges.response_end
    return _segments(sizes, begin, end, exchanges.connection, segment_bytes)


def _segments(sizes: Ints, begin: Ints, end: Ints, connection: Ints, segment_bytes: Floats) -> Floats:
    """How many segments messages fill; one that begins in the last packet of another fills it with that.

    `segment_bytes` are those of each connection.
    """
    begins_one = np.ones(len(sizes), bool)
    begins_one[1:] = begin[1:] != end[:-1]
    segments = zeros(sizes, len(sizes), float)
    done = 0
    for rows in passes.pieces(len(sizes)):
        piece = segments[done : max(_next(begins_one, rows.stop), done)]
        here = slice(done, done + len(piece))
        if len(piece) == 0:
            continue
        np.divide(sizes[here], segment_bytes[connection[here]], out=piece)
        first = np.flatnonzero(begins_one[here])
        together = np.add.reduceat(piece, first)
        piece[first] += np.ceil(together) - together
        done = here.stop
    return segments


def _streamed(exchanges: Exchanges, segment_bytes: Floats) -> Bools:
    """More than a window of the request followed when the answer had begun."""
    streamed = exchanges.streamed_bytes
    if not streamed.any():
        return zeros(streamed, len(streamed), bool)
    more: Bools = streamed > INITIAL_WINDOW * segment_bytes[exchanges.connection]
    return more


def _next(where: Bools, row: int) -> int:
    """The first row from this one on that is so; behind the last one where there is none."""
    left = where[row:]
    ahead = int(np.argmax(left)) if len(left) else 0
    return row + ahead if len(left) and left[ahead] else len(where)


def _shifted(times: Ints, by: Ints | None, aside: Bools | None = None) -> Ints:
    """Later by so much, where they are known and not `aside`."""
    if by is None:
        return times if aside is None else np.where(aside, MISSING, times)
    unknown = times == MISSING
    if aside is not None:
        unknown |= aside
    shifted: Ints = times + by
    shifted[unknown] = MISSING
    return shifted
