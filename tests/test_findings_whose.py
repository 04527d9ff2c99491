"""Whom a finding is about: the program, the server, the place in the code; and what it says of them."""

from __future__ import annotations

from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, analysed, read_fixture

import latpcap
from latpcap.capture import Capture
from latpcap.findings import FindingResult

SOURCE = Ex(sql="select id from parents", rows=40, parameters=1)


def child(number: int, **options: Any) -> Ex:
    return Ex(sql="select * from children where parent = ?", rows=3, parameters=100 + number, **options)


def findings(*connections: Conn) -> list[FindingResult]:
    return list(Capture(build(list(connections))).analyze([15]).findings)


def of(code: str, *connections: Conn) -> list[FindingResult]:
    return [each for each in findings(*connections) if each.code == code]


# --- connections of a program -----------------------------------------------------------------------------------------


def short(number: int, **options: Any) -> Conn:
    exchanges = [Ex("authenticate"), child(number)]
    return Conn(exchanges=exchanges, at_ms=20 * number, client=f"10.0.0.1:{4000 + number}", **options)


def test_connections_for_a_statement_each_are_told_program_by_program() -> None:
    found = of("connect-per-query", *analysed_apart())
    assert sorted(each.title for each in found) == [
        "Connect per query: 6 connections of monitor (user app, database shop), 10.0.0.1 → 10.0.0.2:3306; "
        "about 1 statement each",
        "Connect per query: 7 connections of report (user app, database shop), 10.0.0.1 → 10.0.0.2:3306; "
        "about 1 statement each",
    ]


def analysed_apart() -> list[Conn]:
    monitor = [short(number, application="monitor") for number in range(6)]
    report = [short(number, application="report") for number in range(20, 27)]
    pooled = [
        Conn(exchanges=[Ex("authenticate"), *[child(n) for n in range(30)]], application="shop", client=f"10.0.0.1:{n}")
        for n in (1, 2, 3)
    ]
    return [*monitor, *report, *pooled]


def test_pooled_connections_of_the_same_program_are_no_part_of_its_short_ones() -> None:
    pooled = [
        Conn(exchanges=[Ex("authenticate"), *[child(n) for n in range(30)]], client=f"10.0.0.1:{n}") for n in (1, 2, 3)
    ]
    (found,) = of("connect-per-query", *(short(number) for number in range(6)), *pooled)
    assert found.facts["connections"] == 6


def test_of_several_applications_the_monitor_alone_connects_each_time() -> None:
    found = [each for each in analysed("postgresql/several-applications").findings if each.code == "connect-per-query"]
    assert sorted((each.facts["connections"], each.facts["server"]) for each in found) == [
        (6, "10.77.0.2:5432"),
        (6, "10.77.0.2:5433"),
    ]
    assert all("monitor" in each.title for each in found)


def behind_tls(number: int, statements: int) -> Conn:
    asked = [Ex("unreadable", request_bytes=80, response_bytes=300) for _ in range(statements)]
    exchanges = [Ex("tls", round_trips=2), Ex("authenticate"), Ex("authenticate"), *asked]
    client = f"10.0.0.1:{4000 + number}"
    return Conn(exchanges=exchanges, at_ms=40 * number, client=client, encryption="tls", user=None, database=None)


def test_a_connection_for_each_query_is_found_behind_tls_without_keys() -> None:
    (found,) = findings(*(behind_tls(number, 1) for number in range(40)))
    assert (found.code, found.facts["connections"]) == ("connect-per-query", 40)
    assert found.round_trips_saved == 39 * 5, "TCP, TLS, login"


def test_connections_behind_tls_that_stay_are_no_finding() -> None:
    assert not of("connect-per-query", *(behind_tls(number, 40) for number in range(9)))


# --- one statement, several parameters, several servers ---------------------------------------------------------------


def rounds(count: int, keys: int) -> Conn:
    """The same list again and again, and a query for each of its rows."""
    source = Ex(sql="select id from parents", rows=keys, parameters=1)
    return Conn(exchanges=[each for _ in range(count) for each in (source, *(child(n) for n in range(keys)))])


def test_an_n_plus_one_whose_keys_come_again_is_named_with_both_patterns() -> None:
    found = {each.code: each for each in findings(rounds(24, 15)) if each.statement == child(0).sql}
    assert (
        found["n+1"].title
        == "N+1: one statement runs 360 times (15 different parameters), once for each row of another"
    )
    assert found["repeated-query"].title == "Repeated query: 360 runs with only 15 different sets of parameters"
    assert found["repeated-query"].round_trips_alone == 345
    assert found["n+1"].round_trips_saved == 360
    assert found["repeated-query"].round_trips_saved == 0, "each round trip counts once"


def test_a_loop_over_rows_that_share_their_parents_is_n_plus_one() -> None:
    source = Ex(sql="select id, parent from books", rows=30, parameters=1)
    (found,) = findings(Conn(exchanges=[source, *(child(n // 3) for n in range(30))]))
    assert (found.code, found.facts["repeats"], found.facts["distinct_parameters"]) == ("n+1", 30, 10)


def test_a_few_settings_that_are_read_again_and_again_are_no_n_plus_one() -> None:
    source = Ex(sql="select id from parents", rows=400, parameters=1)
    assert [each.code for each in findings(Conn(exchanges=[source, *(child(n % 6) for n in range(60))]))] == [
        "repeated-query"
    ]


def test_the_same_statement_at_two_servers_is_two_findings_that_name_them() -> None:
    def loop(server: str, protocol: str) -> Conn:
        return Conn(exchanges=[SOURCE, *(child(n) for n in range(40))], server=server, protocol=protocol)

    found = of("n+1", loop("10.0.0.2:3306", "mysql"), loop("10.0.0.3:5432", "postgresql"))
    assert sorted(each.title.partition(" (")[2] for each in found) == [
        "10.0.0.2:3306, database shop)",
        "10.0.0.3:5432, database shop)",
    ]
    assert [each.facts["repeats"] for each in found] == [40, 40]


def pool(connections: int, repeats: int, rows: int = 200, **options: Any) -> list[Conn]:
    """A list on the first connection of a pool, and what follows on all in turn."""
    source = Ex(sql="select id from parents", rows=rows, parameters=1, at_ms=2)
    exchanges: list[list[Ex]] = [[source], *([] for _ in range(connections - 1))]
    for number in range(repeats):
        exchanges[number % connections].append(child(number, at_ms=5 + 2 * number))
    return [Conn(exchanges=each, client=f"10.0.0.1:{n + 1}", **options) for n, each in enumerate(exchanges)]


def test_a_loop_over_the_connections_of_a_pool_is_one() -> None:
    (found,) = of("n+1", *pool(5, 200))
    assert (found.facts["repeats"], found.facts["connections"], found.round_trips_saved) == (200, 5, 200)


def test_queries_over_a_pool_that_are_fewer_than_the_rows_before_them_are_no_loop() -> None:
    assert 40 not in [each.facts["repeats"] for each in of("n+1", *pool(5, 40, rows=400))]


def test_what_a_pool_asks_after_think_time_is_no_loop_whatever_others_do_meanwhile() -> None:
    later = pool(5, 40, rows=40, application="shop")
    for conn in later:
        for each in conn.exchanges:
            each.at_ms = (each.at_ms or 0) + (5000 if each.parameters != 1 else 0)
    busy = [
        Conn(
            exchanges=[Ex(sql="select 1 from a", at_ms=0), Ex(sql="select 2 from a", at_ms=9000)],
            client=f"10.0.0.1:{n}",
        )
        for n in (90, 91)
    ]
    for conn in busy:
        conn.application = "a first one"
    assert not [each for each in of("n+1", *busy, *later) if each.facts["connections"] > 1]
    there = Capture(build([*busy, *pool(5, 40, rows=40, application="shop")])).measures.savings.findings()
    assert "n+1" in [each.code for each in there]  # which saves nothing while the others work longer


def test_what_two_programs_ask_is_no_loop_of_one() -> None:
    apart = [
        Conn(exchanges=conn.exchanges, client=conn.client, application=f"worker {number}")
        for number, conn in enumerate(pool(5, 40, rows=40))
    ]
    assert not [each for each in of("n+1", *apart) if each.facts["repeats"] > 8]


# --- what failed ------------------------------------------------------------------------------------------------------


def test_what_aborted_a_transaction_comes_before_what_was_refused_after_it() -> None:
    (found,) = analysed("findings/aborted").findings
    first, then = "1 × no such table (42P01)", "7 more in the failed transactions (25P02)"
    assert found.title.startswith(f"8 of 8 statements failed (8 round trips): {first}; {then}")
    assert found.statement == found.facts["first_statement"] == "select a from absent"
    assert (found.facts["category"], found.facts["refused_after"]) == ("syntax", 7)


def test_a_code_is_told_by_what_it_means() -> None:
    (found,) = analysed("findings/deadlocks").findings
    assert "6 × deadlock (1213)" in found.title
    assert found.fix.startswith("The server says: Deadlock found when trying to get lock; try restarting transaction. ")


@pytest.mark.parametrize(
    ("protocol", "error", "title", "fix"),
    [
        (
            "firebird",
            "335544332 (0B000): dynamic SQL error; invalid transaction handle (expecting explicit transaction start)",
            "9 × invalid transaction handle (expecting explicit transaction start) (335544332)",
            "",
        ),
        (
            "sqlserver",
            "13535 (class 16, state 1): Data modification failed.",
            "9 × Data modification failed (13535)",
            "",
        ),
        ("oracle", "ORA-29861: domain index is marked LOADING", "9 × domain index is marked LOADING (ORA-29861)", ""),
        ("mysql", "9999 (HY000)", "9 × 9999", ""),
    ],
)
def test_an_error_without_a_usual_code_is_told_in_the_servers_words(
    protocol: str, error: str, title: str, fix: str
) -> None:
    refused = [Ex(sql=f"select a from t{n}", error=error) for n in range(9)]
    (found,) = findings(Conn(exchanges=refused, protocol=protocol))
    assert (found.title, found.fix) == (f"9 of 9 statements failed (9 round trips): {title}", fix)


def failing(failures: int, well: int) -> list[FindingResult]:
    refused = [Ex(sql=f"select a from t{n}", error="1146 (42S02): no such table") for n in range(failures)]
    return findings(Conn(exchanges=[*(Ex(sql=f"select b from u{n}", rows=1) for n in range(well)), *refused]))


def test_two_of_four_statements_that_fail_are_a_finding() -> None:
    assert [each.code for each in failing(2, 2)] == ["failing-statements"]


def test_where_something_failed_it_is_not_said_that_there_is_nothing_to_fix() -> None:
    (found,) = failing(1, 6)
    assert found.code == "network-bound"
    assert found.title.startswith("No avoidable round trips found")
    assert found.title.endswith("; 1 request failed: 1 × no such table (1146)")


# --- blobs, resets, places in the code --------------------------------------------------------------------------------


def blob(command: str) -> Ex:
    return Ex(command, sql="update docs set bin = ?")


def test_blobs_that_are_written_are_told_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import builder

    for command in ("create_blob2", "put_segment", "close_blob"):
        monkeypatch.setitem(builder.PURPOSES, command, "blob")
    change = Ex("execute", sql="update docs set bin = ?", affected_rows=1)
    steps = [each for _ in range(8) for each in (blob("create_blob2"), blob("put_segment"), blob("close_blob"), change)]
    (found,) = of("blob-per-row", Conn(exchanges=steps, protocol="firebird"))
    assert found.title == "Blob per row: 24 round trips write 8 blobs"
    assert found.fix.startswith("Send small blobs as bound values of the statement")


def test_blobs_that_are_read_are_told_as_read() -> None:
    (found,) = (each for each in analysed("firebird/fbclient5-blobs").findings if each.code == "blob-per-row")
    assert found.title.endswith("round trips open and read blobs of 20 rows")
    assert found.fix.startswith("Fetch small blobs with their rows")


def test_the_reset_of_a_pooled_connection_is_session_chatter_and_no_read() -> None:
    path = FIXTURES / "programs" / "asyncpg-pool-requests-pg.pcap.zst"
    (found,) = latpcap.read(path).analyze([15]).findings
    assert (found.code, found.facts["commands"]) == ("session-chatter", 12)
    assert found.statement is not None
    assert found.statement.startswith("select pg_advisory_unlock_all()")
    assert found.title == "12 session resets by the connection pool"


def test_a_finding_names_the_places_in_the_code_that_its_statements_come_from() -> None:
    tags = ["controller='shop',action='list',file='shop%2Fviews.py',line='12'", "route='%2Fabout'"]
    asked = [child(n, tags=tags[n % 4 == 0]) for n in range(40)]
    (found,) = of("n+1", Conn(exchanges=[SOURCE, *asked]))
    assert found.facts["sites"] == {"shop#list shop/views.py:12": 30, "/about": 10}
    assert found.fix.endswith("Issued by shop#list shop/views.py:12 × 30, /about × 10.")


def test_no_two_findings_of_a_capture_have_one_title() -> None:
    for name in ("postgresql/several-applications", "findings/nested-pg", "mysql/churn-20"):
        titles = [(each.title, each.statement) for each in read_fixture(name).analyze([15]).findings]
        assert len(set(titles)) == len(titles)


# --- two servers ------------------------------------------------------------------------------------------------------


def inserts(server: str, port: int) -> Conn:
    """A row a transaction."""
    changes = [
        Ex(sql=sql, parameters=n) for n in range(1, 31) for sql in ("begin", "insert into t values (?)", "commit")
    ]
    return Conn(exchanges=changes, server=server, client=f"10.0.0.1:{port}", at_ms=port)


def test_a_fix_takes_along_what_it_needs_at_its_own_server_alone() -> None:
    one, other = inserts("10.0.0.2:3306", 4000), inserts("10.0.0.3:3306", 9000)

    def saved(*connections: Conn) -> list[int]:
        found = Capture(build(list(connections))).measures.savings.savings([15.0])
        return [each.round_trips for each in found if each.finding.needs == ("commit",)]

    [alone] = saved(one)
    assert saved(one, other) == [alone, alone]
