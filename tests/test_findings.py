"""Each finding on recordings built for it, how they share round trips, and what a fix saves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mysql_wire
import numpy as np
import pytest
from builder import Conn, Ex, build, build_awake
from conftest import read_fixture
from speed.traffic import wire as tcp

import latpcap
from latpcap.capture import Capture, CaptureOptions
from latpcap.errors import UsageError
from latpcap.findings import recognise
from latpcap.findings.call_time import _sampled
from latpcap.findings.groups import MAX_STATEMENTS
from latpcap.findings.registry import NO_FINDINGS
from latpcap.findings.what_if import parse_fix
from latpcap.report.section import SectionTable
from latpcap.report.sections.opening import summary
from latpcap.result.analysis import Measures
from latpcap.tables.recording import Recording

SOURCE = Ex(sql="select id from parents", rows=40, parameters=1)


def child(number: int, **options: object) -> Ex:
    return Ex(sql="select * from children where parent = ?", rows=3, parameters=100 + number, **options)  # type: ignore[arg-type]


def write(number: int, **options: object) -> Ex:
    return Ex(sql="insert into t values (?)", affected_rows=1, parameters=200 + number, **options)  # type: ignore[arg-type]


def codes(*connections: Conn) -> list[str]:
    """What is found; that nothing is, is `healthy`, whatever the network takes."""
    found = Capture(build(list(connections))).analyze([15]).findings
    return ["healthy" if each.code in NO_FINDINGS else each.code for each in found]


def only(*exchanges: Ex, **options: object) -> Conn:
    return Conn(exchanges=list(exchanges), **options)  # type: ignore[arg-type]


def nplus1(repeats: int = 40) -> Conn:
    return only(SOURCE, *(child(number) for number in range(repeats)))


# --- what is found, and what is not ---------------------------------------------------------------------------------


def test_a_loop_over_the_rows_of_a_query_is_n_plus_one() -> None:
    (finding,) = Capture(build([nplus1()])).analyze([15]).findings
    assert (finding.code, finding.round_trips_saved, finding.severity) == ("n+1", 40, "high")
    assert finding.facts["source"] == SOURCE.sql
    assert (finding.facts["repeats"], finding.facts["distinct_parameters"]) == (40, 40)


def test_four_repeats_are_no_n_plus_one() -> None:
    assert codes(nplus1(4)) == ["healthy"]


def test_more_repeats_than_the_source_has_rows_are_no_n_plus_one() -> None:
    few = Ex(sql="select id from parents", rows=3, parameters=1)
    assert "n+1" not in codes(only(few, *(child(number) for number in range(9))))


def poll(pause_ms: float) -> Conn:
    return only(*[Ex(sql="select state from jobs", rows=1, parameters=7, client_ms=pause_ms)] * 30, rtt_ms=9)


@pytest.mark.parametrize(("pause_ms", "severity"), [(45_000, "low"), (2, "high")])
def test_a_poll_whose_fix_saves_next_to_nothing_at_every_rtt_is_of_low_severity(pause_ms: float, severity: str) -> None:
    found = Capture(build([poll(pause_ms)])).analyze([1, 15]).findings
    assert [(each.code, each.severity) for each in found] == [("repeated-query", severity)]


def test_think_time_between_the_repeats_makes_them_separate_work() -> None:
    assert codes(only(SOURCE, *(child(number, client_ms=1500) for number in range(8)))) == ["healthy"]


def test_repeats_that_nobody_waits_for_are_no_finding() -> None:
    assert "n+1" not in codes(only(SOURCE, *(child(number, round_trips=0) for number in range(40))))


COLUMNS = "select a.attname, a.atttypid from pg_attribute a where a.attrelid = ?::regclass"


@pytest.mark.parametrize("lookups", [1, 12])
def test_what_a_mapper_asks_the_catalog_hides_no_n_plus_one(lookups: int) -> None:
    catalog = [Ex(sql=COLUMNS, rows=3, parameters=900 + n) for n in range(lookups)]
    found = Capture(build([only(SOURCE, *catalog, *(child(n) for n in range(40)))])).analyze([15]).findings
    assert [(each.facts["repeats"], each.facts["source"]) for each in found if each.statement == child(0).sql] == [
        (40, SOURCE.sql)
    ]


def test_a_loop_over_the_rows_of_a_cursor_is_n_plus_one() -> None:
    declared = Ex(sql='declare "reader" cursor for select id from parents')
    fetches = [Ex(sql='fetch forward ? from "reader"', rows=10, parameters=2) for _ in range(4)]
    found = Capture(build([only(declared, *fetches, *(child(n) for n in range(40)))])).analyze([15]).findings
    assert [(each.facts["repeats"], each.facts["source"]) for each in found if each.code == "n+1"] == [
        (40, fetches[0].sql)
    ]


def test_a_loop_over_the_catalog_is_one_of_its_own() -> None:
    tables = Ex(sql="select relname from pg_class where relkind = ?", rows=40, parameters=3)
    columns = [Ex(sql=COLUMNS, rows=3, parameters=900 + n) for n in range(40)]
    (finding,) = Capture(build([only(SOURCE, tables, *columns)])).analyze([15]).findings
    assert (finding.code, finding.facts["source"]) == ("n+1", tables.sql)


def test_a_catalog_read_makes_no_source_of_what_came_long_before() -> None:
    others = [Ex(sql=f"select a from t{n}", rows=1, client_ms=30) for n in range(9)]
    catalog = Ex(sql=COLUMNS, rows=3, parameters=900)
    assert "n+1" not in codes(only(SOURCE, *others, catalog, *(child(n) for n in range(40))))


def test_loops_inside_a_loop_are_told_apart() -> None:
    groups = [
        each
        for group in range(6)
        for each in (
            Ex(sql="select b from people where g = ?", rows=5, parameters=50 + group),
            *(child(10 * group + person) for person in range(5)),
        )
    ]
    found = Capture(build([only(Ex(sql="select g from groups", rows=6), *groups)])).analyze([15]).findings
    assert sorted(each.facts["repeats"] for each in found if each.code == "n+1") == [6, 30]


def test_the_same_parameters_again_are_a_repeated_query_and_not_n_plus_one() -> None:
    same = Ex(sql="select * from settings where name = ?", rows=1, parameters=7)
    assert codes(only(SOURCE, *[same] * 9)) == ["repeated-query"]


def test_a_query_whose_table_is_written_between_may_have_another_answer() -> None:
    read = Ex(sql="select bal from acc where id = ?", rows=1, parameters=7)
    step = [read, Ex(sql="update acc set bal = ? where id = ?", affected_rows=1, parameters=1)]
    assert "repeated-query" not in codes(only(*step * 9))


def test_a_sequence_is_not_to_be_cached() -> None:
    assert codes(only(*[Ex(sql="select nextval(?)", rows=1, parameters=7)] * 8)) == ["healthy"]


def test_rows_of_several_values_are_no_row_by_row() -> None:
    many = Ex(sql="insert into t values (?, ?)+", affected_rows=100, parameters=1)
    assert codes(only(*[many] * 20)) == ["healthy"]


def test_a_read_between_two_changes_may_decide_about_the_second() -> None:
    steps = [each for n in range(20) for each in (child(n % 4), write(n))]
    assert "row-by-row-dml" not in codes(only(*steps))


@pytest.mark.parametrize(
    "asked",
    [
        {"sql": "select nextval(?)", "rows": 1},
        {"sql": "select attname from pg_catalog.pg_attribute where attrelid = ?", "rows": 3},
        {"sql": "select * from t where id = ?", "rows": 1},
    ],
)
def test_what_a_mapper_asks_for_itself_between_two_changes_decides_about_none(asked: dict[str, Any]) -> None:
    steps = [each for n in range(20) for each in (write(n), Ex(parameters=500 + n, **asked))]
    assert "row-by-row-dml" in codes(only(*steps))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [("select ? from t where slug = ? limit ?", 0), ("select exists (select ? from t where slug = ?)", 1)],
)
def test_a_look_for_the_row_that_is_inserted_next_may_decide_about_it(sql: str, rows: int) -> None:
    look = {"sql": sql, "rows": rows}
    steps = [each for n in range(20) for each in (Ex(parameters=500 + n, **look), write(n))]
    assert "row-by-row-dml" not in codes(only(*steps))


def test_commits_of_single_changes_are_found_beside_the_changes() -> None:
    steps = [each for n in range(20) for each in (write(n), Ex(sql="commit"))]
    assert sorted(codes(only(*steps))) == ["commit-per-row", "row-by-row-dml"]


def test_a_begin_in_front_of_its_change_is_saved_once() -> None:
    steps = [
        each
        for n in range(20)
        for each in (Ex("execute", sql="begin"), write(n, round_trips=0, at_ms=3 * n), Ex("execute", sql="commit"))
    ]
    for n in range(20):
        steps[3 * n].at_ms = 3 * n
        steps[3 * n + 2].at_ms = 3 * n + 1.5
    found = Capture(build([only(*steps, protocol="postgresql")])).analyze([15]).findings
    assert sum(each.round_trips_saved for each in found) <= 40


@pytest.mark.parametrize("ping", [Ex("ping"), Ex(sql="select ?", rows=1, parameters=5), Ex(sql="", rows=0)])
def test_a_ping_before_each_use_is_a_validation_ping(ping: Ex) -> None:
    steps = [each for n in range(10) for each in (ping, child(n % 4), write(n))]
    assert "validation-ping" in codes(only(*steps))


def test_two_pings_before_each_use_are_both_needless() -> None:
    steps = [each for n in range(10) for each in (Ex("ping"), Ex(sql="select ?", parameters=5), child(n % 4))]
    (finding, *_) = Capture(build([only(*steps)])).analyze([15]).findings
    assert (finding.code, finding.round_trips_saved) == ("validation-ping", 20)
    assert finding.title == "Validation ping: 2 pings before 10 of 10 uses of a connection"


def test_a_row_of_pings_before_one_piece_of_work_tests_no_other() -> None:
    assert codes(only(child(1), *[Ex("ping", client_ms=500)] * 30, child(2))) == ["healthy"]


def test_pings_of_an_idle_connection_test_nothing() -> None:
    assert codes(only(child(1), *[Ex("ping", client_ms=5000)] * 20)) == ["healthy"]


def test_settings_at_the_beginning_belong_to_the_connection() -> None:
    assert codes(only(*[Ex(sql="set names utf8")] * 8, child(1), child(2))) == ["healthy"]


def connections_that_ask(path: Path, question: str) -> Path:
    """13 connections one after the other at 13.8 ms: a setting, the same question 30 times, one read of their own."""
    records: list[bytes] = []
    for number in range(13):
        wire = tcp.Wire(13_800_000, tcp.client(number))
        wire.now_ns += number * 1_200_000_000
        greeting = mysql_wire.greeting("10.11.6-MariaDB").replace(b"abcdefgh", b"%08d" % number)
        records += [*wire.open(), wire.packet(1, tcp.PUSH_ACK, greeting)]
        records += wire.ask(mysql_wire.login("lab", "lab"), mysql_wire.message(2, mysql_wire.OK))
        for sql in ("set names utf8", *[question] * 30, f"select a from t where b = {number}"):
            records += wire.ask(mysql_wire.query(sql), mysql_wire.result(1))
        records += wire.close(mysql_wire.message(0, b"\x01"))
    tcp.write(path, records)
    return path


@pytest.mark.parametrize(
    ("question", "found", "saved"),
    [
        ("select version(), database(), user()", "repeated-query", 13 * 30 - 1),
        ("select version()", "session-chatter", 13 * 30),
    ],
)
def test_a_question_that_is_asked_again_and_again_opens_no_connection(
    tmp_path: Path, question: str, found: str, saved: int
) -> None:
    findings = latpcap.read(connections_that_ask(tmp_path / "asks.pcap", question)).analyze([15]).findings
    assert [(each.code, each.round_trips_saved) for each in findings] == [(found, saved)]


def test_settings_between_statements_are_chatter() -> None:
    steps = [each for n in range(9) for each in (Ex(sql="set autocommit = ?"), child(n % 4))]
    assert codes(only(child(1), *steps)) == ["session-chatter"]


def test_cancels_of_what_is_over_are_chatter() -> None:
    steps = [each for n in range(9) for each in (child(n % 4), Ex("attention"))]
    (found,) = Capture(build([only(child(1), *steps)])).analyze([15]).findings
    assert (found.code, found.round_trips_saved) == ("session-chatter", 9)
    assert found.fix.startswith("Read each result to the end")


def test_connections_for_a_statement_each_are_found() -> None:
    short = [
        Conn(exchanges=[Ex("authenticate"), child(n)], at_ms=20 * n, client=f"10.0.0.1:{4000 + n}") for n in range(9)
    ]
    assert codes(*short) == ["connect-per-query"]


def test_connections_that_are_open_at_once_are_all_needed() -> None:
    together = [Conn(exchanges=[Ex("authenticate"), child(n)], client=f"10.0.0.1:{4000 + n}") for n in range(9)]
    assert codes(*together) == ["healthy"]


def request(number: int, statements: int) -> Conn:
    """A connection that a web request opens, with TLS, for its statements."""
    reads = [Ex(sql=f"select a from t{n}", rows=1, parameters=number) for n in range(statements)]
    login = [Ex("tls"), Ex("authenticate")]
    return Conn(exchanges=login + reads, at_ms=40 * number, client=f"10.0.0.1:{4000 + number}")


def test_a_connection_for_each_request_is_found_by_what_opening_it_costs() -> None:
    (finding,) = Capture(build([request(n, statements=3) for n in range(9)])).analyze([15]).findings
    assert (finding.code, finding.round_trips_saved) == ("connect-per-query", 8 * 3)
    assert finding.fix.endswith(" This also saves 8 TCP handshakes.")


def test_connections_that_are_worth_their_opening_are_no_finding() -> None:
    assert "connect-per-query" not in codes(*(request(n, statements=13) for n in range(9)))
    workers = [Conn(exchanges=request(n, 3).exchanges, client=f"10.0.0.1:{4000 + n}") for n in range(6)]
    assert codes(*workers, request(6, 3)) == ["healthy"]


def test_many_clients_are_found_without_a_look_through_all_exchanges_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[tuple[str, ...]] = []
    columns_of = Recording.exchange_columns

    def seen(recording: Recording, *names: str, **rows: Any) -> object:
        looks.append(names)
        return columns_of(recording, *names, **rows)

    monkeypatch.setattr(Recording, "exchange_columns", seen)

    def looks_at(clients: int) -> tuple[int, int]:
        looks.clear()
        opened = [
            only(Ex("connect"), Ex(sql="select ?"), at_ms=100.0 * number, client=f"10.0.1.{client}:{number + 1}")
            for client in range(clients)
            for number in range(8)
        ]
        return len(Capture(build(opened)).analyze([15]).findings), len(looks)

    (few, once), (many, again) = looks_at(9), looks_at(27)
    assert (few, many) == (9, 27)
    assert again == once


def test_refused_logins_are_no_connect_per_query() -> None:
    refused = [Conn(exchanges=[Ex("authenticate", error="denied")], at_ms=20 * n) for n in range(9)]
    assert "connect-per-query" not in codes(*refused)


def test_fetches_of_few_rows_are_found_with_their_size() -> None:
    fetches = [Ex("stmt_fetch", sql="select a from t", rows=10) for _ in range(50)]
    (finding,) = Capture(build([only(Ex("stmt_execute", sql="select a from t"), *fetches)])).analyze([15]).findings
    assert (finding.code, finding.facts["rows_per_fetch"], finding.round_trips_saved) == ("small-fetch", 10, 49)


def test_fetches_of_separate_executions_are_no_small_fetch() -> None:
    known = [
        each
        for _ in range(50)
        for each in (Ex("execute", sql="select a from t"), Ex("stmt_fetch", sql="select a from t", rows=10))
    ]
    unknown = [each for _ in range(50) for each in (Ex("stmt_execute"), Ex("stmt_fetch", rows=10))]
    assert "small-fetch" not in codes(only(*known)) + codes(only(*unknown))


def test_a_held_back_packet_is_a_stall_and_no_round_trip() -> None:
    (finding,) = (
        Capture(build([only(*(write(n, request_ms=41, stalled_ms=40) for n in range(8)))])).analyze([15]).findings
    )
    assert (finding.code, finding.round_trips_saved) == ("delayed-ack", 0)
    # The packet waits for the timer, and for the acknowledgment to travel: at 15 ms it is sent so much sooner.
    assert finding.saved_s["15"] == pytest.approx(8 * (0.040 + 0.015), rel=0.05)


@pytest.mark.parametrize("within", [True, False])
def test_a_job_that_is_held_back_for_most_of_its_time_is_told_so(within: bool) -> None:
    close = Ex("stmt_close", round_trips=0, answered=False)
    before = [each for n in range(8) for each in (close, write(n, client_ms=41, stalled_ms=40))]
    held = [write(n, request_ms=41, stalled_ms=40) for n in range(8)] if within else [Ex(), *before]
    result = Capture(build([only(*held)])).analyze([15])
    assert "Nagle and delayed ACKs 9" in result.text
    assert "8 packets held back by Nagle's algorithm: each also costs one RTT." in result.text
    assert result.budget.client_s == result.budget.transfer_s == 0


def prepared_anew(close: Ex | None, *, in_one_packet: bool = False) -> Conn:
    """20 changes, each prepared, executed and closed; a close may share its packet with the next prepare."""
    sql = "update t set a = ? where b = ?"
    steps: list[Ex] = []
    for n in range(20):
        shares = in_one_packet and n > 0
        start = 4.0 * n
        steps += [
            Ex("stmt_prepare", sql=sql, round_trips=0 if shares else 1, at_ms=start + 0.01, waited_ms=1.0),
            Ex("stmt_execute", sql=sql, parameters=n + 1, affected_rows=5, at_ms=start + 1.5),
        ]
        if close is not None:
            steps.append(replace(close, sql=sql, at_ms=start + (4.0 if in_one_packet else 2.8)))
    return only(*steps, protocol="postgresql")


@pytest.mark.parametrize(
    ("connection", "saved"),
    [
        (prepared_anew(None), 19),
        (prepared_anew(Ex("stmt_close", round_trips=0, answered=False)), 19),
        (prepared_anew(Ex("stmt_close")), 38),
        (prepared_anew(Ex("stmt_close"), in_one_packet=True), 19),
    ],
    ids=["never closed", "closed without an answer", "closed with a wait (DEALLOCATE)", "closed with the next prepare"],
)
def test_what_is_prepared_anew_each_time_is_found_with_its_closes(connection: Conn, saved: int) -> None:
    (finding,) = Capture(build([connection])).analyze([15]).findings
    assert (finding.code, finding.round_trips_saved) == ("prepare-per-execute", saved)


def test_what_is_prepared_once_and_closed_is_no_finding() -> None:
    sql = "update t set a = ? where b = ?"
    runs = [Ex("stmt_execute", sql=sql, parameters=n + 1, affected_rows=5) for n in range(20)]
    assert codes(only(Ex("stmt_prepare", sql=sql), *runs, Ex("stmt_close", sql=sql))) == ["healthy"]


def test_a_slow_server_is_told_and_nothing_is_promised() -> None:
    (finding,) = Capture(build([only(Ex(sql="select a from t", service_ms=900))])).analyze([15]).findings
    assert (finding.code, finding.saved_s["15"], finding.severity) == ("slow-server", 0, "info")


def pipeline(service_ms: float) -> Conn:
    """300 reads that share one wait, answered one by one."""
    reads = [Ex("execute", sql=f"select a from t{n}", rows=1, round_trips=0) for n in range(300)]
    for n, read in enumerate(reads):
        read.at_ms, read.waited_ms = 2.0, 1 + service_ms * (n + 1)
    reads[0].round_trips = 1
    return only(*reads, protocol="postgresql")


@pytest.mark.parametrize(("service_ms", "found"), [(0.1, "healthy"), (5, "slow-server")])
def test_a_pipeline_waits_for_as_many_answers_as_it_has_requests(service_ms: float, found: str) -> None:
    budget = Capture(build([pipeline(service_ms)])).analyze([15]).budget
    assert budget.service_s > budget.network_s
    assert codes(pipeline(service_ms)) == [found]


def test_reads_of_the_catalog_are_no_serial_reads() -> None:
    begin = Ex(sql="select a from t where b = ?", parameters=1, rows=1)
    catalog = "select attname from pg_catalog.pg_attribute where attrelid = ?"
    assert "serial-reads" not in codes(only(begin, *(Ex(sql=catalog, parameters=n, rows=2) for n in range(20))))


def test_reads_in_a_row_are_a_suggestion() -> None:
    reads = [Ex(sql=f"select a from t{n}", rows=1) for n in range(12)]
    (finding,) = Capture(build([only(*reads)])).analyze([15]).findings
    assert (finding.code, finding.severity) == ("serial-reads", "info")


def test_what_cannot_be_read_is_not_called_healthy() -> None:
    assert codes(only(*[Ex("unreadable")] * 10)) == []


def test_nothing_at_all_is_found_in_a_recording_without_exchanges() -> None:
    assert codes(only()) == []


# --- sharing round trips --------------------------------------------------------------------------------------------


def every_overlap() -> Conn:
    """An N+1 that is pinged and prepared anew each time, then changes that are committed each."""
    steps, text = [SOURCE], child(0).sql
    for n in range(40):
        run = Ex("stmt_execute", sql=text, rows=3, parameters=100 + n % 30)
        steps += [Ex("ping"), Ex("stmt_prepare", sql=text), run]
    for n in range(20):
        steps += [write(n), Ex(sql="commit")]
    return only(*steps)


def test_no_round_trip_is_saved_twice() -> None:
    measures = Measures(build([every_overlap()]))
    found = measures.savings.findings()
    assert len(found) >= 4
    saved = sum(each.effect.saved_round_trips for each in found)
    assert np.all(saved <= measures.evidence.exchanges.round_trips + 1e-9)
    assert sum(len(each.effect.closed) for each in found) <= 1


def test_findings_are_ranked_by_what_they_save() -> None:
    found = Capture(build([every_overlap()])).analyze([15]).findings
    saved = [each.saved_s["15"] for each in found if each.severity != "info"]
    assert saved == sorted(saved, reverse=True)


# --- what a fix saves -----------------------------------------------------------------------------------------------


def test_a_join_saves_its_round_trips_times_the_rtt() -> None:
    changed = Capture(build_awake([nplus1()]), CaptureOptions(rtt_is="in-stream")).what_if(["n+1=join"], [1, 100])
    assert changed is not None
    saved = changed.all_fixes.saved_s
    assert saved["100"] - saved["1"] == pytest.approx(40 * 0.099)


def unit(kind: str, number: int, work_ms: float, call_ms: float = 0.1) -> list[Ex]:
    """One piece of work after `work_ms` of the application's own, whose calls each take the driver `call_ms`."""
    read = Ex(sql="select a from t where id = ?", rows=1, parameters=300 + number)
    calls = {
        "ping": [Ex("ping"), read],
        "cache": [Ex(sql="select b from u where id = ?", rows=1, parameters=7), read],
        "session": [Ex(sql="begin"), read, Ex(sql="commit")],
        "n+1": [child(number)],
        "batch": [write(number)],
        "commit": [write(number), Ex(sql="commit")],
    }[kind]
    first, *others = (replace(call, client_ms=call_ms) for call in calls)
    return [replace(first, client_ms=call_ms + work_ms), *others]


def units(kind: str, work_ms: float) -> Conn:
    head = [replace(SOURCE, client_ms=0.1), Ex(sql="select 1 from x", rows=1, client_ms=0.1)]
    return only(*head, *(each for number in range(30) for each in unit(kind, number, work_ms)))


@pytest.mark.parametrize("work_ms", [0.0, 0.5, 20.0, 300.0, 900.0])
@pytest.mark.parametrize("kind", ["ping", "cache", "session", "n+1", "batch", "commit"])
def test_a_fix_saves_its_calls_and_no_work_of_the_application(kind: str, work_ms: float) -> None:
    changed = Capture(build([units(kind, work_ms)])).what_if([kind], [15])
    assert changed is not None
    fixed = changed.all_fixes
    calls_ms = fixed.round_trips_saved * (15 + 0.1)
    assert fixed.round_trips_saved >= 29
    assert fixed.saved_s["15"] == pytest.approx(calls_ms / 1000, rel=0.05)
    assert fixed.saved_min_s["15"] <= fixed.saved_s["15"] <= fixed.saved_max_s["15"] <= 1.2 * fixed.saved_s["15"]


def test_work_before_every_call_of_a_capture_is_not_taken_for_the_drivers() -> None:
    runs = [Ex(sql="select b from u where id = ?", rows=1, parameters=7, client_ms=40.0) for _ in range(30)]
    changed = Capture(build([only(*runs)])).what_if(["cache"], [15])
    assert changed is not None
    assert changed.all_fixes.saved_s["15"] == pytest.approx(29 * 0.015, rel=0.05)


def test_work_before_every_call_of_every_kind_is_not_taken_for_the_drivers() -> None:
    pieces = [(Ex("ping", client_ms=30.0), replace(child(number), client_ms=50.0)) for number in range(30)]
    changed = Capture(build([only(*(each for piece in pieces for each in piece))])).what_if(["ping"], [15])
    assert changed is not None
    assert changed.all_fixes.saved_s["15"] == pytest.approx(30 * 0.015, rel=0.05)


@pytest.mark.parametrize(("pause_ms", "login_ms"), [(300.0, 0.1), (0.05, 3.0)])
def test_pauses_and_slow_logins_tell_nothing_of_the_drivers_time(pause_ms: float, login_ms: float) -> None:
    loop = [replace(child(number), client_ms=1.5) for number in range(40)]
    work = [each for _ in range(10) for each in (replace(SOURCE, client_ms=pause_ms), *loop)]
    logins = [Ex("connect"), *(Ex("authenticate", client_ms=login_ms) for _ in range(4))]
    changed = Capture(build([only(*logins, *work, rtt_ms=0.2)])).what_if(["n+1"], [0.2])
    assert changed is not None
    assert changed.all_fixes.saved_s["0.2"] == pytest.approx(400 * 0.0002, rel=0.8)


def test_samples_fall_on_all_statements_of_a_loop_alike() -> None:
    for period in (2, 3, 5):
        sampled = _sampled(np.arange(period * 30_000)) % period
        assert np.bincount(sampled) == pytest.approx(20_000 / period, rel=0.02)


@pytest.mark.parametrize(("work", "pings"), [("0.05", 12), ("0.6", 12), ("1.2", 12)])
def test_pings_save_as_much_whatever_the_application_does_before_them(
    shared_capture: Callable[[str], Path], work: str, pings: int
) -> None:
    capture = latpcap.read(shared_capture(f"reports/ping_{work}.pcapng.zst"))
    changed = capture.what_if(["ping"], [15])
    assert changed is not None
    assert changed.all_fixes.saved_s["15"] == pytest.approx(
        pings * 0.015, rel=0.07
    )  # hosts that rest as long answer later


def test_workers_side_by_side_save_what_one_of_them_saves() -> None:
    workers = [only(*nplus1().exchanges, client=f"10.0.0.{number}:1") for number in range(1, 5)]
    one, four = (Capture(build(jobs)).what_if(["n+1=join"], [100]) for jobs in (workers[:1], workers))
    assert one is not None
    assert four is not None
    assert four.all_fixes.round_trips_saved == 4 * one.all_fixes.round_trips_saved
    assert four.all_fixes.saved_s["100"] == pytest.approx(one.all_fixes.saved_s["100"], rel=0.01)


def test_the_bytes_stay_and_their_window_must_grow() -> None:
    large, small = (
        Capture(build([only(SOURCE, *(child(n, response_bytes=size) for n in range(40)))])).what_if(["n+1"], [100])
        for size in (14_000, 100)
    )
    assert large is not None
    assert small is not None
    grown = small.all_fixes.saved_s["100"] - large.all_fixes.saved_s["100"]
    assert grown == pytest.approx(5 * 0.1, abs=0.11), "400 segments need five windows more than one"


def test_an_in_list_leaves_one_query_for_each_list() -> None:
    changed = Capture(build([nplus1()])).what_if(["n+1=in:10"], [15])
    assert changed is not None
    assert changed.all_fixes.round_trips_saved == 36


def test_all_fixes_save_no_more_than_each_and_no_less_than_the_best() -> None:
    changed = Capture(build([every_overlap()])).what_if(["all"], [15])
    assert changed is not None
    each = [fix.saved_s["15"] for fix in changed.fixes]
    assert max(each) <= changed.all_fixes.saved_s["15"] <= sum(each) + 1e-9
    assert changed.all_fixes.runtime_s["15"] == pytest.approx(changed.as_is_s["15"] - changed.all_fixes.saved_s["15"])


def test_a_fix_of_what_is_not_there_changes_nothing() -> None:
    changed = Capture(build([nplus1()])).what_if(["pool"], [15])
    assert changed is not None
    assert changed.all_fixes.runtime_s == changed.as_is_s
    assert changed.answer.startswith("Keep the database close: none of these fixes applies")


def test_a_suggestion_that_all_leaves_out_is_no_reason_to_keep_the_database_close() -> None:
    capture = read_fixture("mysql/pool-4")
    changed = capture.what_if(["all"], [15])
    assert changed is not None
    assert changed.left_out == ("pipeline",)
    assert changed.answer.startswith("Only a suggestion applies (pipeline): without it the job takes 0.856 s at 15 ms")
    with pytest.raises(UsageError, match="`serial-reads` is a finding: its fix is `pipeline`"):
        capture.what_if(["serial-reads"], [15])


def test_the_answer_is_to_change_the_code_where_that_is_enough() -> None:
    changed = Capture(build([nplus1(40)])).what_if(["all"], [15])
    assert changed is not None
    assert changed.answer.startswith("Change the code")


@pytest.mark.parametrize(
    "text", ["", "join", "n+1=x", "n+1=in", "n+1=in:0", "fetch=-1", "fetch=ten", "pool=3", "all=1", "=1", "fetch="]
)
def test_a_fix_that_does_not_exist_names_those_that_do(text: str) -> None:
    with pytest.raises(UsageError, match=r"n\+1\[=join\|=in:KEYS\].*fetch\[=NUMBER\].*pool"):
        parse_fix(text)


# --- size -----------------------------------------------------------------------------------------------------------


def test_of_very_many_patterns_the_most_frequent_are_told() -> None:
    loops = [
        each
        for table in range(120)
        for each in (
            Ex(sql=f"select id from p{table}", rows=9, parameters=1),
            *(Ex(sql=f"select a from c{table} where p = ?", rows=1, parameters=n) for n in range(5 + table % 3)),
        )
    ]
    found = [each for each in Capture(build([only(*loops)])).analyze([15]).findings if each.code == "n+1"]
    assert len(found) == MAX_STATEMENTS
    assert min(each.facts["repeats"] for each in found) >= 6


def test_of_very_many_findings_those_without_a_fix_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognise, "MAX_FINDINGS", 3)
    loops = [
        each
        for table in range(5)
        for each in (
            Ex(sql=f"select id from p{table}", rows=9, parameters=1),
            *(Ex(sql=f"select a from c{table} where p = ?", rows=1, parameters=n) for n in range(9)),
        )
    ]
    failures = [Ex(sql="insert into t values (?)", error="1062", parameters=n) for n in range(9)]
    assert sorted(codes(only(*loops, *failures))) == ["failing-statements", "n+1", "n+1"]


@pytest.mark.parametrize("hidden", [Ex("unknown", complete=False), Ex(sql="select a from t where…", rows=1)])
def test_transactions_around_what_is_unknown_are_no_chatter(hidden: Ex) -> None:
    around = Ex(sql="begin"), hidden, Ex(sql="commit")
    assert "session-chatter" in codes(only(child(0), *(around[0], child(1), around[2]) * 20))
    assert "session-chatter" not in codes(only(child(0), *around * 20))


def test_what_is_unknown_ends_a_series_of_changes() -> None:
    lost = Ex("unknown", complete=False)
    steps = [each for n in range(20) for each in (write(n), lost)]
    assert not {"row-by-row-dml", "commit-per-row"} & set(codes(only(child(0), *steps)))


@pytest.mark.parametrize(
    ("text", "affected", "found"),
    [("update acc set b…", 1, True), ("update acc set b…", None, False), ("update pgbe…", 1, False)],
)
def test_a_cut_change_makes_a_series_where_its_table_and_its_rows_are_known(
    text: str, affected: int | None, found: bool
) -> None:
    assert ("row-by-row-dml" in codes(only(child(0), *[Ex(sql=text, affected_rows=affected)] * 20))) == found


def unread(sizes: list[int], pause_ms: float = 0.1) -> Conn:
    """Requests of these sizes on a connection that cannot be read."""
    asked = [Ex("unreadable", request_bytes=size, client_ms=pause_ms) for size in sizes]
    return only(Ex("tls"), *asked, encryption="tls", tls={"tls_reading": "no-keys"})


def test_requests_of_one_size_that_cannot_be_read_are_probably_a_loop() -> None:
    sizes = [80 + number % 4 for number in range(30)]
    (finding,) = Capture(build([unread(sizes)])).analyze([15]).findings
    assert finding.title == "30 requests of one size, one after another: probably a loop"
    assert (finding.code, finding.severity, finding.saved_s["15"]) == ("request-loop", "info", 0)


@pytest.mark.parametrize(
    "other",
    [
        unread([80] * 19),
        unread([80 + 17 * (number % 5) for number in range(60)]),
        unread([80 + number for number in range(40)]),
        unread([80] * 40, pause_ms=50),
        only(*(Ex("ping", request_bytes=5) for _ in range(40))),
    ],
    ids=["few", "of many sizes", "ever larger", "with work between", "which can be read"],
)
def test_other_requests_are_told_as_no_loop(other: Conn) -> None:
    assert "request-loop" not in codes(other)


def losing(lost: int) -> Conn:
    """60 reads, of which some waited for a time-out."""
    waits = [Ex(sql="select a from t where id = ?", parameters=n, service_ms=1.0) for n in range(60)]
    for number in range(lost):
        waits[5 * number] = replace(waits[5 * number], retransmissions=1, service_ms=205)
    return only(*waits, retransmissions=lost)


def test_what_loss_takes_is_told_first_of_what_there_is_to_do() -> None:
    result = Capture(build([losing(12)])).analyze([15])
    (loss,) = (each for each in result.findings if each.code == "packet-loss")
    assert loss.title == "Lost packets took 2.45 s (95% of the time): 12 waits"
    assert loss.severity == "high"
    (to_do,) = (section for section in summary(result) if section.name == "to-do")
    (table,) = (part for part in to_do.parts if isinstance(part, SectionTable))
    assert table.rows[0][0] == loss.title


def test_a_loss_or_two_are_an_accident() -> None:
    assert "packet-loss" not in codes(losing(2))


def downloaded(times_slower: int = 1, **options: object) -> Conn:
    """98 windows of 18.8 kB in as many round trips, or in more."""
    answer = Ex(response_bytes=98 * 18_800, transfer_ms=times_slower * 98 * 15)
    return only(Ex(), answer, rtt_ms=15, **options)


def test_a_small_receive_window_is_told_instead_of_bandwidth() -> None:
    assert codes(downloaded(window_bytes=18_800, window_limit_bytes=65_535)) == ["window-bound"]
    assert codes(downloaded(window_bytes=1_000_000)) == ["bandwidth-bound"]


def test_a_window_that_is_not_filled_holds_nothing_back() -> None:
    assert "window-bound" not in codes(downloaded(4, window_bytes=18_800, window_limit_bytes=65_535))
