"""Cycles of statements around a write: which steps are needless, and which are needed whatever they look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builder import PURPOSES, Conn, Ex, build

import latpcap
from latpcap.capture import Capture
from latpcap.findings import FindingResult
from latpcap.findings.groups import MAX_STATEMENTS

RUNS = 12
BEGIN, COMMIT = Ex(sql="begin"), Ex(sql="commit")
START = Ex(sql="select 0", rows=1)
PERSON = "select name from people where id = ?"
LOG = "insert into log (job) values (?)"


def read(number: int, sql: str = "select * from jobs where id = ?", rows: int = 1, **options: float) -> Ex:
    return Ex(sql=sql, rows=rows, parameters=100 + number, **options)  # type: ignore[arg-type]


def change(
    number: int, sql: str = "update jobs set state = ? where id = ?", affected_rows: int = 1, **options: float
) -> Ex:
    return Ex(sql=sql, affected_rows=affected_rows, parameters=500 + number, **options)  # type: ignore[arg-type]


def insert(number: int, sql: str = "insert into jobs (slug) values (?)") -> Ex:
    return change(number, sql)


def all_of(*kinds: list[Ex], runs: int = RUNS) -> tuple[FindingResult, ...]:
    """What is found of `runs` cycles, each with numbers of its own."""
    steps = [
        replace(step, parameters=step.parameters + 1000 * run) if step.parameters else step
        for run in range(runs)
        for step in kinds[run % len(kinds)]
    ]
    return Capture(build([Conn(exchanges=[START, *steps])])).analyze([15]).findings


def cycles(*kinds: list[Ex], runs: int = RUNS) -> list[FindingResult]:
    return [each for each in all_of(*kinds, runs=runs) if each.code == "statement-cycle"]


@pytest.mark.parametrize(
    ("steps", "needless"),
    [
        ([read(1), change(1)], 1),
        ([read(1), change(1), COMMIT], 2),
        ([read(1), BEGIN, change(1), COMMIT], 3),
        ([read(1), read(1, 'select "J"."id" from "jobs" "J" where (("J"."id" = ?))'), BEGIN, change(1), COMMIT], 3),
        ([read(1, PERSON), read(1, PERSON), insert(1)], 1),
        ([read(1, "select * from jobs where slug = ?", rows=0), BEGIN, insert(1), COMMIT], 3),
        ([read(1, "select exists (select ? from jobs where slug = ?)"), insert(1)], 1),
        ([change(1, affected_rows=0), insert(1)], 1),
        ([Ex(sql="select nextval(?)", rows=1, parameters=7), insert(1)], 1),
        ([BEGIN, read(1, PERSON), insert(1), read(1), COMMIT], 1),
        ([read(1), change(1, "delete from jobs where id = ?")], 1),
    ],
    ids=["rmw", "in a transaction without a begin", "before a transaction", "read twice", "the same read twice",
         "look-up", "look-up that counts", "update, else insert", "key", "read back", "read to delete"],
)  # fmt: skip
def test_what_a_write_does_not_need_is_found(steps: list[Ex], needless: int) -> None:
    (found,) = cycles(steps)
    assert found.facts["cycles"] == RUNS
    assert (found.facts["needless"], found.round_trips_saved) == (needless * RUNS, needless * RUNS)


LOST = Ex("unknown", complete=False)
LOCK = "select * from jobs where id = ? for update"


@pytest.mark.parametrize(
    ("reads", "per_row"),
    [
        ([read(1)], 1),
        ([Ex(sql="select last_insert_id()", rows=1)], 1),
        ([Ex(sql="select last_insert_id()", rows=1), read(1)], 2),
        ([read(1, "select * from people where id = ?")], None),
    ],
    ids=["the row", "its key", "both", "another table"],
)
def test_what_rows_are_read_back_by_goes_with_their_batch(reads: list[Ex], per_row: int | None) -> None:
    findings = all_of([insert(1), *reads])
    batches = [each for each in findings if each.code == "row-by-row-dml"]
    if per_row is None:
        assert batches == []
        return
    assert [each.code for each in findings] == ["row-by-row-dml"], "and in no other finding"
    assert batches[0].facts["reads_back"] == per_row * RUNS
    assert batches[0].round_trips_saved == (1 + per_row) * (RUNS - 1)
    assert f"This also saves the {per_row * RUNS} reads of the inserted rows" in batches[0].fix


def test_the_next_key_of_a_sequence_is_no_read_back() -> None:
    findings = all_of([Ex(sql="select nextval(?)", rows=1, parameters=7), insert(1)])
    assert [each.facts["reads_back"] for each in findings if each.code == "row-by-row-dml"] == [0]


@pytest.mark.parametrize(
    "steps",
    [
        [BEGIN, read(1, LOCK), change(1), COMMIT],
        [BEGIN, read(1), change(1), change(2), COMMIT],
        [BEGIN, change(1), insert(2, LOG), COMMIT],
        [Ex(sql="begin isolation level serializable"), read(1), change(1), COMMIT],
        [read(1), change(1, "update jobs set state = ? where id = ? and version = ?")],
        [read(1), change(1, client_ms=50)],
        [read(1, PERSON), change(1)],
        [read(1, PERSON, rows=0), insert(1)],
        [read(1, "select a.name from jobs a join people b on b.id = a.owner where a.id = ?"), change(1)],
        [read(1, "select * from jobs where state > ?", rows=9), change(1)],
        [BEGIN, read(1), read(1, PERSON), insert(1), COMMIT],
        [read(1), change(1), Ex(sql="rollback")],
        [read(1), Ex(sql="call work(?)", parameters=9), change(1), COMMIT],
        [read(1), change(1), Ex("rollback")],
        [BEGIN, read(1, "select * from jobs with (holdlock) where id = ?"), change(1), COMMIT],
        [BEGIN, read(1, "select * from jobs with(updlock) where id = ?"), change(1), COMMIT],
        [BEGIN, read(1, "select pg_advisory_xact_lock(?)"), read(1), change(1), COMMIT],
        [read(1, "select get_lock(?,?)"), read(1), change(1), read(2, "select release_lock(?)")],
        [read(1), change(1, "update jobs set state = ? from people where id = ?")],
        [read(1, PERSON), BEGIN, change(1), LOST, COMMIT],
        [BEGIN, LOST, read(1), change(1), COMMIT],
        [read(1), LOST, change(1)],
        [read(1, PERSON), BEGIN, change(1, "update jo…"), COMMIT],
        [read(1), read(1, client_ms=300)],
    ],
    ids=["locked", "a transfer", "two tables", "serializable", "compare and set", "work between", "another table",
         "a look-up elsewhere", "a join", "a list", "reads of two tables", "rolled back", "a procedure",
         "rolled back by a command", "locked by a hint", "a hint without a blank", "an advisory lock", "a named lock",
         "an update from two tables", "something lost behind", "something lost before", "something lost between",
         "a cut statement", "polled"],
)  # fmt: skip
def test_what_a_write_may_need_is_no_finding(steps: list[Ex], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PURPOSES, "rollback", "end")
    assert not cycles(steps)


def test_few_cycles_are_none() -> None:
    assert not cycles([read(1), change(1)], runs=9)


def test_a_read_of_an_n_plus_one_belongs_to_it_and_the_transaction_is_needless_all_the_same() -> None:
    source = Ex(sql="select id from jobs", rows=RUNS)
    steps = [each for n in range(RUNS) for each in (read(n), BEGIN, change(n), COMMIT)]
    found = Capture(build([Conn(exchanges=[source, *steps])])).analyze([15]).findings
    assert {each.code: each.round_trips_saved for each in found} == {"n+1": RUNS, "statement-cycle": 2 * RUNS}


def test_commits_of_a_series_are_commit_per_row_s() -> None:
    steps = [each for n in range(RUNS) for each in (BEGIN, insert(n), COMMIT)]
    found = Capture(build([Conn(exchanges=[START, *steps])])).analyze([15]).findings
    assert sorted(each.code for each in found) == ["commit-per-row", "row-by-row-dml"]


def test_what_runs_before_the_first_cycle_hides_none() -> None:
    before = [Ex(sql=f"select a from t{n}", rows=1) for n in range(12)]
    steps = [each for n in range(RUNS) for each in (read(n), change(n), COMMIT)]
    found = Capture(build([Conn(exchanges=[*before, *steps])])).analyze([15]).findings
    assert [each.round_trips_saved for each in found if each.code == "statement-cycle"] == [2 * RUNS]


def test_one_lost_or_failed_cycle_hides_no_other() -> None:
    steps = [each for n in range(RUNS) for each in (read(n), change(n), COMMIT)]
    steps[7] = replace(steps[7], error="locked")
    del steps[18]
    found = Capture(build([Conn(exchanges=[START, *steps])])).analyze([15]).findings
    assert [each.facts["cycles"] for each in found if each.code == "statement-cycle"] == [RUNS - 2]


def test_each_kind_of_cycle_around_one_write_counts() -> None:
    other = "select state from jobs where id = ?"
    (found,) = cycles([read(1), change(1)], [read(1, other), change(1)], runs=24)
    assert (found.facts["cycles"], found.round_trips_saved) == (24, 24)


@pytest.mark.parametrize(
    ("name", "needless", "of"), [("a7_typeorm", 90, 155), ("rmw", 120, 183), ("gap2_conn", 0, 0), ("ping_no0.6", 0, 0)]
)
def test_programs_after_public_reports(
    shared_capture: Callable[[str], Path], name: str, needless: int, of: int
) -> None:
    result = latpcap.read(shared_capture(f"reports/{name}.pcapng.zst")).analyze([15])
    found = [each.round_trips_saved for each in result.findings if each.code == "statement-cycle"]
    assert found == ([needless] if needless else [])
    assert not needless or result.summary.round_trips == of


def test_of_very_many_reads_that_run_twice_the_most_frequent_are_told() -> None:
    reads = [read(n, f"select a from t{table} where id = ?") for table in range(60) for n in range(10)]
    twice = [each for each in reads for _ in range(2)]
    found = Capture(build([Conn(exchanges=[START, *twice])])).analyze([15]).findings
    assert len([each for each in found if each.code == "statement-cycle"]) == MAX_STATEMENTS
