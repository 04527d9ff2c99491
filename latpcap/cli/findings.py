"""`latpcap findings`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.gates import gate_options, gating_of
from latpcap.cli.io import flat, read_capture, rows_format, warn, write, write_rows
from latpcap.cli.options import output_options, reading_options, rtt_option
from latpcap.cli.sorting import in_order_of

__all__ = ["findings"]


@click.command(short_help="Which patterns cost round trips, and what fixes them.")
@reading_options
@rtt_option
@gate_options
@click.option("--filters", is_flag=True, help="Show each display filter whole, however many frames it names.")
@output_options
def findings(
    rtt: tuple[list[float], ...],
    file_format: str | None,
    filters: bool,
    as_json: bool,
    output: str | None,
    **reading: Any,
) -> None:
    """Which patterns cost round trips, what fixes them, and which packets show it.

    \b
    latpcap findings capture.pcapng --rtt 15ms
    latpcap findings capture.pcapng --filters
    latpcap findings capture.pcapng --format jsonl
    latpcap findings nightly.pcapng --fail-if 'finding(n+1)'
    """
    chosen = rows_format(file_format, as_json, output, "findings")
    gating = gating_of(reading)
    capture = read_capture(reading)
    rtts = flat(rtt)
    gates = gating.judge(capture)
    warn(capture, reading["quiet"])
    if chosen == "table":
        from latpcap.report.terminal import findings_text

        result = capture.analyze(rtts)
        shown = in_order_of(result.findings, lambda: capture.findings_at(rtts))
        told = result.projection.told_rtt_ms
        text = findings_text(shown, result.fixes_together, told, whole_filters=filters, timing_only=result.timing_only)
        write([text], output)
    else:
        write_rows(capture.findings_at(rtts), chosen, output, gates)
    gating.end(gates, capture)
