"""A recording that begins in mid-connection, on a port that says nothing: whoever's packet is its first."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import load_fixture
from damage import Packet, pcapng, read

import latpcap

CONVERSATIONS = ["mysql/nplus1-300-client", "postgresql/psycopg2-nplus1-100", "firebird/fbclient3-nplus1-100-client"]
USUAL = (3306, 5432, 3050)
UNUSUAL = 65_000
"""Above the client's port, so that the client is taken for the server until they have spoken."""
AFTER_LOGIN, UNTIL = 40, 80
KEPT = 64 << 10


def on_an_unusual_port(packet: Packet) -> Packet:
    assert packet.tcp is not None
    if packet.tcp.source[1] in USUAL:
        return packet.with_tcp(source_port=UNUSUAL)
    return packet.with_tcp(destination_port=UNUSUAL)


def told(path: Path, packets: list[Packet]) -> tuple[str, int, str]:
    """Its one connection: the protocol, round trips, the server's port."""
    path.write_bytes(pcapng(packets))
    (connection,) = latpcap.read(path).connections.to_dicts()
    return connection["protocol"], connection["round_trips"], connection["server"].rpartition(":")[2]


def packets_of(name: str) -> list[Packet]:
    return [packet for packet in read(load_fixture(name).path) if packet.tcp]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_conversation_is_recognised_from_wherever_it_was_recorded(name: str, tmp_path: Path) -> None:
    packets, before = packets_of(name), None
    for first in range(AFTER_LOGIN, UNTIL):
        protocol, round_trips, _ = told(tmp_path / "usual.pcapng", packets[first:])
        unusual = told(tmp_path / "unusual.pcapng", [on_an_unusual_port(packet) for packet in packets[first:]])
        assert unusual == (protocol, round_trips, str(UNUSUAL)), f"from packet {first}"
        assert before is None or before - 1 <= round_trips <= before
        before = round_trips


def test_the_rest_of_a_long_answer_hides_no_conversation(tmp_path: Path) -> None:
    """There is more of it than is kept of a connection that is not recognised yet."""
    packets = packets_of("mysql/nplus1-10k")[20:2000]
    rest = [packet for packet in packets[:200] if packet.tcp and packet.tcp.source[1] in USUAL]
    assert sum(packet.tcp.payload_length for packet in rest if packet.tcp) > KEPT
    protocol, round_trips, _ = told(tmp_path / "usual.pcapng", packets)
    unusual = told(tmp_path / "unusual.pcapng", [on_an_unusual_port(packet) for packet in packets])
    assert unusual == (protocol, round_trips, str(UNUSUAL))
    assert (protocol, round_trips > 100) == ("mysql", True)
