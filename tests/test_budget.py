from dataclasses import replace

import pytest
from builder import Conn, Ex, build
from hypothesis import given
from hypothesis import strategies as st

from latpcap.measures.budget import BudgetTimeline, timeline
from latpcap.rtt import estimate_recording
from latpcap.tables.recording import Recording


def measure(*connections: Conn, think_s: float = 1.0, given_ms: float | None = None) -> BudgetTimeline:
    recording = build(list(connections))
    return timeline(recording, estimate_recording(recording, given_ms), think_s)


def parts_ms(*connections: Conn, **options: float) -> dict[str, float]:
    parts = measure(*connections, **options).budget.parts()
    return {name.removesuffix("_s"): round(seconds * 1000, 3) for name, seconds in parts.items() if seconds}


QUERIES = [Ex("query", sql="select ?", service_ms=1, client_ms=0.5)] * 20
BUDGET = {"network": 210, "service": 20, "client": 10}


def test_a_query_waits_for_the_network_and_for_the_server() -> None:
    assert parts_ms(Conn(rtt_ms=10, exchanges=QUERIES)) == BUDGET


def test_long_requests_and_responses_are_transfer() -> None:
    exchanges = [Ex(request_ms=3, transfer_ms=7)]
    assert parts_ms(Conn(rtt_ms=10, exchanges=exchanges)) == {"network": 20, "transfer": 10}


def test_what_handshake_greeting_and_login_wait_for_the_network_is_the_networks() -> None:
    connection = Conn(rtt_ms=10, greeting=True, exchanges=[Ex("connect"), Ex("tls"), Ex("authenticate"), *QUERIES])
    assert parts_ms(connection) == BUDGET | {"network": 250}


@pytest.mark.parametrize(("waits", "setup_s"), [(True, 0.0036), (False, 0.0)])
def test_the_wait_for_the_server_to_hang_up_is_a_round_trip_and_setup(waits: bool, setup_s: float) -> None:
    said, connections, at_ms = [Ex(), Ex("quit", round_trips=0, answered=False)], [], 0.0
    for exits_ms in (1, 2, 0.6, 9):
        connections.append(Conn(said, 10, at_ms, server_fin_ms=10 + exits_ms))
        at_ms += 20 + (10 + exits_ms if waits else 0) + 0.5
    measured = measure(*connections)
    assert measured.budget.setup_s == pytest.approx(setup_s)
    assert measured.budget.network_s == pytest.approx(0.01 * measured.round_trips.sum())
    assert measured.budget.client_s == pytest.approx(0.0015)
    assert measured.round_trips.tolist() == ([3, 3, 3, 2] if waits else [2, 2, 2, 2])


@pytest.mark.parametrize(("elsewhere", "waits"), [(False, False), (True, True)])
def test_who_once_opens_its_next_connection_before_the_server_hung_up_never_waits(elsewhere: bool, waits: bool) -> None:
    """Unless another connection of that host was open: another thread may have opened it."""
    said, connections, at_ms = [Ex(), Ex("quit", round_trips=0, answered=False)], [], 0.0
    for exits_ms in (1, 2, 0.6, 1.4, 0.8, 9):
        connections.append(Conn(said, 10, at_ms, server_fin_ms=10 + exits_ms))
        at_ms += 20 + (0 if len(connections) == 3 else 10 + exits_ms) + 0.5
    others = [Conn([Ex("query", service_ms=at_ms)], 10, at_ms=1)] if elsewhere else []
    assert (measure(*connections, *others).round_trips.tolist()[0] == 3) == waits


@pytest.mark.parametrize("near_share", [0, 0.4, 1])
def test_what_the_network_took_does_not_depend_on_where_it_was_captured(near_share: float) -> None:
    last_response_on_its_way = 10 * near_share
    parts = parts_ms(Conn(rtt_ms=10, near_share=near_share, exchanges=QUERIES))
    assert parts == BUDGET | {"network": pytest.approx(210 - last_response_on_its_way)}


def test_a_wait_shorter_than_the_baseline_is_all_network() -> None:
    assert parts_ms(Conn(rtt_ms=10, exchanges=[Ex(waited_ms=4)]), given_ms=10) == {"network": 14}


def test_pipelined_requests_share_their_wait() -> None:
    piped = [Ex(at_ms=10, service_ms=1), Ex(at_ms=10, round_trips=0, waited_ms=12, service_ms=1)]
    assert parts_ms(Conn(rtt_ms=10, exchanges=piped))["network"] == 20


def test_long_pauses_are_think_time_and_short_ones_the_clients() -> None:
    exchanges = [Ex(), Ex(client_ms=900), Ex(client_ms=3000)]
    assert parts_ms(Conn(exchanges=exchanges), think_s=1) == {"network": 4, "client": 900, "think": 3000}
    assert parts_ms(Conn(exchanges=exchanges), think_s=5) == {"network": 4, "client": 3900}


def test_a_pause_of_one_connection_is_none_while_another_works() -> None:
    busy = Conn(rtt_ms=1, exchanges=[Ex(service_ms=5000)])
    pausing = Conn(rtt_ms=1, exchanges=[Ex(), Ex(client_ms=4000)])
    assert "think" not in parts_ms(busy, pausing)


def test_what_retransmissions_added_is_loss() -> None:
    exchanges = [*QUERIES, Ex("query", sql="select ?", service_ms=201, client_ms=0.5, retransmissions=1)]
    parts = parts_ms(Conn(rtt_ms=10, exchanges=exchanges))
    assert parts == {"network": 220, "service": 21, "client": 10.5, "loss": 200}


def test_a_retransmission_in_the_response_is_loss_too() -> None:
    exchanges = [*QUERIES, Ex("query", sql="select ?", transfer_ms=200, retransmissions=1)]
    assert parts_ms(Conn(rtt_ms=10, exchanges=exchanges))["loss"] == 200


def test_exchanges_that_were_captured_in_part_are_unknown() -> None:
    assert parts_ms(Conn(rtt_ms=10, exchanges=[Ex(complete=False)])) == {"unknown": 10, "network": 10}


@pytest.mark.parametrize("held", [{"request_ms": 52}, {"transfer_ms": 52}])
def test_a_packet_held_back_within_an_exchange_is_a_stall(held: dict[str, float]) -> None:
    """It waits for the timer, and 10 ms for the acknowledgment to come."""
    parts = parts_ms(Conn(rtt_ms=10, exchanges=[*QUERIES, Ex(stalled_ms=40, **held)]))
    assert parts == BUDGET | {"network": 220, "stall": 50, "transfer": 2}


CLOSE = Ex("stmt_close", round_trips=0, answered=False)
HELD = Ex(client_ms=53, stalled_ms=40)


@pytest.mark.parametrize("near_share", [0, 0.4, 1])
def test_a_request_held_back_behind_an_unanswered_one_is_a_stall_and_not_the_clients_time(near_share: float) -> None:
    parts = parts_ms(Conn(rtt_ms=10, near_share=near_share, exchanges=[*QUERIES, CLOSE, HELD, Ex()]))
    assert (parts["stall"], parts["client"]) == (50, 13)


def test_a_stall_longer_than_the_pause_before_the_request_was_elsewhere() -> None:
    assert "stall" not in parts_ms(Conn(rtt_ms=10, exchanges=[Ex(), CLOSE, replace(HELD, client_ms=20)]))


def test_a_stall_beside_another_connection_is_shared_with_it() -> None:
    stalled = Conn(rtt_ms=10, exchanges=[Ex(), CLOSE, HELD, Ex()])
    busy = Conn(rtt_ms=10, client="10.0.0.1:40001", exchanges=[Ex(service_ms=1000)])
    parts, measured = parts_ms(stalled, busy), measure(stalled, busy)
    assert (parts["stall"], "client" in parts) == (25, False)
    assert measured.stalls_network_s == pytest.approx(0.005)


def test_parallel_workers_count_once() -> None:
    workers = measure(*[Conn(rtt_ms=10, exchanges=QUERIES)] * 8)
    assert workers.runtime_s == pytest.approx(0.24)
    assert workers.budget.network_s == pytest.approx(0.21)
    assert workers.effective.sum() == pytest.approx(21)


def test_a_pool_used_one_after_the_other_adds_up() -> None:
    pool = measure(*[Conn(rtt_ms=10, at_ms=300 * number, exchanges=QUERIES) for number in range(8)])
    assert pool.budget.network_s == pytest.approx(1.68)
    assert pool.effective.sum() == pytest.approx(8 * 21)


def test_handshakes_and_greetings_are_round_trips_of_the_projection() -> None:
    assert measure(Conn(greeting=True, exchanges=[Ex("connect")])).round_trips.tolist() == [3]
    assert measure(Conn(exchanges=[Ex("connect")])).round_trips.tolist() == [2]
    assert measure(Conn(handshake=False, exchanges=[Ex()])).round_trips.tolist() == [1]


def test_without_a_baseline_all_waiting_is_service() -> None:
    nothing = Conn(handshake=False, exchanges=[Ex(service_ms=1, round_trips=2)])
    assert parts_ms(nothing) == {"service": 3}


def test_no_traffic_has_no_budget() -> None:
    assert parts_ms() == {}
    assert parts_ms(Conn(protocol=None)) == {}


MS = st.floats(min_value=0, max_value=3000).map(lambda value: round(value, 3))
EXCHANGE = st.builds(
    Ex,
    command=st.sampled_from(["query", "connect", "authenticate", "quit", "stmt_execute"]),
    sql=st.sampled_from([None, "select ?", "update t"]),
    client_ms=MS,
    service_ms=MS,
    request_ms=MS,
    transfer_ms=MS,
    round_trips=st.integers(0, 3),
    answered=st.booleans(),
    at_ms=st.one_of(st.none(), MS),
    waited_ms=st.one_of(st.none(), MS),
    retransmissions=st.integers(0, 1),
    stalled_ms=st.sampled_from([0, 0, 40, 200]),
    complete=st.booleans(),
    response_bytes=st.integers(0, 10**7),
)
CONNECTION = st.builds(
    Conn,
    exchanges=st.lists(EXCHANGE, max_size=6),
    rtt_ms=st.floats(min_value=0, max_value=200).map(lambda value: round(value, 3)),
    at_ms=MS,
    near_share=st.sampled_from([0, 0.3, 1.0]),
    handshake=st.booleans(),
    greeting=st.booleans(),
    tail_ms=MS,
    client=st.sampled_from(["10.0.0.1:1", "10.0.0.3:1"]),
)
RECORDINGS = st.lists(CONNECTION, max_size=4).map(build)


@given(RECORDINGS, st.one_of(st.none(), st.floats(min_value=0, max_value=500)))
def test_the_parts_are_never_negative_and_sum_to_the_runtime(recording: Recording, given_ms: float | None) -> None:
    measured = timeline(recording, estimate_recording(recording, given_ms))
    parts = measured.budget.parts()
    assert min(parts.values()) >= 0
    assert sum(parts.values()) == pytest.approx(recording.runtime_s, abs=1e-6)


@given(RECORDINGS)
def test_no_round_trip_counts_more_than_once(recording: Recording) -> None:
    measured = timeline(recording, estimate_recording(recording))
    assert ((measured.weight >= 0) & (measured.weight <= 1 + 1e-9)).all()
    assert (measured.effective <= measured.round_trips + 1e-6).all()
