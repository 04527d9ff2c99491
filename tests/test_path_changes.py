"""A path whose RTT changes while it is captured: split where the evidence shows it, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

import latpcap
from latpcap.measures.changed_paths import changed_paths
from latpcap.report.console import print_renderables
from latpcap.report.sections.paths import paths
from latpcap.report.terminal import drawn
from latpcap.rtt import Estimate, estimate_recording
from latpcap.units import format_ms

APART_MS = 100


def pool(*rtts_ms: float, count: int = 30, service_ms: float = 0.2) -> list[Conn]:
    """A new connection for each statement, `count` of them at each RTT."""
    each = [rtt for rtt in rtts_ms for _ in range(count)]
    return [
        Conn([Ex("query", "select 1", service_ms=service_ms)], rtt_ms=rtt, at_ms=APART_MS * number)
        for number, rtt in enumerate(each)
    ]


def estimated(connections: list[Conn]) -> Estimate:
    return estimate_recording(build(connections))


def levels(found: Estimate) -> list[float]:
    return [round(value / 1e6, 2) for value in found.of_periods.baseline]


def test_a_change_of_the_handshakes_splits_the_path() -> None:
    found = estimated(pool(5, 20))
    assert levels(found) == [5.0, 20.0]
    assert found.phases.changes.time.tolist() == [30 * APART_MS * 1_000_000]
    assert found.phases.changes.shown_text(0) == "TCP handshakes and data ACKs before and after"
    assert found.of_connections.baseline.tolist() == [5e6] * 30 + [20e6] * 30


@pytest.mark.parametrize(("service_ms", "held"), [(30.0, True), (None, False)])
def test_where_nothing_tells_a_longer_path_from_a_slower_server_the_range_holds_both(
    service_ms: float | None, held: bool
) -> None:
    """All responses are slower by as much from one moment on; a server that is just busy is not that even."""
    later = [Ex("query", "select 1", service_ms=30.0 if service_ms else 30.0 + at % 7) for at in range(40)]
    found = estimated([Conn([Ex("query", "select 1", service_ms=0.2)] * 30 + later, rtt_ms=20)])
    [high_ms] = found.of_connections.high / 1e6
    assert (high_ms > 49.9) == held


@pytest.mark.parametrize(("statements", "changed"), [(3, True), (2, False)])
@pytest.mark.parametrize("shorter", [False, True])
def test_responses_to_several_statements_that_are_all_longer_by_as_much_were_on_a_longer_path(
    statements: int, changed: bool, shorter: bool
) -> None:
    """No work is the same for three statements. Of two a server may do as much."""

    def exchanges(count: int, service_ms: float) -> list[Ex]:
        return [Ex("query", f"select {'a' * (1 + at % statements)}", service_ms=service_ms) for at in range(count)]

    parts = [exchanges(30, 0.2), exchanges(40, 30.0)]
    made = [Conn([each for part in (parts[::-1] if shorter else parts) for each in part], rtt_ms=20)]
    found = estimated(made)
    assert found.has_changed == changed
    if changed:
        assert levels(found)[shorter] == pytest.approx(20, rel=0.02)
        assert levels(found)[not shorter] == pytest.approx(50, rel=0.02)
        assert "server work would differ" in found.phases.changes.shown_text(0)


def test_each_exchange_has_the_rtt_of_its_time() -> None:
    found = estimated(pool(20, 5))
    assert found.each_baseline.tolist() == [20e6] * 30 + [5e6] * 30


@pytest.mark.parametrize(
    "connections",
    [
        pool(5, 20, count=9),  # too few
        pool(5, 6),  # too little
        pool(5, *[5] * 5, 20, *[5] * 5, 5),  # an episode
        pool(*[5, 20] * 6, count=2),  # to and fro
        pool(5, count=60),
    ],
)
def test_what_does_not_last_or_is_little_splits_nothing(connections: list[Conn]) -> None:
    assert not estimated(connections).has_changed


def test_there_and_back_are_three_periods() -> None:
    assert levels(estimated(pool(5, 20, 5))) == [5.0, 20.0, 5.0]


def test_a_slower_server_is_no_longer_path() -> None:
    slow = [Ex("query", "select 1", service_ms=0.2)] * 200 + [Ex("query", "select 1", service_ms=15.2)] * 200
    assert not estimated([Conn(slow, rtt_ms=5)]).has_changed


def test_answers_faster_than_the_handshake_prove_a_shorter_path() -> None:
    def answers(rtt_ms: float, count: int = 300) -> list[Ex]:
        return [Ex("query", "select 1", waited_ms=rtt_ms + 0.2)] * count

    found = estimated([Conn([*answers(20), *answers(5)], rtt_ms=20)])
    assert levels(found) == [20.0, 5.0]
    assert found.of_periods.low[1] < 5e6 < found.of_periods.high[1]
    assert found.phases.changes.shown_text(0).startswith("responses that were faster, before or after, than the RTT")
    assert not estimated([Conn([*answers(40), *answers(25)], rtt_ms=20)]).has_changed


def test_a_change_is_said_with_its_time() -> None:
    recording = build(pool(5.02, 20.1))
    said = changed_paths(recording, estimate_recording(recording))
    assert said == "the RTT of the path changed from 5.02 to 20.1 ms at 12:26:43 UTC"
    others = [Conn(c.exchanges, c.rtt_ms, c.at_ms, server="10.0.0.3:3306") for c in pool(5, 20)]
    recording = build([*pool(5.02, 20.1), *others])
    said = changed_paths(recording, estimate_recording(recording))
    assert said.startswith("the RTT of the path 10.0.0.1 → 10.0.0.2:3306 changed from 5.02 to 20.1 ms at ")
    assert said.endswith("; 1 other path changed, too")


def test_a_given_baseline_is_one() -> None:
    assert not estimate_recording(build(pool(5, 20)), 10).has_changed


# --- a real link, whose delay was set from 5 to 20 ms half-way ------------------------------------------------------


@pytest.fixture(scope="module")
def capture() -> latpcap.Capture:
    return read_fixture("mysql/path-changes")


def test_the_clocks_of_the_senders_prove_that_the_path_of_one_connection_changed(capture: latpcap.Capture) -> None:
    [path] = capture.analyze().paths
    before, after = path.periods
    assert before.rtt.baseline_ms == pytest.approx(5.0, rel=0.02)
    assert after.rtt.baseline_ms == pytest.approx(20.0, rel=0.02)
    assert before.rtt.low_ms < 5.03 < before.rtt.high_ms
    assert after.rtt.low_ms < 20.05 < after.rtt.high_ms
    assert after.begin.startswith("2026-11-22T03:31:09.")
    assert (before.round_trips, after.round_trips) == (776, 264)
    assert before.shown_by is None
    assert "TCP timestamps" in (after.shown_by or "")


def test_it_is_said_in_the_verdict_and_in_health(capture: latpcap.Capture) -> None:
    analysis = capture.analyze()
    assert "The RTT of the path changed from 5.02 to 20.1 ms at 03:31:09 UTC." in analysis.text
    assert [note.severity for note in analysis.health if note.code == "path-changed"] == ["info"]


def test_round_trips_times_rtt_are_the_seconds(capture: latpcap.Capture) -> None:
    """Each half's round trips at its own RTT; the opening handshake and the greeting travel as well."""
    analysis = capture.analyze()
    [path] = analysis.paths
    counted = sum(period.round_trips * period.rtt.baseline_ms / 1000 for period in path.periods)
    setup = 2 * path.periods[0].rtt.baseline_ms / 1000
    network = analysis.summary.network_share * analysis.summary.runtime_s
    assert network == pytest.approx(counted + setup, rel=0.002)
    mean = (counted + setup) * 1000 / (analysis.summary.round_trips + 2)
    assert analysis.summary.baseline_rtt_ms == pytest.approx(mean)
    assert f"{format_ms(mean)} each on average" in analysis.waits.text(analysis.summary.round_trips)


def test_the_projection_agrees_with_that_of_each_half(capture: latpcap.Capture) -> None:
    """At 15 ms the first half's round trips take 10 ms more each, those of the second 5 ms less."""
    analysis = capture.analyze(15)
    [point], [path] = analysis.projection.points, analysis.paths
    longer = sum(period.round_trips * (15 - period.rtt.baseline_ms) / 1000 for period in path.periods)
    assert point.runtime_s == pytest.approx(analysis.summary.runtime_s + longer, rel=0.005)
    assert np.isclose(analysis.projection.seconds_per_ms, 1.042, atol=0.003)


def test_the_terminal_lists_the_periods_and_how_each_is_known(capture: latpcap.Capture) -> None:
    text = print_renderables(drawn(paths(capture.analyze().paths, 10)))
    assert "10.77.0.1 → 10.77.0.2:3306: the RTT changed" in text
    assert "03:31:09      20.1  19.9  20.3          264" in text
    assert "Changed at 03:31:09, as shown by responses and TCP timestamps" in text
    assert "\nTCP handshake and data ACKs agree\n" in text
    assert "\nThe path changed: the fastest responses of this period" in text


def test_a_window_has_the_rtt_of_its_time(capture: latpcap.Capture) -> None:
    after = capture.select(start="2026-11-22T03:31:10").analyze()
    assert after.summary.baseline_rtt_ms == pytest.approx(20.1, abs=0.05)
    assert not [note for note in after.health if note.code == "path-changed"]


def test_a_connection_through_the_change_has_the_rtt_that_it_had_on_average(capture: latpcap.Capture) -> None:
    [connection] = capture.analyze().connections
    assert connection.rtt.baseline_ms == pytest.approx(8.84, abs=0.1)  # as in the first line of the verdict
    assert (connection.rtt.low_ms or 0) < 5.1
    assert (connection.rtt.high_ms or 0) > 20
