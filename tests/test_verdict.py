import pytest
from builder import Conn, Ex, build
from conftest import analysed

from latpcap.result.analysis import Measures

QUERIES = [Ex("query", sql="select ?", service_ms=0.15, client_ms=0.1)] * 10_000


def verdict(*connections: Conn, rtt_ms: list[float] | None = None) -> list[str]:
    return Measures(build(list(connections))).analyze(rtt_ms).summary.verdict.split("\n")


def test_the_classic_is_told_in_three_lines() -> None:
    login = [Ex("connect"), Ex("query", sql="select * from employees", service_ms=3, transfer_ms=12)]
    assert verdict(Conn(rtt_ms=0.389, greeting=True, exchanges=[*login, *QUERIES])) == [
        "61% of the 6.41 s is network (29 to 67%): (10,002 round trips + 1 TCP handshake + 1 greeting) × 0.389 ms = "
        "3.89 s.",
        "At 15 ms: about 155 s (optimistic 147 s, pessimistic 166 s); each extra millisecond adds 10.1 s.",
        "Most time goes to waiting for the network (61%), then the server (23%).",
    ]


def test_the_largest_rtt_that_was_asked_for_is_told() -> None:
    assert verdict(Conn(exchanges=QUERIES[:5]), rtt_ms=[2, 80, 3])[1].startswith("At 80 ms")


def test_at_the_rtt_of_the_capture_nothing_is_projected() -> None:
    job = Conn(rtt_ms=15.018, exchanges=QUERIES[:100])
    measured = "15 ms is the RTT of the capture: 1.54 s; each extra millisecond of RTT adds 0.101 s."
    assert verdict(job, rtt_ms=[15])[1] == measured
    assert verdict(job, rtt_ms=[16])[1].startswith("At 16 ms: about ")


def test_the_slope_of_the_sentence_is_that_at_its_rtt() -> None:
    """A round every 30 ms: near, a timer hides what a round trip costs; at 50 ms each round waits for its answer."""
    rounds = [Ex(sql="select ?", at_ms=30.0 * turn, waited_ms=1.0 + (turn * 7) % 5) for turn in range(200)]
    near = Measures(build([Conn(rtt_ms=0.1, exchanges=rounds)])).analyze([50])
    assert near.projection.seconds_per_ms == pytest.approx(0.003)
    assert near.summary.verdict.split("\n")[1].endswith("; each extra millisecond adds 0.201 s.")


def test_far_away_a_farther_point_of_the_ladder_is_told() -> None:
    assert verdict(Conn(rtt_ms=20, exchanges=QUERIES[:5]))[1].startswith("At 30 ms")
    assert verdict(Conn(rtt_ms=30, exchanges=QUERIES[:5]))[1].startswith("At 50 ms")


def test_a_hair_of_the_baseline_does_not_decide_of_which_rtt_is_spoken() -> None:
    told = {verdict(Conn(rtt_ms=rtt, exchanges=QUERIES[:5]))[1][:9] for rtt in (14.97, 15.01)}
    assert told == {"At 30 ms:"}


def test_parallel_work_is_said_to_count_once() -> None:
    first = verdict(*[Conn(exchanges=QUERIES[:5])] * 4)[0]
    assert first.endswith(
        ": (20 round trips + 4 TCP handshakes) × 1.00 ms = 24.0 ms in sequence, 6.00 ms with overlap."
    )


def test_an_unknown_baseline_is_said_honestly() -> None:
    cost, elsewhere, *_ = verdict(Conn(handshake=False, exchanges=[Ex(answered=False)]))
    assert "unknown" in cost
    assert "--rtt-baseline" in elsewhere


def test_of_several_warnings_the_gravest_is_told() -> None:
    trivial = ("clock-backwards", "warning", "frame 3 is 0.012 ms earlier than the packet before it", 1)
    grave = ("capture-drops", "warning", "interface 0 dropped 4,000 packets", 4000)
    for notes in ([trivial, grave], [grave, trivial]):
        result = Measures(build([Conn(exchanges=QUERIES[:5])], notes)).analyze()
        assert result.summary.verdict.endswith("Warning: interface 0 dropped 4,000 packets.")


def test_no_request_is_no_statement_about_the_network() -> None:
    first, *_ = verdict(Conn(handshake=False, exchanges=[Ex("quit", answered=False, round_trips=0)]))
    assert first.endswith(" holds no request that waits for an answer, so there is nothing to measure.")


def test_the_worst_note_is_part_of_it() -> None:
    notes = [("snap-length", "warning", "built.pcap: 3 packets were cut.", 3), ("other", "info", "nothing", 1)]
    result = Measures(build([Conn(exchanges=QUERIES[:5])], notes)).analyze()
    assert result.summary.verdict.endswith("Warning: built.pcap: 3 packets were cut.")


def test_nothing_is_said_of_packets_that_were_not_held_back() -> None:
    told = analysed("mysql/too-many-connections").summary.verdict
    assert told.startswith("5 of 5 logins failed: 5 × too many connections (1040).")
    assert "held back" not in told


def test_where_one_response_shows_no_share_the_verdict_does_not_deny_what_the_table_projects() -> None:
    result = analysed("firebird/go-firebirdsql-refused")
    assert "Each extra millisecond of RTT adds 2.00 ms." in result.summary.verdict.split("\n")
    assert any(point.runtime_s is not None for point in result.projection.points)


def test_a_clock_of_a_millisecond_hides_the_rtt_though_time_passes() -> None:
    hidden = Conn(rtt_ms=0, exchanges=[Ex("query", sql="select ?", client_ms=2)] * 9)
    told = "9 round trips in 18.0 ms: the capture's clock is too coarse for the RTT"
    assert verdict(hidden)[0] == f"{told}, so the network's share is unknown."


def test_a_clock_that_stands_still_projects_nothing() -> None:
    still = Conn(rtt_ms=0, exchanges=[Ex("query", sql="select ?")] * 5)
    assert verdict(still) == [
        "5 round trips in 0 s: no time passes in this capture, so the network's share is unknown.",
        "Each extra millisecond of RTT adds 6.00 ms; no runtime can be projected.",
    ]
