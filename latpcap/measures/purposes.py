"""The purposes of round trips: a report that names statements only would hide blobs, fetches and prepares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from latpcap.tables.exchanges import Exchanges

PURPOSES = {
    "statements": "run statements",
    "fetches": "fetch more rows",
    "blobs": "open, read or write blobs and LOBs",
    "prepares": "prepare, describe or close statements",
    "transactions": "begin or end transactions",
    "setup": "log in, set up TLS",
    "pings": "check whether the server responds",
    "unreadable": "encrypted or not captured",
    "others": "other commands",
}
"""The work of each purpose's round trips, in words that finish `N round trips …`."""

_GROUPS = {
    "execute": "statements",
    "fetch": "fetches",
    "blob": "blobs",
    **dict.fromkeys(("prepare", "describe", "close"), "prepares"),
    **dict.fromkeys(("begin", "end", "transaction"), "transactions"),
    "setup": "setup",
    "ping": "pings",
    "unreadable": "unreadable",
}
"""The core's purposes in the reports' words; all that is missing here does something else."""


class PurposeResult(Struct, frozen=True):
    """How many exchanges and round trips serve one purpose."""

    purpose: str
    exchanges: int
    round_trips: int


def purpose_results(exchanges: Exchanges) -> Iterator[PurposeResult]:
    """The purposes that cost round trips, sorted by cost."""
    names = exchanges.purpose.names
    counts = np.bincount(exchanges.purpose.codes, minlength=len(names))
    trips = np.bincount(exchanges.purpose.codes, exchanges.round_trips, len(names))
    totals: dict[str, list[int]] = {}
    for name, count, waits in zip(names, counts, trips, strict=True):
        total = totals.setdefault(_GROUPS.get(name, "others"), [0, 0])
        total[0] += int(count)
        total[1] += int(waits)
    by_cost = sorted(totals.items(), key=lambda item: (-item[1][1], item[0]))
    return (PurposeResult(purpose, count, waits) for purpose, (count, waits) in by_cost if waits > 0)
