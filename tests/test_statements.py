import numpy as np
import pytest
from builder import Conn, Ex, build

from latpcap.measures.statements import StatementGroups
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
    assert measures.statements.network_s.sum() == pytest.approx(measures.timeline.budget.network_s)
    assert measures.statements.service_s.sum() == pytest.approx(measures.timeline.budget.service_s)


def test_no_exchanges_make_no_statements() -> None:
    assert len(grouped()) == 0
    assert len(grouped(Conn())) == 0
