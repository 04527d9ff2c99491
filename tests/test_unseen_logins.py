"""A packet of a connection's beginning that the capture missed: its login costs what those of others cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import damage
import pytest
from conftest import load_fixture
from damage import ACK, MS, SYN, Packet, Packets

import latpcap

LOGINS = {
    "mysql": "mysql/commit-each-row",
    "postgresql": "postgresql/psycopg2-nplus1-100",
    "oracle": "oracle/python-oracledb-nplus1",
    "firebird": "firebird/fbclient3-nplus1",
    "sqlserver": "sqlserver/pymssql-batch",
}
BEGINNING = 40
"""Packets of each connection that are kept: its login, and some of its work."""
PAUSE_NS = 2 * MS
"""After each connection the next one opens."""

MAX_CHANGE_S = 0.004
"""A quarter of a round trip at 15 ms."""


def in_turn(name: str, count: int = 4) -> Packets:
    """The beginning of a connection, so often one after the other, from a port of its own each."""
    packets = [packet for packet in damage.read(load_fixture(name).path) if packet.tcp]
    start = next(place for place, packet in enumerate(packets) if packet.tcp and packet.tcp.flags & (SYN | ACK) == SYN)
    one = packets[start : start + BEGINNING]
    client = one[0].tcp.source if one[0].tcp else None
    length = one[-1].time_ns - one[0].time_ns + PAUSE_NS
    return [moved(packet, number, number * length, client) for number in range(count) for packet in one if packet.tcp]


def moved(packet: Packet, number: int, later_ns: int, client: damage.Address | None) -> Packet:
    tcp = packet.tcp
    assert tcp is not None
    port = 40_000 + number
    by_client = tcp.source == client
    made = packet.with_tcp(source_port=port) if by_client else packet.with_tcp(destination_port=port)
    return replace(made, time_ns=packet.time_ns + later_ns)


def projected_s(packets: Packets) -> float:
    [point] = latpcap.read(damage.pcapng(packets)).project([15.0]).points
    return point.runtime_s or 0.0


def login_of_the_third(packets: Packets) -> Iterator[int]:
    """The places of its packets from its SYN up to its first statement."""
    exchanges = latpcap.read(damage.pcapng(packets)).exchanges.to_dicts()
    works = next(row for row in exchanges if row["stream"] == 2 and row["purpose"] != "setup")
    yield from range(len(packets) // 2, works["request_frame"] - 1)


@pytest.mark.parametrize("protocol", LOGINS)
def test_no_packet_of_a_login_moves_the_projection(protocol: str) -> None:
    packets = in_turn(LOGINS[protocol])
    whole, places = projected_s(packets), list(login_of_the_third(packets))
    assert len(places) >= 6
    for place in places:
        assert projected_s(packets[:place] + packets[place + 1 :]) == pytest.approx(whole, abs=MAX_CHANGE_S), place


def test_a_connection_keeps_its_place_in_a_pool_that_is_opened_in_turn() -> None:
    """Each login of this pool begins when the one before it is over."""
    packets = damage.read(load_fixture("postgresql/pgbench-tpcb-c4").path)
    whole = projected_s(packets)
    startups = [place for place, packet in enumerate(packets) if b"\0\x03\0\0user\0" in packet.data]
    assert len(startups) == 5
    for place in startups:
        assert projected_s(packets[:place] + packets[place + 1 :]) == pytest.approx(whole, rel=0.02), place
