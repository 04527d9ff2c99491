from __future__ import annotations

import io
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from conftest import load_fixture

import latpcap
from latpcap import CaptureError, UsageError
from latpcap.tables.reading.sources import resolve

NPLUS1 = "mysql/nplus1-300-client"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.pcap", "a.pcap", "c.txt"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def test_a_glob_is_expanded_in_the_order_of_names(folder: Path) -> None:
    assert resolve(f"{folder}/*.pcap") == [f"{folder}/a.pcap", f"{folder}/b.pcap"]


def test_lists_may_hold_anything_that_can_be_read(folder: Path) -> None:
    file = io.BytesIO()
    assert resolve([folder / "a.pcap", [b"bytes", file]]) == [f"{folder}/a.pcap", b"bytes", file]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(folder: Path) -> None:
    (folder / "a[1].pcap").write_bytes(b"")
    assert resolve(f"{folder}/a[1].pcap") == [f"{folder}/a[1].pcap"]


def test_the_pipe_is_no_file() -> None:
    assert resolve("-") == ["-"]


def test_what_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(CaptureError, match=r"nothing\.pcap: no such file"):
        resolve(f"{folder}/nothing.pcap")
    with pytest.raises(CaptureError, match=r"\*\.gz: no such file"):
        resolve(f"{folder}/*.gz")


def test_a_directory_is_no_capture(folder: Path) -> None:
    with pytest.raises(CaptureError, match="is a directory; name its files"):
        resolve(folder)


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot read a int"):
        resolve(7)


def verdict(source: object) -> str:
    return latpcap.read(source).analyze().text


def test_path_bytes_and_file_object_say_the_same() -> None:
    path = load_fixture(NPLUS1).path
    with path.open("rb") as file:
        assert verdict(path) == verdict(str(path)) == verdict(path.read_bytes()) == verdict(file)


def pcap(path: Path) -> bytes:
    """The fixture as plain pcap with microseconds, which scapy and dpkt read alike."""
    scapy = pytest.importorskip("scapy.all")
    buffer = io.BytesIO()
    writer = scapy.RawPcapWriter(buffer, linktype=101, nano=True)
    writer.write_header(None)
    with scapy.RawPcapNgReader(str(path)) as reader:
        for raw, meta in reader:
            ticks = (meta.tshigh << 32) | meta.tslow
            writer.write_packet(raw, sec=ticks // meta.tsresol, usec=ticks % meta.tsresol * 10**9 // meta.tsresol)
    writer.flush()
    return buffer.getvalue()


def test_packets_of_scapy_say_the_same() -> None:
    scapy = pytest.importorskip("scapy.all")
    path = load_fixture(NPLUS1).path
    assert verdict(scapy.rdpcap(str(path))) == verdict(path)


def test_packets_of_which_scapy_knows_no_layer_say_the_same() -> None:
    packet = pytest.importorskip("scapy.packet")
    raw = []
    for time, content in raw_packets():
        raw.append(packet.Raw(content))
        raw[-1].time = time
    assert verdict(raw) == verdict(load_fixture(NPLUS1).path)


def test_a_reader_of_dpkt_says_the_same() -> None:
    dpkt = pytest.importorskip("dpkt")
    path = load_fixture(NPLUS1).path
    assert verdict(dpkt.pcap.Reader(io.BytesIO(pcap(path)))) == verdict(path)


def raw_packets() -> list[tuple[float, bytes]]:
    dpkt = pytest.importorskip("dpkt")
    return list(dpkt.pcap.Reader(io.BytesIO(pcap(load_fixture(NPLUS1).path))))


def test_tuples_of_raw_ip_need_no_link_type() -> None:
    dpkt = pytest.importorskip("dpkt")
    packets, path = raw_packets(), load_fixture(NPLUS1).path
    assert verdict(packets) == verdict(path)
    assert verdict((time, dpkt.ip.IP(raw)) for time, raw in packets) == verdict(path)
    assert verdict([packets[0], *packets[1:]]) == verdict(path)


def in_ethernet(raw: bytes, target: str = "525400112233") -> bytes:
    return bytes.fromhex(f"{target}525400445566{'86dd' if raw[0] >> 4 == 6 else '0800'}") + raw


def test_tuples_of_ethernet_frames_stay_what_they_are() -> None:
    dpkt = pytest.importorskip("dpkt")
    packets, path = raw_packets(), load_fixture(NPLUS1).path
    assert verdict([(time, in_ethernet(raw)) for time, raw in packets]) == verdict(path)
    assert verdict([(time, dpkt.ethernet.Ethernet(in_ethernet(raw))) for time, raw in packets]) == verdict(path)


def in_ip6(raw: bytes) -> bytes:
    tcp = raw[4 * (raw[0] & 15) : int.from_bytes(raw[2:4], "big")]
    addresses = b"".join(bytes.fromhex("20010db8000000000000") + bytes(2) + raw[at : at + 4] for at in (12, 16))
    return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + addresses + tcp


def test_tuples_of_raw_ip_version_6_are_read_as_well() -> None:
    packets = [(time, in_ip6(raw)) for time, raw in raw_packets()]
    assert verdict(packets) == verdict(load_fixture(NPLUS1).path)
    assert verdict([(time, in_ethernet(raw)) for time, raw in packets]) == verdict(packets)


def test_a_card_s_address_may_begin_as_a_header_of_ip_does() -> None:
    packets = raw_packets()
    for target in ("4c0000000001", "45ffffffffff", "60000000003c", "6f0000000000", "46ff00ff00ff"):
        assert verdict([(time, in_ethernet(raw, target)) for time, raw in packets]) == verdict(packets), target


def test_packets_that_do_not_tell_their_link_type_can_be_given_one() -> None:
    packets = [(time, raw[:10] + bytes(2) + raw[12:]) for time, raw in raw_packets()]  # without a checksum
    with pytest.raises(latpcap.NoDatabaseTraffic):
        latpcap.read(packets).analyze()
    for told in ("raw", 101):
        assert len(latpcap.read(packets, link_type=told).exchanges) == len(latpcap.read(raw_packets()).exchanges)
    with pytest.raises(UsageError, match="no link type `wifi`: there are ethernet, raw"):
        latpcap.read(packets, link_type="wifi")


def of_pyshark(code: str) -> str:
    """What `code` prints, where `made` is pyshark's capture: in a Python of its own, as pyshark leaves loops open."""
    pytest.importorskip("pyshark")
    first = f"""
import latpcap, pyshark
path = {str(load_fixture(NPLUS1).path)!r}
def made(**options): return pyshark.FileCapture(path, **options)
"""
    command = [sys.executable, "-W", "ignore", "-c", first + code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_file_capture_of_pyshark_is_read_through_its_file() -> None:
    code = "print(latpcap.read(made()).analyze().text, len(latpcap.read([made(), path]).captures), sep='|')"
    assert of_pyshark(code).strip() == f"{verdict(load_fixture(NPLUS1).path)}|2"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("made(display_filter='tcp.port == 1')", "leave out the display filter, and use Capture.select"),
        ("made()[0]", "a Packet of pyshark has no bytes"),
    ],
)
def test_what_pyshark_has_no_bytes_of_is_refused(source: str, message: str) -> None:
    code = f"try: latpcap.read({source})\nexcept latpcap.UsageError as error: print(error)"
    assert message in of_pyshark(code)


def figures(source: object) -> tuple[object, bytes]:
    """What no change of the file's form may change, times to the nanosecond."""
    capture = latpcap.read(source)
    facts = capture.captures.to_numpy()
    files = tuple(facts[name].tolist() for name in ("packets", "bytes", "first_time", "last_time"))
    return files, b"".join(capture.exchanges.encode("csv"))


def content(path: Path) -> io.BytesIO:
    return io.BytesIO(path.read_bytes())


def readers() -> dict[str, Callable[[Path], object]]:
    """Every form in which other libraries hand over the packets of a file."""
    scapy, dpkt = pytest.importorskip("scapy.all"), pytest.importorskip("dpkt")

    def tuples(path: Path) -> Iterator[tuple[object, ...]]:
        for raw, meta in scapy.RawPcapNgReader(content(path)):
            yield Decimal((meta.tshigh << 32) | meta.tslow) / meta.tsresol, raw, meta.linktype

    return {
        "PacketList": lambda path: scapy.rdpcap(str(path)),
        "list of packets": lambda path: list(scapy.rdpcap(str(path))),
        "generator of packets": lambda path: (packet for packet in scapy.rdpcap(str(path))),
        "PcapNgReader": lambda path: scapy.PcapNgReader(content(path)),
        "PcapReader": lambda path: scapy.PcapReader(io.BytesIO(pcap(path))),
        "RawPcapNgReader": lambda path: scapy.RawPcapNgReader(content(path)),
        "dpkt.pcap.Reader": lambda path: dpkt.pcap.Reader(io.BytesIO(pcap(path))),
        "dpkt.pcap.UniversalReader": lambda path: dpkt.pcap.UniversalReader(io.BytesIO(pcap(path))),
        "generator of tuples": tuples,
        "tuples in a list": lambda path: [list(tuples(path))],
    }


READERS = tuple(
    """PacketList|list of packets|generator of packets|PcapNgReader|PcapReader|RawPcapNgReader|dpkt.pcap.Reader
    |dpkt.pcap.UniversalReader|generator of tuples|tuples in a list""".replace("\n    ", "").split("|")
)


@pytest.mark.parametrize("form", READERS)
def test_every_form_of_packets_keeps_frames_and_nanoseconds(form: str) -> None:
    path = load_fixture(NPLUS1).path
    assert figures(readers()[form](path)) == figures(path)


def test_dpkts_pcapng_reader_gives_floats_which_lose_less_than_a_microsecond() -> None:
    dpkt = pytest.importorskip("dpkt")
    path = load_fixture(NPLUS1).path
    with path.open("rb") as file:
        theirs = latpcap.read(dpkt.pcapng.Reader(file)).exchanges
    ours = latpcap.read(path).exchanges
    off = theirs.column("response_end_time") - ours.column("response_end_time")
    known = ~np.isnat(off)
    assert known.sum() == len(ours) - 1  # all but the quit
    assert abs(off[known]).max() < np.timedelta64(400, "ns")


def test_a_packet_alone_is_a_capture() -> None:
    scapy = pytest.importorskip("scapy.all")
    packet = scapy.rdpcap(str(load_fixture(NPLUS1).path), count=1)[0]
    assert latpcap.read(packet).captures.column("packets").tolist() == [1]


def test_packets_and_files_are_one_recording() -> None:
    dpkt = pytest.importorskip("dpkt")
    path = load_fixture(NPLUS1).path
    capture = latpcap.read([path, dpkt.pcap.Reader(io.BytesIO(pcap(path)))])
    assert capture.captures.column("packets").tolist() == [619, 619]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([(1.0, "text")], "of a time and bytes, not of a time and a str"),
        ([(float("nan"), b"")], "not a number of seconds: nan"),
        ([(None, b"")], "not a number of seconds: None"),
        ({"a.pcap": b""}, "cannot read a dict"),
        ([1, 2], "cannot read a int"),
    ],
)
def test_packets_that_are_none_are_refused_in_one_line(source: object, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        latpcap.read(source)
    assert "\n" not in str(error.value)


def test_three_readers_agree_on_every_packet() -> None:
    scapy, dpkt = pytest.importorskip("scapy.all"), pytest.importorskip("dpkt")
    content = pcap(load_fixture(NPLUS1).path)
    theirs = [(round(time * 10**9), bytes(raw)) for time, raw in dpkt.pcap.Reader(io.BytesIO(content))]
    others = [(round(packet.time * 10**9), bytes(packet)) for packet in scapy.rdpcap(io.BytesIO(content))]
    assert theirs == others
    ours = latpcap.read(content).captures.to_dicts()[0]
    assert ours["packets"] == len(theirs)
    assert ours["bytes"] == sum(len(raw) for _, raw in theirs)
    assert ours["first_time"].timestamp() == pytest.approx(theirs[0][0] / 1e9, abs=1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "empty"), (b"hello world, this is text\n" * 9, "text"), (bytes(range(1, 200)), "is not a capture file")],
)
def test_what_is_no_capture_is_one_clear_line(content: bytes, message: str) -> None:
    with pytest.raises(CaptureError, match=message) as error:
        latpcap.read(content)
    assert "\n" not in str(error.value)


def test_a_capture_without_packets_has_no_database_traffic() -> None:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    with pytest.raises(latpcap.NoDatabaseTraffic, match="no TCP connection, so no database traffic"):
        latpcap.read(header).analyze()


def test_a_capture_that_is_cut_is_read_up_to_there() -> None:
    content = load_fixture(NPLUS1).path.read_bytes()
    capture = latpcap.read(content[: len(content) // 2 + 7])
    assert "file-cut" in [note.code for note in capture.analyze().health]
    assert len(capture.exchanges) > 100


def test_an_unknown_protocol_names_those_there_are() -> None:
    with pytest.raises(UsageError, match="mysql"):
        latpcap.read(load_fixture(NPLUS1).path, decode_as={3306: "nonsense"})


@pytest.mark.parametrize("name", ["opaque", "turns"])
def test_a_stream_may_be_counted_by_its_changes_of_direction_alone(name: str) -> None:
    capture = latpcap.read(load_fixture(NPLUS1).path, decode_as={3306: name})
    assert {row["protocol"] for row in capture.connections.to_dicts()} == {name}
    greeting, *turns = capture.exchanges.to_dicts()
    assert (greeting["purpose"], greeting["round_trips"]) == ("setup", 0)  # MySQL's server speaks first
    assert {row["purpose"] for row in turns} == {"unreadable"}
