"""How far apart the hosts are, and how that is known."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from latpcap.report.console import heading
from latpcap.report.grid import Grid, Heading
from latpcap.report.text import TOP, ms, printable
from latpcap.result.connections import PathResult
from latpcap.units import counted, format_ms

__all__ = ["paths"]

PLACES = {"unknown": "at an unknown place", "between": "on the way", "loopback": "on one machine"}
"""Where a capture was taken; else at the client or at the server."""


def paths(paths: tuple[PathResult, ...]) -> Iterator[RenderableType]:
    """How far apart the hosts are, and how that is known; in words for the path with most connections."""
    if not paths or (baseline_ms := paths[0].rtt.baseline_ms) is None:
        return
    yield heading("How the RTT is known")
    if len(paths) > 1:
        yield Grid(
            (
                *map(Heading, ("RTT ms", "low", "high")),
                *(Heading(title, optional=True) for title in ("connections", "samples")),
                Heading("from", "left", optional=True),
                Heading("client → server", "left", least=40),
            ),
            [_path_row(path) for path in paths[:TOP]],
        )
    changed = [path for path in paths if path.periods]
    for path in changed[:TOP]:
        yield Text(printable(f"{path.client} → {path.server}: the RTT changed"))
        yield _periods(path)
        yield from (
            Text(f"Changed at {period.begin[11:19]}, as shown by {period.shown_by}")
            for period in path.periods
            if period.shown_by
        )
        reasons = {f"{period.rtt.method}: {period.rtt.reason}": None for period in path.periods}
        yield from map(Text, reasons)
    if changed and len(paths) == 1:
        return
    rtt = paths[0].rtt
    measured = {
        "handshake": rtt.handshake_ms,
        "in-stream": rtt.in_stream_median_ms,
        "fastest responses": rtt.response_floor_ms,
    }
    figures = ", ".join(f"{name} {format_ms(value)}" for name, value in measured.items() if value is not None)
    place = PLACES.get(rtt.position, f"at the {rtt.position}")
    known = [format_ms(bound) for bound in (rtt.low_ms, rtt.high_ms) if bound is not None]
    between = f", {' to '.join(known)}" if known else ""
    whose = f"{paths[0].client} → {paths[0].server}"
    yield Text(printable(f"{whose}: {format_ms(baseline_ms)}{between}, from {counted(rtt.samples, 'sample')}"))
    yield Text(f"{rtt.method}: {rtt.reason} ({figures}; captured {place})")


def _periods(path: PathResult) -> Grid:
    one_day = len({period.begin[:10] for period in path.periods}) == 1
    return Grid(
        (
            Heading("from (UTC)", "left"),
            *map(Heading, ("RTT ms", "low", "high", "round trips")),
            Heading("samples", optional=True),
            Heading("from what", "left", least=23),
        ),
        [
            (
                period.begin[11:19] if one_day else period.begin[:19].replace("T", " "),
                *map(ms, (period.rtt.baseline_ms, period.rtt.low_ms, period.rtt.high_ms)),
                f"{period.round_trips:,}",
                f"{period.rtt.samples:,}",
                period.rtt.method,
            )
            for period in path.periods
        ],
    )


def _path_row(path: PathResult) -> tuple[str, ...]:
    rtt = path.rtt
    return (
        *map(ms, (rtt.baseline_ms, rtt.low_ms, rtt.high_ms)),
        f"{path.connections:,}",
        f"{rtt.samples:,}",
        f"{rtt.method}, {rtt.position}",
        printable(f"{path.client} → {path.server}"),
    )
