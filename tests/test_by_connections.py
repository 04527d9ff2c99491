"""The grid of `project --connections 1,2,4 --rtt …`: cells of the one projection, in every form."""

import json
from collections.abc import Callable

import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, Done, read_fixture

import latpcap as package
from latpcap.errors import UsageError
from latpcap.report import FORMATS

POOL = "mysql/pool-4"
PATH = str(FIXTURES / f"{POOL}.pcapng")
Run = Callable[..., Done]


def test_each_cell_is_what_the_projection_says_of_so_many_connections() -> None:
    capture = read_fixture(POOL)
    grid = capture.project_grid([1, 4, 16], [0.5, 3, 20], jitter_ms=0.2)
    assert [(cell.rtt_ms, cell.connections) for cell in grid.cells] == [
        (rtt, count) for rtt in (0.5, 3, 20) for count in (1, 4, 16)
    ]
    for cell in grid.cells:
        [point] = capture.project([cell.rtt_ms], connections=cell.connections, jitter_ms=0.2).points
        told = ("runtime_s", "optimistic_s", "pessimistic_s", "throughput_per_s", "factor", "method")
        assert [getattr(cell, name) for name in told] == [getattr(point, name) for name in told]


@pytest.mark.parametrize("name", [POOL, "runs/pgbench-tpcb-c10"])
def test_as_many_connections_as_there_were_are_what_is_projected_without_a_number(name: str) -> None:
    capture = read_fixture(name)
    count = capture.project_grid([1], [3]).connections_now
    assert count is not None
    plain = capture.project([3, 15, 20])
    for asked in (plain, capture.project([3, 15, 20], connections=count)):
        of_points = [(point.runtime_s, point.optimistic_s, point.pessimistic_s, point.method) for point in asked.points]
        cells = [cell for cell in capture.project_grid([1, count], [3, 15, 20]).cells if cell.connections == count]
        assert of_points == [(cell.runtime_s, cell.optimistic_s, cell.pessimistic_s, cell.method) for cell in cells]


def test_the_throughput_has_the_range_of_the_runtime() -> None:
    for cell in read_fixture(POOL).project_grid([2, 8], [3, 20]).cells:
        ends = cell.pessimistic_per_s, cell.throughput_per_s, cell.optimistic_per_s
        assert None not in ends
        assert sorted(ends) == list(ends)  # type: ignore[type-var]
        assert cell.pessimistic_per_s * cell.pessimistic_s == pytest.approx(cell.throughput_per_s * cell.runtime_s)  # type: ignore[operator]


def test_asked_twice_a_number_stands_once_and_a_target_is_judged_for_each() -> None:
    grid = read_fixture(POOL).project_grid([4, 1, 4], [20], within_s=0.5)
    assert [each.connections for each in grid.by_connections] == [4, 1]
    four, one = (each.within.rtt_ms for each in grid.by_connections if each.within)
    assert four is not None
    assert one is not None
    assert four > 3 * one


def test_where_no_rtt_is_known_it_says_so() -> None:
    grid = package.Capture(build([Conn(handshake=False, exchanges=[])])).project_grid([1, 2], [3])
    assert grid.baseline_rtt_ms is None
    assert {cell.runtime_s for cell in grid.cells} == {None}
    assert "unknown, because the baseline RTT is" in FORMATS["terminal"](grid)


@pytest.mark.parametrize("connections", [[], [0], [1, -2]])
def test_a_number_of_connections_is_one_or_more(connections: list[int]) -> None:
    with pytest.raises(UsageError, match="a number of connections, 1 or more"):
        read_fixture(POOL).project_grid(connections, [3])


def test_the_command_prints_a_row_a_cell_within_80_columns(latpcap: Run) -> None:
    told = latpcap("project", PATH, "--connections", "1,2,4", "--rtt", "0.5ms,3ms").stdout.decode()
    assert "RTT ms  connections  statements/s         range  runtime s      runtime range\n" in told
    table = told.partition("The capture itself")[0].splitlines()
    assert len(table) == 3 + 2 * 3
    assert max(map(len, table)) <= 80


def test_the_rows_of_as_many_connections_as_the_capture_had_are_marked() -> None:
    workers = build([Conn(rtt_ms=1, exchanges=[Ex(service_ms=0.2, client_ms=0.1)] * 50)] * 4)
    grid = package.Capture(workers).project_grid([1, 4], [0.5, 3])
    assert grid.connections_now == 4
    told = FORMATS["terminal"](grid)
    assert told.count("captured 4 ") == 2
    assert "captured 1 " not in told
    assert "The capture itself, 4 connections at work at once, baseline RTT" in told


def test_json_has_the_cells_and_one_number_stays_a_projection(latpcap: Run) -> None:
    one, several = (
        json.loads(latpcap("project", PATH, "--connections", given, "--rtt", "3ms", "--json").stdout)
        for given in ("4", "4,8")
    )
    assert (one["schema"], several["schema"]) == ("latpcap.projection/1", "latpcap.projection_grid/1")
    assert [cell["connections"] for cell in several["cells"]] == [4, 8]
    assert several["cells"][0]["runtime_s"] == one["points"][0]["runtime_s"]
    assert several["conditions"]["connections"] is None


def test_what_is_judged_for_one_number_is_refused(latpcap: Run) -> None:
    for option in (["--fix", "all"], ["--fail-if", "project(3ms) > 1s"]):
        done = latpcap("project", PATH, "--connections", "1,2", *option)
        assert done.returncode == 2
        assert b"one number of connections" in done.stderr


@pytest.mark.parametrize("given", ["0", "1,,2", "x", "1.5", "-1"])
def test_what_is_no_number_of_connections_is_told(latpcap: Run, given: str) -> None:
    done = latpcap("project", PATH, f"--connections={given}")
    assert done.returncode == 2
    assert b"write 4 or 1,2,4,8,16" in done.stderr


def test_it_is_a_table_and_a_chart() -> None:
    grid = read_fixture(POOL).project_grid([1, 2], [3, 20])
    assert "<td>2</td>" in grid._repr_html_()
    assert grid.table().to_dicts()[1]["connections"] == 2
    pytest.importorskip("altair")
    drawn = json.loads(grid.plot().to_json())
    panels = drawn["vconcat"]
    titles = [panel["layer"][0]["encoding"]["y"]["title"] for panel in panels]
    assert titles == ["statements a second", "runtime (s)"]
    for panel in panels:
        assert [layer["mark"]["type"] for layer in panel["layer"]] == ["area", "line", "line"]
        rows = drawn["datasets"][panel["data"]["name"]]
        assert {(row["line"], row["place"]) for row in rows} == {(rtt, n) for rtt in ("3 ms", "20 ms") for n in (1, 2)}
