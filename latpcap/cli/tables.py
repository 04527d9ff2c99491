"""The commands that write tables, to look at or to hand on: all of them are `table_command`s."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from latpcap.cli.shared.gates import Gating, RowGating, gate_options, keyed_row_gate_options, row_gate_options
from latpcap.cli.shared.io import warn, write
from latpcap.cli.shared.options import (
    DURATION,
    flat,
    in_seconds,
    listing_options,
    pacing_options,
    reading_options,
    rtt_option,
)
from latpcap.cli.shared.rows import RowOutput, rows_options
from latpcap.cli.shared.verb import command, formerly
from latpcap.measures.options import GROUPINGS
from latpcap.report.destination import going_to

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.measures.options import TaskBy
    from latpcap.result.tasks import TaskSummary
    from latpcap.tables.columnar.table import Table


class Found(Struct, frozen=True):
    """What a command found: a table, and what else there is to say of it."""

    table: Callable[[], Table]
    named_by: tuple[str, ...] = ()
    """The columns that a gate calls rows by, the first that says something."""
    text: Callable[[RowOutput], Iterable[str | bytes]] | None = None
    """What people see in place of the table, where that is more."""
    said: str = ""
    """A sentence for standard error."""
    warns: bool = True
    """What limits the trust in the rows stands on standard error; it may be what they say."""
    none: str = ""
    """What is said in place of a table without rows, where there is more to say than that; `said` is not, then."""


def table_command(
    short: str,
    *options: Callable[[Any], Any],
    gates: Callable[[Any], Any] | None = None,
    reading: Callable[[Any], Any] = reading_options,
) -> Callable[[Callable[..., Found]], click.Command]:
    """A command that reads captures, finds a table in them and writes it; with `gates` it may fail by what it says."""

    def decorate(find: Callable[..., Found]) -> click.Command:
        def run(request: Request, rows: RowOutput, gating: Gating | RowGating | None = None, **asked: Any) -> None:
            capture = request.read()
            found = find(capture, **asked)
            judged = gating.judge_found(capture, found.table, found.named_by) if gating else None
            is_told_empty = rows.format == "table" and not len(found.table())
            if found.said and not request.quiet and not is_told_empty:
                click.echo(f"latpcap: {found.said}", err=True)
            warn(capture, request.quiet or not found.warns)
            if is_told_empty:
                rows.in_order(found.table())  # a column that is none is a mistake all the same
                write(chain([_none(found)], found.text(rows) if found.text else ()), rows.path)
            elif rows.is_text and found.text is not None:
                write(found.text(rows), rows.path)
            else:
                rows.write(found.table(), judged)
            if gating:
                gating.end(judged, capture)

        run.__name__, run.__doc__ = find.__name__, find.__doc__
        for option in (rows_options, *filter(None, [gates]), *reversed(options), reading):
            run = option(run)
        made: click.Command = command(find.__name__, short_help=short)(run)
        return made

    return decorate


def _none(found: Found) -> str:
    """What people see where there are no rows."""
    from rich.text import Text

    from latpcap.report.console import print_renderables

    said = found.none or f"no {found.table().name}"
    return print_renderables([Text(f"{said[0].upper()}{said[1:]}.")])


@table_command("Every request with its response: times, round trips, rows.", reading=pacing_options)
def exchanges(capture: Capture) -> Found:
    """Every request with its whole response: times, round trips, bytes, rows.

    \b
    latpcap exchanges capture.pcapng
    latpcap exchanges capture.pcapng -o exchanges.parquet
    """
    return Found(lambda: capture.exchanges)


@table_command("Every connection: client, server, its RTT and how it was measured.", reading=pacing_options)
def connections(capture: Capture) -> Found:
    """Every database connection: client, server, its RTT and how it was measured.

    \b
    latpcap connections capture.pcapng
    latpcap connections capture.pcapng -o connections.parquet
    """
    return Found(lambda: capture.connections)


@table_command(
    "Every statement: runs, times, share of the waiting.",
    click.option("--by", "grouping", type=click.Choice(GROUPINGS), help="One row for each of these instead."),
    gates=keyed_row_gate_options,
)
def statements(capture: Capture, grouping: str | None) -> Found:
    """Every statement: runs, network and service time, response times, share of the waiting.

    \b
    latpcap statements capture.pcapng
    latpcap statements capture.pcapng --by user
    latpcap statements capture.pcapng -o statements.parquet
    latpcap statements capture.pcapng --fail-if 'round_trips_per_execution > 2'
    latpcap statements capture.pcapng --baseline last.json --fail-if 'round_trips > baseline + 10%'
    """
    rows = capture.statements_by(grouping) if grouping else capture.statements
    return Found(lambda: rows, named_by=(grouping,) if grouping else ("text", "protocol"))


@table_command("Every error: how often, of which statement or login.", reading=pacing_options)
def errors(capture: Capture) -> Found:
    """Every error: how often, of which statement or login, in which frames; failed connections, too.

    \b
    latpcap errors capture.pcapng
    latpcap errors capture.pcapng --format csv -o errors.csv
    """
    result = capture.errors_result

    def text(rows: RowOutput) -> list[str]:
        from latpcap.report.sections.errors import listed_errors
        from latpcap.report.terminal import document

        return [document([listed_errors(rows.in_order_of(result.found, lambda: capture.errors))])]

    return Found(
        lambda: capture.errors,
        text=text if going_to().bounds_lines else None,
        said=result.text,
        warns=len(capture.recording.database_rows) > 0,
        none=result.text,
    )


@table_command(
    "Which patterns cost round trips, and what fixes them.",
    rtt_option,
    formerly("--filters", "--columns display_filter", is_flag=True),
    gates=gate_options,
)
def findings(capture: Capture, rtt: tuple[list[float], ...], filters: bool) -> Found:
    """Which patterns cost round trips, what fixes them, and which packets show it.

    \b
    latpcap findings capture.pcapng --rtt 15ms
    latpcap findings capture.pcapng --columns code,display_filter
    latpcap findings capture.pcapng --format jsonl
    latpcap findings nightly.pcapng --fail-if 'finding(n+1)'
    """
    rtts = flat(rtt)

    def text(rows: RowOutput) -> list[str]:
        from latpcap.report.sections.findings import listed_findings, missing_patterns
        from latpcap.report.terminal import listed

        result = capture.analyze(rtts)
        shown = rows.in_order_of(result.findings, lambda: capture.findings_at(rtts))
        told, together = result.projection.told_rtt_ms, result.fixes_together
        missing = missing_patterns(result.timing_only, result.unjudged)
        return [listed(listed_findings(shown, together, told, missing, whole_filters=filters))]

    return Found(lambda: capture.findings_at(rtts), text=text)


idle_option = click.option(
    "--idle",
    type=DURATION,
    default="1s",
    metavar="DURATION",
    show_default=True,
    help="A task ends when its client sends no request for this long.",
)


@table_command(
    "Work between idle gaps: round trips and seconds of each task.",
    idle_option,
    click.option(
        "--by",
        type=click.Choice(["idle", "route"]),
        default="idle",
        show_default=True,
        help="With `route`, a task also ends when the route named in its statements changes.",
    ),
    gates=row_gate_options,
)
def tasks(capture: Capture, idle: float, by: TaskBy) -> Found:
    """What the application does between idle gaps: round trips, statements and seconds of each task.

    The connections of a pool are assumed to serve one task after the other; connections that work in parallel and are
    idle at different times are assumed to be workers with tasks of their own.

    \b
    latpcap tasks capture.pcapng
    latpcap tasks capture.pcapng --idle 200ms -o tasks.csv
    latpcap tasks capture.pcapng --by route
    latpcap tasks capture.pcapng --fail-if 'round_trips > 50' --fail-if 'duration > 2s'
    """
    table = capture.tasks_at(idle / 1000, by)

    def text(rows: RowOutput) -> Iterator[str | bytes]:
        from rich.text import Text

        from latpcap.report import FORMATS
        from latpcap.report.console import print_renderables
        from latpcap.result.tasks import summary

        found = summary(capture.measures.application.tasks(idle / 1000, by))
        typical = [print_renderables([Text(_typical(found))])] if found else []
        return chain(typical, FORMATS["table"](rows.in_order(table)) if found else ())

    return Found(lambda: table, named_by=("task",), text=text, none="no task: no client asked for anything")


def _typical(found: TaskSummary) -> str:
    """What is typical of the tasks, in a sentence."""
    from latpcap.units import counted, format_s

    trips, took, added = found.round_trips, found.duration_s, found.seconds_per_ms
    if found.tasks == 1:
        return f"1 task of {counted(int(trips.max), 'round trip')} in {format_s(took.max)}."
    return (
        f"{found.tasks:,} tasks. Median: {counted(int(trips.p50), 'round trip')} in {format_s(took.p50)}, and "
        f"{format_s(added.p50)} more for each further millisecond. p95: {counted(int(trips.p95), 'round trip')} in "
        f"{format_s(took.p95)}, and {format_s(added.p95)} more."
    )


@table_command(
    "RTT, loss, round trips and response times over time.",
    click.option(
        "--every",
        type=DURATION,
        metavar="DURATION",
        help="Length of an interval; by default a minute, or less for a capture of less than an hour.",
    ),
    gates=row_gate_options,
    reading=pacing_options,
)
def intervals(capture: Capture, every: float | None) -> Found:
    """RTT, loss, round trips and response times over time: one row a minute, or another interval.

    \b
    latpcap intervals capture.pcapng
    latpcap intervals capture.pcapng --every 10s -o intervals.csv
    latpcap intervals capture.pcapng --fail-if 'lost_share > 1%'
    """
    table = capture.intervals_of(in_seconds(every))
    return Found(lambda: table)


@table_command("What makes the result less reliable: loss, cut packets, unknown RTTs.", reading=pacing_options)
def health(capture: Capture) -> Found:
    """What makes the result less reliable: losses, cut packets, unknown RTTs.

    \b
    latpcap health capture.pcapng
    latpcap health capture.pcapng -o health.parquet
    """
    return Found(lambda: capture.health, warns=False, none="nothing limits the result")


@table_command("The files: format, packets, bytes, first and last time.", reading=listing_options)
def captures(capture: Capture) -> Found:
    """The files: format, packets, bytes, first and last time.

    \b
    latpcap captures capture.pcapng
    latpcap captures capture.pcapng -o captures.parquet
    """
    return Found(lambda: capture.captures)
