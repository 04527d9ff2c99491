"""Tables in another order, and only their first rows: in Python and in every format of the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable
from conftest import Done, load_fixture, read_fixture

from latpcap import Table, UsageError


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
    assert b"affected_rows" in latpcap("exchanges", path, "--sort", "-affected_rows").stdout
    assert b"affected_rows" not in latpcap("exchanges", path).stdout


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
