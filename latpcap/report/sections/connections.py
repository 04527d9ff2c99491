"""The connections with most round trips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from latpcap.report.section import Column, Section, SectionTable, Sentence, table_of
from latpcap.report.sections.statements import PACE, rest
from latpcap.report.text import printable, top
from latpcap.result.connections import ConnectionResult, busiest, client_of
from latpcap.result.tables import flat
from latpcap.tables.columnar.values import column_of

STREAM = Column("stream", "id", name="stream")
TRIPS = Column("round trips", "count", name="round_trips")
RTT = (
    Column("RTT ms", "ms", name="rtt_baseline_ms"),
    Column("TCP handshake ms", "ms", optional=True, detail=True, name="rtt_handshake_ms"),
    Column("data ACKs ms", "ms", optional=True, detail=True, name="rtt_in_stream_median_ms"),
)
CONNECTIONS = (
    *(STREAM, TRIPS, RTT[0]),
    Column("client", "text", least=15, name="client"),
    Column("user", "text", least=6, cuts=12, optional=True, name="user"),
    Column("database", "text", least=8, cuts=12, optional=True, name="database"),
    Column("driver", "text", least=8, cuts=12, optional=True, name="driver"),
    Column("RTT from", "text", least=14, optional=True, name="rtt_method"),
    Column("state", "text", least=10, optional=True, name="state"),
    *(Column(each.title, each.kind, optional=True, name=each.name) for each in RTT[1:]),
    Column("framework", "text", least=9, optional=True, name="framework"),
    Column("round trips per transaction", "ratio", optional=True, name="round_trips_per_transaction"),
    *PACE,
    Column("server", "text", least=14, name="server"),
)
COLUMNS = (
    STREAM,
    Column("user", detail=True, optional=True, name="user"),
    Column("database, application", detail=True, below=True, optional=True, name="for"),
    Column("driver, framework", detail=True, below=True, optional=True, name="software"),
    Column("server", detail=True, least=21, name="server"),
    Column("how it is sent", detail=True, below=True, optional=True, name="sent"),
    TRIPS,
    Column("exchanges", "count", detail=True, name="exchanges"),
    Column("sent again", "count", detail=True, name="retransmissions"),
    Column("bytes", "bytes", detail=True, name="bytes"),
    *RTT,
    Column("RTT from", optional=True, name="from"),
    Column("why", detail=True, below=True, name="why"),
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
    who = Column(f"client → server{common}", least=36, folds=True, heads=True, name="who")
    left = rest(found, order[most:], SUMMED, who="connection")
    foot = left and left | {"bytes": left["request_bytes"] + left["response_bytes"]}
    rows = (flat(each) | _words(each, names_protocol=not common) for each in shown)
    known = Sentence("How the RTT of the connections is known", "head", detail=True)
    table = table_of((*COLUMNS, who), rows, "Connections", foot)
    return Section("connections", top("Connections", len(found), most), [table, known, _methods(found)])


def _methods(found: Sequence[ConnectionResult]) -> SectionTable:
    """How the RTT of how many connections is known, the most usual first."""
    names, rtts = ("method", "position", "reason"), column_of(found, "rtt")
    counts = Counter(zip(*(column_of(rtts, name) for name in names), strict=True))
    rows = [(count, *key) for key, count in counts.most_common()]
    return SectionTable(METHODS, rows, "How the RTT of the connections is known", detail=True)


def _words(each: ConnectionResult, *, names_protocol: bool) -> dict[str, Any]:
    """Combine several columns into words."""
    rtt = each.rtt
    between = "" if rtt.low_ms is None or rtt.high_ms is None else f"{rtt.low_ms:,.3f} to {rtt.high_ms:,.3f} ms; "
    more = (
        each.tls_version,
        "timing only" * each.timing_only,
        "behind the proxy" * each.behind_proxy,
        "" if each.state == "complete" else each.state,
    )
    protocol = f" {each.protocol}" if names_protocol else ""
    return {
        "user": each.user or "–",
        "for": ", ".join(filter(None, (each.database, each.application))),
        "software": client_of(each.driver, each.driver_version, each.framework),
        "server": " ".join(filter(None, (each.protocol, each.server_version))),
        "sent": ", ".join(filter(None, (each.encryption, each.compression, "replication" * each.replication))),
        "bytes": each.request_bytes + each.response_bytes,
        "from": f"{rtt.method}, {rtt.position}",
        "why": f"{between}{rtt.reason}",
        "who": ", ".join((f"{each.client} → {each.server}{protocol}", *filter(None, more))),
    }
