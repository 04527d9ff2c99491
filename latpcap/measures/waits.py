"""What waited for the network, how often and for how long: the figures that a sentence about its cost consists of."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from latpcap.rtt import Baselines
from latpcap.tables.columns import Bools, Floats, Ints

__all__ = ["Stretches", "Waits", "waits"]


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of one kind in which a client waits `trips` times."""

    phase: Ints
    """Of a connection: one, but where its path changed."""
    trips: Floats
    hidden: Ints
    """What of the round trips passed before the capture saw anything of them, in ns."""
    waited: Ints
    """How long the client waited, in ns."""
    network: Floats
    """What of that was the network, in ns, as the runtime has it: side by side counted once."""

    def where(self, which: Bools) -> Stretches:
        """Some of them."""
        return Stretches(*(getattr(self, one.name)[which] for one in fields(self)))


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits whose time is known: captured whole, on connections with a baseline.

    `count` waits of `mean_ms` are `alone_s` one after the other; the runtime has `shared_s` of that, as some may run
    side by side.
    """

    round_trips: int
    handshakes: int
    greetings: int
    hang_ups: int
    """Waits for the server's FIN."""
    alone_s: float
    shared_s: float
    range_s: tuple[float, float]
    """The same at the two ends of the baselines' ranges."""
    baselines_ms: tuple[float, float] | None
    """The least and the largest baseline among them; `None` where nothing waited."""

    @property
    def count(self) -> int:
        """All of them."""
        return self.round_trips + self.handshakes + self.greetings + self.hang_ups

    @property
    def mean_ms(self) -> float:
        """The length of one."""
        return 1000 * self.alone_s / self.count if self.count else 0.0


def waits(baselines: Baselines, exchanges: Stretches, shakes: Stretches, greeted: Bools, byes: Stretches) -> Waits:
    """Add up what is known, with the baseline of each phase; `greeted`: the shakes that take in a greeting."""
    known = ~np.isnan(baselines.baseline)
    parts = [each.where((each.trips > 0) & known[each.phase]) for each in (exchanges, shakes, byes)]
    greetings = int(np.count_nonzero(greeted & (shakes.trips > 0) & known[shakes.phase]))
    phase, trips, hidden, waited, network = (
        np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Stretches)
    )
    alone, low, high = (
        np.clip(trips * values[phase] - hidden, 0, waited)
        for values in (baselines.baseline, np.nan_to_num(baselines.low), baselines.high)
    )
    part = np.where(alone > 0, network / np.maximum(alone, 1), 1.0)
    measured = baselines.baseline[phase] / 1e6
    return Waits(
        round_trips=int(parts[0].trips.sum()),
        handshakes=len(parts[1].trips),
        greetings=greetings,
        hang_ups=len(parts[2].trips),
        alone_s=_seconds(alone),
        shared_s=_seconds(network),
        range_s=(_seconds(np.minimum(low, alone) * part), _seconds(np.fmax(high, alone) * part)),
        baselines_ms=(float(measured.min()), float(measured.max())) if len(measured) else None,
    )


def _seconds(nanoseconds: Floats) -> float:
    return float(nanoseconds.sum()) / 1e9
