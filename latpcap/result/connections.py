"""Connections and paths in a result: who talked to whom, at which RTT, and how that is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latpcap.display import finite
from latpcap.measures.chattiness import ChattinessGroups
from latpcap.measures.tcp import TcpResult, tcp_results
from latpcap.result.chattiness import ConnectionChattiness, connection_chattiness
from latpcap.rtt import Baselines, Estimate
from latpcap.tables import columns
from latpcap.tables.recording import Recording
from latpcap.tables.times import iso

__all__ = ["ConnectionResult", "PathResult", "PeriodResult", "RttResult", "connection_results", "path_results"]

CONNECTION_TEXTS = (
    *("client", "server", "protocol", "server_version", "user", "database", "application"),
    *("encryption", "compression", "state"),
)


@dataclass(frozen=True, slots=True)
class RttResult:
    """The baseline RTT of one connection in ms, its range, and where it comes from."""

    baseline_ms: float | None
    low_ms: float | None
    high_ms: float | None
    method: str
    reason: str
    handshake_ms: float | None
    in_stream_min_ms: float | None
    in_stream_median_ms: float | None
    in_stream_mean_ms: float | None
    response_floor_ms: float | None
    samples: int
    position: str


@dataclass(frozen=True, slots=True)
class PeriodResult:
    """A path had one RTT from a time on, until the next period."""

    begin: str
    shown_by: str | None
    """What shows that it began; null for the first."""
    round_trips: int
    rtt: RttResult


@dataclass(frozen=True, slots=True)
class PathResult:
    """One client host and one server endpoint: how far apart they are, from all their connections together."""

    client: str
    server: str
    connections: int
    rtt: RttResult
    """Where it changed: of the period with most round trips."""
    periods: tuple[PeriodResult, ...]
    """Empty where the RTT did not change."""


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """One database connection."""

    stream: int
    client: str
    server: str
    protocol: str
    server_version: str | None
    user: str | None
    database: str | None
    application: str | None
    encryption: str | None
    compression: str | None
    state: str
    replication: bool
    start: str
    end: str
    exchanges: int
    round_trips: int
    request_bytes: int
    response_bytes: int
    retransmissions: int
    lost_bytes: int
    cancels: int | None
    """The stream whose statement this connection came to cancel."""
    rtt: RttResult
    tcp: TcpResult
    chattiness: ConnectionChattiness


def connection_results(
    recording: Recording, baselines: Baselines, groups: ChattinessGroups, *, knows_network: bool = True
) -> Iterator[ConnectionResult]:
    """The database connections, in the order of their streams; `knows_network` says that its share can be told."""
    table, rows = recording.all_connections_table, recording.database_rows
    texts = {name: columns.texts(table, name) for name in CONNECTION_TEXTS}
    names = ("stream", "exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes")
    numbers = {name: columns.column(table, name).values for name in names}
    replication = columns.column(table, "replication").values
    cancels = columns.column(table, "cancels").ints(-1)
    start, end = (iso(columns.column(table, name)) for name in ("start", "end"))
    for index, (row, tcp) in enumerate(zip(map(int, rows), tcp_results(recording), strict=True)):
        yield ConnectionResult(
            **{name: values[row] for name, values in texts.items()},  # type: ignore[arg-type]
            **{name: int(values[row]) for name, values in numbers.items()},  # type: ignore[arg-type]
            replication=bool(replication[row]),
            cancels=int(cancels[row]) if cancels[row] >= 0 else None,
            start=start[row] or "",
            end=end[row] or "",
            rtt=_rtt(baselines, index),
            tcp=tcp,
            chattiness=connection_chattiness(
                groups,
                index,
                recording.runtime_s,
                knows_network=knows_network and bool(np.isfinite(baselines.baseline[index])),
            ),
        )


def path_results(recording: Recording, found: Estimate) -> Iterator[PathResult]:
    """The paths, those with most connections first."""
    counts = np.bincount(found.paths.of_connection, minlength=len(found.paths))
    periods = _periods(recording, found)
    for path in map(int, np.argsort(-counts, kind="stable")):
        yield PathResult(
            client=found.paths.client[path],
            server=found.paths.server[path],
            connections=int(counts[path]),
            rtt=_rtt(found.of_paths, path),
            periods=periods.get(path, ()),
        )


def _periods(recording: Recording, found: Estimate) -> dict[int, tuple[PeriodResult, ...]]:
    """The periods of each path that changed."""
    if not found.has_changed:
        return {}
    changes, phases = found.phases.changes, found.phases
    trips = np.bincount(
        phases.period[found.of_exchanges], recording.exchanges.round_trips, len(changes.begin_of_period)
    )
    start = np.maximum(changes.begin_of_period, 0) + recording.start_ns
    begin = np.datetime_as_string(start.view("datetime64[ns]"), unit="ns")
    return {
        path: tuple(
            PeriodResult(
                begin=f"{begin[period]}Z",
                shown_by=changes.shown_text(period - path - 1) if period > changes.first[path] else None,
                round_trips=int(trips[period]),
                rtt=_rtt(found.of_periods, period),
            )
            for period in range(int(changes.first[path]), int(changes.first[path + 1]))
        )
        for path in np.unique(changes.path).tolist()
    }


def _rtt(baselines: Baselines, index: int) -> RttResult:
    def ms(values: NDArray[np.float64]) -> float | None:
        return finite(values[index] / 1e6)

    return RttResult(
        baseline_ms=ms(baselines.baseline),
        low_ms=ms(baselines.low),
        high_ms=ms(baselines.high),
        method=baselines.method_name(index),
        reason=baselines.reason_text(index),
        handshake_ms=ms(baselines.handshake),
        in_stream_min_ms=ms(baselines.in_stream_min),
        in_stream_median_ms=ms(baselines.in_stream_median),
        in_stream_mean_ms=ms(baselines.in_stream_mean),
        response_floor_ms=ms(baselines.floor),
        samples=int(baselines.samples[index]),
        position=baselines.position_name(index),
    )
