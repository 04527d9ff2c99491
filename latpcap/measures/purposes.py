"""What the round trips are for: a report that names statements only would hide blobs, fetches and prepares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from latpcap.tables.recording import SETUP_COMMANDS, STATEMENT_COMMANDS, Exchanges

__all__ = ["PURPOSES", "PurposeResult", "purpose_of", "purpose_results"]

PURPOSES = {
    "statements": "run a statement",
    "fetches": "fetch more rows",
    "blobs": "open, read or write blobs and LOBs",
    "prepares": "prepare or describe a statement",
    "transactions": "begin or end a transaction",
    "setup": "connect and log in",
    "pings": "ask whether the server is there",
    "unreadable": "are encrypted or were not captured",
    "others": "do something else",
}
"""What each purpose's round trips do, in words that finish `N round trips …`."""

_BLOB_COMMANDS = frozenset({"get_segment", "put_segment", "batch_segments", "seek_blob", "info_blob", "cancel_blob"})
_FETCH_COMMANDS = frozenset({"fetch", "stmt_fetch", "fetch_scroll"})
_PREPARE_COMMANDS = frozenset({"stmt_prepare", "prepare", "prepare_statement", "describe", "info_sql", "compile"})
_PING_COMMANDS = frozenset({"ping", "statistics"})
_TRANSACTION_WORDS = ("transaction", "commit", "rollback")


@dataclass(frozen=True, slots=True)
class PurposeResult:
    """How many exchanges and round trips serve one purpose."""

    purpose: str
    exchanges: int
    round_trips: int


def purpose_of(command: str) -> str:
    """The purpose of a command's round trips.

    >>> [purpose_of(command) for command in ("query", "open_blob2", "lob_read", "stmt_fetch", "commit", "tls")]
    ['statements', 'blobs', 'blobs', 'fetches', 'transactions', 'setup']
    """
    rules = {
        "setup": command in SETUP_COMMANDS,
        "statements": command in STATEMENT_COMMANDS,
        "fetches": command in _FETCH_COMMANDS,
        "blobs": command in _BLOB_COMMANDS or command.startswith("lob_") or "_blob" in command,
        "prepares": command in _PREPARE_COMMANDS,
        "transactions": any(word in command for word in _TRANSACTION_WORDS),
        "pings": command in _PING_COMMANDS,
        "unreadable": command in {"unreadable", "unknown"},
    }
    return next((purpose for purpose, applies in rules.items() if applies), "others")


def purpose_results(exchanges: Exchanges) -> Iterator[PurposeResult]:
    """The purposes that cost round trips, the costliest first."""
    names = exchanges.command.names
    counts = np.bincount(exchanges.command.codes, minlength=len(names))
    trips = np.bincount(exchanges.command.codes, exchanges.round_trips, len(names))
    totals: dict[str, list[int]] = {}
    for name, count, waits in zip(names, counts, trips, strict=True):
        total = totals.setdefault(purpose_of(name), [0, 0])
        total[0] += int(count)
        total[1] += int(waits)
    costliest = sorted(totals.items(), key=lambda item: (-item[1][1], item[0]))
    return (PurposeResult(purpose, count, waits) for purpose, (count, waits) in costliest if waits > 0)
