"""Connect per query: a connection is opened for a few statements (of one request, perhaps) and closed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from latpcap.findings.call_time import login_time
from latpcap.findings.drivers import Advice
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern, SavedShare, effect_of
from latpcap.findings.groups import Groups
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Codes, Ints
from latpcap.tables.columnar.passes import lanes, ordered
from latpcap.tables.connections import MISSING
from latpcap.units import counted

MIN_CONNECTIONS = 5
MAX_STATEMENTS = 2
"""Statements of the median connection."""
WHOSE = ("application", "user", "database")
"""Owners that connections name, where it can be read."""
MIN_SHARE = 0.2
"""Share of round trips that open and close connections from which on more statements are too few as well."""
SAVED_TIME = SavedShare(client=1.0, service=1.0)
"""All time of the calls is saved; within a login the client does nothing else."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a program, user and database at a server: all but as many as were open at once can go."""
    connections = evidence.recording.connections
    statements = _statements(evidence)
    costs = _costs(evidence)
    # What carries more than its opening is worth belongs to a pool, and is no part of this.
    short = (statements <= MAX_STATEMENTS) | (costs.opening >= MIN_SHARE * costs.every)
    used = np.flatnonzero(_used(evidence) & short)
    if len(used) < MIN_CONNECTIONS:
        return
    around = evidence.is_opening | evidence.is_goodbye
    waited_for = around & evidence.waits & ~evidence.is_ping
    whose = {name: evidence.recording.said(name) for name in WHOSE}
    programs = _programs(evidence, used)
    for number in np.flatnonzero(programs.sizes >= MIN_CONNECTIONS):
        mine = programs.rows[programs.starts[number] : programs.starts[number + 1]]
        closed = _reopened(evidence, mine)
        # Either they do next to nothing, or most of them were opened one after the other.
        if np.median(statements[mine]) > MAX_STATEMENTS and 2 * len(closed) <= len(mine):
            continue
        of_closed, of_mine = _exchanges_of(evidence, closed), _exchanges_of(evidence, mine)
        logins = of_closed[waited_for[of_closed]]
        yield Candidate(
            shown=of_mine[around[of_mine]],
            effect=effect_of(evidence, SAVED_TIME, logins, closed=closed, call=login_time(evidence, logins)),
            facts={
                "connections": len(mine),
                "statements_per_connection": (each := float(np.median(statements[mine]))),
                "about": f"about {counted(round(each), 'statement')}",
                "client": (client := connections.host.name(mine[0])),
                "server": (asked := connections.server.name(mine[0])),
                "whose": _named({name: _first_said(said, mine) for name, said in whose.items()}, client, asked),
            },
            fix=f"{ADVICE.sentence(evidence, mine)} {_handshakes(evidence, closed)}".rstrip(),
        )


def _handshakes(evidence: Evidence, closed: Ints) -> str:
    """Return a sentence with the TCP handshakes that are saved, which count as no round trips of exchanges."""
    connections = evidence.recording.connections
    shaken = (connections.syn[closed] != MISSING) & (connections.syn_ack[closed] != MISSING)
    count = int(np.count_nonzero(shaken))
    return f"This also saves {counted(count, 'TCP handshake')}." if count else ""


def _programs(evidence: Evidence, used: Ints) -> Groups:
    """The connections of each program, user and database at a server.

    One whose login was lost in part belongs to the only program of its host at its server that it may be.
    """
    connections, recording = evidence.recording.connections, evidence.recording
    where = passes.numbered(*(each.codes[used] for each in (connections.host, connections.server.renamed(str))))
    said = np.stack([recording.said(name).codes[used] for name in WHOSE], axis=1)
    lost = recording.connection_column("lost_bytes").ints(0)[used] > 0
    in_part = lost & (said < 0).any(axis=1) & ~recording.timing_only[used]
    known = np.unique(np.column_stack((where, said))[~in_part], axis=0)
    for row in np.flatnonzero(in_part):
        near = known[known[:, 0] == where[row], 1:]
        alike = near[((near == said[row]) | (said[row] < 0)).all(axis=1)]
        if len(alike) == 1:
            said[row] = alike[0]
    return Groups.of(used, where, *said.T)


def _named(said: dict[str, str | None], client: str, server: str) -> str:
    """Whose connections they are, as far as they say it.

    >>> _named({"application": "monitor", "user": "ann", "database": None}, "10.0.0.1", "10.0.0.2:5432")
    ' of monitor (user ann), 10.0.0.1 → 10.0.0.2:5432'
    """
    application = f" of {said['application']}" if said["application"] else ""
    account = ", ".join(f"{name} {said[name]}" for name in ("user", "database") if said[name])
    return f"{application}{f' ({account})' if account else ''}, {client} → {server}"


def _first_said(said: Codes, mine: Ints) -> str | None:
    """Return the word of the first connection that has one; `None` where none does."""
    codes = said.codes[mine]
    text: str | None = said.picked(mine[[int((codes >= 0).argmax())]]).texts()[0]
    return text


def _statements(evidence: Evidence) -> Ints:
    """How many each connection runs; what cannot be read of an encrypted one is taken for statements."""
    works = (evidence.is_execution | evidence.is_ping | evidence.insists) & ~evidence.is_fetch
    works |= evidence.is_unread
    return np.bincount(evidence.exchanges.connection[works], minlength=len(evidence.recording.connections))


class ConnectionTrips(NamedTuple):
    """Round trips of each connection, its TCP handshake included."""

    opening: Ints
    """Round trips that open and close it: TCP, TLS, login, first settings."""
    every: Ints


def _costs(evidence: Evidence) -> ConnectionTrips:
    exchanges, count = evidence.exchanges, len(evidence.recording.connections)
    around = exchanges.round_trips * (evidence.is_opening | evidence.is_goodbye)
    opening, every = (np.bincount(exchanges.connection, trips, count) + 1 for trips in (around, exchanges.round_trips))
    return ConnectionTrips(opening, every)


def _used(evidence: Evidence) -> Bools:
    """The connections whose beginning was captured, that logged in, and that did something then.

    What was lost may have been the login, unless that was captured.
    """
    exchanges, recording = evidence.exchanges, evidence.recording
    count = len(recording.connections)
    refused = np.bincount(exchanges.connection[exchanges.is_setup & evidence.failed], minlength=count) > 0
    works = (evidence.is_execution | evidence.is_fetch | evidence.is_ping | evidence.insists) & evidence.waits
    works |= evidence.is_unread | (evidence.is_lost & (recording.said("user").codes[exchanges.connection] >= 0))
    worked = np.bincount(exchanges.connection[works], minlength=count) > 0
    begun = np.ones(count, bool)
    begun[exchanges.connection[evidence.is_late]] = False
    cancels = recording.connection_column("cancels").ints(-1) >= 0
    return worked & begun & ~refused & ~cancels


def _exchanges_of(evidence: Evidence, connections: Ints) -> Ints:
    """The rows of these connections, which ascend: there may be many pairs, so none looks through all exchanges."""
    begin, end = np.searchsorted(evidence.exchanges.connection, np.stack((connections, connections + 1)))
    count = end - begin
    before = np.cumsum(count) - count
    return np.repeat(begin - before, count) + np.arange(count.sum())


def _reopened(evidence: Evidence, mine: Ints) -> Ints:
    """All but the first of connections that follow each other: it could have served the others."""
    connections = evidence.recording.connections
    start = connections.start[mine]
    lane = lanes(start, connections.end[mine])
    order = ordered(lane, start)
    first = np.diff(lane[order], prepend=-1) != 0
    return np.sort(mine[order[~first]])


ADVICE = Advice(
    "connect-per-query",
    "Keep connections open in a pool and reuse them; if each request runs in its own process, use persistent "
    "connections or a pooler on that host",
)

PATTERN = Pattern(
    code="connect-per-query",
    fix="pool",
    title="Connect per query: {connections:,} connections{whose}; {about} each",
    why="Every connection waits for the TCP handshake, TLS and the login before its first statement.",
    find=find,
    rule="5 or more connections of one client, program (`application_name` and the like), user and database to one "
    "server that log in and run 2 statements or fewer, or open and close with a fifth of their round trips; these "
    "run 2 statements or fewer (median), or most were opened one after the other. Under TLS, requests that "
    "cannot be read count as statements",
    example="60 connections of one program, each with a TCP handshake, a login and one `select`.",
    is_not="many connections that are open at the same time, as a pool opens them, or logins that fail "
    "(`failing-logins`).",
    fixes={"": ADVICE},
)
