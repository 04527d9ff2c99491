"""What single packets prove of the RTT, and what they do not; what the clock's errors do. Captured at the client."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable

import mysql_wire
import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, read_fixture
from numpy.typing import NDArray
from test_health import RTT_MS, SERVICE_MS, Packet, Talk, read, talk

import latpcap
from latpcap.result.analysis import Measures
from latpcap.result.connections import RttResult
from latpcap.rtt import estimate_recording
from latpcap.tables.connections import MISSING

YEAR_MS = 365 * 86_400_000.0
FIRST_REQUEST = 5
"""Of `talk()`: behind handshake, greeting and login, from 0."""


def rtt(packets: list[Packet]) -> RttResult:
    [path] = read(packets).analyze().paths
    return path.rtt


def running(made: Callable[[Talk], None]) -> list[Packet]:
    """The packets of a connection whose beginning was not captured."""
    dialogue = Talk()
    dialogue.connect()
    first = len(dialogue.packets)
    made(dialogue)
    return dialogue.packets[first:]


def spans(capture: latpcap.Capture, name: str) -> NDArray[np.int64]:
    """A column of the connections; `MISSING` where it is unknown."""
    return capture.recording.connection_column(name).ints(MISSING)


def handshakes(capture: latpcap.Capture) -> tuple[list[int | None], list[int | None]]:
    """SYN → SYN/ACK and SYN/ACK → ACK of each connection in ns."""
    server, client = (
        [None if ns == MISSING else ns for ns in spans(capture, f"{side}_handshake_ns").tolist()]
        for side in ("server", "client")
    )
    return server, client


def acknowledge(dialogue: Talk, sender: int, after_ms: float) -> None:
    dialogue.wait(after_ms)
    dialogue.send(sender)


# --- acknowledgments --------------------------------------------------------------------------------------------------


def test_a_lone_delayed_acknowledgment_is_no_rtt() -> None:
    def one_query(dialogue: Talk) -> None:
        dialogue.queries(1)
        acknowledge(dialogue, 0, 38.3)

    found = rtt(running(one_query))
    assert (found.baseline_ms, found.low_ms) == (pytest.approx(RTT_MS + SERVICE_MS), 0)
    assert found.position == "unknown"


def test_the_next_request_proves_that_an_acknowledgment_came_late() -> None:
    def two_queries(dialogue: Talk) -> None:
        dialogue.queries(2)
        acknowledge(dialogue, 0, 122.0)

    found = rtt(running(two_queries))
    assert found.baseline_ms == pytest.approx(RTT_MS + SERVICE_MS)
    assert found.high_ms is not None
    assert found.high_ms < RTT_MS + SERVICE_MS + 1


def test_one_answer_that_is_faster_than_the_handshake_bounds_the_rtt() -> None:
    packets = talk(1)
    slow = [packets[0].later(-30), *packets[1:]]
    found = rtt(slow)
    assert found.baseline_ms == pytest.approx(RTT_MS + SERVICE_MS)
    assert found.low_ms == 0
    assert found.reason == "TCP handshake and data ACKs were slower than the faster responses, which are an upper bound"


def test_an_answer_to_a_part_of_the_request_proves_nothing_of_the_whole() -> None:
    """Of a pipeline: what the server says meanwhile does not acknowledge what was sent last."""
    dialogue = Talk()
    dialogue.connect()
    dialogue.queries(3)
    dialogue.send(0, mysql_wire.query("SELECT 1"))
    dialogue.wait(RTT_MS - 0.3)
    late = mysql_wire.query("SELECT 2")
    before = dialogue.sequence[0]
    dialogue.send(0, late)
    dialogue.sequence[0] = before
    dialogue.wait(0.3)
    dialogue.send(1, mysql_wire.result(1))
    dialogue.sequence[0] = before + len(late)
    dialogue.wait(RTT_MS)
    dialogue.send(1, mysql_wire.result(1))
    assert rtt(dialogue.packets).baseline_ms == pytest.approx(RTT_MS, rel=0.01)


# --- retransmissions --------------------------------------------------------------------------------------------------


def test_a_wait_for_a_retransmission_is_no_rtt() -> None:
    def again(dialogue: Talk) -> None:
        dialogue.send(0, mysql_wire.query("SELECT 1"))
        request = dialogue.packets[-1]
        dialogue.wait(205)
        dialogue.packets.append(request.again(205))
        dialogue.wait(RTT_MS)
        dialogue.send(1, mysql_wire.result(1))

    assert rtt(running(again)).method == "unknown"


def test_a_syn_ack_that_came_twice_leaves_the_half_that_it_answers() -> None:
    packets = talk()
    syn, syn_ack, ack, *rest = packets
    late = [packet.later(1000) for packet in rest]
    found = read([syn, syn_ack, syn_ack.again(1000), ack.later(1000), *late])
    assert found.recording.connection_column("handshake_retransmitted").values.all()
    assert handshakes(found) == ([RTT_MS * 1e6], [None])
    [path] = found.analyze().paths
    assert path.rtt.baseline_ms == pytest.approx(RTT_MS, rel=0.01)


def test_a_syn_ack_that_comes_again_when_it_was_answered_spoils_nothing() -> None:
    syn, syn_ack, ack, *rest = talk()
    found = read([syn, syn_ack, ack, syn_ack.again(1), *rest])
    assert handshakes(found) == ([RTT_MS * 1e6], [11_000])
    assert found.analyze().paths[0].rtt.handshake_ms == pytest.approx(RTT_MS + 0.011)


def test_a_syn_that_was_sent_twice_leaves_the_clients_half() -> None:
    syn, *rest = talk()
    assert handshakes(read([syn.later(-1000), syn.again(0), *rest])) == ([None], [11_000])


# --- clocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("off_ms", [46 * YEAR_MS, -46 * YEAR_MS, 3_600_000.0, -5_000.0])
@pytest.mark.parametrize("index", [1, 2, FIRST_REQUEST, FIRST_REQUEST + 1, 20])
def test_one_wrong_time_spoils_nothing_but_its_own(off_ms: float, index: int) -> None:
    packets = talk()
    clean = read(packets).analyze()
    packets[index] = packets[index].later(off_ms)
    found = read(packets).analyze()
    assert found.summary.runtime_s == pytest.approx(clean.summary.runtime_s, abs=0.01)
    assert found.summary.round_trips == clean.summary.round_trips
    assert found.summary.baseline_rtt_ms == pytest.approx(clean.summary.baseline_rtt_ms, rel=0.5)
    assert {note.code for note in found.health} >= {"clock-outlier"}
    assert found.budget.unknown_s < 2 * (RTT_MS + SERVICE_MS) / 1000


def test_a_first_packet_that_is_years_off_is_wrong() -> None:
    packets = talk()
    packets[0] = packets[0].later(46 * YEAR_MS)
    assert read(packets).analyze().summary.runtime_s < 1


def test_a_large_step_leaves_no_verdict_in_seconds() -> None:
    packets = talk()
    set_back = [*packets[:20], *(packet.later(-3_600_000) for packet in packets[20:])]
    found = read(set_back).analyze()
    assert found.summary.network_share is None
    assert "network unknown (the clock was set during the capture: capture again)" in found.text
    assert "15 ms" not in found.text


def test_a_small_step_leaves_it() -> None:
    packets = talk(200)
    summary = read([*packets[:20], *(packet.later(-3) for packet in packets[20:])]).analyze().summary
    assert summary.network_share is not None


def test_a_clock_of_whole_seconds_measures_no_rtt() -> None:
    packets = [packet.later(-packet.at_ms + 1000 * (number // 2)) for number, packet in enumerate(talk(10))]
    found = read(packets).analyze()
    [path] = found.paths
    assert (path.rtt.baseline_ms, path.rtt.position) == (None, "unknown")
    assert "resolution of one second" in path.rtt.reason
    assert found.summary.network_share is None
    assert "coarse-clock" in {note.code for note in found.health}


def test_a_pause_that_the_senders_clock_confirms_is_no_step_at_any_rate() -> None:
    """A clock of 300 ticks a second (Linux, HZ=300) is no clock of 250 that was set."""
    dialogue = Talk(timestamps=True)
    dialogue.connect()
    dialogue.queries(4)
    dialogue.wait(60_000)
    dialogue.queries(4)
    slower = [dataclasses.replace(packet, options=ticks_of_300(packet.options)) for packet in dialogue.packets]
    found = read(slower).analyze()
    assert "clock-step" not in {note.code for note in found.health}
    assert found.summary.runtime_s > 60


def ticks_of_300(options: bytes) -> bytes:
    """The timestamps option with 300 ticks for each 1,000."""
    value, echo = struct.unpack_from(">II", options, 4)
    return options[:4] + struct.pack(">II", value * 3 // 10, echo * 3 // 10) + options[12:]


# --- a share of the network -------------------------------------------------------------------------------------------


def test_one_response_tells_no_share_of_the_network() -> None:
    found = read(running(lambda dialogue: dialogue.queries(1))).analyze()
    assert found.summary.network_share is None
    assert "NOW     3.00 ms: network unknown (a single response does not show it)\n" in found.text
    assert "15 ms" not in found.text
    assert (found.budget.network_s, found.budget.service_s) == (0, 0)


def test_one_response_tells_none_behind_a_handshake_either() -> None:
    found = Measures(build([Conn(rtt_ms=2, exchanges=[Ex(service_ms=1)])])).analyze()
    assert found.summary.baseline_rtt_ms == 2
    assert (found.summary.network_share, found.budget.network_s, found.budget.service_s) == (None, 0, 0)


def test_two_responses_do() -> None:
    assert read(running(lambda dialogue: dialogue.queries(2))).analyze().summary.network_share is not None


# --- every fixture ----------------------------------------------------------------------------------------------------

NAMES = sorted(
    str(path.relative_to(FIXTURES)).split(".pcap")[0] for path in FIXTURES.rglob("*.pcapng*") if path.suffix != ".toml"
)


@pytest.mark.parametrize("name", NAMES)
def test_no_baseline_is_plainly_above_what_several_answers_prove(name: str) -> None:
    """But for paths that were measured so often that their own measurements say what is typical."""
    capture = read_fixture(name)
    try:
        found = estimate_recording(capture.recording)
    except latpcap.NoDatabaseTraffic:
        return
    of_paths, path = found.of_paths, found.paths.of_connection
    places = [of_paths.position_name(at) for at in path]
    ticks = capture.recording.captures_table["tick_ns"].to_pylist()
    tick_ns = max(tick or 1 for tick in ticks)
    for at, answers in (
        (("client", "loopback"), spans(capture, "server_answer_ns")),
        (("server",), spans(capture, "client_answer_ns")),
    ):
        known = (answers > 0) & np.array([place in at for place in places], bool)
        for number in range(len(found.paths)):
            fastest = np.sort(answers[known & (path == number)])
            if len(fastest) < 3 or of_paths.samples[number] >= 10:
                continue
            assert of_paths.baseline[number] <= max(1.1 * fastest[2], fastest[2] + 100_000) + tick_ns
            assert of_paths.low[number] <= fastest[2] + tick_ns
