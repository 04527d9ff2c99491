"""Damages a good capture in one known way, as captures are damaged in practice.

    python tests/damage.py DEFECT IN OUT [--seed N]        (IN: pcapng, zstd-packed or not; OUT: pcapng)

Each defect is one function from packets to packets. A packet remembers its place in the good capture (`origin`), so
that a test can tell what the reading of the damaged one has made of it.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow

FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
SECTION, INTERFACE, ENHANCED = 0x0A0D0D0A, 1, 6
ETHERNET, RAW_IP = 1, 101
IP_AT = {0: 4, ETHERNET: 14, RAW_IP: 0, 113: 16, 276: 20}
"""Where the IP header stands, by link type."""
VLAN_TAG = b"\x81\0\0\x07"
MS = 1_000_000

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"

Address = tuple[bytes, int]


class Tcp(NamedTuple):
    """The fields of a TCP header, and where they stand in the packet."""

    source: Address
    destination: Address
    sequence: int
    acknowledgment: int
    flags: int
    at: int
    payload_at: int
    payload_length: int
    """On the wire."""

    @property
    def flow(self) -> frozenset[Address]:
        return frozenset((self.source, self.destination))

    @property
    def end(self) -> int:
        return (self.sequence + self.payload_length) & 0xFFFFFFFF


@dataclass(frozen=True)
class Packet:
    origin: int
    """Its place in the good capture, from 0; -1 for a packet that was never in it."""
    time_ns: int
    link_type: int
    data: bytes
    length: int
    """On the wire."""

    @property
    def ip(self) -> int:
        """Where its IP header stands."""
        tagged = self.link_type == ETHERNET and self.data[12:14] == VLAN_TAG[:2]
        return IP_AT.get(self.link_type, len(self.data)) + (len(VLAN_TAG) if tagged else 0)

    @cached_property
    def tcp(self) -> Tcp | None:
        ip = self.ip
        header = self.data[ip:]
        if len(header) < 40:
            return None
        if header[0] >> 4 == 4 and header[9] == 6:
            tcp, total = ip + (header[0] & 15) * 4, int.from_bytes(header[2:4])
            addresses = header[12:16], header[16:20]
        elif header[0] >> 4 == 6 and header[6] == 6:
            tcp, total = ip + 40, int.from_bytes(header[4:6]) + 40
            addresses = header[8:24], header[24:40]
        else:
            return None
        source, destination, sequence, acknowledgment, words, flags = struct.unpack_from(">HHIIBB", self.data, tcp)
        payload = tcp + (words >> 4) * 4
        length = (total or self.length - ip) - (payload - ip)
        ends = (addresses[0], source), (addresses[1], destination)
        return Tcp(*ends, sequence, acknowledgment, flags, tcp, payload, length)

    def at(self, time_ns: int) -> Packet:
        return replace(self, time_ns=time_ns)

    def with_tcp(
        self,
        *,
        flags: int | None = None,
        window: int | None = None,
        sequence: int | None = None,
        acknowledgment: int | None = None,
        source_port: int | None = None,
        destination_port: int | None = None,
        payload: bytes | None = None,
    ) -> Packet:
        """The same packet with other fields; its checksums are left alone, as network cards do."""
        tcp = self.tcp
        assert tcp is not None
        data = bytearray(self.data)
        if flags is not None:
            data[tcp.at + 13] = flags
        if window is not None:
            struct.pack_into(">H", data, tcp.at + 14, window)
        if sequence is not None:
            struct.pack_into(">I", data, tcp.at + 4, sequence & 0xFFFFFFFF)
        if acknowledgment is not None:
            struct.pack_into(">I", data, tcp.at + 8, acknowledgment & 0xFFFFFFFF)
        if source_port is not None:
            struct.pack_into(">H", data, tcp.at, source_port)
        if destination_port is not None:
            struct.pack_into(">H", data, tcp.at + 2, destination_port)
        if payload is None:
            return replace(self, data=bytes(data))
        data[tcp.payload_at :] = payload
        ip = self.ip
        # A super-frame beyond 64 KiB has the length 0 until the network card cuts it.
        stated = len(data) - ip - (0 if data[ip] >> 4 == 4 else 40)
        struct.pack_into(">H", data, ip + (2 if data[ip] >> 4 == 4 else 4), stated if stated < 1 << 16 else 0)
        return replace(self, data=bytes(data), length=len(data))


Packets = list[Packet]


# --- files ------------------------------------------------------------------------------------------------------------


def unpacked(path: Path) -> bytes:
    if path.suffix == ".zst":
        with pyarrow.input_stream(str(path), compression="zstd") as file:  # Windows has no `zstd`
            return bytes(file.read())
    return path.read_bytes()


def read(path: Path) -> Packets:
    """The packets of a capture file."""
    return read_ours(path) if ".pcapng" in path.suffixes and path.is_relative_to(FIXTURES) else read_any(path)


def read_any(path: Path) -> Packets:
    """The packets of any capture file with one link type, by way of Wireshark's editcap."""
    made = subprocess.run(["editcap", "-F", "nsecpcap", path, "-"], capture_output=True, check=True).stdout
    (link_type,), at, packets = struct.unpack_from("<I", made, 20), 24, Packets()
    while at + 16 <= len(made):
        seconds, fraction, kept, whole = struct.unpack_from("<IIII", made, at)
        body = made[at + 16 : at + 16 + kept]
        packets.append(Packet(len(packets), seconds * 1000 * MS + fraction, link_type, body, whole))
        at += 16 + kept
    return packets


def read_ours(path: Path) -> Packets:
    """The packets of a pcapng file of ours: little-endian, times in ns."""
    data, at, link_types, packets = unpacked(path), 0, [], Packets()
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == INTERFACE:
            link_types.append(struct.unpack_from("<H", data, at + 8)[0])
        elif kind == ENHANCED:
            interface, high, low, kept, whole = struct.unpack_from("<IIIII", data, at + 8)
            body = data[at + 28 : at + 28 + kept]
            packets.append(Packet(len(packets), high << 32 | low, link_types[interface], body, whole))
        at += length
    return packets


def pcapng(packets: Iterable[Packet], snap: int = 262144) -> bytes:
    """The file that holds these packets, one interface a link type."""
    packets = list(packets)
    interfaces = sorted({packet.link_type for packet in packets})
    made = [_block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    options = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    made += [_block(INTERFACE, struct.pack("<HHI", link_type, 0, snap) + options) for link_type in interfaces]
    for packet in packets:
        time, kept = max(packet.time_ns, 0), len(packet.data)
        head = (interfaces.index(packet.link_type), time >> 32, time & 0xFFFFFFFF, kept, packet.length)
        made.append(_block(ENHANCED, struct.pack("<IIIII", *head) + packet.data + bytes(-kept % 4)))
    return b"".join(made)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


# --- what the capture did not see -------------------------------------------------------------------------------------


def lose(packets: Packets, chance: random.Random, share: float = 0.05) -> Packets:
    """The capture misses packets that arrived."""
    return [packet for packet in packets if chance.random() >= share]


def lose_single(packets: Packets, chance: random.Random, every: int = 60) -> Packets:
    """The capture misses a packet with data here and there, and nothing around it."""
    with_data = [place for place, packet in enumerate(packets) if packet.tcp and packet.tcp.payload_length]
    lost = {chance.choice(with_data[start : start + every]) for start in range(0, len(with_data), every)}
    return [packet for place, packet in enumerate(packets) if place not in lost]


def lose_intervals(packets: Packets, chance: random.Random, share: float = 0.05, longest: int = 30) -> Packets:
    """The disk or the processor was busy: packets that follow each other are missing."""
    kept, missing = Packets(), 0
    for packet in packets:
        if missing == 0 and chance.random() < share * 2 / longest:
            missing = chance.randint(2, longest)
        if missing == 0:
            kept.append(packet)
        missing = max(missing - 1, 0)
    return kept


def lose_one_side(packets: Packets, chance: random.Random, share: float = 0.1) -> Packets:
    """One of the two mirrored directions is overloaded."""
    clients, of_client = _sender(packets), chance.random() < 0.5
    return [
        packet
        for packet in packets
        if (clients.get(_flow(packet)) == _source(packet)) != of_client or chance.random() >= share
    ]


def cut_packets(packets: Packets, chance: random.Random, snap: int = 96) -> Packets:
    """The snap length takes the end of long packets."""
    return [replace(packet, data=packet.data[:snap]) for packet in packets]


def cut_anywhere(packets: Packets, chance: random.Random) -> Packets:
    """Any snap length, from hardly more than the headers to what cuts only long packets."""
    return cut_packets(packets, chance, chance.choice((80, 96, 110, 128, 160, 200, 256, 400, 600, 1000)))


def only_client(packets: Packets, chance: random.Random) -> Packets:
    """One direction only: what clients send."""
    clients = _sender(packets)
    return [packet for packet in packets if clients.get(_flow(packet)) == _source(packet)]


def only_server(packets: Packets, chance: random.Random) -> Packets:
    """One direction only: what servers send."""
    clients = _sender(packets)
    return [packet for packet in packets if clients.get(_flow(packet)) != _source(packet)]


def drop_handshakes(packets: Packets, chance: random.Random) -> Packets:
    """The capture began when the connections were there already: their first three packets are missing."""
    seen: dict[frozenset[Address], int] = {}
    kept = Packets()
    for packet in packets:
        flow = _flow(packet)
        if packet.tcp and packet.tcp.flags & SYN and not packet.tcp.flags & ACK:
            seen[flow] = 0
        seen[flow] = seen.get(flow, 3) + 1
        if seen[flow] > 3:
            kept.append(packet)
    return kept


def begin_in_the_middle(packets: Packets, chance: random.Random) -> Packets:
    """The capture began somewhere in the first half."""
    return packets[chance.randrange(len(packets) // 2) :]


def end_in_the_middle(packets: Packets, chance: random.Random) -> Packets:
    """The capture was stopped somewhere in the second half."""
    return packets[: chance.randrange(len(packets) // 2, len(packets))]


# --- what the capture saw twice, in another order, at other times -----------------------------------------------------


def duplicate(packets: Packets, chance: random.Random, share: float = 1.0) -> Packets:
    """A mirror port shows packets twice, the copy some microseconds later."""
    made = Packets()
    for packet in packets:
        made.append(packet)
        if chance.random() < share:
            made.append(packet.at(packet.time_ns + chance.randrange(1, 5_000)))
    return made


def duplicate_later(packets: Packets, chance: random.Random, farthest_ns: int = 3 * MS) -> Packets:
    """Two places of the path are mirrored: each packet is there again when it has passed the second one."""
    return in_time([*packets, *(packet.at(packet.time_ns + chance.randrange(1, farthest_ns)) for packet in packets)])


def duplicate_in_vlan(packets: Packets, chance: random.Random) -> Packets:
    """Both sides of a switch are mirrored: each packet passes once more, with a VLAN tag."""
    made = Packets()
    for packet in map(in_ethernet, packets):
        made.append(packet)
        if packet.link_type == ETHERNET:
            tagged = replace(
                packet, data=packet.data[:12] + VLAN_TAG + packet.data[12:], length=packet.length + len(VLAN_TAG)
            )
            made.append(tagged.at(packet.time_ns + chance.randrange(1, 5_000)))
    return made


def in_ethernet(packet: Packet) -> Packet:
    """A bare IP packet in an Ethernet frame; any other as it is."""
    if packet.link_type != RAW_IP:
        return packet
    kind = b"\x86\xdd" if packet.data[0] >> 4 == 6 else b"\x08\0"
    header = bytes.fromhex("020000000002020000000001") + kind
    return replace(packet, link_type=ETHERNET, data=header + packet.data, length=packet.length + len(header))


def reorder(packets: Packets, chance: random.Random, share: float = 0.05, farthest: int = 8) -> Packets:
    """Packets pass later than they were sent; the clock goes on as it did."""
    return restamped(displaced(packets, chance, share, farthest), [packet.time_ns for packet in packets])


def displaced(packets: Packets, chance: random.Random, share: float = 0.05, farthest: int = 8) -> Packets:
    """Packets stand later in the file than they passed, as several receive queues write them: their times stay."""
    places = [
        place + (chance.randint(1, farthest) + 0.5 if chance.random() < share else 0) for place in range(len(packets))
    ]
    return [packets[index] for index in sorted(range(len(packets)), key=places.__getitem__)]


def restamped(packets: Packets, times: list[int]) -> Packets:
    return [packet.at(time) for packet, time in zip(packets, times, strict=True)]


def scramble(packets: Packets, chance: random.Random, share: float = 0.05) -> Packets:
    """Losses, copies and another order, a share of each; half of the time the times go with the packets."""
    kept = duplicate(lose(packets, chance, share), chance, share)
    times = sorted(packet.time_ns for packet in kept)
    moved = displaced(kept, chance, share)
    return moved if chance.random() < 0.5 else restamped(moved, times)


def step_clock(packets: Packets, chance: random.Random, by_ns: int = 3600 * 1000 * MS) -> Packets:
    """Somebody sets the clock forward in the middle."""
    middle = len(packets) // 2
    return packets[:middle] + [packet.at(packet.time_ns + by_ns) for packet in packets[middle:]]


def set_clock_back(packets: Packets, chance: random.Random) -> Packets:
    """Somebody sets the clock back in the middle."""
    return step_clock(packets, chance, by_ns=-60 * 1000 * MS)


def blur_times(packets: Packets, chance: random.Random, by_ns: int = 200_000) -> Packets:
    """Several queues stamp with clocks that differ: times do not ascend, the order is right."""
    return [packet.at(packet.time_ns + chance.randint(-by_ns, by_ns)) for packet in packets]


def one_wild_time(packets: Packets, chance: random.Random) -> Packets:
    """One packet is stamped 46 years ahead."""
    wild = chance.randrange(len(packets))
    ahead_ns = 46 * 365 * 86_400 * 1000 * MS
    return [packet.at(packet.time_ns + ahead_ns * (place == wild)) for place, packet in enumerate(packets)]


def coarsen_clock(packets: Packets, chance: random.Random, tick_ns: int = MS) -> Packets:
    """The clock ticks every millisecond."""
    return [packet.at(packet.time_ns // tick_ns * tick_ns) for packet in packets]


# --- what the network did ---------------------------------------------------------------------------------------------


def lose_on_path(packets: Packets, chance: random.Random, share: float = 0.05, patience_ns: int = 200 * MS) -> Packets:
    """Packets of clients are lost behind the capture point and sent again after a time-out; what follows is late."""
    clients, late, made = _sender(packets), {}, Packets()
    for packet in packets:
        flow = _flow(packet)
        passed = packet.at(packet.time_ns + late.get(flow, 0))
        made.append(passed)
        sent = packet.tcp and packet.tcp.payload_length and clients.get(flow) == _source(packet)
        if sent and chance.random() < share:
            made.append(passed.at(passed.time_ns + patience_ns))
            late[flow] = late.get(flow, 0) + patience_ns
    return in_time(made)


def send_again(packets: Packets, chance: random.Random, share: float = 0.05) -> Packets:
    """Acknowledgments are late: data is sent again, though it arrived, together with what was sent next."""
    made, before = Packets(), dict[Address | None, Packet]()
    for packet in packets:
        made.append(packet)
        last = before.get(_source(packet))
        if last is not None and _continues(last, packet) and chance.random() < share:
            assert packet.tcp is not None
            assert last.tcp is not None
            whole = last.data[last.tcp.payload_at :] + packet.data[packet.tcp.payload_at :]
            again = last.with_tcp(payload=whole, acknowledgment=packet.tcp.acknowledgment)
            made.append(replace(again, origin=-1).at(packet.time_ns + chance.randrange(1, 3 * MS)))
        before[_source(packet)] = packet
    return in_time(made)


def keep_alive(packets: Packets, chance: random.Random, share: float = 0.1) -> Packets:
    """Idle clients probe whether the server is still there: a byte that was sent before, and its acknowledgment."""
    clients, made = _sender(packets), Packets()
    for packet in packets:
        tcp = packet.tcp
        if tcp and tcp.payload_length and clients.get(tcp.flow) == tcp.source and chance.random() < share:
            probe = packet.with_tcp(flags=ACK, sequence=tcp.sequence - 1, payload=b"\0")
            made.append(replace(probe, origin=-1).at(packet.time_ns - 2_000))
        made.append(packet)
    return made


def split_segments(packets: Packets, chance: random.Random, share: float = 0.3) -> Packets:
    """A tunnel has less room: segments pass in two."""
    made = Packets()
    for packet in packets:
        tcp, whole = packet.tcp, packet.length == len(packet.data)
        if tcp is None or not whole or tcp.payload_length < 2 or chance.random() >= share:
            made.append(packet)
            continue
        payload, cut = packet.data[tcp.payload_at :], chance.randrange(1, tcp.payload_length)
        made.append(packet.with_tcp(payload=payload[:cut], flags=tcp.flags & ~(FIN | PUSH)))
        made.append(packet.with_tcp(payload=payload[cut:], sequence=tcp.sequence + cut).at(packet.time_ns + 500))
    return made


def reuse_ports(packets: Packets, chance: random.Random) -> Packets:
    """Connections that follow each other have the same four addresses."""
    clients, ports = _sender(packets), _reused_ports(packets)
    made = Packets()
    for packet in packets:
        port = ports.get(_flow(packet))
        if port is None:
            made.append(packet)
        elif clients[_flow(packet)] == _source(packet):
            made.append(packet.with_tcp(source_port=port))
        else:
            made.append(packet.with_tcp(destination_port=port))
    return made


def _reused_ports(packets: Packets) -> dict[frozenset[Address], int]:
    """For each connection that opens in the capture, the client's port of one that is over by then."""
    clients, last = _sender(packets), dict[frozenset[Address], int]()
    for place, packet in enumerate(packets):
        last[_flow(packet)] = place
    ports, free = dict[frozenset[Address], int](), dict[tuple[bytes, Address], tuple[int, int]]()
    for place, packet in enumerate(packets):
        tcp = packet.tcp
        if tcp and tcp.flags & SYN and not tcp.flags & ACK and tcp.flow not in ports:
            client = clients[tcp.flow]
            assert client is not None
            ends = client[0], tcp.destination
            until, port = free.get(ends, (place, 0))
            ports[tcp.flow] = port if until < place else client[1]
            if until <= place:
                free[ends] = last[tcp.flow], ports[tcp.flow]
    return ports


def merge_segments(packets: Packets, chance: random.Random) -> Packets:
    """The network card's offloading shows several segments as one large frame."""
    made = Packets()
    for packet in packets:
        before = made[-1] if made else None
        if before is not None and _continues(before, packet):
            assert before.tcp is not None
            assert packet.tcp is not None
            whole = before.data[before.tcp.payload_at :] + packet.data[packet.tcp.payload_at :]
            made[-1] = before.with_tcp(payload=whole, flags=before.tcp.flags | packet.tcp.flags)
        else:
            made.append(packet)
    return made


def _continues(before: Packet, packet: Packet) -> bool:
    first, second = before.tcp, packet.tcp
    if first is None or second is None or before.length > 60_000:
        return False
    same = (first.source, first.destination, first.acknowledgment) == (
        second.source,
        second.destination,
        second.acknowledgment,
    )
    whole = before.length == len(before.data) and packet.length == len(packet.data)
    plain = not (first.flags | second.flags) & (SYN | FIN | RST)
    return (
        same and whole and plain and first.payload_length > 0 < second.payload_length and first.end == second.sequence
    )


def close_windows(packets: Packets, chance: random.Random) -> Packets:
    """Clients that do not read: the window they offer is 0 for a while."""
    clients = _sender(packets)
    return [
        packet.with_tcp(window=0)
        if packet.tcp
        and not packet.tcp.flags & (SYN | RST)
        and clients.get(_flow(packet)) == _source(packet)
        and chance.random() < 0.1
        else packet
        for packet in packets
    ]


def refuse(packets: Packets, chance: random.Random) -> Packets:
    """Before everything else, connections that the server refuses."""
    return _more_handshakes(packets, lambda asked: [asked, _answer(asked, RST | ACK)])


def leave_unanswered(packets: Packets, chance: random.Random) -> Packets:
    """Before everything else, connections that nobody answers."""
    seconds = (0, 1, 3)
    return _more_handshakes(packets, lambda asked: [asked.at(asked.time_ns + wait * 1000 * MS) for wait in seconds])


def _more_handshakes(packets: Packets, made: Callable[[Packet], Packets]) -> Packets:
    opened = (packet for packet in packets if packet.tcp and packet.tcp.flags & SYN and not packet.tcp.flags & ACK)
    opening = next(opened, None)
    added = Packets()
    for number in range(3 if opening else 0):
        assert opening is not None
        data = bytearray(opening.data)
        assert opening.tcp is not None
        struct.pack_into(">H", data, opening.tcp.at, 61_000 + number)
        asked = replace(opening, origin=-1, data=bytes(data), time_ns=opening.time_ns - 10_000 * MS + number)
        added += made(asked)
    return in_time([*added, *packets])


def _answer(asked: Packet, flags: int) -> Packet:
    """A packet the other way, a millisecond later."""
    tcp = asked.tcp
    assert tcp is not None
    data = bytearray(asked.data)
    ip, width = asked.ip, len(tcp.source[0])
    at = ip + (12 if width == 4 else 8)
    data[at : at + 2 * width] = tcp.destination[0] + tcp.source[0]
    struct.pack_into(">HHII", data, tcp.at, tcp.destination[1], tcp.source[1], 0, (tcp.sequence + 1) & 0xFFFFFFFF)
    data[tcp.at + 13] = flags
    return replace(asked, data=bytes(data), time_ns=asked.time_ns + MS)


def stall(packets: Packets, chance: random.Random, share: float = 0.2, delay_ns: int = 40 * MS) -> Packets:
    """Nagle meets the delayed ACK: the second half of a request waits 40 ms for the acknowledgment of the first."""
    clients, late, made = _sender(packets), {}, Packets()
    for packet in packets:
        flow, tcp = _flow(packet), packet.tcp
        passed = packet.at(packet.time_ns + late.get(flow, 0))
        asked = tcp is not None and tcp.payload_length > 20 and clients.get(flow) == _source(packet)
        if not asked or packet.length > len(packet.data) or chance.random() >= share:
            made.append(passed)
            continue
        assert tcp is not None
        payload = packet.data[tcp.payload_at :]
        half = tcp.payload_length // 2
        first = passed.with_tcp(payload=payload[:half])
        acknowledgment = _pure_acknowledgment(first, delay_ns)
        rest = passed.with_tcp(payload=payload[half:], sequence=tcp.sequence + half)
        made += [first, acknowledgment, rest.at(acknowledgment.time_ns + 20_000)]
        late[flow] = late.get(flow, 0) + delay_ns
    return in_time(made)


def _pure_acknowledgment(packet: Packet, delay_ns: int) -> Packet:
    tcp = packet.tcp
    assert tcp is not None
    answer = replace(_answer(packet, ACK), origin=-1, time_ns=packet.time_ns + delay_ns)
    return answer.with_tcp(payload=b"", sequence=tcp.acknowledgment, acknowledgment=tcp.end)


# --- the file ---------------------------------------------------------------------------------------------------------


def truncate_file(file: bytes, chance: random.Random) -> bytes:
    """The disk was full: the file ends inside a packet."""
    return file[: len(file) * 2 // 3 // 4 * 4 - 2]


def flip_bits(file: bytes, chance: random.Random, flips: int = 20) -> bytes:
    """A bad disk: single bits change, anywhere behind the file's header."""
    damaged = bytearray(file)
    for _ in range(flips):
        damaged[chance.randrange(56, len(file))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


# --- helpers ----------------------------------------------------------------------------------------------------------


def in_time(packets: Packets) -> Packets:
    return sorted(packets, key=lambda packet: packet.time_ns)


def _flow(packet: Packet) -> frozenset[Address]:
    return packet.tcp.flow if packet.tcp else frozenset()


def _source(packet: Packet) -> Address | None:
    return packet.tcp.source if packet.tcp else None


def _sender(packets: Packets) -> dict[frozenset[Address], Address | None]:
    """The client of each flow: it sent the SYN; without one, it has the higher port."""
    clients: dict[frozenset[Address], Address | None] = {}
    for packet in packets:
        tcp = packet.tcp
        if tcp is None:
            continue
        if tcp.flags & SYN and not tcp.flags & ACK:
            clients[tcp.flow] = tcp.source
        clients.setdefault(tcp.flow, max(tcp.source, tcp.destination, key=lambda address: address[1]))
    return clients


PACKET_DEFECTS: dict[str, Callable[[Packets, random.Random], Packets]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        lose,
        lose_single,
        lose_intervals,
        lose_one_side,
        cut_packets,
        cut_anywhere,
        only_client,
        only_server,
        drop_handshakes,
        begin_in_the_middle,
        end_in_the_middle,
        duplicate,
        duplicate_later,
        duplicate_in_vlan,
        reorder,
        displaced,
        scramble,
        step_clock,
        set_clock_back,
        blur_times,
        one_wild_time,
        coarsen_clock,
        lose_on_path,
        send_again,
        keep_alive,
        reuse_ports,
        split_segments,
        merge_segments,
        close_windows,
        refuse,
        leave_unanswered,
        stall,
    )
}
FILE_DEFECTS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "truncate-file": truncate_file,
    "flip-bits": flip_bits,
}
DEFECTS = [*PACKET_DEFECTS, *FILE_DEFECTS]


def damaged(packets: Packets, defect: str, seed: int = 0) -> bytes:
    """The capture file with this defect."""
    chance = random.Random(seed)
    if defect in FILE_DEFECTS:
        return FILE_DEFECTS[defect](pcapng(packets), chance)
    return pcapng(PACKET_DEFECTS[defect](packets, chance))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("defect", choices=DEFECTS)
    parser.add_argument("source", type=Path, metavar="IN")
    parser.add_argument("target", type=Path, metavar="OUT")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.target.write_bytes(damaged(read(asked.source), asked.defect, asked.seed))


if __name__ == "__main__":
    main()
