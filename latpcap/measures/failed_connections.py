"""Connections to databases that failed at TCP: refused, never answered, reset; and what their clients lost by that.

A reset counts only where it took something away: one by the server before either side had said that it ends, one by the
client while it waited for an answer. Whoever hangs up with a reset, as some drivers do, has lost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Codes, Ints, first_that_holds
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

WAYS = ("refused", "never answered", "reset by server", "reset by client")
REFUSED, UNANSWERED, BY_SERVER, BY_CLIENT = range(len(WAYS))
SYN_TIMEOUT_NS = 1_000_000_000
"""A SYN without an answer is sent again after this time (RFC 6298); whether it failed is unknown if the capture ends
sooner."""
LATEST = np.iinfo(np.int64).max


class FailedConnections(Struct, frozen=True):
    """The failed ones, rows of the table of all connections in their order; times in ns since 1970."""

    rows: Ints
    way: Ints
    """The way that each failed, an index into `WAYS`."""
    begin: Ints
    """Since when its client had waited; where it did not, when it was reset."""
    end: Ints
    """When it failed; of what was never answered the last SYN: how much longer a client waited nobody saw."""
    tried: int
    """How many connections to databases there were, or should have been."""
    protocol: Codes
    """The protocol of each, as far as its server's port or other connections tell."""

    @property
    def lost_ns(self) -> Ints:
        """How long the client of each had waited in vain; at least, of what was never answered."""
        lost: Ints = np.maximum(self.end - self.begin, 0)
        return lost


class TcpConnections:
    """The columns of all connections that show how each began and ended, and which go to databases."""

    def __init__(self, recording: Recording, ports: Mapping[str, str]) -> None:
        self.recording = recording
        self.table = recording.all_connections_table
        self.server = columns.codes(self.table, "server")
        self.protocol = _protocols(self.server, columns.codes(self.table, "protocol"), ports)
        self.is_database = np.zeros(len(self.table), bool)
        self.is_database[recording.database_rows] = True
        state = columns.codes(self.table, "state")
        self.is_refused, self.is_unanswered = state.where("refused".__eq__), state.where("unanswered".__eq__)

    def time(self, name: str) -> Ints:
        """Return the times of a column in ns, `MISSING` where there is none."""
        return columns.column(self.table, name).ints(MISSING)

    def has(self, name: str) -> Bools:
        """Return where a column has a value."""
        return columns.column(self.table, name).is_valid()


def failed_connections(recording: Recording, ports: Mapping[str, str]) -> FailedConnections:
    """Look for them; `ports` are those whose protocol the user has named."""
    of = TcpConnections(recording, ports)
    expected = of.is_database | (of.protocol.codes >= 0)
    unanswered = expected & of.is_unanswered & _was_waited_for(of)
    by_server, by_client, waited_since = _resets(of, expected & ~of.is_refused & ~of.is_unanswered)
    refused = expected & of.is_refused
    rules = [refused, unanswered, by_server, by_client]
    way = first_that_holds(rules, range(len(WAYS)), -1)
    rows = np.flatnonzero(way >= 0)
    in_time = _is_within(recording, of.time("end")[rows])
    rows = rows[in_time]
    way = way[rows].astype(np.int64)
    reset = np.where(way == BY_CLIENT, of.time("client_reset_time")[rows], of.time("server_reset_time")[rows])
    tried = np.count_nonzero(of.is_database | unanswered | refused | by_server)
    return FailedConnections(
        rows=rows,
        way=way,
        begin=np.where(way <= UNANSWERED, of.time("syn_time")[rows], waited_since[rows]),
        end=np.where(way == UNANSWERED, of.time("end")[rows], reset),
        tried=int(tried),
        protocol=of.protocol.picked(rows),
    )


def _protocols(server: Codes, said: Codes, ports: Mapping[str, str]) -> Codes:
    """The protocol of each connection: as read, as of others to the same server, as named, as usual on its port."""
    from latpcap._core import protocol_on

    of_server = np.full(len(server.names), -1, np.int64)
    read = np.flatnonzero(said.codes >= 0)
    of_server[server.codes[read]] = said.codes[read]
    names, numbers = list(said.names), {name: number for number, name in enumerate(said.names)}
    for number in np.flatnonzero(of_server < 0).tolist():
        port = server.names[number].rpartition(":")[2]
        name = ports.get(port) or (protocol_on(int(port)) if port.isdigit() else None)
        if name is not None:
            of_server[number] = numbers.setdefault(name, len(names))
            names += [name] * (len(numbers) - len(names))
    codes = said.codes.astype(np.int64)
    return Codes(np.where(codes >= 0, codes, of_server[server.codes]), names)


def _was_waited_for(of: TcpConnections) -> Bools:
    """The SYN was sent again, or the capture went on for so long that it would have been."""
    again = columns.column(of.table, "handshake_retransmitted").values.astype(bool)
    last = columns.column(of.recording.captures_table, "last_time").ints(MISSING).max(initial=MISSING)
    waited: Bools = again | (last - of.time("start") >= SYN_TIMEOUT_NS)
    return waited


def _is_within(recording: Recording, times: Ints) -> Bools:
    """The attempts within the selected window."""
    if recording.period is None:
        return np.ones(len(times), bool)
    begin, end = recording.period
    return np.asarray((begin <= times) & (times < end), bool)


# --- resets -----------------------------------------------------------------------------------------------------------


def _resets(of: TcpConnections, there: Bools) -> tuple[Bools, Bools, Ints]:
    """Which connections the server reset, and which the client while it waited; and since when each client waited."""
    client, server = of.time("client_reset_time"), of.time("server_reset_time")
    client_fin, server_fin = of.has("client_fin_time"), of.has("server_fin_time")
    # A client that sends a FIN or a reset as well had closed it by itself: nobody answers a reset.
    by_server = there & (server != MISSING) & ~client_fin & ~server_fin & (client == MISSING)
    by_server &= of.is_database | ~of.has("data_end")
    first = (client != MISSING) & ((server == MISSING) | (client <= server))
    by_client = of.is_database & there & first & ~client_fin & ~server_fin
    since = np.where(by_server, server, client)
    new = by_server & ~of.is_database
    since[new] = of.time("start")[new]
    rows = of.recording.database_rows
    some = np.flatnonzero((by_server | by_client)[rows])
    if len(some):
        waited, leaves = _waiting(of.recording, some, of.time("syn_time")[rows[some]])
        by_server[rows[some[leaves]]] = False
        by_client[rows[some[leaves | (waited == LATEST) | of.recording.timing_only[some]]]] = False
        known = waited < LATEST
        since[rows[some[known]]] = waited[known]
    return by_server, by_client, since


def _waiting(recording: Recording, some: Ints, syn: Ints) -> tuple[Ints, Bools]:
    """Since when the client of each connection had waited at its end (`LATEST`: it did not), and who was leaving.

    Whoever was never answered at all has waited since its SYN.
    """
    exchanges = recording.exchanges
    mine = np.flatnonzero(np.isin(exchanges.connection, some))
    goodbye = exchanges.is_for("disconnect")
    awaited = exchanges.wait.where({"own", "shared"}.__contains__) | (exchanges.is_setup & ~goodbye)
    answered = exchanges.complete & (exchanges.response != MISSING) | exchanges.failed
    place = np.searchsorted(some, exchanges.connection[mine])
    last_answered = np.full(len(some), -1, np.int64)
    np.maximum.at(last_answered, place[answered[mine]], mine[answered[mine]])
    last = np.full(len(some), -1, np.int64)
    np.maximum.at(last, place, mine)
    leaves = (last >= 0) & goodbye[last]
    since = np.where((last_answered < 0) & (syn != MISSING), syn, LATEST)
    begin = exchanges.begin
    waits = awaited[mine] & ~answered[mine] & (mine > last_answered[place]) & (begin[mine] != MISSING)
    np.minimum.at(since, place[waits], begin[mine[waits]] + recording.start_ns)
    return since, leaves
