"""Round trips for what was done with them, and the pace of the requests, as the exchanges themselves say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

from latpcap.measures.tasks import count_tasks, tasks
from latpcap.measures.transactions import transactions
from latpcap.report.sections.chattiness import chattiness_rows
from latpcap.result.analysis import Analysis, Measures
from latpcap.result.rank import rank_rows, rank_table
from latpcap.result.rank_order import RankOrder
from latpcap.result.tables import grouped_table

CAPTURES = (
    *("mysql/nplus1-300-client", "mysql/parallel-8", "mysql/tls13-nplus1-50", "findings/fetch-10", "findings/oltp-pg"),
    *("findings/orm-requests", "findings/insert-commit-my", "postgresql/psycopg2-transactions"),
    *("firebird/fbclient3-nplus1", "findings/orm-pool-my"),
)


def analyze(*connections: Conn) -> Analysis:
    return Measures(build(list(connections))).analyze()


def numbers_of(*exchanges: Ex) -> list[int]:
    return transactions(build([Conn(exchanges=list(exchanges))])).of_exchange.tolist()


def test_a_ratio_of_many_round_trips_is_their_number() -> None:
    rows = {
        name: (value, made_of)
        for name, value, made_of in chattiness_rows(read_fixture("mysql/path-changes").analyze().chattiness)
    }
    assert rows["round trips per transaction"] == ("1,037", "1,037 round trips in 1 transaction")


# --- by hand --------------------------------------------------------------------------------------------------------


def rank(values: Iterable[float], fraction: float) -> float | None:
    """The nearest-rank quantile, as a person would count it off."""
    ordered = sorted(value for value in values if value == value)
    return ordered[max(math.ceil(len(ordered) * fraction) - 1, 0)] if ordered else None


def per(total: float, divisor: float) -> float | None:
    return total / divisor if divisor else None


def by_hand(rows: list[dict[str, Any]], duration_s: float) -> dict[str, Any]:
    """The ratios of these exchanges, one after the other; only transactions that the server tells of."""
    trips = sum(row["round_trips"] for row in rows)
    read = sum(row["round_trips"] for row in rows if row["purpose"] != "unreadable")
    begun = inside = 0
    was_open: dict[int, bool] = {}
    for row in rows:
        before = was_open.get(row["stream"], False)
        after = was_open[row["stream"]] = row["transaction"] in ("open", "failed")
        begun += after and not before
        inside += row["round_trips"] if before or after else 0
    asked = [row for row in rows if row["purpose"] != "setup"]
    told = {
        "round_trips_per_s": per(trips, duration_s),
        "transactions": begun,
        "round_trips_per_transaction": per(inside, begun),
        "round_trips_per_row": per(read, sum(row["rows"] or 0 for row in rows)),
        "request_bytes_per_round_trip": per(sum(row["request_bytes"] for row in rows), trips),
        "response_bytes_per_round_trip": per(sum(row["response_bytes"] for row in rows), trips),
    }
    for name in ("delta", "client"):
        spans = [row[f"{name}_ms"] for row in asked if row[f"{name}_ms"] is not None]
        told |= {f"{name}_{which}_ms": rank(spans, part) for which, part in {"p50": 0.5, "p95": 0.95, "max": 1}.items()}
    return told


def flat(chattiness: dict[str, Any]) -> dict[str, Any]:
    times = {
        f"{name}_{which}_ms": value for name in ("delta", "client") for which, value in chattiness[f"{name}_ms"].items()
    }
    return chattiness | times


def numbers(told: dict[str, Any], names: Iterable[str]) -> dict[str, float]:
    return {name: -1 if told[name] is None else told[name] for name in names}


@pytest.mark.parametrize("name", CAPTURES)
def test_the_ratios_are_those_that_a_person_counts_from_the_exchanges(name: str) -> None:
    capture = read_fixture(name)
    rows = capture.exchanges.to_dicts()
    result = capture.analyze().to_dict()
    ours = flat(result["chattiness"])
    hand = by_hand(rows, result["summary"]["runtime_s"])
    if name.startswith("firebird"):  # no server tells of transactions there
        hand = {key: value for key, value in hand.items() if "transaction" not in key}
    assert numbers(ours, hand) == pytest.approx(numbers(hand, hand))
    for connection in capture.connections.to_dicts():
        mine = [row for row in rows if row["stream"] == connection["stream"]]
        duration_s = (connection["end"] - connection["start"]).total_seconds()
        each = {key: value for key, value in by_hand(mine, duration_s).items() if key in hand}
        assert numbers(connection, each) == pytest.approx(numbers(each, each), rel=1e-3)


# --- transactions ---------------------------------------------------------------------------------------------------


def test_the_server_says_what_lies_in_a_transaction() -> None:
    told = numbers_of(
        Ex(sql="select a", transaction="idle"),
        Ex(sql="insert b", transaction="open"),
        Ex(sql="insert c", transaction="failed"),
        Ex(sql="commit", transaction="idle"),
        Ex(sql="commit", transaction="idle"),
        Ex(sql="insert d", transaction="open"),
    )
    assert told == [-1, 0, 0, 0, -1, 1]


def test_without_the_servers_word_begin_and_end_tell() -> None:
    told = numbers_of(Ex(sql="a"), Ex(sql="begin"), Ex(sql="b"), Ex(sql="commit"), Ex(sql="c"), Ex(sql="d"))
    assert told == [-1, 0, 0, 0, -1, -1]


def test_a_transaction_without_a_begin_runs_from_the_end_before_it() -> None:
    told = numbers_of(Ex("authenticate"), Ex(sql="a"), Ex(sql="commit"), Ex(sql="b"), Ex(sql="commit"), Ex(sql="c"))
    assert told == [-1, 0, 0, 1, 1, -1]


def test_a_begin_inside_a_transaction_begins_no_further_one() -> None:
    assert numbers_of(Ex(sql="begin"), Ex(sql="begin"), Ex(sql="a"), Ex(sql="commit")) == [0, 0, 0, 0]


def test_a_transaction_ends_with_its_connection() -> None:
    one = Conn(exchanges=[Ex(sql="begin"), Ex(sql="a")])
    told = transactions(build([one, one]))
    assert told.of_exchange.tolist() == [0, 0, 1, 1]
    assert told.connection.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "count", "round_trips"),
    [("jdbc-transactions", 50, 100), ("psycopg2-transactions", 50, 150), ("pgbench-tpcb-c1", 20, 140)],
)
def test_a_begin_that_is_sent_with_the_first_statement_begins_the_transaction(
    name: str, count: int, round_trips: int
) -> None:
    told = read_fixture(f"postgresql/{name}").analyze().chattiness
    assert (told.transactions, told.transaction_round_trips) == (count, round_trips)


def test_requests_sent_together_lie_in_the_transaction_that_the_first_begins() -> None:
    told = read_fixture("postgresql/jdbc-batch").analyze().chattiness
    assert (told.transactions, told.statements_outside) == (1, 1)


def test_statements_outside_of_transactions_are_counted_for_themselves() -> None:
    exchanges = [Ex(sql="select a"), Ex(sql="set x"), Ex(sql="begin"), Ex(sql="insert b"), Ex(sql="commit")]
    told = analyze(Conn(exchanges=exchanges)).chattiness
    assert (told.transactions, told.transaction_round_trips, told.statements_outside) == (1, 3, 1)
    assert told.round_trips_per_transaction == 3


# --- what divides by nothing ----------------------------------------------------------------------------------------


def test_nothing_is_divided_by_zero() -> None:
    result = analyze(Conn()).chattiness
    assert result.round_trips_per_transaction is result.round_trips_per_row is result.round_trips_per_route is None
    assert result.request_bytes_per_round_trip is result.response_bytes_per_round_trip is None
    assert result.delta_ms == result.client_ms == {"p50": None, "p95": None, "max": None}


def test_what_could_not_be_read_is_not_divided_by_rows() -> None:
    exchanges = [Ex(sql="select a", rows=5), Ex("unreadable"), Ex("unreadable")]
    assert analyze(Conn(exchanges=exchanges)).chattiness.round_trips_per_row == 1 / 5


def test_the_connections_seconds_sum_to_the_budgets() -> None:
    exchanges = [Ex(sql="a", service_ms=3), Ex(sql="b")] * 5
    measures = Measures(build([Conn(rtt_ms=10, exchanges=exchanges)] * 3))
    result = measures.analyze()
    shares = [each.chattiness.network_s for each in result.connections]
    assert sum(share or 0 for share in shares) == pytest.approx(measures.timeline.parts_s["network"])


def test_an_unknown_rtt_leaves_the_share_unknown() -> None:
    result = analyze(Conn(exchanges=[Ex(sql="a")])).chattiness  # its one response says nothing of the network
    assert result.network_share is None


def test_tagged_statements_are_counted_for_their_routes() -> None:
    exchanges = [Ex(sql="a", tags="route='/x'"), Ex(sql="b", tags="route='/y'"), Ex(sql="c", tags="route='/y'")]
    result = analyze(Conn(exchanges=[*exchanges, Ex(sql="d")])).chattiness
    assert (result.routes, result.route_round_trips, result.round_trips_per_route) == (2, 3, 1.5)


def test_round_trips_are_told_for_each_task() -> None:
    burst = [Ex(sql="a"), Ex(sql="b"), Ex(sql="c", client_ms=5)]
    rested = [Ex(sql="a", client_ms=3000), *burst]
    result = analyze(Conn(exchanges=[*burst, *rested])).chattiness
    assert (result.tasks, result.round_trips_per_task) == (2, 3.5)
    assert analyze(Conn(exchanges=burst)).chattiness.round_trips_per_task == 3


@pytest.mark.parametrize("name", [*CAPTURES, "mysql/think-time", "findings/orm-no-pool-my"])
def test_the_quick_count_of_tasks_is_the_count_of_tasks(name: str) -> None:
    measures = read_fixture(name).measures
    job = measures.timeline.job
    counted = len(tasks(measures.recording, measures.rtt, job))
    assert count_tasks(measures.recording, measures.rtt, job) == counted


# --- pace -----------------------------------------------------------------------------------------------------------


def test_a_delta_runs_from_request_to_request_and_client_time_from_response_to_request() -> None:
    exchanges = [Ex(sql="a", client_ms=number) for number in range(1, 101)]
    result = analyze(Conn(rtt_ms=10, exchanges=exchanges)).chattiness
    assert result.client_ms == {"p50": 51, "p95": 96, "max": 100}
    assert result.delta_ms == {"p50": 61, "p95": 106, "max": 110}


def test_set_up_is_no_part_of_the_pace() -> None:
    result = analyze(Conn(exchanges=[Ex("authenticate"), Ex("authenticate", client_ms=70), Ex(sql="a", client_ms=2)]))
    assert result.chattiness.client_ms["max"] == 2


# --- statements -----------------------------------------------------------------------------------------------------


def test_shares_reach_one() -> None:
    statements = analyze(Conn(rtt_ms=5, exchanges=[Ex(sql=name, service_ms=3) for name in "aabc"])).statements
    assert [each.share for each in statements] == [0.5, 0.25, 0.25]
    assert [each.cumulative_share for each in statements] == [0.5, 0.75, 1]


def test_a_statement_is_first_and_last_seen_at_absolute_times() -> None:
    table = read_fixture("mysql/parallel-8").statements
    exchanges = read_fixture("mysql/parallel-8").exchanges
    times = exchanges.column("request_time")[exchanges.column("fingerprint") == table.column("fingerprint")[0]]
    assert times.min() < times.max()
    assert (table.column("first_seen")[0], table.column("last_seen")[0]) == (times.min(), times.max())


def test_spreads_are_told_of_request_and_response() -> None:
    statement = analyze(Conn(exchanges=[Ex(sql="a", request_ms=2, transfer_ms=7)] * 2)).statements[0]
    assert statement.request_spread_ms["p95"] == 2
    assert statement.response_spread_ms["p95"] == 7


@pytest.mark.parametrize("grouping", ["user", "database", "client", "application", "server"])
def test_grouping_loses_nothing(grouping: str) -> None:
    capture = read_fixture("mysql/parallel-8")
    grouped, statements = capture.statements_by(grouping), capture.statements
    assert grouped.column_names[0] == grouping
    for name in ("round_trips", "executions", "network_s", "service_s", "request_bytes"):
        assert grouped.column(name).sum() == pytest.approx(np.nansum(statements.column(name)))
    assert grouped.column("cumulative_share")[-1] == pytest.approx(1)


def test_a_client_of_ipv6_is_called_the_same_wherever_clients_are_grouped() -> None:
    measures = Measures(build([Conn(client="[fd00::1]:40000", exchanges=[Ex(sql="a")])]))
    ranked = rank_table(rank_rows(measures, "file", RankOrder("client")), RankOrder("client"))
    assert grouped_table(measures, "client").column("client").tolist() == ["fd00::1"]
    assert ranked.column("client").tolist() == measures.tasks().client == ["fd00::1"]


def test_groups_are_those_of_their_connections() -> None:
    first, second = Conn(user="ann", exchanges=[Ex(sql="a")] * 3), Conn(user=None, exchanges=[Ex(sql="a")])
    table = grouped_table(Measures(build([first, second])), "user")
    assert dict(zip(table.column("user"), table.column("executions"), strict=True)) == {"ann": 3, None: 1}
