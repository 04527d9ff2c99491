"""Which rows of a recording share a file: those of one server on one day, as long as these are few.

Each file costs time and memory when it is read, however little is in it. So no table has more than `MAX_FILES` files in
all parts together, as far as the days allow: the servers with most exchanges keep files of their own, others share one
a day.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from arro3.core import Array, DataType
from msgspec import Struct

from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Codes, Ints, take
from latpcap.tables.dataset.layout import SEVERAL, day_of
from latpcap.tables.part.window import begins_of
from latpcap.tables.recording import Recording

MAX_FILES = 256
"""Files of a table, of all parts together."""
MAX_DAYS = 366
"""Days with files of their own, of each part: later ones share the file of the last, since clocks may be wrong."""
NOWHERE = np.iinfo(np.int64).min


class Places(Struct, frozen=True):
    """The file of each connection's rows."""

    of_stream: Codes
    """The server of each connection; only of databases."""
    folder: Ints
    """The number of each server's folder: that of its name, or one behind all for those that share."""

    @classmethod
    def of(cls, recording: Recording, parts: int = 1) -> Places:
        """Plan the files of a recording's rows, one of so many `parts`."""
        connections, rows = recording.all_connections_table, recording.database_rows
        server = columns.codes(connections, "server")
        stream = columns.column(connections, "stream").values.astype(np.int64)
        code = np.full(int(stream.max(initial=-1)) + 1, -1, np.int64)
        code[stream[rows]] = server.codes[rows]
        asked = columns.column(recording.exchange_columns("stream"), "stream").values
        opened = columns.column(connections, "start").values[rows]
        days = np.concatenate((day_of(opened), day_of(begins_of(recording))))
        folder = _shared(np.concatenate((code[stream[rows]], code[asked])), days, len(server.names), parts)
        return cls(Codes(code, server.names), folder)

    def servers_of(self, stream: Ints) -> Array:
        """The servers of rows of these connections."""
        return take(Array(self.of_stream.names, DataType.string()), self.of_stream.codes[stream])

    def files(self, stream: Ints, time: Ints) -> Iterator[tuple[int, str, Ints]]:
        """The rows of each file, with its day and the name of its folder, where rows are of these connections."""
        names = [*self.of_stream.names, SEVERAL]
        server = self.of_stream.codes[stream]
        days, day = np.unique(day_of(time), return_inverse=True)
        place = np.minimum(day, MAX_DAYS - 1) * len(names) + self.folder[server]
        order = np.argsort(place, kind="stable")
        order = order[server[order] >= 0]
        begins = np.flatnonzero(np.diff(place[order], prepend=NOWHERE))
        for rows in np.split(order, begins)[1:]:
            number, which = divmod(int(place[rows[0]]), len(names))
            yield int(days[number]), names[which], rows


def _shared(server: Ints, day: Ints, count: int, parts: int) -> Ints:
    """The folder of each server, where rows of these servers are of these days."""
    days = np.unique(day)
    pairs = np.unique(server * max(len(days), 1) + np.searchsorted(days, day))
    own = np.arange(count + 1)
    most = MAX_FILES // parts
    if len(pairs) <= most:
        return own
    of_server = np.bincount(pairs // len(days), minlength=count)
    busiest = np.argsort(-np.bincount(server, minlength=count), kind="stable")
    fits = np.cumsum(of_server[busiest]) <= most - len(days)
    own[busiest[~fits]] = count
    return own
