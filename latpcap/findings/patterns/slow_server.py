"""Slow server: the server's own work dominates, so a nearer database hardly helps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from latpcap.findings.dominant_part import dominated_by
from latpcap.findings.evidence import Evidence
from latpcap.findings.finding import Candidate, Pattern

FIX = "Make the statements cheaper for the server (plans, indexes, locks, disks); a faster network does not help."


MIN_SERVICE_S = 0.002
"""A server that answers faster than this on average is not slow, however near it is."""


UNLESS = " If there is a proxy in front of the server, the time that all responses share may be the network behind it."
"""Where nothing was answered at once, so that a network behind the host that answers cannot be excluded."""


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
    return dominated_by(evidence, "service_s", evidence.timeline.service_ns, said, not_its_s)


PATTERN = Pattern(
    code="slow-server",
    fix="",
    title="The server takes {share_of_runtime:.0%} of the time{without}",
    why="The client waits for the server's work, which takes as long at any RTT.",
    find=find,
)
