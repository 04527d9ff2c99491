"""What may be different at the other place: bandwidth, windows, compression, loss, jitter, connections, RTTs' kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from builder import Conn, Ex, build

import latpcap
from latpcap.errors import UsageError
from latpcap.projection.project import Conditions, Point
from latpcap.result.analysis import Measures
from latpcap.units import parse_bandwidth, parse_distance_km, parse_left, parse_share, parse_window

QUERIES = [Ex(service_ms=0.2, client_ms=0.1)] * 200


def point(*connections: Conn, rtt_ms: float = 10.0, **conditions: float | str) -> Point:
    return Measures(build(list(connections))).project([rtt_ms], conditions=Conditions(**conditions)).points[0]  # type: ignore[arg-type]


def runtime(*connections: Conn, rtt_ms: float = 10.0, **conditions: float) -> float:
    runtime_s = point(*connections, rtt_ms=rtt_ms, **conditions).runtime_s
    assert runtime_s is not None
    return runtime_s


def test_a_bottleneck_takes_at_least_what_the_bytes_need() -> None:
    download = Conn(rtt_ms=1, exchanges=[Ex(response_bytes=10_000_000, transfer_ms=50)])
    assert runtime(download, bandwidth_bps=8e6) == pytest.approx(10.0, rel=0.05)
    assert runtime(download) < 1


@pytest.mark.parametrize("bandwidth_bps", [1e6, 128e3])
@pytest.mark.parametrize("response_bytes", [40, 700, 3_000])
def test_each_short_message_takes_its_time_on_a_narrow_link(bandwidth_bps: float, response_bytes: int) -> None:
    """Beside its bytes, 52 of headers for each packet; SYN and SYN+ACK have those alone."""
    queries = Conn(rtt_ms=1, exchanges=[replace(each, response_bytes=response_bytes) for each in QUERIES])
    packets = -(-response_bytes // 1460)
    wire_bytes = len(QUERIES) * (100 + 52 + response_bytes + 52 * packets) + 2 * 52
    longer_s = runtime(queries, bandwidth_bps=bandwidth_bps) - runtime(queries)
    assert longer_s == pytest.approx(8 * wire_bytes / bandwidth_bps, rel=0.001)


def pipeline(requests: int) -> Conn:
    """Requests that are sent at once."""
    later_ms = [0.01 * number for number in range(requests)]
    return Conn(rtt_ms=1, exchanges=[Ex(at_ms=5 + ms, round_trips=int(ms == 0), waited_ms=1 - ms) for ms in later_ms])


def test_a_pipeline_takes_the_time_of_its_bytes_once() -> None:
    longer_s = runtime(pipeline(50), rtt_ms=1.0, bandwidth_bps=1e6) - runtime(pipeline(50), rtt_ms=1.0)
    assert longer_s == pytest.approx(50 * 152 * 8 / 1e6, rel=0.1), "answers go back while requests are sent"


def test_compressing_short_messages_takes_time_too() -> None:
    queries = Conn(rtt_ms=1, exchanges=[replace(each, response_bytes=1_000) for each in QUERIES])
    longer_s = runtime(queries, compression=1.0) - runtime(queries)
    assert longer_s == pytest.approx(200 * 1_100 * 55e-9, rel=0.01)
    narrow_s, half_s = (runtime(queries, bandwidth_bps=1e6, compression=part) for part in (1.0, 0.5))
    assert narrow_s - half_s == pytest.approx(0.5 * 200 * 1_100 * 8 / 1e6, rel=0.01)


def test_what_was_compressed_needs_what_passed_on_the_wire() -> None:
    download = Ex(response_bytes=10_000_000, response_wire_bytes=100_000, transfer_ms=50)
    assert runtime(Conn(rtt_ms=1, exchanges=[download]), bandwidth_bps=8e6) == pytest.approx(0.1, abs=0.05)
    few, many = (
        runtime(Conn(rtt_ms=1, exchanges=[replace(download, response_wire_bytes=size)]), rtt_ms=100)
        for size in (14_000, None)
    )
    assert many - few > 0.3, "what fits a window needs no further round trip"


DOWNLOAD = Conn(rtt_ms=1, exchanges=[Ex(response_bytes=5_000_000, transfer_ms=50)])


def test_through_a_small_window_a_buffer_full_travels_in_each_round_trip() -> None:
    assert runtime(DOWNLOAD, rtt_ms=20, window_bytes=65_536) == pytest.approx(5_000_000 / 65_536 * 0.020, rel=0.1)
    assert runtime(DOWNLOAD, rtt_ms=20, window_bytes=16_384) == pytest.approx(5_000_000 / 16_384 * 0.020, rel=0.1)
    assert runtime(DOWNLOAD, rtt_ms=20) < 0.4


def test_the_range_holds_a_buffer_that_is_used_by_a_fifth_more_or_a_third_less() -> None:
    there = point(DOWNLOAD, rtt_ms=20, window_bytes=16_384)
    assert there.runtime_s is not None
    assert (there.optimistic_s or 0) < 0.82 * there.runtime_s
    assert (there.pessimistic_s or 0) > 1.4 * there.runtime_s


def test_a_larger_window_frees_what_a_small_one_held_back() -> None:
    held = Ex(response_bytes=2_000_000, transfer_ms=200)
    small = Conn(rtt_ms=2, exchanges=[held], window_bytes=18_800, window_limit_bytes=65_535)
    assert runtime(small, rtt_ms=20) > 1.5
    assert runtime(small, rtt_ms=20, window_bytes=1_000_000) < 0.4


def test_what_fits_a_window_is_the_same_with_a_small_one() -> None:
    queries = Conn(rtt_ms=1, exchanges=QUERIES)
    assert runtime(queries, window_bytes=8192) == runtime(queries)


def test_a_pipeline_of_short_messages_waits_for_a_small_window() -> None:
    """Ten requests at once, of which a window of 8 KiB takes half: the others wait for a round trip."""
    assert runtime(pipeline(10), window_bytes=8192) - runtime(pipeline(10)) == pytest.approx(0.010, abs=0.001)


def test_compressed_the_bottleneck_takes_that_part_of_the_time() -> None:
    slow = {"rtt_ms": 1.0, "bandwidth_bps": 8e6}
    assert runtime(DOWNLOAD, **slow, compression=0.3) == pytest.approx(0.3 * runtime(DOWNLOAD, **slow), rel=0.05)


def test_compression_costs_time_where_nothing_is_narrow() -> None:
    clear, there = (point(DOWNLOAD, rtt_ms=1.0, **told) for told in ({}, {"compression": 0.5}))
    assert (there.runtime_s or 0) > (clear.runtime_s or 0) + 0.1, "5 MB"
    assert (there.optimistic_s or 0) <= (clear.optimistic_s or 0)


def test_what_is_compressed_already_is_compressed_no_further() -> None:
    compressed = build([Conn(rtt_ms=1, exchanges=[Ex(response_bytes=1_000_000, response_wire_bytes=100_000)])])
    with pytest.raises(UsageError, match="compressed already"):
        latpcap.Capture(compressed).project([15], compression="30%")


def test_several_connections_share_the_bottleneck() -> None:
    downloads = [Conn(rtt_ms=1, exchanges=[Ex(response_bytes=10_000_000, transfer_ms=50)])] * 4
    assert runtime(*downloads, bandwidth_bps=8e6) >= 40


def test_each_lost_packet_costs_a_time_out() -> None:
    lossy, clean = (runtime(Conn(rtt_ms=1, exchanges=QUERIES), **loss) for loss in ({"loss": 0.01}, {}))
    assert lossy - clean == pytest.approx(200 * (1 - 0.99**2) * 0.210, rel=0.05)


def test_a_lost_handshake_costs_a_second() -> None:
    visits = [Conn(rtt_ms=1, at_ms=10 * number, exchanges=[Ex(service_ms=1)]) for number in range(50)]
    lossy, clean = (runtime(*visits, **loss) for loss in ({"loss": 0.01}, {}))
    assert lossy - clean == pytest.approx(50 * (1 - 0.99**2) * (1 + 0.21), rel=0.05)


def test_what_is_missing_of_several_packets_is_found_by_a_probe() -> None:
    large = Conn(rtt_ms=1, exchanges=[Ex(response_bytes=5 * 1448)] * 200)
    lossy, clean = (runtime(large, **loss) for loss in ({"loss": 0.01}, {}))
    assert lossy - clean == pytest.approx(200 * (0.01 * 0.21 + (1 - 0.99**5) * 0.02), rel=0.05)


def test_how_many_packets_are_lost_is_luck() -> None:
    """Of 400 packets 4 ± 2 are lost: none to eight within two standard deviations."""
    lossy, clean = (point(Conn(rtt_ms=1, exchanges=QUERIES), **loss) for loss in ({"loss": 0.01}, {}))
    assert lossy.optimistic_s == pytest.approx(clean.optimistic_s, rel=0.01)
    assert (lossy.pessimistic_s or 0) - (clean.pessimistic_s or 0) == pytest.approx(8 * 0.21, rel=0.05)


def test_of_several_workers_the_unluckiest_counts() -> None:
    def added(*workers: Conn) -> float:
        return runtime(*workers, loss=0.01) - runtime(*workers)

    worker = Conn(rtt_ms=1, exchanges=QUERIES)
    assert added(*[worker] * 8) > 1.5 * added(worker)


def test_observed_losses_are_taken_out_before_others_are_put_in() -> None:
    queries = [Ex(service_ms=200, retransmissions=1), *QUERIES]
    connection = Conn(rtt_ms=1, exchanges=queries, retransmissions=1)
    assert runtime(connection, loss=0.0) == pytest.approx(runtime(connection) - 0.2, rel=0.02)


def test_jitter_is_on_every_round_trip_of_the_pessimistic_case() -> None:
    calm, jittery = (point(Conn(rtt_ms=1, exchanges=QUERIES), **jitter) for jitter in ({}, {"jitter_ms": 3.0}))
    assert jittery.runtime_s == calm.runtime_s
    assert (jittery.pessimistic_s or 0) - (calm.pessimistic_s or 0) == pytest.approx(0.6, rel=0.02)


def test_more_connections_share_the_work() -> None:
    worker = Conn(rtt_ms=1, exchanges=QUERIES)
    assert runtime(worker, connections=4) == pytest.approx(runtime(worker) / 4, rel=0.02)
    assert runtime(worker, worker, connections=4) == pytest.approx(runtime(worker, worker) / 2, rel=0.02)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bandwidth, "0Mbit"),
        (parse_bandwidth, "34"),
        (parse_share, "100%"),
        (parse_distance_km, "-1km"),
        (parse_window, "4KB"),
        (parse_window, "64"),
        (parse_left, "0"),
        (parse_left, "120%"),
        (parse_left, "on"),
    ],
)
def test_what_is_no_quantity_is_told_with_what_is(parse, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError, match="write"):
        parse(text)


def test_an_asked_handshake_reaches_farther_up_than_an_asked_ping() -> None:
    queries = Conn(rtt_ms=1, exchanges=QUERIES)
    ping, handshake = (point(queries, rtt_is=rtt_is) for rtt_is in ("ping", "handshake"))
    assert handshake.runtime_s == pytest.approx(ping.runtime_s, rel=0.01)
    assert handshake.optimistic_s == pytest.approx(ping.optimistic_s, rel=0.01)
    assert (handshake.pessimistic_s or 0) > 1.1 * (ping.pessimistic_s or 0)


def test_what_an_rtt_is_holds_for_fixes_and_gates_as_well() -> None:
    measures = Measures(build([Conn(rtt_ms=1, exchanges=QUERIES)]), rtt_is="handshake")
    changed = measures.what_if([], [10.0])
    assert changed is not None
    assert changed.as_is_pessimistic_s["10"] == measures.project([10.0]).points[0].pessimistic_s
    assert measures.project([10.0]).conditions.rtt_is == "handshake"
    assert [group.project([10.0]).conditions.rtt_is for _, group in measures.of_each(["one"])] == ["handshake"]


def test_no_other_way_to_measure_an_rtt_is_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not of `traceroute`"):
        latpcap.read(tmp_path, rtt_is="traceroute")  # type: ignore[arg-type]
