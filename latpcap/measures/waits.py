"""What waited for the network, how often and for how long: the figures that a sentence about its cost consists of."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.rtt import Baselines
from latpcap.tables.columnar.columns import Bools, Floats, Ints


class WaitIntervals(Struct, frozen=True):
    """Intervals of one kind in which a client waits `trips` times."""

    phase: Ints
    """Of a connection: one, but where its path changed."""
    trips: Floats
    hidden: Ints
    """What of the round trips passed before the capture saw anything of them, in ns."""
    waited: Ints
    """How long the client waited, in ns."""
    network: Floats
    """What of that was the network, in ns, as the runtime has it: side by side counted once."""

    def timed(self, baselines: Baselines) -> Bools:
        """Those of which the time is known."""
        known = ~np.isnan(baselines.baseline)
        timed: Bools = (self.trips > 0) & known[self.phase]
        return timed

    def seconds(self, baselines: Baselines, which: Bools) -> Floats:
        """Of `which`: one after the other, as the runtime has them, and that at the two ends of the baselines."""
        if not len(self.phase):
            return np.zeros(4)
        alone = self._alone(baselines.baseline)
        part = np.divide(self.network, alone, out=np.ones(len(alone)), where=alone > 0)
        sums = [alone.sum(where=which), self.network.sum(where=which)]
        for least, rtt in ((np.minimum, np.nan_to_num(baselines.low)), (np.fmax, baselines.high)):
            bound = self._alone(rtt)
            least(bound, alone, out=bound)
            bound *= part
            sums.append(bound.sum(where=which))
        return np.array(sums) / 1e9

    def _alone(self, rtt: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # no wait of an RTT without a bound: no time
            waits = self.trips * rtt[self.phase]
            waits -= self.hidden
            return np.asarray(np.clip(waits, 0, self.waited, out=waits), float)


class Waits(Struct, frozen=True):
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


def waits(
    baselines: Baselines, exchanges: WaitIntervals, shakes: WaitIntervals, greeted: Bools, byes: WaitIntervals
) -> Waits:
    """Add up what is known, with the baseline of each phase; `greeted`: the shakes that take in a greeting."""
    parts = (exchanges, shakes, byes)
    timed = [part.timed(baselines) for part in parts]
    sums = (part.seconds(baselines, which) for part, which in zip(parts, timed, strict=True))
    alone_s, shared_s, low_s, high_s = sum(sums, np.zeros(4)).tolist()
    waited = np.zeros(len(baselines.baseline), bool)
    for part, which in zip(parts, timed, strict=True):
        waited[part.phase[which]] = True
    measured = baselines.baseline[waited] / 1e6
    return Waits(
        round_trips=int(exchanges.trips.sum(where=timed[0])),
        handshakes=int(np.count_nonzero(timed[1])),
        greetings=int(np.count_nonzero(timed[1] & greeted)),
        hang_ups=int(np.count_nonzero(timed[2])),
        alone_s=alone_s,
        shared_s=shared_s,
        range_s=(low_s, high_s),
        baselines_ms=(float(measured.min()), float(measured.max())) if len(measured) else None,
    )
