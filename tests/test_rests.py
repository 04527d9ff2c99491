"""The rest curves that a capture shows: own times behind long rests against those behind short ones."""

from __future__ import annotations

import random

import numpy as np
import pytest
from builder import Conn, Ex, build
from hypothesis import given
from hypothesis import strategies as st

from latpcap.measures.rests import ReadCurve, read_curves
from latpcap.projection.rests import ASSUMED, RESTS_MS, Host, RestCurve, known_host, measured_host, read_host
from latpcap.result.analysis import Measures
from latpcap.rtt import estimate_recording
from latpcap.tables.host_curve import HostCurve

STATEMENTS = [f"select c{number} from t where id = ?" for number in range(4)]
PAUSES_MS = (0.05, 0.5, 2.0, 10.0)


def curves(exchanges: list[Ex], **of_connection: object) -> tuple[ReadCurve | None, ReadCurve | None]:
    recording = build([Conn(exchanges=exchanges, rtt_ms=0.05, **of_connection)])  # type: ignore[arg-type]
    return read_curves(recording, estimate_recording(recording))


def paused(extra_ms: dict[float, float], times: int = 12, slow_statement: int = -1, kinds: int = 4) -> list[Ex]:
    """Statements behind pauses, which the server answers so much later behind each."""
    chance = random.Random(1)
    return [
        Ex(
            sql=STATEMENTS[number],
            client_ms=pause_ms,
            service_ms=0.1 * (1 + number)
            + extra_ms[pause_ms] * chance.uniform(0.8, 1.2)
            + (0.8 if number == slow_statement and pause_ms > 5 else 0),
        )
        for _ in range(times)
        for pause_ms in PAUSES_MS
        for number in range(kinds)
        for _ in range(2)
    ]


LATER = {0.05: 0.0, 0.5: 0.05, 2.0: 0.2, 10.0: 0.4}
NEVER = dict.fromkeys(PAUSES_MS, 0.0)


def test_a_server_that_answers_later_behind_pauses_shows_its_curve() -> None:
    client, server = curves(paused(LATER))
    assert client is None
    assert server is not None
    assert server.is_known
    assert server.rests_ms == (0.2, 0.5, 2.0, 10.0)
    assert server.extra_ms == pytest.approx(tuple(LATER.values()), abs=0.03)
    assert server.error_ms[0] == 0 < max(server.error_ms) < 0.05
    assert server.full_from_ms == 10


def test_a_server_that_stays_awake_shows_none() -> None:
    _, server = curves(paused(NEVER))
    assert server is not None
    assert not server.is_known
    assert server.extra_ms == pytest.approx((0, 0, 0, 0), abs=0.02)


def test_one_statement_that_does_more_behind_pauses_decides_nothing() -> None:
    _, server = curves(paused(NEVER, slow_statement=2))
    assert server is not None
    assert not server.is_known


def test_what_another_statement_takes_behind_the_pauses_is_no_evidence() -> None:
    begun = [Ex(sql=STATEMENTS[0], client_ms=20, service_ms=0.9), *(Ex(sql=STATEMENTS[1], client_ms=0.05),) * 3]
    assert curves(begun * 20) == (None, None)


def test_few_pauses_are_no_evidence() -> None:
    assert curves(paused(LATER, times=2, kinds=1)) == (None, None)


def test_a_client_that_goes_on_later_behind_long_waits_shows_its_curve() -> None:
    waits = [(0.1, 0.05), (1.0, 0.08), (10.0, 0.35)]
    exchanges = [Ex(sql=STATEMENTS[0])]
    for _ in range(30):
        for wait_ms, gap_ms in waits:
            exchanges[-1].waited_ms = wait_ms
            exchanges.append(Ex(sql=STATEMENTS[0], client_ms=gap_ms))
    client, _ = curves(exchanges)
    assert client is not None
    assert client.is_known
    assert client.extra_ms[-1] == pytest.approx(0.3, abs=0.05)


def test_a_projection_takes_what_the_capture_shows_of_its_server() -> None:
    """Behind 15 ms each request takes what those behind 10 ms do, or somewhat more."""
    recording = build([Conn(exchanges=paused(LATER), rtt_ms=0.05)])
    recording.host_curve = HostCurve((1.0,), (0.0,), frozenset({"10.0.0.1"}))  # the client's
    [point] = Measures(recording, rtt_is="in-stream").project([15.0]).points
    exchanges = len(recording.exchanges)
    farther_s = (exchanges + 1) * 0.01495
    rested_s = exchanges * (0.4 - sum(LATER.values()) / len(LATER)) / 1000
    assert rested_s < (point.runtime_s or 0) - recording.runtime_s - farther_s < 1.4 * rested_s


def test_a_point_that_few_exchanges_made_does_not_count() -> None:
    host = read_host(ReadCurve((0.2, 2.0, 10.0), (0.0, 3.0, 0.4), (0.0, 0.5, 0.02)))
    assert host is not None
    assert [float(curve.at(10.0)) for curve in (host.least, host.likely, host.most)] == pytest.approx([0.28, 0.4, 0.56])
    assert host.likely.at(50.0) > 0.4


@pytest.mark.parametrize(
    "read",
    [
        ReadCurve((0.2, 10.0), (0.0, 0.4), (0.0, 0.5)),
        ReadCurve((2.0, 10.0), (0.0, 0.4), (0.0, 0.02)),
        ReadCurve((0.2, 2.0), (0.0, 0.4), (0.0, 0.02)),
    ],
    ids=["one sure point", "no short rests", "no long rests"],
)
def test_a_capture_that_shows_too_little_of_its_hosts_changes_nothing(read: ReadCurve) -> None:
    assert read_host(read) is None
    assert known_host(None, read) == ASSUMED


MS = st.floats(0, 1)
CURVES = st.lists(MS, min_size=6, max_size=6).map(lambda extra_ms: RestCurve(RESTS_MS, tuple(sorted(extra_ms))))
READ = st.tuples(MS, MS, st.floats(0, 0.09)).map(lambda x: ReadCurve((0.2, 1.0, 5.0), (0.0, *x[:2]), (0.0, x[2], x[2])))
HOSTS = st.one_of(st.just(ASSUMED), CURVES.map(measured_host), READ.map(lambda read: known_host(None, read)))


@given(HOSTS, st.lists(st.floats(0, 100), min_size=2, max_size=9), st.floats(0, 100), st.floats(0, 5))
def test_a_longer_rest_never_costs_less_and_the_ends_hold_what_is_likely(
    host: Host, there_ms: list[float], here_ms: float, own_ms: float
) -> None:
    rests_ms = np.array([[rest_ms] for rest_ms in sorted(there_ms)])
    least, likely, most = (host.longer_ms(end, np.array([here_ms]), rests_ms, own_ms) for end in (-1, 0, 1))
    assert (least <= likely).all()
    assert (likely <= most).all()
    for each in (least, likely, most):
        assert (np.diff(each) >= -1e-12).all()
        assert (each >= -own_ms).all()


def test_of_two_curves_of_a_host_the_surer_one_counts() -> None:
    measured = RestCurve((1.0, 5.0), (0.05, 0.4))
    sure, unsure = (ReadCurve((0.2, 10.0), (0.0, 0.3), (0.0, error_ms)) for error_ms in (0.01, 0.1))
    assert known_host(None, None) == ASSUMED
    assert known_host(measured, None) == measured_host(measured)
    assert known_host(measured, sure) == read_host(sure)
    assert known_host(measured, unsure) == measured_host(measured)
