"""The connections with most round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from latpcap.report.section import Column, Row, Section, SectionTable, Sentence
from latpcap.report.sections.rest import sums_of_rest
from latpcap.report.sections.statements import PACE, pace
from latpcap.report.text import printable, top
from latpcap.result.connections import ConnectionResult, busiest
from latpcap.tables.columnar.values import column_of

__all__ = ["connections"]

COLUMNS = (
    Column("stream", "id"),
    Column("user", detail=True, optional=True),
    Column("database, application", detail=True, below=True, optional=True),
    Column("server", detail=True, least=21),
    Column("how it is sent", detail=True, below=True, optional=True),
    Column("trips", "count", full="round trips"),
    *(Column(title, "count", detail=True) for title in ("exchanges", "sent again")),
    Column("bytes", "bytes", detail=True),
    Column("RTT ms", "ms"),
    Column("iRTT ms", "ms", optional=True),
    Column("in-stream", "ms", optional=True, full="in-stream ms"),
    Column("from", optional=True),
    Column("why", detail=True, below=True),
    *PACE,
)
METHODS = (Column("connections", "count"), Column("RTT from"), Column("capture taken at"), Column("why", folds=True))
SUMMED = ("round_trips", "exchanges", "retransmissions", "request_bytes", "response_bytes")


def connections(found: Sequence[ConnectionResult], most: int) -> Section:
    """Who talked to whom, at which RTT (that of the handshake beside those of the session), and at which pace."""
    order = busiest(found)
    shown = [found[place] for place in order[:most]]
    protocols = {each.protocol for each in shown}
    common = f" ({printable(*protocols)})" if len(protocols) == 1 else ""
    columns = (*COLUMNS, Column(f"client → server{common}", least=36, folds=True, heads=True))
    rest = sums_of_rest(found, order[most:], SUMMED)
    foot: Row | None = rest and (
        *([None] * 5),
        *(*rest[:3], rest[3] + rest[4]),
        *[None] * 9,
        f"{len(found) - most:,} further connections together",
    )
    table = SectionTable(columns, [_row(each, names_protocol=not common) for each in shown], "Connections", foot)
    known = Sentence("How the RTT of the connections is known", "head", detail=True)
    return Section("connections", top("Connections", len(found), most), [table, known, _methods(found)])


def _methods(found: Sequence[ConnectionResult]) -> SectionTable:
    """How the RTT of how many connections is known, the most usual first."""
    names, rtts = ("method", "position", "reason"), column_of(found, "rtt")
    counts = Counter(zip(*(column_of(rtts, name) for name in names), strict=True))
    rows = [(count, *key) for key, count in counts.most_common()]
    return SectionTable(METHODS, rows, "How the RTT of the connections is known", detail=True)


def _row(each: ConnectionResult, *, names_protocol: bool) -> Row:
    rtt = each.rtt
    between = "" if rtt.low_ms is None or rtt.high_ms is None else f"{rtt.low_ms:,.3f} to {rtt.high_ms:,.3f} ms; "
    return (
        *(each.stream, each.user or "–", ", ".join(filter(None, (each.database, each.application)))),
        " ".join(filter(None, (each.protocol, each.server_version))),
        ", ".join(filter(None, (each.encryption, each.compression, "replication" * each.replication))),
        *(each.round_trips, each.exchanges, each.retransmissions),
        *(each.request_bytes + each.response_bytes, rtt.baseline_ms, rtt.handshake_ms, rtt.in_stream_median_ms),
        *(f"{rtt.method}, {rtt.position}", f"{between}{rtt.reason}", *pace(each.chattiness)),
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
