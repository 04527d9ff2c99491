import re
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest
from builder import Conn, Ex, build

from latpcap.rtt import Baselines, Method, Reason, estimate_recording
from latpcap.rtt.baselines import POSITIONS
from latpcap.rtt.phases import ChangeEvidence
from latpcap.tables.recording import Recording

QUERIES = [Ex("query", sql="select ?", service_ms=1)] * 20


def estimate(recording: Recording, given_ms: float | None = None) -> Baselines:
    return estimate_recording(recording, given_ms).of_connections


def baseline(*connections: Conn, index: int = 0, given_ms: float | None = None) -> tuple[float, str]:
    found = estimate(build(list(connections)), given_ms)
    return found.baseline[index] / 1e6, found.method_name(index)


def position(*connections: Conn) -> str:
    return estimate(build(list(connections))).position_name(0)


def test_the_handshake_is_believed_when_nothing_speaks_against_it() -> None:
    assert baseline(Conn(rtt_ms=10, exchanges=QUERIES)) == (10, "handshake")


@pytest.mark.parametrize(("near_share", "rtt_ms"), [(0, 10), (0.4, 10), (0.99, 9.9), (0.01, 9.9)])
def test_the_halves_add_up_on_the_way_and_a_hosts_own_turnaround_is_no_network(
    near_share: float, rtt_ms: float
) -> None:
    assert baseline(Conn(rtt_ms=10, near_share=near_share, exchanges=QUERIES)) == (rtt_ms, "handshake")


@pytest.mark.parametrize(("near_share", "place"), [(0.01, "client"), (0.4, "between"), (0.99, "server")])
def test_the_handshakes_halves_tell_where_it_was_captured(near_share: float, place: str) -> None:
    assert position(Conn(rtt_ms=10, near_share=near_share)) == place


def test_one_address_at_both_ends_is_one_machine() -> None:
    assert position(Conn(client="[::1]:40000", server="[::1]:3306")) == "loopback"


def test_a_handshake_slower_than_the_fastest_responses_is_not_believed() -> None:
    assert baseline(Conn(rtt_ms=0.6, handshake_rtt_ms=1.16, exchanges=[Ex(service_ms=0.1)] * 20)) == (
        0.7,
        "fastest responses",
    )


def test_acknowledgments_of_data_refute_a_slow_handshake() -> None:
    connection = Conn(rtt_ms=0.6, handshake_rtt_ms=1.16, exchanges=[Ex(service_ms=0.1)] * 20, far_ms=[0.61] * 5)
    assert baseline(connection) == (0.61, "data ACKs")


def test_data_that_is_slower_than_the_handshake_is_what_counts() -> None:
    connection = Conn(rtt_ms=14.7, handshake_rtt_ms=12.9, exchanges=QUERIES, far_ms=[14.7] * 5)
    assert baseline(connection) == (14.7, "data ACKs")


def test_many_samples_outweigh_one_handshake() -> None:
    slow = [Ex(service_ms=5)] * 20
    assert baseline(Conn(rtt_ms=0.7, handshake_rtt_ms=1.2, exchanges=slow, far_ms=[0.7] * 12)) == (0.7, "data ACKs")


def test_two_measurements_outweigh_one_and_the_range_holds_both() -> None:
    slow = [Ex(service_ms=5)] * 20
    connection = Conn(rtt_ms=0.713, handshake_rtt_ms=1.2, exchanges=slow, far_ms=[0.713] * 2)
    found = estimate(build([connection]))
    assert (found.baseline[0], found.method_name(0)) == (0.713e6, "data ACKs")
    assert found.low[0] < 0.713e6 < 1.2e6 < found.high[0]
    assert "the range includes both" in found.reason_text(0)


@pytest.mark.parametrize("handshake_ms", [0.05, 0.14, 0.149, 0.151, 0.1, 0.162, 0.3, 1.0, 1.08, 1.099, 15.0, 16.0])
@pytest.mark.parametrize("ack_ms", [0.05, 0.0776, 0.14, 0.25, 1.0, 1.09, 15.0])
def test_only_measurements_within_a_tenth_of_each_other_are_said_to_agree(handshake_ms: float, ack_ms: float) -> None:
    connection = Conn(rtt_ms=ack_ms, handshake_rtt_ms=handshake_ms, exchanges=[Ex(service_ms=30)], far_ms=[ack_ms])
    found = estimate(build([connection]))
    reason = found.reason_text(0)
    if found.method_name(0) == "handshake and data ACKs":
        near = abs(handshake_ms - ack_ms) <= 0.1 * min(handshake_ms, ack_ms)
        assert ("agree" in reason) == near, reason
        assert ("differ by less than 0.1 ms" in reason) == (not near), reason
        assert near or abs(handshake_ms - ack_ms) <= 0.101, "what differs by more is not averaged"
    else:
        assert "agree" not in reason, reason


def test_a_host_on_the_way_that_acknowledges_is_not_the_server() -> None:
    connection = Conn(rtt_ms=14, handshake_rtt_ms=14.8, exchanges=QUERIES, far_ms=[0.3] * 20)
    found = estimate(build([connection]))
    assert (found.baseline[0], found.method_name(0)) == (14.8e6, "handshake")
    assert "host on the path" in found.reason_text(0)


def test_delayed_acknowledgments_are_no_samples() -> None:
    found = estimate(build([Conn(rtt_ms=10, exchanges=QUERIES, far_ms=[10.1] * 3, delayed_far_ms=[50] * 9)]))
    assert found.in_stream_median[0] == 10.1e6
    assert found.samples[0] == 4


def test_where_all_acknowledgments_are_delayed_there_is_no_in_stream_rtt() -> None:
    found = estimate(build([Conn(rtt_ms=1, exchanges=QUERIES, delayed_far_ms=[41] * 9)]))
    assert np.isnan(found.in_stream_median[0])


def test_between_both_ends_the_two_halves_of_the_data_are_added() -> None:
    connection = Conn(rtt_ms=10, near_share=0.4, handshake=False, exchanges=QUERIES, far_ms=[6] * 3, near_ms=[4] * 3)
    assert baseline(connection) == (10, "data ACKs")


@pytest.mark.parametrize("responses", [5, 19])
def test_without_handshake_and_acknowledgments_the_fastest_responses_bound_it(responses: int) -> None:
    found = estimate(build([Conn(rtt_ms=10, handshake=False, exchanges=QUERIES[:responses])]))
    assert (found.baseline[0], found.method_name(0), found.low[0]) == (11e6, "fastest responses", 0)


def test_many_responses_that_are_alike_measure_it_and_the_assumption_is_said() -> None:
    found = estimate(build([Conn(rtt_ms=10, handshake=False, exchanges=[Ex(service_ms=1.0007)] * 20)]))
    assert (found.baseline[0], found.method_name(0)) == (pytest.approx(11e6, rel=1e-3), "fastest responses")
    assert 0.85 * 11e6 - 2e5 < found.low[0] < 10e6 < found.high[0] < 1.15 * 11e6
    assert "unless the server adds the same time to each" in found.reason_text(0)


@pytest.mark.parametrize(("statements", "low_ms"), [(3, 0.85 * 11 - 0.15), (2, 0)])
def test_few_responses_measure_it_where_several_statements_are_alike(statements: int, low_ms: float) -> None:
    queries = [Ex(sql=f"select {'a' * (1 + at % statements)}", service_ms=1) for at in range(9)]
    found = estimate(build([Conn(rtt_ms=10, handshake=False, exchanges=queries)]))
    assert (found.baseline[0], found.low[0] >= low_ms * 1e6) == (11e6, True)
    assert ("unless the server adds the same time to each" in found.reason_text(0)) == (low_ms > 0)


def test_two_odd_responses_do_not_refute_measurements_that_agree() -> None:
    odd = [Ex(service_ms=-9.5), Ex(service_ms=-7.5), *[Ex(service_ms=0.3)] * 2]
    assert baseline(Conn(rtt_ms=12, far_ms=[12.06], exchanges=odd))[0] == pytest.approx(12, rel=0.02)


def test_halves_below_a_millisecond_that_were_measured_twice_are_between() -> None:
    halves = Conn(rtt_ms=4, near_share=0.78, exchanges=QUERIES, far_ms=[0.89] * 3, near_ms=[3.13] * 3)
    assert (position(halves), baseline(halves)[0]) == ("between", pytest.approx(4, rel=0.02))


def test_a_client_that_asks_once_a_second_is_no_network_of_a_second() -> None:
    """It acknowledges each response after 40 ms, so what lies before the next request is its own pause."""
    polls = [Ex(service_ms=0.3, client_ms=1000)] * 30
    found = estimate(build([Conn(rtt_ms=0.4, handshake=False, exchanges=polls, delayed_near_ms=[40.1] * 30)]))
    assert found.position_name(0) != "server"
    assert found.baseline[0] == pytest.approx(0.7e6)


def test_without_anything_it_is_unknown() -> None:
    found = estimate(build([Conn(handshake=False, exchanges=[Ex(answered=False)])]))
    assert found.method_name(0) == "unknown"
    assert np.isnan(found.baseline[0])


def test_what_the_user_gives_overrules_all() -> None:
    assert baseline(Conn(rtt_ms=10, exchanges=QUERIES), given_ms=3) == (3, "given")


def test_what_the_user_gives_is_behind_an_unknown_capture_point_where_no_response_took_it() -> None:
    queries = [Ex(service_ms=0.3, client_ms=9)] * 9
    found = estimate(build([Conn(rtt_ms=20, near_share=1, handshake=False, exchanges=queries)]), 20)
    assert found.position_name(0) == "unknown"
    assert found.near[0] == pytest.approx(19.7e6)


def test_a_connection_without_a_handshake_borrows_from_its_siblings() -> None:
    siblings = [Conn(rtt_ms=10, exchanges=QUERIES)] * 3
    assert baseline(*siblings, Conn(handshake=False, exchanges=[Ex(service_ms=90)]), index=3) == (10, "handshake")


def test_an_outlier_among_siblings_is_not_believed() -> None:
    siblings = [Conn(rtt_ms=10, exchanges=[Ex(service_ms=50)])] * 5
    found = estimate(build([*siblings, Conn(rtt_ms=10, handshake_rtt_ms=31, exchanges=[Ex(service_ms=90)])]))
    assert found.baseline[5] == 10e6
    assert found.reason_text(5) == "from other connections between the same hosts"
    assert found.handshake[5] == 31e6


def test_connections_near_and_far_behind_one_address_keep_their_own() -> None:
    near = [Conn(rtt_ms=1, client=f"10.0.0.1:{port}", exchanges=[Ex(service_ms=0.05)] * 2) for port in range(20)]
    far = [Conn(rtt_ms=50, client=f"10.0.0.1:{port}", exchanges=[Ex(service_ms=0.05)]) for port in range(20, 40)]
    found = estimate_recording(build([*near, *far]))
    assert found.of_connections.baseline[:20].tolist() == pytest.approx([1e6] * 20, rel=0.05)
    assert found.of_connections.baseline[20:].tolist() == pytest.approx([50e6] * 20, rel=0.05)
    assert found.of_paths.low[0] < 1e6 < 50e6 < found.of_paths.high[0]


def test_responses_tell_which_of_two_measurements_is_the_paths() -> None:
    """A firewall answered the SYN; one acknowledgment of the server is enough beside responses that agree with it."""
    queries = [Ex(service_ms=0.3)] * 22
    firewall = Conn(rtt_ms=50, handshake_rtt_ms=34, exchanges=queries, far_ms=[50.1])
    assert baseline(firewall) == (50.1, "data ACKs")
    late = Conn(rtt_ms=50, handshake_rtt_ms=448, exchanges=queries, far_ms=[50.1])
    assert baseline(late) == (50.1, "data ACKs")


@pytest.mark.parametrize(("statements", "service_ms", "ms"), [(3, 38, 40), (2, 38, 2), (3, 5, 7), (2, 5, 2)])
def test_a_nat_that_acknowledges_for_the_server_is_told_by_statements_that_all_take_as_long(
    statements: int, service_ms: float, ms: float
) -> None:
    """No work is the same for three statements. To two a server may take as long."""
    exchanges = [Ex("query", sql=f"select {'a' * (1 + at % statements)}", service_ms=service_ms) for at in range(30)]
    found = estimate(build([Conn(rtt_ms=2, far_ms=[2.02] * 12, exchanges=exchanges)]))
    assert found.baseline[0] == pytest.approx(ms * 1e6, rel=0.02)
    assert (found.low[0] < 2e6, found.high[0] >= (2 + service_ms) * 1e6) == (True, statements > 2)


def test_a_client_that_sleeps_as_long_after_each_statement_is_no_longer_path() -> None:
    """Captured at the server: the near half's waits are the client's own, whatever it asks."""
    exchanges = [Ex("query", sql=f"select {'a' * (1 + at % 4)}", client_ms=20) for at in range(30)]
    path = Conn(rtt_ms=4, near_share=1, far_ms=[0.02] * 3, near_ms=[4.02] * 12, exchanges=exchanges)
    assert baseline(path)[0] == pytest.approx(4, rel=0.02)


def test_a_lone_handshake_beside_responses_that_all_take_longer_may_be_a_firewalls() -> None:
    found = estimate(build([Conn(rtt_ms=50, handshake_rtt_ms=15, exchanges=[Ex(service_ms=0.3)] * 22)]))
    assert found.baseline[0] == 15e6
    assert found.low[0] < 15e6 < 50e6 < found.high[0]
    assert "the range includes both" in found.reason_text(0)


@pytest.mark.parametrize("near_share", [0.2, 0.5, 0.8])
def test_halves_that_were_both_measured_and_are_long_add_up_however_they_differ(near_share: float) -> None:
    connection = Conn(
        rtt_ms=50,
        near_share=near_share,
        exchanges=QUERIES,
        far_ms=[50 * (1 - near_share)] * 3,
        near_ms=[50 * near_share] * 3,
    )
    assert (position(connection), baseline(connection)[0]) == ("between", pytest.approx(50))


@pytest.mark.parametrize(("near_share", "place"), [(0, "client"), (0.5, "between"), (1, "server")])
def test_where_it_was_captured_shows_in_the_middle_too(near_share: float, place: str) -> None:
    queries = [Ex(service_ms=0.1, client_ms=0.1)] * 30
    found = estimate(build([Conn(rtt_ms=20, near_share=near_share, handshake=False, exchanges=queries)]))
    assert found.position_name(0) == place
    assert found.baseline[0] == pytest.approx(20e6, rel=0.03)
    assert 0.8 * 20e6 < found.low[0] < 20e6 < found.high[0] < 1.15 * 20e6


@pytest.mark.parametrize("others", [2, 6, 40])
def test_an_upper_bound_is_no_longer_than_the_fastest_answer(others: int) -> None:
    waits_ms = [14.6, 0.103, *(16.0 + 2 * number for number in range(others))]
    found = estimate(build([Conn([Ex(waited_ms=wait_ms) for wait_ms in waits_ms], handshake=False)]))
    assert found.baseline[0] / 1e6 == 0.103
    assert found.high[0] / 1e6 == pytest.approx(0.103, rel=0.01)  # and the resolution of the clock


def test_what_is_left_of_an_older_connection_only_bounds() -> None:
    queries = [Ex(service_ms=0.3)] * 5
    connections = [Conn(rtt_ms=50, exchanges=queries), Conn(handshake=False, exchanges=[], far_ms=[18.8])]
    assert baseline(*connections)[0] == pytest.approx(50, rel=0.02)


def test_a_retransmitted_handshake_is_none() -> None:
    found = estimate(build([Conn(rtt_ms=10, handshake_retransmitted=True, exchanges=QUERIES)]))
    assert found.method_name(0) == "fastest responses"


def test_other_clients_are_no_siblings() -> None:
    far_away = [Conn(rtt_ms=90, client="10.9.9.9:1", exchanges=QUERIES)] * 3
    assert baseline(Conn(rtt_ms=10, exchanges=QUERIES), *far_away)[0] == 10


def test_the_range_holds_the_baseline() -> None:
    for connection in (
        Conn(rtt_ms=10, exchanges=QUERIES),
        Conn(rtt_ms=10, exchanges=QUERIES, far_ms=[10.5] * 3),
        Conn(rtt_ms=14.7, handshake_rtt_ms=12.9, exchanges=QUERIES, far_ms=[14.7] * 5),
        Conn(rtt_ms=10, handshake=False, exchanges=QUERIES),
    ):
        found = estimate(build([connection]))
        assert found.low[0] <= found.baseline[0] <= found.high[0]


def test_a_host_that_answers_the_syn_for_the_server_is_told() -> None:
    found = estimate(build([Conn(rtt_ms=14, handshake_rtt_ms=0.3, exchanges=QUERIES, far_ms=[14.1] * 4)]))
    assert found.baseline[0] == 14.1e6
    assert "answered the SYN" in found.reason_text(0)


def test_responses_that_are_all_far_slower_than_the_rtt_raise_the_question_of_a_proxy() -> None:
    behind = [Ex(service_ms=20)] * 20
    found = estimate(build([Conn(rtt_ms=0.3, exchanges=behind, far_ms=[0.3] * 4)]))
    assert found.baseline[0] == 0.3e6
    assert "proxy" in found.reason_text(0)
    login_was_quick = estimate(build([Conn(rtt_ms=0.3, exchanges=[Ex(service_ms=0.2), *behind], far_ms=[0.3] * 4)]))
    assert "proxy" not in login_was_quick.reason_text(0)


def test_a_syn_that_was_sent_again_is_told() -> None:
    found = estimate(build([Conn(rtt_ms=10, handshake_retransmitted=True, exchanges=QUERIES, far_ms=[10.2])]))
    assert (found.baseline[0], found.method_name(0)) == (10.2e6, "data ACKs")
    assert "SYN was sent more than once" in found.reason_text(0)


@pytest.mark.parametrize("stalled_ms", [40, 540])
def test_a_handshake_that_was_stalled_on_its_way_to_the_client_is_refuted_at_the_server(stalled_ms: float) -> None:
    queries = [Ex(service_ms=0.4, client_ms=0.2)] * 20
    connection = Conn(rtt_ms=15, near_share=1, handshake_rtt_ms=stalled_ms, exchanges=queries, near_ms=[15.1] * 3)
    found = estimate(build([connection]))
    assert found.position_name(0) == "server"
    assert found.baseline[0] == pytest.approx(15.1e6, rel=0.02)


def test_without_handshake_and_acknowledgments_the_hosts_pauses_tell_the_place() -> None:
    queries = [Ex(service_ms=5, client_ms=0.02)] * 20
    assert position(Conn(rtt_ms=10, handshake=False, exchanges=queries)) == "client"
    at_server = [Ex(service_ms=0.02, client_ms=3)] * 20
    assert position(Conn(rtt_ms=10, handshake=False, near_share=1, exchanges=at_server)) == "server"


def test_few_late_acknowledgments_do_not_move_the_baseline() -> None:
    found = estimate(build([Conn(rtt_ms=10, exchanges=QUERIES, far_ms=[10.01, 10.02, 19.0, 24.0])]))
    assert found.baseline[0] == pytest.approx(10e6, rel=0.005)


def test_jitter_that_is_even_on_both_sides_does_not_move_the_baseline() -> None:
    jittered = [10 + step / 20 for step in range(-20, 21)]
    found = estimate(build([Conn(rtt_ms=10, exchanges=[Ex(service_ms=5)] * 20, far_ms=jittered)]))
    assert found.baseline[0] == pytest.approx(10e6, rel=0.06)
    assert found.low[0] <= 10e6 <= found.high[0]


EVEN = [11.3, 12.2, 12.9, 13.5, 14.0, 14.5, 14.8, 15.1, 15.4, 15.7, 16.0, 16.4, 16.9, 17.5, 18.2, 19.0]
"""Waits for responses over 15 ms and 2 ms of jitter each way, and a little service."""
ONE_SIDED = [14.6, 14.7, 14.7, 14.8, 14.8, 14.9, 14.9, 15.0, 15.1, 15.2, 15.6, 16.4, 17.5, 18.2, 19.0, 21.0]


def waits(each_ms: list[float]) -> list[Ex]:
    return [Ex(waited_ms=wait_ms) for wait_ms in each_ms]


@pytest.mark.parametrize("far_ms", [[], [14.2], [13.6, 16.9]])
def test_the_fastest_of_responses_that_spread_evenly_does_not_outvote_the_measurements(far_ms: list[float]) -> None:
    jittered = Conn(rtt_ms=15, handshake_rtt_ms=15.6, exchanges=waits(EVEN), far_ms=far_ms, far_answer_ms=11.3)
    found = estimate(build([jittered]))
    assert found.baseline[0] == pytest.approx(15e6, rel=0.03)
    assert found.low[0] < 15e6 < found.high[0]
    assert "varies" in found.reason_text(0)


@pytest.mark.parametrize(
    ("handshake_ms", "far_ms", "each_ms"),
    [
        (15.6, [], ONE_SIDED),
        (25.0, [], EVEN),
        (15.6, [], [*EVEN[1:], 3.0]),
        (15.6, [], EVEN[::3]),
        (15.6, [15.6] * 5, EVEN),
        (11.35, [], EVEN),
    ],
    ids=["busy host", "slow handshake", "lone fast response", "few", "measurements that do not vary", "no gap"],
)
def test_what_a_constant_path_shows_as_well_is_no_jitter(
    handshake_ms: float, far_ms: list[float], each_ms: list[float]
) -> None:
    found = estimate(build([Conn(handshake_rtt_ms=handshake_ms, exchanges=waits(each_ms), far_ms=far_ms)]))
    assert "varies" not in found.reason_text(0)


AFTER_REST = [5.26, 5.30, 5.33, 5.36, 5.38, 5.40, 5.42, 5.44, 5.45, 5.46, 5.47, 5.48, 5.50, 5.52, 5.55, 5.60] * 2
"""Waits for responses over 5.07 ms, of a server that sleeps meanwhile and wakes up late."""


@pytest.mark.parametrize(
    ("handshake_ms", "ack_ms", "most_ms"),
    [(5.54, [5.07], 5.1), (5.83, [5.07], 5.1), (6.43, [5.45], 5.4), (6.43, [5.9], 5.4), (5.8, [], 5.4)],
    ids=["late handshake", "later", "late ACK", "both later than most responses", "lone handshake"],
)
def test_hosts_that_wake_up_late_for_the_handshake_do_not_decide(
    handshake_ms: float, ack_ms: list[float], most_ms: float
) -> None:
    found = estimate(build([Conn(handshake_rtt_ms=handshake_ms, exchanges=waits(AFTER_REST), far_ms=ack_ms)]))
    assert found.low[0] <= 5.2e6 <= found.high[0]
    assert 5.07e6 <= found.baseline[0] <= most_ms * 1e6
    assert "does not show which" not in found.reason_text(0)


def test_responses_of_many_statements_refute_what_is_a_little_longer() -> None:
    late = Conn(handshake_rtt_ms=16.6, far_ms=[16.26], exchanges=waits([15.8, 15.9, 16.0, 16.1, 16.4] * 20))
    found = estimate(build([late]))
    assert found.baseline[0] <= 15.9e6
    assert found.low[0] <= 15.5e6


def test_responses_faster_than_the_baseline_lower_its_low_end() -> None:
    steady = [Ex(service_ms=1)] * 20
    quick = [Ex(waited_ms=8)] * 4
    one, other = (
        estimate(build([Conn(rtt_ms=10, exchanges=exchanges, far_ms=[10] * 40)]))
        for exchanges in (steady, steady + quick)
    )
    assert one.baseline[0] == other.baseline[0] == 10e6
    assert other.low[0] < one.low[0]


def test_a_path_is_one_client_host_and_one_server_endpoint() -> None:
    found = estimate_recording(
        build(
            [
                Conn(client="10.0.0.1:1", rtt_ms=10, exchanges=QUERIES),
                Conn(client="10.0.0.1:2", rtt_ms=10, exchanges=QUERIES),
                Conn(client="[fd00::9]:3", rtt_ms=90, exchanges=QUERIES),
            ]
        )
    )
    assert (found.paths.client, found.paths.of_connection.tolist()) == (["10.0.0.1", "fd00::9"], [0, 0, 1])
    assert found.of_paths.baseline.tolist() == [10e6, 90e6]
    assert found.of_paths.samples.tolist() == [2, 1]


def test_what_the_user_gives_overrules_the_paths_too() -> None:
    assert estimate_recording(build([Conn(rtt_ms=10, exchanges=QUERIES)]), 3).of_paths.baseline.tolist() == [3e6]


def test_a_recording_without_connections_has_no_baseline() -> None:
    found = estimate_recording(build([]))
    assert (len(found.paths), len(found.of_connections.baseline)) == (0, 0)


def test_halves_as_short_as_a_hosts_turnaround_tell_no_place() -> None:
    connection = Conn(rtt_ms=0.06, near_share=0.4, exchanges=QUERIES, far_ms=[0.036] * 3, near_ms=[0.024] * 3)
    found = estimate(build([connection]))
    assert found.position_name(0) == "unknown"
    assert found.baseline[0] == pytest.approx(36e3)
    assert found.low[0] < 24e3
    assert found.high[0] > 60e3


def test_one_half_excludes_the_other_however_short_both_are() -> None:
    connection = Conn(rtt_ms=0.04, near_share=0.1, exchanges=QUERIES, far_ms=[0.036] * 3, near_ms=[0.004] * 3)
    assert position(connection) == "client"


def test_a_late_acknowledgment_of_one_segment_is_a_bound_only() -> None:
    one = [Ex(service_ms=0.865, waited_ms=0.865)]
    found = estimate(build([Conn(handshake=False, exchanges=one, delayed_near_ms=[38.3])]))
    assert (found.baseline[0], found.low[0], found.position_name(0)) == (0.865e6, 0, "unknown")
    assert found.high[0] > 38.3e6


def test_a_late_acknowledgment_that_the_handshake_supports_is_a_measurement() -> None:
    found = estimate(build([Conn(rtt_ms=90, exchanges=QUERIES, delayed_far_ms=[91] * 3)]))
    assert found.in_stream_median[0] == 91e6


def test_one_fast_answer_is_an_outlier_that_the_range_holds() -> None:
    slow = [Ex(service_ms=50.0007)] * 100
    found = estimate(build([Conn(rtt_ms=5, exchanges=slow, far_answer_ms=0.3)]))
    assert found.baseline[0] == pytest.approx(5e6, rel=0.02)
    assert found.low[0] == 0.3e6


def test_beside_responses_that_bear_the_handshake_out_one_fast_answer_moves_nothing() -> None:
    plain, early = (
        estimate(build([Conn(rtt_ms=5, exchanges=[Ex(service_ms=0.1)] * 20, far_answer_ms=answer)]))
        for answer in (5.1, 3.0)
    )
    for name in ("baseline", "low", "high"):
        assert getattr(early, name)[0] == pytest.approx(getattr(plain, name)[0], rel=0.025)


def test_an_answer_that_is_little_faster_keeps_the_method() -> None:
    found = estimate(build([Conn(rtt_ms=5, exchanges=[Ex(service_ms=1.0007)] * 20, far_answer_ms=4.9)]))
    assert (found.baseline[0], found.method_name(0)) == (4.9e6, "handshake")
    assert found.high[0] > 5e6


def test_many_measurements_of_a_path_that_varies_are_not_bounded_by_its_fastest_answer() -> None:
    jittered = [10 + step / 20 for step in range(-20, 21)]
    connection = Conn(rtt_ms=10, exchanges=[Ex(service_ms=5)] * 20, far_ms=jittered, far_answer_ms=9.1)
    found = estimate(build([connection]))
    assert found.baseline[0] == pytest.approx(10e6, rel=0.06)
    assert found.low[0] <= 9.1e6


def test_a_wait_with_a_retransmission_bounds_nothing() -> None:
    found = estimate(build([Conn(rtt_ms=1, handshake=False, exchanges=[Ex(service_ms=205, retransmissions=1)] * 3)]))
    assert found.method_name(0) == "unknown"


# --- numbers that cross from the core ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "name", "numbers"),
    [
        ("baseline", "Method", Method),
        ("baseline", "Reason", Reason),
        ("baseline", "Position", POSITIONS),
        ("phases", "ChangeEvidence", ChangeEvidence),
    ],
)
def test_words_have_the_cores_numbers(file: str, name: str, numbers: Iterable[IntEnum] | Iterable[str]) -> None:
    source = (Path(__file__).parent.parent / "core" / "src" / "rtt" / f"{file}.rs").read_text()
    [body] = re.findall(rf"pub enum {name} \{{(.*?)\}}", source, re.DOTALL)
    variants = [
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", each).lower() for each in re.findall(r"^ *(\w+),", body, re.MULTILINE)
    ]
    assert variants == [getattr(each, "name", each).lower() for each in numbers]
