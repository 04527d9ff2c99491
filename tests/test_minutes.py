"""RTT, loss, round trips and response times over time: `latpcap minutes`, its table, its section and its chart."""

from __future__ import annotations

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

from latpcap.errors import UsageError
from latpcap.measures.minutes import Minutes, minutes
from latpcap.report import markdown
from latpcap.report.console import print_renderables
from latpcap.report.sections.minutes import minutes as section
from latpcap.report.terminal import drawn, sparkline
from latpcap.report.text import ascii_only
from latpcap.result.minutes import minutes_result
from latpcap.rtt import estimate_paths

SECOND_MS = 1000
EPOCH_S = 1_600_000_000


def each_second(*rtts_ms: float, **more: object) -> list[Conn]:
    """A connection with one query for each second."""
    query = Ex("query", "select 1", service_ms=1, **more)  # type: ignore[arg-type]
    return [Conn([query], rtt_ms=rtt, at_ms=SECOND_MS * number) for number, rtt in enumerate(rtts_ms)]


def measured(connections: list[Conn], every_s: float | None = 1.0) -> Minutes:
    recording = build(connections)
    return minutes(recording, estimate_paths(recording), every_s)


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
    table, summary = capture.minutes, capture.analyze().summary
    assert table.column("round_trips").sum() == summary.round_trips
    assert table.column("exchanges").sum() == summary.exchanges
    assert 10 <= len(table) <= 61


def test_the_sql_table_and_the_attribute_are_the_same() -> None:
    capture = read_fixture("mysql/path-changes")
    [row] = capture.sql("select count(*) n, sum(round_trips) trips from minutes").to_dicts()
    assert (row["n"], row["trips"]) == (len(capture.minutes), 1040)
    assert len(capture.minutes_of(60)) == 1


def test_the_rtt_that_counts_is_that_of_the_time() -> None:
    counted = read_fixture("mysql/path-changes").minutes.column("baseline_ms")
    assert counted[0] == pytest.approx(5.02, abs=0.01)
    assert counted[-1] == pytest.approx(20.1, abs=0.1)


def test_too_many_intervals_are_refused() -> None:
    with pytest.raises(UsageError, match="make them longer"):
        read_fixture("mysql/path-changes").minutes_of(1e-6)
    with pytest.raises(UsageError, match="longer than 0 seconds"):
        read_fixture("mysql/path-changes").minutes_of(0)


def test_a_short_recording_has_no_section() -> None:
    recording = build(each_second(5, 5, 5))
    assert minutes_result(minutes(recording, estimate_paths(recording), 1), recording.runtime_s) is None


def test_the_section_is_a_line_of_blocks_for_each_figure() -> None:
    found = read_fixture("mysql/path-changes").analyze().minutes
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
    assert analysis.to_dict()["minutes"]["every_s"] == 0.5
    assert "## Over time (500 ms each, from 03:31:03 UTC)" in markdown.render(analysis)
