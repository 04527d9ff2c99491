"""The job of a recording, which the core reads from its own exchanges: all that is told of its time comes from there.

What is known of each connection is decided here: which clients waited for the server to hang up, and who takes little
at once. What is told of each exchange, the core finds (`core/src/job/`).
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from msgspec import Struct

from latpcap import _core
from latpcap.measures.awaited_fins import awaited_fins
from latpcap.measures.beginnings import Beginnings, beginnings
from latpcap.measures.tcp import MAX_FRAME_BYTES, MSS_BYTES, TIMESTAMPS_BYTES
from latpcap.measures.windows import NarrowWindows, narrow_windows
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.connections import MISSING, Connections
from latpcap.tables.recording import Recording

RECEIVE_WINDOW_UTILISATION = 0.85
"""A receiver with a small buffer has this share of its largest announced window in transit, because the window opens in
steps."""


class RecordedJob(Struct, frozen=True, eq=False):
    """The captured job, as the core divides and replays it."""

    core: _core.Job
    beginnings: Beginnings
    closed: Ints
    """When the server's FIN passed for which each connection's client waited; `MISSING` where it waited for none."""
    windows: NarrowWindows


def recorded_job(recording: Recording, rtt: Estimate) -> RecordedJob:
    """The job of `recording`."""
    connections, phases = recording.connections, rtt.of_phases
    begin = beginnings(recording, rtt)
    core = _core.Job(
        recording.core,
        rtt.of_exchanges,
        SimpleNamespace(
            baseline_ns=phases.baseline, low_ns=phases.low, high_ns=phases.high, near_share=phases.near_share
        ),
        SimpleNamespace(
            stream=connections.stream,
            opening=rtt.phases.opening,
            closing=rtt.phases.closing,
            client=connections.host.codes.astype(np.int64),
            server=connections.server.codes.astype(np.int64),
            start_ns=connections.start,
            syn_ns=begin.syn,
            syn_ack_ns=begin.syn_ack,
            ack_ns=connections.ack,
            under_way_ns=connections.under_way,
            server_first=begin.server_first,
            unseen_trips=begin.unseen_trips,
            unseen_until_ns=begin.unseen_until,
            segment_bytes=_segment_bytes(connections),
            lost_nothing=_lost_nothing(recording),
        ),
        recording.start_ns,
        recording.scratch is not None,
    )
    near = np.rint(phases.near).astype(np.int64)[rtt.phases.opening]
    closed = awaited_fins(recording, near, begin.syn, core.session_closed())
    windows = narrow_windows(connections, *core.largest())
    core.decide(
        closed, RECEIVE_WINDOW_UTILISATION * windows.client_bytes, RECEIVE_WINDOW_UTILISATION * windows.server_bytes
    )
    return RecordedJob(core, begin, closed, windows)


def _segment_bytes(connections: Connections) -> Floats:
    """The payload of a full segment of each connection: the smaller of both sides' MSS less the usual options.

    Those of a loopback device are Ethernet's elsewhere.
    """
    announced = [np.where(mss == MISSING, MSS_BYTES, mss) for mss in (connections.client_mss, connections.server_mss)]
    payload: Floats = np.maximum(np.minimum(*announced) - TIMESTAMPS_BYTES, 1).astype(float)
    return np.where(payload > MAX_FRAME_BYTES, MSS_BYTES - TIMESTAMPS_BYTES, payload)


def _lost_nothing(recording: Recording) -> Bools:
    """Connections on which all that was sent again had arrived, and nobody waited in silence."""
    if recording.period is not None:  # what had arrived is known of whole connections
        return np.zeros(len(recording.connections), bool)
    again, spurious, timeouts = (
        recording.connection_column(name).values for name in ("retransmissions", "spurious_retransmissions", "timeouts")
    )
    nothing: Bools = (spurious > 0) & (again <= spurious) & (timeouts == 0)
    return nothing
