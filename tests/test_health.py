"""Each health code: seen where its defect is, and only there. The captures are a small MySQL dialogue, damaged."""

from __future__ import annotations

import dataclasses
import re
import struct
import warnings
from dataclasses import dataclass
from pathlib import Path

import mysql_wire
import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

import latpcap
from latpcap.measures import health
from latpcap.result.analysis import Measures

DOCS = Path(__file__).parent.parent / "docs" / "health.md"
SYN, ACK, FIN, RST = 2, 16, 1, 4
MSS, ETHERNET = 1460, bytes(12) + b"\x08\x00"
RTT_MS, SERVICE_MS = 2.0, 1.0


@dataclass(frozen=True)
class Packet:
    """One TCP packet as it passes the capture point, which is at the client."""

    at_ms: float
    sender: int
    flags: int
    sequence: int
    acknowledgment: int
    payload: bytes = b""
    number: int = 0
    """The IPv4 identification."""
    window: int = 8000
    options: bytes = b""

    def record(self, snap_length: int = 65535) -> bytes:
        ports = (40000, 3306) if self.sender == 0 else (3306, 40000)
        offset = (20 + len(self.options)) << 2
        head = struct.pack(
            ">HHIIBBHHH", *ports, self.sequence, self.acknowledgment, offset, self.flags, self.window, 0, 0
        )
        tcp = head + self.options + self.payload
        ends = (b"\x0a\0\0\x01", b"\x0a\0\0\x02")[:: -1 if self.sender else 1]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), self.number, 0x4000, 64, 6, 0) + b"".join(ends)
        frame = ETHERNET + ip + tcp
        nanoseconds = 1_700_000_000_000_000_000 + round(self.at_ms * 1e6)
        return (
            struct.pack("<IIII", *divmod(nanoseconds, 10**9), min(len(frame), snap_length), len(frame))
            + frame[:snap_length]
        )

    def later(self, milliseconds: float) -> Packet:
        return dataclasses.replace(self, at_ms=self.at_ms + milliseconds)

    def again(self, milliseconds: float) -> Packet:
        """Sent once more: another IP packet."""
        return dataclasses.replace(self.later(milliseconds), number=self.number + 5000)


class Talk:
    """A connection; times and sequence numbers count themselves."""

    def __init__(self, *, timestamps: bool = False) -> None:
        self.now_ms, self.numbers, self.sequence = 0.137, [100, 900], [1000, 5000]
        self.timestamps = timestamps
        self.packets: list[Packet] = []

    def send(self, sender: int, payload: bytes = b"", flags: int = ACK, options: bytes = b"") -> None:
        if self.timestamps:
            options = struct.pack(">BBBBII", 1, 1, 8, 10, round(self.now_ms) + 77_000, 0) + options
        acknowledgment = self.sequence[1 - sender] if flags & ACK else 0
        self.packets.append(
            Packet(
                round(self.now_ms, 3),
                sender,
                flags,
                self.sequence[sender],
                acknowledgment,
                payload,
                self.numbers[sender],
                options=options,
            )
        )
        self.numbers[sender] += 1
        self.sequence[sender] += len(payload) + bool(flags & (SYN | FIN))

    def wait(self, milliseconds: float) -> None:
        self.now_ms += milliseconds

    def connect(self) -> None:
        options = struct.pack(">BBHBBBB", 2, 4, MSS, 1, 3, 3, 4)
        self.send(0, flags=SYN, options=options)
        self.wait(RTT_MS)
        self.send(1, flags=SYN | ACK, options=options)
        self.wait(0.011)
        self.send(0)
        self.wait(RTT_MS)
        self.send(1, mysql_wire.greeting("10.11.6-MariaDB"))
        self.wait(0.05)
        self.ask(mysql_wire.login("lab", "lab"), mysql_wire.message(2, mysql_wire.OK))

    def ask(self, request: bytes, response: bytes, service_ms: float = SERVICE_MS) -> None:
        self.send(0, request)
        self.wait(RTT_MS + service_ms)
        for start in range(0, len(response), MSS):
            self.send(1, response[start : start + MSS])
            self.wait(0.013)
        self.wait(0.021)

    def queries(self, count: int, rows: int = 3) -> None:
        for number in range(count):
            self.ask(mysql_wire.query(f"SELECT n FROM t WHERE id = {number}"), mysql_wire.result(rows))


def talk(count: int = 20, rows: int = 3, *, timestamps: bool = False) -> list[Packet]:
    made = Talk(timestamps=timestamps)
    made.connect()
    made.queries(count, rows)
    return made.packets


def pcap(packets: list[Packet], snap_length: int = 65535) -> bytes:
    return mysql_wire.tcp.PCAP_HEADER + b"".join(packet.record(snap_length) for packet in packets)


def read(packets: list[Packet]) -> latpcap.Capture:
    return latpcap.read(pcap(packets))


def codes(capture: latpcap.Capture) -> dict[str, int]:
    return {note.code: note.count for note in capture.analyze().health}


def times(capture: latpcap.Capture) -> list[tuple[float | None, bool]]:
    """What each exchange waited, and whether it is complete."""
    return [(each["service_ms"], each["complete"]) for each in capture.exchanges.to_dicts()]


def is_right(capture: latpcap.Capture, count: int = 20) -> bool:
    """The queries that are complete have the service time that they had."""
    queries = [each for each in capture.exchanges.to_dicts() if each["command"] == "query"]
    return len(queries) == count and all(
        abs(each["service_ms"] - SERVICE_MS) < 0.1 for each in queries if each["complete"]
    )


def test_a_clean_capture_has_nothing_to_say_of_its_packets() -> None:
    capture = read(talk())
    assert codes(capture) == {}
    assert is_right(capture)


def test_every_code_has_its_effect_and_advice_and_is_documented() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", DOCS.read_text(), re.MULTILINE)
    keys = {"code", "severity", "message", "count", "effect", "advice"}
    assert sorted(set(listed) - keys) == sorted(health.ADVICE)
    assert all(all(texts) for texts in health.ADVICE.values())


def test_a_note_explains_itself_in_every_report() -> None:
    analysis = read(talk()[3:]).analyze()
    (note,) = (note for note in analysis.to_dict()["health"] if note["code"] == "missing-handshake")
    assert note["effect"] == health.ADVICE["missing-handshake"][0]
    assert note["advice"] in analysis._repr_html_()


# --- copies, order, loss ----------------------------------------------------------------------------------------------


def doubled(packets: list[Packet], after_ms: float) -> list[Packet]:
    both = [(packet.at_ms + delay, packet.later(delay)) for packet in packets for delay in (0.0, after_ms)]
    return [packet for _, packet in sorted(both, key=lambda pair: pair[0])]


@pytest.mark.parametrize("after_ms", [0.0, 0.007, 0.4])
def test_packets_captured_twice_count_once(after_ms: float) -> None:
    clean = talk(rows=2000)
    capture = read(doubled(clean, after_ms))
    assert codes(capture) == {"duplicate-packets": len(clean)}
    assert times(capture) == times(read(clean))
    (connection,) = capture.connections.to_dicts()
    assert (connection["retransmissions"], connection["tcp_duplicate_packets"]) == (0, len(clean))
    assert not capture.recording.connection_column("handshake_retransmitted").values.any()


def test_a_packet_sent_twice_is_a_retransmission_and_no_copy() -> None:
    packets = talk()
    request = next(index for index, packet in enumerate(packets) if b"id = 9" in packet.payload)
    packets.insert(request + 1, packets[request].again(1.5))
    assert codes(read(packets)) == {"retransmissions": 1}


def test_a_repeated_syn_is_a_retransmission_where_its_number_is_new() -> None:
    packets = talk()
    capture = read([packets[0].later(-1000), packets[0].again(0), *packets[1:]])
    assert capture.recording.connection_column("handshake_retransmitted").values.all()
    assert codes(capture)["timeouts"] == 1


def test_packets_out_of_order_are_no_retransmissions() -> None:
    packets = talk(rows=2000)
    long = [index for index, packet in enumerate(packets) if len(packet.payload) == MSS]
    one = long[len(long) // 2]
    packets[one], packets[one + 1] = packets[one + 1].later(-0.013), packets[one].later(0.013)
    capture = read(packets)
    assert codes(capture) == {"reordered": 1}
    assert is_right(capture)


def test_a_hole_that_is_filled_after_a_round_trip_is_a_retransmission() -> None:
    packets = talk(rows=2000)
    long = [index for index, packet in enumerate(packets) if len(packet.payload) == MSS]
    one, later = long[0], packets[long[1]].at_ms
    late = packets[one].again(later + 2 * RTT_MS - packets[one].at_ms)
    rest = sorted([*packets[:one], *packets[one + 1 :], late], key=lambda packet: packet.at_ms)
    assert codes(read(rest))["retransmissions"] == 1


def test_a_retransmission_after_a_silence_is_a_timeout() -> None:
    packets = talk()
    request = next(index for index, packet in enumerate(packets) if b"id = 9" in packet.payload)
    late = [packets[request].again(203.0)] + [packet.later(203.0) for packet in packets[request + 1 :]]
    found = codes(read(packets[: request + 1] + late))
    assert (found["timeouts"], found["retransmissions"]) == (1, 1)


def test_what_the_capture_lost_is_counted_and_its_exchange_is_incomplete() -> None:
    packets = talk()
    answer = next(index for index, packet in enumerate(packets) if b"id = 9" in packet.payload) + 1
    capture = read(packets[:answer] + packets[answer + 1 :])
    found = codes(capture)
    assert found["capture-loss"] == len(packets[answer].payload)
    assert 1 <= found["incomplete-exchanges"] <= 2
    assert is_right(capture)


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def packet_block(packet: Packet, interface: int) -> bytes:
    """A packet with a time in nanoseconds."""
    record = packet.record()
    seconds, nanoseconds, length, original = struct.unpack_from("<IIII", record)
    time = divmod(seconds * 10**9 + nanoseconds, 1 << 32)
    return block(6, struct.pack("<IIIII", interface, *time, length, original) + record[16:] + bytes(-length % 4))


@pytest.mark.parametrize("offsets", [(1 << 40, 1 << 40), (-(1 << 40), 1 << 40), (0, 1 << 40), (0, -(1 << 63))])
def test_times_that_no_clock_shows(offsets: tuple[int, int], tmp_path: Path) -> None:
    resolution = struct.pack("<HHB3x", 9, 1, 9)
    described = (struct.pack("<HHI", 1, 0, 0) + resolution + struct.pack("<HHqHH", 14, 8, by, 0, 0) for by in offsets)
    interfaces = b"".join(block(1, body) for body in described)
    packets = [packet_block(packet, number % 2) for number, packet in enumerate(talk())]
    (tmp_path / "far.pcapng").write_bytes(SECTION + interfaces + b"".join(packets))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capture = latpcap.read(tmp_path / "far.pcapng")
        found = codes(capture)
    wrong = len(packets) if offsets[0] else len(packets) // 2
    assert found["clock-range"] == wrong


def test_drops_that_the_file_tells_of(tmp_path: Path) -> None:
    section = SECTION
    interface = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    packets = b"".join(packet_block(packet, 0) for packet in talk())
    statistics = struct.pack("<IIIHHQHHQHH", 0, 0, 0, 5, 8, 300, 7, 8, 12, 0, 0)
    (tmp_path / "drops.pcapng").write_bytes(section + interface + packets + block(5, statistics))
    assert codes(latpcap.read(tmp_path / "drops.pcapng")) == {"capture-drops": 312}
    lying = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 9, 200))
    assert codes(latpcap.read(section + interface + lying + packets)) == {"file-damaged": 1}


def test_one_direction() -> None:
    only_client = [packet for packet in talk() if packet.sender == 0]
    assert codes(read(only_client))["one-direction"] == 1


def test_cut_packets() -> None:
    assert codes(latpcap.read(pcap(talk(), snap_length=90)))["snap-length"] > 20
    (row,) = latpcap.read(pcap(talk(), snap_length=90)).connections.to_dicts()
    assert row["tcp_cut_packets"] > 20


def test_missing_handshake() -> None:
    assert codes(read(talk()[3:]))["missing-handshake"] == 1
    (row,) = read(talk()[3:]).connections.to_dicts()
    assert (row["tcp_client_mss"], row["tcp_client_window_bytes"]) == (None, None)
    (row,) = read(talk()).connections.to_dicts()
    assert (row["tcp_client_mss"], row["tcp_client_window_bytes"]) == (MSS, 8000 << 4)


# --- clocks -----------------------------------------------------------------------------------------------------------


def stepped(step_ms: float, *, inside: bool, timestamps: bool) -> latpcap.Capture:
    packets = talk(timestamps=timestamps)
    request = next(index for index, packet in enumerate(packets) if b"id = 9" in packet.payload)
    first = request + 1 if inside else request
    return read(packets[:first] + [packet.later(step_ms) for packet in packets[first:]])


@pytest.mark.parametrize(
    ("step_ms", "timestamps"), [(-50.0, False), (-3_600_000.0, True), (5_000.0, True), (3_600_000.0, True)]
)
@pytest.mark.parametrize("inside", [True, False])
def test_a_clock_that_is_set_spoils_no_time(step_ms: float, timestamps: bool, inside: bool) -> None:
    capture = stepped(step_ms, inside=inside, timestamps=timestamps)
    found = codes(capture)
    assert found["clock-step"] == 1
    assert found.get("incomplete-exchanges", 0) == inside
    assert is_right(capture)
    assert all(0 <= row["delta_ms"] < 10 for row in capture.exchanges.to_dicts() if row["delta_ms"] is not None)


def test_a_pause_is_no_step() -> None:
    made = Talk(timestamps=True)
    made.connect()
    for _ in range(3):
        made.queries(2)
        made.wait(3_600_000)
    made.queries(2)
    assert "clock-step" not in codes(read(made.packets))


def test_a_clock_of_whole_milliseconds() -> None:
    coarse = [dataclasses.replace(packet, at_ms=float(round(packet.at_ms))) for packet in talk()]
    assert codes(read(coarse))["coarse-clock"] == len(coarse)


# --- hosts ------------------------------------------------------------------------------------------------------------


def test_segments_longer_than_the_mss() -> None:
    made = Talk()
    made.connect()
    for number in range(20):
        made.send(0, mysql_wire.query(f"SELECT {number}"))
        made.wait(RTT_MS + SERVICE_MS)
        made.send(1, mysql_wire.result(1000))
        made.wait(0.034)
    assert codes(read(made.packets)) == {"offloaded": 20}


def test_zero_windows() -> None:
    packets = talk(rows=2000)
    long = [index for index, packet in enumerate(packets) if len(packet.payload) == MSS]
    at = packets[long[-1]]
    full = Packet(at.at_ms + 0.001, 0, ACK, at.acknowledgment, at.sequence + MSS, number=7777, window=0)
    assert codes(read([*packets[: long[-1] + 1], full, *packets[long[-1] + 1 :]])) == {"zero-window": 1}


def nagle(service_ms: float, *, held: bool, near_ms: float = 0, late: bool = False) -> latpcap.Capture:
    """Each query goes out in two writes; the second waits for the acknowledgment of the first, or not.

    `near_ms`: the part of the RTT between client and capture point. `late`: without the handshake.
    """
    made = Talk()
    made.connect()
    opened = len(made.packets)
    for number in range(20):
        request = mysql_wire.query(f"SELECT name FROM t WHERE id = {number}")
        made.send(0, request[:4] if held else request)
        made.wait(RTT_MS - near_ms + 40)
        made.send(1)
        made.wait(near_ms + 0.02)
        if held:
            made.send(0, request[4:])
        made.wait(RTT_MS - near_ms + service_ms)
        made.send(1, mysql_wire.result(1))
        made.wait(near_ms + 0.1)
    return read(made.packets[opened:] if late else made.packets)


def test_a_delayed_acknowledgment_that_nagle_waits_for() -> None:
    capture = nagle(1, held=True)
    assert codes(capture) == {"delayed-ack": 20}
    stalls = [row["stalled_ms"] for row in capture.exchanges.to_dicts() if row["command"] == "query"]
    assert stalls == pytest.approx([40.0] * 20, abs=0.1)


@pytest.mark.parametrize("near_ms", [0, RTT_MS])
def test_a_stall_is_seen_without_the_handshake(near_ms: float) -> None:
    """At the client and at the server: the first answer shows how late an acknowledgment is."""
    found = codes(nagle(1, held=True, near_ms=near_ms, late=True))
    assert found["delayed-ack"] == 19


def test_a_slow_server_that_acknowledges_late_stalls_nobody() -> None:
    assert codes(nagle(30, held=False)) == {}
    assert "delayed-ack" not in codes(nagle(30, held=False, late=True))


@pytest.mark.parametrize(
    "header",
    [
        b"PROXY TCP4 192.168.0.7 10.0.0.2 56000 3306\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes(12),
    ],
)
def test_a_proxy_header_is_skipped(header: bytes) -> None:
    made = Talk()
    made.connect()
    start = made.packets[2]
    shifted = [
        dataclasses.replace(packet, **{("acknowledgment", "sequence")[packet.sender == 0]: value + len(header)})
        for packet in made.packets[3:]
        if (value := packet.sequence if packet.sender == 0 else packet.acknowledgment) is not None
    ]
    first = dataclasses.replace(start, at_ms=start.at_ms + 0.001, payload=header, number=start.number + 900)
    made.packets[3:] = [first, *shifted]
    made.sequence[0] += len(header)
    made.queries(20)
    capture = read(made.packets)
    assert codes(capture) == {"proxy-header": 1}
    assert is_right(capture)


# --- what the tables say ----------------------------------------------------------------------------------------------


def of_tables(connections: list[Conn]) -> dict[str, int]:
    return {note.code: note.count for note in Measures(build(connections)).analyze().health}


def test_of_a_single_response_nobody_is_told_to_capture_without_loss() -> None:
    alone = Conn([Ex(service_ms=5)], handshake=False)
    assert ("one-response" in of_tables([alone]), "unknown-time" in of_tables([alone])) == (True, False)
    cut = Conn([Ex(service_ms=5), Ex(service_ms=20, complete=False)], handshake=False)
    assert ("one-response" in of_tables([cut]), "unknown-time" in of_tables([cut])) == (False, True)
    assert "one-response" not in of_tables([Conn([Ex(service_ms=5)] * 2, handshake=False)])


@pytest.mark.parametrize(
    ("connection", "code", "count"),
    [
        (Conn(exchanges=[Ex()] * 9, encryption="tls"), "encrypted", 1),
        (Conn(exchanges=[Ex()] * 9, replication=True), "replication", 1),
        (Conn(exchanges=[Ex()] * 9, lost_bytes=77), "capture-loss", 77),
        (Conn(exchanges=[Ex()] * 9, retransmissions=3), "retransmissions", 3),
        (Conn(exchanges=[Ex()] * 8 + [Ex(complete=False)]), "incomplete-exchanges", 1),
        (Conn(rtt_ms=0.05, exchanges=[Ex()] * 9), "near-zero-baseline", 1),
    ],
)
def test_what_the_tables_tell(connection: Conn, code: str, count: int) -> None:
    assert of_tables([connection])[code] == count


# --- real captures ----------------------------------------------------------------------------------------------------


def test_a_mirrored_recording_tells_the_same_as_the_plain_one() -> None:
    doubled, plain = (read_fixture(f"mysql/{name}") for name in ("doubled", "nplus1-300-client"))
    assert codes(doubled)["duplicate-packets"] == plain.analyze().captures[0].packets
    assert doubled.exchanges.column("service_ms").tolist() == pytest.approx(
        plain.exchanges.column("service_ms").tolist(), nan_ok=True
    )


def test_what_limits_the_trust_is_known_without_a_whole_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = build([Conn(exchanges=[Ex()] * 3, handshake=False)])
    expected = [note.code for note in Measures(recording).analyze().health]
    monkeypatch.delattr(Measures, "analyze")
    assert latpcap.Capture(recording).health.column("code").tolist() == expected != []


MEASURED = (
    *("baseline-unknown", "baseline-upper-bound", "baseline-assumed", "baseline-either", "loopback", "path-changed"),
    *("near-zero-baseline", "encrypted", "replication", "missing-handshake", "capture-loss", "retransmissions", "loss"),
    *("incomplete-exchanges", "unknown-time", "one-response", "keys-missing", "keys-wrong", "tls-interrupted"),
)
"""Notes that Python makes of packets."""


@pytest.mark.parametrize(
    "name",
    [
        *("mysql/nplus1-300-loss2", "mysql/path-changes", "mysql/pool-4", "postgresql/several-applications"),
        *("mysql/mysql97-cli-tls", "firebird/fbclient3-nplus1", "findings/wide-my", "findings/uncached"),
    ],
)
def test_a_note_about_packets_names_the_first(name: str) -> None:
    capture = read_fixture(name)
    frames = capture.captures.column("packets").sum()
    told = {note.code: note.first_frame for note in capture.analyze().health if note.code in MEASURED}
    assert all(frame is not None and 1 <= frame <= frames for frame in told.values()), told


def test_a_note_about_some_of_them_says_which_in_words() -> None:
    connections = [Conn([Ex(sql="select 1")], state=state) for state in ("complete", "running", "running")]
    [note] = [note for note in Measures(build(connections)).health if note.code == "missing-handshake"]
    assert (note.count, note.first_frame) == (2, 3)
    assert note.message.endswith("are unknown (first: frame 3)")


def test_what_all_of_them_have_needs_no_frame_in_words() -> None:
    [note] = [
        note
        for note in Measures(build([Conn([Ex(sql="select 1")], state="running")])).health
        if note.code == "missing-handshake"
    ]
    assert note.first_frame == 1
    assert "frame" not in note.message
