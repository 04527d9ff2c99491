"""Senders that pace: who does, and what their large messages take at another RTT."""

from __future__ import annotations

import pytest
from builder import Conn, Ex, build_awake

from latpcap.result.analysis import Measures

SMALL = [Ex(service_ms=0.2, client_ms=0.1)] * 10


def answers(paced_ms: float, *, plain: int = 0, rtt_ms: float = 15.0) -> Measures:
    """30 answers of 60 kB that take 0.5 ms beside their pace; some go at once."""
    spread = [paced_ms] * (30 - plain) + [0.0] * plain
    large = [
        Ex(service_ms=0.2, client_ms=0.1, transfer_ms=each + 0.5, response_bytes=60_000, response_paced_ms=each)
        for each in spread
    ]
    return Measures(build_awake([Conn(rtt_ms=rtt_ms, exchanges=SMALL + large)]), rtt_is="in-stream")


def paced(measures: Measures) -> int:
    messages, _ = measures.timeline.job.paced
    return messages


def test_a_sender_paces_where_many_of_its_large_messages_leave_evenly() -> None:
    assert paced(answers(6.6)) == 30
    assert paced(answers(6.6, plain=20)) == 10
    assert paced(answers(6.6, plain=24)) == 0, "single ones may be a host that stood still"


@pytest.mark.parametrize(("paced_ms", "rtt_ms"), [(0.4, 15.0), (1.2, 15.0), (14.0, 15.0), (0.7, 1.0)])
def test_what_is_too_short_or_as_long_as_a_round_trip_is_no_pace(paced_ms: float, rtt_ms: float) -> None:
    assert paced(answers(paced_ms, rtt_ms=rtt_ms)) == 0


def test_what_a_pace_takes_follows_the_rtt() -> None:
    paces, plain = answers(6.6), answers(0.0)
    added = [
        1000 * ((with_pace.runtime_s or 0) - (without.runtime_s or 0)) / 30
        for with_pace, without in zip(
            paces.project([0.5, 15, 50]).points, plain.project([0.5, 15, 50]).points, strict=True
        )
    ]
    assert added == pytest.approx([0, 6.6, (6.6 + 1) * 50 / 15 - 1], abs=0.3)


def test_health_says_that_a_sender_paces() -> None:
    assert [note.message for note in answers(6.6).health if note.code == "paced-sender"] == [
        "30 of 30 large messages were spread evenly over a round trip: the sender paces its packets (BBR, a fair queue)"
    ]
    assert all(note.code != "paced-sender" for note in answers(0.0).health)
