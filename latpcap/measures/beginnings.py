"""When each connection was opened and who spoke first on it, with what follows of a packet that was not captured."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.protocols import protocol_called
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.connections import MISSING
from latpcap.tables.part.window import holds_all_time
from latpcap.tables.recording import Recording


class Beginnings(Struct, frozen=True, eq=False):
    """One entry a connection, ns since the recording began; `MISSING` where its beginning was not captured."""

    syn: Ints
    """May be earlier than the first packet that was captured."""
    syn_ack: Ints
    server_first: Bools
    unseen_trips: Ints
    """Round trips of its login that the capture missed, by the logins of others to the same server."""
    unseen_until: Ints
    """When the login was over then; of no account where it missed none."""


def beginnings(recording: Recording, rtt: Estimate) -> Beginnings:
    """The beginnings of all connections: one packet of a TCP handshake shows when the other one passed."""
    connections = recording.connections
    syn, syn_ack, greeted = connections.syn, connections.syn_ack, connections.server_first
    nothing = np.zeros(len(connections), np.int64)
    if not holds_all_time(recording):
        return Beginnings(syn, syn_ack, greeted, nothing, nothing)
    beyond = rtt.of_phases.baseline - rtt.of_phases.near
    beyond_ns = np.rint(np.nan_to_num(beyond)).astype(np.int64)[rtt.phases.opening]
    without_answer = (syn != MISSING) & (syn_ack == MISSING)
    syn = np.where((syn == MISSING) & (syn_ack != MISSING), syn_ack - beyond_ns, syn)
    if without_answer.any():
        first = first_words(recording)
        without_answer &= first != MISSING
        syn_ack = np.where(without_answer, np.minimum(syn + beyond_ns, np.maximum(first, syn)), syn_ack)
    from_start = (syn != MISSING) & (syn_ack != MISSING)
    misses = from_start & (recording.connection_column("lost_bytes").values > 0)
    if not misses.any() or not recording.exchange_count:
        return Beginnings(syn, syn_ack, greeted, nothing, nothing)
    greeted = greeted | _unseen_greetings(recording, misses & ~greeted)
    rtt_ns = np.nan_to_num(rtt.of_phases.baseline)[rtt.phases.opening]
    begins_late = ~greeted & (first_words(recording) - np.maximum(connections.ack, syn_ack) >= rtt_ns)
    shaken = np.where(from_start, syn_ack, MISSING)
    return Beginnings(syn, syn_ack, greeted, *_unseen_logins(recording, shaken, misses, begins_late))


def first_words(recording: Recording) -> Ints:
    """When each connection's first exchange began; `MISSING` where it has none."""
    exchanges = recording.exchanges
    first = np.full(len(recording.connections), MISSING)
    first[exchanges.connection[::-1]] = exchanges.begin[::-1]
    return first


def _unseen_greetings(recording: Recording, ungreeted: Bools) -> Bools:
    """The connections whose client logs in to a server that speaks first, though the capture missed what that said."""
    connections, exchanges = recording.connections, recording.exchanges
    speaks_first = connections.protocol.where(lambda name: protocol_called(name).server_speaks_first)
    logs_in = exchanges.is_first & exchanges.is_setup & (exchanges.request != MISSING)
    return ungreeted & speaks_first & (np.bincount(exchanges.connection[logs_in], minlength=len(ungreeted)) > 0)


def _unseen_logins(recording: Recording, shaken: Ints, misses: Bools, begins_late: Bools) -> tuple[Ints, Ints]:
    """How many round trips of each login were missed, and when it was over, by whole logins to the same server.

    `shaken`: when each connection's SYN/ACK passed; `misses`: something of the connection was not captured;
    `begins_late`: there was time for a round trip before its first exchange.
    """
    exchanges, count = recording.exchanges, len(misses)
    rows, whose = np.arange(len(exchanges)), exchanges.connection
    goes_on = np.flatnonzero(~(exchanges.is_setup | (exchanges.is_for("unreadable") & ~exchanges.complete)))
    work = np.full(count, len(rows))
    work[whose[goes_on[::-1]]] = goes_on[::-1]
    steps = rows[rows < work[whose]]
    trips = np.bincount(whose[steps], exchanges.round_trips[steps], count).astype(np.int64)
    in_part = (np.bincount(whose[steps], ~exchanges.complete[steps], count) > 0) | (trips == 0) | begins_late
    over = shaken.copy()
    np.maximum.at(over, whose[steps], exchanges.end[steps])
    works = (work < len(rows)) & (shaken != MISSING)
    works[works] &= ~exchanges.is_for("cancel")[work[works]]
    whole = works & ~misses & (trips > 0)
    server, took = recording.connections.server.codes.astype(np.int64), over - shaken
    usual_trips = _medians(server, whole, trips)
    unseen = np.where(works & misses & in_part, np.maximum(usual_trips - trips, 0), 0)
    until = shaken + _medians(server, whole & (trips == usual_trips), took)
    until = _before_the_next(recording, shaken, whole, over, until)
    next_begin = exchanges.begin[np.minimum(work, len(rows) - 1)]
    return unseen, np.where(unseen > 0, np.minimum(np.maximum(until, over), next_begin), 0)


def _before_the_next(recording: Recording, shaken: Ints, whole: Bools, over: Ints, until: Ints) -> Ints:
    """When logins were over: where a client opens its connections in turn, as long as usual before the next one.

    `until` says so by their lengths alone; the next one decides where that makes them at most twice as long.
    """
    connections = recording.connections
    host = connections.host.codes.astype(np.int64)
    order = np.lexsort((connections.start, host))
    follows = host[order[1:]] == host[order[:-1]]
    following = np.full(len(host), MISSING)
    following[order[:-1][follows]] = connections.start[order[1:][follows]]
    known = following != MISSING
    pause, usual = _medians(host, whole & known, following - over), until - shaken
    by_next = following - pause
    in_turn = known & (pause > 0) & (pause <= usual) & (np.abs(by_next - until) <= usual)
    return np.where(in_turn, by_next, until)


def _medians(group: Ints, known: Bools, values: Ints) -> Ints:
    """The median of the `known` values in the group of each; 0 where there is none."""
    rows = np.flatnonzero(known)
    rows = rows[np.lexsort((values[rows], group[rows]))]
    first = np.searchsorted(group[rows], group, side="left")
    last = np.searchsorted(group[rows], group, side="right")
    found = np.zeros(len(group), np.int64)
    found[last > first] = values[rows[(first + last - 1)[last > first] // 2]]
    return found
