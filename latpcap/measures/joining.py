"""Which exchange of a proxy with a server lies within which of the application with the proxy.

Two ways to know which connections those are:

- What the server made up for a session (salt, connection number, cancel key, TLS random) is on both: a relay, NAT, a
  port that is forwarded. One packet proves it, whatever else was captured, where each leg asks another server. What two
  connections to the same server share, nobody made up for one of them, unless each of ten answers and more is the same
  on both and lies within the other in time: NAT that changes the client's address alone.
- The same statements, with their literals, each within its own in time: a pooler, which greets by itself. Nearly all of
  both sides have to be joined. Where the proxy's host shows it, it is the server of the ones and the client of the
  others. On one machine all have one address: there the proxy answers before its server did in one case of twenty at
  most, and how long it takes goes with how long the server does. Two applications that ask two servers alike, or one
  that asks two at once, are not like that: each server takes its own time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.tables.columnar.columns import Bools, Entries, Ints
from latpcap.tables.columnar.passes import first_alike, grouped, numbered
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.connections import MISSING, Connections
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.recording import Recording

MIN_PAIRS = 10
"""A proxy is recognised by at least 10 pairs of statements that join, and `MIN_PAIRED_SHARE` of each side."""
MIN_PAIRED_SHARE = 0.9
"""At least this share of the statements of each side has to join."""
MAX_OUT_OF_ORDER = 0.05
"""On one machine, at most this share of the statements may seem answered by the proxy before its server answered."""
MAX_RESIDUAL_SPREAD = 0.9
"""The difference between both waits varies by at most this share of what the application waits."""

MAX_CLOCK_ERROR_NS = 1_000_000_000
"""Both legs of a session are open at the same time, except for what the clocks of two machines differ by."""


class LegPairs(Struct, frozen=True, eq=False):
    """Which connections are the other side of others, and which exchanges of which."""

    is_inner: Bools
    """Whether each connection is one of a proxy with a server."""
    inner: Ints
    """The proxy's exchange that each exchange waits for, -1 for none."""
    proxies: tuple[str, ...]
    servers: tuple[str, ...]


class _Sides(Entries, frozen=True, eq=False):
    """The proxies that each connection may belong to, as numbers of proxies; -1 for none."""

    front: Ints
    """The one that it asks."""
    back: Ints
    """The one that asks on it."""
    together: Ints
    """Connections behind a proxy that are so all, or none is: those of a host, or one alone where a host has others."""


class _WholeRecording(Struct, frozen=True, eq=False):
    """The proxies of a whole recording, whatever part of it is selected."""

    is_inner: Bools
    is_outer: Bools
    """A proxy passes on what is asked on it."""
    outer_leg: Ints
    """The connection with the same session for each connection, that is nearer to the application, -1 for none."""
    is_terminated: Bools
    """Whether more than NAT stands between these two."""
    sides: _Sides | None
    """The sides of proxies that are certain."""


def join(recording: Recording) -> LegPairs | None:
    """Return what was captured on both sides of a proxy; `None` for nothing."""
    seen = recording if recording.whole is None else recording.whole
    known = _known(seen) if _asks_several(seen.connections) or _sessions_recur(seen) else None
    here = np.searchsorted(seen.connections.stream, recording.connections.stream)
    if known is None or known.is_inner[here[np.unique(recording.exchanges.connection)]].all():
        return None
    exchanges, statement, content = recording.exchanges, _statements(recording), _content(recording)
    place = np.full(len(seen.connections) + 1, -1)
    place[here] = np.arange(len(here))
    inner, outer_leg = np.full(len(exchanges), -1), place[known.outer_leg[here]]
    if known.sides is not None:
        outer_rows, inner_rows = _nested(exchanges, content, known.sides.picked(here), statement)
        inner[outer_rows] = inner_rows
        _join_whole(exchanges, inner)
    _join_legs(exchanges, content, statement, np.where(known.is_terminated[here], outer_leg, -1), inner)
    proxies, servers = (_servers(seen.connections, side) for side in (known.is_outer, known.is_inner))
    return LegPairs(known.is_inner[here], inner, proxies, servers)


def _asks_several(connections: Connections) -> bool:
    """Both sides of a proxy are connections to different servers, be these ports of one host."""
    servers = connections.server.codes
    return bool((servers != servers[:1]).any())


def _sessions_recur(recording: Recording) -> bool:
    """NAT may change the client's address alone: then both ask the same server."""
    made_up = recording.connection_column("session")
    known = np.sort(made_up.values[made_up.is_valid()])
    return bool((known[1:] == known[:-1]).any())


def _servers(connections: Connections, mine: Bools) -> tuple[str, ...]:
    return tuple(connections.server.names[code] for code in np.unique(connections.server.codes[mine]).tolist())


def _known(recording: Recording) -> _WholeRecording | None:
    connections, exchanges = recording.connections, recording.exchanges
    outer_leg = _passed_on(recording)
    is_inner = outer_leg >= 0
    statement, content = _statements(recording), _content(recording)
    sides = _sides(connections, exchanges, content, statement & ~is_inner[exchanges.connection], is_inner)
    if sides is not None:
        certain = _certain(exchanges, sides, statement, *_nested(exchanges, content, sides, statement))
        back = np.where(certain, sides.back, -1)
        front = np.where(np.isin(sides.front, back), sides.front, -1)
        sides, is_inner = _Sides(front, back, sides.together), is_inner | certain
    if not is_inner.any():
        return None
    is_outer = np.zeros(len(connections), bool) if sides is None else sides.front >= 0
    is_outer[outer_leg[outer_leg >= 0]] = True
    return _WholeRecording(is_inner, is_outer, outer_leg, _is_terminated(connections, outer_leg), sides)


def _statements(recording: Recording) -> Bools:
    """The exchanges with a statement that were captured whole."""
    exchanges = recording.exchanges
    known: Bools = (exchanges.fingerprint >= 0) & exchanges.complete & (exchanges.response != MISSING)
    return known


def _content(recording: Recording) -> Ints:
    """A number for each statement with its literals."""
    parameters = recording.exchange_column("parameters").values
    return numbered(recording.exchanges.fingerprint, first_alike(parameters))


# --- one session on both sides ---------------------------------------------------------------------------------------


def _passed_on(recording: Recording) -> Ints:
    """The connection with the same session for each connection, that is nearer to the application, -1 for none.

    Who waits for the other waits longer, whatever the clocks say.
    """
    connections, exchanges = recording.connections, recording.exchanges
    outer = np.full(len(connections), -1)
    made_up = recording.connection_column("session")
    known = np.flatnonzero(made_up.is_valid())
    session = np.full(len(connections), -1)
    session[known] = numbered(made_up.values[known])
    members, made_up_for_one = _legs(session, connections.server.codes)
    if not len(members):
        return outer
    timed = np.flatnonzero((exchanges.request != MISSING) & (exchanges.response >= exchanges.request))
    waited = exchanges.response[timed] - exchanges.request[timed]
    usual = np.nan_to_num(GroupedValues.of(exchanges.connection[timed], waited, len(connections)).quantile(0.5))[
        members
    ]
    order = np.lexsort((connections.start[members], -usual, session[members]))
    members, made_up_for_one = members[order], made_up_for_one[order]
    start, end = connections.start[members], connections.end[members]
    at_once = (start[1:] <= end[:-1] + MAX_CLOCK_ERROR_NS) & (start[:-1] <= end[1:] + MAX_CLOCK_ERROR_NS)
    follows = np.flatnonzero((np.diff(session[members]) == 0) & at_once)
    pairs = np.stack((members[follows], members[follows + 1]))
    follows = follows[made_up_for_one[follows] | _is_one(exchanges, pairs, len(connections))]
    outer[members[follows + 1]] = members[follows]
    return outer


def _legs(session: Ints, server: NDArray[np.integer[Any]]) -> tuple[Ints, Bools]:
    """The connections whose session others have, too; of each: each of these with another server."""
    known = np.flatnonzero(session >= 0)
    mine, count = session[known], int(session.max(initial=-1)) + 1
    order, starts = grouped(mine, server[known])
    legs, servers = (np.bincount(of, minlength=count) for of in (mine, mine[order[starts[:-1]]]))
    shared: Ints = known[(legs > 1)[mine]]
    return shared, np.asarray((legs == servers)[session[shared]])


def _is_one(exchanges: Exchanges, pairs: Ints, connections: int) -> Bools:
    """NAT changes the client's address alone: all answered exchanges lie within exchanges of as many bytes there."""
    inner = np.full(len(exchanges), -1)
    _join_side_by_side(exchanges, pairs, inner)
    rows = np.flatnonzero(inner >= 0)
    same = exchanges.request_bytes[rows] == exchanges.request_bytes[inner[rows]]
    same &= exchanges.response_bytes[rows] == exchanges.response_bytes[inner[rows]]
    answered = (exchanges.request != MISSING) & (exchanges.response != MISSING)
    joined = np.bincount(exchanges.connection[rows[same]], minlength=connections)[pairs[0]]
    every = np.bincount(exchanges.connection[answered], minlength=connections)[pairs]
    return np.asarray((joined >= MIN_PAIRS) & (joined == every).all(axis=0))


def _is_terminated(connections: Connections, outer_leg: Ints) -> Bools:
    """The proxy answers the application's SYN itself. NAT only rewrites addresses: one network is all there is."""
    answer, inner_answer = connections.syn_ack[outer_leg], connections.syn_ack
    rewritten = (answer != MISSING) & (inner_answer != MISSING) & (inner_answer <= answer)
    return np.asarray(~rewritten)


def _join_legs(exchanges: Exchanges, content: Ints, statement: Bools, outer_leg: Ints, inner: Ints) -> None:
    """The exchanges of the two legs of a session: one by one where as many were captured, else by their statements."""
    legs = np.flatnonzero(outer_leg >= 0)
    if not len(legs):
        return
    _join_side_by_side(exchanges, np.stack((outer_leg[legs], legs)), inner)
    front = np.full(len(outer_leg), -1)
    front[outer_leg[legs]] = outer_leg[legs]
    outer_rows, inner_rows = _nested(exchanges, content, _Sides(front, outer_leg, legs), statement)
    new = inner[outer_rows] < 0
    inner[outer_rows[new]] = inner_rows[new]


def _join_whole(exchanges: Exchanges, inner: Ints) -> None:
    """Join all exchanges of a connection that continues as one of the proxy's: logins, what has no statement."""
    connection = exchanges.connection
    outer_rows = np.flatnonzero(inner >= 0)
    pairs = np.unique(np.stack((connection[outer_rows], connection[inner[outer_rows]])), axis=1)
    alone = [np.bincount(side, minlength=int(connection.max(initial=0)) + 1) == 1 for side in pairs]
    _join_side_by_side(exchanges, pairs[:, alone[0][pairs[0]] & alone[1][pairs[1]]], inner)


def _join_side_by_side(exchanges: Exchanges, pairs: Ints, inner: Ints) -> None:
    """The exchanges of both connections of each pair one by one, where these have as many."""
    connection = exchanges.connection
    edges = np.searchsorted(connection, np.stack((pairs, pairs + 1)))
    count = edges[1] - edges[0]
    alike = count[0] == count[1]
    first, count = edges[0][:, alike], count[0][alike]
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    ours, theirs = np.repeat(first[0], count) + step, np.repeat(first[1], count) + step
    waits = (exchanges.request[ours] != MISSING) & (exchanges.response[theirs] != MISSING)
    within = (exchanges.request[ours] <= exchanges.request[theirs]) & (
        exchanges.response[theirs] <= exchanges.response_end[ours]
    )
    inner[ours[waits & within]] = theirs[waits & within]


# --- the same statements on both sides -------------------------------------------------------------------------------


def _sides(
    connections: Connections, exchanges: Exchanges, content: Ints, statement: Bools, is_leg: Bools
) -> _Sides | None:
    """Which connections may be on which side of a proxy, but for the other legs of others."""
    asked_by, asks = _hosts(connections)
    if (asked_by == asks).any():
        return _on_one_machine(connections, exchanges, content, statement)
    is_front, is_back = np.isin(asks, asked_by[~is_leg]) & ~is_leg, np.isin(asked_by, asks[~is_leg]) & ~is_leg
    if not is_front.any():
        return None
    return _Sides(np.where(is_front, asks, -1), np.where(is_back, asked_by, -1), asked_by)


def _hosts(connections: Connections) -> tuple[Ints, Ints]:
    """The host that asks on each connection, and the one that is asked, as numbers."""
    numbers: dict[str, int] = {}
    servers = np.array([numbers.setdefault(host_of(name), len(numbers)) for name in connections.server.names] + [-1])
    clients = np.array([numbers.setdefault(name, len(numbers)) for name in connections.host.names] + [-1])
    return clients[connections.host.codes], servers[connections.server.codes]


def _on_one_machine(connections: Connections, exchanges: Exchanges, content: Ints, statement: Bools) -> _Sides | None:
    """Which port passes on to which, where addresses say nothing; connections to others go with none."""
    rows = np.flatnonzero(statement)
    rows = rows[np.lexsort((exchanges.request[rows], content[rows]))]
    server = connections.server.codes
    asked = server[exchanges.connection[rows]].astype(np.int64)
    beside = np.flatnonzero((np.diff(content[rows]) == 0) & (np.diff(asked) != 0))
    first, second = rows[beside], rows[beside + 1]
    if not len(beside):
        return None
    side_by_side = exchanges.request[second] < exchanges.response[first]
    within = (exchanges.request[first] < exchanges.request[second]) & (
        exchanges.response[second] < exchanges.response[first]
    )
    count = int(server.max(initial=0)) + 1
    ways, way = np.unique(asked[beside] * count + asked[beside + 1], return_inverse=True)
    well = np.bincount(way[within], minlength=len(ways))
    crossed = np.bincount(way[side_by_side & ~within], minlength=len(ways))
    other_way = (ways % count) * count + ways // count
    backwards = well[np.minimum(np.searchsorted(ways, other_way), len(ways) - 1)] * np.isin(other_way, ways)
    sure = (well >= MIN_PAIRS) & (crossed + backwards <= MAX_OUT_OF_ORDER * well)
    order = np.argsort(way, kind="stable")
    for number in np.flatnonzero(sure).tolist():
        mine = order[slice(*np.searchsorted(way[order], (number, number + 1)))]
        mine = mine[within[mine]]
        sure[number] = _agree(
            *(exchanges.response[side[mine]] - exchanges.request[side[mine]] for side in (first, second))
        )
    if not sure.any():
        return None
    front = np.where(np.isin(server, ways[sure] // count), server, -1)
    behind = within & sure[way]
    inner = exchanges.connection[second[behind]]
    proxies, votes = np.unique(np.stack((inner, asked[beside][behind])), axis=1, return_counts=True)
    back_of = np.full(len(connections), -1)
    by_votes = np.argsort(votes, kind="stable")
    back_of[proxies[0][by_votes]] = proxies[1][by_votes]
    return _Sides(front, back_of, np.arange(len(connections)))


def _agree(waited: Ints, of_it: Ints) -> bool:
    """Whether the proxy's answers follow what it waits for."""
    between, whole = (float(np.subtract(*np.quantile(values, (0.75, 0.25)))) for values in (waited - of_it, waited))
    return between < MAX_RESIDUAL_SPREAD * whole


def _nested(exchanges: Exchanges, content: Ints, sides: _Sides, statement: Bools) -> tuple[Ints, Ints]:
    """Pairs of exchanges with the same statement through the same proxy, of which one lies within the other.

    Where several are asked for the same at once, they go on in the order in which they came.
    """
    front, back = (side[exchanges.connection] for side in (sides.front, sides.back))
    outer, inner = np.flatnonzero(statement & (front >= 0)), np.flatnonzero(statement & (back >= 0))
    rows = np.concatenate((outer, inner))
    if not len(outer) or not len(inner):
        return outer[:0], inner[:0]
    key = numbered(np.concatenate((front[outer], back[inner])), content[rows])
    within = np.repeat([False, True], (len(outer), len(inner)))
    order = np.lexsort((within, exchanges.request[rows], key))
    key, rows, within = key[order], rows[order], within[order]
    begins = np.flatnonzero(np.diff(2 * key + within, prepend=-1) != 0)  # runs of one side
    length = np.diff(begins, append=len(rows))
    passed = np.flatnonzero(within[begins[1:]] & (key[begins[1:]] == key[begins[:-1]])) + 1
    passed = passed[~within[begins[passed - 1]]]
    joined = np.minimum(length[passed - 1], length[passed])
    step = np.arange(joined.sum()) - np.repeat(np.cumsum(joined) - joined, joined)
    outer = rows[np.repeat(begins[passed] - joined, joined) + step]
    inner = rows[np.repeat(begins[passed], joined) + step]
    fits = (exchanges.request[outer] <= exchanges.request[inner]) & (
        exchanges.response[inner] <= exchanges.response[outer]
    )
    return outer[fits], inner[fits]


def _certain(exchanges: Exchanges, sides: _Sides, statement: Bools, outer: Ints, inner: Ints) -> Bools:
    """The connections of proxies to servers: nearly all statements of both sides are joined, from where both begin."""
    of_application = statement & exchanges.kind.where(("read", "write", "other").__contains__)
    together = np.where(sides.back >= 0, sides.together, -1)
    count = max(int(side.max(initial=0)) for side in (sides.front, sides.back, together)) + 1
    every, begins = np.flatnonzero(of_application), np.full((2, count), np.iinfo(np.int64).max)
    for first, side in zip(begins, (sides.front, sides.back), strict=True):
        proxy = side[exchanges.connection[every]]
        np.minimum.at(first, proxy[proxy >= 0], exchanges.request[every[proxy >= 0]])
    since = begins.max(axis=0)

    def counted(side: Ints, proxy: Ints, rows: Ints) -> Ints:
        rows = rows[of_application[rows] & (exchanges.request[rows] >= since[proxy[exchanges.connection[rows]]])]
        numbers = side[exchanges.connection[rows]]
        return np.bincount(numbers[numbers >= 0], minlength=count)

    fronts, backs = (sides.front, sides.front), (sides.back, sides.back)
    passes_on = counted(*fronts, outer) >= MIN_PAIRED_SHARE * counted(*fronts, every)
    passes_on &= counted(*backs, inner) >= MIN_PAIRS
    is_passed_on = counted(together, sides.back, inner) >= MIN_PAIRED_SHARE * counted(together, sides.back, every)
    certain: Bools = (sides.back >= 0) & passes_on[sides.back] & is_passed_on[together]
    return certain
