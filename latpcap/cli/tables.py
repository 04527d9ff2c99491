"""`latpcap exchanges`, `connections`, `statements`, `errors`, …: the tables, to look at or to hand on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.io import read_capture, rows_format, warn, write_rows
from latpcap.cli.options import output_options, reading_options

if TYPE_CHECKING:
    from latpcap.tables.table import Table

__all__ = ["captures", "connections", "errors", "exchanges", "health", "statements"]


def _rows_command(name: str, what: str) -> click.Command:
    @click.command(
        name, help=f"{what}\n\n\b\nlatpcap {name} capture.pcapng\nlatpcap {name} capture.pcapng -o {name}.parquet"
    )
    @reading_options
    @output_options
    def command(file_format: str | None, as_json: bool, output: str | None, **reading: Any) -> None:
        chosen = rows_format(file_format, as_json, output, name)
        capture = read_capture(reading, output)
        rows: Table = getattr(capture, name)
        warn(capture, reading["quiet"] or name == "health")
        write_rows(rows, chosen, output)

    return command


exchanges = _rows_command("exchanges", "Every request with its whole response: times, round trips, bytes, rows.")
connections = _rows_command("connections", "Every database connection: who, what, its RTT and where that comes from.")
statements = _rows_command("statements", "Every statement: how often it ran, what it waited for, how long it took.")
errors = _rows_command("errors", "Why it failed: every error, how often, of which statement or login, in which frames.")
health = _rows_command("health", "What limits the trust in the result: losses, cut packets, unknown round-trip times.")
captures = _rows_command("captures", "The files: format, packets, bytes, first and last time.")
