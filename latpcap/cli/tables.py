"""The commands that write tables, to look at or to hand on: `table NAME`, and those of statements and findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from msgspec import Struct

from latpcap.cli.shared.command import command
from latpcap.cli.shared.gates import Gating, RowGating, gate_options, keyed_row_gate_options, row_gate_options
from latpcap.cli.shared.io import warn, write
from latpcap.cli.shared.options import DURATION, Choice, flat, in_seconds, reading_options, rtt_option
from latpcap.cli.shared.rows import RowOutput, rows_options
from latpcap.cli.shared.values import items
from latpcap.errors import UsageError, did_you_mean, nearest
from latpcap.measures.options import GROUPINGS
from latpcap.report.destination import going_to
from latpcap.units import capitalised, listed

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.measures.options import TaskBy
    from latpcap.result.tasks import TaskSummary
    from latpcap.tables.columnar.table import Table


class TableResult(Struct, frozen=True):
    """The result of a command: a table, and what else there is to say of it."""

    table: Callable[[], Table]
    named_by: tuple[str, ...] = ()
    """The columns that a gate calls rows by, the first that says something."""
    text: Callable[[RowOutput], Iterable[str | bytes]] | None = None
    """The text for people, where it is more than the table."""
    said: str = ""
    """A sentence for standard error."""
    warns: bool = True
    """Whether limits of the rows' trust stand on standard error; rows may say them."""
    none: str = ""
    """A longer text in place of a table without rows; `said` is not said, then."""


def table_command(
    short: str, *options: Callable[[Any], Any], gates: Callable[[Any], Any]
) -> Callable[[Callable[..., TableResult]], click.Command]:
    """Return the decorator of what finds a table in a capture: the command that writes it, and fails by its gates."""

    def decorate(find: Callable[..., TableResult]) -> click.Command:
        def run(request: Request, rows: RowOutput, gating: Gating | RowGating, **asked: Any) -> None:
            _write_rows(request, rows, gating, lambda capture: find(capture, **asked))

        run.__name__, run.__doc__ = find.__name__, find.__doc__
        for option in (rows_options, gates, *reversed(options), reading_options):
            run = option(run)
        made: click.Command = command(find.__name__, short_help=short)(run)
        return made

    return decorate


def _write_rows(
    request: Request, rows: RowOutput, gating: Gating | RowGating, find: Callable[[Capture], TableResult]
) -> None:
    capture = request.read(hashes=gating.hashes)
    found = find(capture)
    judged = gating.judge_found(capture, found.table, found.named_by)
    is_empty = rows.format == "table" and not len(found.table())
    if found.said and not request.quiet and not is_empty:
        click.echo(f"latpcap: {found.said}", err=True)
    warn(capture, request.quiet or not found.warns)
    if is_empty:
        rows.in_order(found.table())  # a column that is none is a mistake all the same
        write(chain([_none(found)], found.text(rows) if found.text else ()), rows.path)
    elif rows.is_text and found.text is not None:
        write(found.text(rows), rows.path)
    else:
        rows.write(found.table(), judged)
    gating.end(judged, capture)


class RowTable(Struct, frozen=True):
    """A table of `latpcap table`."""

    short: str
    find: Callable[..., TableResult]
    takes: tuple[str, ...]
    """Which of the options it takes that not every table does, by their names as parameters."""


TABLES: dict[str, RowTable] = {}


def row_table(short: str, *takes: str) -> Callable[[Callable[..., TableResult]], Callable[..., TableResult]]:
    """Return the decorator that makes what it finds a table of `latpcap table`, by the function's name."""

    def decorate(find: Callable[..., TableResult]) -> Callable[..., TableResult]:
        TABLES[find.__name__] = RowTable(short, find, takes)
        return find

    return decorate


def _none(found: TableResult) -> str:
    """Say that there are no rows."""
    from rich.text import Text

    from latpcap.report.console import print_renderables

    said = found.none or f"no {found.table().name}"
    return print_renderables([Text(f"{capitalised(said)}.")])


@table_command(
    "Patterns that cost round trips, and what fixes them.",
    rtt_option,
    gates=gate_options,
)
def findings(capture: Capture, rtt: tuple[list[float], ...]) -> TableResult:
    """List the patterns that cost round trips, what fixes them, and which packets show it.

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
        told, together = result.projection.headline_rtt_ms, result.fixes_together
        missing = missing_patterns(result.timing_only, result.unjudged)
        return [listed(listed_findings(shown, together, told, missing))]

    return TableResult(lambda: capture.findings_at(rtts), text=text)


@table_command(
    "Every statement: runs, times, share of the waiting.",
    click.option("--by", "grouping", type=Choice(GROUPINGS), help="One row for each of these instead."),
    rtt_option,
    gates=keyed_row_gate_options,
)
def statements(capture: Capture, grouping: str | None, rtt: tuple[list[float], ...]) -> TableResult:
    """List every statement: runs, network and service time, response times, share of the waiting.

    \b
    latpcap statements capture.pcapng
    latpcap statements capture.pcapng --by user
    latpcap statements capture.pcapng --rtt 15ms
    latpcap statements capture.pcapng -o statements.parquet
    latpcap statements capture.pcapng --fail-if 'round_trips_per_execution > 2'
    latpcap statements capture.pcapng --baseline last.json --fail-if 'round_trips > baseline + 10%'
    """
    rtts = flat(rtt)
    rows = capture.statements_by(grouping, rtts) if grouping else capture.statements_at(rtts)
    return TableResult(lambda: rows, named_by=(grouping,) if grouping else ("text", "protocol"))


@row_table("each request with its response: times, round trips, bytes, rows", "rtt_baseline")
def exchanges(capture: Capture) -> TableResult:
    """Find each request with its whole response."""
    return TableResult(lambda: capture.exchanges)


@row_table("each connection: client, server, its RTT and how it was measured", "rtt_baseline")
def connections(capture: Capture) -> TableResult:
    """Find each database connection."""
    return TableResult(lambda: capture.connections)


@row_table("each error: how often, of which statement or login, in which frames", "rtt_baseline")
def errors(capture: Capture) -> TableResult:
    """Find each error, failed connections included."""
    result = capture.errors_result

    def text(rows: RowOutput) -> list[str]:
        from latpcap.report.sections.errors import listed_errors
        from latpcap.report.terminal import document

        return [document([listed_errors(rows.in_order_of(result.found, lambda: capture.errors))])]

    return TableResult(
        lambda: capture.errors,
        text=text if going_to().bounds_lines else None,
        said=result.text,
        warns=len(capture.recording.database_rows) > 0,
        none=result.text,
    )


idle_option = click.option(
    "--idle",
    type=DURATION,
    default="1s",
    metavar="DURATION",
    show_default=True,
    help="Of tasks: one ends when its client sends no request for this long.",
)


@row_table("work between idle gaps: round trips, statements and seconds", "rtt_baseline", "think", "idle", "by", "rtt")
def tasks(capture: Capture, idle: float, by: TaskBy, rtt: tuple[list[float], ...]) -> TableResult:
    """Find what the application does between idle gaps.

    The connections of a pool are assumed to serve one task after the other; connections that work in parallel and are
    idle at different times are assumed to be workers with tasks of their own.
    """
    table = capture.tasks_at(idle / 1000, by, flat(rtt))

    def text(rows: RowOutput) -> Iterator[str | bytes]:
        from rich.text import Text

        from latpcap.report import FORMATS
        from latpcap.report.console import print_renderables
        from latpcap.result.tasks import summary

        found = summary(capture.measures.application.tasks(idle / 1000, by))
        typical = [print_renderables([Text(_typical(found))])] if found else []
        return chain(typical, FORMATS["table"](rows.in_order(table)) if found else ())

    return TableResult(lambda: table, named_by=("task",), text=text, none="no tasks: no client sent a request")


def _typical(found: TaskSummary) -> str:
    """Describe typical tasks in a sentence."""
    from latpcap.units import counted, format_s

    trips, took = found.round_trips, found.duration_s
    if found.tasks == 1:
        return f"1 task: {counted(int(trips.max), 'round trip')}, {format_s(took.max)}."
    typical = f"median {counted(int(trips.p50), 'round trip')}, {format_s(took.p50)}"
    return f"{found.tasks:,} tasks; {typical}; largest {counted(int(trips.max), 'round trip')}, {format_s(took.max)}."


@row_table("RTT, loss, round trips and response times over time, a row a minute", "rtt_baseline", "every")
def intervals(capture: Capture, every: float | None) -> TableResult:
    """Find RTT, loss, round trips and response times over time."""
    table = capture.intervals_of(in_seconds(every))
    return TableResult(lambda: table)


@row_table("what makes the result less reliable: loss, cut packets, unknown RTTs", "rtt_baseline")
def health(capture: Capture) -> TableResult:
    """Find what makes the result less reliable."""
    return TableResult(lambda: capture.health, warns=False, none="no warnings")


@row_table("the files: format, packets, bytes, first and last time")
def captures(capture: Capture) -> TableResult:
    """Find the files."""
    return TableResult(lambda: capture.captures)


def _listing(first: str = "") -> str:
    """Return the tables with a line each, the one that is meant before the others."""
    width = max(map(len, TABLES))
    names = sorted(TABLES, key=lambda name: name != first)
    return "\n".join(f"{name:<{width}}  {TABLES[name].short}" for name in names)


class _TableName(click.ParamType[str]):
    """The name of a table."""

    name = "table"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; where there is no such table, list those that there are."""
        if value not in TABLES and os.path.exists(value):
            raise UsageError(f"`{value}` is a file: name the table before it, latpcap table NAME CAPTURE")
        if value not in TABLES:
            near = nearest(value, TABLES) or ""
            click.echo(_listing(near), err=True)
            raise UsageError(
                f"no table is called `{value}`{did_you_mean(value, TABLES) or ': latpcap table NAME CAPTURE'}"
            )
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin so."""
        return items(TABLES, incomplete)


OF_SOME_TABLES = ("rtt_baseline", "think", "idle", "by", "every", "rtt")
_HELP = f"""List the rows of a table, to look at or for another program.

The tables:

\b
{_listing()}

`latpcap statements` and `latpcap findings` list those; `latpcap sql` queries all of them.

\b
latpcap table connections capture.pcapng
latpcap table exchanges capture.pcapng -o exchanges.parquet
latpcap table errors capture.pcapng --format csv -o errors.csv
latpcap table tasks capture.pcapng --idle 200ms --fail-if 'round_trips > 50'
latpcap table intervals capture.pcapng --every 10s --fail-if 'lost_share > 1%'
"""


@command(
    "table",
    short_help="Connections, exchanges, tasks, errors, intervals, health or captures.",
    help=_HELP,
    no_args_is_help=True,
)
@click.argument("name", metavar="NAME", type=_TableName())
@reading_options
@idle_option
@click.option(
    "--by",
    type=Choice(["idle", "route"]),
    default="idle",
    show_default=True,
    help="Of tasks: with `route`, a task also ends when the route named in its statements changes.",
)
@click.option(
    "--every",
    type=DURATION,
    metavar="DURATION",
    help="Of intervals: their length; by default a minute, or less for a capture of less than an hour.",
)
@rtt_option
@row_gate_options
@rows_options
def table_of(name: str, request: Request, rows: RowOutput, gating: RowGating, **given: Any) -> None:
    """Write the rows of one of the tables."""
    table, context = TABLES[name], click.get_current_context()
    for option in OF_SOME_TABLES:
        is_given = context.get_parameter_source(option) is ParameterSource.COMMANDLINE
        if is_given and option not in table.takes:
            having = listed(each for each in TABLES if option in TABLES[each].takes)
            raise UsageError(f"--{option.replace('_', '-')} is an option of {having}, not of {name}")
    asked = {option: value for option, value in given.items() if option in table.takes}
    _write_rows(request, rows, gating, lambda capture: table.find(capture, **asked))
