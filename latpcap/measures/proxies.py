"""Whether a proxy, and a second network, stand behind the host that answers.

A proxy acknowledges at once and answers when the server behind it has: what it adds is in every answer alike, the
second network's round trip. A server answers what gives it nothing to do (a validation, `SET`, `BEGIN`) within a
fraction of a millisecond, however slow its statements are. So where not even such an answer came near the RTT, and the
fastest answers are all about as late, the time is rather a network's than the server's. See docs/proxies.md.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct

from latpcap.rtt import Estimate
from latpcap.rtt.baselines import Reason
from latpcap.tables.columnar import passes
from latpcap.tables.columnar.columns import Bools, Codes, Floats, Ints
from latpcap.tables.connections import Connections
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording
from latpcap.units import format_ms

MIN_ANSWERS = 20
"""Fewer tell nothing of how fast a server can answer."""
MIN_DELAY_NS = 1e6
"""A host that answers trivial statements this long after the RTT waits for something, such as another server."""
MIN_DELAY_SHARE = 0.2
"""A shorter delay, as a share of the RTT, may be the host's own."""
MAX_KIND_RATIO = 1.3
"""A network adds about the same to all answers: the fastest of each kind differ by at most this factor."""
FLOOR_QUANTILE = 0.02
"""Answers below this quantile are exceptions."""
MIN_READS, MIN_EACH = 3, 5
"""Without trivial statements, this many different queries, each this often, show the same."""
MIN_LOGIN_NS = 4e5
"""PostgreSQL starts a process for each connection, so a faster login is answered by a pooler."""
TRIFLES = ("begin", "session", "ping")
PROXY_PORTS = {
    ("mysql", "4006"): "MaxScale",
    ("mysql", "4008"): "MaxScale",
    ("mysql", "6032"): "ProxySQL's administration",
    ("mysql", "6033"): "ProxySQL",
    ("mysql", "6446"): "MySQL Router",
    ("mysql", "6447"): "MySQL Router",
    ("mysql", "6450"): "MySQL Router",
    ("postgresql", "6432"): "PgBouncer or Odyssey",
    ("postgresql", "9999"): "Pgpool-II",
}
"""The ports on which proxies listen unless set otherwise, by protocol: their own manuals."""


class ProxySuspect(Struct, frozen=True):
    """A path whose server seems to be behind another network."""

    path: int
    server: str
    rtt_ms: float
    floor_ms: float
    """The time that each answer takes beyond the RTT."""
    answers: int
    """How many took so long."""
    trifles: int
    """Answers to what gives a server nothing to do; 0 where only queries tell."""
    sure: bool
    """A server can hardly be like this; otherwise it may as well take as long for each of its few statements."""
    counted_ms: float | None
    """The RTT that holds that network, too: of two readings the one that counts."""

    @property
    def seconds(self) -> float:
        """How much of what looks like the server's time may be a network's, one answer after the other."""
        return 0.0 if self.counted_ms else self.answers * self.floor_ms / 1e3

    @property
    def text(self) -> str:
        """The observation and its possible meaning."""
        even = "even BEGIN, SET and validation queries take" if self.trifles else "every query takes"
        looks = f"is part of the RTT of {format_ms(self.counted_ms)}" if self.counted_ms else "looks like service time"
        return (
            f"{self.server} is probably a proxy, and the network behind it {looks}: {even} at least "
            f"{format_ms(self.floor_ms)} more than the RTT of {format_ms(self.rtt_ms)}"
        )


def hidden_networks(recording: Recording, rtt: Estimate) -> tuple[ProxySuspect, ...]:
    """The paths with one, in their order."""
    exchanges = recording.exchanges
    alone = (exchanges.round_trips == 1) & exchanges.complete & ~exchanges.is_setup & exchanges.wait.where("own".__eq__)
    rows = np.flatnonzero(alone)
    if len(rows) < MIN_ANSWERS:
        return ()
    order, starts = passes.grouped(rtt.paths.of_connection[exchanges.connection[rows]])
    phases = rtt.of_phases
    either = phases.reason == Reason.SPLIT_SYN  # a host on the way answers, or the server is slow: asked here
    nearest: Floats = np.where(either, np.fmin(phases.handshake, phases.in_stream_median), phases.baseline)
    high: Floats = np.where(either, nearest, phases.high)
    waited, is_ping, logins = exchanges.waited, exchanges.is_for("ping"), _logins(recording.connections, exchanges, rtt)
    found = []
    for first, last in pairwise(starts.tolist()):
        at = rows[order[first:last]]
        of_phase = rtt.of_exchanges[at]
        phase, counts = passes.counted(of_phase)
        usual, late = _median(nearest[phase], counts), waited[at] - high[of_phase]
        if (phases.reason[phase] == Reason.FLOOR).all():
            continue  # no RTT was measured: an answer was as quick as the bound
        floor = _floor(late if is_ping[at].all() else late[~is_ping[at]], usual)
        if floor is None:
            continue
        kind, purpose = exchanges.kind.picked(at), exchanges.purpose.picked(at)
        trifle = (kind.where(TRIFLES.__contains__) | purpose.where(TRIFLES.__contains__)) & ~is_ping[at]
        query = np.where(kind.where("read".__eq__), exchanges.fingerprint[at], -1)
        sure = _is_sure(late, trifle, query, floor)
        if sure is None:
            continue
        number = int(rtt.paths.of_connection[exchanges.connection[at[0]]])
        sure = sure or bool((logins[0] == number).any() and _median(logins[1][logins[0] == number]) < MIN_LOGIN_NS)
        beyond = floor + _median(high[phase], counts) - usual
        counted = (phases.baseline > nearest + MIN_DELAY_NS / 2)[phase].all()
        held = _median(phases.baseline[phase], counts) / 1e6 if counted else None
        server, trifles = rtt.paths.server[number], int(trifle.sum())
        found.append(ProxySuspect(number, server, usual / 1e6, beyond / 1e6, len(at), trifles, sure, held))
    return tuple(found)


def on_proxy_ports(recording: Recording) -> Codes:
    """The proxy whose usual port each database connection goes to; none for most."""
    servers, protocol = recording.said("server"), recording.connections.protocol
    count = max(len(servers.names), 1)
    keys, index = np.unique(protocol.codes.astype(np.int64) * count + servers.codes, return_inverse=True)
    ports = ((protocol.names[key // count], servers.names[key % count].rpartition(":")[2]) for key in keys.tolist())
    names = sorted(set(PROXY_PORTS.values()))
    of_pair = [names.index(PROXY_PORTS[port]) if port in PROXY_PORTS else -1 for port in ports]
    return Codes(np.array(of_pair, np.int64)[index.reshape(-1)], names)


def _logins(connections: Connections, exchanges: Exchanges, rtt: Estimate) -> tuple[Ints, Floats]:
    """The paths of PostgreSQL's logins that can be read, and what each took of its own (ns)."""
    readable = connections.protocol.where("postgresql".__eq__)[exchanges.connection]
    rows = np.flatnonzero(readable & exchanges.command.where("authenticate".__eq__) & exchanges.complete)
    travelled = exchanges.round_trips[rows] * rtt.of_phases.baseline[rtt.of_exchanges[rows]]
    return rtt.paths.of_connection[exchanges.connection[rows]], exchanges.waited[rows] - travelled


def _floor(asked: Floats, rtt: float) -> float | None:
    """How late even the fastest answers of a path are (ns); `None` where one of them was quick.

    Pings do not count, which a proxy may answer itself.
    """
    if len(asked) < MIN_ANSWERS or not rtt >= 0:
        return None
    floor = float(np.quantile(asked, FLOOR_QUANTILE, method="lower"))
    few = (
        floor < max(MIN_DELAY_NS, MIN_DELAY_SHARE * rtt)
        or np.quantile(asked, 0.1, method="lower") > MAX_KIND_RATIO * floor
    )
    return None if few else floor


def _is_sure(late: Floats, trifle: Bools, query: Ints, floor: float) -> bool | None:
    """Answers are as late whatever was asked; `None` where one of the trifles was quick."""
    if trifle.any():
        trifles = late[trifle]
        quick = float(np.quantile(trifles, 0.25, method="lower"))
        return None if trifles.min() < floor / MAX_KIND_RATIO else quick <= MAX_KIND_RATIO * floor
    fastest = [
        float(np.quantile(late[query == each], 0.1, method="lower"))
        for each, count in zip(*passes.counted(query), strict=True)
        if each >= 0 and count >= MIN_EACH
    ]
    return len(fastest) >= MIN_READS and max(fastest) <= MAX_KIND_RATIO * min(fastest)


def _median(values: Floats, counts: Ints | None = None) -> float:
    """The upper one of two in the middle, each counted once or so often.

    Numpy's own loads its masked arrays, which takes long for a small capture.
    """
    order = np.argsort(values)
    so_far = np.cumsum(np.ones(len(values), int) if counts is None else counts[order])
    return float(values[order[np.searchsorted(so_far, so_far[-1] // 2, side="right")]])
