"""`latpcap rank`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.command import command
from latpcap.cli.shared.gates import RowGating, keyed_row_gate_options
from latpcap.cli.shared.io import write
from latpcap.cli.shared.options import RTT, Choice, reading_options
from latpcap.cli.shared.rows import RowOutput, unsorted_rows_options
from latpcap.cli.shared.status import INTERRUPTED_STATUS
from latpcap.cli.tables import idle_option
from latpcap.result.rank_order import DEFAULT_RTT_MS, RANK_BY, RANK_SORTS, RankOrder

if TYPE_CHECKING:
    from collections.abc import Callable

    from latpcap.cli.shared.request import Request
    from latpcap.ranking import Ranking

SHOW_AFTER_S = 0.5


@command(short_help="Which of many captures is the chattiest: one line each.")
@reading_options
@click.option("--by", type=Choice(RANK_BY), help="What to rank, within and across the files; by default the files.")
@click.option(
    "--sort",
    type=Choice(list(RANK_SORTS)),
    default="added",
    show_default=True,
    help="Sort by the seconds that the RTT of --rtt adds, the share of the runtime that a further millisecond adds, "
    "the seconds that it adds, or round trips.",
)
@click.option(
    "--rtt",
    type=RTT,
    default=f"{DEFAULT_RTT_MS:g}ms",
    metavar="DURATION",
    show_default=True,
    help="RTT to project runtimes onto.",
)
@idle_option
@keyed_row_gate_options
@unsorted_rows_options
def rank(
    request: Request, by: str | None, sort: str, rtt: float, idle: float, gating: RowGating, rows: RowOutput
) -> None:
    """List many captures, the one to which another RTT adds most seconds first.

    Unlike with other commands, each CAPTURE is a recording of its own. A directory stands for the captures in it and
    below it. Captures that cannot be ranked come last, with the reason; Ctrl-C prints the ranking so far.

    \b
    latpcap rank *.pcapng
    latpcap rank captures/ --rtt 30ms
    latpcap rank captures/ --by application
    latpcap rank app.pcapng --by task --idle 200ms
    latpcap rank captures/ --fail-if 'share_per_ms > 5%'
    """
    from latpcap.ranking import Ranking
    from latpcap.tables.reading import sources

    asked = RankOrder(by, sort, rtt, idle / 1000)
    files = sources.files(request.captures)
    ranking = Ranking(asked, request.selected, **request.reading.options)
    stopped = _read_all(ranking, files, quiet=request.quiet)
    table = ranking.table()
    gates = gating.judge(table, *([by] if by else []), "file")
    if rows.is_text:
        from latpcap.report.sections.rank import ranked_sections
        from latpcap.report.terminal import document

        write([document(ranked_sections(table, asked, len(rows.in_order(table))))], rows.path)
    else:
        rows.write(table, gates)
    if stopped:
        click.echo(f"latpcap: stopped after {ranking.files:,} of {len(files):,} files", err=True)
        raise click.exceptions.Exit(INTERRUPTED_STATUS)
    if len(ranking.failures) == ranking.files:
        raise click.exceptions.Exit(max(ranking.failures))
    gating.end_of(gates, dict.fromkeys(table.column("file")))


def _read_all(ranking: Ranking, files: list[str], *, quiet: bool) -> bool:
    """Rank every file; whether Ctrl-C stopped that before the last."""
    from latpcap.cli.shared.progress import watch

    with _bar(files, quiet=quiet) as at:
        for number, path in enumerate(files):
            at(number)
            try:
                watch(partial(ranking.add, path), quiet=True)
            except KeyboardInterrupt:
                return True
    return False


@contextmanager
def _bar(files: list[str], *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Which file it is at, on standard error, where that is a terminal and takes longer than a moment."""
    if quiet or len(files) == 1 or not sys.stderr.isatty():
        yield lambda number: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn())
    began = monotonic()
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("ranking", total=len(files), visible=False)

        def at(number: int) -> None:
            bar.update(task, completed=number, visible=monotonic() - began > SHOW_AFTER_S)

        yield at
