"""The core's tables as numpy columns: database connections and their exchanges, numbered so that they fit together.

Times are nanoseconds since `Recording.start_ns`, as integers: exact, and small enough for floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from arro3.core import Array, Table
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from latpcap import _core
from latpcap.tables.columnar import columns, passes
from latpcap.tables.columnar.columns import Bools, Codes, Floats, Ints, NullableArray
from latpcap.tables.columnar.scratch import Scratch, build_column
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.connections import MISSING, TIMES, Connections
from latpcap.tables.exchanges import Exchanges
from latpcap.tables.host_curve import HostCurve
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.part.selection import Selected

MIN_THREADED_EXCHANGES = 1 << 14
"""For fewer exchanges a thread saves less than the 4 ms that loading Python's pool of threads takes."""
MAX_FILE_GAP_NS = 60_000_000_000
"""Files that follow each other within this time adjoin."""


class Gap(Struct, frozen=True):
    """A time without recording between two files."""

    before: int
    """Rows of `captures_table`: the file that ends before it, and the one that begins behind it."""
    after: int
    begin: int
    end: int


class Recording:
    """One recording's tables: as the core gives them (Arrow), and as numpy columns of what counts."""

    def __init__(
        self,
        source: Any,
        selected: Selected | None = None,
        whole: Recording | None = None,
        scratch: Scratch | None = None,
        rename: Callable[[Any], Any] | None = None,
    ) -> None:
        """Take over the tables of a `latpcap._core.Recording`, or of a dataset, which is loaded at its first use.

        `selected` says what was selected. A window has the `whole` recording of its connections, from which more is
        known of them. What does not fit in memory goes to `scratch`. `rename` puts other names into the core's
        recording, once something is asked for that shows them: recordings that are read until then, and share their
        names, are known by then.
        """
        self._source, self._rename = source, rename
        self.scratch = scratch
        self.selected = selected
        self.whole = whole

    @cached_property
    def is_worth_threads(self) -> bool:
        """Computing with it takes longer than starting a thread, and there is room to compute two things at once."""
        return self.scratch is None and len(self.exchanges) > MIN_THREADED_EXCHANGES

    @cached_property
    def read(self) -> _core.Recording:
        """The core's recording, with the names that were read."""
        read: _core.Recording = self._source.load() if self._is_unread else self._source
        return read

    @cached_property
    def core(self) -> _core.Recording:
        """The core's recording, with the names that are shown."""
        return self._rename(self.read) if self._rename else self.read

    def part(self, read: _core.Recording, whole: Recording | None = None) -> Recording:
        """Some of its rows, picked out of `read`, with the names that are shown here."""
        return Recording(read, None, whole, self.scratch, self._rename)

    @cached_property
    def period(self) -> tuple[int, int] | None:
        """When it begins and ends, in ns since 1970, where it is a window."""
        return None if self._is_unread else self.read.period

    @property
    def _is_unread(self) -> bool:
        """It is a dataset that is not loaded."""
        return "read" not in self.__dict__ and hasattr(self._source, "load")

    @cached_property
    def without_rows(self) -> Recording:
        """The recording, of which only connections are read yet, where they lie apart from their rows."""
        return self.reading_only(np.empty(0, np.int64))

    def reading_only(self, streams: Ints) -> Recording:
        """The recording, of which rows of other connections are not read, where nothing is read yet."""
        if not self._is_unread:
            return self
        part = self.part(self._source.load(streams))
        part.exchange_count = self.exchange_count
        return part

    @cached_property
    def captures_table(self) -> Table:
        """One row a file."""
        return Table.from_arrow((self._source if self._is_unread else self.core).captures())

    @cached_property
    def notes_table(self) -> Table:
        """The core's notes."""
        return Table.from_arrow(self.core.notes())

    @cached_property
    def notes(self) -> list[tuple[str, str, str, int, int | None]]:
        """The code, severity, message and count of each note, and its first frame where known."""
        return columns.notes(self.notes_table)

    @cached_property
    def host_curve(self) -> HostCurve | None:
        """How much later the host that recorded answers after a rest; `None` where the captures do not say so."""
        return HostCurve.of(self.core.host_curve())

    @cached_property
    def curve_hosts(self) -> tuple[bool, bool]:
        """Whether `host_curve` holds for every client, and whether for every server."""
        if self.host_curve is None:
            return False, False
        holds_for = self.host_curve.holds_for
        clients, servers = (
            {host_of(text) for text in self.said(side).texts() if text} for side in ("client", "server")
        )
        return bool(clients) and all(map(holds_for, clients)), bool(servers) and all(map(holds_for, servers))

    @cached_property
    def is_relayed(self) -> bool:
        """A relay recorded it, or a part of it."""
        return any(code == "relayed" for code, *_ in self.notes)

    @cached_property
    def all_connections_table(self) -> Table:
        """Every TCP connection, database traffic or not."""
        return Table.from_arrow(self.core.connections())

    @cached_property
    def taps_rows(self) -> list[dict[str, Any]]:
        """One row for each two taps that saw the same packets of a path."""
        rows: Any = Table.from_arrow(self.core.taps()).to_struct_array()
        return [*rows.to_pylist()]

    @property
    def exchanges_table(self) -> Table:
        """One row an exchange, with every column: made anew each time."""
        return Table.from_arrow(self.core.exchanges())

    def exchange_columns(self, *names: str, rows: tuple[int, int] | None = None) -> Table:
        """Some columns of the same, and of some rows, texts as numbers where the core has them so: likewise."""
        asked = ([*names],) if rows is None else ([*names], rows)
        return Table.from_arrow(self.core.exchanges(*asked))

    def exchange_column(self, name: str, rows: tuple[int, int] | None = None) -> NullableArray:
        """One of them, of numbers or times."""
        return columns.column(self.exchange_columns(name, rows=rows), name)

    def exchange_codes(self, name: str, rows: tuple[int, int] | None = None) -> Codes:
        """One of them, of texts."""
        return columns.codes(self.exchange_columns(name, rows=rows), name)

    @cached_property
    def statements_table(self) -> Table:
        """Texts by id, and what they do where they are fingerprints."""
        return Table.from_arrow(self.core.statements())

    @cached_property
    def statement_kinds(self) -> Codes:
        """The kind of each fingerprint, by id; -1 for another text."""
        return columns.codes(self.statements_table, "kind")

    @cached_property
    def statement_texts(self) -> Array:
        """Text by id."""
        text = self.statements_table.column("text")
        return text.chunk(0) if text.num_chunks == 1 else text.combine_chunks()

    @cached_property
    def statements(self) -> Texts:
        """Statement texts to look words up in."""
        return Texts.of(self.statement_texts)

    @cached_property
    def tag_texts(self) -> list[str]:
        """Tags by number that name the code that sent statements: `key='value'`, commas between, URL-encoded."""
        return [text or "" for text in columns.texts(Table.from_arrow(self.core.tags()), "text")]

    @cached_property
    def database_rows(self) -> Ints:
        """Rows of the connection table that are database traffic."""
        return self.read.database_rows()

    @property
    def legs(self) -> _core.Legs | None:
        """Both sides of its proxies, where some are certain."""
        return self.core.legs(None if self.whole is None else self.whole.core)

    def connection_column(self, name: str) -> NullableArray:
        """A column of the connection table, of the database connections."""
        return columns.column(self.all_connections_table, name).picked(self.database_rows)

    def said(self, name: str) -> Codes:
        """A text column of the connection table, of the database connections."""
        return columns.codes(self.all_connections_table, name).picked(self.database_rows)

    def combinations(self, *names: str, connections: Ints | None = None) -> list[tuple[str | None, ...]]:
        """Distinct values of several text columns together, of all database connections or some; the most usual first.

        A connection that is in `connections` several times counts as often.
        """
        columns_of = [self.said(name) if connections is None else self.said(name).picked(connections) for name in names]
        order, starts = passes.grouped(*(each.codes for each in columns_of))
        firsts = order[starts[:-1]][np.argsort(-np.diff(starts), kind="stable")]
        return list(zip(*(each.picked(firsts).texts() for each in columns_of), strict=True))

    @cached_property
    def timing_only(self) -> Bools:
        """The database connections of which nothing but times is known: what they say could not be read."""
        return self.connection_column("timing_only").values.astype(bool)

    @cached_property
    def start_ns(self) -> int:
        """First packet of the first database connection, in ns since 1970; where it is a window, its begin."""
        return self.read.start_ns

    @cached_property
    def runtime_s(self) -> float:
        """From then to the last packet that carries data of one; where it is a window, to its end."""
        return self.read.runtime_ns / 1e9

    @cached_property
    def gaps(self) -> list[Gap]:
        """Gaps between files: packets that passed then were not recorded."""
        since = self.start_ns
        return [replace(gap, begin=gap.begin - since, end=gap.end - since) for gap in self.file_gaps]

    @cached_property
    def file_gaps(self) -> list[Gap]:
        """These gaps in ns since 1970.

        A file begins where the one before it ended, or as soon as there is something to record: a gap is one that lasts
        for longer than a minute and than both of its files.
        """
        begin, end = (columns.column(self.captures_table, name).ints(MISSING) for name in ("first_time", "last_time"))
        found, latest = list[Gap](), -1
        for row in np.argsort(begin, kind="stable").tolist():
            if begin[row] == MISSING:
                continue
            if latest >= 0:
                longest = max(end[latest] - begin[latest], end[row] - begin[row], MAX_FILE_GAP_NS)
                if begin[row] - end[latest] > longest:
                    found.append(Gap(latest, row, int(end[latest]), int(begin[row])))
            if latest < 0 or end[row] > end[latest]:
                latest = row
        return found

    @cached_property
    def recorded_s(self) -> float:
        """The runtime without what lies between files that do not adjoin."""
        runtime_ns = round(self.runtime_s * 1e9)
        apart = sum(max(min(gap.end, runtime_ns) - max(gap.begin, 0), 0) for gap in self.gaps)
        return max(self.runtime_s - apart / 1e9, 0.0)

    @cached_property
    def clock_stepped_s(self) -> float:
        """By how much the capture's clock was set, forwards and backwards, as the database connections show."""
        stepped = self.connection_column("clock_stepped_ns").values
        return float(stepped.sum(dtype=float)) / 1e9

    @cached_property
    def connections(self) -> Connections:
        """The database connections."""
        client, database_column = self.said("client"), self.connection_column
        return Connections(
            stream=self.connection_column("stream").values.astype(np.int64),
            client=client,
            host=client.renamed(host_of),
            server=self.said("server"),
            protocol=self.said("protocol"),
            server_first=self.connection_column("server_first").values,
            **{name: self.since_start(database_column(column)) for name, column in TIMES.items()},
        )

    @cached_property
    def exchanges(self) -> Exchanges:
        """The exchanges; the core makes them of database connections only."""
        return Exchanges(self)

    @cached_property
    def exchange_count(self) -> int:
        """How many they are: a dataset says so without reading them."""
        return (self._source if self._is_unread else self.read).exchange_count

    def rtts(self, given_ms: float | None = None) -> _core.Rtts:
        """Its RTTs; of a window those of the whole, which knows more of each path. `given_ms` overrules them."""
        if self.whole is None:
            return self.core.rtts(given_ms)
        return self.whole.rtts(given_ms).within(self.whole.core, self.core)

    def rtts_by_interval(
        self, known: _core.Rtts, first_ns: int, width_ns: int, count: int
    ) -> tuple[Ints, Floats, Floats]:
        """How many RTTs were measured directly in each interval, the least and the middle one (ns)."""
        return known.intervals(self.core, first_ns, width_ns, count)

    def connection_of(self, stream: NDArray[Any]) -> Ints:
        """Index into `connections` of each stream number; -1 for those that are none."""
        streams = self.connection_column("stream").values
        highest = max(int(streams.max(initial=0)), int(stream.max(initial=0)))
        index = np.full(highest + 1, -1, np.int64)
        index[streams] = np.arange(len(streams))
        return build_column(self.scratch, len(stream), np.int64, lambda rows: index[stream[rows]])

    def since_start(self, times: NullableArray) -> Ints:
        """Timestamps as ns since `start_ns`; `MISSING` for null."""
        start_ns = self.start_ns

        def shifted(rows: slice) -> Ints:
            since: Ints = times.values[rows] - start_ns
            return since if times.valid is None else np.where(times.valid[rows], since, MISSING)

        return build_column(self.scratch, len(times.values), np.int64, shifted)
