"""Where the runtime went: every instant belongs to exactly one part, so the parts sum to the runtime.

```text
SYN ─setup─► request ─transfer─► last packet ─network, service─► first packet ─transfer─► last packet ─client─► request
```

An exchange that waits `round_trips` times at a baseline of L spends min(round_trips × L, waited) on the network and the
rest of its wait on the server. A packet that was held back for a delayed acknowledgment waited for the peer's timer and
for a round trip (`measures.stalls`): that is a stall, whether it lies in the client's time or within the exchange.
Retransmissions make an exchange longer than its clean siblings: that excess is loss, and nothing of it is the server's.
A wait without one that is as long as the time-outs beside it is probably one, too: its packet was lost before the
capture point, and sent again once (`measures.losses`).
Where the capture was not taken at the client, the near half of the RTT hides in the gaps between exchanges and is moved
to the waits; so do the time-outs of what was lost there, which are loss.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap.display import Plotted
from latpcap.measures.concurrency import side_by_side
from latpcap.measures.goodbyes import goodbyes
from latpcap.measures.losses import Losses, losses
from latpcap.measures.shared_time import SharedTime
from latpcap.measures.stalls import AckStalls, HeldBack, ack_stalls
from latpcap.measures.waits import Stretches, Waits, waits
from latpcap.rtt import Estimate
from latpcap.tables import passes
from latpcap.tables.columns import before as row_before
from latpcap.tables.columns import constant, known
from latpcap.tables.quantiles import running_maximum
from latpcap.tables.recording import MISSING, Connections, Exchanges, Recording
from latpcap.tables.scratch import zeros

__all__ = ["Budget", "StallTime", "Timeline", "timeline"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Budget(Plotted, Struct, frozen=True):
    """The parts of the runtime in seconds; each ≥ 0."""

    network_s: float = 0.0
    """Waiting for the network: round trips at the baseline."""
    service_s: float = 0.0
    """Waiting for the server."""
    transfer_s: float = 0.0
    """Between the first and the last packet of a request or a response."""
    stall_s: float = 0.0
    """Packets held back by Nagle's algorithm until a delayed acknowledgment came: its timer and its round trip."""
    client_s: float = 0.0
    """No connection waits: the application computes."""
    think_s: float = 0.0
    """Stretches of client time above the threshold: never scaled."""
    setup_s: float = 0.0
    """TCP handshakes, greetings, TLS, authentication, waits for the server to hang up."""
    loss_s: float = 0.0
    """What retransmissions added."""
    unknown_s: float = 0.0
    """Exchanges that were captured in part."""

    def parts(self) -> dict[str, float]:
        """Seconds by part, in their order."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class StallTime(Struct, frozen=True):
    """How long the packets of each exchange were held back, in shared ns."""

    before: NDArray[Any]
    within: NDArray[Any]
    network_before: NDArray[Any]
    """The acknowledgment's round trip: what is left of it is the timer."""
    network_within: NDArray[Any]

    @property
    def count(self) -> int:
        """How many packets."""
        return int(np.count_nonzero(self.before > 0) + np.count_nonzero(self.within > 0))

    @property
    def timers_s(self) -> float:
        """The same at any RTT."""
        return _seconds(self.before) + _seconds(self.within) - self.network_s

    @property
    def network_s(self) -> float:
        """The round trips."""
        return _seconds(self.network_before) + _seconds(self.network_within)

    def left(self, before: Bools, within: Bools) -> StallTime:
        """Where only the stalls of these exchanges are left."""
        return StallTime(
            self.before * before, self.within * within, self.network_before * before, self.network_within * within
        )


class Timeline(Struct, frozen=True):
    """The budget, and what it rests on: shared time, so that parallel work counts once."""

    budget: Budget
    runtime_s: float
    think_above_s: float
    """A longer pause of the client is think time."""
    network_ns: NDArray[Any]
    """What each exchange waited for the network."""
    service_ns: NDArray[Any]
    """What each exchange waited for the server."""
    loss_ns: NDArray[Any]
    """What retransmissions added to each exchange."""
    own_service_ns: Ints
    own_loss_ns: Ints
    """What retransmissions added to it."""
    own_held_ns: HeldBack
    """What its packets were held back. All three as if nothing ran beside it."""
    probably_lost: Bools
    """Its packet was probably lost before the capture point: no retransmission was captured."""
    weight: Floats
    """What a round trip of each exchange counts: 1 alone, 1/k beside k - 1 busy others."""
    round_trips: Floats
    """Round trips of each connection, its TCP handshake, greeting and the wait for the server's FIN included."""
    effective: Floats
    """The same, each counted by its weight: the runtime grows by these."""
    setup_network_s: float
    """The network's part of `setup_s`."""
    stalls: StallTime
    """What `stall_s` consists of."""
    waits: Waits
    """What the network's time consists of."""


class _Spans(Struct, frozen=True):
    """Non-overlapping busy stretches in ns, with what each was given from the gap before it."""

    begin: Ints
    end: Ints
    held: Ints
    """The stall of its request."""
    lost: Ints
    """Time-outs on the client's side of the capture point."""
    early: Ints
    """Near RTT."""
    unseen: Ints
    """Near RTT of a connection's first request: it lies in the handshake."""
    shake_begin: Ints
    shake_end: Ints
    bye: Ints
    """The connections whose clients waited for the server to hang up, and when."""
    bye_begin: Ints
    bye_end: Ints
    under_way: Ints
    """Until when exchanges went on that had begun before the window, for connections with such."""


class _Pieces(Struct, frozen=True):
    """What an exchange's stretch is cut into, in that order: lengths in ns, or what they are worth in shared ns."""

    held: NDArray[Any]
    lost: NDArray[Any]
    request: NDArray[Any]
    request_held: NDArray[Any]
    network: NDArray[Any]
    service: NDArray[Any]
    service_loss: NDArray[Any]
    response_held: NDArray[Any]
    response: NDArray[Any]
    response_loss: NDArray[Any]

    @property
    def asked(self) -> NDArray[Any]:
        return np.asarray(self.held + self.lost + self.request + self.request_held)

    @property
    def waited(self) -> NDArray[Any]:
        return np.asarray(self.network + self.service + self.service_loss)


def timeline(recording: Recording, rtt: Estimate, think_s: float = 1.0) -> Timeline:
    """Give each instant of the recording's runtime to its part; client time above `think_s` is think time."""
    connections, exchanges = recording.connections, recording.exchanges
    baseline, near = known(rtt.of_phases.baseline), np.rint(rtt.of_phases.near).astype(np.int64)
    runtime_ns = round(recording.runtime_s * 1e9)
    stalls = ack_stalls(exchanges)
    held = stalls.with_round_trip(baseline, rtt.of_exchanges)
    closed = goodbyes(recording, near[rtt.phases.opening])
    spans = _spans(connections, exchanges, rtt, near, runtime_ns, closed, stalls.before, held.before)
    cut = _pieces(exchanges, spans, rtt.of_exchanges, baseline, near)
    pieces = _held_back(cut, stalls.inside, held.inside)
    lost = losses(recording, rtt.paths.of_connection, pieces.service, pieces.response)
    pieces = _without(pieces, lost)
    shared = _shared_time(spans)
    pace = _pace(exchanges, spans, shared, think_s)
    if recording.period is not None:
        shared = _shared_time(spans, runtime_ns)
    return _add_up(connections, exchanges, rtt, spans, pieces, lost.probable, stalls, shared, pace, runtime_ns, think_s)


def _shared_time(spans: _Spans, until: int | None = None) -> SharedTime:
    """Connections share the instants in which they are busy; of a window, those `until` its end."""
    begin = np.concatenate((spans.shake_begin, spans.begin, spans.bye_begin, np.zeros_like(spans.under_way)))
    return SharedTime(begin, np.concatenate((spans.shake_end, spans.end, spans.bye_end, spans.under_way)), until)


def _pace(exchanges: Exchanges, spans: _Spans, shared: SharedTime, think_s: float) -> SharedTime:
    """What an added round trip is worth: workers that run side by side set each other no pace.

    Such a connection counts as busy between its requests as well (think time excepted), so that k workers share each
    instant by k however short their waits are; connections that are used one after the other add up.
    """
    if shared.alone:
        return shared
    connection, length = exchanges.connection, spans.end - spans.begin
    beside = side_by_side(connection, length, shared.worth(spans.begin, length), len(spans.shake_begin))
    following = np.where(np.diff(connection, append=-1) == 0, np.roll(spans.begin, -1), spans.end)
    works_on = beside[connection] & (following - spans.end <= think_s * 1e9)
    return _shared_time(replace(spans, end=np.where(works_on, np.maximum(following, spans.end), spans.end)))


# --- stretches ------------------------------------------------------------------------------------------------------


def _spans(
    connections: Connections,
    exchanges: Exchanges,
    rtt: Estimate,
    near: Ints,
    runtime_ns: int,
    closed: Ints,
    stalled: Floats,
    held: Ints,
) -> _Spans:
    """Cut what overlaps on a connection (pipelined requests): an exchange begins where the one before it ended."""
    connection = exchanges.connection
    is_first = exchanges.is_first
    asked = exchanges.begin
    last = np.where(_sent_without_wait(exchanges), np.where(held > 0, asked, MISSING), exchanges.end)
    start = np.minimum(connections.start, runtime_ns)  # what begins later carries no data
    shake_end = np.minimum(_handshake_end(connections, connection[is_first], asked[is_first]), runtime_ns)
    free = np.maximum(shake_end, connections.under_way)
    np.maximum(last, np.maximum(free, start)[connection], out=last)
    end = running_maximum(connection, last)
    del last
    before = row_before(end)
    before[is_first] = free[connection[is_first]]
    begin = np.clip(asked, before, end)
    early = unseen = lost = constant(0, len(begin))
    if near.any():
        hidden = np.where(exchanges.round_trips > 0, near[rtt.of_exchanges], 0)
        early, unseen = np.where(is_first, 0, np.minimum(hidden, begin - before)), np.where(is_first, hidden, 0)
        begin -= early
        if (timed_out := exchanges.lost_before).any():
            lost = np.where(near[rtt.of_exchanges] > 0, np.minimum(timed_out, begin - before), 0)
            begin -= lost
    if held.any():
        room = begin - before
        held = np.where(room >= stalled, np.minimum(held, room), 0)
        begin -= held
    bye = np.flatnonzero(closed != MISSING)
    last_of = np.searchsorted(connection, bye, side="right") - 1
    bye_begin = np.clip(exchanges.request_end[last_of] - near[rtt.phases.closing[bye]], end[last_of], closed[bye])
    return _Spans(
        begin,
        end,
        held,
        lost,
        early,
        unseen,
        start,
        shake_end,
        bye,
        bye_begin,
        closed[bye],
        connections.under_way[connections.under_way != MISSING],
    )


def _sent_without_wait(exchanges: Exchanges) -> Bools:
    """Requests of one packet without a wait: they take no time, wherever they lie in a gap.

    MySQL's `stmt_close` is never answered, Firebird's `free_statement` together with a later request.
    """
    goes_on = (exchanges.response == MISSING) | exchanges.wait.where("deferred".__eq__)
    quick = (exchanges.request != MISSING) & (exchanges.request_end <= exchanges.request)
    sent: Bools = (exchanges.round_trips == 0) & goes_on & quick
    return sent


def _handshake_end(connections: Connections, spoke: Ints, first_word: Ints) -> Ints:
    """When each connection's TCP handshake was over: for a server that speaks first, with its greeting."""
    seen = np.maximum(np.maximum(connections.syn, connections.syn_ack), connections.ack)
    end = np.where(connections.syn == MISSING, connections.start, np.maximum(seen, connections.start))
    greeted = np.full(len(connections), MISSING)
    greeted[spoke] = first_word
    waits_for_greeting = connections.server_first & (connections.syn != MISSING)
    end = np.where(waits_for_greeting, np.maximum(end, greeted), end)
    return np.where(greeted == MISSING, end, np.clip(end, connections.start, np.maximum(greeted, connections.start)))


# --- pieces ---------------------------------------------------------------------------------------------------------


def _pieces(exchanges: Exchanges, spans: _Spans, phase: Ints, baseline: Floats, near: Ints) -> _Pieces:
    """Cut each stretch into the stall before it, request, network, service and response.

    `baseline` and `near` are those of each phase, `phase` is the one of each exchange.
    """
    request_end, whole_wait, trips = exchanges.request_end, exchanges.waited, exchanges.round_trips
    request, network, service, response = (zeros(trips, len(trips), np.int64) for _ in range(4))
    for rows in passes.pieces(len(trips)):
        end, early = spans.end[rows], spans.early[rows]
        length = end - spans.begin[rows] - spans.held[rows] - spans.lost[rows]
        inner = length - early
        request[rows] = asked = np.clip(request_end[rows] - (end - inner), 0, inner)
        waited = np.clip(whole_wait[rows], 0, inner - asked)
        between_waits = np.minimum(np.maximum(trips[rows] - 1, 0) * near[phase[rows]], inner - asked - waited)
        waited += early + between_waits
        travelled = np.rint(trips[rows] * baseline[phase[rows]]).astype(np.int64) - spans.unseen[rows]
        network[rows] = travelled = np.clip(travelled, 0, waited)
        service[rows] = waited - travelled
        response[rows] = length - asked - waited
    nothing = constant(0, len(trips))
    return _Pieces(spans.held, spans.lost, request, nothing, network, service, nothing, nothing, response, nothing)


def _held_back(pieces: _Pieces, stalled: Floats, held: Ints) -> _Pieces:
    """Take the stall within an exchange out of the first piece that is long enough for it, as the replay does."""
    if not held.any():
        return pieces
    parts = []
    for part in (pieces.request, pieces.response, pieces.service):
        taken = np.where(part >= stalled, np.minimum(held, part), 0)
        held = np.where(taken > 0, 0, held)
        parts.append(taken)
    request, response, service = parts
    return replace(
        pieces,
        request=pieces.request - request,
        request_held=request,
        service=pieces.service - service,
        response_held=response + service,
        response=pieces.response - response,
    )


def _without(pieces: _Pieces, lost: Losses) -> _Pieces:
    """Take the loss out of the wait and out of the response."""
    if not lost.service.any() and not lost.response.any():
        return pieces
    return replace(
        pieces,
        service=pieces.service - lost.service,
        service_loss=lost.service,
        response=pieces.response - lost.response,
        response_loss=lost.response,
    )


def _lost(pieces: _Pieces) -> NDArray[Any]:
    """What was lost of each exchange, or what that is worth."""
    parts = [part for part in (pieces.lost, pieces.response_loss) if part.any()]
    loss: NDArray[Any] = sum(parts, pieces.service_loss)
    return loss


# --- sums -----------------------------------------------------------------------------------------------------------


def _add_up(
    connections: Connections,
    exchanges: Exchanges,
    rtt: Estimate,
    spans: _Spans,
    pieces: _Pieces,
    probably_lost: Bools,
    stalls: AckStalls,
    shared: SharedTime,
    pace: SharedTime,
    runtime_ns: int,
    think_s: float,
) -> Timeline:
    is_setup, whole = exchanges.is_setup, exchanges.complete
    normal = whole & ~is_setup
    worth = _worths(shared, spans.begin, pieces)
    network, service = worth.network, worth.service
    held = _held(pieces)
    stall = _stall_time(held, _held(worth), stalls, normal)
    total = shared.worth(spans.begin, spans.end - spans.begin)
    shake_length = spans.shake_end - spans.shake_begin
    shake = shared.worth(spans.shake_begin, shake_length)
    bye_length = spans.bye_end - spans.bye_begin
    bye_time = shared.worth(spans.bye_begin, bye_length)
    under_way = shared.worth(np.zeros_like(spans.under_way), spans.under_way)
    idle = shared.idle(0, runtime_ns)
    thinking = idle > think_s * 1e9
    budget = Budget(
        network_s=_seconds(network, normal),
        service_s=_seconds(service, normal),
        transfer_s=_seconds(worth.request, normal) + _seconds(worth.response, normal),
        stall_s=stall.timers_s + stall.network_s,
        client_s=_seconds(idle, ~thinking),
        think_s=_seconds(idle, thinking),
        setup_s=_seconds(shake) + _seconds(bye_time) + _seconds(total, is_setup),
        loss_s=_seconds(_lost(worth), normal),
        unknown_s=_seconds(total, ~whole & ~is_setup) + _seconds(under_way),
    )
    weight = _weights(exchanges, spans, pieces, pace)
    shake_trips = np.where(connections.syn == MISSING, 0.0, 1.0 + connections.server_first)
    shake_weight = _ratio(pace.worth(spans.shake_begin, shake_length), shake_length)
    bye_weight = _ratio(pace.worth(spans.bye_begin, bye_length), bye_length)
    baseline = known(rtt.of_phases.baseline)
    bye_network = np.minimum(baseline[rtt.phases.closing[spans.bye]] * bye_weight, bye_time)
    shake_network = np.minimum(shake_trips * baseline[rtt.phases.opening] * shake_weight, shake)
    count = len(connections)
    nowhere, closing = np.zeros_like(shake_length), rtt.phases.closing[spans.bye]
    waited = waits(
        rtt.of_phases,
        Stretches(rtt.of_exchanges, np.where(whole, exchanges.round_trips, 0), spans.unseen, pieces.waited, network),
        Stretches(rtt.phases.opening, shake_trips, nowhere, shake_length, shake_network),
        connections.server_first,
        Stretches(closing, np.ones(len(closing)), nowhere[spans.bye], bye_length, bye_network),
    )
    return Timeline(
        budget=budget,
        runtime_s=runtime_ns / 1e9,
        think_above_s=think_s,
        network_ns=_only(network, whole),
        service_ns=_only(service, whole),
        loss_ns=_only(_lost(worth), normal),
        own_service_ns=pieces.service,
        own_loss_ns=_lost(pieces),
        own_held_ns=held,
        probably_lost=probably_lost,
        weight=weight,
        round_trips=np.bincount(exchanges.connection, exchanges.round_trips, count).astype(float)
        + shake_trips
        + np.bincount(spans.bye, minlength=count),
        effective=np.bincount(exchanges.connection, exchanges.round_trips * weight, count)
        + shake_trips * shake_weight
        + np.bincount(spans.bye, bye_weight, minlength=count),
        setup_network_s=_seconds(network, is_setup & whole) + _seconds(shake_network) + _seconds(bye_network),
        stalls=stall,
        waits=waited,
    )


def _only(values: NDArray[Any], where: Bools) -> NDArray[Any]:
    """Those, and 0 elsewhere."""
    return values if where.all() else np.where(where, values, 0)


def _worths(shared: SharedTime, begin: Ints, pieces: _Pieces) -> _Pieces:
    """What each piece is worth."""
    worth = {}
    for name in pieces.__struct_fields__:
        length = getattr(pieces, name)
        worth[name] = shared.worth(begin, length) if length.any() else length
        begin = begin + length
    return _Pieces(**worth)


def _held(pieces: _Pieces) -> HeldBack:
    """What was held back before each exchange and within it."""
    if not pieces.request_held.any() and not pieces.response_held.any():
        return HeldBack(pieces.held, pieces.request_held)
    return HeldBack(pieces.held, pieces.request_held + pieces.response_held)


def _stall_time(held: HeldBack, worth: HeldBack, stalls: AckStalls, where: Bools) -> StallTime:
    """Divide the stalls into timers and round trips: the timer comes first, where there is not room for both."""
    if not held.before.any() and not held.inside.any():
        nothing = constant(0.0, len(where))
        return StallTime(nothing, nothing, nothing, nothing)
    before, within = np.where(where, worth.before, 0), np.where(where, worth.inside, 0)
    return StallTime(
        before=before,
        within=within,
        network_before=before * (1 - _part(stalls.before, held.before)),
        network_within=within * (1 - _part(stalls.inside, held.inside)),
    )


def _part(part: Floats, whole: Ints) -> Floats:
    """`part` of `whole`, at most all of it; all of nothing."""
    return np.where(whole > 0, np.minimum(part / np.maximum(whole, 1), 1), 1.0)


def _weights(exchanges: Exchanges, spans: _Spans, pieces: _Pieces, pace: SharedTime) -> NDArray[np.float64]:
    """Shared ÷ own wait; of the whole stretch where no wait was seen."""
    if pace.alone:
        return np.broadcast_to(1.0, len(exchanges))  # one number for all of them
    waited, length = pieces.waited, spans.end - spans.begin
    shared = pace.worth(spans.begin + pieces.asked, waited)
    no_wait = (waited <= 0) | ~exchanges.complete
    return np.where(no_wait, _ratio(pace.worth(spans.begin, length), length), _ratio(shared, waited))


def _ratio(shared: NDArray[Any], own: Ints) -> Floats:
    return np.where(own > 0, shared / np.maximum(own, 1), 1.0)


def _seconds(nanoseconds: NDArray[Any], where: Bools | Literal[True] = True) -> float:
    return float(nanoseconds.sum(where=where)) / 1e9
