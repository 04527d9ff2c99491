"""`latpcap project`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from latpcap.cli.shared.gates import Gating, gate_options
from latpcap.cli.shared.io import result_format, warn, write
from latpcap.cli.shared.options import (
    condition_options,
    fix_option,
    flat,
    in_seconds,
    json_option,
    output_option,
    reading_options,
    rtt_option,
    within_option,
)
from latpcap.cli.shared.verb import command, tell_formerly
from latpcap.units import parse_part

if TYPE_CHECKING:
    from latpcap.cli.shared.request import Request

__all__ = ["project"]


def _client_parts(run: Callable[..., None]) -> Callable[..., None]:
    """`--client 50%` once meant `--client-time 50%`."""

    @wraps(run)
    def running(client: tuple[str, ...], client_time: float | None, **given: Any) -> None:
        parts = [each for each in client if each.strip().endswith("%")]
        if parts:
            tell_formerly(f"--client {parts[-1]}", f"--client-time {parts[-1]}")
            client, client_time = tuple(each for each in client if each not in parts), parse_part(parts[-1])
        run(client=client, client_time=client_time, **given)

    return running


@command(short_help="The runtime at other RTTs, with and without fixes.")
@_client_parts
@reading_options
@rtt_option
@within_option
@condition_options
@fix_option
@gate_options
@json_option
@output_option
def project(
    request: Request,
    gating: Gating,
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
    capture = request.read()
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
    warn(capture, request.quiet, told=chosen != "json")
    write([text], output)
    gating.end(gates, capture)
