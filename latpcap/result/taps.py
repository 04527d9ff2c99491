"""The comparison of two taps: how long packets travel between them, each way, and what got lost there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from latpcap.display import ShortRepr
from latpcap.tables.recording import Recording

NS_PER_MS = 1e6
PPB_PER_PPM = 1_000


class TapsDirection(ShortRepr, Struct, frozen=True):
    """The packets of one side, between the two taps."""

    packets: int
    """Seen by both."""
    min_ms: float | None
    """From the first tap on their way to the second one, as the taps' clocks say."""
    median_ms: float | None
    p95_ms: float | None
    client_tap_only: int
    """Seen by that tap alone, while both saw packets before and after: lost on the way, or missed by a capture."""
    server_tap_only: int


class AtTap(ShortRepr, Struct, frozen=True):
    """Measurements at one tap."""

    retransmissions: int
    """Packets, of both sides, that bring what passed it before."""
    answers: int
    """How often the server's data followed on the client's."""
    answer_median_ms: float | None
    """From the client's last packet to the server's first: at a tap beside the server its service time."""
    answer_p95_ms: float | None


class TapsResult(ShortRepr, Struct, frozen=True):
    """Two taps that saw the same packets of one client host and one server."""

    client: str
    server: str
    client_tap: str
    """The file, and where several were captured together the interface, that is nearer to the client."""
    server_tap: str
    clocks: str
    """The taps' clocks: `same` where both are interfaces of one file, `differ` where packets arrive before they were
    sent or one of them gains, else `unknown`. The times of one way are true only where the clocks agree."""
    round_trip_ms: float | None
    """From the tap at the client to the one at the server and back, the median: whatever the clocks say. Null where
    packets passed one way only."""
    round_trip_min_ms: float | None
    offset_ms: float | None
    """The clock at the server's tap is ahead by so much, if both ways take equally long."""
    drift_ppm: float | None
    """How many µs it gains a second; null where it gains none that shows."""
    request: TapsDirection
    response: TapsDirection
    reordered_packets: int
    """The taps saw them in another order."""
    joined_packets: int
    """One tap saw as one segment what the other one saw as several: a network card or driver divides or joins them."""
    at_client: AtTap
    at_server: AtTap


def taps_results(recording: Recording) -> Iterator[TapsResult]:
    """Each two taps of each path, those with most packets first."""
    rows = recording.taps_rows
    connections = recording.connections
    paths = {*zip(connections.host.texts(), connections.server.texts(), strict=True)} if rows else set()
    of_paths = (_result(row) for row in rows if (row["client"], row["server"]) in paths)
    yield from sorted(of_paths, key=_by_packets)


def _by_packets(taps: TapsResult) -> tuple[int, str, str, str, str]:
    """Parts of one recording are put in the order that the whole has."""
    packets = taps.request.packets + taps.response.packets
    return -packets, taps.server, taps.client, taps.client_tap, taps.server_tap


def _result(row: dict[str, Any]) -> TapsResult:
    def ms(name: str) -> float | None:
        value = row[f"{name}_ns"]
        return None if value is None else value / NS_PER_MS

    def way(name: str) -> TapsDirection:
        least, median, p95 = (ms(f"{name}_{which}") for which in ("min", "median", "p95"))
        alone = row[f"{name}_client_tap_only"], row[f"{name}_server_tap_only"]
        return TapsDirection(row[f"{name}_packets"], least, median, p95, *alone)

    def at(name: str) -> AtTap:
        told = (row[f"{name}_retransmissions"], row[f"{name}_answers"])
        return AtTap(*told, ms(f"{name}_answer_median"), ms(f"{name}_answer_p95"))

    drift = row["drift_ppb"]
    return TapsResult(
        client=row["client"],
        server=row["server"],
        client_tap=row["client_tap"],
        server_tap=row["server_tap"],
        clocks=row["clocks"],
        round_trip_ms=ms("round_trip"),
        round_trip_min_ms=ms("round_trip_min"),
        offset_ms=ms("offset"),
        drift_ppm=None if drift is None else drift / PPB_PER_PPM,
        request=way("request"),
        response=way("response"),
        reordered_packets=row["reordered_packets"],
        joined_packets=row["joined_packets"],
        at_client=at("client_tap"),
        at_server=at("server_tap"),
    )
