"""`latpcap sql`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.command import command
from latpcap.cli.shared.io import warn
from latpcap.cli.shared.options import DURATION, reading_options
from latpcap.cli.shared.rows import RowOutput, queried_rows_options
from latpcap.errors import UsageError
from latpcap.units import QUERY_TIMEOUT_S

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request


@command(short_help="Query the tables in SQL.")
@reading_options
@click.option(
    "--timeout",
    type=DURATION,
    default=f"{QUERY_TIMEOUT_S:g}s",
    metavar="DURATION",
    show_default=True,
    help="Time limit of the query.",
)
@queried_rows_options
def sql(request: Request, timeout: float, rows: RowOutput) -> None:
    """Query the tables in SQL (DuckDB's): the last argument is the query.

    The tables are exchanges, connections, statements, findings, errors, tasks, intervals, health, captures,
    rtt_samples and taps; `describe exchanges` lists the columns of one. A query reads these and nothing else: no file,
    no network; it takes no longer than --timeout, and no more memory than --memory.

    \b
    latpcap sql capture.pcapng "select command, sum(round_trips) from exchanges group by all"
    latpcap sql capture.pcapng "from statements order by network_s desc limit 5" -o top.csv
    """
    from latpcap.tables.writing.sql import engine

    *captures, query = request.captures
    if not captures:
        raise UsageError('give a capture and, as the last argument, a query: latpcap sql FILE "from statements"')
    if os.path.exists(query):
        raise UsageError(f"the last argument is the query, and {query} is a file")
    engine()  # before the captures take their time
    capture = request.of(captures).read()
    answer = capture.sql(query, timeout_s=timeout / 1000)
    warn(capture, request.quiet)
    rows.write(answer)
