"""`latpcap project`."""

from __future__ import annotations

from typing import Any

import click

from latpcap.cli.gates import gate_options, gating_of
from latpcap.cli.io import flat, in_seconds, read_capture, result_format, warn, write
from latpcap.cli.options import (
    condition_options,
    fix_option,
    json_option,
    output_option,
    reading_options,
    rtt_option,
    within_option,
)
from latpcap.units import parse_part

__all__ = ["project"]


@click.command(short_help="The runtime at other RTTs, and with fixes.")
@reading_options
@rtt_option
@within_option
@condition_options
@fix_option
@gate_options
@json_option
@output_option
def project(
    rtt: tuple[list[float], ...],
    within: float | None,
    bandwidth: float | None,
    loss: float | None,
    jitter: float,
    connections: int | None,
    distance: float | None,
    move: tuple[tuple[str, float], ...],
    service: float | None,
    client_time: float | None,
    fixes: tuple[list[Any], ...],
    as_json: bool,
    output: str | None,
    **reading: Any,
) -> None:
    """The runtime at other RTTs, what fixes would change, and the largest RTT that meets a target.

    \b
    latpcap project capture.pcapng --rtt 1ms,15ms,50ms
    latpcap project capture.pcapng --within 60s
    latpcap project capture.pcapng --distance 1000km --bandwidth 34Mbit --loss 0.1%
    latpcap project capture.pcapng --rtt 500us --rtt 1.5s --json
    latpcap project capture.pcapng --move 10.0.0.5:3306=15ms
    latpcap project capture.pcapng --rtt 15ms --service 50%
    latpcap project capture.pcapng --rtt 15ms --fix n+1=join --fix fetch=1000
    latpcap project capture.pcapng --rtt 15ms --fix all --fail-if 'project(15ms) > 60s'
    """
    chosen = result_format(as_json, output)
    gating = gating_of(reading)
    reading["client"], client_time = _client(reading["client"], client_time)
    capture = read_capture(reading)
    projection = capture.project(
        flat(rtt),
        in_seconds(within),
        bandwidth_bps=bandwidth,
        loss=loss,
        jitter_ms=jitter,
        connections=connections,
        distance_km=distance,
        move=dict(move),
        service=service,
        client=client_time,
    )
    tried = [fix for given in fixes for fix in given]
    rtts, conditions = [point.rtt_ms for point in projection.points], projection.conditions
    changed = capture.what_if(tried, rtts, conditions=conditions) if tried else None
    gates = gating.judge(capture, None, conditions)
    if chosen == "json":
        from latpcap.report.jsonout import dump
        from latpcap.result.analysis import plain
        from latpcap.result.signoff import program

        chosen_part = {"selection": plain(capture.selected), "settings": plain(capture.measures.settings)}
        read = {"captures": plain(capture.files), "program": program()}
        read |= {} if gates is None else gates.to_dict()
        projected = {"schema": "latpcap.projection/1"} | plain(projection) | {"what_if": plain(changed)}
        text = dump(projected | chosen_part | read)
    else:
        from latpcap.report.terminal import (
            budget_parts,
            print_renderables,
            projection_parts,
            selection,
            settings,
            what_if_parts,
        )

        asked_for = [*selection(capture.selected), *settings(capture.measures.settings)]
        parts = [*asked_for, *projection_parts(projection), *budget_parts(projection), *what_if_parts(changed)]
        text = print_renderables(parts).lstrip("\n")
    warn(capture, reading["quiet"], told=chosen != "json")
    write([text], output)
    gating.end(gates, capture)


def _client(given: tuple[str, ...], part: float | None) -> tuple[tuple[str, ...], float | None]:
    """The clients that are selected, and which part of its own time the client takes: `--client 50%` is no address."""
    parts = [each for each in given if each.strip().endswith("%")]
    return tuple(each for each in given if each not in parts), parse_part(parts[-1]) if parts else part
