"""What it costs to connect: TCP, TLS and authentication, with keys and without."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import damage
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, load_fixture
from hypothesis import example, given, settings
from hypothesis import strategies as st

import latpcap
from latpcap.measures.connecting import connecting
from latpcap.report import FORMATS

STEPS = [Ex("tls", service_ms=2), Ex("authenticate", service_ms=3)]


def capture(*connections: Conn) -> latpcap.Capture:
    return latpcap.Capture(build(list(connections)))


def test_each_step_is_told_and_statements_are_none_of_it() -> None:
    found = capture(Conn(rtt_ms=10, exchanges=[*STEPS, Ex(sql="select ?"), Ex("authenticate")]))
    row = found.connections.to_dicts()[0]
    assert (row["connect_round_trips"], row["tls_ms"], row["authentication_ms"]) == (3, 12.0, 13.0)
    assert row["connect_ms"] >= 10 + 12 + 13
    told = found.analyze().connecting
    assert told is not None
    assert (told.connections, told.round_trips, told.tcp_ms) == (1, 3, 10.0)
    assert "TCP 10.0 ms, TLS 12.0 ms, authentication 13.0 ms" in FORMATS["terminal"](found.analyze())


def test_the_steps_of_a_set_up_name_the_greeting_and_who_speaks_tls() -> None:
    greeted = [Conn(rtt_ms=10, greeting=True, at_ms=at, exchanges=[*STEPS, Ex(sql="select ?")]) for at in (0, 200)]
    plain = Conn(rtt_ms=10, greeting=True, at_ms=400, exchanges=[STEPS[1], Ex(sql="select ?")])
    told = capture(*greeted).analyze().connecting
    assert told is not None
    assert told.connect_ms == pytest.approx(sum((told.tcp_ms, told.greeting_ms, told.tls_ms, told.authentication_ms)))
    assert "TCP 10.0 ms, greeting 10.0 ms, TLS 12.0 ms, authentication 13.0 ms" in told.text
    both = capture(*greeted, plain).analyze().connecting
    assert both is not None
    assert "TLS (2 of 3 connections) 12.0 ms" in both.text


def test_a_connection_whose_beginning_was_not_captured_has_no_cost() -> None:
    found = capture(Conn(handshake=False, exchanges=[Ex(sql="select ?")]))
    assert found.connections.to_dicts()[0]["connect_ms"] is None
    assert found.analyze().connecting is None


def test_without_tls_no_report_speaks_of_it() -> None:
    found = capture(Conn(exchanges=[STEPS[1], Ex(sql="select ?")]))
    assert "until it can ask" not in FORMATS["terminal"](found.analyze())


@pytest.mark.parametrize("name", ["mysql/tls13-nplus1-50", "mysql/tls12-nplus1-50"])
def test_it_is_the_same_with_keys_and_without(name: str) -> None:
    path = FIXTURES / f"{name}.pcapng"
    with_keys, without = (latpcap.read(path, keylog=keys) for keys in (path.with_suffix(".keys"), None))
    names = ("connect_ms", "connect_round_trips", "tls_ms", "authentication_ms")
    rows = [each.connections.to_dicts()[0] for each in (with_keys, without)]
    assert [rows[0][name] for name in names] == [rows[1][name] for name in names]
    assert connecting(with_keys.measures.recording) == connecting(without.measures.recording)


@settings(max_examples=40)
@example([(2, -(10**10), True)])
@example([(9, -3_000_000, False)])
@given(st.lists(st.tuples(st.integers(0, 199), st.integers(-(1 << 62), 1 << 62), st.booleans()), max_size=4))
def test_no_clock_that_jumps_makes_a_negative_time_and_the_parts_sum(jumps: list[tuple[int, int, bool]]) -> None:
    """Each jump is of one packet, or of all from there on."""
    packets = damage.read(load_fixture("mysql/prepared-each").path)[:200]
    for place, by_ns, lasts in jumps:
        for number in range(place, len(packets) if lasts else min(place + 1, len(packets))):
            time_ns = min(max(packets[number].time_ns + by_ns, 0), LATEST_NS)
            packets[number] = packets[number].at(time_ns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = latpcap.read(damage.pcapng(packets)).analyze([1, 15])
    assert [*negative(result.to_dict())] == []
    parts = result.to_dict()["budget"]
    assert sum(parts.values()) == pytest.approx(result.summary.runtime_s)


LATEST_NS = 4_500_000_000_000_000_000
"""What a capture can say, in the year 2112."""


def negative(value: Any, at: str = "") -> Iterator[str]:
    """Where a result has a number below 0."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from negative(each, f"{at}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from negative(each, f"{at}[]")
    elif isinstance(value, int | float) and value < 0:
        yield f"{at}: {value}"
