"""A job is replayed with the round trips whose packets the capture missed."""

from __future__ import annotations

import random
from collections.abc import Callable

import damage
import pytest
from conftest import load_fixture

import latpcap
from latpcap.tables.recording import MISSING

RTTS_MS = [0.5, 15.0, 50.0]


@pytest.mark.parametrize("share", [0.01, 0.03, 0.05])
@pytest.mark.parametrize("name", ["mysql/nplus1-1000", "postgresql/psycopg3-nplus1-100"])
def test_a_thinned_capture_is_projected_as_the_whole_one_is(name: str, share: float) -> None:
    path = load_fixture(name).path
    whole = latpcap.read(path).project(RTTS_MS)
    thinned = damage.pcapng(damage.lose(damage.read(path), random.Random(7), share))
    for point, meant in zip(latpcap.read(thinned).project(RTTS_MS).points, whole.points, strict=True):
        assert point.runtime_s == pytest.approx(meant.runtime_s, rel=0.02)
        assert (point.optimistic_s or 0) <= (meant.runtime_s or 0) <= (point.pessimistic_s or 0)


@pytest.mark.parametrize("name", ["mysql/lost-request", "mysql/lost-response"])
def test_what_was_not_captured_lies_between_its_neighbours(name: str) -> None:
    measures = latpcap.read(load_fixture(name).path).measures
    exchanges, job = measures.recording.exchanges, measures.basis.job
    assert job is not None
    seen = job.seen()
    own = (exchanges.round_trips > 0) & (exchanges.connection == 0)
    own[-1] = own[0] = False
    assert (seen.request_ns[own] != MISSING).all()
    assert (seen.response_ns[own] != MISSING).all()
    assert (seen.response_ns[own] >= seen.request_end_ns[own]).all()
    assert (seen.request_ns[1:] >= seen.response_end_ns[:-1])[own[1:]].all()
    whole = exchanges.complete & (exchanges.request != MISSING) & (exchanges.response != MISSING)
    assert (seen.request_end_ns == exchanges.request_end)[whole].all(), "what was captured keeps its times"
    assert (seen.response_ns == exchanges.response)[whole].all()


@pytest.mark.parametrize("seen", [damage.only_client, damage.only_server])
def test_what_one_direction_hides_is_no_time_of_the_client(
    seen: Callable[[damage.Packets, random.Random], damage.Packets],
) -> None:
    name = "mysql/nplus1-1000"
    packets = seen(damage.read(load_fixture(name).path), random.Random(7))
    budget = latpcap.read(damage.pcapng(packets)).analyze([15]).budget
    assert budget.client_s < 0.05 * latpcap.read(load_fixture(name).path).analyze([15]).budget.client_s
