"""A job is replayed with the round trips whose packets the capture missed."""

from __future__ import annotations

import random
from collections.abc import Callable

import damage
import pytest
from conftest import load_fixture

import latpcap

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


@pytest.mark.parametrize("seen", [damage.only_client, damage.only_server])
def test_what_one_direction_hides_is_no_time_of_the_client(
    seen: Callable[[damage.Packets, random.Random], damage.Packets],
) -> None:
    name = "mysql/nplus1-1000"
    packets = seen(damage.read(load_fixture(name).path), random.Random(7))
    budget = latpcap.read(damage.pcapng(packets)).analyze([15]).budget
    assert budget.client_s < 0.05 * latpcap.read(load_fixture(name).path).analyze([15]).budget.client_s
