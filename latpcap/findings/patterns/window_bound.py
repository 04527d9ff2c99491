"""Window bound: a receiver takes little at once, so large transfers wait for acknowledgments, not for bandwidth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import NOTHING, Candidate, Pattern, effect_of
from latpcap.measures.windows import held_back

CLIENT_FIX = (
    "Give the client a larger receive window. Remove small buffer "
    "sizes from the driver's settings (tcpRcvBuf, receiveBufferSize, Socket Receive Buffer Size, RECV_BUF_SIZE, "
    "TcpRemoteBufferSize; SO_RCVBUF), so that the system can grow the window: net.ipv4.tcp_rmem on Linux, "
    "autotuninglevel on Windows. More bandwidth does not help."
)
SERVER_FIX = (
    "Give the server a larger receive window. Remove small "
    "receive buffers from its settings, or from those of the proxy in front of it (SO_RCVBUF, RECV_BUF_SIZE of Oracle, "
    "rcvbuf of a proxy), so that the system can grow the window: net.ipv4.tcp_rmem on Linux, autotuninglevel on "
    "Windows. More bandwidth does not help."
)
NEEDED = "A window of {needed_kb:,g} kB carries 1 Gbit/s at {rtt_ms:.3g} ms."
MIN_SHARE = 0.25
"""A window limits a job if it does so for at least this share of the time without think time or gaps of the capture."""
GIGABIT_BYTES_PER_MS = 125_000


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording at most: the side whose window takes more time."""
    held = held_back(evidence.recording, evidence.rtt, evidence.timeline.job)
    exchanges = evidence.exchanges
    parts = evidence.timeline.budget.parts()
    total_s = sum(seconds for name, seconds in parts.items() if name not in ("think_s", "unknown_s"))
    at_client = held.by_client.sum() >= held.by_server.sum()
    costs = held.by_client if at_client else held.by_server
    rows = np.flatnonzero(costs)
    seconds = min(float(costs.sum()) / 1e9, total_s)
    if len(rows) == 0 or seconds < MIN_SHARE * total_s:
        return
    longest = rows[np.argmax(costs[rows])]
    client, server = evidence.timeline.job.narrow_windows()
    window = (client if at_client else server)[exchanges.connection[longest]]
    rtt_ms = float(evidence.rtt.of_phases.baseline[evidence.rtt.of_exchanges[longest]]) / 1e6
    facts = {"seconds": seconds, "share": seconds / total_s, "side": "client" if at_client else "server"}
    facts |= {"window_kb": round(float(window) / 1000, 1), "mbit_per_s": round(float(window) * 8 / rtt_ms / 1000, 1)}
    facts |= {"needed_kb": round(GIGABIT_BYTES_PER_MS * rtt_ms / 1000), "rtt_ms": rtt_ms}
    statement = int(exchanges.fingerprint[longest])
    yield Candidate(
        shown=rows[exchanges.fingerprint[rows] == statement],
        effect=effect_of(evidence, NOTHING, np.empty(0, np.int64)),
        fingerprint=statement,
        facts=facts,
        fix=f"{CLIENT_FIX if at_client else SERVER_FIX} {NEEDED.format(**facts)}",
    )


PATTERN = Pattern(
    code="window-bound",
    fix="",
    title="The {side}'s receive window of {window_kb:,g} kB limits transfers to {mbit_per_s:,g} Mbit/s, "
    "{share:.0%} of the time",
    why="Each window of data costs a round trip, whatever the bandwidth.",
    find=find,
    rule="transfers larger than a receive window that cannot grow ([model.md](model.md), narrow windows), with half of "
    "it or more in every round trip, take a quarter of the time. Names the side, the window, its rate (window ÷ RTT) "
    "and what 1 Gbit/s needs",
    example="A receive buffer of 64 kB at an RTT of 20 ms: no transfer is faster than 26 Mbit/s.",
    is_not="a lack of bandwidth: more bandwidth changes nothing.",
    fixes={"client": CLIENT_FIX, "server": SERVER_FIX},
)
