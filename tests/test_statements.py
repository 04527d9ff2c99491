import numpy as np
import pytest
from builder import Conn, Ex, build

from latpcap.capture import Capture
from latpcap.measures.statements import StatementGroups
from latpcap.report.section import SectionTable
from latpcap.report.sections.statements import statements
from latpcap.result.analysis import Measures


def grouped(*connections: Conn) -> StatementGroups:
    return Measures(build(list(connections))).statements


def test_what_served_a_statement_is_counted_with_it() -> None:
    groups = grouped(
        Conn(
            exchanges=[
                Ex("stmt_prepare", sql="select ?"),
                Ex("stmt_execute", sql="select ?", rows=2),
                Ex("stmt_execute", sql="select ?", rows=3),
                Ex("stmt_close", sql="select ?", answered=False, round_trips=0),
            ]
        )
    )
    assert groups.fingerprint == ["select ?"]
    assert (groups.executions[0], groups.exchanges[0], groups.round_trips[0], groups.rows[0]) == (2, 4, 3, 5)


def test_what_serves_no_statement_is_grouped_by_its_command() -> None:
    groups = grouped(Conn(exchanges=[Ex("ping"), Ex("query", sql="select ?", service_ms=9), Ex("ping")]))
    assert groups.text == ["select ?", "ping"]
    assert groups.fingerprint == ["select ?", None]
    assert groups.exchanges.tolist() == [1, 2]
    assert groups.executions.tolist() == [1, 0]


def test_the_costliest_comes_first() -> None:
    exchanges = [Ex(sql="cheap"), Ex(sql="slow", service_ms=50), *[Ex(sql="often")] * 9]
    assert grouped(Conn(rtt_ms=1, exchanges=exchanges)).text == ["slow", "often", "cheap"]


def test_the_same_text_in_two_protocols_is_two_statements() -> None:
    exchanges = [Ex(sql="select 1")]
    groups = grouped(Conn(exchanges=exchanges), Conn(exchanges=exchanges, protocol="postgresql"))
    assert sorted(groups.protocol) == ["mysql", "postgresql"]


def test_rows_that_nobody_told_are_not_zero() -> None:
    groups = grouped(Conn(exchanges=[Ex(sql="a", rows=0), Ex(sql="b", affected_rows=7)]))
    told = dict(zip(groups.text, zip(groups.rows, groups.affected_rows, strict=True), strict=True))
    assert told == {"a": (0, None), "b": (None, 7)}


def test_response_times_run_from_the_first_packet_to_the_last() -> None:
    exchanges = [Ex(sql="a", request_ms=1, service_ms=number, transfer_ms=2) for number in range(1, 101)]
    response = grouped(Conn(rtt_ms=10, exchanges=exchanges)).response_ms
    told = {name: float(values[0]) for name, values in response.items()}
    assert told.pop("stddev") == pytest.approx(((100**2 - 1) / 12) ** 0.5)
    assert told == {"min": 14, "avg": 63.5, "p50": 63, "p95": 108, "p99": 112, "max": 113}


def test_response_times_are_those_of_the_executions() -> None:
    exchanges = [Ex("stmt_prepare", sql="a", service_ms=500), Ex("stmt_execute", sql="a")]
    assert grouped(Conn(rtt_ms=10, exchanges=exchanges)).response_ms["max"][0] == 10


def test_exchanges_that_were_captured_in_part_have_no_times() -> None:
    groups = grouped(Conn(exchanges=[Ex(sql="a", complete=False)]))
    assert np.isnan(groups.response_ms["p50"][0])
    assert groups.network_s[0] == 0


def test_the_statements_seconds_sum_to_the_budgets() -> None:
    exchanges = [Ex(sql="a", service_ms=3), Ex(sql="b"), Ex("ping"), Ex("query")] * 5
    measures = Measures(build([Conn(rtt_ms=10, exchanges=exchanges)] * 3))
    assert measures.statements.network_s.sum() == pytest.approx(measures.timeline.parts_s["network"])
    assert measures.statements.service_s.sum() == pytest.approx(measures.timeline.budget.service_s)


def test_no_exchanges_make_no_statements() -> None:
    assert len(grouped()) == 0
    assert len(grouped(Conn())) == 0


def test_what_each_waits_at_another_rtt_grows_as_the_projections_network_does() -> None:
    exchanges = [Ex(sql="a", service_ms=3), Ex(sql="b")] * 20
    capture = Capture(build([Conn(rtt_ms=10, exchanges=exchanges)]))
    table, there = capture.statements_at("50ms"), capture.project([50.0])
    assert there.budget_now is not None
    assert there.headline_budget is not None
    factor = there.headline_budget.network_s / there.budget_now.network_s
    assert table.column("network_50ms_s") == pytest.approx(table.column("network_s") * factor)
    assert "network_50ms_s" not in capture.statements.column_names
    tasks = capture.tasks_at(rtt_ms="50ms")
    added = tasks.column("duration_50ms_s") - tasks.column("duration_s")
    assert added == pytest.approx(tasks.column("network_s") * (factor - 1))


def test_commands_without_a_statement_share_a_row_with_their_seconds() -> None:
    exchanges = [Ex("connect", service_ms=2), Ex("authenticate"), *[Ex(sql="a", service_ms=3)] * 200]
    result = Measures(build([Conn(rtt_ms=10, exchanges=exchanges)])).analyze()
    for is_whole in (True, False):
        section = statements(result.statements, None, 10, result.projection, is_whole=is_whole)
        [table] = (part for part in section.parts if isinstance(part, SectionTable))
        place = [column.name for column in table.columns].index("network_s")
        assert len(table.rows) == (3 if is_whole else 2)
        network_s = sum(each.network_s for each in result.statements)
        assert sum(row[place] for row in table.rows) == pytest.approx(network_s)
