"""RTT, loss, round trips and response times over time: `latpcap table intervals`, its section and its chart."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import Done, load_fixture, read_fixture
from numpy.typing import NDArray

import latpcap as package
from latpcap.errors import UsageError
from latpcap.measures.intervals import Intervals, intervals
from latpcap.report import markdown
from latpcap.report.console import print_renderables
from latpcap.report.sections.intervals import intervals as section
from latpcap.report.terminal import drawn, sparkline
from latpcap.report.text import ascii_only
from latpcap.result.intervals import intervals_result
from latpcap.rtt import estimate_recording
from latpcap.verify.wireshark import nanoseconds

Run = Callable[..., Done]
SECOND_MS = 1000
EPOCH_S = 1_600_000_000


def each_second(*rtts_ms: float, **more: object) -> list[Conn]:
    """A connection with one query for each second."""
    query = Ex("query", "select 1", service_ms=1, **more)  # type: ignore[arg-type]
    return [Conn([query], rtt_ms=rtt, at_ms=SECOND_MS * number) for number, rtt in enumerate(rtts_ms)]


def measured(connections: list[Conn], every_s: float | None = 1.0) -> Intervals:
    recording = build(connections)
    return intervals(recording, estimate_recording(recording), every_s)


def test_an_exchange_counts_where_it_begins() -> None:
    found = measured(each_second(5, 5, 5))
    assert found.round_trips.tolist() == [1, 1, 1]
    assert found.connections.tolist() == [1, 1, 1]
    assert (found.rtt_min / 1e6).tolist() == [5, 5, 5]
    assert (found.response_p95 / 1e6).tolist() == (found.fastest / 1e6).tolist() == [6, 6, 6]


def test_an_interval_without_traffic_is_a_row_of_zeros() -> None:
    first, _, third = each_second(5, 5, 5)
    found = measured([first, third])
    assert found.exchanges.tolist() == [1, 0, 1]
    assert np.isnan(found.response_p50).tolist() == np.isnan(found.baseline).tolist() == [False, True, False]


def test_intervals_begin_at_round_times() -> None:
    assert (measured(each_second(5, 5), 60).start % 60_000_000_000).tolist() == [0]


def test_retransmissions_and_errors_are_counted() -> None:
    found = measured(each_second(5, 5, retransmissions=2))
    assert found.retransmissions.tolist() == [2, 2]
    assert found.errors.tolist() == [0, 0]


def test_the_sums_are_those_of_the_capture() -> None:
    capture = read_fixture("mysql/path-changes")
    table, summary = capture.intervals, capture.analyze().summary
    assert table.column("round_trips").sum() == summary.round_trips
    assert table.column("exchanges").sum() == summary.exchanges
    assert 10 <= len(table) <= 61


def test_the_sql_table_and_the_attribute_are_the_same() -> None:
    capture = read_fixture("mysql/path-changes")
    [row] = capture.sql("select count(*) n, sum(round_trips) trips from intervals").to_dicts()
    assert (row["n"], row["trips"]) == (len(capture.intervals), 1040)
    assert len(capture.intervals_of(60)) == 1


def test_the_rtt_that_counts_is_that_of_the_time() -> None:
    counted = read_fixture("mysql/path-changes").intervals.column("baseline_ms")
    assert counted[0] == pytest.approx(5.02, abs=0.01)
    assert counted[-1] == pytest.approx(20.1, abs=0.1)


def test_too_many_intervals_are_refused() -> None:
    with pytest.raises(UsageError, match="choose longer ones"):
        read_fixture("mysql/path-changes").intervals_of(1e-6)
    with pytest.raises(UsageError, match="longer than 0 seconds"):
        read_fixture("mysql/path-changes").intervals_of(0)


def test_a_short_recording_has_no_section() -> None:
    recording = build(each_second(5, 5, 5))
    assert intervals_result(intervals(recording, estimate_recording(recording), 1), recording.runtime_s) is None


def test_the_section_is_a_line_of_blocks_for_each_figure() -> None:
    found = read_fixture("mysql/path-changes").analyze().intervals
    assert found is not None
    text = print_renderables(drawn(section(found)))
    assert "Over time (500 ms each, from 03:31:03 UTC)" in text
    assert "fastest response" in text
    assert "errors" not in text
    assert ascii_only(text).isascii()
    assert "?" not in ascii_only(text)


def test_a_sparkline_is_as_high_as_its_figures() -> None:
    assert sparkline([0, 10, 20]) == "▁▅█"
    assert sparkline([None, 1, None]) == " █"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_a_chart_can_be_drawn() -> None:
    pytest.importorskip("altair")
    chart = read_fixture("mysql/path-changes").over_time(1).plot()
    assert "RTT measured" in str(chart.to_dict())


def test_at_the_server_the_fastest_response_says_nothing_of_the_path() -> None:
    at_server = [
        Conn([Ex("query", "select 1", service_ms=1)], rtt_ms=5, near_share=1.0, at_ms=SECOND_MS * number)
        for number in range(3)
    ]
    found = measured(at_server)
    assert np.isnan(found.fastest).all()
    assert found.rtt_min / 1e6 == pytest.approx([5, 5, 5])


def test_every_format_has_it() -> None:
    analysis = read_fixture("mysql/path-changes").analyze()
    assert analysis.to_dict()["intervals"]["every_s"] == 0.5
    assert "## Over time (500 ms each, from 03:31:03 UTC)" in markdown.render(analysis)


def times_of(path: Path, shows: str) -> NDArray[np.int64]:
    """When the packets pass that a display filter shows, as Wireshark says."""
    command = ["tshark", "-n", "-r", str(path), "-Y", shows, "-T", "fields", "-e", "frame.time_epoch"]
    lines = subprocess.run(command, capture_output=True, check=True).stdout.decode().split()
    return np.array([nanoseconds([line]) for line in lines], np.int64)


LOSSY = ["mysql/nplus1-300-loss2", "findings/uncached", "findings/wide-my", "mysql/reordered"]
LOST_BEFORE = dict.fromkeys(LOSSY, 0) | {"mysql/nplus1-300-loss2": 618}
"""A packet whose first copy was lost before the capture point: Wireshark infers it from an acknowledgment."""
WIDTHS_S = [0.05, 0.2, 1.0]


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("every_s", WIDTHS_S)
def test_segments_over_time_are_those_of_the_connections(name: str, every_s: float) -> None:
    capture = read_fixture(name)
    found, told = capture.intervals_of(every_s), [each.tcp for each in capture.analyze().connections]
    assert found.column("segments").sum() == sum(each.data_packets for each in told)
    assert found.column("retransmissions").sum() == sum(each.retransmissions for each in capture.analyze().connections)
    assert found.column("spurious").sum() == sum(each.spurious_retransmissions for each in told)
    assert (found.column("lost") + found.column("spurious") == found.column("retransmissions")).all()


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("every_s", WIDTHS_S)
def test_wireshark_counts_as_many_in_each_interval(name: str, every_s: float) -> None:
    found = read_fixture(name).intervals_of(every_s)
    first = int(found.column("start").view(np.int64)[0])
    path = load_fixture(name).path
    again = f"tcp.len > 0 && tcp.analysis.retransmission && !(frame.number in {{{LOST_BEFORE[name]}}})"
    for column, shows in (("segments", "tcp.len > 0"), ("retransmissions", again)):
        place = (times_of(path, shows) - first) // round(every_s * 1e9)
        assert np.bincount(place, minlength=len(found)).tolist() == found.column(column).tolist()


def test_intervals_that_are_no_multiple_of_the_slots_have_no_segments() -> None:
    capture = read_fixture("mysql/nplus1-300-loss2")
    row = capture.intervals_of(0.0005).to_dicts()[0]
    assert (row["segments"], row["lost"], row["lost_share"]) == (None, None, None)
    assert capture.intervals_of(0.05).to_dicts()[0]["segments"] > 0


def test_a_gate_holds_the_loss_of_each_interval(latpcap: Run) -> None:
    path = load_fixture("mysql/nplus1-300-loss2").path
    assert latpcap("table", "intervals", path, "--every", "1s", "--fail-if", "lost_share > 0.1%").returncode == 1
    assert latpcap("table", "intervals", path, "--every", "1s", "--fail-if", "lost_share > 50%").returncode == 0


def test_a_dataset_and_a_part_of_the_time_have_them_too(tmp_path: Path) -> None:
    capture = read_fixture("mysql/nplus1-300-loss2")
    capture.save(tmp_path / "saved")
    saved = package.read(tmp_path / "saved")
    for name in ("segments", "retransmissions", "lost", "spurious"):
        assert saved.intervals_of(0.2).column(name).tolist() == capture.intervals_of(0.2).column(name).tolist()
    later = capture.select(start="+1s").intervals_of(0.2)
    assert 0 < later.column("segments").sum() < capture.intervals_of(0.2).column("segments").sum()
