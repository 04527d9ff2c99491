"""`Capture`: one recording, its tables, its measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from latpcap.display import ReprMixin, shown_by
from latpcap.errors import NoDatabaseTraffic, UsageError
from latpcap.findings.what_if import Fix, WhatIf, parse_fix
from latpcap.measures.intervals import Intervals
from latpcap.measures.options import GROUPINGS, IDLE_S, TaskBy
from latpcap.projection.assumptions import Conditions
from latpcap.projection.project import DEFAULT_LADDER_MS, Projection
from latpcap.projection.scope import moves
from latpcap.quantities import (
    Duration,
    Rtts,
    bits_per_s,
    kilometres,
    left_of_bytes,
    milliseconds,
    part,
    receive_window,
    rtts_ms,
    seconds,
    share,
)
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.captures import CaptureFile, capture_files
from latpcap.result.errors import ErrorsResult
from latpcap.result.errors_at_tcp import with_connections
from latpcap.result.intervals import IntervalsResult, all_of, interval_table
from latpcap.tables.columnar.table import Table
from latpcap.tables.dataset.manifest import ReadWith
from latpcap.tables.part.selected import select
from latpcap.tables.part.selection import Selected, Selection
from latpcap.tables.reading import sources
from latpcap.tables.recording import Recording
from latpcap.units import (
    DEFAULT_MEMORY_BYTES,
    QUERY_TIMEOUT_S,
    RttIs,
    check_rtt_is,
    counted,
    fibre_ms,
    format_given_ms,
)

if TYPE_CHECKING:
    from latpcap.measures.charts import Deltas, Timeline
    from latpcap.projection.by_connections import ProjectionGrid
    from latpcap.result.checks.gates import Gates

shown_by("latpcap.report.notebook", "latpcap.report.plot", "latpcap.report.prompt")

TABLES = (
    "exchanges",
    "connections",
    "statements",
    "findings",
    "errors",
    "tasks",
    "intervals",
    "health",
    "captures",
    "rtt_samples",
    "taps",
)
"""The tables of a `Capture`, as its attributes, the tables of SQL and the commands that write them are called."""


DISTANCE_TOLERANCE = 0.05
"""A written distance and the speed of light in a fibre are known as well as this."""
MAX_FILES_NAMED = 3
"""Files that the repr of a `Capture` names."""
INTERNAL = frozenset({"errors_result", "inputs", "measures", "moved", "recording"})
"""Attributes of a `Capture` for the commands: nobody at a prompt looks for them."""


class CaptureOptions(Struct, frozen=True):
    """How a capture was read, as far as its results are asked for that."""

    think_s: float = 1.0
    rtt_baseline_ms: float | None = None
    rtt_is: RttIs = "ping"
    memory: int = DEFAULT_MEMORY_BYTES
    read_with: ReadWith = ReadWith()
    inputs: Sequence[tuple[str, str]] = ()
    """The inputs: `capture` or `key log`, and its path."""


class Capture(ReprMixin):
    """One recording: tables of what was seen (`exchanges`, `connections`, `statements`, …) and what follows from it."""

    def __init__(self, recording: Recording, asked: CaptureOptions = CaptureOptions()) -> None:  # noqa: B008 (frozen)
        """Wrap `recording`; use `latpcap.read` to make one from files."""
        self.recording = recording
        """The tables of the core."""
        self._asked = asked

    def __repr__(self) -> str:
        first = ", ".join(str(row["path"]) for row in self.captures.to_dicts(MAX_FILES_NAMED))
        more = len(self.captures) - MAX_FILES_NAMED
        files = f"{first} and {more:,} more" if more > 0 else first
        connections = counted(len(self.recording.database_rows), "connection")
        return f"<latpcap.Capture {files}: {connections}, {counted(len(self.recording.exchanges), 'exchange')}>"

    def _repr_html_(self) -> str:
        if not self._has_traffic:
            return self.health._repr_html_()
        from latpcap.report.notebook import page_within

        return page_within(self.measures)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The report as a page within the notebook; where that is not shown, its verdict."""
        said = f"\n{self.measures.analyze().text}" if self._has_traffic else ""
        return {"text/html": self._repr_html_(), "text/plain": f"{self!r}{said}"}

    def select(
        self,
        *,
        stream: Any = None,
        client: Any = None,
        server: Any = None,
        user: Any = None,
        database: Any = None,
        application: Any = None,
        protocol: Any = None,
        start: Any = None,
        end: Any = None,
    ) -> Capture:
        """Return a part of this capture, without reading it again: of some connections, or some time.

        Each takes what the option of the same name does (`stream="0,3-5"`, `server=":3306"`, `user="app*"`), or several
        of these, any of which may hold; different ones must all hold. `start` and `end` (`--from` and `--to`) also take
        a `datetime` (without a zone: UTC) or, since the first packet, a `timedelta`. See docs/tables.md.

        Raises `NothingSelected` where nothing is; the message says what there is.

        >>> capture.select(application="web", server="10.0.0.5:3306").analyze()  # doctest: +SKIP
        """
        selection = Selection.of(
            stream=stream,
            client=client,
            server=server,
            user=user,
            database=database,
            application=application,
            protocol=protocol,
            start=start,
            end=end,
        )
        return Capture(select(self.recording, selection), self._asked)

    @property
    def selected(self) -> Selected | None:
        """Return the part of the captures that was selected; `None` for all."""
        return self.recording.selected

    @property
    def files(self) -> tuple[CaptureFile, ...]:
        """The files, with what they hold: their length and SHA-256."""
        return tuple(capture_files(self.recording))

    @property
    def inputs(self) -> Sequence[tuple[str, str]]:
        """List what it was read from: `capture` or `key log`, and its path."""
        return self._asked.inputs

    def _paths(self) -> list[str]:
        """The captures as errors may name them."""
        files = [path for what, path in self.inputs if what == "capture" and path != "-"]
        return [] if self._asked.read_with.pseudonymised else [sources.shown(path) for path in files]

    @property
    def _has_traffic(self) -> bool:
        return len(self.recording.database_rows) > 0

    @cached_property
    def measures(self) -> Measures:
        """Return the results' measures; `NoDatabaseTraffic` where there is none."""
        if not self._has_traffic:
            from latpcap.measures.traffic import unanswered_ports, why_none

            raise NoDatabaseTraffic(
                why_none(self.recording, self._paths()), let_in=not unanswered_ports(self.recording)
            )
        return Measures(
            self.recording,
            think_s=self._asked.think_s,
            rtt_baseline_ms=self._asked.rtt_baseline_ms,
            decode_as=self._asked.read_with.decode_as,
            rtt_is=self._asked.rtt_is,
        )

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in INTERNAL]

    # --- results -----------------------------------------------------------------------------------------------------

    def analyze(
        self,
        rtt_ms: Rtts | None = None,
        within_s: Duration | None = None,
        *,
        move: Mapping[str, Duration] | None = None,
    ) -> Analysis:
        """Return the whole result: verdict, health, budget, connections, statements, projection.

        `rtt_ms`, `within_s` and `move` are those of `project`.

        Raises `NoDatabaseTraffic` where there is none.
        """
        asked, conditions = self.moved(rtts_ms(rtt_ms), move)
        return self.measures.analyze(asked, _or_none(within_s, seconds), conditions)

    def project(
        self,
        rtt_ms: Rtts | None = None,
        within_s: Duration | None = None,
        *,
        bandwidth_bps: float | str | None = None,
        loss: float | str | None = None,
        jitter_ms: Duration = 0.0,
        connections: int | None = None,
        distance_km: float | str | None = None,
        rtt_is: RttIs | None = None,
        move: Mapping[str, Duration] | None = None,
        service: float | str | None = None,
        client: float | str | None = None,
        window_bytes: int | str | None = None,
        compression: float | str | None = None,
    ) -> Projection:
        """Return the runtime at each RTT of `rtt_ms`, and the RTT that meets a runtime of `within_s` seconds.

        RTTs are numbers of milliseconds or texts (`"15ms"`, `"1..50ms"`), one or several: a list, a range, a numpy
        array. `Projection.to_pandas()` has a row for each. All other figures, too, may be texts with their unit, as on
        the command line (`"60s"`, `"34Mbit"`, `"0.1%"`, `"1000km"`).

        What else may be different there: the bottleneck's bandwidth in bits a second, the part of the packets that is
        lost (0 to 1), the jitter, how many connections share the work, and fibre of `distance_km`: the RTT that light
        needs stands for a missing `rtt_ms`, and a shorter one is refused. `rtt_is` says how these RTTs were measured:
        `"ping"`, `"handshake"` or `"in-stream"`; by default as in `read`. `move={"10.0.0.5:3306": 15.0}` gives these
        servers an RTT (ms): the others have each of `rtt_ms`, or, without any, what they had. `service` and `client`
        are the parts of their own time that server and client take there (0.5: half). `window_bytes` is the receive
        window of both, and `compression` the part of the bytes that is left where they are compressed.

        >>> capture.project(numpy.linspace(1, 50, 50)).to_pandas()  # doctest: +SKIP

        Raises `UsageError` where a figure is none, `NoDatabaseTraffic` where there is none.
        """
        asked, conditions = self._elsewhere(
            rtt_ms,
            bandwidth_bps=bandwidth_bps,
            loss=loss,
            jitter_ms=jitter_ms,
            distance_km=distance_km,
            rtt_is=rtt_is,
            move=move,
            service=service,
            client=client,
            window_bytes=window_bytes,
            compression=compression,
        )
        conditions = replace(conditions, connections=connections)
        return self.measures.project(asked, _or_none(within_s, seconds), conditions)

    def project_grid(
        self,
        connections: Sequence[int],
        rtt_ms: Rtts | None = None,
        within_s: Duration | None = None,
        **conditions: Any,
    ) -> ProjectionGrid:
        """Return runtime and throughput for each number of `connections` at each RTT of `rtt_ms`, with their ranges.

        `conditions` are what else may be different there, by the names of `project`.

        >>> capture.project_grid([1, 2, 4, 8, 16], [0.5, 3, 20]).plot()  # doctest: +SKIP

        Raises `UsageError` where a figure is none, `NoDatabaseTraffic` where there is none.
        """
        asked, elsewhere = self._elsewhere(rtt_ms, **conditions)
        return self.measures.project_grid(connections, asked, _or_none(within_s, seconds), elsewhere)

    def _elsewhere(
        self,
        rtt_ms: Rtts | None,
        *,
        bandwidth_bps: float | str | None = None,
        loss: float | str | None = None,
        jitter_ms: Duration = 0.0,
        distance_km: float | str | None = None,
        rtt_is: RttIs | None = None,
        move: Mapping[str, Duration] | None = None,
        service: float | str | None = None,
        client: float | str | None = None,
        window_bytes: int | str | None = None,
        compression: float | str | None = None,
    ) -> tuple[list[float] | None, Conditions]:
        """Return the RTTs to project onto, and what else is different there."""
        if rtt_is is not None:
            check_rtt_is(rtt_is)
        asked, distance_km = rtts_ms(rtt_ms), _or_none(distance_km, kilometres)
        if distance_km is not None:
            asked = _over_fibre(asked, distance_km)
        asked, conditions = self.moved(asked, move)
        if compression is not None and self.recording.exchanges.is_compressed:
            raise UsageError("the capture is compressed already: compression is projected from one that is not")
        return asked, replace(
            conditions,
            bandwidth_bps=_or_none(bandwidth_bps, bits_per_s),
            loss=_or_none(loss, share),
            jitter_ms=milliseconds(jitter_ms),
            distance_km=distance_km,
            rtt_is=rtt_is or self._asked.rtt_is,
            service_time=_or_none(service, part),
            client_time=_or_none(client, part),
            window_bytes=_or_none(window_bytes, receive_window),
            compression=_or_none(compression, left_of_bytes),
        )

    def moved(
        self, rtt_ms: list[float] | None, move: Mapping[str, Duration] | None
    ) -> tuple[list[float] | None, Conditions]:
        """Return the RTTs to project onto, and which servers have their own: alone, that is the RTT."""
        if not move:
            return rtt_ms, self.measures.basis.as_usual
        there = {server: milliseconds(rtt) for server, rtt in move.items()}
        moved = moves(self.recording, there)
        asked = [max(there.values())] if rtt_ms is None else rtt_ms
        return asked, replace(self.measures.basis.as_usual, moved=moved, others_stay=rtt_ms is None)

    def what_if(
        self,
        fixes: Sequence[str | Fix],
        rtt_ms: Rtts | None = None,
        *,
        conditions: Conditions | None = None,
    ) -> WhatIf | None:
        """Return the runtimes at each RTT of `rtt_ms` as it is, with each of `fixes` (`n+1=join`, …), and with all.

        `conditions` (of a `Projection`) are what else is different there. `None` where the baseline RTT is unknown.
        """
        asked = [fix for each in fixes for fix in (parse_fix(each) if isinstance(each, str) else [each])]
        return self.measures.what_if(asked, rtts_ms(rtt_ms), conditions)

    def check(self, *conditions: str, baseline: Capture | Mapping[str, Any] | str | Path | None = None) -> Gates:
        """Return what becomes of each condition of `--fail-if`: `.passed` is true where none of them holds.

        `baseline`, which a condition may compare with, is an earlier capture, or the saved result of one: a path of
        what `latpcap analyze --json` wrote, or the dictionary itself.

        >>> capture.check("round_trips > 500", "project(15ms) > 60s").passed  # doctest: +SKIP

        Raises `UsageError` where a condition is none, or needs a baseline.
        """
        from latpcap.result.checks.gates import check

        before = baseline.measures if isinstance(baseline, Capture) else baseline
        return check(conditions, self.measures, before)

    @cached_property
    def deltas(self) -> Deltas:
        """How far apart requests begin: `.plot()` shows the pace of the application."""
        from latpcap.measures.charts import deltas

        return deltas(self.recording, self.measures.project([]).baseline_rtt_ms)

    @cached_property
    def timeline(self) -> Timeline:
        """When which connection was busy: `.plot()` shows a lane for each."""
        from latpcap.measures.charts import timeline

        return timeline(self.recording)

    def report(
        self,
        path: str | Path,
        rtt_ms: Rtts | None = None,
        *,
        title: str | None = None,
        customer: str | None = None,
        author: str | Sequence[str] = (),
        note: str | Sequence[str] = (),
        date: str | None = None,
    ) -> None:
        """Write the report to `path`: `.html`, a page that needs no network, with a slider for the RTT; or `.md`.

        `rtt_ms` is that of `project`. `title`, `customer`, `author` and `note` (one, or several) are what it is to say
        of itself; an author that is a file (.png, .jpg, .svg) is the logo. `date` is `"today"` or `"2026-11-22"`:
        without one there is none in it, so that the same captures give the same bytes. Raises `UsageError` where the
        path ends otherwise.
        """
        from latpcap.report import report_to
        from latpcap.result.cover import Cover, date_of, with_picture
        from latpcap.tables.writing import outputs

        notes = (note,) if isinstance(note, str) else tuple(note)
        authors, logo = with_picture((author,) if isinstance(author, str) else tuple(author))
        dated = None if date is None else date_of(date)
        cover = Cover(title, customer, notes, dated, ", ".join(authors) or None, logo)
        outputs.check([path], self.inputs)
        text: str = report_to(path)(self.measures, None, rtts_ms(rtt_ms), None, None, cover)
        outputs.write(path, [text])

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Save all that was read as a dataset: a folder of Parquet files, which `latpcap.read` reads as the captures.

        `folder` must be new or empty; `force` replaces a dataset that is there. DuckDB, Polars and pandas read the
        files as well: docs/long-recordings.md. What was selected cannot be saved alone: select it from the dataset.

        >>> capture.save("nightly/")  # doctest: +SKIP
        >>> latpcap.read("nightly/").analyze()  # doctest: +SKIP
        """
        from latpcap.tables.dataset.writing import save
        from latpcap.tables.writing import outputs

        if self.selected is not None:
            raise UsageError("a part of the captures is selected: save all of them, and select from the dataset")
        outputs.check((), self.inputs, folders=[folder])
        captures = [path for what, path in self.inputs if what == "capture"]
        save(self.recording, folder, self._asked.read_with, force=force, captures=captures)

    # --- tables ------------------------------------------------------------------------------------------------------

    def tables(self) -> dict[str, Table]:
        """Every table, by its name."""
        return {name: getattr(self, name) for name in TABLES}

    def sql(self, query: str, *, timeout_s: float | None = None) -> Table:
        """Return what `query` selects from the tables (extra `sql`); it reads nothing but these.

        It may take `timeout_s` seconds (a minute unless said), and as much memory as reading the captures might have.

        >>> capture.sql("select command, sum(round_trips) as trips from exchanges group by all")  # doctest: +SKIP
        """
        from latpcap.tables.writing import sql

        return sql.query(
            query,
            TABLES,
            lambda name: getattr(self, name),
            QUERY_TIMEOUT_S if timeout_s is None else timeout_s,
            self._asked.memory,
        )

    @cached_property
    def captures(self) -> Table:
        """The files."""
        return Table(self.recording.captures_table, "files", "latpcap.captures/1")

    @cached_property
    def health(self) -> Table:
        """List what limits the trust in the result; without database traffic, why there is none."""
        from latpcap.measures.traffic import notes_without_traffic
        from latpcap.result.tables import health_table

        return health_table(self.measures.health if self._has_traffic else notes_without_traffic(self.recording))

    @cached_property
    def exchanges(self) -> Table:
        """One row an exchange: frames, times, bytes, round trips, rows, and its times in ms."""
        from latpcap.result.tables import exchange_table

        return exchange_table(self.measures)

    @cached_property
    def connections(self) -> Table:
        """One row a database connection, its RTT with `rtt_` before the names, what TCP shows with `tcp_`."""
        from latpcap.result.tables import connection_table

        return connection_table(self.measures)

    @cached_property
    def statements(self) -> Table:
        """One row a statement, sorted by cost; percentiles with their name before them."""
        return self.statements_at()

    def statements_at(self, rtt_ms: Rtts | None = None) -> Table:
        """The statements with the seconds that each waits for the network at these RTTs (`network_15ms_s`)."""
        from latpcap.result.tables import statement_table

        return statement_table(self.measures, rtts_ms(rtt_ms) or ())

    def statements_by(self, grouping: str, rtt_ms: Rtts | None = None) -> Table:
        """Statements by `user`, `database`, `client` (host), `application` or `server`, sorted by cost."""
        from latpcap.result.tables import grouped_table

        if grouping not in GROUPINGS:
            raise UsageError(f"statements are not grouped by `{grouping}`: there are {', '.join(GROUPINGS)}")
        return grouped_table(self.measures, grouping, rtts_ms(rtt_ms) or ())

    @cached_property
    def findings(self) -> Table:
        """One row a finding, sorted by cost; what it saves at the default RTTs (`saved_15ms_s`, …)."""
        return self.findings_at()

    def findings_at(self, rtt_ms: Rtts | None = None) -> Table:
        """The findings with the seconds that each fix saves at the RTTs of `rtt_ms` (as of `project`)."""
        from latpcap.result.tables import finding_table

        rtts = rtts_ms(rtt_ms) or DEFAULT_LADDER_MS
        return finding_table(self.measures.findings(rtts), rtts)

    @cached_property
    def errors(self) -> Table:
        """One row an error code of a statement, a login or a command, the most frequent first; a failed connection too.

        Where servers let nobody in, these are all there is; `NoDatabaseTraffic` where no database was looked for.
        """
        from latpcap.result.tables import error_table

        return error_table(self.errors_result)

    @cached_property
    def errors_result(self) -> ErrorsResult:
        """The errors as a result, with how many there were of each kind."""
        if not self._has_traffic:
            ports = {f"{port}": protocol for port, protocol in self._asked.read_with.decode_as.items()}
            at_tcp = with_connections(ErrorsResult(), self.recording, ports)
            if at_tcp.failed_connections:
                return at_tcp
        return self.measures.errors

    @cached_property
    def tasks(self) -> Table:
        """One row a task: what the application did between idle gaps of a second; see `tasks_at`."""
        return self.tasks_at()

    def tasks_at(self, idle_s: Duration = IDLE_S, by: TaskBy = "idle", rtt_ms: Rtts | None = None) -> Table:
        """The tasks between rests of more than `idle_s` seconds; `by="route"` also ends one where its route changes.

        What each takes at the RTTs of `rtt_ms` stands last (`duration_15ms_s`).
        """
        from latpcap.result.tasks import task_table

        if by not in get_args(TaskBy):
            raise UsageError("tasks end by `idle` or by `route`")
        measures = self.measures.application
        rtts = rtts_ms(rtt_ms)
        grown = measures.network_growth(rtts) if rtts else None
        return task_table(measures.tasks(seconds(idle_s), by), measures.recording, grown)

    @cached_property
    def intervals(self) -> Table:
        """One row a minute, or a shorter interval of a short recording: RTT, loss, round trips, response times."""
        return self.intervals_of()

    def intervals_of(self, every_s: Duration | None = None) -> Table:
        """One row for every `every_s` seconds, those without traffic as well."""
        return interval_table(self._intervals(every_s))

    def over_time(self, every_s: Duration | None = None) -> IntervalsResult:
        """The intervals as a result, of which `.plot()` is a chart."""
        return all_of(self._intervals(every_s))

    def _intervals(self, every_s: Duration | None) -> Intervals:
        interval_s = _or_none(every_s, seconds)
        if interval_s == 0:
            raise UsageError("an interval is longer than 0 seconds")
        return self.measures.intervals(interval_s)

    @cached_property
    def rtt_samples(self) -> Table:
        """One row an in-stream RTT sample: data → its acknowledgment, on either side of the capture point."""
        from latpcap.result.tables import rtt_sample_table

        return rtt_sample_table(self.recording)

    @cached_property
    def taps(self) -> Table:
        """One row for each two taps that saw the same packets: one-way delays, clocks, what got lost between them."""
        from latpcap.result.tables import taps_table

        return taps_table(self.recording)


def _over_fibre(rtts: list[float] | None, distance_km: float) -> list[float]:
    """Return the RTTs to project onto over so much fibre; refuse those that light cannot keep."""
    least_ms = fibre_ms(distance_km)
    if shorter := [rtt for rtt in rtts or () if rtt < least_ms * (1 - DISTANCE_TOLERANCE)]:
        raise UsageError(
            f"an RTT of {format_given_ms(min(shorter))} over {distance_km:,.6g} km is impossible: light in fibre takes "
            f"{format_given_ms(least_ms)} there and back"
        )
    return rtts or [least_ms]


def _or_none(given: Any, as_number: Callable[[Any], float]) -> float | None:
    return None if given is None else as_number(given)
