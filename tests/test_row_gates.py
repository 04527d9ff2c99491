"""Gates of rows: they fail where any row is so, and name the one that is so most."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from conftest import FIXTURES
from junitparser import JUnitXml

from latpcap.errors import UsageError
from latpcap.result.checks.gates import Gates
from latpcap.result.checks.row_gates import RowBaseline, judge_rows, parse_row_gate
from latpcap.tables.columnar.table import Table

Run = Callable[..., subprocess.CompletedProcess[bytes]]

THINKS = FIXTURES / "mysql" / "think-time.pcapng"
POOL = FIXTURES / "mysql" / "pool-4.pcapng"
NPLUS1 = FIXTURES / "mysql" / "nplus1-300-client.pcapng"


def table(**columns: list[Any]) -> Table:
    kinds = {"task": DataType.uint64(), "route": DataType.string(), "round_trips": DataType.uint64()}
    arrays = {name: Array(values, kinds.get(name, DataType.float64())) for name, values in columns.items()}
    return Table(ArrowTable.from_pydict(arrays))


def judged(condition: str, **columns: list[Any]) -> Gates:
    return judge_rows([parse_row_gate(condition)], table(**columns), ["route", "task"])


ROWS: dict[str, list[Any]] = {
    "task": [1, 2, 3],
    "route": [None, "/cart", "/pay"],
    "round_trips": [10, 30, 20],
    "duration_s": [0.5, 2.5, 3.0],
    "network_ms": [None, 7.0, None],
    "share_per_ms": [0.5, 0.2, None],
}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("round_trips > 15", "it is 30 in /cart, and so in 1 more"),
        ("round_trips >= 30", "it is 30 in /cart"),
        ("round_trips < 30", "it is 10 in task 1, and so in 1 more"),
        ("duration > 2s", "it is 3.00 s in /pay, and so in 1 more"),
        ("duration_s>2900ms", "it is 3.00 s in /pay"),
        ("network > 5ms", "it is 7.00 ms in /cart"),
        ("share_per_ms > 20%", "it is 50% in task 1"),
        ("round_trips != 10", "it is 30 in /cart, and so in 1 more"),
    ],
)
def test_a_gate_fails_where_any_row_is_so_and_names_it(condition: str, said: str) -> None:
    [found] = judged(condition, **ROWS).failed
    assert (found.text, found.holds) == (said, True)


@pytest.mark.parametrize(
    "condition", ["round_trips > 30", "duration > 1h", "network > 8ms", "share_per_ms > 51%", "share_per_ms > 500%"]
)
def test_a_gate_passes_where_no_row_is_so(condition: str) -> None:
    assert judged(condition, **ROWS).passed


def test_what_is_unknown_in_each_row_fails_and_no_row_passes() -> None:
    assert [each.holds for each in judged("network > 5ms", task=[1], network_ms=[None]).failed] == [None]
    assert judged("round_trips >= 0", round_trips=[]).passed


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("round_trips", "is not a condition for rows"),
        ("round_trips > x", "is not a condition for rows"),
        ("round_trips > -1", "is not a condition for rows"),
        ("finding(n+1)", "is not a condition for rows"),
        ("duration > 2", "has no unit: write 2s or 2ms"),
        ("round_trips > 2s", "is no duration: write a number"),
        ("route > 2", "is no number"),
        ("lost_share > 50", "has no unit: write 50%"),
        ("lost_share > 150%", "no share is above 100%"),
        ("share_per_ms > 5", "has no unit: write 5% or 500%"),
        ("nothing > 2", "there are task, route, round_trips"),
    ],
)
def test_a_condition_that_rows_cannot_meet_is_said_in_one_line(condition: str, said: str) -> None:
    with pytest.raises(UsageError) as failed:
        judged(condition, **ROWS)
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_malformed_condition_is_refused_before_the_captures_are_read(latpcap: Run) -> None:
    assert latpcap("rank", "no-such-folder", "--fail-if", "share_per_ms").returncode == 2


def test_rank_names_the_file_that_is_so(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    gates = ["--fail-if", "share_per_ms > 5%", "--fail-if", "runtime > 1h"]
    ended = latpcap("rank", THINKS, POOL, "--quiet", "--json", *gates, "--ci", path)
    assert ended.returncode == 1
    assert b"share_per_ms > 5%: it is 85% in " in ended.stderr
    assert [each["holds"] for each in json.loads(ended.stdout)["gates"]] == [True, False]
    [suite] = JUnitXml.fromfile(str(path))
    assert (suite.name, suite.tests, suite.failures) == ("pool-4.pcapng, think-time.pcapng", 2, 1)
    assert latpcap("rank", THINKS, "--quiet", "--fail-if", "share_per_ms > 5%").returncode == 0


def test_tasks_and_statements_have_gates_too(latpcap: Run) -> None:
    tasks = latpcap("table", "tasks", THINKS, "--quiet", "--fail-if", "round_trips > 11", "--ci", "github")
    statements = latpcap("statements", NPLUS1, "--quiet", "--limit", "1", "--fail-if", "executions > 299")
    users = latpcap("statements", NPLUS1, "--quiet", "--by", "user", "--fail-if", "round_trips > 302")
    assert [each.returncode for each in (tasks, statements, users)] == [1, 1, 1]
    assert tasks.stderr.decode().splitlines() == [
        "::error title=latpcap%3A round_trips > 11::it is 12 in task 1",
        "latpcap: gate failed: round_trips > 11: it is 12 in task 1",
    ]
    assert b"it is 300 in select salary" in statements.stderr
    assert b"it is 303 in lab" in users.stderr


def test_what_is_ranked_under_pseudonyms_is_told_so(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    latpcap("rank", THINKS, "--quiet", "--pseudonymise", "--fail-if", "round_trips > 1", "--ci", path)
    assert "think-time" not in path.read_text()


# --- against earlier rows --------------------------------------------------------------------------------------------

BEFORE = (
    {"task": 1, "route": "/cart", "round_trips": 100, "duration_s": 1.0, "share_per_ms": 0.2},
    {"task": 2, "route": "/pay", "round_trips": 20, "duration_s": 2.0, "share_per_ms": None},
)
NOW: dict[str, list[Any]] = {
    "task": [1, 2, 3],
    "route": ["/cart", "/pay", "/new"],
    "round_trips": [105, 30, 900],
    "duration_s": [1.5, 2.0, 9.0],
    "share_per_ms": [0.2, 0.3, 0.9],
}


def compared(condition: str, **columns: list[Any]) -> Gates:
    return judge_rows([parse_row_gate(condition)], table(**columns), ["route"], RowBaseline("last.json", BEFORE))


NEW = "; of 1 other row the baseline says nothing"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("round_trips > baseline", f"it is 30 in /pay, in the baseline 20, and so in 1 more{NEW}"),
        ("round_trips > baseline + 10%", f"it is 30 in /pay, in the baseline 20 (limit 22){NEW}"),
        ("round_trips > baseline + 4", f"it is 30 in /pay, in the baseline 20 (limit 24), and so in 1 more{NEW}"),
        ("duration > baseline + 200ms", f"it is 1.50 s in /cart, in the baseline 1.00 s (limit 1.20 s){NEW}"),
        ("duration >= baseline * 1.2", f"it is 1.50 s in /cart, in the baseline 1.00 s (limit 1.20 s){NEW}"),
        ("round_trips < baseline * 2", f"it is 105 in /cart, in the baseline 100 (limit 200), and so in 1 more{NEW}"),
    ],
)
def test_a_row_is_compared_with_the_row_of_its_name(condition: str, said: str) -> None:
    [found] = compared(condition, **NOW).failed
    assert (found.text, found.holds) == (said, True)


def test_a_row_that_is_as_it_was_passes_and_one_without_a_figure_is_passed_over() -> None:
    assert compared("round_trips > baseline * 2", **NOW).passed
    assert compared("share_per_ms > baseline", **NOW).passed


def test_where_the_baseline_has_none_of_the_rows_the_gate_fails() -> None:
    other = {name: values[2:] for name, values in NOW.items()}
    [found] = compared("round_trips > baseline", **other).failed
    assert (found.holds, found.text) == (None, "there is no row of which the baseline says anything")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("duration > baseline + 200", "the limit has no unit: write 200s or 200ms"),
        ("round_trips > baseline + 2s", "is no duration: write a number"),
        ("network > baseline", "no column `network`"),
        ("task > baseline / 2", "is not a condition for rows"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(condition: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        compared(condition, **NOW)


def test_statements_and_files_are_compared_with_earlier_ones(latpcap: Run, tmp_path: Path) -> None:
    for name, arguments in (("statements", [NPLUS1]), ("statements", [NPLUS1, "--by", "user"]), ("rank", [THINKS])):
        saved, sarif = tmp_path / "last.json", tmp_path / "gates.sarif"
        assert latpcap(name, *arguments, "--json", "-o", saved, "--quiet").returncode == 0
        asked = [name, *arguments, "--quiet", "--baseline", saved, "--fail-if"]
        assert latpcap(*asked, "round_trips > baseline").returncode == 0
        ended = latpcap(*asked, "round_trips >= baseline", "--ci", sarif, "--json")
        assert ended.returncode == 1
        assert [gate["holds"] for gate in json.loads(ended.stdout)["gates"]] == [True]
        assert json.loads(sarif.read_text())["runs"][0]["results"][0]["level"] == "error"


def test_rows_of_another_kind_are_no_baseline(latpcap: Run, tmp_path: Path) -> None:
    saved = tmp_path / "last.json"
    gate = ["--quiet", "--baseline", saved, "--fail-if", "round_trips > baseline"]
    assert b"cannot be read" in latpcap("statements", NPLUS1, *gate).stderr
    latpcap("table", "connections", NPLUS1, "--json", "-o", saved, "--quiet")
    assert b"has no rows of `latpcap statements`" in latpcap("statements", NPLUS1, *gate).stderr
    latpcap("statements", NPLUS1, "--json", "-o", saved, "--quiet")
    by_user = latpcap("statements", NPLUS1, "--by", "user", *gate)
    assert (by_user.returncode, by_user.stdout) == (2, b"")
    assert b"the baseline has other columns" in by_user.stderr
    assert b"no condition of --fail-if compares" in latpcap("statements", NPLUS1, "--baseline", saved).stderr
    assert b"name the earlier result" in latpcap("statements", NPLUS1, *gate[3:]).stderr
