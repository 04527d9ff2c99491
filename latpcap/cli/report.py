"""`latpcap report`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.files import OUTPUT
from latpcap.cli.gates import gate_options, gating_of
from latpcap.cli.io import flat, in_seconds, read_capture, warn, write
from latpcap.cli.options import reading_options, sign_off_options, target_options

__all__ = ["report"]


@click.command(short_help="All of it to hand on: a page or Markdown.")
@reading_options
@target_options
@sign_off_options
@gate_options
@click.option("-o", "--output", required=True, type=OUTPUT, metavar="FILE", help="The file to write: .html or .md.")
def report(
    rtt: tuple[list[float], ...],
    move: tuple[tuple[str, float], ...],
    within: float | None,
    title: str | None,
    customer: str | None,
    notes: tuple[str, ...],
    date: str | None,
    output: str,
    **reading: Any,
) -> None:
    """Write the whole result to hand on: a page for the browser, or Markdown for a ticket or a mail.

    \b
    latpcap report capture.pcapng -o report.html
    latpcap report capture.pcapng --rtt 15ms -o report.md
    latpcap report nightly.pcapng -o report.html --fail-if 'round_trips > 500'
    latpcap report capture.pcapng --title 'Nightly job' --customer ACME --date today -o report.html
    """
    from latpcap.report import report_to
    from latpcap.result.signoff import Cover

    chosen = report_to(output)
    gating = gating_of(reading)
    capture = read_capture(reading)
    asked, conditions = capture.moved(flat(rtt), dict(move))
    gates = gating.judge(capture, None, conditions)
    cover = Cover(title, customer, notes, date)
    text = chosen(capture.measures, asked, in_seconds(within), conditions, cover, gates)
    warn(capture, reading["quiet"])
    write([text], output)
    gating.end(gates, capture)
