"""`latpcap exchanges`, `connections`, `statements`, `health`, `captures`: the tables, to look at or to hand on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.io import read_capture, warn, write
from latpcap.cli.options import output_options, reading_options
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.tables.table import Table

__all__ = ["captures", "chosen_format", "connections", "exchanges", "health", "statements", "write_rows"]

FORMAT_OF_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


def _rows_command(name: str, what: str) -> click.Command:
    @click.command(
        name, help=f"{what}\n\n\b\nlatpcap {name} capture.pcapng\nlatpcap {name} capture.pcapng -o {name}.parquet"
    )
    @reading_options
    @output_options
    def command(file_format: str | None, output: str | None, **reading: Any) -> None:
        chosen = chosen_format(file_format, output, name)
        capture = read_capture(reading, output)
        rows: Table = getattr(capture, name)
        warn(capture, reading["quiet"] or name == "health")
        write_rows(rows, chosen, output)

    return command


def chosen_format(file_format: str | None, output: str | None, name: str) -> str:
    """The format that was asked for, else the one that the output's name says, else a table for people."""
    chosen = file_format or FORMAT_OF_SUFFIX.get(Path(output).suffix if output else "", "table")
    if chosen == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError(f"Parquet is no text: name a file with `-o {name}.parquet`")
    return chosen


def write_rows(rows: Table, chosen: str, output: str | None) -> None:
    """Write `rows` in the chosen format to the file `output` or to standard output."""
    if chosen == "table":
        from latpcap.report.rows import render

        write(render(rows), output)
    else:
        write(rows.encode(chosen), output)


exchanges = _rows_command("exchanges", "Every request with its whole response: times, round trips, bytes, rows.")
connections = _rows_command("connections", "Every database connection: who, what, its RTT and where that comes from.")
statements = _rows_command("statements", "Every statement: how often it ran, what it waited for, how long it took.")
health = _rows_command("health", "What limits the trust in the result: losses, cut packets, unknown round-trip times.")
captures = _rows_command("captures", "The files: format, packets, bytes, first and last time.")
