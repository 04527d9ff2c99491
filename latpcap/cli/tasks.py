"""`latpcap tasks`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.gates import row_gate_options, row_gating_of
from latpcap.cli.io import read_capture, rows_format, warn, write, write_rows
from latpcap.cli.options import Duration, output_options, reading_options
from latpcap.cli.sorting import in_order

if TYPE_CHECKING:
    from latpcap.measures.asked import TaskBy
    from latpcap.result.tasks import TaskSummary

__all__ = ["idle_option", "tasks"]

idle_option = click.option(
    "--idle",
    type=Duration(),
    default="1s",
    metavar="DURATION",
    show_default=True,
    help="A client that asks for nothing for longer has ended its task.",
)


@click.command(short_help="What is done between idle gaps: round trips and seconds.")
@reading_options
@idle_option
@click.option(
    "--by",
    type=click.Choice(["idle", "route"]),
    default="idle",
    show_default=True,
    help="With `route`, a task also ends where the route that its statements name changes.",
)
@row_gate_options
@output_options
def tasks(idle: float, by: TaskBy, file_format: str | None, as_json: bool, output: str | None, **reading: Any) -> None:
    """What the application does between idle gaps: round trips, statements and seconds of each task.

    A pool is taken to serve one task after the other; connections that work side by side and rest at different times
    are taken for workers with tasks of their own.

    \b
    latpcap tasks capture.pcapng
    latpcap tasks capture.pcapng --idle 200ms -o tasks.csv
    latpcap tasks capture.pcapng --by route
    latpcap tasks capture.pcapng --fail-if 'round_trips > 50' --fail-if 'duration > 2s'
    """
    chosen = rows_format(file_format, as_json, output, "tasks")
    gating = row_gating_of(reading)
    capture = read_capture(reading)
    rows = capture.tasks_at(idle / 1000, by)
    gates = gating.judge(rows, "task")
    warn(capture, reading["quiet"])
    if chosen == "table":
        from latpcap.report import FORMATS
        from latpcap.report.console import print_renderables
        from latpcap.result.tasks import summary

        typical = _typical(summary(capture.measures.tasks(idle / 1000, by)))
        write(chain([print_renderables([typical])], FORMATS["table"](in_order(rows))), output)
    else:
        write_rows(rows, chosen, output, gates)
    gating.end(gates, capture.captures.column("path"))


def _typical(found: TaskSummary | None) -> str:
    """What is typical of the tasks, in a sentence."""
    from latpcap.units import counted, format_s

    if found is None:
        return "No task: no client asked for anything."
    trips, took, added = found.round_trips, found.duration_s, found.seconds_per_ms
    if found.tasks == 1:
        return f"1 task of {counted(int(trips.max), 'round trip')} in {format_s(took.max)}."
    return (
        f"{found.tasks:,} tasks. At the median {counted(int(trips.p50), 'round trip')}, {format_s(took.p50)}, and "
        f"{format_s(added.p50)} more with each further millisecond; at p95 {counted(int(trips.p95), 'round trip')}, "
        f"{format_s(took.p95)}, and {format_s(added.p95)} more."
    )
