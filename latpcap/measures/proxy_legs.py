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
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.part.selected import only
from latpcap.tables.recording import Recording
from latpcap.units import counted, listed

MAX_LOCAL_RTT_NS = 1e5
"""A shorter RTT behind a proxy is no network if the way to the proxy is longer."""
MAX_RESET_GAP_NS = 5_000_000
"""A proxy resets its session within this time before a request that would wait for it on a longer network."""
MAX_STATEMENTS = 3
"""Statements of a proxy that are named."""


class LegRoundTrips(Struct, frozen=True):
    """How the round trips on both sides of proxies go together."""

    round_trips: int
    """The round trips of all of them, on both sides."""
    inner_round_trips: int
    proxies: tuple[str, ...]
    servers: tuple[str, ...]
    is_far: bool = True
    """The way from there to the servers is a network of its own."""
    own_round_trips: int = 0
    """The round trips behind the proxies that run statements which no application has sent."""
    own_statements: tuple[str, ...] = ()
    """These statements, the most frequent one first."""

    @property
    def text(self) -> str:
        """How both counts go together."""
        ours = self.round_trips - self.inner_round_trips
        named = ", ".join(self.own_statements[:MAX_STATEMENTS])
        own = f"; the proxy adds {counted(self.own_round_trips, 'round trip')} of its own ({named})" if named else ""
        return (
            f"the capture has both sides of a proxy: {ours:,} of {counted(self.round_trips, 'round trip')} are the "
            f"application's, which {listed(self.proxies)} forwards to {listed(self.servers)}{own}"
        )


class Legs(Struct, frozen=True, eq=False):
    """Which exchange of the application goes on to a server behind the proxy."""

    told: LegRoundTrips
    is_inner: Bools
    """Whether each connection is one of the proxy's with a server."""
    inner: Ints
    """The proxy's exchange that each exchange waits for, -1 for none."""


def joined_legs(recording: Recording) -> Legs | None:
    """The legs of a proxy's exchanges, where some are certain."""
    joined = join(recording)
    if joined is None:
        return None
    exchanges = recording.exchanges
    own = _own_statements(recording, joined.is_inner, joined.inner)
    told = LegRoundTrips(
        round_trips=int(exchanges.round_trips.sum()),
        inner_round_trips=int(exchanges.round_trips.sum(where=joined.is_inner[exchanges.connection])),
        proxies=joined.proxies,
        servers=joined.servers,
        own_round_trips=int(exchanges.round_trips[own].sum()),
        own_statements=tuple(
            recording.statements[each] for each in _most_frequent(exchanges.fingerprint[own], exchanges.begin[own])
        ),
    )
    return Legs(told, joined.is_inner, joined.inner)


def _own(recording: Recording, is_inner: Bools, inner: Ints) -> Ints:
    """The waiting exchanges of a proxy with a server that pass on none of an application."""
    exchanges = recording.exchanges
    passes_on = np.zeros(len(exchanges) + 1, bool)
    passes_on[inner] = True  # -1, for none, is the last place
    return np.flatnonzero(is_inner[exchanges.connection] & ~passes_on[:-1] & (exchanges.round_trips > 0))


def _own_statements(recording: Recording, is_inner: Bools, inner: Ints) -> Ints:
    """The exchanges that run a statement which no application runs."""
    exchanges = recording.exchanges
    own = _own(recording, is_inner, inner)
    statement = exchanges.fingerprint[own]
    asked = exchanges.fingerprint[~is_inner[exchanges.connection]]
    return own[(statement >= 0) & exchanges.complete[own] & ~np.isin(statement, asked)]


def _most_frequent(statements: Ints, begin: Ints) -> list[int]:
    """The statements that run most often; of several that do so the one that ran first, whatever its number."""
    order, starts = passes.grouped(statements)
    counts, first = np.diff(starts), np.minimum.reduceat(begin[order], starts[:-1]) if len(order) else begin
    places = np.lexsort((order[starts[:-1]], first, -counts))[:MAX_STATEMENTS]
    return [int(statements[order[starts[place]]]) for place in places]


# --- the application's side -----------------------------------------------------------------------------------------


def application(recording: Recording, rtt: Estimate, legs: Legs, given_ms: float | None) -> tuple[Recording, Estimate]:
    """The connections of the application alone, whose round trips take both networks where a proxy passes them on."""
    stays = ~legs.is_inner
    ours = only(recording, recording.connections.stream[stays])
    estimate = estimate_recording(ours, given_ms)
    if rtt.has_changed or estimate.has_changed:
        return ours, estimate
    waits, inner, times = _passed_on(recording, rtt, legs)
    if not len(waits):
        return ours, estimate
    kept, trips = np.flatnonzero(stays[recording.exchanges.connection]), recording.exchanges.round_trips
    rows = np.searchsorted(kept, waits)
    key = np.stack((estimate.of_exchanges[rows], rtt.of_exchanges[inner], np.rint(1e6 * times).astype(np.int64)))
    _, first, place = np.unique(key, axis=1, return_index=True, return_inverse=True)
    behind, outer = rtt.of_exchanges[inner[first]], estimate.of_exchanges[rows[first]]
    server = recording.connections.server.picked(recording.exchanges.connection[inner[first]])
    behind_ns = rtt.of_phases.baseline[behind]
    is_far = ~((behind_ns < MAX_LOCAL_RTT_NS) & (behind_ns < estimate.of_phases.baseline[outer]))
    beyond = BehindProxy(
        connection=estimate.phases.connection[outer],
        outer=outer,
        server=server,
        trips=times[first],
        is_far=is_far,
        baseline=np.where(is_far, behind_ns, 0.0),
        low=np.where(is_far, rtt.of_phases.low[behind], 0.0),
        high=np.where(is_far, rtt.of_phases.high[behind], 0.0),
        round_trips=np.bincount(place.ravel(), trips[waits], len(first)).astype(float),
    )
    of_exchanges = estimate.of_exchanges.copy()
    of_exchanges[rows] = len(estimate.phases) + place.ravel()
    return ours, estimate.through(beyond, of_exchanges)


def _passed_on(recording: Recording, rtt: Estimate, legs: Legs) -> tuple[Ints, Ints, Floats]:
    """The exchanges of the application that wait for a server, and an exchange of the proxy that each waits for.

    With how many round trips behind the proxy one of its round trips takes.
    """
    trips = recording.exchanges.round_trips
    outer = np.flatnonzero((legs.inner >= 0) & (trips > 0))
    outer = outer[trips[legs.inner[outer]] > 0]
    inner = legs.inner[outer]
    opened, greetings, greeted = _opened(recording, outer, inner)
    held_up, own = _held_up(recording, rtt, legs)
    waits = np.concatenate((outer, outer[opened], greetings, held_up))
    behind = np.concatenate((inner, inner[opened], inner[greeted], own))
    count = np.concatenate((trips[inner], np.full(len(opened), 1), np.full(len(greetings), 2), trips[own]))
    waits, first, place = np.unique(waits, return_index=True, return_inverse=True)
    times = np.bincount(place.ravel(), count, len(waits)) / np.maximum(trips[waits], 1)
    return waits, behind[first], times


def _held_up(recording: Recording, rtt: Estimate, legs: Legs) -> tuple[Ints, Ints]:
    """The exchanges of the application that wait for what a proxy asks by itself (a login, a reset), and that.

    A server answers one request of a connection after the other, so the next one that is passed on waits; of logins,
    the one of the application, where that lasts as long.
    """
    exchanges = recording.exchanges
    own = _own(recording, legs.is_inner, legs.inner)
    outer_of = np.full(len(exchanges), -1)
    joined = np.flatnonzero(legs.inner >= 0)
    outer_of[legs.inner[joined]] = joined
    following = passes.last_known(outer_of[::-1], exchanges.connection[::-1])[::-1][own]
    own, waits = own[following >= 0], following[following >= 0]
    ends = exchanges.response_end[own]
    before = np.maximum(waits - 1, 0)
    inside = (exchanges.connection[before] == exchanges.connection[waits]) & (legs.inner[before] < 0)
    inside &= (exchanges.request[before] <= exchanges.request[own]) & (ends <= exchanges.response_end[before])
    waits = np.where(inside, before, waits)
    gap_ns = np.where(rtt.each_baseline[own] < MAX_LOCAL_RTT_NS, MAX_RESET_GAP_NS, 0)
    late = (ends >= exchanges.request[waits] - gap_ns) & (exchanges.round_trips[waits] > 0)
    return waits[late], own[late]


def _opened(recording: Recording, outer: Ints, inner: Ints) -> tuple[Ints, Ints, Ints]:
    """Steps that wait for the proxy's own connection: a TCP handshake and, where the server speaks first, its greeting.

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
