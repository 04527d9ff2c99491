"""The job of a recording, ready to be done again on another network.

The core does the work turn by turn (docs/model.md C.4); here are the cases of the range, and the networks.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap._core import Replay
from latpcap.measures.job import RecordedJob
from latpcap.rtt import BehindProxy, Estimate
from latpcap.tables.columnar.columns import Codes, known
from latpcap.tables.recording import Recording

__all__ = ["ClientTimes", "FixEffects", "Job", "Replay", "ReplayNetwork", "Waiting"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Waiting = Literal["evidence", "independent", "chained", "clocked", "unclocked"]

WINDOW_BYTES = 4_000_000.0
"""What a sender may have under way at most: the send buffer grows to 4 MB on Linux by default (tcp_wmem)."""
TIMEOUT_NS = 200e6
"""Linux's smallest retransmission time-out; a lost lone packet is noticed so long after its RTT."""


class Job:
    """The job of a recording, ready to be replayed."""

    def __init__(self, recording: Recording, rtt: Estimate, job: RecordedJob, usual_ns: float) -> None:
        """The job of `recording`; connections of which no RTT is known have the `usual` one."""
        self._recording, self._rtt, self._job, self._usual_ns = recording, rtt, job, usual_ns
        self.connections, self.exchanges = len(recording.connections), len(recording.exchanges)
        self.segment_bytes = job.segment_bytes

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
    def beyond(self) -> BehindProxy | None:
        """The networks behind a proxy, of the last phases."""
        return self._rtt.beyond

    @property
    def baseline_ns(self) -> Floats:
        """Of each phase."""
        return known(self._rtt.of_phases.baseline, self._usual_ns)

    def replay(self, network: ReplayNetwork, waiting: Waiting) -> Replay:
        """To be run, with who waits for whom; the senders of the capture are taken to have been like `network`'s."""
        self._recording.exchanges.forget()  # the replay needs the room
        return self._job.core.replay(self._usual_ns, network, waiting)

    def otherwise(self, replay: Replay, network: ReplayNetwork, waiting: Waiting) -> Replay | None:
        """The same where who waits for whom is another question; `None` where that leads to the same."""
        return self._job.core.otherwise(replay, self._usual_ns, network, waiting)

    def seen(self) -> ClientTimes:
        """Who met whom."""
        told = self._job.core.seen(self._usual_ns)
        return ClientTimes(self.baseline_ns, self._recording.exchanges.connection, self._rtt.of_exchanges, **told)

    def segments(self) -> tuple[Floats, Floats]:
        """What the request and the response of each exchange fill."""
        return self._job.core.segments()

    @property
    def is_one_connections(self) -> bool:
        """One connection did all of the work: it meets nobody, at the hosts or at a lock."""
        connection = self._recording.exchanges.connection
        return bool((connection[-1:] == connection[:1]).all())

    @property
    def unreadable(self) -> bool:
        """What some requests ask for is not known."""
        return bool(self._recording.exchanges.purpose.where("unreadable".__eq__).any())


class ClientTimes(Struct, frozen=True):
    """When each exchange asked and was answered as its client saw it (ns), and what of it tells who met whom."""

    baseline_ns: Floats
    """Of each phase of a connection; all else is of each exchange."""
    connection: Ints
    phase: Ints
    request_ns: Ints
    request_end_ns: Ints
    response_ns: Ints
    response_end_ns: Ints
    setup: Bools
    ends_transaction: Bools
    round_trips: NDArray[np.uint32]


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
