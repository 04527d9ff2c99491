"""Captures that scapy builds, read by latpcap, dpkt and scapy: packets, times, lengths and TCP bytes must agree."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

logging.getLogger("scapy").setLevel(logging.ERROR)
dpkt = pytest.importorskip("dpkt")
scapy = pytest.importorskip("scapy.all")

from scapy.contrib.geneve import GENEVE  # noqa: E402
from scapy.contrib.mpls import MPLS  # noqa: E402
from scapy.layers.vxlan import VXLAN  # noqa: E402

from latpcap import _core  # noqa: E402
from latpcap.tables.columnar.table import Table  # noqa: E402

START_NS = 1_700_000_000_123_456_000
ETHERNET, RAW_IP = 1, 101
CLIENT, SERVER = 0, 1
V4 = "10.0.0.1", "10.0.0.2"
V6 = "2001:db8::1", "2001:db8::2"
OUTER = "192.0.2.1", "192.0.2.2"
MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
PORTS = 40000, 3306


@dataclass(frozen=True)
class Packet:
    time_ns: int
    raw: bytes


# --- wrapping --------------------------------------------------------------------------------------------------------


def ether(side: int, **kind: int) -> Any:
    return scapy.Ether(src=MAC[side], dst=MAC[1 - side], **kind)


def ip(side: int, addresses: tuple[str, str] = V4) -> Any:
    return scapy.IP(src=addresses[side], dst=addresses[1 - side])


def ip6(side: int) -> Any:
    return scapy.IPv6(src=V6[side], dst=V6[1 - side])


def udp(side: int, port: int) -> Any:
    return ether(side) / ip(side, OUTER) / scapy.UDP(sport=50000, dport=port)


WRAPPED: dict[str, Callable[[int], Any]] = {
    "ethernet": lambda side: ether(side) / ip(side),
    "ip options": lambda side: (
        ether(side) / scapy.IP(src=V4[side], dst=V4[1 - side], options=scapy.IPOption(b"\x01\x01\x01\x00"))
    ),
    "vlan": lambda side: ether(side) / scapy.Dot1Q(vlan=7) / ip(side),
    "qinq": lambda side: ether(side, type=0x88A8) / scapy.Dot1Q(vlan=7) / scapy.Dot1Q(vlan=8) / ip(side),
    "mpls": lambda side: ether(side) / MPLS(label=16, s=0) / MPLS(label=17, s=1) / ip(side),
    "pppoe": lambda side: ether(side) / scapy.PPPoE(sessionid=5) / scapy.PPP(proto=0x21) / ip(side),
    "raw ip": ip,
    "raw ipv6": ip6,
    "ipv6": lambda side: ether(side) / ip6(side),
    "ipv6 extensions": lambda side: (
        ether(side)
        / ip6(side)
        / scapy.IPv6ExtHdrHopByHop(options=[scapy.PadN(optdata=b"\0" * 4)])
        / scapy.IPv6ExtHdrDestOpt(options=[scapy.PadN(optdata=b"\0" * 12)])
    ),
    "gre": lambda side: ether(side) / ip(side, OUTER) / scapy.GRE() / ip(side),
    "gre with key": lambda side: ether(side) / ip(side, OUTER) / scapy.GRE(key_present=1, key=9) / ip(side),
    "gre bridged": lambda side: ether(side) / ip(side, OUTER) / scapy.GRE(proto=0x6558) / ether(side) / ip(side),
    "ip in ip": lambda side: ether(side) / ip(side, OUTER) / ip(side),
    "6in4": lambda side: ether(side) / ip(side, OUTER) / ip6(side),
    "vxlan": lambda side: udp(side, 4789) / VXLAN(vni=42) / ether(side) / ip(side),
    "vxlan in vlan": lambda side: (
        ether(side)
        / scapy.Dot1Q(vlan=7)
        / ip(side, OUTER)
        / scapy.UDP(sport=1, dport=4789)
        / VXLAN(vni=42)
        / ether(side)
        / ip6(side)
    ),
    "geneve": lambda side: udp(side, 6081) / GENEVE(vni=42, proto=0x6558) / ether(side) / ip(side),
}
"""The headers before TCP, for a packet of the client or of the server."""

BEYOND_DPKT = {"gre with key", "gre bridged", "vxlan", "vxlan in vlan", "geneve"}
"""dpkt does not look into these."""


def link_type(wrapped: str) -> int:
    return RAW_IP if wrapped.startswith("raw") else ETHERNET


# --- a dialogue as packets -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Send:
    """What one side sends in one segment; `again`: a second time as well."""

    side: int
    size: int
    again: bool = False


def segments(sends: Iterable[Send]) -> Iterator[tuple[int, Any]]:
    """The handshake, then what is sent, as (side, TCP)."""
    sequence = [0xFFFFFF00, 5000]  # the client's wraps around soon

    def segment(side: int, flags: str, payload: bytes = b"") -> tuple[int, Any]:
        ack = sequence[1 - side] if "A" in flags else 0
        tcp = scapy.TCP(sport=PORTS[side], dport=PORTS[1 - side], seq=sequence[side], ack=ack, flags=flags)
        return side, tcp / scapy.Raw(payload) if payload else tcp

    def moved(side: int, by: int) -> None:
        sequence[side] = (sequence[side] + by) % 2**32

    yield segment(CLIENT, "S")
    moved(CLIENT, 1)
    yield segment(SERVER, "SA")
    moved(SERVER, 1)
    yield segment(CLIENT, "A")
    for send in sends:
        made = segment(send.side, "PA", bytes(value % 251 for value in range(send.size)))
        yield made
        if send.again:
            yield made
        moved(send.side, send.size)


def packets(frames: Iterable[Any], step_ns: int = 1_000_000) -> list[Packet]:
    return [Packet(START_NS + number * step_ns, bytes(frame)) for number, frame in enumerate(frames)]


def dialogue(wrapped: str, sends: Iterable[Send]) -> list[Packet]:
    return packets(WRAPPED[wrapped](side) / tcp for side, tcp in segments(sends))


# --- files -----------------------------------------------------------------------------------------------------------


def pcap(found: Iterable[Packet], link: int = ETHERNET, *, nano: bool = True, endianness: str = "<") -> bytes:
    buffer = io.BytesIO()
    writer = scapy.RawPcapWriter(buffer, linktype=link, nano=nano, endianness=endianness)
    writer.write_header(None)
    for packet in found:
        seconds, rest = divmod(packet.time_ns, 10**9)
        writer.write_packet(packet.raw, sec=seconds, usec=rest if nano else rest // 1000)
    writer.flush()
    return buffer.getvalue()


def pcapng(found: Iterable[Packet], link: int = ETHERNET) -> bytes:
    buffer = io.BytesIO()
    writer = dpkt.pcapng.Writer(buffer, snaplen=65535, linktype=link)
    for packet in found:
        ticks = packet.time_ns // 1000
        writer.writepkt(
            dpkt.pcapng.EnhancedPacketBlockLE(ts_high=ticks >> 32, ts_low=ticks & 0xFFFFFFFF, pkt_data=packet.raw)
        )
    return buffer.getvalue()


FILES: dict[str, Callable[[list[Packet], int], bytes]] = {
    "pcap µs": lambda found, link: pcap(found, link, nano=False),
    "pcap ns": pcap,
    "pcap µs, big endian": lambda found, link: pcap(found, link, nano=False, endianness=">"),
    "pcap ns, big endian": lambda found, link: pcap(found, link, endianness=">"),
    "pcapng": pcapng,
}

# --- three readers ---------------------------------------------------------------------------------------------------


def by_dpkt(content: bytes) -> list[Packet]:
    reader = dpkt.pcapng.Reader if content.startswith(b"\n\r\r\n") else dpkt.pcap.Reader
    return [Packet(in_ns(time), bytes(raw)) for time, raw in reader(io.BytesIO(content))]


def by_scapy(content: bytes) -> list[Packet]:
    return [Packet(in_ns(packet.time), bytes(packet)) for packet in scapy.rdpcap(io.BytesIO(content))]


def in_ns(seconds: Any) -> int:
    return round(seconds * 10**6) * 1000 if isinstance(seconds, float) else round(seconds * 10**9)


def by_us(prefixes: Iterable[bytes]) -> list[tuple[int, int]]:
    """Time and length of each packet, from files with one packet more each."""
    total, seen = 0, []
    for content in prefixes:
        row = Table(_core.read([content]).captures())
        length = int(row.column("bytes")[0]) - total
        total += length
        seen.append((int(row.column("last_time").view(np.int64)[0]), length))
    return seen


def sent_by_us(content: bytes) -> list[int]:
    """What client and server of the only connection sent; nothing of it may be missing."""
    (row,) = Table(_core.read([content]).connections()).to_dicts()
    assert row["lost_bytes"] == 0
    return [row["request_bytes"], row["response_bytes"]]


def sent(tcps: Iterable[Any], sides: Callable[[Any], int], payload: Callable[[Any], tuple[int, bytes]]) -> list[int]:
    """Different bytes that client and server sent, by sequence number."""
    seen: list[set[int]] = [set(), set()]
    for tcp in tcps:
        start, data = payload(tcp)
        seen[sides(tcp)].update((start + place) % 2**32 for place in range(len(data)))
    return [len(numbers) for numbers in seen]


def sent_by_scapy(frames: Iterable[Any]) -> list[int]:
    def payload(tcp: Any) -> tuple[int, bytes]:
        return tcp.seq, bytes(tcp.payload)

    tcps = [frame[scapy.TCP] for frame in frames if scapy.TCP in frame]
    return sent(tcps, lambda tcp: PORTS.index(tcp.sport), payload)


def sent_by_dpkt(content: bytes, link: int) -> list[int]:
    def tcp(raw: bytes) -> Any:
        raw_ip = dpkt.ip.IP if raw[0] >> 4 == 4 else dpkt.ip6.IP6
        layer = dpkt.ethernet.Ethernet(raw) if link == ETHERNET else raw_ip(raw)
        while not isinstance(layer, dpkt.tcp.TCP):
            layer = layer.data
        return layer

    tcps = [tcp(packet.raw) for packet in by_dpkt(content)]
    return sent(tcps, lambda tcp: PORTS.index(tcp.sport), lambda tcp: (tcp.seq, bytes(tcp.data)))


# --- they agree ------------------------------------------------------------------------------------------------------

SENDS = [
    Send(SERVER, 90),
    Send(CLIENT, 60),
    Send(SERVER, 11),
    Send(CLIENT, 1400, again=True),
    Send(SERVER, 1),
    Send(CLIENT, 300),
]
SENT = [1760, 102]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("wrapped", ["ethernet", "raw ip", "vxlan"])
def test_time_and_length_of_every_packet(file: str, wrapped: str) -> None:
    made, link = dialogue(wrapped, SENDS), link_type(wrapped)
    content = FILES[file](made, link)
    assert by_dpkt(content) == by_scapy(content) == made
    ours = by_us(FILES[file](made[: count + 1], link) for count in range(len(made)))
    assert ours == [(packet.time_ns, len(packet.raw)) for packet in made]


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_bytes_of_each_direction(wrapped: str) -> None:
    content = pcap(dialogue(wrapped, SENDS), link_type(wrapped))
    assert sent_by_us(content) == sent_by_scapy(scapy.rdpcap(io.BytesIO(content))) == SENT
    if wrapped not in BEYOND_DPKT:
        assert sent_by_dpkt(content, link_type(wrapped)) == SENT


sends = st.builds(Send, st.sampled_from([CLIENT, SERVER]), st.integers(1, 1400), st.booleans())
some_sends = st.lists(sends, min_size=1, max_size=12)


@given(some_sends, st.sampled_from(sorted(WRAPPED)), st.sampled_from(sorted(FILES)))
def test_any_sizes_and_repetitions(chosen: list[Send], wrapped: str, file: str) -> None:
    made, link = dialogue(wrapped, chosen), link_type(wrapped)
    content = FILES[file](made, link)
    assert sent_by_us(content) == sent_by_scapy(scapy.rdpcap(io.BytesIO(content)))
    if wrapped not in BEYOND_DPKT:
        assert sent_by_us(content) == sent_by_dpkt(content, link)


@given(some_sends, st.data())
def test_any_order_after_the_handshake(chosen: list[Send], data: st.DataObject) -> None:
    made = dialogue("ethernet", chosen)
    times = [packet.time_ns for packet in made]
    shuffled = made[:3] + data.draw(st.permutations(made[3:]))
    content = pcap(Packet(time, packet.raw) for time, packet in zip(times, shuffled, strict=True))
    assert sent_by_us(content) == sent_by_scapy(scapy.rdpcap(io.BytesIO(content))) == sent_by_dpkt(content, ETHERNET)


def in_fragments(size: int, *, v6: bool) -> Iterator[Any]:
    """Every packet of the dialogue in fragments of at most `size` bytes, the last ones first."""
    for number, (side, tcp) in enumerate(segments(SENDS), 1):
        if v6:
            header = ip6(side) / scapy.IPv6ExtHdrFragment(id=number)
            pieces = scapy.fragment6(header / tcp, size + 48)
        else:
            whole = ip(side) / tcp
            whole.id = number
            pieces = scapy.fragment(whole, size)
        yield from (ether(side) / piece for piece in reversed(pieces))


@pytest.mark.parametrize("v6", [False, True])
@pytest.mark.parametrize("size", [64, 496])
def test_fragments_in_any_order(size: int, v6: bool) -> None:
    """dpkt joins none."""
    content = pcap(packets(in_fragments(size, v6=v6)))
    assert len(by_dpkt(content)) == len(by_scapy(content)) > 10
    assert sent_by_us(content) == sent_by_scapy(joined(scapy.rdpcap(io.BytesIO(content)))) == SENT


def joined(frames: Any) -> list[Any]:
    """The datagrams, joined by scapy: of IPv4 it wants the fragments in order, of IPv6 those of one at a time."""
    if scapy.IPv6ExtHdrFragment not in frames[0]:
        whole, from_fragments, incomplete = scapy.defrag(sorted(frames, key=lambda frame: frame[scapy.IP].frag))
        assert not len(incomplete)
        return [*whole, *from_fragments]
    pieces: dict[int, list[Any]] = {}
    for frame in frames:
        pieces.setdefault(frame[scapy.IPv6ExtHdrFragment].id, []).append(frame)
    return [scapy.defragment6(those) for those in pieces.values()]
