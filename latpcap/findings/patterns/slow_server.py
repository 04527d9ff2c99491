"""Slow server: the server's own work dominates, so a nearer database hardly helps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.dominant_part import dominated_by
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern
from latpcap.units import counted, format_s

FIX = "Speed up the statements on the server (plans, indexes, locks, disks); a faster network does not help."
LOCKED = (
    "Shorten the waits for locks: keep transactions short, with no application work between their statements, change "
    "contended rows last, and take locks in a fixed order. A transaction of several round trips holds its locks longer "
    "at a higher RTT."
)
"""Advice where most of the time is a wait for locks."""

MIN_SERVICE_S = 0.002
"""A server that answers faster than this on average is not slow, however near it is."""


UNLESS = " If a proxy stands in front of the server, the time common to all responses may be the network behind it."
"""Caveat where no answer came at once, so that a network behind the host that answers cannot be excluded."""


def find(evidence: Evidence, _: int | None) -> Iterator[Candidate]:
    """One candidate a recording at most. The answers of a pipeline, which shares one round trip, are many.

    What is rather the network behind a proxy than the server's time is no reason.
    """
    exchanges = evidence.exchanges
    answers = np.maximum(exchanges.round_trips, exchanges.wait.where("shared".__eq__))
    if evidence.timeline.budget.service_s < MIN_SERVICE_S * max(int(answers.sum()), 1):
        return iter(())
    hidden = evidence.hidden_networks
    not_its_s = sum(each.seconds for each in hidden if each.sure)
    said = FIX + (UNLESS if any(not each.sure for each in hidden) else "")
    locks = evidence.lock_waits
    if not locks.is_most_of(evidence.timeline.budget.service_s):
        return dominated_by(evidence, "service_s", evidence.timeline.service_ns, said, not_its_s, waits="")
    waits = f", {format_s(locks.seconds)} of that in {counted(len(locks.rows), 'wait')} for locks"
    facts = {"waits": waits, "lock_waits": len(locks.rows), "locked_s": locks.seconds}
    return dominated_by(evidence, "service_s", evidence.timeline.service_ns, LOCKED, not_its_s, **facts)


PATTERN = Pattern(
    code="slow-server",
    fix="",
    title="The server takes {share_of_runtime:.0%} of the time{without}{waits}",
    why="The client waits for the server, which takes as long at any RTT.",
    find=find,
    rule="service is half of the time without think time, and 2 ms per response (a pipeline has many in one round "
    "trip). Lock waits are named if half of it: failures by a conflict, and responses after 10 ms or more that come "
    "within 1 ms of another transaction's conflict or end (3 times as often as by chance)",
    example="Each statement takes 30 ms at the server, at an RTT of 0.5 ms.",
    is_not="the network, unless a proxy answers for a server that is far away (`proxy-likely`).",
    fixes={"": FIX, "waits for locks": LOCKED},
)
