"""No packet that the capture missed decides what is found, nor what is advised without saying so."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator

import damage
import pytest
from builder import Conn, Ex, build
from conftest import ROOT
from test_findings import SOURCE, child, nplus1, only, write

import latpcap
from latpcap.capture import Capture

sys.path.insert(0, str(ROOT / "benchmarks"))

import dropped
from dropped import N_PLUS_ONE, Told

LOST = Ex("unknown", complete=False)
"""A request that the capture lost; its answer was captured."""
BEGIN, COMMIT = Ex(sql="begin"), Ex(sql="commit")
SETTINGS = [Ex(sql=f"set {name} = ?") for name in "abcdef"]


def of(*exchanges: Ex) -> Capture:
    return Capture(build([only(*exchanges)]))


def repeats(*exchanges: Ex) -> list[tuple[str, object]]:
    """The findings by their code, and how many runs each counts."""
    found = of(*exchanges).analyze([15]).findings
    return [(each.code, each.facts.get("repeats")) for each in found if each.severity != "info"]


def loop(count: int, first: int = 0) -> list[Ex]:
    return [child(number) for number in range(first, first + count)]


# --- what a lost request was ----------------------------------------------------------------------------------------


def test_a_lost_request_between_the_runs_of_a_loop_is_one_of_them() -> None:
    assert repeats(SOURCE, *loop(10), LOST, *loop(10, 10), LOST, LOST, *loop(10, 20)) == [("n+1", 33)]


def test_a_lost_change_and_a_lost_commit_go_with_the_others() -> None:
    cycle = [[BEGIN, write(number), COMMIT] for number in range(20)]
    lost = [*cycle[:5], [BEGIN, LOST, COMMIT], *cycle[5:10], [BEGIN, write(99), LOST], *cycle[10:]]
    exchanges = [each for transaction in lost for each in transaction]
    found = {each.code: each.facts for each in of(*exchanges).analyze([15]).findings}
    assert (found["row-by-row-dml"]["repeats"], found["commit-per-row"]["commits"]) == (22, 22)


def test_a_lost_request_between_equal_runs_asked_for_the_same() -> None:
    run = Ex(sql="select value from settings where name = ?", rows=1, parameters=7)
    assert repeats(*[run] * 10, LOST, *[run] * 10) == [("repeated-query", 21)]


@pytest.mark.parametrize(
    ("why", "lost"),
    [
        ("its answer is too long", Ex("unknown", complete=False, response_bytes=1000)),
        ("its answer is too short", Ex("unknown", complete=False, response_bytes=11)),
    ],
)
def test_another_request_is_none_of_a_loop(why: str, lost: Ex) -> None:
    assert repeats(SOURCE, *loop(10), lost, *loop(10, 10)) == [("n+1", 20)], why


def test_what_has_two_kinds_of_neighbours_is_not_inferred() -> None:
    assert repeats(SOURCE, LOST, *loop(20), LOST) == [("n+1", 20)]


def test_an_unreadable_connection_has_no_lost_requests() -> None:
    hidden = Conn(exchanges=[Ex("unreadable", complete=False)] * 30, encryption="tls")
    unknown = Capture(build([hidden])).analyze([15]).unjudged
    assert unknown is not None
    assert (unknown.exchanges, unknown.is_only_hidden) == (0, True)


def test_repeats_that_were_lost_are_not_taken_for_equal_ones() -> None:
    found = of(SOURCE, *loop(10), LOST, *loop(10, 10)).analyze([15]).findings
    assert [each.title for each in found] == ["N+1: one statement runs 21 times, once for each row of another"]


def test_one_repeat_with_unknown_parameters_does_not_make_equal_ones_differ() -> None:
    unknown = Ex(sql=child(0).sql, rows=3)
    assert repeats(SOURCE, *[child(1)] * 12, unknown, *[child(1)] * 12) == [("repeated-query", 24)]
    assert repeats(SOURCE, *[child(1)] * 12, *[unknown] * 13) == [("n+1", 25)]
    assert repeats(SOURCE, *loop(12), unknown, *loop(12, 12)) == [("n+1", 25)]


# --- the query that feeds a loop ------------------------------------------------------------------------------------


def test_a_lost_query_whose_answer_may_have_held_the_rows_feeds_a_loop() -> None:
    lost = Ex("unknown", complete=False, response_bytes=500)
    (finding,) = of(lost, *loop(40)).analyze([15]).findings
    assert (finding.code, finding.round_trips_saved) == ("n+1", 40)
    assert finding.title.endswith(" (captured in part)")


@pytest.mark.parametrize(
    ("why", "exchanges"),
    [
        ("a short answer holds no rows", [Ex("unknown", complete=False, response_bytes=11), *loop(40)]),
        ("set-up goes on behind it", [Ex("unknown", complete=False, response_bytes=500), *SETTINGS, *loop(40)]),
        ("few repeats are no evidence", [Ex("unknown", complete=False, response_bytes=500), *loop(10)]),
        ("equal ones are none either", [Ex("unknown", complete=False, response_bytes=500), *[child(1)] * 40]),
    ],
)
def test_else_a_lost_request_feeds_none(why: str, exchanges: list[Ex]) -> None:
    assert ("n+1", len(loop(40))) not in repeats(*exchanges), why


def test_an_answer_that_was_captured_in_part_refutes_no_loop() -> None:
    partly = Ex(sql="select id from parents", rows=7, parameters=1, complete=False)
    (finding,) = of(partly, *loop(40)).analyze([15]).findings
    assert (finding.code, finding.facts["repeats"]) == ("n+1", 40)
    assert "captured in part" in finding.title


def test_an_answer_that_was_lost_shows_no_rows() -> None:
    unanswered = Ex(sql="select id from parents", parameters=1, complete=False, answered=False)
    assert repeats(unanswered, *loop(12)) == [("n+1", 12)]
    assert repeats(unanswered, *loop(9)) == []


def test_a_lost_run_of_the_query_may_have_brought_more_rows() -> None:
    few = Ex(sql="select id from parents", rows=10, parameters=1)
    nested = [few, *loop(10), few, *loop(10, 10), Ex("unknown", complete=False), *loop(10, 20)]
    assert repeats(*nested) == [("n+1", 31)], "the lost one is taken for a repeat"


# --- set-up ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(4))
def test_a_lost_packet_of_the_set_up_makes_no_chatter(place: int) -> None:
    set_up = [*SETTINGS[:place], LOST, *SETTINGS[place:]]
    assert repeats(*set_up, *[Ex(sql=f"select {number} from t", rows=1) for number in range(20)]) == []


# --- what is said ---------------------------------------------------------------------------------------------------


def test_a_decision_that_hangs_on_a_lost_request_says_so() -> None:
    lost = Ex("unknown", complete=False, response_bytes=500)
    capture = of(lost, *loop(15))
    answer = capture.what_if(["all"], [15])
    assert answer is not None
    assert answer.answer.startswith("Whether a code change helps is unknown: 1 of 16 exchanges")
    (gate,) = capture.check("finding(n+1)").gates
    assert (gate.holds, gate.failed, "cannot be decided" in gate.text) == (None, True, True)
    (other,) = capture.check("finding(connect-per-query)").gates
    assert other.holds is False


def test_a_decision_that_hangs_on_nothing_lost_is_as_it_was() -> None:
    whole, lost = (of(SOURCE, *loop(20), *more, *loop(20, 20)).what_if(["all"], [15]) for more in ([], [LOST]))
    assert whole is not None
    assert lost is not None
    assert lost.answer.partition(":")[0] == whole.answer.partition(":")[0]
    assert "certain" not in lost.answer
    assert lost.all_fixes.runtime_s["15"] == pytest.approx(whole.all_fixes.runtime_s["15"], rel=0.1)


def test_a_lost_request_beside_a_loop_widens_the_range_and_is_counted() -> None:
    whole, lost = (of(SOURCE, *more, *loop(20)).what_if(["n+1"], [15]) for more in ([], [LOST]))
    assert whole is not None
    assert lost is not None
    assert lost.all_fixes.lost_requests == 1
    assert lost.all_fixes.optimistic_s["15"] <= whole.all_fixes.runtime_s["15"]
    assert "They may also save 1 request that the capture lost." in lost.answer


def test_where_no_change_is_needed_nothing_goes_with_the_fixes() -> None:
    slow = [child(number, client_ms=20) for number in range(20)]
    (near, far) = (of(SOURCE, LOST, *slow).what_if(["n+1"], [rtt_ms]) for rtt_ms in (1.2, 30))
    assert near is not None
    assert far is not None
    assert near.answer.startswith("No change is needed")
    assert ("may also save" in near.answer, "may also save" in far.answer) == (False, True)


def test_a_gate_for_what_needs_no_statement_can_be_told() -> None:
    lost = Ex("unknown", complete=False, response_bytes=500)
    gates = of(lost, *loop(15)).check("finding(request-loop)", "finding(healthy)", "finding(network-bound)").gates
    assert [gate.holds for gate in gates] == [False, False, False]


def test_a_login_that_was_lost_was_captured_in_part() -> None:
    whole, lost = (Capture(build([only(*loop(9), lost_bytes=count)])).analyze([15]) for count in (0, 52))
    assert whole.unjudged is None
    assert lost.unjudged is not None
    assert lost.unjudged.text == "1 connection opening was captured in part"


def test_a_gate_that_finds_nothing_says_what_was_captured_in_part() -> None:
    reads = [Ex(sql=f"select {name} from t", rows=1) for name in "abcdefghijklmnop"]
    (gate,) = of(*reads, Ex(sql="select z from t", complete=False)).check("finding(any)").gates
    assert (gate.holds, gate.text) == (False, "there is none, though 1 of 17 exchanges was captured in part")


def test_a_gate_that_a_lost_round_trip_may_decide_says_so() -> None:
    (close, far) = (
        of(*loop(4), Ex(sql="select z from t", complete=False)).check("round_trips > 5", "round_trips > 50").gates
    )
    assert ("not certain" in close.text, "not certain" in far.text) == (True, False)


def test_where_rows_were_cut_nothing_is_excluded() -> None:
    cut = [Ex(sql="select a from t wher…") for _ in range(30)]
    note = ("snap-length", "warning", "cut", 30)
    capture = Capture(build([only(*cut)], notes=[note]))
    result = capture.analyze([15])
    assert [each.code for each in result.findings if each.severity != "info"] == []
    assert "healthy" not in [each.code for each in result.findings]
    assert result.unjudged is not None
    assert (result.unjudged.is_much, result.unjudged.text) == (True, "the snap length cut rows")
    answer = capture.what_if(["all"], [15])
    assert answer is not None
    assert "the snap length cut rows" in answer.answer


def test_what_is_whole_has_nothing_to_say() -> None:
    assert Capture(build([nplus1()])).analyze([15]).unjudged is None


# --- one packet left out, of captures of real programs ---------------------------------------------------------------

NAMES = (
    "findings/chatter-my",
    "findings/orm-lazy-my",
    "findings/orm-joined-my",
    "mysql/commit-each-row",
    "mysql/nplus1-1000-rtt1",
    "postgresql/psycopg3-nplus1-100",
    "programs/capi-loop-my",
    "programs/drizzle-loop-pg",
)
FIRST, CHOSEN = 18, 6
MAX_CHANGED = 0.005
"""The share of the variants that may change a finding of medium or high severity."""


def tally(variants: Iterator[tuple[str, Told]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, told in variants:
        found.update(["variants", *dropped.differences(dropped.base(name)[1], told)])
    return found


def test_no_single_packet_decides_a_finding_a_gate_or_a_decision() -> None:
    variants = ((name, told) for name in NAMES for _, told in dropped.one_missing(name, FIRST, CHOSEN))
    found = tally(variants)
    assert found["variants"] > 150
    assert found["code"] <= MAX_CHANGED * found["variants"]
    assert (found["verdict, silent"], found["gate, silent"]) == (0, 0)


@pytest.mark.parametrize("name", [name for name in NAMES if "loop" in name or "nplus1" in name or "lazy" in name])
def test_losses_leave_an_n_plus_one_and_what_its_fix_saves(name: str) -> None:
    _, whole = dropped.base(name)
    for _, told in dropped.lossy(name, 0.03, 3):
        assert N_PLUS_ONE in told.codes
        assert dropped.is_near(whole, told)


@pytest.mark.parametrize("snap", dropped.SNAPS)
def test_a_snap_length_is_no_all_clear(snap: int) -> None:
    for name in ("postgresql/psycopg3-nplus1-100", "programs/drizzle-loop-pg", "findings/orm-lazy-my"):
        packets, whole = dropped.base(name)
        told = dropped.told(damage.cut_packets(packets, random.Random(0), snap))
        assert not dropped.differences(whole, told) & {"verdict, silent", "gate, silent"}, name


def test_a_statement_whose_text_and_answers_were_cut_is_no_change() -> None:
    for name, snap in (("postgresql/asyncpg-nplus1-100", 160), ("mysql/mysql97-cli-execute", 96)):
        packets, _ = dropped.base(name)
        result = latpcap.read(damage.pcapng(damage.cut_packets(packets, random.Random(0), snap))).analyze([15])
        assert "row-by-row-dml" not in [each.code for each in result.findings], name
        assert result.unjudged is not None
        assert result.unjudged.is_much, name


@pytest.mark.parametrize(("name", "frames"), [("mysql/port-reuse", (6, 11)), ("postgresql/pg18-prefer-tls", (10, 12))])
def test_a_lost_login_or_statement_hides_no_connect_per_query(name: str, frames: tuple[int, ...]) -> None:
    packets, whole = dropped.base(name)
    assert "connect-per-query" in whole.codes
    for frame in frames:
        assert dropped.told([*packets[: frame - 1], *packets[frame:]]).codes == whole.codes, frame


def test_a_lost_login_belongs_to_no_program_where_there_are_two() -> None:
    def connection(number: int, user: str | None, lost_bytes: int = 0) -> Conn:
        whose = {"user": user, "database": user, "lost_bytes": lost_bytes, "client": f"10.0.0.1:{40000 + number}"}
        return only(Ex("authenticate"), Ex(sql="select a from t", rows=1), at_ms=100 * number, **whose)

    others = [connection(number, "ann") for number in range(4)]
    lost = connection(4, None, 100)
    one, two, whole = (
        [each.facts["connections"] for each in Capture(build(found)).analyze([15]).findings if each.severity != "info"]
        for found in ([*others, lost], [*others, lost, connection(5, "bob")], [*others, connection(4, None)])
    )
    assert (one, two, whole) == ([5], [], [])


def test_a_loop_shows_though_its_values_are_cut_and_these_are_not_taken_for_equal_ones() -> None:
    packets, _ = dropped.base("programs/drizzle-loop-pg")
    for snap in (128, 160):
        found = latpcap.read(damage.pcapng(damage.cut_packets(packets, random.Random(0), snap))).analyze([15]).findings
        codes = {each.code for each in found}
        assert N_PLUS_ONE in codes
        assert "repeated-query" not in codes
