import json

import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

from latpcap import Capture, NoDatabaseTraffic, UsageError
from latpcap.display import plain
from latpcap.report.jsonout import dump

KEYS = {
    "captures": "path format packets bytes first_time last_time",
    "health": "code severity message count",
    "connections": "stream client server protocol server_version user database encryption state start end exchanges "
    "round_trips request_bytes response_bytes retransmissions lost_bytes rtt",
    "statements": "fingerprint text protocol executions exchanges round_trips rows affected_rows request_bytes "
    "response_bytes network_s service_s response_ms delta_ms",
}
SUMMARY = "runtime_s connections exchanges round_trips baseline_rtt_ms network_share seconds_per_ms"
BUDGET = "network_s service_s transfer_s stall_s client_s think_s setup_s loss_s unknown_s"
RTT = "baseline_ms method handshake_ms in_stream_min_ms in_stream_median_ms samples position"
POINT = "budget rtt_ms runtime_s optimistic_s pessimistic_s throughput_per_s factor method work coverage"


def capture(*connections: Conn) -> Capture:
    return Capture(build(list(connections), [("snap-length", "warning", "cut", 1)]))


@pytest.fixture
def result() -> dict:
    return json.loads(
        dump(capture(Conn(exchanges=[Ex(sql="select ?"), Ex("ping")]), Conn(protocol=None)).analyze().parts())
    )


def test_the_json_has_the_keys_that_were_promised(result: dict) -> None:
    for name, keys in KEYS.items():
        assert set(keys.split()) <= set(result[name][0]), name
    assert set(SUMMARY.split()) <= set(result["summary"])
    assert set(BUDGET.split()) == set(result["budget"])
    assert set(RTT.split()) <= set(result["connections"][0]["rtt"])
    assert set(result["statements"][0]["response_ms"]) == {"min", "avg", "stddev", "p50", "p95", "p99", "max"}
    assert set(result["statements"][0]["delta_ms"]) == {"p50", "p95", "max"}
    assert set(POINT.split()) == set(result["projection"]["points"][0])
    assert result["schema"] == "latpcap.analysis/1"


def test_connections_that_are_no_database_traffic_are_left_out(result: dict) -> None:
    assert len(result["connections"]) == result["summary"]["connections"] == 1


def test_the_summary_sums_over_connections(result: dict) -> None:
    assert result["summary"]["round_trips"] == sum(each["round_trips"] for each in result["connections"]) == 2


def test_times_are_utc_with_nanoseconds(result: dict) -> None:
    assert result["connections"][0]["start"] == "2020-09-13T12:26:40.000000000Z"


def test_what_is_unknown_is_null_and_never_nan() -> None:
    text = dump(capture(Conn(handshake=False, exchanges=[Ex(answered=False)])).analyze().parts())
    assert "NaN" not in text
    assert json.loads(text)["summary"]["baseline_rtt_ms"] is None


def test_the_baseline_is_the_median_weighted_by_round_trips() -> None:
    near, far = Conn(rtt_ms=1, exchanges=[Ex()] * 10), Conn(rtt_ms=50, client="10.9.9.9:1", exchanges=[Ex()] * 2)
    assert capture(near, far).analyze().summary.baseline_rtt_ms == 1


def test_without_database_traffic_there_is_nothing_to_analyze() -> None:
    with pytest.raises(NoDatabaseTraffic, match=r"built\.pcap: 1 TCP connection .*, none to a database"):
        capture(Conn(protocol=None)).analyze()


@pytest.mark.parametrize("rtt_ms", [-1, float("nan"), float("inf"), 1e308])
def test_an_rtt_that_is_none_is_refused(rtt_ms: float) -> None:
    with pytest.raises(UsageError, match="from 0 on"):
        capture(Conn(exchanges=[Ex()])).project([rtt_ms])


def test_loopback_is_warned_about() -> None:
    local = Conn(rtt_ms=0.03, client="127.0.0.1:1", server="127.0.0.1:3306", exchanges=[Ex()])
    assert "loopback" in [note.code for note in capture(local).analyze().health]


def test_a_replication_stream_is_told_of() -> None:
    assert "replication" in [note.code for note in capture(Conn(replication=True, exchanges=[Ex()])).analyze().health]


def test_the_paths_come_with_method_samples_and_range_those_with_most_connections_first() -> None:
    exchanges = [Ex(service_ms=1)] * 9
    far = Conn(rtt_ms=15, client="10.0.0.9:1", exchanges=exchanges)
    near = [Conn(rtt_ms=1, client=f"10.0.0.1:{port}", exchanges=exchanges) for port in (1, 2)]
    first, second = json.loads(dump(capture(far, *near).analyze().parts()))["paths"]
    assert (first["client"], first["server"], first["connections"]) == ("10.0.0.1", "10.0.0.2:3306", 2)
    assert (first["rtt"]["method"], first["rtt"]["samples"], first["rtt"]["position"]) == ("handshake", 2, "client")
    assert first["rtt"]["low_ms"] < first["rtt"]["baseline_ms"] == 1 < first["rtt"]["high_ms"]
    assert second["rtt"]["baseline_ms"] == 15


def test_closes_that_are_waited_for_stand_with_the_prepares() -> None:
    steps = [each for _ in range(3) for each in (Ex("stmt_prepare"), Ex("stmt_execute"), Ex("stmt_close"))]
    purposes = capture(Conn(exchanges=steps)).analyze().purposes
    assert [(each.purpose, each.round_trips) for each in purposes] == [("prepares", 6), ("statements", 3)]


@pytest.mark.parametrize("name", ["mysql/churn-20", "postgresql/psycopg2-cancel"])
def test_a_connection_is_the_same_alone_in_a_row_of_the_table_and_in_json(name: str) -> None:
    read = read_fixture(name)
    connections, table = read.analyze().connections, read.connections.to_dicts()
    written = json.loads(dump({"connections": connections}))["connections"]
    assert len(connections) == len(table) == len(written) > 1
    for each, row, found in zip(connections, table, written, strict=True):
        assert (each.stream, each.client, each.cancels) == (row["stream"], row["client"], row["cancels"])
        assert (each.rtt.method, each.tcp.client_mss) == (row["rtt_method"], row["tcp_client_mss"])
        assert each.chattiness.delta_ms["p50"] == row["delta_p50_ms"]
        assert found == json.loads(dump({"each": plain(each)}))["each"]
