"""Tasks: what an application does between idle gaps, or for one route. No capture says where a task begins.

```text
client host   ■■■ ■ ■■           ■ ■■■■■            ■■■
              └ task ┘ idle gap  └ task ┘ idle gap  └ …
```

A task ends where its client asks for nothing for longer than the idle gap, and with `by="route"` also where the route
that its statements name changes. Who the client is follows from the capture (`_workers`): a pool is one client, workers
that rest at different times are clients of their own. Times are the client's, so a capture taken elsewhere shows the
same tasks.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap import _core
from latpcap.measures.options import IDLE_S, TaskBy
from latpcap.measures.routes import routes_of_exchanges
from latpcap.measures.transactions import transactions
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import Bools, Floats, Ints
from latpcap.tables.columnar.passes import first_alike, grouped, lanes, numbered, occurring, ordered, running_maximum
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

MIN_COMMON_IDLE = 0.5
"""Connections rest together if the others of their client are idle during at least this share of their gaps."""


class Tasks(Struct, frozen=True):
    """One entry a task, in the order in which they began."""

    client: list[str]
    """The client's host."""
    application: list[str | None]
    route: list[str | None]
    """The route that its statements name, if they do."""
    start_ns: Ints
    """Since the recording began."""
    duration_ns: Ints
    connections: Ints
    exchanges: Ints
    statements: Ints
    """Executions."""
    transactions: Ints
    """Transactions that end in it."""
    round_trips: Ints
    """The sum over its exchanges."""
    effective_round_trips: Floats
    """Round trips: what runs side by side within the task counts once, TCP handshakes and greetings count too."""
    network_ns: Floats
    """Waiting for the network; NaN where no RTT is known."""
    baseline_ns: Floats
    """The mean RTT of its round trips; NaN where none is known."""
    of_exchange: Ints
    """The entry that each exchange belongs to."""

    def __len__(self) -> int:
        return len(self.client)


class _Waits(Struct, frozen=True):
    """Intervals that do not overlap on their connection: exchanges, TCP handshakes, waits for the server's FIN (ns)."""

    connection: Ints
    phase: Ints
    """Whose RTT it has."""
    begin: Ints
    end: Ints
    round_trips: Ints
    exchange: Ints
    """-1 for none."""
    place: Ints
    """Among all exchanges, then all connections by their handshakes, then those of which the FIN is waited for."""

    def picked(self, rows: Ints) -> _Waits:
        """Some of them, or all in another order."""
        return _Waits(*(getattr(self, name)[rows] for name in self.__struct_fields__))


class _Found(Struct, frozen=True):
    """The tasks as places in the intervals by worker and time."""

    waits: _Waits
    new: Bools
    """A task begins."""
    works: Bools
    """It says when its task begins and ends."""
    worker: Ints
    """The worker of each connection."""
    clients: Ints
    names: list[tuple[str, str | None]]
    routes: list[str]
    route: Ints


def tasks(recording: Recording, rtt: Estimate, job: _core.Job, idle_s: float = IDLE_S, by: TaskBy = "idle") -> Tasks:
    """Cut the recording into tasks; a gap of more than `idle_s` ends one, and a good-bye that is waited for then."""
    idle_ns = round(idle_s * 1e9)
    found = _found(recording, rtt, job, idle_ns, by)
    told = job.timeline(idle_ns, found.worker)
    parts = (told, told["handshakes"], told["closes"])
    network = np.concatenate([part["network"] for part in parts])
    weight = np.concatenate([part["weight"] for part in parts]) if len(told["weight"]) else np.ones(len(network))
    return _add_up(recording, rtt, found, network, weight)


def count_tasks(recording: Recording, rtt: Estimate, job: _core.Job, idle_s: float = IDLE_S) -> int:
    """How many tasks there are: quickly where no client rests, since each then has one."""
    idle_ns = round(idle_s * 1e9)
    if _may_rest(recording, idle_ns):
        return int(np.count_nonzero(_found(recording, rtt, job, idle_ns, "idle").new))
    syn, *_ = job.beginnings()
    seen = syn != MISSING
    seen[recording.exchanges.connection] = True
    return int(np.count_nonzero(np.bincount(_clients(recording)[0][seen])))


def _found(recording: Recording, rtt: Estimate, job: _core.Job, idle_ns: int, by: TaskBy) -> _Found:
    waits = _waits(recording, rtt, job)
    clients, names = _clients(recording)
    of_connections = _workers(waits, clients, job.overlapping_workers(clients), idle_ns)
    worker = of_connections[waits.connection]
    order = ordered(worker, waits.begin)
    waits, worker = waits.picked(order), worker[order]
    shift = _shift(waits, worker)
    begin, end = waits.begin - shift, waits.end - shift
    other = np.diff(worker, prepend=-1) != 0
    new = other | (begin - _end_before(begin, end) > idle_ns)
    routes, route = _routes(recording, waits, new)
    if by == "route":
        new |= np.diff(route, prepend=-1) != 0
    new, works = _with_requests(waits, new, other)
    return _Found(waits, new, works, of_connections, clients, names, routes, route)


def _may_rest(recording: Recording, idle_ns: int) -> bool:
    """A connection asks for nothing for so long, or none of its client is in use."""
    exchanges = recording.exchanges
    if len(exchanges) == 0 or exchanges.delta.max() > idle_ns:
        return True
    first = np.flatnonzero(exchanges.is_first)
    used = exchanges.connection[first]
    begin, end = np.minimum.reduceat(exchanges.begin, first), np.maximum.reduceat(exchanges.end, first)
    if begin.min() == MISSING:
        return True
    client = _clients(recording)[0][used]
    order = ordered(client, begin)
    ended = running_maximum(end[order], client[order])
    gaps = begin[order][1:] - ended[:-1]
    return bool((gaps[np.diff(client[order]) == 0] > idle_ns).any())


def _with_requests(waits: _Waits, new: Bools, other: Bools) -> tuple[Bools, Bools]:
    """Return where tasks begin that wait for an answer, and the intervals that say when they begin and end.

    A connection that is opened long before it is used is no task, and neither is a good-bye after a rest: the one goes
    to the worker's next task, the other to the one before. They make it no longer.
    """
    first = np.flatnonzero(new)
    if len(first) == 0:
        return new, new
    asks = np.add.reduceat(np.where(waits.exchange >= 0, waits.round_trips, 0), first) > 0
    opens = other[first]
    earlier: Ints = np.cumsum(asks) - asks
    of_worker = np.cumsum(opens) - 1
    so_far: Ints = earlier - earlier[opens][of_worker]
    begins = np.zeros(len(new), bool)
    begins[first[opens | (asks & (so_far > 0))]] = True
    never = np.add.reduceat(asks, np.flatnonzero(opens)) == 0
    return begins, np.repeat(asks | never[of_worker], np.diff(first, append=len(new)))


# --- intervals ------------------------------------------------------------------------------------------------------


def _waits(recording: Recording, rtt: Estimate, job: _core.Job) -> _Waits:
    """All intervals as the client saw them, by connection and time."""
    connections, exchanges, phases = recording.connections, recording.exchanges, rtt.phases
    near, closed = np.rint(rtt.of_phases.near).astype(np.int64), job.awaited_fins()
    syn, shaken, server_first = job.beginnings()
    opened = np.flatnonzero(syn != MISSING)
    bye = np.flatnonzero(closed != MISSING)
    last = np.searchsorted(exchanges.connection, bye, side="right") - 1
    connection = np.concatenate((exchanges.connection, opened, bye))
    phase = np.concatenate((rtt.of_exchanges, phases.opening[opened], phases.closing[bye]))
    start = connections.start[exchanges.connection]
    begin = np.where(exchanges.begin == MISSING, start, exchanges.begin)
    begin = np.concatenate((begin, syn[opened], exchanges.end[last]))
    goes_on = (exchanges.round_trips == 0) & exchanges.wait.where(("deferred", "none").__contains__)
    goes_on &= exchanges.request != MISSING
    end = np.where(goes_on, exchanges.request_end - near[rtt.of_exchanges], exchanges.end)
    end = np.concatenate((np.maximum(end, start), shaken[opened], closed[bye]))
    trips = np.concatenate((exchanges.round_trips, 1 + server_first[opened], np.ones_like(bye)))
    own = np.arange(len(exchanges))
    exchange = np.concatenate((own, np.full(len(opened) + len(bye), -1)))
    place = np.concatenate((own, len(own) + opened, len(own) + len(connections) + np.arange(len(bye))))
    half = near[phase] // 2
    order = ordered(connection, begin, exchange)
    return _cut(_Waits(connection, phase, begin - half, end + half, trips, exchange, place).picked(order))


def _cut(waits: _Waits) -> _Waits:
    """Pipelined requests overlap: each interval begins where the one before it on the connection ended."""
    latest = running_maximum(waits.end, waits.connection)
    first = np.diff(waits.connection, prepend=-1) != 0
    begin = np.where(first, waits.begin, np.maximum(waits.begin, np.roll(latest, 1)))
    return replace(waits, begin=begin, end=np.maximum(waits.end, begin))


# --- who works ------------------------------------------------------------------------------------------------------


def _clients(recording: Recording) -> tuple[Ints, list[tuple[str, str | None]]]:
    """The client of each connection: its host, and the application where the connection names one."""
    host, application = recording.connections.host, recording.said("application")
    first = first_alike(numbered(host.codes, application.codes))
    shown = occurring(first)
    names = zip((host.name(row) for row in shown), application.picked(shown).texts(), strict=True)
    return np.searchsorted(shown, first), list(names)


def _workers(waits: _Waits, clients: Ints, beside: Bools, idle_ns: int) -> Ints:
    """Who does one task after the other, a number for each connection; some work `beside` others of their client.

    Connections of a client that never work side by side take turns (a pool, a connection for every query): they are one
    lane, and all others follow each other as docs/model.md C.5 has it. The lanes of a client work on the same task if
    they rest at the same times; if most of a lane's idle gaps lie in times in which others work, each is a worker with
    tasks of its own.
    """
    client = clients[waits.connection]
    by_client = _shift(waits, client)
    begin, end = waits.begin - by_client, waits.end - by_client
    lane = np.zeros(len(clients), np.int64)
    if beside.any():
        first, last = np.full(len(clients), np.iinfo(np.int64).max), np.full(len(clients), MISSING)
        np.minimum.at(first, waits.connection, begin)
        np.maximum.at(last, waits.connection, end)
        lane[beside] = 1 + lanes(first[beside], last[beside])
    own = numbered(clients, lane)
    worker = own[waits.connection]
    order = ordered(worker, begin)
    ended = running_maximum(end[order], worker[order])
    rest_begin, rest_end = ended[:-1], begin[order][1:]
    rests = (np.diff(worker[order]) == 0) & (rest_end - rest_begin > idle_ns)
    rest_begin, rest_end, of = rest_begin[rests], rest_end[rests], client[order][1:][rests]
    idle = _idle(begin, end, idle_ns)
    count = int(clients.max(initial=0)) + 1
    alone = np.bincount(of, idle(rest_end) - idle(rest_begin), count)
    together = alone >= MIN_COMMON_IDLE * np.bincount(of, rest_end - rest_begin, count)
    return np.where(together[clients], clients, count + own)


def _idle(begin: Ints, end: Ints, idle_ns: int) -> _Idle:
    order = ordered(begin)
    gaps = np.maximum.accumulate(end[order])[:-1], begin[order][1:]
    long = gaps[1] - gaps[0] > idle_ns
    return _Idle(gaps[0][long], gaps[1][long])


class _Idle:
    """How long nobody asked for anything up to a time, idle gaps only."""

    def __init__(self, begin: Ints, end: Ints) -> None:
        self._times = np.column_stack((begin, end)).ravel()
        self._idle = np.column_stack((np.cumsum(end - begin) - (end - begin), np.cumsum(end - begin))).ravel()

    def __call__(self, times: Ints) -> Floats:
        return np.interp(times, self._times, self._idle) if len(self._times) else np.zeros(len(times))


def _shift(waits: _Waits, group: Ints) -> Ints:
    """Return what to shift each interval by, so that groups follow each other without a gap and never overlap."""
    count = int(group.max(initial=-1)) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, MISSING)
    np.minimum.at(first, group, waits.begin)
    np.maximum.at(last, group, waits.end)
    there = first <= last
    span = np.where(there, np.where(there, last, 0) - np.where(there, first, 0), 0)
    shift: Ints = first - (np.cumsum(span) - span)
    return shift[group]


def _end_before(begin: Ints, end: Ints) -> Ints:
    """When all intervals before each were over; `begin` ascends."""
    return np.concatenate((begin[:1], np.maximum.accumulate(end)[:-1]))


# --- routes ---------------------------------------------------------------------------------------------------------


def _routes(recording: Recording, waits: _Waits, new: Bools) -> tuple[list[str], Ints]:
    """The route of each interval: that before it, or of what opens a connection or a transaction, that after it."""
    names, of_exchange = routes_of_exchanges(recording)
    exchanges, count = recording.exchanges, len(waits.begin)
    if not names:
        return names, np.full(count, -1)
    own = np.append(of_exchange, -1)[waits.exchange]
    opens = (
        exchanges.is_setup | exchanges.is_for("begin") | (exchanges.is_execution & exchanges.kind.where("begin".__eq__))
    )
    rows, task = np.arange(count), np.cumsum(new) - 1
    before = np.maximum.accumulate(np.where(own >= 0, rows, -1))
    after = np.minimum.accumulate(np.where(own >= 0, rows, count)[::-1])[::-1]
    of_before = np.where((before >= 0) & (task[before] == task), own[before], -1)
    within = after < count
    there = np.where(within, after, 0)
    of_after = np.where(within & (task[there] == task), own[there], -1)
    looks_ahead = np.append(opens, True)[waits.exchange] & (of_after >= 0)
    return names, np.where(looks_ahead | (of_before < 0), of_after, of_before)


# --- sums -----------------------------------------------------------------------------------------------------------


def _add_up(recording: Recording, rtt: Estimate, found: _Found, network: Floats, weight: Floats) -> Tasks:
    """The figures of each task; what its intervals cost by their place."""
    waits, works, clients, names, routes = found.waits, found.works, found.clients, found.names, found.routes
    first = np.flatnonzero(found.new)
    count = len(first)
    task = np.cumsum(found.new) - 1
    start, over = np.full(count, np.iinfo(np.int64).max), np.full(count, MISSING)
    np.minimum.at(start, task[works], waits.begin[works])
    order = np.argsort(start, kind="stable")
    number = np.empty(count, np.int64)
    number[order] = np.arange(count)
    task = number[task]
    np.maximum.at(over, task[works], waits.end[works])
    own = waits.exchange >= 0
    of_exchange = np.full(len(recording.exchanges), -1)
    of_exchange[waits.exchange[own]] = task[own]

    def total(values: Ints | Floats | Bools, of: Ints = task) -> Floats:
        return np.bincount(of, values, count).astype(float)

    exchanges = recording.exchanges
    baseline = rtt.of_phases.baseline[waits.phase]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total(waits.round_trips * baseline) / total(waits.round_trips)
    return Tasks(
        client=[names[clients[waits.connection[row]]][0] for row in first[order]],
        application=[names[clients[waits.connection[row]]][1] for row in first[order]],
        route=[routes[each] if each >= 0 else None for each in _only(found.route, task, count)],
        start_ns=start[order],
        duration_ns=over - start[order],
        connections=_distinct(waits.connection, task, count),
        exchanges=total(own).astype(np.int64),
        statements=total(exchanges.is_execution, of_exchange).astype(np.int64),
        transactions=np.bincount(of_exchange[_last_of_transactions(recording)], minlength=count),
        round_trips=total(np.where(own, waits.round_trips, 0)).astype(np.int64),
        effective_round_trips=total(waits.round_trips * weight[waits.place]),
        network_ns=total(np.where(np.isnan(baseline), np.nan, network[waits.place])),
        baseline_ns=mean,
        of_exchange=of_exchange,
    )


def _last_of_transactions(recording: Recording) -> Ints:
    """The exchange in which each transaction ends."""
    told = transactions(recording)
    last = np.zeros(len(told), np.int64)
    rows = np.flatnonzero(told.of_exchange >= 0)
    last[told.of_exchange[rows]] = rows
    return last


def _only(route: Ints, task: Ints, count: int) -> Ints:
    """The route of each task; -1 where there is none, or more than one."""
    most, least = np.full(count, -1), np.full(count, np.iinfo(np.int64).max)
    np.maximum.at(most, task, route)
    np.minimum.at(least, task[route >= 0], route[route >= 0])
    return np.where(most == least, most, -1)


def _distinct(values: Ints, task: Ints, count: int) -> Ints:
    """How many different `values` each task has."""
    order, starts = grouped(task, values)
    return np.bincount(task[order[starts[:-1]]], minlength=count)
