"""What fixes take out of a job, for the replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Effect
from latpcap.projection.basis import Variant
from latpcap.projection.job import FixEffects
from latpcap.tables.columnar.columns import Ints


def variant_of(effects: Sequence[Effect], evidence: Evidence) -> Variant:
    """The job with the fixes made."""
    gone = _gone(effects, evidence)
    needless = np.count_nonzero(evidence.exchanges.is_execution[gone])
    return Variant(FixEffects(effects, gone, evidence.thinks), statements=int(needless))


def _gone(effects: Sequence[Effect], evidence: Evidence) -> Ints:
    """The exchanges that are not made any more."""
    round_trips, gone = evidence.exchanges.round_trips, np.zeros(len(evidence.exchanges), bool)
    for effect in effects:
        if effect.takes.call:
            all_of_it = (effect.saved > 0) & (effect.saved >= round_trips[effect.rows])
            gone[effect.rows[all_of_it]] = gone[effect.along] = True
    return np.flatnonzero(gone)
