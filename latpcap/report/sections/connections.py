"""The connections with most round trips."""

from __future__ import annotations

from collections.abc import Sequence

from latpcap.report.section import Column, Row, Section, Table
from latpcap.report.sections.rest import sums_of_rest
from latpcap.report.sections.statements import PACE, pace
from latpcap.report.text import printable, top
from latpcap.result.connections import ConnectionResult, busiest

__all__ = ["connections"]

COLUMNS = (
    Column("stream", "id"),
    Column("trips", "count", full="round trips"),
    *(Column(title, "count", detail=True) for title in ("exchanges", "sent again")),
    Column("bytes", "bytes", detail=True),
    Column("RTT ms", "ms"),
    Column("iRTT ms", "ms", optional=True),
    Column("in-stream", "ms", optional=True, full="in-stream ms"),
    Column("from", optional=True),
    Column("why", detail=True, below=True),
    *PACE,
    Column("user", detail=True, optional=True),
    Column("database, application", detail=True, below=True, optional=True),
)
SUMMED = ("round_trips", "exchanges", "retransmissions", "request_bytes", "response_bytes")


def connections(found: Sequence[ConnectionResult], most: int) -> Section:
    """Who talked to whom, at which RTT (that of the handshake beside those of the session), and at which pace."""
    order = busiest(found)
    shown = [found[place] for place in order[:most]]
    protocols = {each.protocol for each in shown}
    common = f" ({printable(*protocols)})" if len(protocols) == 1 else ""
    columns = (*COLUMNS, Column(f"client → server{common}", least=36, folds=True))
    rest = sums_of_rest(found, order[most:], SUMMED)
    foot: Row | None = rest and (
        *(None, *rest[:3], rest[3] + rest[4]),
        *[None] * 11,
        f"{len(found) - most:,} further connections together",
    )
    table = Table(columns, [_row(each, names_protocol=not common) for each in shown], "Connections", foot)
    return Section("connections", top("Connections", len(found), most), [table])


def _row(each: ConnectionResult, *, names_protocol: bool) -> Row:
    rtt = each.rtt
    between = "" if rtt.low_ms is None or rtt.high_ms is None else f"{rtt.low_ms:,.3f} to {rtt.high_ms:,.3f} ms; "
    return (
        *(each.stream, each.round_trips, each.exchanges, each.retransmissions),
        *(each.request_bytes + each.response_bytes, rtt.baseline_ms, rtt.handshake_ms, rtt.in_stream_median_ms),
        *(f"{rtt.method}, {rtt.position}", f"{between}{rtt.reason}", *pace(each.chattiness)),
        *(each.user, ", ".join(filter(None, (each.database, each.application))) or None),
        _who(each, names_protocol=names_protocol),
    )


def _who(each: ConnectionResult, *, names_protocol: bool) -> str:
    protocol = f" {each.protocol}" if names_protocol else ""
    more = (
        each.tls_version,
        "timing only" * each.timing_only,
        "behind the proxy" * each.behind_proxy,
        "" if each.state == "complete" else each.state,
    )
    return ", ".join((f"{each.client} → {each.server}{protocol}", *filter(None, more)))
