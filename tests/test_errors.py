"""What failed: counted as the client saw it, told apart, and said where it matters."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import damage
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, analysed, read_fixture

import latpcap
from latpcap.capture import Capture
from latpcap.errors import GateFailed
from latpcap.measures.error_classes import CLASSES, class_of
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.checks.gates import check
from latpcap.result.pairs.comparison import ErrorChange, compare

Run = Callable[..., subprocess.CompletedProcess[bytes]]

MISSING_TABLE = Ex(sql="select a from absent", error="1146 (42S02): Table ? doesn't exist")
SYNTAX = Ex(sql="selekt ?", error="1064 (42000): You have an error in your SQL syntax")
GOOD = Ex(sql="select a from t where id = ?", rows=1)
REFUSED = Ex("authenticate", error="1045 (28000): Access denied for user ?")


def analysis(*connections: Conn) -> Analysis:
    return Measures(build(list(connections))).analyze()


def counts(result: Analysis) -> tuple[int, int, int, int]:
    errors = result.errors
    return errors.failed_statements, errors.statements, errors.failed_logins, errors.logins


# --- real servers: the counts are those of the client ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "failed", "codes"),
    [
        (
            "mysql/sql-errors",
            (30, 40, 0, 1),
            "10 × syntax error (1064), 10 × duplicate key (1062), 10 × no such table (1146)",
        ),
        ("mysql/error-after-rows", (3, 3, 0, 1), "3 × Subquery returns more than ? row (1242)"),
        ("mysql/login-wrong-password", (0, 0, 10, 10), "10 × access denied (1045)"),
        ("mysql/login-unknown-database", (0, 0, 10, 10), "10 × no such database (1049)"),
        ("mysql/too-many-connections", (0, 0, 5, 5), "5 × too many connections (1040)"),
        ("mysql/login-native", (0, 0, 0, 10), ""),
        ("postgresql/logins", (0, 4, 2, 6), "1 × wrong password (28P01), 1 × no such database (3D000)"),
        ("postgresql/psycopg2-errors", (20, 30, 0, 1), "10 × no such table (42P01), 10 × division by zero (22012)"),
        ("postgresql/psycopg2-terminated", (1, 4, 0, 3), "1 × ended by an administrator (57P01)"),
        ("postgresql/psycopg2-cancel", (2, 3, 0, 1), "2 × cancelled (57014)"),
        (
            "firebird/fbclient3-errors",
            (3, 4, 0, 1),
            "1 × syntax error (335544634), 1 × duplicate key (335544665), 1 × arithmetic error (335544321)",
        ),
        ("clients/php-odbc-mariadb", (1, 58, 0, 1), "1 × no such table (1146)"),
    ],
)
def test_failures_are_counted_as_the_client_saw_them(name: str, failed: tuple[int, ...], codes: str) -> None:
    result = analysed(name)
    assert (counts(result), result.errors.codes()) == (failed, codes)


WITNESSED = sorted(
    path.stem for path in (FIXTURES / "findings").glob("*.toml") if "failed_logins" in tomllib.loads(path.read_text())
)
"""Fixtures whose clients counted their own exceptions."""


@pytest.mark.parametrize("name", WITNESSED)
def test_failures_are_the_exceptions_that_the_client_counted(name: str) -> None:
    truth = tomllib.loads((FIXTURES / "findings" / f"{name}.toml").read_text())
    errors = analysed(f"findings/{name}").errors
    assert (errors.statements, errors.logins) == (truth["statements"], truth["logins"])
    for kind, told in (("statement", truth["failed"]), ("login", truth["failed_logins"])):
        seen: Counter[str] = Counter()
        for each in errors.found:
            seen[each.code.split(" (")[0]] += each.count if each.kind == kind else 0
        assert sum(seen.values()) == sum(told.values())
        if not name.startswith("killed"):  # a driver has words of its own for a connection that is gone
            assert +seen == told


def test_a_killed_session_is_a_statement_without_an_answer() -> None:
    assert analysed("findings/killed-my").errors.codes() == "2 × no answer"
    assert analysed("findings/killed-pg").errors.codes() == "1 × ended by an administrator (57P01), 1 × no answer"


def test_a_deadlock_costs_the_round_trips_of_its_transaction() -> None:
    [mysql] = [each for each in analysed("findings/deadlocks").findings if each.code == "failing-statements"]
    [postgresql] = [each for each in analysed("findings/deadlocks-pg").findings if each.code == "failing-statements"]
    assert mysql.facts["round_trips"] == 6 * len(("update", "select", "update", "rollback"))
    assert postgresql.facts["round_trips"] == 6 * len(("begin", "update", "select", "update", "rollback"))


def test_every_failure_is_in_the_table_once() -> None:
    for name in ("mysql/sql-errors", "postgresql/logins", "firebird/fbclient3-errors"):
        table, errors = read_fixture(name).errors, analysed(name).errors
        assert sum(table.column("count")) == errors.failures
        assert sum(table.column("round_trips")) == errors.round_trips


def test_the_table_says_who_where_and_why() -> None:
    row = read_fixture("mysql/sql-errors").errors.to_dicts(1)[0]
    assert (row["code"], row["kind"], row["category"], row["users"]) == ("1064 (42000)", "statement", "syntax", "lab")
    assert (row["statement"], row["count"], row["round_trips"]) == ("selekt ?", 10, 10)
    assert (row["first_frame"], row["last_frame"]) == (11, 84)
    assert row["display_filter"].startswith("tcp.stream == 0 && frame.number in {11..12, 19..20, ")


# --- what counts ----------------------------------------------------------------------------------------------------


def test_nothing_failed_is_no_section_and_no_sentence() -> None:
    result = analysis(Conn(exchanges=[GOOD] * 5))
    assert (result.errors.failures, result.errors.found, result.errors.failed_share) == (0, (), 0.0)
    assert "failed" not in result.text


def test_a_prepare_that_fails_is_a_statement_that_never_ran() -> None:
    prepare = Ex("stmt_prepare", sql="select a from absent", error="1146 (42S02): x")
    assert counts(analysis(Conn(exchanges=[GOOD, prepare])))[:2] == (1, 2)


def test_begins_and_ends_of_transactions_are_counted_apart() -> None:
    commit = Ex(sql="commit", error="40001: could not serialize access")
    result = analysis(Conn(protocol="postgresql", exchanges=[Ex(sql="begin"), GOOD, commit]))
    assert counts(result)[:2] == (0, 1)
    assert (result.errors.failed_transactions, result.errors.transactions) == (1, 2)
    assert "1 of 2 transaction commands failed: 1 × serialization failure (40001)." in result.text


def test_a_refused_login_costs_all_of_its_set_up() -> None:
    result = analysis(Conn(exchanges=[Ex("tls", service_ms=1), Ex("authenticate", error="1045 (28000): x")]))
    assert (result.errors.failed_logins, result.errors.round_trips) == (1, 2)


def test_an_encrypted_login_is_neither_good_nor_bad() -> None:
    hidden = Conn(encryption="tls", exchanges=[Ex("connect", round_trips=0), Ex("tls"), Ex("unreadable")])
    errors = analysis(hidden).errors
    assert (errors.logins, errors.failed_logins, errors.unread_logins) == (0, 0, 1)


def test_a_login_without_an_answer_is_neither_good_nor_bad() -> None:
    errors = analysis(Conn(exchanges=[Ex("authenticate", answered=False)]), Conn(exchanges=[GOOD])).errors
    assert (errors.logins, errors.unread_logins) == (0, 1)


def test_a_statement_of_whose_answer_nothing_was_captured_may_have_failed() -> None:
    cut = Ex(sql="insert into t values (?)", response_bytes=0)
    errors = analysis(Conn(exchanges=[GOOD, cut])).errors
    assert (errors.failed_statements, errors.statements, errors.unread_statements) == (0, 2, 1)
    assert errors.text.endswith("; the response to 1 statement was not captured, and may be an error")
    assert analysis(Conn(exchanges=[GOOD, GOOD])).errors.unread_statements == 0


def test_answers_that_the_snap_length_cut_are_told_as_unread(tmp_path: Path) -> None:
    """Firebird's messages have no length: of 96 bytes of a packet no answer can be read."""
    path = tmp_path / "cut.pcapng"
    path.write_bytes(damage.damaged(damage.read(FIXTURES / "firebird/fbclient3-errors.pcapng"), "cut-packets"))
    errors = latpcap.read(path).analyze().errors
    assert errors.unread_statements > 0
    assert "may be an error" in errors.text


def test_a_response_to_a_whole_batch_is_read() -> None:
    errors = latpcap.read(FIXTURES / "sqlserver/jtds-batch.pcapng").analyze().errors
    assert errors.text == "no errors in 30 statements and 1 login"


def test_a_login_that_asks_for_refused_encryption_has_failed() -> None:
    errors = latpcap.read(FIXTURES / "firebird/go-firebirdsql-refused.pcapng").analyze().errors
    assert (errors.failed_logins, errors.logins, errors.codes("login")) == (1, 1, "1 × no answer")


def test_what_a_driver_sets_up_is_no_statement_of_the_application() -> None:
    setup = [Ex(sql="set names ?"), Ex(sql="set autocommit = ?")]
    assert counts(analysis(Conn(exchanges=[*setup, SYNTAX, GOOD, Ex(sql="set x = ?")])))[:2] == (1, 3)
    refused = Ex(sql="set nonsense = ?", error="1193 (HY000): x")
    assert counts(analysis(Conn(exchanges=[*setup, refused, GOOD])))[:2] == (1, 2)


def test_a_request_that_the_server_hung_up_on_has_failed() -> None:
    lost = Ex(sql="select a from t", answered=False)
    assert analysis(Conn(exchanges=[GOOD, lost], server_fin_ms=5)).errors.codes() == "1 × no answer"
    assert analysis(Conn(exchanges=[GOOD, lost])).errors.failures == 0
    assert analysis(Conn(exchanges=[GOOD, lost], server_fin_ms=5, lost_bytes=7)).errors.failures == 0


# --- findings -------------------------------------------------------------------------------------------------------


def found(*exchanges: Ex) -> list[tuple[str, str, str]]:
    findings = analysis(Conn(exchanges=list(exchanges))).findings
    return [(each.severity, str(each.facts["category"]), each.title) for each in findings if "failing" in each.code]


def test_failing_statements_are_told_by_what_must_be_mended() -> None:
    deadlock = Ex(sql="update t set a = ? where id = ?", error="1213 (40001): Deadlock found")
    assert found(*[SYNTAX] * 5, *[MISSING_TABLE] * 5, *[deadlock] * 5, *[GOOD] * 35) == [
        (
            "medium",
            "syntax",
            "10 of 50 statements failed (10 round trips): 5 × syntax error (1064), 5 × no such table (1146); "
            "invalid statement or missing object",
        ),
        (
            "medium",
            "conflict",
            "5 of 50 statements failed (5 round trips): 5 × deadlock (1213); lock conflict with another transaction",
        ),
    ]


def test_the_severity_of_failures_is_their_share() -> None:
    assert [severity for severity, *_ in found(*[SYNTAX] * 10, *[GOOD] * 30)] == ["high"]
    assert [severity for severity, *_ in found(*[SYNTAX] * 5, *[GOOD] * 200)] == ["low"]
    assert [severity for severity, *_ in found(*[SYNTAX] * 4, *[GOOD] * 4)] == ["high"]
    assert found(*[SYNTAX] * 4, *[GOOD] * 40) == []


def test_failures_promise_no_saving() -> None:
    [finding] = [each for each in analysed("findings/refused-my").findings if each.code == "failing-logins"]
    assert (finding.severity, finding.round_trips_saved, finding.fix_name) == ("high", 0, "")


def test_a_statement_that_fails_again_and_again_is_no_loop_over_rows() -> None:
    assert {each.code for each in analysed("findings/aborted").findings} == {"failing-statements"}


# --- what is said ---------------------------------------------------------------------------------------------------


def test_the_verdict_says_how_many_statements_failed() -> None:
    result = analysis(Conn(exchanges=[*[MISSING_TABLE] * 20, *[SYNTAX] * 10, *[GOOD] * 12]))
    told = "30 of 42 statements failed (30 round trips): 20 × no such table (1146), 10 × syntax error (1064)"
    assert f"WHY     {told}" in result.text
    assert result.text.count("statements failed") == 1


def test_few_failures_among_many_statements_are_in_the_table_only() -> None:
    result = analysis(Conn(exchanges=[SYNTAX, *[GOOD] * 200]))
    assert result.errors.failed_statements == 1
    assert "failed" not in result.text


def test_where_every_login_fails_that_is_said_first() -> None:
    said = analysis(*[Conn(exchanges=[REFUSED])] * 10).text
    assert "WHY     10 of 10 logins failed: 10 × access denied (1045)" in said
    assert "NOTE    No statement ran: all figures are about refused logins." in said


def test_more_codes_than_three_are_hinted_at() -> None:
    errors = [Ex(sql="select a from t", error=f"{code} (HY000): x") for code in (1, 2, 3, 4)]
    assert analysis(Conn(exchanges=errors)).errors.codes() == "1 × x (1), 1 × x (2), 1 × x (3) and others"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("errors > 0", "errors > 0: it is 2 (1 × no such table (1146), 1 × syntax error (1064))"),
        ("failed_share > 1%", "failed_share > 1%: it is 50% (1 × no such table (1146), 1 × syntax error (1064))"),
    ],
)
def test_a_gate_says_which_errors(condition: str, said: str) -> None:
    capture = Capture(build([Conn(exchanges=[MISSING_TABLE, SYNTAX, GOOD, GOOD])]))
    with pytest.raises(GateFailed) as failed:
        check([condition], capture.measures).enforce()
    assert said in str(failed.value)


def test_the_gate_of_logins_names_those_of_logins_only() -> None:
    capture = Capture(build([Conn(exchanges=[REFUSED]), Conn(exchanges=[Ex("authenticate"), SYNTAX])]))
    with pytest.raises(GateFailed, match=r"it is 1 \(1 × access denied \(1045\)\)$"):
        check(["failed_logins > 0"], capture.measures).enforce()


def test_why_did_it_fail_is_one_command(latpcap: Run) -> None:
    printed = latpcap("table", "errors", FIXTURES / "mysql" / "sql-errors.pcapng").stdout.decode()
    assert "1146 (42S02)" in printed
    assert "Table ? doesn't exist" in printed


def test_a_terminal_shows_each_error_whole(latpcap: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = latpcap(
        "table", "errors", FIXTURES / "findings" / "failing-my.pcapng.zst", "--limit", "2"
    ).stdout.decode()
    assert "for the right syntax to use near ?" in " ".join(printed.split())
    assert "select a from absent where id = ?\n  10 statements, 10 round trips, 10.7 ms; first in frame 13" in printed
    assert "1062" not in printed


def test_where_nothing_failed_the_command_says_so(latpcap: Run) -> None:
    done = latpcap("table", "errors", FIXTURES / "mysql" / "churn-20.pcapng")
    assert done.stdout == b"No errors in 20 statements and 20 logins.\n"
    assert b"no errors" not in done.stderr
    done = latpcap("table", "errors", FIXTURES / "mysql" / "churn-20.pcapng", "--format", "csv")
    assert b"latpcap: no errors in 20 statements and 20 logins\n" in done.stderr
    done = latpcap("table", "errors", FIXTURES / "mysql" / "sql-errors.pcapng", "--json")
    assert b"latpcap: 30 of 40 statements failed\n" in done.stderr
    assert [row["count"] for row in json.loads(done.stdout)["rows"]] == [10, 10, 10]


def test_sql_sees_the_errors() -> None:
    pytest.importorskip("duckdb")
    rows = read_fixture("mysql/sql-errors").sql(
        "select category, sum(count)::int n from errors group by all order by all"
    )
    assert [tuple(row.values()) for row in rows.to_dicts()] == [("data", 10), ("syntax", 20)]


def test_a_comparison_says_what_fails_now() -> None:
    before, after = Conn(exchanges=[GOOD] * 4), Conn(exchanges=[GOOD, GOOD, SYNTAX, SYNTAX])
    result = compare(analysis(before), analysis(after))
    assert result.explanation.endswith("Failed: 0 of 4 statements before, 2 of 4 statements after.")
    assert result.errors == (ErrorChange("statement", "1064 (42000)", 0, 2),)


def test_compare_lists_the_errors_of_both(latpcap: Run) -> None:
    before, after = (FIXTURES / "mysql" / f"{name}.pcapng" for name in ("sql-errors", "login-wrong-password"))
    printed = latpcap("compare", before, after, "--quiet").stdout.decode()
    assert "Failed: 0 of 1 login before, 10 of 10 logins after." in " ".join(printed.split())
    assert "10      0  statement    1064 (42000)" in printed


@pytest.mark.parametrize(
    ("protocol", "code", "category"),
    [
        ("mysql", "1205 (HY000)", "conflict"),
        ("mysql", "1040", "limit"),
        ("mysql", "1044 (42000)", "permission"),
        ("mysql", "9999 (HY000)", "other"),
        ("postgresql", "40P01", "conflict"),
        ("postgresql", "25P02", "aborted"),
        ("postgresql", "28P01", "login"),
        ("postgresql", "57P01", "ended"),
        ("oracle", "ORA-00942", "syntax"),
        ("oracle", "ORA-01017", "login"),
        ("oracle", "ORA-12514", "login"),
        ("firebird", "335544336 (40001)", "conflict"),
        ("firebird", "reject", "other"),
        ("mysql", "?", "other"),
    ],
)
def test_a_code_says_who_must_mend_it(protocol: str, code: str, category: str) -> None:
    assert class_of(protocol, code) == category
    assert category in CLASSES
