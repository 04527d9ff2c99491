"""`latpcap project`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from latpcap.cli.shared.command import command
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
    rtt_is_option,
    rtt_option,
    within_option,
)
from latpcap.errors import UsageError

if TYPE_CHECKING:
    from latpcap.capture import Capture
    from latpcap.cli.shared.request import Request
    from latpcap.findings.what_if import WhatIf
    from latpcap.projection.by_connections import ProjectionGrid
    from latpcap.projection.project import Projection
    from latpcap.result.checks.gates import Gates


@command(short_help="The runtime at other RTTs, with and without fixes.")
@reading_options
@rtt_option
@rtt_is_option
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
    connections: list[int] | None,
    window: int | None,
    compression: float | None,
    distance: float | None,
    move: tuple[tuple[str, float], ...],
    service: float | None,
    client_time: float | None,
    fixes: tuple[list[Any], ...],
    as_json: bool,
    output: str | None,
) -> None:
    """Show the runtime at other RTTs, what fixes would change, and the largest RTT that meets a target.

    \b
    latpcap project capture.pcapng --rtt 1ms,15ms,50ms
    latpcap project capture.pcapng --within 60s
    latpcap project capture.pcapng --distance 1000km --bandwidth 34Mbit --loss 0.1%
    latpcap project capture.pcapng --rtt 500us --rtt 1.5s --json
    latpcap project capture.pcapng --connections 1,2,4,8,16 --rtt 0.5ms,3ms,20ms
    latpcap project capture.pcapng --move 10.0.0.5:3306=15ms
    latpcap project capture.pcapng --rtt 15ms --service 50%
    latpcap project capture.pcapng --rtt 15ms --fix n+1=join --fix fetch=1000
    latpcap project capture.pcapng --rtt 15ms --fix all --fail-if 'project(15ms) > 60s'
    """
    chosen = result_format(as_json, output)
    _refuse_of_one(connections, fixes, gating)
    capture = request.read(hashes=chosen == "json" or gating.hashes)
    elsewhere: dict[str, Any] = {
        "bandwidth_bps": bandwidth,
        "loss": loss,
        "jitter_ms": jitter,
        "window_bytes": window,
        "compression": compression,
        "distance_km": distance,
        "move": dict(move),
        "service": service,
        "client": client_time,
    }
    gates, changed = None, None
    result: Projection | ProjectionGrid
    if connections and len(connections) > 1:
        result = capture.project_grid(connections, flat(rtt), in_seconds(within), **elsewhere)
    else:
        count = connections[0] if connections else None
        result = capture.project(flat(rtt), in_seconds(within), connections=count, **elsewhere)
        tried = [fix for given in fixes for fix in given]
        rtts = [point.rtt_ms for point in result.points]
        changed = capture.what_if(tried, rtts, conditions=result.conditions) if tried else None
        gates = gating.judge(capture, None, result.conditions)
    text = _json(capture, result, changed, gates) if chosen == "json" else _text(capture, result, changed)
    warn(capture, request.quiet, told=chosen != "json")
    write([text], output)
    gating.end(gates, capture)


def _refuse_of_one(connections: Sequence[int] | None, fixes: Sequence[Any], gating: Gating) -> None:
    """Refuse what needs one number of connections."""
    for name, given in (("--fix", fixes), ("--fail-if", gating.gates)):
        if given and connections and len(connections) > 1:
            raise UsageError(f"{name} needs one number of connections: give --connections a single value")


def _json(capture: Capture, result: Projection | ProjectionGrid, changed: WhatIf | None, gates: Gates | None) -> str:
    from latpcap.display import plain
    from latpcap.projection.project import Projection
    from latpcap.report.jsonout import dump
    from latpcap.result.signoff import PROGRAM

    is_one = isinstance(result, Projection)
    schema = {"schema": f"latpcap.projection{'' if is_one else '_grid'}/1"}
    own = result.to_dict() | ({"what_if": plain(changed)} if is_one else {})
    asked = {"selection": plain(capture.selected), "settings": plain(capture.measures.settings)}
    read = {"captures": plain(capture.files), "program": PROGRAM}
    return dump(schema | own | asked | read | ({} if gates is None else gates.to_dict()))


def _text(capture: Capture, result: Projection | ProjectionGrid, changed: WhatIf | None) -> str:
    from latpcap.report.sections.projection import projected
    from latpcap.report.terminal import document

    return document(projected(result, changed, capture.selected, capture.measures.settings)).lstrip("\n")
