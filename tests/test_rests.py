"""The wake-up curves that a capture shows: own times behind long rests against those behind short ones."""

from __future__ import annotations

import random

import pytest
from builder import Conn, Ex, build

from latpcap.measures.rests import ReadCurve, read_curves
from latpcap.rtt import estimate_recording

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
