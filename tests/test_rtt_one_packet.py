"""No single packet and no single connection decides what a capture is told to be: taken away, or added."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from functools import cache

import damage
import pytest
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

import latpcap

sys.path.insert(0, str(ROOT / "benchmarks"))

import variants
from variants import Base

BASES = {
    "mysql/driver-connector-python": 14,
    "mysql/pool-4": 19,
    "mysql/commit-each-row": 4,
    "mysql/jdbc-mysql-nplus1": 49,
    "postgresql/psycopg2-nplus1-100": 29,
    "postgresql/psycopg2-connect-each": 9,
    "postgresql/pgbench-tpcb-c4": 14,
    "clients/go-sql-driver-mysql97": 3,
    "clients/node-pg": 18,
}
"""Fixtures, and by how many ms their RTT is stretched: what hosts add is little beside it."""
TAKEN = 12
"""Packets that are taken away from each, one at a time, beside the first ones."""
FIRST = 8
MOVED = 0.02


@dataclass(frozen=True)
class Told:
    """What users act on."""

    baseline_ms: float
    network_s: float
    unknown_s: float
    more_s: float
    """What the runtime is longer by at twice the RTT and 5 ms more."""
    runtime_s: float
    own_trips: int
    """The most round trips of one exchange: a login may have three."""


def told(packets: damage.Packets, rtt_ms: float) -> Told:
    capture = latpcap.read(damage.pcapng(packets))
    analysis = capture.analyze([2 * rtt_ms + 5])
    busiest = max(analysis.paths, key=lambda path: path.connections)
    [point] = [each for each in analysis.projection.points if each.rtt_ms == pytest.approx(2 * rtt_ms + 5)]
    runtime_s = analysis.summary.runtime_s
    return Told(
        busiest.rtt.baseline_ms or 0.0,
        analysis.summary.network_s or 0.0,
        analysis.budget.unknown_s,
        (point.runtime_s or 0.0) - runtime_s,
        runtime_s,
        int(max(capture.exchanges.column("round_trips"))),
    )


@cache
def base(name: str) -> tuple[Base, Told]:
    [found] = variants.bases({name: (BASES[name],)})
    return found, told(found.packets, found.rtt_ns / 1e6)


def assert_alike(one: Told, whole: Told) -> None:
    """Within 2 %, and the round trips of one exchange, which a packet may be the only sign of.

    What a missing packet leaves undivided is told as unknown. Seconds are compared, not shares of the runtime: an
    answer that is late by two RTTs is two RTTs that passed, and who works beside it shares them.
    """
    rtt_s = whole.baseline_ms / 1e3
    assert one.baseline_ms == pytest.approx(whole.baseline_ms, rel=MOVED)
    later_s = max(one.runtime_s - whole.runtime_s, 0.0)
    own_s = whole.own_trips * rtt_s + one.unknown_s + later_s
    assert one.network_s == pytest.approx(whole.network_s, abs=MOVED * whole.runtime_s + own_s)
    longer_s = whole.own_trips * (rtt_s + 0.005) + later_s
    assert one.more_s == pytest.approx(whole.more_s, abs=MOVED * (whole.runtime_s + whole.more_s) + longer_s)


@pytest.mark.parametrize("name", BASES)
def test_no_packet_is_missed(name: str) -> None:
    found, whole = base(name)
    packets, chance = found.packets, random.Random(name)
    for place in {*range(FIRST), *chance.sample(range(len(packets)), TAKEN)}:
        assert_alike(told([*packets[:place], *packets[place + 1 :]], found.rtt_ns / 1e6), whole)


@pytest.mark.parametrize("name", ["mysql/pool-4", "postgresql/psycopg2-connect-each", "postgresql/pgbench-tpcb-c4"])
def test_no_connection_is_missed(name: str) -> None:
    found, whole = base(name)
    for port in sorted({variants.port(packet) for packet in found.packets})[:5]:
        left = [packet for packet in found.packets if variants.port(packet) != port]
        assert told(left, found.rtt_ns / 1e6).baseline_ms == pytest.approx(whole.baseline_ms, rel=MOVED)


ADDED = ("quit_and_fin", "one_early_answer", "one_late_answer", "keep_alive", "copy", "refused")


def with_more(found: Base, kind: str, seed: int) -> damage.Packets:
    packets, chance = found.packets, random.Random(seed)
    if kind == "quit_and_fin":
        return leftovers(found, chance)
    places = variants.answers(packets)
    place = chance.choice(places)
    at = variants.port(packets[place])
    if kind == "one_early_answer":
        return variants.moved(packets, place, -round(found.rtt_ns * chance.uniform(0.1, 0.9)), at)
    if kind == "one_late_answer":
        return variants.moved(packets, place, round(found.rtt_ns * chance.uniform(0.1, 3)), at)
    if kind == "keep_alive":
        return damage.keep_alive(packets, chance, 0.02)
    if kind == "copy":
        return damage.duplicate(packets, chance, 0.01)
    return damage.refuse(packets, chance)


def leftovers(found: Base, chance: random.Random) -> damage.Packets:
    while True:
        made = variants.quit_and_fin(found, chance)
        if len(made.packets) == len(found.packets) + 4:
            return made.packets


@settings(max_examples=60)
@given(name=st.sampled_from(sorted(BASES)), kind=st.sampled_from(ADDED), seed=st.integers(0, 2**16))
def test_no_packet_too_many_moves_the_baseline(name: str, kind: str, seed: int) -> None:
    found, whole = base(name)
    shown = told(with_more(found, kind, seed), found.rtt_ns / 1e6)
    assert_alike(shown, whole)
    if kind not in ("one_early_answer", "one_late_answer"):  # what is not the work's own leaves its times alone
        assert shown.network_s == pytest.approx(whole.network_s, abs=MOVED * whole.runtime_s)
        assert shown.more_s == pytest.approx(whole.more_s, rel=MOVED)
