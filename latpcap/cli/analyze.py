"""`latpcap analyze`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from latpcap.cli.gates import Gating, gate_options, gating_of
from latpcap.cli.io import flat, in_seconds, read_capture, result_format, warn, write, write_result
from latpcap.cli.options import json_option, output_option, reading_options, sign_off_options, target_options

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.result.signoff import Cover

__all__ = ["analyze", "write_analysis"]


@click.command(short_help="What the network cost, why, and what it costs elsewhere.")
@reading_options
@target_options
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
    from latpcap.result.signoff import Cover

    chosen = result_format(as_json, output, "result", "report")
    gating = gating_of(reading)
    capture = read_capture(reading)
    asked = {**reading, "rtt": rtt, "move": move, "within": within}
    write_analysis(capture, gating, chosen, output, asked, Cover(title, customer, notes, date))


def write_analysis(
    capture: Capture,
    gating: Gating,
    chosen: str,
    output: str | None,
    options: dict[str, Any],
    cover: Cover | None = None,
) -> None:
    """Write all that is known of a capture in the chosen format, and end with status 1 where a gate fails."""
    from latpcap.report import FORMATS, formats_of

    asked, conditions = capture.moved(flat(options["rtt"]), dict(options["move"]))
    within_s = in_seconds(options["within"])
    if chosen in formats_of("report"):
        gates = gating.judge(capture, None, conditions)
        text = FORMATS[chosen](capture.measures, asked, within_s, conditions, cover, gates)
        warn(capture, options["quiet"])
        write([text], output)
        gating.end(gates, capture)
        return
    result = capture.measures.analyze(asked, within_s, conditions, cover)
    gates = gating.judge(capture, result, conditions)
    write_result(result, chosen, output, gates)
    gating.end(gates, capture, result)
