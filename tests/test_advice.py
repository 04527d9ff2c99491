"""A finding advises by what was seen, and as the clients that were really there do it."""

from __future__ import annotations

import re

import pytest
from builder import Conn, Ex, build

from latpcap.capture import Capture
from latpcap.findings import FindingResult, drivers
from latpcap.findings.drivers import SeenClient, settings_for
from latpcap.protocols.drivers import Setting


def a_setting(advice: str, since: str | None = None, *, option: bool = False) -> Setting:
    return Setting("p", advice, since, "https://manual.example", None, option)


SETTINGS = {
    ("mapper", "p"): a_setting("`reads(all)`"),
    ("quick", "p"): a_setting("`many()`", "3.1"),
    ("quick", "option"): a_setting("`q=1`", option=True),
    ("slow", "p"): a_setting("`more`"),
    ("third", "p"): a_setting("`less`"),
}
QUICK = SeenClient("mysql", "quick", "3.1.18", None)


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "setting", lambda _, name, key: SETTINGS.get((name, key)))


def finding(code: str, *exchanges: Ex, **options: object) -> FindingResult:
    """Return the only finding of that code."""
    connection = Conn(exchanges=list(exchanges), **options)  # type: ignore[arg-type]
    [found] = [each for each in Capture(build([connection])).analyze([15]).findings if each.code == code]
    return found


@pytest.mark.parametrize(
    ("clients", "key", "expected"),
    [
        ([], "p", []),
        ([QUICK], "p", ["quick: `many()`"]),
        ([QUICK._replace(version="3.0.9")], "p", ["quick: `many()` (from 3.1 on)"]),
        ([QUICK._replace(version=None)], "p", ["quick: `many()` (from 3.1 on)"]),
        ([QUICK], "another", []),
        ([QUICK._replace(framework="mapper")], "p", ["mapper: `reads(all)`"]),
        ([QUICK._replace(framework="unknown")], "p", []),
        ([QUICK._replace(framework="mapper")], "option", ["quick: `q=1`"]),
        (
            [QUICK._replace(driver=name, version=None) for name in ("silent", "slow")]
            + [QUICK]
            + [QUICK._replace(driver="third")],
            "p",
            ["slow: `more`", "quick: `many()`"],
        ),
    ],
)
def test_settings_are_those_of_the_clients_that_were_seen(
    clients: list[SeenClient], key: str, expected: list[str]
) -> None:
    assert settings_for(key, clients) == expected


NAMES = r"\b(?:JDBC|psycopg\w*|asyncpg|psql|Python|Connector|Oracle|HikariCP|SQLAlchemy|Django|Hibernate|addBatch)\b"


def test_a_fix_names_no_client_that_was_not_seen() -> None:
    reads = [Ex(sql="select a from t where b = ?", rows=1, parameters=number) for number in range(40)]
    inserts = [Ex(sql="insert into t values (?)", affected_rows=1, parameters=number) for number in range(40)]
    pings = [Ex("ping"), Ex(sql="select b from u", rows=1)] * 20
    for exchanges in (reads, inserts, pings):
        found = Capture(build([Conn(exchanges=exchanges)])).analyze([15]).findings
        assert found
        assert not any(re.search(NAMES, f"{each.title} {each.why} {each.fix} {each.facts}") for each in found)


def test_reads_one_after_another_are_no_batch() -> None:
    reads = [Ex(sql=f"select a from t{number}", rows=1) for number in range(40)]
    found = finding("serial-reads", *reads)
    assert "a batch does not help, as it returns no rows" in found.fix
    assert found.title == "40 reads one after another that look independent"


@pytest.mark.parametrize(
    ("statement", "title", "advised", "absent"),
    [
        ("insert into t values (?, ?)", "40 rows inserted one by one", "bulk load", "joined"),
        ("update t set a = ? where b = ?", "40 rows updated one by one", "joined with the new values", "bulk load"),
        ("delete from t where b = ?", "40 rows deleted one by one", "`WHERE key IN (…)`", "bulk load"),
        (
            "insert into t values (?) on duplicate key update a = ?",
            "40 rows written one by one",
            "one multi-row statement",
            "bulk load",
        ),
    ],
)
def test_rows_one_by_one_are_mended_by_what_was_done_to_them(
    statement: str, title: str, advised: str, absent: str
) -> None:
    changes = [Ex(sql=statement, affected_rows=1, parameters=number) for number in range(40)]
    found = finding("row-by-row-dml", *changes)
    assert found.title == title
    assert advised in found.fix
    assert absent not in found.fix


def test_rows_that_are_committed_one_by_one_are_sent_together_under_a_condition_only() -> None:
    cycle = [[Ex(sql="begin"), Ex(sql="insert into t values (?)", affected_rows=1, parameters=number), Ex(sql="commit")]
             for number in range(40)]  # fmt: skip
    exchanges = [each for steps in cycle for each in steps]
    assert "only if they do not need separate commits" in finding("row-by-row-dml", *exchanges).fix
    assert "payments" in finding("commit-per-row", *exchanges).fix


READ = Ex(sql="select a from t", rows=1)


@pytest.mark.parametrize(
    ("before", "after", "title", "advised"),
    [
        ([Ex("reset_connection")], [], "30 session resets by the connection pool", "turn the pool's reset off only if"),
        ([], [Ex(sql="discard all")], "30 session resets by the connection pool", "turn the pool's reset off only if"),
        ([], [Ex(sql="rollback")], "29 rollbacks after at most one read", "nothing to roll back"),
        ([Ex(sql="begin")], [Ex(sql="commit")], "58 transaction commands around at most one read", "reads"),
        ([Ex(sql="set a = ?")], [], "30 session commands (SET, SHOW, …)", "once per connection"),
        ([Ex(sql="savepoint a")], [], "30 savepoint commands", "continues after an error"),
    ],
)  # fmt: skip
def test_chatter_is_called_by_what_it_is(before: list[Ex], after: list[Ex], title: str, advised: str) -> None:
    """The first transaction reads twice, so its commands count as needed."""
    found = finding("session-chatter", READ, *[*before, READ, *after] * 30)
    assert found.title == title
    assert advised in found.fix


def test_chatter_of_two_kinds_adds_up() -> None:
    found = finding("session-chatter", READ, *[Ex("reset_connection"), Ex(sql="set a = ?"), READ] * 30)
    assert found.title == "30 session resets by the connection pool and 30 session commands (SET, SHOW, …)"
    assert found.facts["kinds"] == {"reset": 30, "setting": 30}


def test_the_client_of_a_finding_is_that_of_its_connections() -> None:
    inserts = [Ex(sql="insert into t values (?)", affected_rows=1, parameters=number) for number in range(40)]
    SETTINGS["quick", "row-by-row-dml"] = a_setting("`many()`", "3.1")
    software = {"driver": "quick", "driver_version": "3.2.9"}
    assert finding("row-by-row-dml", *inserts, software=software).fix.endswith(" bulk load. quick: `many()`.")
    assert finding("row-by-row-dml", *inserts, software={"driver": "slow"}).fix.endswith(" bulk load.")
    assert finding("row-by-row-dml", *inserts, software=software | {"framework": "mapper"}).fix.endswith(" bulk load.")
