"""Which capture, connection or task is the chatty one, and what holds it up: one row each, by what an RTT adds.

A row of a file, or of a group of its connections, is what `analyze` says of these connections alone; a row of a route
sums its tasks (`measures.tasks`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.display import finite
from latpcap.findings import finding_results
from latpcap.measures.budget import Budget
from latpcap.measures.failed_connections import failed_connections
from latpcap.measures.health import loss_share
from latpcap.measures.tasks import Tasks
from latpcap.projection.budget_elsewhere import budgets_there
from latpcap.projection.project import central_s
from latpcap.result.analysis import Measures
from latpcap.result.rank_order import RANK_SORTS, RankOrder
from latpcap.result.tables import COUNT, flat, rows_table, types_of
from latpcap.result.verdict import PART_NAMES
from latpcap.tables.columnar import columns, passes
from latpcap.tables.columnar.columns import Floats, Ints
from latpcap.tables.columnar.table import Table
from latpcap.tables.part.endpoints import host_of
from latpcap.tables.part.groups import names_of
from latpcap.tables.recording import Recording


class RankRow(Struct, frozen=True):
    """One file, or one group of a file's connections or tasks; null is what cannot be known."""

    file: str
    name: str | None = None
    """The group's name."""
    share_per_ms: float | None = None
    """The part of the runtime that a further millisecond adds: `seconds_per_ms ÷ runtime_s`."""
    seconds_per_ms: float | None = None
    round_trips: int | None = None
    runtime_s: float | None = None
    """First packet → last packet with data; of tasks, the time that they took."""
    think_s: float | None = None
    """The part of it in which nobody asked for anything for longer than the think threshold."""
    baseline_rtt_ms: float | None = None
    network_share: float | None = None
    rtt_ms: float | None = None
    """The RTT of `projected_s`."""
    projected_s: float | None = None
    factor: float | None = None
    """`projected_s ÷ runtime_s`."""
    added_s: float | None = None
    """`projected_s - runtime_s`."""
    bottleneck: str | None = None
    """The cause of most of the time at `rtt_ms`: one of `BOTTLENECKS`; null of tasks, and where it is not known."""
    errors: int | None = None
    """Statements, logins, others and (but of tasks) connections that failed; null where nothing could be read."""
    loss_share: float | None = None
    """The lost share of packets with data, at least; null of tasks."""
    finding: str | None = None
    """The code of the finding that would save most there."""
    connections: int | None = None
    exchanges: int | None = None
    tasks: int | None = None
    timing_only: int | None = None
    """Connections of which no statement could be read."""
    health: str | None = None
    """The codes of errors and warnings among the health notes."""
    reason: str | None = None
    """Why it has no rank."""


BOTTLENECKS = {
    "server" if part == "service_s" else part.removesuffix("_s"): part for part in PART_NAMES if part != "unknown_s"
}
"""The causes of a row's time, each with its part of the budget; `think` is nobody's fault: mostly nothing was asked."""


NOBODY_GOT_IN = "no connection to the database was made"


def failed_by(recording: Recording, ports: Mapping[str, str], by: str | None) -> Counter[str | None]:
    """How many connections failed at TCP, by the name of their group; `ports` are those whose protocol the user named.

    Whom no server let in has told no user, database or application: these are of the group without a name.
    """
    rows = failed_connections(recording, ports).rows.tolist()
    names = _names_of_all(recording, by) if rows and by else [None] * len(recording.all_connections_table)
    return Counter(names[row] for row in rows)


def rank_rows(measures: Measures, file: str, asked: RankOrder) -> Iterator[RankRow]:
    """The rows of one file."""
    if asked.by in ("task", "route"):
        yield from _rows_of_tasks(measures.application, file, asked)
        return
    failed = failed_by(measures.recording, measures.settings.decode_as, asked.by)
    if asked.by is None:
        yield _row(measures, file, None, asked, failed.total())
        return
    for part, of_part in measures.of_each(_names(measures.recording, asked.by)):
        yield _row(of_part, file, part, asked, failed.pop(part, 0))
    for part, count in failed.items():
        yield RankRow(file, part, errors=count, reason=NOBODY_GOT_IN)


def rank_table(rows: Iterable[RankRow], asked: RankOrder) -> Table:
    """The rows, the worst first and numbered from 1; last those that cannot be ranked, with the reason."""
    key = RANK_SORTS[asked.sort]
    ranked: list[RankRow] = []
    others: list[RankRow] = []
    for row in rows:
        (others if row.reason else ranked).append(row)
    ranked.sort(key=lambda row: (-round(getattr(row, key) or 0.0, 9), -round(row.seconds_per_ms or 0.0, 9), row.file))
    by = asked.by or ""
    types = {by if name == "name" else name: kind for name, kind in types_of(RankRow).items() if by or name != "name"}
    told = [
        flat(row) | {"rank": None if row.reason else number, by: row.name}
        for number, row in enumerate((*ranked, *others), 1)
    ]
    return rows_table(told, {"rank": COUNT} | types, "rank")


# --- files and groups of connections --------------------------------------------------------------------------------


def _row(measures: Measures, file: str, name: str | None, asked: RankOrder, failed_connections: int = 0) -> RankRow:
    """Return the row of these connections; of connections that nobody made, a whole file alone can tell."""
    measures = measures.application
    basis, exchanges = measures.basis, measures.recording.exchanges
    known = basis.job is not None
    savings = measures.savings
    results = finding_results(savings, [asked.rtt_ms]) if savings.claimed else ()
    found = (result.code for result, _ in results if result.severity != "info")
    unread = not failed_connections and bool(measures.recording.timing_only.all())
    projected_s = central_s(basis, asked.rtt_ms)
    row = RankRow(
        file=file,
        name=name,
        seconds_per_ms=basis.seconds_per_ms if known else None,
        round_trips=int(exchanges.round_trips.sum()),
        runtime_s=measures.timeline.runtime_s,
        think_s=measures.budget.think_s,
        baseline_rtt_ms=basis.baseline_ms if known else None,
        network_share=measures.network_share,
        rtt_ms=asked.rtt_ms,
        projected_s=projected_s,
        bottleneck=_bottleneck(_budget_at(measures, asked.rtt_ms, projected_s)),
        errors=None if unread else len(measures.evidence.failures.rows) + failed_connections,
        loss_share=loss_share(measures.recording),
        finding=next(found, None),
        connections=len(measures.recording.database_rows),
        exchanges=len(exchanges),
        timing_only=int(measures.recording.timing_only.sum()),
        health=_codes(note.code for note in measures.health if note.severity != "info"),
    )
    return _compared(row, _unknown(measures))


def _budget_at(measures: Measures, rtt_ms: float, projected_s: float | None) -> Budget:
    """Return the budget at an RTT; where nothing is projected, the measured one."""
    if projected_s is None or measures.doubt:
        return measures.budget
    [there] = budgets_there(measures.basis, [rtt_ms], [projected_s], measures.basis.as_usual)
    return there


def _bottleneck(budget: Budget) -> str | None:
    seconds = {name: getattr(budget, part) for name, part in BOTTLENECKS.items()}
    worst = max(seconds, key=seconds.__getitem__)
    return worst if seconds[worst] > budget.unknown_s else None


def _compared(row: RankRow, reason: str | None) -> RankRow:
    """With its share and its factor, or with the reason why it has none."""
    if reason is None and not row.runtime_s:
        reason = "it took no time"
    if reason or not row.runtime_s:
        return replace(row, projected_s=None, reason=reason)
    share = None if row.seconds_per_ms is None else row.seconds_per_ms / row.runtime_s
    factor = None if row.projected_s is None else row.projected_s / row.runtime_s
    added = None if row.projected_s is None else row.projected_s - row.runtime_s
    return replace(row, share_per_ms=share, factor=factor, added_s=added)


def _unknown(measures: Measures) -> str | None:
    """Why nothing can be said of what a millisecond costs."""
    if measures.basis.job is None:
        return f"no RTT is known: {measures.baselines.reason_text(0)}; give it with --rtt-baseline"
    return measures.doubt.value if measures.doubt else None


def _codes(codes: Iterable[str]) -> str | None:
    return " ".join(dict.fromkeys(codes)) or None


def _names(recording: Recording, by: str) -> list[str | None]:
    """The name of each database connection."""
    if by != "connection":
        return names_of(recording, by)
    connections = recording.connections
    return _ends(connections.stream.tolist(), connections.client.texts(), connections.server.texts())


def _names_of_all(recording: Recording, by: str) -> list[str | None]:
    """The name of each connection, whether or not a database was reached."""
    table = recording.all_connections_table
    client, server = (columns.texts(table, side) for side in ("client", "server"))
    if by == "server":
        return server
    if by == "client":
        return [client and host_of(client) for client in client]
    if by == "connection":
        return _ends(columns.column(table, "stream").values.tolist(), client, server)
    names: list[str | None] = [None] * len(table)
    if by in ("task", "route"):
        return names
    for row, name in zip(recording.database_rows.tolist(), names_of(recording, by), strict=True):
        names[row] = name
    return names


def _ends(stream: Iterable[int], client: Iterable[str | None], server: Iterable[str | None]) -> list[str | None]:
    return [f"{number}: {one} → {other}" for number, one, other in zip(stream, client, server, strict=True)]


# --- tasks and routes -----------------------------------------------------------------------------------------------


def _rows_of_tasks(measures: Measures, file: str, asked: RankOrder) -> Iterator[RankRow]:
    """A row a task, or a row a route: the tasks of one route together."""
    tasks = measures.tasks(asked.idle_s, "route" if asked.by == "route" else "idle")
    names, group = _named(tasks, asked.by, measures.recording)
    of_exchange = np.append(group, -1)[tasks.of_exchange]  # what is of no task is of no row
    found = _findings(measures, of_exchange, len(names), asked.rtt_ms)
    reason = _unknown(measures)

    def total(values: Ints | Floats) -> Floats:
        return np.bincount(group, values, len(names)).astype(float)

    counts = {name: total(getattr(tasks, name)) for name in ("round_trips", "exchanges", "connections")}
    added, took, waited = (
        total(values)
        for values in (tasks.effective_round_trips / 1000, tasks.duration_ns / 1e9, tasks.network_ns / 1e9)
    )
    weights = np.maximum(tasks.effective_round_trips, 1e-9)
    baseline = total(tasks.baseline_ns / 1e6 * weights) / total(weights)
    there = np.maximum(took + added * (asked.rtt_ms - baseline), took - waited)
    failing = of_exchange[measures.evidence.failures.rows]
    failed = np.bincount(failing[failing >= 0], minlength=len(names))
    of_tasks = np.bincount(group, minlength=len(names))
    for number, name in enumerate(names):
        row = RankRow(
            file=file,
            name=name,
            seconds_per_ms=float(added[number]),
            round_trips=int(counts["round_trips"][number]),
            runtime_s=float(took[number]),
            think_s=0.0,
            baseline_rtt_ms=finite(baseline[number]),
            network_share=finite(waited[number] / took[number]) if took[number] > 0 else None,
            rtt_ms=asked.rtt_ms,
            projected_s=finite(there[number]),
            errors=int(failed[number]),
            finding=found[number],
            connections=int(counts["connections"][number]) if asked.by == "task" else None,
            exchanges=int(counts["exchanges"][number]),
            tasks=int(of_tasks[number]),
        )
        yield _compared(row, reason)


def _named(tasks: Tasks, by: str | None, recording: Recording) -> tuple[list[str | None], Ints]:
    """The names of the rows, and which of them each task belongs to."""
    if by == "route":
        names = list(dict.fromkeys(tasks.route))
        numbers = {name: number for number, name in enumerate(names)}
        return names, np.array([numbers[name] for name in tasks.route], np.int64)
    times = (tasks.start_ns + recording.start_ns).astype("datetime64[ns]").astype("datetime64[ms]").astype(str)
    named: list[str | None] = [
        f"{number}: {time.partition('T')[2]} {client}"
        for number, (time, client) in enumerate(zip(times, tasks.client, strict=True), 1)
    ]
    return named, np.arange(len(tasks))


def _findings(measures: Measures, group: Ints, count: int, rtt_ms: float) -> Sequence[str | None]:
    """For each group, the code of the finding that saves most among those that show in it; -1 is none."""
    found: list[str | None] = [None] * count
    for result, saving in finding_results(measures.savings, [rtt_ms]):
        if result.severity != "info":
            mine = group[saving.finding.shown]
            for number in passes.occurring(mine[mine >= 0]):
                found[number] = found[number] or result.code
    return found
