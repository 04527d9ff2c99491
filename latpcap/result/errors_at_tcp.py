"""Failed connections among the errors: refused, never answered, reset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from latpcap.findings.frames import MAX_RANGES, Frames, display_filter
from latpcap.measures.failed_connections import (
    BY_CLIENT,
    BY_SERVER,
    REFUSED,
    UNANSWERED,
    WAYS,
    FailedConnections,
    failed_connections,
)
from latpcap.result.errors import ErrorResult, ErrorsResult
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.times import iso
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

MESSAGES = {
    REFUSED: "the server answers the SYN with a reset: nothing listens there, or something in between refuses",
    UNANSWERED: "nobody answers the SYN: a firewall drops it, or there is no such host (lost: until the last SYN)",
    BY_SERVER: "the server, or something in between, reset the connection",
    BY_CLIENT: "the client reset the connection while it waited for an answer: it gave up, or died",
}


def with_connections(errors: ErrorsResult, recording: Recording, ports: Mapping[str, str]) -> ErrorsResult:
    """The errors, and beside them the connections that failed; `ports` are those whose protocol the user has named."""
    at_tcp = failed_connections(recording, ports)
    found = [*errors.found, *_found(recording, at_tcp)]
    return replace(
        errors,
        connections=at_tcp.tried,
        failed_connections=len(at_tcp.rows),
        lost_s=float(at_tcp.lost_ns.sum()) / 1e9,
        found=tuple(sorted(found, key=lambda each: -each.count)),
    )


def _found(recording: Recording, at_tcp: FailedConnections) -> Iterator[ErrorResult]:
    """One a way and server, in the order of their first connections."""
    if len(at_tcp.rows) == 0:
        return
    table, rows = recording.all_connections_table, at_tcp.rows
    server, users = (columns.codes(table, name).picked(rows) for name in ("server", "user"))
    key = at_tcp.way * (len(server.names) + 1) + server.codes
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(group, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    frames = {name: columns.column(table, name).ints(MISSING)[rows] for name in ("stream", "first_frame", "last_frame")}
    for mine in sorted(parts, key=lambda part: int(first[group[part[0]]])):
        one = int(mine[0])
        begin, end = (iso(columns.NullableArray(times)) for times in _span(at_tcp, mine))
        first_of = [column[mine[:MAX_RANGES]].tolist() for column in frames.values()]
        yield ErrorResult(
            count=len(mine),
            code=WAYS[at_tcp.way[one]],
            kind="connection",
            category="network",
            message=MESSAGES[int(at_tcp.way[one])],
            statement=server.name(one),
            protocol=at_tcp.protocol.name(one),
            connections=len(mine),
            users=tuple(sorted({user for user in users.picked(mine).texts() if user})),
            round_trips=0,
            seconds=float(at_tcp.lost_ns[mine].sum()) / 1e9,
            first_frame=int(frames["first_frame"][mine].min()),
            last_frame=int(frames["last_frame"][mine].max()),
            first_time=begin[0],
            last_time=end[0],
            display_filter=display_filter([Frames(*each) for each in zip(*first_of, strict=True)], whole=True),
        )


def _span(at_tcp: FailedConnections, mine: columns.Ints) -> tuple[columns.Ints, columns.Ints]:
    """The first time and the last, each as a column of one."""
    return at_tcp.begin[mine].min(keepdims=True), at_tcp.end[mine].max(keepdims=True)
