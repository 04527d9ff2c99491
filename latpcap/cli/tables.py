"""`latpcap exchanges`, `connections`, `statements`, `errors`, …: the tables, to look at or to hand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.gates import row_gate_options, row_gating_of
from latpcap.cli.io import read_capture, rows_format, warn, write, write_rows
from latpcap.cli.options import output_options, reading_options
from latpcap.cli.sorting import in_order_of
from latpcap.measures.asked import GROUPINGS
from latpcap.report.destination import going_to

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.result.gates import Gates
    from latpcap.tables.table import Table

__all__ = ["captures", "connections", "errors", "exchanges", "health", "statements"]


def _rows_command(name: str, what: str, short: str) -> click.Command:
    examples = f"latpcap {name} capture.pcapng\nlatpcap {name} capture.pcapng -o {name}.parquet"

    @click.command(name, help=f"{what}\n\n\b\n{examples}", short_help=short)
    @reading_options
    @output_options
    def command(file_format: str | None, as_json: bool, output: str | None, **reading: Any) -> None:
        _write(name, lambda capture: getattr(capture, name), file_format, as_json, output, reading)

    return command


def _write(
    name: str,
    rows_of: Callable[[Capture], Table],
    file_format: str | None,
    as_json: bool,
    output: str | None,
    reading: dict[str, Any],
    judge: Callable[[Table], Gates | None] = lambda rows: None,
) -> tuple[Capture, Gates | None]:
    """Read the captures and write some rows of them; what became of their gates is for the end."""
    chosen = rows_format(file_format, as_json, output, name)
    capture = read_capture(reading)
    rows = rows_of(capture)
    gates = judge(rows)
    warn(capture, reading["quiet"] or name == "health")
    write_rows(rows, chosen, output, gates)
    return capture, gates


@click.command(short_help="Every statement: how often, how long, its share.")
@reading_options
@click.option("--by", "grouping", type=click.Choice(GROUPINGS), help="One row for each of these instead.")
@row_gate_options
@output_options
def statements(
    grouping: str | None, file_format: str | None, as_json: bool, output: str | None, **reading: Any
) -> None:
    """Every statement: how often it ran, what it waited for, how long it took, its share.

    \b
    latpcap statements capture.pcapng
    latpcap statements capture.pcapng --by user
    latpcap statements capture.pcapng -o statements.parquet
    latpcap statements capture.pcapng --fail-if 'round_trips_per_execution > 2'
    """
    gating = row_gating_of(reading)

    def rows_of(capture: Capture) -> Table:
        return capture.statements_by(grouping) if grouping else capture.statements

    def judge(rows: Table) -> Gates | None:
        return gating.judge(rows, grouping or "text")

    capture, gates = _write("statements", rows_of, file_format, as_json, output, reading, judge)
    gating.end(gates, capture.captures.column("path"))


@click.command(short_help="Why it failed: every error, how often, of what.")
@reading_options
@output_options
def errors(file_format: str | None, as_json: bool, output: str | None, **reading: Any) -> None:
    """Why it failed: every error, how often, of which statement or login, in which frames.

    \b
    latpcap errors capture.pcapng
    latpcap errors capture.pcapng --format csv -o errors.csv
    """
    chosen = rows_format(file_format, as_json, output, "errors")
    capture = read_capture(reading)
    found = capture.measures.errors
    if not reading["quiet"]:
        click.echo(f"latpcap: {found.text}", err=True)
    warn(capture, reading["quiet"])
    if chosen == "table" and going_to().bounds_lines:
        from latpcap.report.terminal import errors_text

        write([errors_text(in_order_of(found.found, lambda: capture.errors))], output)
    else:
        write_rows(capture.errors, chosen, output)


exchanges = _rows_command(
    "exchanges",
    "Every request with its whole response: times, round trips, bytes, rows.",
    "Every request with its response: times, round trips, rows.",
)
connections = _rows_command(
    "connections",
    "Every database connection: who, what, its RTT and where that comes from.",
    "Every connection: who, what, its RTT and how it is known.",
)
health = _rows_command(
    "health",
    "What limits the trust in the result: losses, cut packets, unknown round-trip times.",
    "What limits the trust in the result.",
)
captures = _rows_command(
    "captures",
    "The files: format, packets, bytes, first and last time.",
    "The files: format, packets, bytes, first and last time.",
)
