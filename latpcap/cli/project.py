"""`latpcap project`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.io import flat, in_seconds, read_capture, warn, write
from latpcap.cli.options import Duration, json_option, reading_options, rtt_option

__all__ = ["project"]


@click.command()
@reading_options
@rtt_option
@click.option("--within", type=Duration(), metavar="DURATION", help="Find the largest RTT that meets this runtime.")
@json_option
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
def project(
    rtt: tuple[list[float], ...], within: float | None, as_json: bool, output: str | None, **reading: Any
) -> None:
    """The runtime at other RTTs, and the largest RTT that meets a target.

    \b
    latpcap project capture.pcapng --rtt 1ms,15ms,50ms
    latpcap project capture.pcapng --within 60s
    latpcap project capture.pcapng --rtt 500us --rtt 1.5s --json
    """
    capture = read_capture(reading, output)
    projection = capture.project(flat(rtt), in_seconds(within))
    if as_json:
        from latpcap.analysis import plain
        from latpcap.report.jsonout import dump

        text = dump({"schema": "latpcap.projection/1"} | plain(projection))
    else:
        from latpcap.report.terminal import print_renderables, projection_parts

        text = print_renderables(projection_parts(projection)).lstrip("\n")
    warn(capture, reading["quiet"])
    write([text], output)
