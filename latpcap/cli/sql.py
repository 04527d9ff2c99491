"""`latpcap sql`."""

from __future__ import annotations

import os
from typing import Any

import click

from latpcap.cli.io import read_capture, rows_format, warn, write_rows
from latpcap.cli.options import Duration, output_options, reading_options
from latpcap.errors import UsageError
from latpcap.units import QUERY_TIMEOUT_S

__all__ = ["sql"]


@click.command(short_help="Ask the tables a question in SQL.")
@reading_options
@click.option(
    "--timeout",
    type=Duration(),
    default=f"{QUERY_TIMEOUT_S:g}s",
    metavar="DURATION",
    show_default=True,
    help="How long the query may take.",
)
@output_options
def sql(timeout: float, file_format: str | None, as_json: bool, output: str | None, **reading: Any) -> None:
    """Ask the tables a question in SQL (DuckDB's): the last argument is the query.

    The tables are exchanges, connections, statements, findings, errors, tasks, minutes, health, captures,
    rtt_samples and taps; `describe exchanges` lists the columns of one. A query reads these and nothing else: no file,
    no network; it takes no longer than --timeout, and no more memory than --memory.

    \b
    latpcap sql capture.pcapng "select command, sum(round_trips) from exchanges group by all"
    latpcap sql capture.pcapng "from statements order by network_s desc limit 5" -o top.csv
    """
    from latpcap.tables.sql import engine

    *captures, query = reading["captures"]
    if not captures:
        raise UsageError('give a capture and, as the last argument, a query: latpcap sql FILE "from statements"')
    if os.path.exists(query):
        raise UsageError(f"the last argument is the query, and {query} is a file")
    engine()  # before the captures take their time
    chosen = rows_format(file_format, as_json, output, "rows")
    capture = read_capture({**reading, "captures": captures})
    rows = capture.sql(query, timeout_s=timeout / 1000)
    warn(capture, reading["quiet"])
    write_rows(rows, chosen, output)
