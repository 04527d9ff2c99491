"""Both sides of a proxy in one capture: its exchanges with the server lie within those of the application.

```text
application ──request──► proxy ──the same statement──► server        one exchange of the application over two networks
            ◄──────────        ◄──────────────────────
```

They are joined where that is certain: the proxy's host is the server of the one and the client of the other, nearly all
statements of either side, with their literals, are found on the other one, and each lies within its own in time. What
an application asks of two servers, or two applications ask alike by chance, does not. See docs/proxies.md.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.rtt import Beyond, Estimate, estimate_recording
from latpcap.tables import columns
from latpcap.tables.columns import Bools, Ints
from latpcap.tables.endpoints import host_of
from latpcap.tables.passes import numbered
from latpcap.tables.recording import MISSING, Connections, Exchanges, Recording
from latpcap.tables.selected import only
from latpcap.units import counted, listed

__all__ = ["Legs", "application", "joined_legs"]

MIN_JOINED = 10
NEARLY_ALL = 0.9
"""So many of the statements on both sides have to be joined, and this part of either."""


class Proxied(Struct, frozen=True):
    """How the round trips on both sides of proxies go together."""

    round_trips: int
    """Of all of them, on both sides."""
    inner_round_trips: int
    proxies: tuple[str, ...]
    servers: tuple[str, ...]

    @property
    def text(self) -> str:
        """How both counts go together."""
        ours = self.round_trips - self.inner_round_trips
        return (
            f"{counted(self.round_trips, 'round trip')} on both sides of a proxy are {ours:,} of the application: "
            f"they go on over {listed(self.proxies)} to {listed(self.servers)}"
        )


class Legs(Struct, frozen=True, eq=False):
    """Which exchange of the application goes on to a server behind the proxy."""

    told: Proxied
    is_inner: Bools
    """Of each connection: it is one of the proxy's with a server."""
    inner: Ints
    """Of each exchange: the proxy's that it waits for, -1 for none."""


def joined_legs(recording: Recording) -> Legs | None:
    """The legs of a proxy's exchanges, where some are certain."""
    connections, exchanges = recording.connections, recording.exchanges
    asked_by, asks = _hosts(connections)
    if recording.period is not None or not np.isin(asks, asked_by).any():
        return None
    statement = (exchanges.fingerprint >= 0) & exchanges.complete & (exchanges.response != MISSING)
    outer_rows, inner_rows = _nested(recording, exchanges, asked_by, asks, statement)
    is_inner = _certain(connections, exchanges, asks, asked_by, statement, outer_rows, inner_rows)
    joined = is_inner[exchanges.connection[inner_rows]] & ~is_inner[exchanges.connection[outer_rows]]
    outer_rows, inner_rows = outer_rows[joined], inner_rows[joined]
    if not len(inner_rows):
        return None
    inner = np.full(len(exchanges), -1)
    inner[outer_rows] = inner_rows
    _join_whole(exchanges, inner)
    proxies = connections.server.names, connections.server.codes[exchanges.connection[outer_rows]]
    servers = connections.server.names, connections.server.codes[exchanges.connection[inner_rows]]
    told = Proxied(
        round_trips=int(exchanges.round_trips.sum()),
        inner_round_trips=int(exchanges.round_trips.sum(where=is_inner[exchanges.connection])),
        proxies=_names(*proxies),
        servers=_names(*servers),
    )
    return Legs(told, is_inner, inner)


def _names(names: list[str], codes: Ints) -> tuple[str, ...]:
    return tuple(names[code] for code in np.unique(codes).tolist())


def _hosts(connections: Connections) -> tuple[Ints, Ints]:
    """The host that each connection asks, and the one that does, as numbers."""
    numbers: dict[str, int] = {}
    servers = np.array([numbers.setdefault(host_of(name), len(numbers)) for name in connections.server.names] + [-1])
    clients = np.array([numbers.setdefault(name, len(numbers)) for name in connections.host.names] + [-2])
    return servers[connections.server.codes], clients[connections.host.codes]


def _nested(
    recording: Recording, exchanges: Exchanges, asked_by: Ints, asks: Ints, statement: Bools
) -> tuple[Ints, Ints]:
    """Pairs of exchanges with the same statement through the same host, of which one lies within the other."""
    parameters = columns.column(recording.exchange_columns("parameters"), "parameters").values
    connection = exchanges.connection
    outer = np.flatnonzero(statement & np.isin(asked_by, asks)[connection])
    inner = np.flatnonzero(statement & np.isin(asks, asked_by)[connection])
    rows = np.concatenate((outer, inner))
    through = np.concatenate((asked_by[connection[outer]], asks[connection[inner]]))
    within = np.concatenate((np.zeros(len(outer), bool), np.ones(len(inner), bool)))
    key = numbered(numbered(through, exchanges.fingerprint[rows]), parameters[rows])
    order = np.lexsort((within, exchanges.request[rows], key))
    key, rows, within = key[order], rows[order], within[order]
    place = np.arange(len(rows))
    last = np.maximum.accumulate(np.where(within, -1, place))  # the last one asked of the proxy before
    found = within & (last >= 0)
    found[found] = key[last[found]] == key[place[found]]
    outer, inner = rows[last[found]], rows[place[found]]
    fits = (exchanges.request[outer] <= exchanges.request[inner]) & (
        exchanges.response[inner] <= exchanges.response[outer]
    )
    outer, inner = outer[fits], inner[fits]
    _, once = np.unique(outer, return_index=True)
    return outer[once], inner[once]


def _certain(
    connections: Connections,
    exchanges: Exchanges,
    asks: Ints,
    asked_by: Ints,
    statement: Bools,
    outer: Ints,
    inner: Ints,
) -> Bools:
    """The connections of proxies to servers: nearly all statements of both sides of that host are joined."""
    of_application = statement & exchanges.kind.where(("read", "write", "other").__contains__)
    connection = exchanges.connection
    count = int(max(asks.max(initial=0), asked_by.max(initial=0))) + 1

    def statements(hosts: Ints, rows: Ints) -> Ints:
        return np.bincount(np.maximum(hosts[connection[rows]], 0), of_application[rows], count)

    every = np.flatnonzero(of_application)
    both = np.isin(asks, asked_by)[connection[every]], np.isin(asked_by, asks)[connection[every]]
    sent, joined_inner = statements(asks, every[both[0]]), statements(asks, inner)
    taken, joined_outer = statements(asked_by, every[both[1]]), statements(asked_by, outer)
    proxies = (joined_inner >= MIN_JOINED) & (joined_inner >= NEARLY_ALL * sent) & (joined_outer >= NEARLY_ALL * taken)
    certain: Bools = proxies[np.maximum(asks, 0)] & (asks >= 0)
    return certain


def _join_whole(exchanges: Exchanges, inner: Ints) -> None:
    """Where a connection goes on as one of the proxy's, all of its exchanges do: logins, what has no statement."""
    connection = exchanges.connection
    outer_rows = np.flatnonzero(inner >= 0)
    pairs = np.unique(np.stack((connection[outer_rows], connection[inner[outer_rows]])), axis=1)
    alone = [np.bincount(side, minlength=int(connection.max()) + 1) == 1 for side in pairs]
    first = np.searchsorted(connection, np.arange(int(connection.max()) + 2))
    for one, other in pairs.T[alone[0][pairs[0]] & alone[1][pairs[1]]].tolist():
        ours, theirs = np.arange(first[one], first[one + 1]), np.arange(first[other], first[other + 1])
        if len(ours) != len(theirs):
            continue
        waits = (exchanges.request[ours] != MISSING) & (exchanges.response[theirs] != MISSING)
        within = (exchanges.request[ours] <= exchanges.request[theirs]) & (
            exchanges.response[theirs] <= exchanges.response_end[ours]
        )
        inner[ours[waits & within]] = theirs[waits & within]


# --- the application's side -----------------------------------------------------------------------------------------


def application(recording: Recording, rtt: Estimate, legs: Legs, given_ms: float | None) -> tuple[Recording, Estimate]:
    """The connections of the application alone, whose round trips take both networks where a proxy passes them on."""
    stays = ~legs.is_inner
    ours = only(recording, recording.connections.stream[stays])
    estimate = estimate_recording(ours, given_ms)
    kept = stays[recording.exchanges.connection]
    inner, trips = legs.inner[kept], recording.exchanges.round_trips
    own_trips = trips[kept]
    rows = np.flatnonzero((inner >= 0) & (own_trips > 0))
    times = trips[inner[rows]] / own_trips[rows]
    rows, times = rows[times > 0], times[times > 0]
    inner = inner[rows]
    opened, greetings, greeted = _opened(recording, np.flatnonzero(kept)[rows], inner)
    times[opened] += 1 / own_trips[rows[opened]]
    rows = np.concatenate((rows, np.searchsorted(np.flatnonzero(kept), greetings)))
    inner, times = np.concatenate((inner, inner[greeted])), np.concatenate((times, np.full(len(greeted), 2.0)))
    key = np.stack((estimate.of_exchanges[rows], rtt.of_exchanges[inner], np.rint(1e6 * times).astype(np.int64)))
    _, first, place = np.unique(key, axis=1, return_index=True, return_inverse=True)
    behind, outer = rtt.of_exchanges[inner[first]], estimate.of_exchanges[rows[first]]
    server = recording.connections.server.picked(recording.exchanges.connection[inner[first]])
    beyond = Beyond(
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
