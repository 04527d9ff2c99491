"""Damaged captures: each defect is named, and no request is paired with the answer to another."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import damage
import mispaired
import pytest
from conftest import load_fixture

import latpcap

GOOD = "mysql/nplus1-300-client"
OTHERS = ("postgresql/psycopg3-nplus1-100", "firebird/fbclient3-nplus1")
SEEDS = range(2)

NAMED = {
    "lose": "capture-loss",
    "cut-packets": "snap-length",
    "drop-handshakes": "missing-handshake",
    "begin-in-the-middle": "missing-handshake",
    "set-clock-back": "clock-backwards",
    "duplicate": "duplicate-packets",
    "reorder": "reordered",
    "only-client": "one-direction",
    "only-server": "one-direction",
    "coarsen-clock": "coarse-clock",
    "step-clock": "clock-step",
    "merge-segments": "offloaded",
    "close-windows": "zero-window",
    "stall": "delayed-ack",
    "lose-on-path": "retransmissions",
    "refuse": "refused",
    "leave-unanswered": "unanswered",
    "truncate-file": "file-cut",
}
"""What `health` calls each defect (docs/health.md)."""


@pytest.fixture(scope="module")
def good() -> damage.Packets:
    return damage.read(load_fixture(GOOD).path)


def codes(file: bytes) -> set[str]:
    return {note.code for note in latpcap.read(file).analyze().health}


def test_the_good_capture_has_none_of_the_defects(good: damage.Packets) -> None:
    assert not codes(damage.pcapng(good)) & set(NAMED.values())


@pytest.mark.parametrize("defect", NAMED)
def test_a_defect_is_named(good: damage.Packets, defect: str) -> None:
    assert NAMED[defect] in codes(damage.damaged(good, defect))


@pytest.mark.parametrize("defect", [*damage.PACKET_DEFECTS, "flip-bits", "truncate-file"])
def test_a_damaged_capture_is_analysed(good: damage.Packets, defect: str) -> None:
    read = latpcap.read(damage.damaged(good, defect, seed=1)).analyze()
    assert read.summary.exchanges > 0


WITH_FAILURES = (
    "findings/lock-waits-my",
    "findings/orm-lazy-pg",
    "clients/node-mysql2-mysql97",
    "firebird/fbclient3-errors",
)


@pytest.mark.parametrize("defect", [*damage.PACKET_DEFECTS, "flip-bits", "truncate-file"])
def test_figures_of_a_damaged_capture_are_possible_ones(defect: str) -> None:
    for name in WITH_FAILURES:
        packets = damage.read(load_fixture(name).path)
        for seed in SEEDS:
            result = latpcap.read(damage.damaged(packets, defect, seed=seed)).analyze()
            budget = result.budget.parts()
            assert sum(budget.values()) == pytest.approx(result.summary.runtime_s)
            assert min(*budget.values(), result.errors.seconds, *(each.seconds for each in result.errors.found)) >= 0
            assert all(point.optimistic_s is None or point.optimistic_s >= 0 for point in result.projection.points)
            assert not any(path.periods for path in result.paths), "damage is no change of a path"


@pytest.mark.parametrize("defect", sorted(mispaired.COMPARED))
def test_no_defect_makes_a_wrong_pair_or_a_wrong_statement(defect: str) -> None:
    tallies: dict[tuple[str, str], mispaired.Tally] = {}
    for name in (GOOD, *OTHERS):
        mispaired.run(load_fixture(name).path, [defect], SEEDS, tallies)
    assert_right(tallies)


@pytest.mark.parametrize("path", mispaired.fixtures(), ids=lambda path: f"{path.parent.name}/{path.name.split('.')[0]}")
def test_losses_copies_and_another_order_make_no_wrong_pair(path: Path) -> None:
    seeds = SEEDS[:1] if path.stat().st_size > 300_000 else SEEDS
    tallies: dict[tuple[str, str], mispaired.Tally] = {}
    mispaired.run(path, ["scramble"], seeds, tallies)
    assert_right(tallies)


ORACLE = (
    "cisco-system-traffic-generator-trex-core__Oracle.pcap",
    "jdbc_19c_session_rtt5.pcap",
    "py_23ai_lob_rtt5.pcap",
)


@pytest.mark.parametrize("name", ORACLE)
@pytest.mark.parametrize("defect", ["lose", "lose-single", "lose-intervals", "scramble", "duplicate-later", "reorder"])
def test_no_loss_gives_an_oracle_cursor_the_statement_of_another(
    shared_capture: Callable[[str], Path], name: str, defect: str
) -> None:
    tallies: dict[tuple[str, str], mispaired.Tally] = {}
    mispaired.run(shared_capture(f"tns/{name}"), [defect], SEEDS, tallies)
    assert_right(tallies)


def assert_right(tallies: dict[tuple[str, str], mispaired.Tally]) -> None:
    for tally in tallies.values():
        assert not tally.pairs + tally.sql, "\n".join(tally.examples)


def test_a_wrong_pair_would_be_found() -> None:
    """The comparison sees it when answers change places: it must not be blind."""
    packets = damage.read(load_fixture(GOOD).path)
    good = mispaired.truth(packets)
    first, second = (next(iter(good[key])) for key in list(good)[10:12])
    swapped = mispaired.Exchange((*first.places[:2], *second.places[2:]), {}, first.said, complete=True)
    tally = mispaired.Tally()
    mispaired.judge(swapped, good[swapped.key], tally, "swapped")
    assert tally.wrong == {"has another response": 1}


def test_a_lost_packet_costs_only_its_own_exchange(good: damage.Packets) -> None:
    tally = mispaired.Tally()
    middle = next(
        place for place, packet in enumerate(good) if place > 200 and packet.tcp and packet.tcp.payload_length
    )
    mispaired.compare(good, good[:middle] + good[middle + 1 :], tally, "one lost")
    assert tally.complete >= tally.good - 2
    assert not tally.wrong


def test_the_same_seed_makes_the_same_damage(good: damage.Packets) -> None:
    assert damage.scramble(good, random.Random(7)) == damage.scramble(good, random.Random(7))
