"""What sets the pace of a client that neither works nor waits for an answer: a server's pushes, or a timer."""

from __future__ import annotations

from pathlib import Path

import damage
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, analysed

from latpcap import Capture, read
from latpcap.measures.push_waits import PushWaits, push_waits
from latpcap.result.analysis import Measures
from latpcap.tables.recording import Recording

SQL = "select a from jobs where id = ?"


def listener(since_push_ms: float, count: int = 10) -> Conn:
    """Asks 100 ms after each answer, and so long after the server told it something."""
    return Conn([Ex(sql=SQL, client_ms=100, told_ms=since_push_ms) for _ in range(count)])


def waits(*connections: Conn) -> PushWaits:
    measures = Measures(build(list(connections)))
    return push_waits(measures.recording, measures.timeline)


def verdict(*connections: Conn) -> str:
    return Capture(build(list(connections))).analyze([15]).text


def test_who_waits_for_pushes_is_not_told_to_work() -> None:
    assert waits(listener(1)).client_s == pytest.approx(9 * 0.099)
    assert "application (waits for notifications)" in verdict(listener(1))
    assert "(waits for notifications)" in analysed("runs/psycopg2-notified-15").text


@pytest.mark.parametrize("other", [listener(80), listener(1, count=3), listener(0)], ids=["works", "twice", "never"])
def test_who_works_after_a_push_has_not_waited_for_it(other: Conn) -> None:
    assert waits(other) == PushWaits()
    assert "notifications" not in verdict(other)


def test_two_that_wait_at_once_and_one_that_works_meanwhile_share_the_time() -> None:
    other = Conn([Ex(sql=SQL, service_ms=800, at_ms=100.0)], client="10.0.0.1:40001")
    both = waits(listener(1), Conn(listener(1).exchanges, client="10.0.0.1:40002"))
    assert both.client_s == pytest.approx(waits(listener(1)).client_s)
    assert waits(listener(1), other).client_s < 0.2


def acknowledged_before_each_push(packets: damage.Packets) -> damage.Packets:
    """The listener's delayed acknowledgment of the answer before passes right before each notification."""
    made = [*packets]
    for place, push in enumerate(packets):
        tcp = push.tcp
        if tcp is None or tcp.source[1] != 5432 or push.data[tcp.payload_at :][:1] != b"A":
            continue
        of_client = (packet for packet in packets[place:] if packet.tcp and packet.tcp.destination == tcp.source)
        late = next(packet for packet in of_client if packet.tcp and not packet.tcp.payload_length)
        made.append(late.with_tcp(acknowledgment=tcp.sequence).at(push.time_ns - 100_000))
    return sorted(made, key=lambda packet: packet.time_ns)


def test_a_notification_behind_a_delayed_acknowledgment_was_not_held_back(tmp_path: Path) -> None:
    packets = damage.read(FIXTURES / "runs" / "psycopg2-notified-15.pcapng.zst")
    (tmp_path / "late.pcapng").write_bytes(damage.pcapng(acknowledged_before_each_push(packets)))
    capture = read(tmp_path / "late.pcapng")
    assert max(capture.connections.column("tcp_stalls")) > 20
    assert max(capture.exchanges.column("stalled_ms")) == 0
    assert "delayed-ack" not in capture.health.column("code")


def stalled(count: int) -> Recording:
    """Requests of 8 s, of which so many were held back for 40 ms."""
    asked = [Ex(sql=SQL, client_ms=60, stalled_ms=40 * (number < count), service_ms=41) for number in range(80)]
    return build([Conn(asked)], [("delayed-ack", "warning", "delayed acknowledgments held back packets", count)])


@pytest.mark.parametrize(("count", "severity"), [(1, "info"), (2, "info"), (20, "warning")])
def test_few_packets_that_were_held_back_are_no_warning(count: int, severity: str) -> None:
    assert {note.code: note.severity for note in Measures(stalled(count)).health}["delayed-ack"] == severity


def timed(begins_after_answer: bool) -> Conn:
    """60 requests, 30 ms apart, or 30 ms after each answer, whose answers take 1 to 6 ms."""
    asked, over_ms = [], 10.0
    for number in range(60):
        at_ms = over_ms + 30 if begins_after_answer else 10 + 30.0 * number + number * number * 17 % 89 / 100
        waited_ms = 1 + number * number * 31 % 97 / 20
        asked.append(Ex(sql=SQL, at_ms=at_ms, waited_ms=waited_ms))
        over_ms = at_ms + waited_ms
    return Conn(asked)


def test_a_timer_is_told_with_its_interval() -> None:
    assert "A timer sets the pace: it starts a request every 30.0 ms." in verdict(timed(begins_after_answer=False))


def test_a_pause_after_each_answer_is_no_timer() -> None:
    assert "timer" not in verdict(timed(begins_after_answer=True))
