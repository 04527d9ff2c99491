"""Which clients wait for the server's FIN.

A client that closes its session and continues only after the server's FIN (Node's `await client.end()`) waits for one
round trip. No read of the program returns data from it, so like the TCP handshake it is not in the connection's
`round_trips`, but in the budget's set-up and in the projection.

Nothing on the connection shows it; the client's next connection does. A host waits if, more often than not, it opens
that after the FIN, more regularly after the FIN than after its own close, and so soon that chance would rarely have
it: a host that pauses for a millisecond without waiting looks alike where the FIN takes just under a millisecond. But a
host that has nothing open except the connection that it leaves, and opens the next one before the FIN, waits for none.
"""

from __future__ import annotations

import numpy as np

from latpcap.tables.columnar.columns import Bools, Ints, known
from latpcap.tables.columnar.passes import ordered
from latpcap.tables.columnar.quantiles import GroupedValues
from latpcap.tables.connections import MISSING
from latpcap.tables.recording import Recording

MIN_CONNECTIONS = 3
"""Connections opened after a FIN that show how a host continues."""
SOON = ((1.0, 1 / 6), (0.6, 1 / 4), (0.3, 1.0))
"""How long a host that waits may pause after the FIN, by the time that took: the longer, the more regular its pauses
are (the spread behind the FIN by the spread behind the client's close)."""


def awaited_fins(recording: Recording, near: Ints, syn: Ints, closed: Ints) -> Ints:
    """When the server's FIN passed for which each connection's client waited; `MISSING` where it waited for none.

    `near` is the part of each connection's RTT between client and capture, in ns; `syn`: when its client opened it;
    `closed`: when its client closed the session, as the last thing on it. `MISSING` where it was not seen or did not.
    """
    connections = recording.connections
    half, hosts, fin = near // 2, connections.host.codes, connections.server_fin
    hung_up = (closed != MISSING) & (fin >= closed) & (fin <= round(recording.runtime_s * 1e9))
    until = np.full(len(fin), MISSING)
    if np.count_nonzero(hung_up) < MIN_CONNECTIONS:
        return until
    left, told = closed[hung_up] - half[hung_up], fin[hung_up] + half[hung_up]
    opened = np.where(syn == MISSING, MISSING, syn - half)
    following = _next(hosts, opened, hosts[hung_up], left)
    hasty = _alone(hosts, opened, hosts[hung_up], left) & (following != MISSING) & (following < told)
    waits = _host_waits(hosts[hung_up], left, told, following) & ~np.isin(hosts[hung_up], hosts[hung_up][hasty])
    until[hung_up] = np.where(waits, fin[hung_up], MISSING)
    return until


def _next(hosts: Ints, opened: Ints, host: Ints, after: Ints) -> Ints:
    """When each `host` opened a connection next `after` a time; `MISSING` for never."""
    order = ordered(hosts, opened)
    _, places = np.unique(np.concatenate((opened[order], after)), return_inverse=True)
    width = len(places) + 1
    keys = hosts[order] * width + places[: len(order)]
    found = np.searchsorted(keys, host * width + places[len(order) :], side="right")
    there = np.minimum(found, len(order) - 1)
    same = (found < len(order)) & (hosts[order][there] == host)
    return np.where(same, opened[order][there], MISSING)


def _alone(hosts: Ints, opened: Ints, host: Ints, left: Ints) -> Bools:
    """For each connection that its `host` left: was it the only one open there."""
    who, when = np.concatenate((hosts, host)), np.concatenate((opened, left))
    change = np.repeat((1, -1), (len(hosts), len(host)))
    order = ordered(who, when)
    total = np.cumsum(change[order])
    before = (total - change[order])[np.searchsorted(who[order], who[order])]
    open_then = np.empty_like(total)
    open_then[order] = total - before
    alone: Bools = open_then[len(hosts) :] == 0
    return alone


def _host_waits(hosts: Ints, left: Ints, told: Ints, opened: Ints) -> Bools:
    """For each connection: does its host wait for the FIN? All times are the client's."""
    count = int(hosts.max(initial=-1)) + 1
    followed = opened != MISSING
    late = followed & (opened >= told)
    later = np.bincount(hosts[late], minlength=count)
    often = (later >= MIN_CONNECTIONS) & (2 * later > np.bincount(hosts[followed], minlength=count))
    took, _ = _usual(hosts[late], (told - left)[late], count)
    pause, irregular = _usual(hosts[late], (opened - told)[late], count)
    _, otherwise = _usual(hosts[late], (opened - left)[late], count)
    soon = np.logical_or.reduce([(irregular <= most * otherwise) & (pause <= share * took) for most, share in SOON])
    patient: Bools = often & soon & (irregular < otherwise)
    return patient[hosts]


def _usual(hosts: Ints, lengths: Ints, count: int) -> tuple[Ints, Ints]:
    """The median of each host's lengths, and how far from it they are (median); -1 for none."""
    median = known(GroupedValues.of(hosts, lengths, count).quantile(0.5), -1.0).astype(np.int64)
    off = np.abs(lengths - median[hosts])
    return median, known(GroupedValues.of(hosts, off, count).quantile(0.5), -1.0).astype(np.int64)
