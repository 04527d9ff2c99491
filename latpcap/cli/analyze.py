"""`latpcap analyze`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from latpcap.cli.shared.command import command
from latpcap.cli.shared.gates import Gating, gate_options
from latpcap.cli.shared.io import result_format, warn, write, write_result
from latpcap.cli.shared.options import Target, json_option, output_option, reading_options, target_options

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.result.cover import Cover


@command(short_help="What the network cost, why, and what it costs elsewhere.")
@reading_options
@target_options
@gate_options
@json_option
@output_option
@click.option("-v", "--verbose", is_flag=True, help="Show all: budget, findings, projection, statements, connections.")
def analyze(
    request: Request,
    target: Target,
    gating: Gating,
    as_json: bool,
    output: str | None,
    verbose: bool,
) -> None:
    """Show what the network costs, why, what to do, and what the same job takes at another RTT.

    `-o result.json` keeps the result; `-o` takes .html and .md, too, and `latpcap report` writes these with a cover.

    \b
    latpcap analyze capture.pcapng
    latpcap analyze capture.pcapng --rtt 15ms --within 60s
    latpcap analyze capture.pcapng --move 10.0.0.5:3306=15ms
    latpcap analyze nightly.pcapng --fail-if 'round_trips > 500' --fail-if 'finding(n+1)'
    latpcap analyze 'ring/*.pcapng' -o result.json
    """
    chosen = result_format(as_json, output, "result", "report")
    capture = request.read(hashes=chosen != "terminal" or gating.hashes)
    write_analysis(capture, gating, chosen, output, target, quiet=request.quiet, whole=verbose)


def write_analysis(
    capture: Capture,
    gating: Gating,
    chosen: str,
    output: str | None,
    target: Target,
    *,
    quiet: bool,
    cover: Cover | None = None,
    whole: bool = True,
) -> None:
    """Write all that is known of a capture in the chosen format, and end with status 1 where a gate fails."""
    from latpcap.report import FORMATS, formats_of

    asked, conditions = capture.moved(target.rtt_ms, dict(target.move))
    if chosen in formats_of("report"):
        gates = gating.judge(capture, None, conditions)
        text = FORMATS[chosen](capture.measures, gates, asked, target.within_s, conditions, cover)
        warn(capture, quiet)
        write([text], output)
        gating.end(gates, capture)
        return
    result = capture.measures.analyze(asked, target.within_s, conditions, cover)
    gates = gating.judge(capture, result, conditions)
    if chosen == "terminal" and not (whole or result.sign_off.is_asked):
        from latpcap.report.terminal import render_first_screen

        write([render_first_screen(result, gates)], output)
    else:
        write_result(result, chosen, output, gates)
    gating.end(gates, capture, result)
