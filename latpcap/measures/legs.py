"""Both sides of a proxy in one capture: its exchanges with the server lie within those of the application.

```text
application ──request──► proxy ──the same statement──► server        one exchange of the application over two networks
            ◄──────────        ◄──────────────────────
```

Which these are: `joining.py`. See docs/proxies.md.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.measures.joining import join
from latpcap.rtt import BehindProxy, Estimate, estimate_recording
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.part.selected import only
from latpcap.tables.recording import Recording
from latpcap.units import counted, listed

SAME_MACHINE_NS = 1e5
"""A shorter RTT behind a proxy, where the way to it is longer, is no network."""


class LegRoundTrips(Struct, frozen=True):
    """How the round trips on both sides of proxies go together."""

    round_trips: int
    """Of all of them, on both sides."""
    inner_round_trips: int
    proxies: tuple[str, ...]
    servers: tuple[str, ...]
    is_far: bool = True
    """The way from there to the servers is a network of its own."""

    @property
    def text(self) -> str:
        """How both counts go together."""
        ours = self.round_trips - self.inner_round_trips
        return (
            f"the capture has both sides of a proxy: {counted(self.round_trips, 'round trip')} on both sides together, "
            f"{ours:,} of them the application's, which {listed(self.proxies)} forwards to {listed(self.servers)}"
        )


class Legs(Struct, frozen=True, eq=False):
    """Which exchange of the application goes on to a server behind the proxy."""

    told: LegRoundTrips
    is_inner: Bools
    """Of each connection: it is one of the proxy's with a server."""
    inner: Ints
    """Of each exchange: the proxy's that it waits for, -1 for none."""


def joined_legs(recording: Recording) -> Legs | None:
    """The legs of a proxy's exchanges, where some are certain."""
    joined = join(recording)
    if joined is None:
        return None
    exchanges = recording.exchanges
    told = LegRoundTrips(
        round_trips=int(exchanges.round_trips.sum()),
        inner_round_trips=int(exchanges.round_trips.sum(where=joined.is_inner[exchanges.connection])),
        proxies=joined.proxies,
        servers=joined.servers,
    )
    return Legs(told, joined.is_inner, joined.inner)


# --- the application's side -----------------------------------------------------------------------------------------


def application(recording: Recording, rtt: Estimate, legs: Legs, given_ms: float | None) -> tuple[Recording, Estimate]:
    """The connections of the application alone, whose round trips take both networks where a proxy passes them on."""
    stays = ~legs.is_inner
    ours = only(recording, recording.connections.stream[stays])
    estimate = estimate_recording(ours, given_ms)
    if rtt.has_changed or estimate.has_changed:
        return ours, estimate
    kept = stays[recording.exchanges.connection]
    inner, trips = legs.inner[kept], recording.exchanges.round_trips
    own_trips = trips[kept]
    rows = np.flatnonzero((inner >= 0) & (own_trips > 0))
    behind_ns, own_ns = rtt.each_baseline[inner[rows]], estimate.each_baseline[rows]
    rows = rows[~((behind_ns < SAME_MACHINE_NS) & (behind_ns < own_ns))]
    times = trips[inner[rows]] / own_trips[rows]
    rows, times = rows[times > 0], times[times > 0]
    if not len(rows):
        return ours, estimate
    inner = inner[rows]
    opened, greetings, greeted = _opened(recording, np.flatnonzero(kept)[rows], inner)
    times[opened] += 1 / own_trips[rows[opened]]
    rows = np.concatenate((rows, np.searchsorted(np.flatnonzero(kept), greetings)))
    inner, times = np.concatenate((inner, inner[greeted])), np.concatenate((times, np.full(len(greeted), 2.0)))
    key = np.stack((estimate.of_exchanges[rows], rtt.of_exchanges[inner], np.rint(1e6 * times).astype(np.int64)))
    _, first, place = np.unique(key, axis=1, return_index=True, return_inverse=True)
    behind, outer = rtt.of_exchanges[inner[first]], estimate.of_exchanges[rows[first]]
    server = recording.connections.server.picked(recording.exchanges.connection[inner[first]])
    beyond = BehindProxy(
        connection=estimate.phases.connection[outer],
        outer=outer,
        server=server,
        trips=times[first],
        baseline=rtt.of_phases.baseline[behind],
        low=rtt.of_phases.low[behind],
        high=rtt.of_phases.high[behind],
        round_trips=np.bincount(place.ravel(), own_trips[rows], len(first)).astype(float),
    )
    of_exchanges = estimate.of_exchanges.copy()
    of_exchanges[rows] = len(estimate.phases) + place.ravel()
    return ours, estimate.through(beyond, of_exchanges)


def _opened(recording: Recording, outer: Ints, inner: Ints) -> tuple[Ints, Ints, Ints]:
    """What waits for the proxy's own connection: a TCP handshake and, where the server speaks first, its greeting.

    Which of the pairs wait for one handshake more; the greetings that wait for both, and a pair of each.
    """
    connections, exchanges = recording.connections, recording.exchanges
    connection = exchanges.connection
    _, pairs = np.unique(connection[outer], return_index=True)
    ours, theirs = connection[outer[pairs]], connection[inner[pairs]]
    seen = (connections.syn[ours] != MISSING) & (connections.syn[theirs] >= connections.syn[ours])
    first, first_inner = np.searchsorted(connection, ours), np.searchsorted(connection, theirs)
    seen &= (outer[pairs] - first <= 1) & (inner[pairs] - first_inner <= 1)
    greets = seen & connections.server_first[ours] & (exchanges.request[first] == MISSING)
    opened = pairs[seen & ~greets]
    return opened, first[greets], pairs[greets]
