"""A proxy: told from the application's side, and both of its sides joined where the capture has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import damage
import numpy as np
import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES

from latpcap import Capture, rank, read
from latpcap.measures.proxy_legs import joined_legs
from latpcap.result.analysis import Measures

PROXIES = FIXTURES / "proxies"
TRIFLES = [Ex(sql="begin"), Ex(sql="set a = ?"), Ex(sql="select ?")]
READS = [Ex(sql=f"select {name} from t where id = ?") for name in "abc"]


def late(exchanges: list[Ex], by_ms: float) -> list[Ex]:
    return [replace(each, service_ms=each.service_ms + by_ms) for each in exchanges]


def codes(*exchanges: Ex, rtt_ms: float = 0.5, **of_connection: Any) -> list[str]:
    connection = Conn(list(exchanges), rtt_ms=rtt_ms, far_ms=[rtt_ms] * 12, **of_connection)
    return [note.code for note in Measures(build([connection])).health]


def findings(name: str) -> dict[str, str]:
    return {finding.code: finding.fix for finding in read(PROXIES / f"{name}.pcapng").analyze(15).findings}


# --- the port of a proxy ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "protocol", "proxy"),
    [
        ("10.0.0.9:6033", "mysql", "ProxySQL"),
        ("10.0.0.9:4006", "mysql", "MaxScale"),
        ("10.0.0.9:6446", "mysql", "MySQL Router"),
        ("10.0.0.9:6432", "postgresql", "PgBouncer or Odyssey"),
        ("10.0.0.9:9999", "postgresql", "Pgpool-II"),
        ("10.0.0.9:6033", "postgresql", None),
        ("10.0.0.9:3306", "mysql", None),
    ],
)
def test_the_port_of_a_proxy_is_named(server: str, protocol: str, proxy: str | None) -> None:
    connections = [
        Conn(READS * 3, server=server, protocol=protocol),
        Conn(READS, server="10.0.0.2:5432", protocol=protocol),
    ]
    found = [note for note in Measures(build(connections)).health if note.code == "proxy-port"]
    assert [(note.count, note.severity) for note in found] == ([(1, "info")] if proxy else [])
    for note in found:
        assert note.message.startswith(
            f"{server} is a usual port of {proxy}: a network behind it looks like service time (first:"
        )


def test_a_proxy_that_shows_itself_is_named_once() -> None:
    found = codes(*late([*TRIFLES, *READS] * 10, 5.0), server="10.0.0.9:6033")
    assert "proxy-likely" in found
    assert "proxy-port" not in found


# --- the application's side alone -----------------------------------------------------------------------------------


def test_what_answers_not_even_trifles_at_once_is_a_proxy() -> None:
    assert "proxy-likely" in codes(*late([*TRIFLES, *READS] * 10, 5.0))


def test_different_queries_that_all_take_the_same_are_answered_through_a_proxy() -> None:
    assert "proxy-likely" in codes(*late(READS * 10, 5.0))


def test_a_slow_server_answers_trifles_at_once() -> None:
    assert "proxy-likely" not in codes(*TRIFLES, *late(READS * 10, 5.0))


def test_slow_commits_are_the_servers() -> None:
    transaction = [Ex(sql="begin"), Ex(sql="insert into t values (?)"), Ex(sql="commit", service_ms=10.0)]
    assert "proxy-likely" not in codes(*transaction * 20)


def test_writes_that_all_wait_for_the_disk_are_the_servers() -> None:
    writes = [Ex(sql=f"insert into {name} values (?)", service_ms=10.0) for name in "abc"]
    assert "proxy-likely" not in codes(*writes * 20)


def test_one_kind_of_slow_query_says_nothing_of_a_proxy() -> None:
    assert "proxy-likely" not in codes(*[Ex(sql="select pg_sleep(?)", service_ms=20.0)] * 50)


def test_queries_that_take_each_its_own_time_are_the_servers() -> None:
    each_its_own = [replace(query, service_ms=5.0 * place) for place, query in enumerate(READS, 1)]
    assert "proxy-likely" not in codes(*each_its_own * 10)


def test_a_busy_server_is_late_by_chance() -> None:
    wait = np.random.default_rng(7).exponential(8.0, 60)
    queued = [replace(each, service_ms=float(ms)) for each, ms in zip([*TRIFLES, *READS] * 10, wait, strict=True)]
    assert "proxy-likely" not in codes(*queued)


def test_a_proxy_may_answer_pings_itself() -> None:
    assert "proxy-likely" in codes(*[Ex("ping")] * 10, *late([*TRIFLES, *READS] * 10, 5.0))


def test_a_fraction_of_a_far_rtt_is_no_proxy() -> None:
    assert "proxy-likely" not in codes(*late([*TRIFLES, *READS] * 10, 5.0), rtt_ms=50.0)


@pytest.mark.parametrize("name", ["haproxy-nplus1-application", "pgbouncer-nplus1-application"])
def test_behind_a_proxy_nobody_is_told_that_a_faster_network_will_not_help(name: str) -> None:
    result = read(PROXIES / f"{name}.pcapng").analyze(15)
    assert "proxy-likely" in [note.code for note in result.health]
    assert "slow-server" not in [finding.code for finding in result.findings]
    relays = name.startswith("haproxy")  # whatever is asked takes as long: the RTT holds both networks
    assert ("server or network behind a proxy" in result.text) is not relays


def test_a_relay_seen_from_one_side_has_the_share_that_both_sides_show() -> None:
    one, both = (read(PROXIES / f"haproxy-nplus1{end}.pcapng").analyze(15).summary for end in ("-application", ""))
    assert one.network_share == pytest.approx(both.network_share, abs=0.1)
    assert one.network_share_low is not None
    assert one.network_share_low < 0.1  # as if the server took as long


def test_where_nothing_tells_the_advice_says_what_it_does_not_hold_for() -> None:
    result = read(PROXIES / "haproxy-queries-application.pcapng")
    assert "proxy-likely" not in result.health.column("code")
    assert "If a proxy stands in front of the server" in findings("haproxy-queries-application")["slow-server"]


# --- both sides -----------------------------------------------------------------------------------------------------


def relayed(times: int = 20, *, offset_ms: float = 0.3, second: str = "10.0.0.3:3306", **changed: Any) -> list[Conn]:
    """The same statements from an application to a host and, within each, from there to another one at 4 ms."""
    sql = [f"select a from t{number % 3} where id = ?" for number in range(times)]
    inner = [Ex(sql=each, parameters=number, service_ms=0.2, client_ms=2.0) for number, each in enumerate(sql)]
    outer = [Ex(sql=each, parameters=number, service_ms=4.4, client_ms=0.8) for number, each in enumerate(sql)]
    way = Conn(outer, rtt_ms=1.0, server="10.0.0.2:3306", handshake=False)
    behind = Conn(inner, rtt_ms=4.0, client="10.0.0.2:50000", server=second, handshake=False, at_ms=offset_ms - 1.2)
    return [way, replace(behind, **changed)]


def test_what_a_proxy_passes_on_counts_once() -> None:
    result = read(PROXIES / "haproxy-nplus1.pcapng").analyze(15)
    both = sum(connection.round_trips for connection in result.connections)
    assert 2 * result.summary.round_trips == pytest.approx(both, abs=1)
    together = f"{result.summary.round_trips} of {both} round trips are the application's"
    assert together in result.text
    assert "proxy-legs" in [note.code for note in result.health]
    assert "proxy-likely" not in [note.code for note in result.health]


def test_a_round_trip_takes_both_networks() -> None:
    result = read(PROXIES / "haproxy-nplus1.pcapng").analyze(15)
    each_s = result.budget.network_s / result.summary.round_trips
    assert each_s == pytest.approx(0.0055, rel=0.04)
    assert sum(result.budget.parts().values()) == pytest.approx(result.summary.runtime_s)


@pytest.mark.parametrize("name", ["haproxy-nplus1", "pgbouncer-transactions"])
def test_each_network_moves_by_itself(name: str) -> None:
    capture = read(PROXIES / f"{name}.pcapng")
    trips = capture.analyze().summary.round_trips

    def added(**asked: Any) -> float:
        projection = capture.project(**asked)
        return projection.points[0].runtime_s - projection.now.runtime_s  # type: ignore[operator, union-attr]

    behind, before = added(move={"10.77.0.2": 15.0}), added(move={"10.77.0.9": 10.5})
    assert behind == pytest.approx(trips * 0.010, rel=0.05)
    assert before == pytest.approx(trips * 0.010, rel=0.05)
    assert added(rtt_ms=15.0) == behind
    assert added(rtt_ms=15.0, move={"10.77.0.9": 10.5}) == pytest.approx(behind + before, rel=0.05)


def test_a_pooler_lets_clients_in_without_the_server() -> None:
    application = Measures(read(PROXIES / "pgbouncer-transactions.pcapng").recording).application
    is_further = application.rtt.of_exchanges >= len(application.rtt.phases)
    assert is_further.any()
    assert not is_further[application.recording.exchanges.is_setup].any()


def test_made_up_legs_are_joined() -> None:
    legs = joined_legs(build(relayed()))
    assert legs is not None
    assert (legs.counts.round_trips, legs.counts.inner_round_trips) == (40, 20)


@pytest.mark.parametrize(
    ("why", "connections"),
    [
        ("another host asks the second server", lambda: relayed(client="10.0.0.7:50000")),
        ("the answer comes after the application's", lambda: relayed(offset_ms=3.0)),
        ("the second server was asked first", lambda: relayed(offset_ms=-3.0)),
        ("few statements", lambda: relayed(times=9)),
        (
            "other literals",
            lambda: [
                relayed()[0],
                replace(relayed()[1], exchanges=[replace(each, parameters=99) for each in relayed()[1].exchanges]),
            ],
        ),
        (
            "an application server that asks a database for other things as well",
            lambda: [*relayed(), Conn(READS * 10, client="10.0.0.2:50001", server="10.0.0.3:3306", at_ms=500)],
        ),
        (
            "an application that asks two databases the same",
            lambda: [relayed()[0], replace(relayed()[0], server="10.0.0.3:3306", client="10.0.0.1:40001")],
        ),
    ],
)
def test_what_is_not_certain_is_not_joined(why: str, connections: Callable[[], list[Conn]]) -> None:
    assert joined_legs(build(connections())) is None, why


def test_of_two_proxies_in_a_row_the_applications_round_trips_count() -> None:
    way, behind = relayed()
    last = [replace(each, client_ms=4.0) for each in behind.exchanges]
    second = replace(behind, exchanges=last, rtt_ms=2.0, client="10.0.0.3:50000", server="10.0.0.4:3306", at_ms=-2.6)
    result = Capture(build([way, behind, second])).analyze(15)
    assert [each.behind_proxy for each in result.connections] == [False, True, True]
    assert result.summary.round_trips == 20


def test_tables_keep_both_sides() -> None:
    capture = read(PROXIES / "pgbouncer-transactions.pcapng")
    assert len(capture.connections) == 2
    assert len(capture.exchanges) > capture.analyze().summary.exchanges


def test_one_side_alone_can_be_selected() -> None:
    capture: Capture = read(PROXIES / "pgbouncer-transactions.pcapng").select(server="10.77.0.2")
    assert "proxy-legs" not in capture.health.column("code")


def reset_between(pause_ms: float) -> list[Conn]:
    """A pooler and its server on one machine: a request every `pause_ms`, and behind each a reset of the session."""
    sql = [f"select a from t{number % 3} where id = ?" for number in range(20)]
    outer, inner = [], []
    for number, each in enumerate(sql):
        at, service_ms = 5 + pause_ms * number, 0.05 * (number % 5)
        outer.append(Ex(sql=each, parameters=number, at_ms=at, service_ms=0.2 + service_ms))
        inner.append(Ex(sql=each, parameters=number, at_ms=at + 0.1, service_ms=service_ms))
        inner.append(Ex(sql="discard all", at_ms=at + 0.6, service_ms=0.02))
    behind = {"client": "10.0.0.2:50000", "server": "10.0.0.2:5432", "handshake": False}
    way = Conn(outer, rtt_ms=0.05, server="10.0.0.2:6432", handshake=False, far_ms=[0.05] * 12)
    return [way, Conn(inner, rtt_ms=0.02, far_ms=[0.02] * 12, **behind)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("pause_ms", "waits"), [(2, 39), (30, 20)])
def test_a_server_moves_away_from_the_proxy_on_its_machine(pause_ms: float, waits: int) -> None:
    capture = Capture(build(reset_between(pause_ms)))

    def added(**asked: Any) -> float:
        projection = capture.project(**asked)
        return projection.points[0].runtime_s - projection.now.runtime_s  # type: ignore[operator, union-attr]

    assert added(rtt_ms=15.0) == pytest.approx(20 * 0.015, rel=0.05)
    assert added(move={"10.0.0.2:6432": 15.0}) == pytest.approx(20 * 0.015, rel=0.05)
    assert added(move={"10.0.0.2:5432": 15.0}) == pytest.approx(waits * 0.015, rel=0.05)


def test_what_a_proxy_asks_by_itself_is_named() -> None:
    verdict = Capture(build(reset_between(2))).analyze(15).text
    assert "the proxy adds 20 round trips of its own (discard all)" in verdict


# --- both sides on one machine, and one session on both --------------------------------------------------------------

RELAY, BEHIND_IT = 34307, 34306
"""The ports of `relay-mysql`."""


def packets_of(name: str) -> damage.Packets:
    return damage.read(PROXIES / f"{name}.pcapng")


def ports(packet: damage.Packet) -> tuple[int, int]:
    assert packet.tcp is not None
    return packet.tcp.source[1], packet.tcp.destination[1]


def counts(packets: damage.Packets, tmp_path: Path) -> tuple[int, list[bool]]:
    """Round trips, and of each connection whether it is behind a proxy."""
    (tmp_path / "made.pcapng").write_bytes(damage.pcapng(sorted(packets, key=lambda packet: packet.time_ns)))
    result = read(tmp_path / "made.pcapng").analyze()
    return result.summary.round_trips, [each.behind_proxy for each in result.connections]


@pytest.mark.parametrize("name", ["relay-mysql", "relay-postgresql", "pgbouncer-one-machine"])
def test_what_goes_on_on_one_machine_counts_once(name: str) -> None:
    capture = read(PROXIES / f"{name}.pcapng")
    result = capture.analyze()
    assert (result.summary.round_trips, result.summary.connections) == (55, 1)
    ranked = rank(PROXIES / f"{name}.pcapng", by="task")
    assert capture.tasks.column("round_trips").tolist() == ranked.column("round_trips").tolist() == [55]
    assert [each.behind_proxy for each in result.connections] == [False, True]
    assert re.search("55 of 11[01] round trips are the application's", result.text)


def test_one_session_is_known_by_its_first_packets(tmp_path: Path) -> None:
    _, behind = counts(packets_of("relay-mysql")[:12], tmp_path)
    assert behind == [False, True]


@pytest.mark.parametrize("side", [RELAY, BEHIND_IT])
@pytest.mark.parametrize("step", [3, 7, 20])
def test_packets_that_one_side_misses_do_not_part_them(side: int, step: int, tmp_path: Path) -> None:
    packets = packets_of("relay-mysql")
    with_data = [each for each in packets if side in ports(each) and each.tcp and each.tcp.payload_length > 0]
    missed = {id(each) for each in with_data[4::step]}
    _, behind = counts([each for each in packets if id(each) not in missed], tmp_path)
    assert behind == [False, True]


@pytest.mark.parametrize("name", ["relay-mysql", "relay-postgresql", "pgbouncer-one-machine"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_side_that_begins_in_the_middle_is_joined_by_its_statements(name: str, side: int, tmp_path: Path) -> None:
    packets = packets_of(name)
    servers = list(dict.fromkeys(ports(each)[1] for each in packets if each.tcp and each.tcp.flags == damage.SYN))
    mine = [each for each in packets if servers[side] in ports(each)]
    begins = mine[30].time_ns
    kept = [each for each in packets if servers[side] not in ports(each) or each.time_ns >= begins]
    round_trips, behind = counts(kept, tmp_path)
    assert sorted(behind) == [False, True]
    assert 40 <= round_trips <= 56


def test_two_sessions_at_once_go_on_each_by_itself(tmp_path: Path) -> None:
    """The second one is as the first, a little later, with another salt and other ports."""
    packets, second = packets_of("relay-mysql"), []
    for each in packets:
        source, destination = (port if port in (RELAY, BEHIND_IT) else port + 7 for port in ports(each))
        moved = each.with_tcp(source_port=source, destination_port=destination).at(each.time_ns + 40_000)
        tcp = moved.tcp
        assert tcp is not None
        if tcp.payload_length > 60 and b"MariaDB" in moved.data:
            moved = moved.with_tcp(payload=moved.data[tcp.payload_at :].replace(b"MariaDB", b"mariadb", 1))
        second.append(moved)
    round_trips, behind = counts(packets + second, tmp_path)
    assert (round_trips, sorted(behind)) == (110, [False, False, True, True])


def test_nat_rewrites_a_session_and_adds_no_network(tmp_path: Path) -> None:
    """What is sent to a published port goes on to another one, 20 us later there and earlier back."""
    direct = [each for each in packets_of("relay-mysql") if BEHIND_IT in ports(each)]
    rewritten = []
    for each in direct:
        if ports(each)[1] == BEHIND_IT:
            rewritten.append(each.with_tcp(destination_port=RELAY).at(each.time_ns - 20_000))
        else:
            rewritten.append(each.with_tcp(source_port=RELAY).at(each.time_ns + 20_000))
    round_trips, behind = counts(direct + rewritten, tmp_path)
    assert (round_trips, behind) == (55, [False, True])
    result = read(tmp_path / "made.pcapng").analyze()
    assert "an RTT that is asked for" not in result.text
    alone = damage.pcapng(sorted(rewritten, key=lambda packet: packet.time_ns))
    (tmp_path / "alone.pcapng").write_bytes(alone)
    assert result.budget.network_s == pytest.approx(read(tmp_path / "alone.pcapng").analyze().budget.network_s, rel=0.3)


def behind_source_nat(packets: damage.Packets) -> damage.Packets:
    """The same with another client's port, 20 us nearer to the server."""
    direct = [each for each in packets if BEHIND_IT in ports(each)]
    rewritten = []
    for each in direct:
        if ports(each)[1] == BEHIND_IT:
            rewritten.append(each.with_tcp(source_port=1025).at(each.time_ns + 20_000))
        else:
            rewritten.append(each.with_tcp(destination_port=1025).at(each.time_ns - 20_000))
    return direct + rewritten


def test_nat_that_changes_the_client_alone_is_one_session(tmp_path: Path) -> None:
    round_trips, behind = counts(behind_source_nat(packets_of("relay-mysql")), tmp_path)
    assert (round_trips, sorted(behind)) == (55, [False, True])


def test_few_answers_of_one_server_do_not_prove_one_session(tmp_path: Path) -> None:
    """A server that greets all alike has two clients; these would lie within each other by chance."""
    packets = packets_of("relay-mysql")
    begins = [each for each in packets if BEHIND_IT in ports(each)][:20]
    round_trips, behind = counts(behind_source_nat(begins), tmp_path)
    assert (round_trips, behind) == (2 * counts(begins, tmp_path)[0], [False, False])


def on_one_machine(*, slower: float, jitter_ms: float, every_ms: float | None, times: int = 60) -> list[Conn]:
    """Two workers of an application that ask two servers of one machine the same at the same time, nobody between."""
    chance = np.random.default_rng(3)
    connections = []
    for port, factor in ((5432, slower), (5433, 1.0)):
        asked = [
            Ex(
                sql=f"select a from t{number % 3} where id = ?",
                parameters=number,
                service_ms=factor * float(chance.uniform(0.2, 1.2)),
                client_ms=float(chance.uniform(0.0, 2 * jitter_ms)),
                at_ms=None if every_ms is None else 1 + number * every_ms + float(chance.uniform(0.0, jitter_ms)),
            )
            for number in range(times)
        ]
        connections.append(Conn(asked, rtt_ms=0.02, client=f"127.0.0.1:{port + 40000}", server=f"127.0.0.1:{port}"))
    return connections


@pytest.mark.parametrize("slower", [1.0, 1.5, 4.0])
@pytest.mark.parametrize("jitter_ms", [0.0, 0.05])
@pytest.mark.parametrize("every_ms", [None, 20.0])
def test_workers_that_ask_two_servers_alike_are_no_proxy(
    slower: float, jitter_ms: float, every_ms: float | None
) -> None:
    assert joined_legs(build(on_one_machine(slower=slower, jitter_ms=jitter_ms, every_ms=every_ms))) is None


def test_workers_of_one_server_are_no_proxy() -> None:
    twins = on_one_machine(slower=1.0, jitter_ms=0.05, every_ms=None)
    assert joined_legs(build([replace(each, server="127.0.0.1:5432") for each in twins])) is None


def test_who_waits_longer_is_nearer_to_the_application() -> None:
    """Whatever the clocks of two captures say."""
    far, near = relayed(5)
    legs = joined_legs(build([replace(near, at_ms=-900, session=7), replace(far, session=7)]))
    assert legs is not None
    assert legs.is_inner.tolist() == [True, False]
