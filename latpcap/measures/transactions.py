"""Which exchanges belong to which transaction, so that round trips can be counted for each.

Where the server says after each answer whether a transaction is open (PostgreSQL's ReadyForQuery, the status in MySQL's
OK and EOF), that is the truth: a transaction runs from the request that opens it to the one that ends it. Elsewhere
(Firebird, Oracle) begins and ends tell: it runs from its begin to the next end, or without a begin from the end before
it. What lies behind the last end of such a connection may be one that goes on, or none: it is not counted.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Bools, Ints
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.recording import Recording


class Transactions(Struct, frozen=True):
    """The transactions of a recording, numbered from 0 in the order of connection and time."""

    of_exchange: Ints
    """-1 where an exchange is in none."""
    connection: Ints
    """The connection of each."""

    def __len__(self) -> int:
        return len(self.connection)


def transactions(recording: Recording) -> Transactions:
    """Tell the transactions apart."""
    exchanges = recording.exchanges
    first = exchanges.is_first
    status = recording.exchange_codes("transaction")
    told = np.bincount(exchanges.connection, status.codes >= 0, len(recording.connections))[exchanges.connection] > 0
    is_open = _is_open(exchanges, first, status.where(("open", "failed").__contains__))
    was_open = _before(is_open) & ~first
    inside, begins = is_open | was_open, is_open & ~was_open
    if not told.all():
        marked, opened = _marked(exchanges, first)
        inside, begins = np.where(told, inside, marked), np.where(told, begins, opened)
    inside &= ~exchanges.is_setup
    begins = inside & (begins | first | ~_before(inside))
    return Transactions(np.where(inside, np.cumsum(begins) - 1, -1), exchanges.connection[begins])


def _is_open(exchanges: Exchanges, first: Bools, told: Bools) -> Bools:
    """Whether a transaction is open behind each exchange, as the server says.

    PostgreSQL says it once for all requests that were sent together, behind the last: before that, only what is news
    counts, and what begins or ends one.
    """
    begins, ends = exchanges.begins_transaction, exchanges.ends_transaction
    goes_on = exchanges.wait.where("shared".__eq__) & ~first
    is_last = ~np.append(goes_on[1:], False)
    is_truth = first | is_last | (told != _before(told))
    known = is_truth | begins | ends
    value = np.where(is_truth, told, begins)
    rows = np.maximum.accumulate(np.where(known, np.arange(len(told)), 0))
    return value[rows]


def _marked(exchanges: Exchanges, first: Bools) -> tuple[Bools, Bools]:
    """Mark what lies between a begin and its end, or between two ends, and where each of these starts."""
    ends = exchanges.ends_transaction
    starts = first | _before(ends)
    part = np.cumsum(starts) - 1
    count = int(part.max(initial=-1)) + 1
    begun = np.full(count, -1)
    rows = np.flatnonzero(exchanges.begins_transaction)
    begun[part[rows][::-1]] = rows[::-1]  # the first of each part: those of nested ones belong to it
    ended = np.bincount(part, ends, count) > 0
    inside = np.where(begun[part] >= 0, np.arange(len(part)) >= begun[part], ended[part])
    return inside, starts


def _before(flags: Bools) -> Bools:
    """The flag of the exchange before each; false for the first."""
    before = columns.before(flags)
    before[:1] = False
    return before
