"""What one capture shows: its runtime, its round trips, and the RTT that its packets really had."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import latpcap

QUICK, QUICK_MS = 0.10, 0.1
"""An acknowledgment later than the fastest by more waited: for a busy server, in a queue, or for a delayed-ACK timer."""
STATISTIC = """\
the mean in-stream RTT that the target's own capture shows: data → the packet that acknowledges it, be it
  an answer or a bare ACK, over the samples within a tenth and 0.1 ms of the fastest (later ones waited for the server,
  in a queue that the transfer itself filled, or for a delayed-ACK timer)."""


@dataclass(frozen=True)
class Rtt:
    """One capture's RTT in ms by several statistics; NaN where it has no sample."""

    in_stream: float
    """Mean of the quick acknowledgments, answers included: what projections onto this capture are asked for."""
    median: float
    """Median of the same acknowledgments, quick or not."""
    bare: float
    """Mean of the quick bare acknowledgments."""
    handshake: float
    baseline: float
    """latpcap's own estimate, weighted by round trips."""


@dataclass(frozen=True)
class Facts:
    """One capture, as far as the table needs it."""

    capture: latpcap.Capture
    runtime_s: float
    round_trips: int
    rtt: Rtt


def facts(path: Path) -> Facts:
    """Read one capture."""
    capture = latpcap.read(path)
    analysis = capture.analyze()
    return Facts(capture, analysis.summary.runtime_s, analysis.summary.round_trips, measured_rtt(capture, analysis))


def measured_rtt(capture: latpcap.Capture, analysis: latpcap.Analysis) -> Rtt:
    recording = capture.recording
    connections, exchanges = recording.connections, recording.exchanges
    samples = capture.rtt_samples
    acks = samples["rtt_ms"][samples["by_server"]]
    shakes = (connections.ack - connections.syn)[connections.syn_ack > connections.syn] / 1e6
    single = exchanges.complete & (exchanges.round_trips == 1) & (exchanges.waited > 0) & ~exchanges.is_setup
    waits = exchanges.waited[single] / 1e6
    seen = np.concatenate((acks, waits))
    return Rtt(
        in_stream=quick_mean(seen),
        median=middle(seen),
        bare=quick_mean(acks) if len(acks) else quick_mean(seen),
        handshake=middle(shakes),
        baseline=own_estimate(analysis),
    )


def quick_mean(samples: NDArray[np.float64]) -> float:
    """The mean of the acknowledgments that waited for nothing."""
    return float(samples[samples <= samples.min() * (1 + QUICK) + QUICK_MS].mean()) if len(samples) else math.nan


def own_estimate(analysis: latpcap.Analysis) -> float:
    trips = np.array([connection.round_trips for connection in analysis.connections], float)
    baselines = np.array([connection.rtt.baseline_ms or math.nan for connection in analysis.connections])
    known = ~np.isnan(baselines) & (trips > 0)
    return float(np.average(baselines[known], weights=trips[known])) if known.any() else math.nan


def middle(values: NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else math.nan
