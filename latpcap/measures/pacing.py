"""Senders that pace (BBR, a fair queue): what they have ready leaves evenly over the round trip, not at once.

The core sums up how long segments came late though more was ready and no acknowledgment can have been waited for
(`core/src/stream/pace.rs`). A single late one may be a host that stood still; here is decided who paces.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.measures.tcp import INITIAL_WINDOW, MSS_BYTES
from latpcap.rtt import Estimate
from latpcap.tables.columnar.columns import constant, known
from latpcap.tables.recording import MISSING, Recording

__all__ = ["Pacing", "pacing"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST_NS = 500_000.0
"""A pace lets about 1 ms pass from burst to burst; hosts stand still for less."""
LEAST_RTT_NS = 2_000_000.0
"""On a nearer network all that a pace sends in a millisecond, which is one burst, takes a round trip or longer."""
OF_RTT = 0.1, 0.9
"""A pace takes about half of the RTT (BBR), a slow one a tenth; and less than all of it."""
MANY = 0.25
"""More than that of a sender's large messages leave so."""


MOSTLY, ALONE = 0.25, 0.75
"""Of the time that a message takes: below the one, it waits for rounds and production; above the other, for nothing
else."""


class Pacing(Struct, frozen=True):
    """How long (ns) the request and the response of each exchange were kept back by who paces; 0 for most."""

    requests: Floats
    responses: Floats
    messages: int = 0
    """How many large ones show it."""
    of: int = 0
    """Of so many that the same senders sent."""

    @property
    def shows(self) -> bool:
        """Somebody paces."""
        return self.messages > 0


def pacing(recording: Recording, rtt: Estimate) -> Pacing:
    """Find who paces: more than a quarter of what is larger than the initial window leaves so."""
    exchanges, connections = recording.exchanges, recording.connections
    late = exchanges.request_paced, exchanges.response_paced
    if not (late[0].any() or late[1].any()):
        none = constant(0.0, len(exchanges))
        return Pacing(none, none)
    rtt_ns = known(rtt.of_phases.baseline)[rtt.of_exchanges]
    answered = exchanges.response != MISSING
    spread = (exchanges.request_end - exchanges.request, exchanges.response_end - exchanges.response)
    sizes = exchanges.request_wire_bytes, np.where(answered, exchanges.response_wire_bytes, 0)
    senders = (hosts.codes[exchanges.connection] for hosts in (connections.host, connections.server))
    each = [_paced(*of_side, rtt_ns) for of_side in zip(late, spread, sizes, senders, strict=True)]
    (requests, *of_requests), (responses, *of_responses) = each
    messages, of = np.add(of_requests, of_responses).tolist()
    return Pacing(requests, responses, messages, of)


def _paced(late: Ints, spread: Ints, sizes: Ints, sender: Ints, rtt_ns: Floats) -> tuple[Floats, int, int]:
    """What is kept back by senders that pace, how many large messages of theirs show it, and how many there are."""
    large = sizes > INITIAL_WINDOW * MSS_BYTES
    least, most = OF_RTT
    shows = large & (rtt_ns >= LEAST_RTT_NS) & (late >= np.maximum(LEAST_NS, least * rtt_ns)) & (late <= most * rtt_ns)
    of_large, of_shows = (np.bincount(sender[rows], minlength=int(sender.max()) + 1) for rows in (large, shows))
    paces = (of_shows > 0) & (of_shows > MANY * of_large)
    mostly = paces[sender] & (late > MOSTLY * spread)
    by: Floats = np.where(mostly, late, 0).astype(float)
    alone = shows & (late > ALONE * spread)
    if alone.any():  # what a message takes beside its pace; all else of those that take several rounds is pace as well
        beside = float(np.median((spread[alone] - late[alone]) / sizes[alone]))
        by[mostly] = np.maximum(by[mostly], spread[mostly] - beside * sizes[mostly])
    return by, int(of_shows[paces].sum()), int(of_large[paces].sum())
