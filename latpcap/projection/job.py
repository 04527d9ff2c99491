"""The job of a recording, ready to be done again on another network.

The core does the work turn by turn (docs/model.md C.4); here are the cases of the range, and the networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from latpcap import _core
from latpcap._core import Replay
from latpcap.rtt import BehindProxy, Estimate
from latpcap.tables.columnar.columns import Codes, Floats, Ints, known
from latpcap.tables.recording import Recording

Waiting = str
"""One of `_core.ways_of_waiting`."""
MAX_WINDOW_BYTES = 4_000_000.0
"""A sender has at most this in transit: the send buffer grows to 4 MB on Linux by default (tcp_wmem)."""
MIN_TIMEOUT_NS = 200e6
"""Linux notices a lost single packet this long after its RTT: its smallest retransmission time-out."""


class Job:
    """The job of a recording, ready to be replayed."""

    def __init__(self, recording: Recording, rtt: Estimate, job: _core.Job, usual_ns: float) -> None:
        """The job of `recording`; connections of which no RTT is known have the `usual` one."""
        self._recording, self._rtt, self._job, self._usual_ns = recording, rtt, job, usual_ns
        self.connections, self.exchanges = len(recording.connections), len(recording.exchanges)

    @property
    def server(self) -> Codes:
        """The server of each connection."""
        return self._recording.connections.server

    @property
    def connection(self) -> Ints:
        """The connection of each phase."""
        connection = self._rtt.phases.connection
        return connection if self.beyond is None else np.concatenate((connection, self.beyond.connection))

    @property
    def beyond(self) -> BehindProxy | None:
        """The networks behind a proxy, of the last phases."""
        return self._rtt.beyond

    @property
    def baseline_ns(self) -> Floats:
        """The baseline RTT of each phase."""
        return known(self._rtt.of_phases.baseline, self._usual_ns)

    def replay(self, network: ReplayNetwork, waiting: Waiting) -> Replay:
        """To be run, with who waits for whom; the senders of the capture are taken to have been like `network`'s."""
        if self._recording.scratch is not None:  # the replay needs the room, and nothing else goes on
            self._recording.exchanges.forget()
        return Replay(self._job, self._usual_ns, network, waiting)

    @property
    def is_one_connections(self) -> bool:
        """One connection did all of the work: it meets nobody, at the hosts or at a lock."""
        connection = self._recording.exchanges.connection
        return bool((connection[-1:] == connection[:1]).all())

    @property
    def unreadable(self) -> bool:
        """The purpose of some requests is unknown."""
        return bool(self._recording.exchanges.purpose.where("unreadable".__eq__).any())


class FixEffects(Struct, frozen=True):
    """Effects of fixes on a job."""

    effects: Sequence[Any]
    """Each as `latpcap.findings.fixes` has it."""
    gone: Ints
    """The exchanges that are not made any more."""


class ReplayNetwork(Struct, frozen=True):
    """The network that a job is replayed on; see `core/src/job`."""

    bandwidth: float = np.inf
    loss: float = 0.0
    growth: float = 2.0
    window_bytes: float = MAX_WINDOW_BYTES
    receive_window_scale: float = 1.0
    receiver_bytes: float = np.inf
    compressed: float = 1.0
    compressing_ns: float = 0.0
    overlapped_work: float = 0.5
    timeout_ns: float = MIN_TIMEOUT_NS
    restarts: bool = True
    skips_missed_ticks: bool = False
    paces: bool = False
    baseline: int = 0
