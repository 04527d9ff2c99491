"""What is no database traffic, or lies under other layers: it is read, or it is said what it is."""

from __future__ import annotations

import io
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import mysql_wire
import pytest
from mysql_wire import message, query, result

import latpcap
from latpcap import NoDatabaseTraffic

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Packet = tuple[float, bytes]
SYN, RST, ACK = 2, 4, 16
ETHERNET = bytes(12) + b"\x08\x00"
LLC = b"\xaa\xaa\x03\0\0\0\x08\0"
NO_TCP = ETHERNET + b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\x01\x0a\0\0\x02" + b"\0\x09\0\x09\0\x08\0\0"


def datagram(sender: int, port: int, flags: int, numbers: tuple[int, int], payload: bytes = b"", at: int = 0) -> bytes:
    """An IPv4 datagram from the client (0) or the server (1)."""
    ports = (40_000 + at, port)[:: -1 if sender else 1]
    ends = (b"\x0a\0\0\x01", b"\x0a\0\0\x02")[:: -1 if sender else 1]
    tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, 0x50, flags, 8000, 0, 0) + payload
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + b"".join(ends) + tcp


def connection(port: int, *turns: tuple[int, bytes], at: int = 0) -> list[Packet]:
    """A handshake, then what the two say; without a turn the server refuses."""
    packets = [datagram(0, port, SYN, (99, 0), at=at)]
    sequence = [100, 500]
    if turns:
        packets += [datagram(1, port, SYN | ACK, (499, 100), at=at), datagram(0, port, ACK, (100, 500), at=at)]
    else:
        packets.append(datagram(1, port, RST | ACK, (0, 100), at=at))
    for sender, payload in turns:
        packets.append(datagram(sender, port, ACK, (sequence[sender], sequence[1 - sender]), payload, at))
        sequence[sender] += len(payload)
    return [(1_700_000_000 + at + 0.001 * number, packet) for number, packet in enumerate(packets)]


def mysql(count: int = 3) -> list[Packet]:
    asked = [turn for number in range(count) for turn in ((0, query(f"SELECT {number}")), (1, result(2)))]
    login = [(1, mysql_wire.greeting("10.11.6-MariaDB")), (0, mysql_wire.login("lab", "lab"))]
    return connection(3306, *login, (1, message(2, mysql_wire.OK)), *asked)


def read(
    packets: list[Packet], layers: Callable[[bytes], bytes] = ETHERNET.__add__, link_type: int = 1
) -> latpcap.Capture:
    return latpcap.read([(time, layers(packet), link_type) for time, packet in packets])


def notes(capture: latpcap.Capture) -> dict[str, tuple[int, str]]:
    return {row["code"]: (row["count"], row["message"]) for row in capture.health.to_dicts()}


# --- connections that are none to a database -------------------------------------------------------------------------


def test_a_refused_connection_is_no_database_connection() -> None:
    capture = read([*connection(3306, at=1), *connection(5432, at=2)])
    count, text = notes(capture)["refused"]
    assert count == 2
    assert "mysql on port 3306 (1 connection, first: stream 0), postgresql on port 5432" in text
    with pytest.raises(
        NoDatabaseTraffic, match=r"2 TCP connections, none to a database; .*connections refused by the server"
    ):
        capture.analyze()


def test_refused_and_unanswered_connections_stay_out_of_the_figures() -> None:
    plain, lone = read(mysql()).analyze(), connection(3306, at=60)[:1]
    both = read([*mysql(), *connection(3306, at=30), *lone])
    assert both.analyze().summary.runtime_s == plain.summary.runtime_s
    assert len(both.connections) == 1
    assert {code: count for code, (count, _) in notes(both).items() if code in ("refused", "unanswered")} == {
        "refused": 1,
        "unanswered": 1,
    }


def test_a_port_that_the_user_names_is_a_databases() -> None:
    refused = [(time, ETHERNET + packet) for time, packet in connection(8080)]
    capture = latpcap.read(refused, decode_as={8080: "mysql"})
    assert "(no listener) are left out: port 8080 (1 connection" in notes(capture)["refused"][1]


def test_a_refused_connection_elsewhere_is_nobodys_business() -> None:
    assert set(notes(read(connection(8080)))) == {"no-database-traffic"}


def test_what_is_not_recognised_on_a_database_port_is_named_with_what_to_try() -> None:
    strange = connection(1521, (0, b"\xffsomething else"), (1, b"\xffand its answer"))
    count, text = notes(read(strange))["unrecognised"]
    assert count == 1
    assert "oracle on port 1521 (1 connection, first: stream 0)" in text
    assert "--decode-as 1521=oracle reads it anyway, --decode-as 1521=opaque counts its round trips" in text
    assert "unrecognised" not in notes(read(connection(8080, (0, b"\xffsomething else"), (1, b"\xff"))))


ASKED = b"\x21" + bytes(17)


@pytest.mark.parametrize(
    ("name", "port", "asked", "answered"),
    [
        ("Sybase ASE", 5000, b"\x0f\x01\0\x1a\0\0\0\0" + ASKED, b"\x04\x01\0\x1a\0\0\0\0" + ASKED),
        ("Redis", 6379, b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"),
        (
            "Elasticsearch or OpenSearch",
            9200,
            b"GET / HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nX-elastic-product: Elasticsearch\r\n\r\n",
        ),
    ],
)
def test_other_databases_are_named(name: str, port: int, asked: bytes, answered: bytes) -> None:
    count, text = notes(read(connection(port, (0, asked), (1, answered))))["other-database"]
    assert count == 1
    assert f"cannot read yet: {name} on port {port} (1 connection" in text
    assert f"--decode-as {port}=opaque counts the round trips" in text
    counted = latpcap.read(
        [(time, ETHERNET + packet) for time, packet in connection(port, (0, asked), (1, answered))],
        decode_as={port: "opaque"},
    )
    assert "other-database" not in notes(counted)
    assert counted.analyze().summary.round_trips == 1


def keep_alives(port: int, *senders: int, byte: bytes = b"\0", at: int = 0) -> list[Packet]:
    """Keep-alives of the client (0) or the server (1), each acknowledged, on a connection that was there before."""
    numbers = (100, 500)
    packets = []
    for number, sender in enumerate(senders):
        mine, other = numbers[sender], numbers[1 - sender]
        time = 1_700_000_000 + 30.0 * number + at
        packets.append((time, datagram(sender, port, ACK, (mine - 1, other), byte, at)))
        packets.append((time + 0.001, datagram(1 - sender, port, ACK, (other, mine), at=at)))
    return packets


@pytest.mark.parametrize("port", [1433, 1521, 3050, 3306, 5432])
@pytest.mark.parametrize("byte", [b"", b"\0"])
def test_keep_alives_are_no_traffic_whatever_it_is_decoded_as(port: int, byte: bytes) -> None:
    packets = keep_alives(port, 0, 0, 1, 0, byte=byte)
    assert "unrecognised" not in notes(read(packets))
    frames = [(time, ETHERNET + packet) for time, packet in packets]
    for name in ("sqlserver", "mysql", "postgresql", "oracle", "firebird", "opaque"):
        with pytest.raises(NoDatabaseTraffic):
            latpcap.read(frames, decode_as={port: name}).analyze()


def test_what_follows_keep_alives_is_read() -> None:
    asked = connection(
        3306, *[turn for number in range(3) for turn in ((0, query(f"SELECT {number}")), (1, result(2)))]
    )
    packets = [*keep_alives(3306, 0, 1), *((time + 90, packet) for time, packet in asked[3:])]
    exchanges = read(packets).exchanges
    assert [(row["command"], row["complete"]) for row in exchanges[["command", "complete"]]] == [("query", True)] * 3


FREETDS = {
    "Sybase ASE or SQL Server before 7.0": (b"\x04\x02\0\0", 588),
    "Sybase ASE": (b"\x05\0\0\0", 619),
}
"""The version that FreeTDS's `tsql` asks for with TDSVER=4.2 and 5.0, and the lengths of its login's packets."""


def old_login(version: bytes, length: int) -> bytes:
    def field(text: bytes) -> bytes:
        return text.ljust(30, b"\0") + bytes([len(text)])

    body = b"".join(map(field, (b"vm", b"sa", b"sec", b"4711"))).ljust(458, b"\0") + version
    body = body.ljust(length - 16, b"\0")
    first, second = body[:504], body[504:]
    head = struct.pack(">BBHI", 2, 0, 512, 0), struct.pack(">BBHI", 2, 1, 8 + len(second), 0)
    return head[0] + first + head[1] + second


@pytest.mark.parametrize("name", FREETDS)
@pytest.mark.parametrize("port", [1433, 1521, 3050, 3306, 4100, 5432, 45_000])
def test_logins_of_old_tds_are_named_on_any_port(name: str, port: int) -> None:
    login = old_login(*FREETDS[name])
    for turns in ([(0, login)], [(0, login[:512]), (0, login[512:]), (1, b"\x04\x01\0\x11\0\0\0\0\xfd" + bytes(8))]):
        assert f"{name} on port {port} (1 connection" in notes(read(connection(port, *turns)))["other-database"][1]


def event(sequence: int, kind: int, body: bytes) -> bytes:
    length = 19 + len(body)
    return message(sequence, b"\0" + struct.pack("<IBIIIH", 1_700_000_000, kind, 1, length, 9_000 + length, 0) + body)


@pytest.mark.parametrize("before", [b"", b"\x07" * 300], ids=["whole events", "the rest of one"])
def test_a_binary_log_is_known_from_the_middle_on(before: bytes) -> None:
    events = [(1, event(number, 30, bytes(60))) for number in range(6)]
    capture = read(connection(3306, (1, before + event(9, 31, bytes(20))), *events)[3:])
    assert "unrecognised" not in notes(capture)
    assert "pushed data (replication, events) is not counted" in notes(capture)["replication"][1]
    assert [(row["protocol"], row["round_trips"]) for row in capture.connections[["protocol", "round_trips"]]] == [
        ("mysql", 0)
    ]


# --- files without any -----------------------------------------------------------------------------------------------


def capture_file(path: Path, packets: list[bytes], link_type: int = 1) -> Path:
    records = b"".join(
        struct.pack("<IIII", 9, number, len(each), len(each)) + each for number, each in enumerate(packets)
    )
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type) + records)
    return path


PROTECTED = b"\x08\x41" + bytes(22) + bytes(40)


@pytest.mark.parametrize(
    ("packets", "link_type", "reason"),
    [
        ([], 1, "it contains no packets"),
        ([NO_TCP] * 3, 1, "none of its 3 packets is TCP"),
        ([b"abc"] * 2, 189, "latpcap cannot read 2 packets of USB (link type 189)"),
        ([PROTECTED] * 5, 105, "packets are encrypted by Wi-Fi (first: frame 1)"),
        (
            [ETHERNET + b"\x41" + bytes(30)],
            1,
            "packets are damaged and left out (first: frame 1: the lengths in the IPv4",
        ),
    ],
)
def test_health_and_captures_always_answer(
    latpcap: Run, tmp_path: Path, packets: list[bytes], link_type: int, reason: str
) -> None:
    path = capture_file(tmp_path / "x.pcap", packets, link_type)
    for command in ("health", "captures"):
        done = latpcap("table", command, path, "--format", "csv")
        assert done.returncode == 0, done.stderr
        assert path.name in done.stdout.decode()
    told = latpcap("table", "health", path, "--format", "csv").stdout.decode()
    assert f"{path.name}: no TCP connection, so no database traffic: {reason}" in told
    done = latpcap("analyze", path)
    assert done.returncode == 4
    assert reason in done.stderr.decode()


def test_a_capture_without_traffic_shows_itself() -> None:
    capture = read(connection(3306))
    assert "0 connections" in repr(capture)
    assert "none to a database" in capture._repr_html_()


def test_what_hides_connections_is_told_beside_the_hint() -> None:
    damaged = (1_700_000_009.0, b"\x41" + bytes(30))
    with pytest.raises(NoDatabaseTraffic, match=r"name it with --decode-as PORT=PROTOCOL; packets are damaged"):
        read([*connection(8080, (0, b"GET / HTTP/1.1\r\n\r\n")), damaged]).analyze()


def test_a_file_that_is_cut_says_so_where_nothing_is_left(latpcap: Run, tmp_path: Path) -> None:
    path = capture_file(tmp_path / "x.pcap", [NO_TCP])
    path.write_bytes(path.read_bytes()[:-5])
    done = latpcap("analyze", path)
    assert done.returncode == 4
    assert "no database traffic: the file ends inside the packet" in done.stderr.decode()


# --- layers ----------------------------------------------------------------------------------------------------------


def wifi(body: bytes, kind: int = 0x08, flags: int = 1, more: bytes = b"") -> bytes:
    return bytes([kind, flags]) + bytes(22) + more + LLC + body


def in_udp(port: int, payload: bytes) -> bytes:
    udp = struct.pack(">HHHH", 9, port, 8 + len(payload), 0) + payload
    return ETHERNET + struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + bytes(8) + udp


LAYERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "vxlan-8472": (1, lambda ip: in_udp(8472, b"\x08" + bytes(7) + ETHERNET + ip)),
    "gtp-u": (1, lambda ip: in_udp(2152, struct.pack(">BBHI", 0x30, 0xFF, len(ip), 7) + ip)),
    "802.11": (105, lambda ip: wifi(ip) + b"fcs!"),
    "802.11 QoS": (105, lambda ip: wifi(ip, 0x88, 2, b"\0\0")),
    "802.11 between access points": (105, lambda ip: wifi(ip, 0x88, 3, bytes(8))),
    "radiotap": (127, lambda ip: b"\0\0\x09\0\x02\0\0\0\x10" + wifi(ip) + b"fcs!"),
    "ppi": (192, lambda ip: struct.pack("<BBHI", 0, 0, 8, 105) + wifi(ip)),
    "prism": (119, lambda ip: struct.pack("<II", 0x44, 144) + bytes(136) + wifi(ip)),
    "frame relay": (107, lambda ip: b"\x18\x41\x03\xcc" + ip),
    "juniper": (178, lambda ip: b"MGC\x80\0\x03\x01\x01\x09" + ETHERNET + ip),
    "juniper without link layer": (178, lambda ip: b"MGC\x02\x02\0\0\0" + ip),
    "macsec": (1, lambda ip: bytes(12) + b"\x88\xe5\x20\0" + bytes(12) + b"\x08\0" + ip + bytes(16)),
    "cisco metadata": (1, lambda ip: bytes(12) + b"\x89\x09\x01\x01\0\x01\0\x09\x08\0" + ip),
    "nsh": (1, lambda ip: bytes(12) + b"\x89\x4f\0\x02\x02\x01" + bytes(4) + ip),
}


@pytest.mark.parametrize("layers", LAYERS)
def test_the_same_dialogue_is_read_under_any_layer(layers: str) -> None:
    link_type, wrap = LAYERS[layers]
    names = ("command", "statement", "rows", "round_trips", "complete")
    expected = [[row[name] for name in names] for row in read(mysql()).exchanges.to_dicts()]
    capture = read(mysql(), wrap, link_type)
    assert [[row[name] for name in names] for row in capture.exchanges.to_dicts()] == expected
    assert "snap-length" not in notes(capture)


def test_an_aggregate_of_wifi_frames_holds_several_segments() -> None:
    def subframe(body: bytes) -> bytes:
        length = len(LLC + body)
        return bytes(12) + struct.pack(">H", length) + LLC + body + bytes(-(14 + length) % 4)

    packets = mysql(6)
    pairs = [packets[at : at + 2] for at in range(0, len(packets), 2)]
    joined = [
        (pair[0][0], b"\x88\x01" + bytes(22) + b"\x80\0" + b"".join(subframe(packet) for _, packet in pair))
        for pair in pairs
    ]
    capture = latpcap.read([(time, frame, 105) for time, frame in joined])
    assert [row["statement"] for row in capture.exchanges.to_dicts()][-6:] == ["select ?"] * 6
    assert all(row["complete"] for row in capture.exchanges.to_dicts())


# --- what is cut ----------------------------------------------------------------------------------------------------


def cut(missing: int, padding: int = 0) -> latpcap.Capture:
    """A file whose packets lack their last bytes; behind the datagram there are `padding` bytes more on the wire."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
    records = b""
    for time, packet in mysql():
        frame = ETHERNET + packet + bytes(padding)
        seconds, microseconds = divmod(round(time * 1e6), 10**6)
        records += (
            struct.pack("<IIII", seconds, microseconds, len(frame) - missing, len(frame))
            + frame[: len(frame) - missing]
        )
    return latpcap.read(header + records)


def test_a_check_sequence_or_padding_that_was_not_captured_is_no_cut() -> None:
    assert "snap-length" not in notes(cut(missing=4, padding=4))
    assert "snap-length" not in notes(cut(missing=6, padding=18))
    count, text = notes(cut(missing=5, padding=4))["snap-length"]
    assert count > 3
    assert "packets were cut by the snap length" in text


# --- names and interruptions ----------------------------------------------------------------------------------------


def test_a_file_name_cannot_steer_a_terminal(latpcap: Run, tmp_path: Path) -> None:
    path = capture_file(tmp_path / "a\x1b[31m\nb.pcap", [NO_TCP])
    for command in ("captures", "health"):
        for chosen in ("csv", "jsonl", "table"):
            done = latpcap("table", command, path, "--format", chosen)
            assert done.returncode == 0
            assert b"\x1b" not in done.stdout + done.stderr
            assert b"\\u001b" not in done.stdout


class Interrupted(io.RawIOBase):
    """A reader that is interrupted after its first bytes."""

    def __init__(self, raised: BaseException) -> None:
        self.raised, self.parts = raised, [mysql_wire.tcp.PCAP_HEADER + bytes(4)]

    def read(self, size: int = -1) -> bytes:
        if not self.parts:
            raise self.raised
        return self.parts.pop()


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(7)])
def test_an_interruption_of_a_reader_is_raised_again(raised: BaseException) -> None:
    with pytest.raises(type(raised)) as seen:
        latpcap.read(Interrupted(raised))
    assert seen.value is raised


def test_an_interruption_before_the_first_byte_is_raised_again() -> None:
    reader = Interrupted(KeyboardInterrupt())
    reader.parts.clear()
    with pytest.raises(KeyboardInterrupt):
        latpcap.read(reader)


def test_an_error_of_a_reader_is_told_as_one_of_the_file() -> None:
    (note,) = (
        text
        for code, (_, text) in notes(latpcap.read(Interrupted(OSError("gone")))).items()
        if code == "file-unreadable"
    )
    assert "gone" in note


def test_a_sentence_is_shown_whole(latpcap: Run, tmp_path: Path) -> None:
    shown = latpcap("table", "health", capture_file(tmp_path / "x.pcap", [b"abc"], 189)).stdout.decode()
    assert "so no database traffic: latpcap cannot read 1 packet of USB (link type 189)" in shown
