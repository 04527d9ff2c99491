"""What is left of a job when fixes are made: the shares that the replay takes, exchange by exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect
from latpcap.projection.basis import Variant
from latpcap.projection.job import FixEffects, Job
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Ints
from latpcap.tables.columnar.scratch import zeros
from latpcap.tables.recording import MISSING

__all__ = ["variant_of"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def variant_of(effects: Sequence[Effect], evidence: Evidence, job: Job) -> Variant:
    """The job with the fixes made."""
    needless = _gone(effects, evidence) & evidence.exchanges.is_execution
    return Variant(partial(_changes, effects, evidence, job), statements=int(needless.sum()))


def _gone(effects: Sequence[Effect], evidence: Evidence) -> Bools:
    """Which exchanges are not made any more."""
    gone = np.zeros(len(evidence.exchanges), bool)
    for effect in effects:
        if effect.takes.call:
            waits = evidence.exchanges.round_trips[effect.rows]
            gone[effect.rows[(effect.saved > 0) & (effect.saved >= waits)]] = True
            gone[effect.along] = True
    return gone


def _changes(effects: Sequence[Effect], evidence: Evidence, job: Job) -> FixEffects:
    requests, responses = job.segments()
    size = len(evidence.exchanges)
    trips, gap, service = (zeros(requests, size, float) for _ in range(3))
    for left in (trips, gap, service):
        left += 1
    stalled_within = np.ones(size, bool)
    undelayed, closed = np.zeros(size, bool), np.zeros(job.connections, bool)
    gone = _gone(effects, evidence)
    for effect in effects:
        for rows, share in _shares(effect, evidence):
            trips[rows] -= share
            gap[rows] -= np.where(evidence.thinks[rows], 0, share * effect.takes.client)
            service[rows] -= share * effect.takes.service
        undelayed[effect.rows[effect.stall_ns > 0]] = True
        closed[effect.closed] = True
    _put_together(effects, requests, evidence.exchanges.request_wire_bytes, evidence, job)
    _put_together(effects, responses, evidence.exchanges.response_wire_bytes, evidence, job)
    stalled_within[gone | undelayed] = False
    for left in (trips, gap, service):
        np.maximum(left, 0, out=left)
    return FixEffects(
        closed=closed,
        trips=trips,
        gap=gap,
        service=service,
        stalled_before=~(undelayed | _cause_is_gone(evidence, gone)),
        stalled_within=stalled_within,
        request_segments=requests,
        response_segments=responses,
    )


def _shares(effect: Effect, evidence: Evidence) -> Iterator[tuple[Ints, Floats | float]]:
    """Which part of each exchange goes, piece by piece."""
    for part in passes.pieces(len(effect.rows)):
        rows = effect.rows[part]
        yield rows, effect.saved[part] / np.maximum(evidence.exchanges.round_trips[rows], 1)
    yield effect.along, 1.0


def _put_together(effects: Sequence[Effect], segments: Floats, sizes: Ints, evidence: Evidence, job: Job) -> None:
    """What travels together shares packets: a part of a segment each."""
    for effect in effects:
        for part in passes.pieces(len(effect.rows)):
            rows = effect.rows[part][effect.saved[part] > 0]
            segments[rows] = sizes[rows] / job.segment_bytes[evidence.exchanges.connection[rows]]


def _cause_is_gone(evidence: Evidence, gone: Bools) -> Bools:
    """Before which exchanges nothing is left that waits for no answer: what held their requests back (see stalls.py).

    Where a request goes and the unanswered one before it stays, the next request is held back in its place.
    """
    exchanges = evidence.exchanges
    unanswered = (exchanges.response == MISSING) & (exchanges.round_trips == 0)
    if not unanswered.any():
        return np.asarray(unanswered, bool)
    before = np.roll(unanswered, 1) & (np.diff(exchanges.connection, prepend=-1) == 0)
    left = np.cumsum(unanswered & ~gone)
    begins = np.maximum.accumulate(np.where(unanswered, 0, np.arange(len(unanswered))))  # the last answered one
    since = np.roll(left, 1) - left[np.roll(begins, 1)]
    return np.asarray(before & (since <= 0), bool)
