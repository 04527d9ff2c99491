"""Prepares fixes for the replay: the likely, least and most time that goes with the removed calls."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect
from latpcap.projection.basis import Variant
from latpcap.projection.job import FixEffects
from latpcap.tables.columnar.columns import Floats, Ints


class _Time(Struct, frozen=True):
    """The time that goes with each removed call; see `Effect` in `core/src/job/changes.rs`."""

    call_ns: float
    work_ns: float
    service: float


class _Removal(Struct, frozen=True):
    """One effect as the core reads it."""

    rows: Ints
    saved: Floats
    stall_ns: Floats
    dependents: Ints
    closed: Ints
    time: _Time


def variant_of(effects: Sequence[Effect], evidence: Evidence) -> Variant:
    """The job with the fixes made."""
    gone = _gone(effects, evidence)
    needless = int(np.count_nonzero(evidence.exchanges.is_execution[gone]))
    likely, *ends = (
        Variant(FixEffects([_removal(effect, time(effect)) for effect in effects], gone), statements=needless)
        for time in (_likely, _most, _least)
    )
    return Variant(likely.changes, needless, (ends[0], ends[1]))


def _likely(effect: Effect) -> _Time:
    takes, call = effect.takes, effect.call
    return _Time(takes.client * call.driver_ns, call.work_ns, takes.service)


def _most(effect: Effect) -> _Time:
    """More of the driver's time, also of gaps in which the application works; other calls do the work for nothing."""
    takes, call = effect.takes, effect.call
    call_ns = call.most_ns if takes.client == 1 else call.driver_ns if takes.call else 0.0
    return _Time(call_ns, math.inf, 1.0 if takes.service > 0 else 0.0)


def _least(effect: Effect) -> _Time:
    """No time of the client; the calls that do the work instead take the server as long."""
    return _Time(0.0, effect.call.work_ns, 1.0 if effect.takes.service == 1 else 0.0)


def _removal(effect: Effect, time: _Time) -> _Removal:
    return _Removal(effect.rows, effect.saved, effect.stall_ns, effect.dependents, effect.closed, time)


def _gone(effects: Sequence[Effect], evidence: Evidence) -> Ints:
    """The exchanges that are not made any more."""
    round_trips, gone = evidence.exchanges.round_trips, np.zeros(len(evidence.exchanges), bool)
    for effect in effects:
        if effect.takes.call:
            all_of_it = (effect.saved > 0) & (effect.saved >= round_trips[effect.rows])
            gone[effect.rows[all_of_it]] = gone[effect.dependents] = True
    return np.flatnonzero(gone)
