"""Connections and paths in a result: who talked to whom, at which RTT, and how that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from latpcap.display import ShortRepr
from latpcap.measures.chattiness import ChattinessGroups
from latpcap.measures.connecting import connect
from latpcap.measures.segments import Segments, segments_of_paths
from latpcap.measures.tcp import TcpResult, tcp_results
from latpcap.result.chattiness import ConnectionChattiness, connection_chattiness
from latpcap.rtt import Baselines, Estimate
from latpcap.tables.columnar import columns, passes
from latpcap.tables.columnar.columns import Bools
from latpcap.tables.columnar.values import Booleans, Fractions, Names, Numbers, Rows, Times, Values, column_of
from latpcap.tables.recording import Recording

CONNECTION_TEXTS = (
    *("client", "server", "protocol", "server_version", "user", "database", "application"),
    *("driver", "driver_version", "driver_known_by", "framework", "framework_known_by"),
    *("encryption", "compression", "tls_version", "tls_cipher", "server_name", "certificate_subject", "state"),
)


class RttResult(ShortRepr, Struct, frozen=True):
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


class PeriodResult(Struct, frozen=True):
    """A path had one RTT from a time on, until the next period."""

    begin: str
    shown_by: str | None
    """Evidence that it began; null for the first."""
    round_trips: int
    rtt: RttResult


class PathResult(ShortRepr, Struct, frozen=True):
    """One client host and one server endpoint: how far apart they are, from all their connections together."""

    client: str
    server: str
    connections: int
    rtt: RttResult
    """The RTT; after a change, of the period with most round trips."""
    periods: tuple[PeriodResult, ...]
    """Empty where the RTT did not change."""
    segments: Segments
    """Data that TCP lost and sent again on it."""


class ConnectionResult(ShortRepr, Struct, frozen=True):
    """One database connection."""

    stream: int
    client: str
    server: str
    protocol: str
    server_version: str | None
    user: str | None
    database: str | None
    application: str | None
    driver: str | None
    """The client's driver; null where it does not show itself."""
    driver_version: str | None
    """As far as the driver says it."""
    driver_known_by: str | None
    """`said`, or by what it was recognised: `login parameters and statements`."""
    framework: str | None
    """The object mapper, framework or pool above the driver."""
    framework_known_by: str | None
    encryption: str | None
    compression: str | None
    tls_version: str | None
    """As far as the handshake says it in clear; likewise the next four."""
    tls_cipher: str | None
    """The cipher suite, by its IANA name."""
    server_name: str | None
    """The host that the client asked for (SNI)."""
    certificate_subject: str | None
    """The certificate's subject: TLS 1.3 encrypts it."""
    tls_resumed: bool | None
    """It goes on with an earlier session, with a shorter handshake."""
    timing_only: bool
    """Round trips and times are known, and nothing of what was said."""
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
    connect_ms: float | None
    """SYN → ready for the first statement; null where the beginning was not captured. Likewise the next three."""
    connect_round_trips: int | None
    """TCP handshake, greeting, TLS and authentication together."""
    tls_ms: float | None
    authentication_ms: float | None
    cancels: int | None
    """The stream whose statement this connection came to cancel."""
    behind_proxy: bool
    """A proxy's to the server: what is asked on it counts on the application's side, which was captured as well."""
    rtt: RttResult
    tcp: TcpResult
    chattiness: ConnectionChattiness


def connection_results(
    recording: Recording,
    found: Estimate,
    groups: ChattinessGroups,
    is_inner: Bools | None = None,
    *,
    knows_network: bool = True,
) -> Rows[ConnectionResult]:
    """The database connections, in the order of their streams; `knows_network` says that its share can be told.

    `is_inner`: they are a proxy's with a server; `None` where none is.
    """
    baselines = _over_time(recording, found)
    table, rows = recording.all_connections_table, recording.database_rows
    counts = ("stream", "exchanges", "round_trips", "request_bytes", "response_bytes", "retransmissions", "lost_bytes")
    cancels = columns.column(table, "cancels").ints(-1)[rows]
    known = np.isfinite(baselines.baseline) & knows_network
    opened = connect(recording)
    values: dict[str, Values[Any]] = {
        **{name: Names.coded(recording.said(name)) for name in CONNECTION_TEXTS},
        **{name: Numbers(columns.column(table, name).ints(0)[rows]) for name in counts},
        "tls_resumed": Booleans.of(columns.column(table, "tls_resumed"), rows),
        "timing_only": Booleans(recording.timing_only),
        "replication": Booleans(columns.column(table, "replication").values[rows]),
        "connect_ms": Fractions(opened.total_ms),
        "connect_round_trips": Numbers(opened.round_trips, opened.round_trips > 0),
        "tls_ms": Fractions(opened.tls_ms),
        "authentication_ms": Fractions(opened.authentication_ms),
        "cancels": Numbers(cancels, cancels >= 0),
        "behind_proxy": Booleans(np.zeros(len(rows), bool) if is_inner is None else is_inner),
        **{name: Times.of(columns.column(table, name), rows) for name in ("start", "end")},
        "rtt": _rtts(baselines),
        "tcp": tcp_results(recording),
        "chattiness": connection_chattiness(groups, recording.runtime_s, known),
    }
    return Rows({name: values[name] for name in ConnectionResult.__struct_fields__}, ConnectionResult)


def _over_time(recording: Recording, found: Estimate) -> Baselines:
    """The RTT of each connection; where it changed meanwhile the mean of its round trips, in a range of all."""
    each, phases, own = found.of_connections, found.phases, found.of_phases
    if not found.has_changed:
        return each
    count, trips = len(phases), recording.exchanges.round_trips
    trips = np.bincount(found.of_exchanges, trips, count)[:count] * np.isfinite(own.baseline[:count])
    used, of_connection = trips > 0, phases.connection
    several = np.bincount(of_connection[used], minlength=len(each.baseline)) > 1
    waited = np.bincount(of_connection[used], (trips * own.baseline[:count])[used], len(several))
    mean = waited / np.maximum(np.bincount(of_connection[used], trips[used], len(several)), 1)
    low, high = each.low.copy(), each.high.copy()
    np.minimum.at(low, of_connection[used], own.low[:count][used])
    np.maximum.at(high, of_connection[used], own.high[:count][used])
    return replace(
        each,
        baseline=np.where(several, mean, each.baseline),
        low=np.where(several, low, each.low),
        high=np.where(several, high, each.high),
    )


def client_of(driver: str | None, version: str | None, framework: str | None) -> str:
    """Name a client in a few words; empty where it is not known.

    >>> client_of("psycopg", "3.2.1", "SQLAlchemy"), client_of(None, None, "Django"), client_of(None, None, None)
    ('psycopg 3.2.1, SQLAlchemy', 'Django', '')
    """
    return ", ".join(filter(None, (" ".join(filter(None, (driver, version))), framework)))


def busiest(connections: Sequence[ConnectionResult]) -> list[int]:
    """Their places, those with most round trips first."""
    trips = list(column_of(connections, "round_trips"))
    return sorted(range(len(trips)), key=lambda place: -trips[place])


def path_results(recording: Recording, found: Estimate) -> Iterator[PathResult]:
    """The paths, those with most connections first."""
    counts = np.bincount(found.paths.of_connection, minlength=len(found.paths))
    periods, rtts = _periods(recording, found), list(_rtts(found.of_paths))
    lost = segments_of_paths(recording, found.paths.of_connection, len(found.paths))
    for path in map(int, np.argsort(-counts, kind="stable")):
        yield PathResult(
            client=found.paths.client[path],
            server=found.paths.server[path],
            connections=int(counts[path]),
            rtt=rtts[path],
            periods=periods.get(path, ()),
            segments=lost[path],
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
    rtts = list(_rtts(found.of_periods))
    return {
        path: tuple(
            PeriodResult(
                begin=f"{begin[period]}Z",
                shown_by=changes.shown_text(period - path - 1) if period > changes.first[path] else None,
                round_trips=int(trips[period]),
                rtt=rtts[period],
            )
            for period in range(int(changes.first[path]), int(changes.first[path + 1]))
        )
        for path in passes.occurring(changes.path).tolist()
    }


def _rtts(baselines: Baselines) -> Rows[RttResult]:
    """The RTT of each connection, path or period."""
    times = ("baseline", "low", "high", "handshake", "in_stream_min", "in_stream_median", "in_stream_mean")
    values: dict[str, Values[Any]] = {f"{name}_ms": Fractions(getattr(baselines, name) / 1e6) for name in times}
    values["response_floor_ms"] = Fractions(baselines.floor / 1e6)
    values["method"], values["reason"], values["position"] = map(Names.coded, baselines.words())
    values["samples"] = Numbers(baselines.samples.astype(np.int64))
    return Rows({name: values[name] for name in RttResult.__struct_fields__}, RttResult)
