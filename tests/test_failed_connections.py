"""Connections that fail at TCP: refused, never answered, reset; counted as their clients saw them."""

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Done, analysed, read_fixture
from damage import Packet, pcapng
from test_unread import ACK, ETHERNET, RST, SYN, datagram, mysql, read

import latpcap as package
from latpcap.measures.failed_connections import failed_connections

Run = Callable[..., Done]
NAME = "tcp/failed-connections"
PATH = FIXTURES / f"{NAME}.pcapng"
TRUTH: dict[str, Any] = tomllib.loads(PATH.with_suffix(".toml").read_text())
FIN = 1
SLACK_S = 0.35
"""What a client's own clock has beyond the packets: its processor, which was busy."""


def failed(capture: package.Capture) -> dict[str, int]:
    return {row["code"]: row["count"] for row in capture.errors.to_dicts() if row["kind"] == "connection"}


# --- a real server and a real client --------------------------------------------------------------------------------


def test_each_failure_is_one_that_the_client_saw() -> None:
    capture = read_fixture(NAME)
    assert failed(capture) == TRUTH["failed"]
    errors = analysed(NAME).errors
    assert (errors.connections, errors.failed_connections) == (TRUTH["connections"], sum(TRUTH["failed"].values()))
    assert (errors.failures, errors.unread_statements) == (0, 0)


@pytest.mark.parametrize("way", TRUTH["failed"])
def test_what_clients_lost_is_what_their_clocks_say(way: str) -> None:
    [row] = [row for row in read_fixture(NAME).errors.to_dicts() if row["code"] == way]
    seen = TRUTH["seen_s"][way]
    slack = SLACK_S + (way == "never answered")  # whose time limit goes on for a second behind the last SYN
    assert sum(seen) - slack * len(seen) <= row["seconds"] <= sum(seen)


def test_the_filter_shows_the_failed_connections() -> None:
    capture = read_fixture(NAME)
    table = capture.recording.all_connections_table
    refused = [row for row in capture.errors.to_dicts() if row["code"] == "refused"]
    streams = [number for number, state in enumerate(table.column("state").to_pylist()) if state == "refused"]
    assert [row["display_filter"] for row in refused] == [f"tcp.stream in {{{streams[0]}..{streams[-1]}}}"]
    assert refused[0]["statement"] == "10.9.0.4:3306"
    assert refused[0]["protocol"] == "mysql"


def test_the_verdict_names_them() -> None:
    assert "9 of 12 TCP connections failed: 3 × reset by server, 3 × refused, 2 × never answered" in analysed(NAME).text


@pytest.mark.parametrize(
    ("name", "said"), [("refused", "3 of 3 TCP connections failed"), ("filtered", "1 of 1 TCP connection failed")]
)
def test_where_nobody_was_let_in_errors_says_so_and_is_done(latpcap: Run, name: str, said: str) -> None:
    done = latpcap("table", "errors", FIXTURES / "mysql" / f"{name}.pcapng", "--json")
    assert done.returncode == 0
    [row] = json.loads(done.stdout)["rows"]
    assert row["kind"] == "connection"
    assert said in done.stderr.decode()
    assert "no database traffic" not in done.stderr.decode()


def test_where_no_database_was_looked_for_there_is_no_database_traffic(latpcap: Run, tmp_path: Path) -> None:
    web = tmp_path / "web.pcapng"
    packets = [*refused(port=443), *refused(port=80, at=1)]
    web.write_bytes(pcap(packets))
    done = latpcap("table", "errors", web)
    assert (done.returncode, done.stdout) == (4, b"")


def test_a_port_that_the_user_names_is_looked_for(latpcap: Run, tmp_path: Path) -> None:
    odd = tmp_path / "odd.pcapng"
    odd.write_bytes(pcap(refused(port=33333)))
    done = latpcap("table", "errors", odd, "--decode-as", "33333=postgresql", "--json")
    assert [row["protocol"] for row in json.loads(done.stdout)["rows"]] == ["postgresql"]


# --- what counts and what does not ----------------------------------------------------------------------------------


def refused(port: int = 3306, at: int = 0) -> list[tuple[float, bytes]]:
    return [
        (1_700_000_000 + at, datagram(0, port, SYN, (99, 0), at=at)),
        (1_700_000_000.001 + at, datagram(1, port, RST | ACK, (0, 100), at=at)),
    ]


def pcap(packets: list[tuple[float, bytes]]) -> bytes:
    frames = [(round(time * 1e9), ETHERNET + data) for time, data in packets]
    return pcapng([Packet(number, at, 1, data, len(data)) for number, (at, data) in enumerate(frames)])


def ended(*flags: tuple[int, int], asks: bool = False) -> package.Capture:
    """A session, and behind it what each side (0: client, 1: server) says last; `asks`: a query waits meanwhile."""
    from mysql_wire import query

    packets = mysql()
    time, sequence = packets[-1][0], [0, 0]
    for _, data in packets:
        sender = int(data[12:16] == b"\x0a\0\0\x02")
        number = int.from_bytes(data[24:28], "big")
        sequence[sender] = number + len(data) - 40 + (1 if data[33] & SYN else 0)
    if asks:
        text = query("SELECT SLEEP(9)")
        packets.append((time + 0.1, datagram(0, 3306, ACK, (sequence[0], sequence[1]), text)))
        sequence[0] += len(text)
    for number, (sender, flag) in enumerate(flags):
        numbers = (sequence[sender], sequence[1 - sender])
        packets.append((time + 0.6 + 0.01 * number, datagram(sender, 3306, flag | ACK, numbers)))
    return read(packets)


@pytest.mark.parametrize(
    ("flags", "asks", "found"),
    [
        ([(1, RST)], False, {"reset by server": 1}),
        ([(1, RST)], True, {"reset by server": 1}),
        ([(0, RST)], True, {"reset by client": 1}),
        ([(0, RST)], False, {}),
        ([(0, FIN), (1, RST)], True, {}),
        ([(1, RST), (0, FIN)], False, {}),
        ([(1, RST), (0, RST)], False, {}),
        ([(1, FIN), (0, RST)], False, {}),
        ([(0, FIN), (1, FIN)], False, {}),
    ],
    ids=str,
)
def test_a_reset_fails_only_who_still_wanted_something(
    flags: list[tuple[int, int]], asks: bool, found: dict[str, int]
) -> None:
    assert failed(ended(*flags, asks=asks)) == found


def test_the_lost_time_begins_with_the_request_that_waited() -> None:
    [row] = [row for row in ended((1, RST), asks=True).errors.to_dicts() if row["kind"] == "connection"]
    assert row["seconds"] == pytest.approx(0.5, abs=1e-3)
    [idle] = [row for row in ended((1, RST)).errors.to_dicts() if row["kind"] == "connection"]
    assert idle["seconds"] == 0


def test_a_syn_at_the_end_of_a_capture_may_still_be_answered() -> None:
    lone = [(1_700_000_050.0, datagram(0, 3306, SYN, (99, 0), at=60))]
    assert failed(read([*mysql(), *lone])) == {}
    later = [(time + 52, data) for time, data in mysql(1)]
    assert failed(read([*lone, *later])) == {"never answered": 1}


def test_a_syn_that_is_sent_again_was_not_answered() -> None:
    twice = [(1_700_000_050.0 + 0.5 * number, datagram(0, 3306, SYN, (99, 0), at=60)) for number in range(2)]
    assert failed(read([*mysql(), *twice])) == {"never answered": 1}


def test_connections_to_other_ports_are_nobodys_error() -> None:
    assert failed(read([*mysql(), *refused(port=443, at=30)])) == {}


def test_a_server_that_serves_elsewhere_in_the_capture_is_known_on_any_port() -> None:
    import mysql_wire
    from mysql_wire import message
    from test_unread import connection

    login = [(1, mysql_wire.greeting("10.11.6-MariaDB")), (0, mysql_wire.login("lab", "lab"))]
    odd = connection(45_306, *login, (1, message(2, mysql_wire.OK)), (0, mysql_wire.query("SELECT 1")))
    assert failed(read([*odd, *refused(port=45_306, at=30)])) == {"refused": 1}


def test_counts_of_kinds_add_up() -> None:
    capture = read_fixture(NAME)
    found = failed_connections(capture.recording, {})
    assert Counter(found.way.tolist()) == {0: 3, 1: 2, 2: 3, 3: 1}
    assert (found.lost_ns >= 0).all()
    assert found.tried == TRUTH["connections"]
