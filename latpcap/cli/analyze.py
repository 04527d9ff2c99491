"""`latpcap analyze`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.gates import gate_options, gating_of
from latpcap.cli.io import flat, in_seconds, read_capture, result_format, warn, write, write_result
from latpcap.cli.options import (
    Duration,
    json_option,
    move_option,
    output_option,
    reading_options,
    rtt_option,
    sign_off_options,
)

__all__ = ["analyze"]


@click.command(short_help="What the network cost, why, and what it costs elsewhere.")
@reading_options
@rtt_option
@move_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@sign_off_options
@gate_options
@json_option
@output_option
def analyze(
    rtt: tuple[list[float], ...],
    move: tuple[tuple[str, float], ...],
    within: float | None,
    title: str | None,
    customer: str | None,
    notes: tuple[str, ...],
    date: str | None,
    as_json: bool,
    output: str | None,
    **reading: Any,
) -> None:
    """Verdict, health, budget, findings, projection, statements and connections.

    \b
    latpcap analyze capture.pcapng
    latpcap analyze capture.pcapng --rtt 15ms --within 60s
    latpcap analyze capture.pcapng --move 10.0.0.5:3306=15ms
    latpcap analyze nightly.pcapng --fail-if 'round_trips > 500' --fail-if 'finding(n+1)'
    latpcap analyze 'ring/*.pcapng' -o result.json
    """
    from latpcap.report import FORMATS, formats_of
    from latpcap.result.signoff import Cover

    chosen = result_format(as_json, output, "result", "report")
    gating = gating_of(reading, output)
    capture = read_capture(reading, output)
    asked, conditions = capture.moved(flat(rtt), dict(move))
    cover = Cover(title, customer, notes, date)
    if chosen in formats_of("report"):
        gates = gating.judge(capture, None, conditions)
        text = FORMATS[chosen](capture.measures, asked, in_seconds(within), conditions, cover, gates)
        warn(capture, reading["quiet"])
        write([text], output)
        gating.end(gates, capture)
        return
    result = capture.measures.analyze(asked, in_seconds(within), conditions, cover)
    gates = gating.judge(capture, result, conditions)
    write_result(result, chosen, output, gates)
    gating.end(gates, capture, result)
