"""Measurements that others published, against what latpcap says from the faster of each pair.

Facts, not captures: recordings are built from the published numbers. docs/model.md C.8 has the table with the sources.
"""

from __future__ import annotations

import pytest
from builder import Conn, Ex, build

from latpcap.projection.project import Point
from latpcap.result.analysis import Measures
from latpcap.units import RttIs


def projected(
    connections: int, each: int, cycle_ms: float, rtt_ms: float, there_ms: float, rtt_is: RttIs = "in-stream"
) -> Point:
    """`connections` that send `each` queries, one every `cycle_ms`, at another RTT."""
    query = Ex(service_ms=cycle_ms - rtt_ms)
    worker = Conn(rtt_ms=rtt_ms, handshake=False, exchanges=[query] * each)
    measures = Measures(build([worker] * connections), rtt_baseline_ms=rtt_ms, rtt_is=rtt_is)
    return measures.project([there_ms]).points[0]


def predicted_s(connections: int, each: int, cycle_ms: float, rtt_ms: float, there_ms: float) -> float:
    """The runtime at another RTT, which is that of the data."""
    runtime_s = projected(connections, each, cycle_ms, rtt_ms, there_ms).runtime_s
    assert runtime_s is not None
    return runtime_s


def test_mysql_10001_queries_from_the_lan_to_a_data_centre_15_km_away() -> None:
    """6.7 s at a handshake RTT of 0.389 ms, 156 s at 12.9 ms, where data took about 14.7 ms."""
    runtime_s = predicted_s(1, 10_001, 6700 / 10_001, 0.389, 14.7)
    assert runtime_s == pytest.approx(153.1, abs=0.1)
    assert runtime_s == pytest.approx(156, rel=0.05)


def test_an_asked_handshake_may_be_shorter_than_the_rtt_of_data() -> None:
    """The same pair as it was published: 12.9 ms is what the handshake took there."""
    there = projected(1, 10_001, 6700 / 10_001, 0.389, 12.9, "handshake")
    assert (there.optimistic_s or 0) < 156 < (there.pessimistic_s or 0)


def test_postgresql_ten_connections_with_ten_milliseconds_each_way() -> None:
    """8,813 transactions a second, 461 with 10 ms each way on loopback: 20 ms more for each."""
    each = 500
    throughput = 10 * each / predicted_s(10, each, 10_000 / 8813, 0.03, 20.03)
    assert throughput == pytest.approx(471, abs=2)
    assert throughput == pytest.approx(461, rel=0.03)


@pytest.mark.parametrize(
    ("here", "there"), [((51_751, 0.019), (29_173, 0.034)), ((29_173, 0.034), (2_378, 0.420))], ids=["socket", "lan"]
)
def test_pgbench_one_connection(here: tuple[float, float], there: tuple[float, float]) -> None:
    """The published times are those of a whole transaction, so this shows no more than that nothing is added."""
    (tps, rtt_ms), (published, there_ms) = here, there
    each = 1000
    assert each / predicted_s(1, each, 1000 / tps, rtt_ms, there_ms) == pytest.approx(published, rel=0.01)


@pytest.mark.parametrize(
    ("here", "there", "tps", "error"),
    [
        ((1567, 0.161), (854, 0.685), 842, 0.015),
        ((2356, 0.021), (1567, 0.161), 1765, 0.14),  # client and server shared a machine: loopback tells too little
    ],
    ids=["network", "loopback"],
)
def test_oracle_one_connection(here: tuple[float, float], there: tuple[float, float], tps: float, error: float) -> None:
    (seen, rtt_ms), (published, there_ms) = here, there
    each = 1000
    throughput = each / predicted_s(1, each, 1000 / seen, rtt_ms, there_ms)
    assert throughput == pytest.approx(tps, rel=0.005)
    assert throughput == pytest.approx(published, rel=error)


def test_20000_rows_by_10_are_2000_round_trips() -> None:
    fetches = [Ex("fetch", rows=10)] * 2000
    result = Measures(build([Conn(rtt_ms=1, handshake=False, exchanges=fetches)])).analyze([1, 2])
    assert result.summary.round_trips == 2000
    assert result.summary.seconds_per_ms == pytest.approx(2.0)
