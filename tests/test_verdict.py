"""The answer: what the network costs now and elsewhere, why, what to do, and what limits the trust."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import analysed, load_fixture, read_fixture
from golden import fixtures

from latpcap import Capture, read
from latpcap.measures.health import HealthNote
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.verdict import steps

QUERIES = [Ex("query", sql="select ?", service_ms=0.15, client_ms=0.1)] * 10_000
NPLUS1 = "mysql/nplus1-1000-rtt1"


def analysis(*connections: Conn, rtt_ms: list[float] | None = None) -> Analysis:
    return Measures(build(list(connections))).analyze(rtt_ms)


def labelled(result: Analysis, label: str) -> list[str]:
    """The texts behind a label, with what goes on below it."""
    found: list[list[str]] = []
    for line in result.verdict:
        if line.label:
            found.append([line.label, line.text])
        elif found:
            found[-1].append(line.text)
    return ["\n".join(texts) for first, *texts in found if first == label]


def test_the_classic_is_told_on_one_screen() -> None:
    lines = analysed(NPLUS1).text.split("\n")
    assert lines == [
        "1 connection, MariaDB 10.11.19, PyMySQL, RTT 1.00 ms",
        "NOW     1.28 s: network 78% (70 to 84%), application 13%, server 9%",
        "15 ms   15.5 s (14.7 to 16.5 s), 12 times as long, network 96%",
        "        1,003 round trips + 1 TCP handshake + 1 greeting: each millisecond of RTT costs 1.01 s",
        "WHY     N+1: one statement runs 1,000 times, once for each row of another [n+1]",
        "        select salary, from_date from salaries where emp_no = ?",
        "DO      Query once: join the two statements, or fetch all keys with one `IN (…)`; ORMs call this eager "
        "loading.",
        "        saves 1,000 round trips: 15.5 s → 0.176 s at 15 ms",
    ]


LONG = ("drivers/mysql-async", "postgresql/pgbouncer", "tcp/failed-connections", "findings/prepared-each")


@pytest.mark.parametrize("name", [*LONG, *[*fixtures()][::40]])
def test_the_first_screen_is_one_screen(
    name: str, latpcap: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eighty columns and 24 lines, the prompt among them."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = latpcap("analyze", "--quiet", load_fixture(name).path).stdout.decode().rstrip("\n").split("\n")
    assert len(shown) < 24, name
    assert max(map(len, shown)) <= 80


def test_what_was_asked_for_beside_the_rtt_is_answered() -> None:
    capture = read_fixture("mysql/nplus1-300-client")
    [within] = labelled(capture.analyze([15], within_s=2), "WITHIN")
    assert within == capture.project([15], within_s=2).within.text
    moved = capture.analyze(move={":3306": 15})
    assert "\n        there: only 10.77.0.2:3306 at 15 ms, all else unchanged\n" in moved.text


def test_where_one_of_two_servers_is_moved_no_fix_of_the_other_shortens_the_job() -> None:
    """The fix saves what it does with both servers there: it may be more than the job takes."""
    loop = [Ex("query", sql="select id from t", rows=50), *[Ex("query", sql="select v from t where id = ?")] * 50]
    capture = Capture(build([Conn(server=f"10.0.1.{host}:3306", exchanges=loop) for host in (1, 2)]))
    assert " → " in capture.analyze([200]).text
    moved = capture.analyze(move={"10.0.1.1:3306": 200})
    assert "saves 50 round trips" in moved.text
    assert " → " not in moved.text


def test_each_of_a_few_rtts_has_a_line_of_more_the_largest() -> None:
    few = analysis(Conn(exchanges=QUERIES[:5]), rtt_ms=[2, 80, 3])
    assert [line.label for line in few.verdict if line.label.endswith(" ms")] == ["2 ms", "80 ms", "3 ms"]
    assert ["network" in line.text for line in few.verdict if line.label.endswith(" ms")] == [False, True, False]
    many = analysis(Conn(exchanges=QUERIES[:5]), rtt_ms=[2, 80, 3, 4])
    assert [line.label for line in many.verdict if line.label.endswith(" ms")] == ["80 ms"]


@pytest.mark.parametrize("rtt_ms", [14, 15, 15.018, 16])
def test_a_millisecond_costs_the_same_around_the_rtt_of_the_capture(rtt_ms: float) -> None:
    """The client answers faster in the capture than a replay supposes: the step between them is no slope."""
    result = analysis(Conn(rtt_ms=15.018, exchanges=QUERIES[:100]), rtt_ms=[rtt_ms]).projection
    assert result.headline_seconds_per_ms == pytest.approx(result.seconds_per_ms, rel=0.02)


def test_at_the_rtt_of_the_capture_nothing_is_projected() -> None:
    job = Conn(rtt_ms=15.018, exchanges=QUERIES[:100])
    [measured] = labelled(analysis(job, rtt_ms=[15]), "15 ms")
    assert measured.startswith("the RTT of the capture: the runtime there is that of now\n")
    [projected] = labelled(analysis(job, rtt_ms=[16]), "16 ms")
    assert projected.startswith("1.63 s (")


def test_a_millisecond_costs_what_it_does_at_the_rtt_of_the_line() -> None:
    """A round every 30 ms: near, a timer hides what a round trip costs; at 50 ms each round waits for its answer."""
    rounds = [Ex(sql="select ?", at_ms=30.0 * turn, waited_ms=1.0 + (turn * 7) % 5) for turn in range(200)]
    near = analysis(Conn(rtt_ms=0.1, exchanges=rounds), rtt_ms=[50])
    assert near.projection.seconds_per_ms == pytest.approx(0.003)
    assert "each millisecond of RTT costs 0.201 s" in near.text


@pytest.mark.parametrize(("rtt_ms", "told"), [(20, "30 ms"), (30, "50 ms"), (14.97, "30 ms"), (15.01, "30 ms")])
def test_far_away_a_farther_point_of_the_ladder_is_told(rtt_ms: float, told: str) -> None:
    assert labelled(analysis(Conn(rtt_ms=rtt_ms, exchanges=QUERIES[:5])), told)


def test_parallel_work_is_said_to_run_at_the_same_time() -> None:
    result = analysis(*[Conn(exchanges=QUERIES[:5])] * 4)
    assert "20 round trips + 4 TCP handshakes on 4 connections, partly at the same time: each " in result.text
    told = "20 round trips + 4 TCP handshakes, 1.00 ms each: 24.0 ms, in parallel 6.00 ms"
    assert result.waits.text(result.summary.round_trips) == told


def test_an_unknown_rtt_is_said_honestly() -> None:
    result = analysis(Conn(handshake=False, exchanges=[Ex(answered=False)]))
    assert "RTT unknown\n" in result.text
    assert "; give it with --rtt-baseline." in result.text
    assert "%" not in result.text


def test_of_several_warnings_the_gravest_comes_first() -> None:
    trivial = ("clock-backwards", "warning", "frame 3 is 0.012 ms earlier than the packet before it", 1)
    grave = ("capture-drops", "warning", "interface 0 dropped 4,000 packets", 4000)
    for notes in ([trivial, grave], [grave, trivial]):
        result = Measures(build([Conn(exchanges=QUERIES[:5])], notes)).analyze()
        assert labelled(result, "NOTE")[0] == "Interface 0 dropped 4,000 packets."


def test_no_request_is_no_statement_about_the_network() -> None:
    result = analysis(Conn(handshake=False, exchanges=[Ex("quit", answered=False, round_trips=0)]))
    [now] = labelled(result, "NOW")
    assert now.endswith(": no request waits for an answer, so there is nothing to measure")
    assert [line.label for line in result.verdict].count("15 ms") == 0


def test_a_note_that_begins_with_a_file_keeps_its_name() -> None:
    notes = [("snap-length", "warning", "built.pcap: 3 packets were cut.", 3), ("other", "info", "nothing", 1)]
    result = Measures(build([Conn(exchanges=QUERIES[:5])], notes)).analyze()
    assert labelled(result, "NOTE") == ["built.pcap: 3 packets were cut."]


def test_what_the_network_did_is_no_doubt_about_the_figures() -> None:
    notes = [("timeouts", "warning", "senders waited for 5 time-outs", 5)]
    assert not labelled(Measures(build([Conn(exchanges=QUERIES[:5])], notes)).analyze(), "NOTE")


def test_where_every_login_fails_no_other_figure_means_much() -> None:
    result = analysed("mysql/too-many-connections")
    assert labelled(result, "WHY")[0].startswith("5 of 5 logins failed: 5 × too many connections (1040)")
    assert labelled(result, "NOTE")[0] == "No statement ran: all figures are about refused logins."
    assert "held back" not in result.text


def test_where_one_response_shows_no_share_the_answer_does_not_deny_what_the_table_projects() -> None:
    result = analysed("firebird/go-firebirdsql-refused")
    assert "each millisecond of RTT costs 2.00 ms" in result.text
    assert any(point.runtime_s is not None for point in result.projection.points)


def test_a_clock_of_a_millisecond_hides_the_rtt_though_time_passes() -> None:
    result = analysis(Conn(rtt_ms=0, exchanges=[Ex("query", sql="select ?", client_ms=2)] * 9))
    assert labelled(result, "NOW")[0].startswith("18.0 ms: network unknown (the capture's clock is too coarse for the")


def test_a_clock_that_stands_still_projects_nothing() -> None:
    result = analysis(Conn(rtt_ms=0, exchanges=[Ex("query", sql="select ?")] * 5))
    assert [(line.label, line.text) for line in result.verdict[1:3]] == [
        ("NOW", "0 s: network unknown (no time passes in this capture)"),
        ("", "5 round trips + 1 TCP handshake: each millisecond of RTT costs 6.00 ms"),
    ]


def test_each_label_is_known_and_each_statement_is_code() -> None:
    lines = [line for name in ("findings/failing-my", "mysql/churn-20", NPLUS1) for line in analysed(name).verdict]
    assert {line.label for line in lines} <= {"", "NOW", "15 ms", "WHY", "DO", "ALSO", "ALL", "NOTE"}
    code = [line for line in lines if line.kind == "code"]
    assert code
    assert all(re.match(r"[a-z(]", line.text) for line in code)


def test_what_is_said_of_packets_does_not_depend_on_their_file(latpcap: Callable[..., Any], tmp_path: Path) -> None:
    path = load_fixture(NPLUS1).path
    (tmp_path / "other.pcapng.zst").write_bytes(path.read_bytes())
    assert read(tmp_path / "other.pcapng.zst").analyze().verdict == analysed(NPLUS1).verdict
    shown = latpcap("analyze", tmp_path / "other.pcapng.zst").stdout.decode()
    assert shown.startswith("other.pcapng.zst: 1 connection, MariaDB 10.11.19, PyMySQL, RTT 1.00 ms\n")


def test_what_no_finding_says_is_to_be_done_once() -> None:
    notes = [HealthNote(code, "warning", code, 1) for code in ("timeouts", "zero-window", "proxy-likely", "loopback")]
    measures = Measures(build([Conn(rtt_ms=10, exchanges=[Ex(sql="a")] * 3)]))
    locks, budget = measures.evidence.lock_waits, measures.timeline.budget
    assert [each.code for each in steps((), notes, locks, budget)] == ["timeouts", "zero-window", "proxy-likely"]
    assert all(each.advice for each in steps((), notes, locks, budget))
