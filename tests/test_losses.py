"""What lost packets cost is loss, and neither the server's time nor counted twice."""

from __future__ import annotations

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

from latpcap.result.analysis import Measures
from latpcap.result.tables import exchange_table
from latpcap.wireshark.annotate import comments

PLAIN = [Ex(sql="select ?", service_ms=1)] * 20
RESENT = Ex(sql="select ?", service_ms=206, retransmissions=1)


def lost_ms(*connections: Conn) -> list[float]:
    """The loss of all exchanges that have some."""
    found = exchange_table(Measures(build(list(connections)))).column("loss_ms")
    return [float(value) for value in found if value > 0]


def with_waits(*service_ms: float, resent: int = 1) -> list[float]:
    """Beside `resent` sure time-outs of 205 ms."""
    waits = [Ex(sql="select ?", service_ms=wait) for wait in service_ms]
    return lost_ms(Conn(rtt_ms=10, exchanges=[*PLAIN, *[RESENT] * resent, *waits]))


@pytest.mark.parametrize("near_share", [0, 0.4, 1])
def test_the_parts_of_an_exchange_sum_to_what_it_took(near_share: float) -> None:
    capture = Measures(build([Conn(rtt_ms=10, near_share=near_share, exchanges=[*PLAIN, RESENT])]))
    row = exchange_table(capture)
    service, loss = row.column("service_ms"), row.column("loss_ms")
    assert (service[-1], loss[-1]) == (pytest.approx(1), pytest.approx(205))
    assert service.sum() == pytest.approx(21)
    assert capture.timeline.budget.loss_s == pytest.approx(loss.sum() / 1e3)
    assert capture.timeline.budget.service_s == pytest.approx(service.sum() / 1e3)
    [statement] = capture.analyze().statements
    assert (statement.service_s, statement.loss_s) == (pytest.approx(0.021), pytest.approx(0.205))


def test_a_time_out_behind_a_capture_at_the_server_is_not_the_clients_time() -> None:
    waits = [*PLAIN, Ex(sql="select ?", service_ms=1, client_ms=206, lost_before_ms=205)]
    budget = {
        near_share: Measures(build([Conn(rtt_ms=10, near_share=near_share, exchanges=waits)])).timeline.budget
        for near_share in (0, 1)
    }
    assert (budget[1].loss_s, budget[1].client_s) == (pytest.approx(0.205), pytest.approx(0.001))
    assert budget[0].loss_s == 0, "at the client an answer that it had received delayed nothing"


def test_a_wait_as_long_as_a_sure_time_out_is_probably_one() -> None:
    assert with_waits(208) == [pytest.approx(205), pytest.approx(207)]


@pytest.mark.parametrize(
    ("why_not", "service_ms", "resent"),
    [
        ("nothing was surely lost", [208], 0),
        ("it took another time", [150], 1),
        ("other waits are about as long, too", [208, 160, 260], 1),
        ("there are too many", [208] * 4, 1),
    ],
)
def test_else_a_long_wait_is_the_servers(why_not: str, service_ms: list[float], resent: int) -> None:
    assert len(with_waits(*service_ms, resent=resent)) == resent, why_not


def test_a_statement_that_always_takes_so_long_loses_nothing() -> None:
    slow = [Ex(sql="select slow", service_ms=205)] * 3
    assert len(lost_ms(Conn(rtt_ms=10, exchanges=[*PLAIN, RESENT, *slow]))) == 1


def test_losses_on_one_path_say_nothing_of_another() -> None:
    lossy = Conn(rtt_ms=10, exchanges=[*PLAIN, RESENT])
    slow = Conn(rtt_ms=10, server="10.0.0.3:3306", exchanges=[*PLAIN, Ex(sql="select ?", service_ms=206)])
    assert len(lost_ms(lossy, slow)) == 1


def test_a_link_that_lost_packets_made_no_statement_slow() -> None:
    """The six waits of 213 to 220 ms are time-outs; one of them shows by its length alone."""
    capture = read_fixture("mysql/nplus1-300-loss2")
    exchanges, budget = capture.exchanges, capture.analyze().budget
    service, loss = exchanges.column("service_ms"), exchanges.column("loss_ms")
    hit = np.nan_to_num(loss) > 100
    assert (np.count_nonzero(hit), np.count_nonzero(hit & (exchanges.column("retransmissions") == 0))) == (6, 1)
    assert np.nanmax(service) < 2
    assert np.nansum(loss) / 1e3 == pytest.approx(budget.loss_s)
    whole = ~np.isnan(service) & (exchanges.column("command") != "authenticate")
    assert service[whole].sum() / 1e3 == pytest.approx(budget.service_s, abs=1e-9)
    [note] = [note for note in capture.analyze().health if note.code == "loss"]
    assert "0.209 s of it probably (1 wait as long as a time-out" in note.message


def test_time_outs_count_once_and_what_had_arrived_is_told_apart() -> None:
    """Frames 148, 221, 419 and 617 say that what was sent again had come: the first by a timestamp, else by D-SACK."""
    analysis = read_fixture("mysql/nplus1-300-loss2").analyze()
    [connection] = analysis.connections
    assert (connection.retransmissions, connection.tcp.spurious_retransmissions) == (7, 4)
    assert (connection.tcp.timeouts, round(connection.tcp.timeout_ms)) == (5, 1066)
    [note] = [note.message for note in analysis.health if note.code == "retransmissions"]
    assert note == (
        "7 packets were sent again, 4 of them although the first copy had arrived: "
        "at least 3 of 616 packets with data were lost (0.5%) (first: the exchange of frame 33)"
    )


def test_where_all_that_was_sent_again_had_arrived_a_slow_server_is_slow() -> None:
    """The 13 ms of a statement that was not cached, during which a packet was sent again for nothing."""
    analysis = read_fixture("findings/uncached").analyze()
    assert analysis.connections[0].tcp.spurious_retransmissions == analysis.connections[0].retransmissions == 1
    assert analysis.budget.loss_s == 0


def test_a_comment_calls_a_time_out_loss() -> None:
    capture = read_fixture("mysql/nplus1-300-loss2")
    said = comments(capture.analyze(), capture.exchanges)
    of_frame = {frame: text for batch in said for frame, texts in batch for text in texts if "exchange" in text}
    assert "loss 213 ms" in of_frame[33]
    assert "probably" not in of_frame[33]
    assert "probably loss 209 ms" in of_frame[235]
