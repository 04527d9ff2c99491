"""Tables in another order, and only their first rows: in Python and in every format of the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from conftest import Done, load_fixture, read_fixture

from latpcap import Table, UsageError
from latpcap.report.rows import SHOWN


def made(**columns: list[Any]) -> Table:
    kinds = {int: DataType.int64(), float: DataType.float64(), str: DataType.string(), bool: DataType.bool()}
    arrays = {
        name: Array(values, kinds[next(type(value) for value in values if value is not None)])
        for name, values in columns.items()
    }
    return Table(ArrowTable.from_pydict(arrays))


@pytest.mark.parametrize(
    ("by", "order"),
    [
        (["a"], [3, 0, 1, 2, 4]),
        (["-a"], [1, 2, 0, 3, 4]),
        (["b"], [1, 4, 0, 2, 3]),
        (["-b", "a"], [3, 0, 2, 1, 4]),
        (["c"], [1, 3, 0, 4, 2]),
        (["-c"], [0, 4, 1, 3, 2]),
        ([], [0, 1, 2, 3, 4]),
    ],
)
def test_rows_are_sorted_with_the_unknown_last_and_equal_ones_as_they_were(by: list[str], order: list[int]) -> None:
    table = made(
        a=[2.0, 3.0, 3.0, 1.0, None],
        b=["x", "Y", "x", "z", "Y"],
        c=[True, False, None, False, True],
        row=[0, 1, 2, 3, 4],
    )
    assert table.sort(*by).column("row").tolist() == order


def test_an_unknown_column_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no column `x`: there are a, b"):
        made(a=[1], b=[2]).sort("-x")


@pytest.mark.parametrize(("count", "left"), [(2, [0, 1]), (0, []), (9, [0, 1, 2])])
def test_the_head_has_so_many_rows_or_all(count: int, left: list[int]) -> None:
    assert made(row=[0, 1, 2]).head(count).column("row").tolist() == left


@pytest.mark.parametrize("chosen", ["csv", "jsonl", "json", "table"])
def test_every_format_is_sorted_and_limited(latpcap: Callable[..., Done], chosen: str) -> None:
    path = load_fixture("mysql/pool-4").path
    arguments = ("statements", path, "--sort", "-delta_p95_ms", "--limit", 2, "--format", chosen)
    said = latpcap(*arguments).stdout.decode()
    rows = read_fixture("mysql/pool-4").statements.sort("-delta_p95_ms").head(2)
    assert all(text in said for text in rows.column("text"))
    assert latpcap(*arguments[:-4], "--limit", 99).stdout != latpcap("statements", path).stdout


def test_what_rows_are_sorted_by_is_shown(latpcap: Callable[..., Done]) -> None:
    path = load_fixture("mysql/pool-4").path
    assert b"affected_rows" in latpcap("table", "exchanges", path, "--sort", "-affected_rows").stdout
    assert b"affected_rows" not in latpcap("table", "exchanges", path).stdout


def test_exchanges_name_time_frames_and_statement_at_any_width(
    latpcap: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (72, 80, 120, 240):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = latpcap("table", "exchanges", load_fixture("mysql/pool-4").path).stdout.decode().splitlines()
        assert max(map(len, lines)) <= width
        assert {"time", "frames", "stream", "command", "trips", "server", "statement"} <= set(lines[0].split())
        [query] = (line for line in lines if " 47→48 " in line)
        assert query.split()[:3] == ["08:39:31.765", "47→48", "0"]
        assert "  query  " in query
        assert "0.103" in query
        assert "  select s" in query


def test_a_narrow_terminal_drops_columns_without_a_line_about_them(
    latpcap: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = load_fixture("mysql/pool-4").path
    wide = latpcap("table", "connections", path).stdout.decode().splitlines()
    monkeypatch.setenv("COLUMNS", "80")
    narrow = latpcap("table", "connections", path).stdout.decode().splitlines()
    assert len(narrow) == len(wide)
    assert {"client", "user", "database", "driver", "server"} <= set(wide[0].split())
    assert {"client", "user", "database", "server"} <= set(narrow[0].split())


@pytest.mark.parametrize("chosen", ["table", "csv", "jsonl"])
def test_columns_are_chosen_in_every_format_and_in_their_order(latpcap: Callable[..., Done], chosen: str) -> None:
    path = load_fixture("mysql/pool-4").path
    asked = ("--columns", "statement,request_frame", "--columns", "rows", "--sort", "-delta_ms", "--limit", 1)
    said = latpcap("table", "exchanges", path, *asked, "--format", chosen).stdout.decode()
    places = [said.index(name) for name in ("statement", "request_frame", "rows")]
    assert places == sorted(places)
    assert "delta_ms" not in said
    assert "salaries" in said


@pytest.mark.parametrize(
    "command", ["rank", "findings", "table errors", "table tasks", "table health", "table intervals", "table captures"]
)
def test_every_table_takes_columns_and_says_which_there_are(latpcap: Callable[..., Done], command: str) -> None:
    with_rows = {"table errors": "findings/failing-my", "table health": "mysql/nplus1-300-loss2"}
    path = load_fixture(with_rows.get(command, "mysql/pool-4")).path
    first = latpcap(command, path, "--format", "csv").stdout.decode().splitlines()[0].split(",")[-1]
    assert latpcap(command, path, "--columns", first).stdout.decode().splitlines()[0] == first
    done = latpcap(command, path, "--columns", "colour")
    assert done.returncode == 2
    assert b"no column `colour`: there are " in done.stderr


def test_no_two_columns_of_a_table_have_one_heading() -> None:
    for columns in SHOWN.values():
        titles = [column.title for column in columns]
        assert len(set(titles)) == len(titles)


def test_a_column_that_80_columns_would_spare_is_shown_where_rows_are_sorted_by_it(
    latpcap: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for column in ("delta_p95_ms", "share"):
        heading = (
            latpcap("statements", load_fixture("mysql/pool-4").path, "--sort", f"-{column}")
            .stdout.decode()
            .splitlines()[0]
        )
        assert heading.split()[-2:] == [column, "statement"]


def test_findings_are_sorted_and_limited_as_text_too(latpcap: Callable[..., Done]) -> None:
    path = load_fixture("findings/orm-no-pool-my").path
    codes = read_fixture("findings/orm-no-pool-my").findings.sort("code").column("code").tolist()
    assert len(codes) > 1
    said = latpcap("findings", path, "--sort", "code", "--limit", 1).stdout.decode()
    assert f"[{codes[0]}]" in said
    assert f"[{codes[1]}]" not in said
