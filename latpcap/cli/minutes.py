"""`latpcap minutes`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.io import read_capture, rows_format, warn, write_rows
from latpcap.cli.options import Duration, output_options, reading_options

__all__ = ["minutes"]


@click.command(short_help="RTT, loss, round trips and response times over time.")
@reading_options
@click.option(
    "--every",
    type=Duration(),
    metavar="DURATION",
    help="How long an interval is; else a minute, or less where the capture is shorter than an hour.",
)
@output_options
def minutes(every: float | None, file_format: str | None, as_json: bool, output: str | None, **reading: Any) -> None:
    """RTT, loss, round trips and response times over time: one row a minute, or another interval.

    \b
    latpcap minutes capture.pcapng
    latpcap minutes capture.pcapng --every 10s -o minutes.csv
    """
    chosen = rows_format(file_format, as_json, output, "minutes")
    capture = read_capture(reading)
    rows = capture.minutes_of(None if every is None else every / 1000)
    warn(capture, reading["quiet"])
    write_rows(rows, chosen, output)
