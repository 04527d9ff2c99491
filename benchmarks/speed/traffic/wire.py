"""One TCP connection as the packets of a pcap file: sequence numbers, acknowledgments and times count themselves."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
ETHERNET_HEADERS = bytes.fromhex("0200000000020200000000010800"), bytes.fromhex("0200000000010200000000020800")
CLIENT, SERVER = (bytes([10, 0, 0, 1]), 40000), (bytes([10, 0, 0, 2]), 3306)
BEGIN_NS = 1_700_000_000_000_000_000
SYN, ACK, PUSH_ACK, FIN_ACK = 0x02, 0x10, 0x18, 0x11
SEGMENT = 1448
"""Bytes that an Ethernet frame of 1514 carries beside TCP's timestamps."""
SERVICE_NS = 180_000
CLIENT_NS = 60_000

Record = bytes
Address = tuple[bytes, int]


def client(number: int) -> Address:
    """The address and the port of a client: 50,000 connections a host."""
    return bytes([10, 1, number // 50_000 // 256, 1 + number // 50_000 % 256]), 10_000 + number % 50_000


class Wire:
    """One TCP connection, captured at the client.

    `acks`: both sides also acknowledge in packets of their own, the client every second segment, as most do.
    `timestamps`: TCP's timestamps, as in most real traffic.
    """

    def __init__(
        self,
        rtt_ns: int,
        client: Address = CLIENT,
        server: Address = SERVER,
        *,
        acks: bool = False,
        timestamps: bool = False,
    ) -> None:
        self.now_ns = BEGIN_NS
        self.rtt_ns = rtt_ns
        (address, port), (server_address, server_port) = client, server
        self.addresses, self.ports = (address, server_address), (port, server_port)
        self.sequence = [1000, 5000]
        self.acks, self.timestamps = acks, timestamps
        self.told_ms = [0, 0]

    def packet(self, sender: int, flags: int, payload: bytes = b"") -> Record:
        peer = 1 - sender
        acknowledgment = self.sequence[peer] if flags & ACK else 0
        ports, options = (self.ports[sender], self.ports[peer]), self.options(sender)
        words = (20 + len(options)) // 4 << 4
        tcp = struct.pack(">HHIIBBHHH", *ports, self.sequence[sender], acknowledgment, words, flags, 64240, 0, 0)
        length = 20 + len(tcp) + len(options) + len(payload)
        ip = (
            struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0x4000, 64, 6, 0)
            + self.addresses[sender]
            + self.addresses[peer]
        )
        frame = ETHERNET_HEADERS[sender] + ip + tcp + options + payload
        self.sequence[sender] = (self.sequence[sender] + len(payload) + (flags & 0x03 != 0)) & 0xFFFFFFFF
        seconds, nanoseconds = divmod(self.now_ns, 1_000_000_000)
        return struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame

    def options(self, sender: int) -> bytes:
        if not self.timestamps:
            return b""
        self.told_ms[sender] = self.now_ns // 1_000_000 & 0xFFFFFFFF
        return struct.pack(">BBBBII", 1, 1, 8, 10, self.told_ms[sender], self.told_ms[1 - sender])

    def open(self) -> Iterator[Record]:
        yield self.packet(0, SYN)
        self.now_ns += self.rtt_ns
        yield self.packet(1, SYN | ACK)
        yield self.packet(0, ACK)
        self.now_ns += self.rtt_ns

    def ask(self, request: bytes, response: bytes) -> Iterator[Record]:
        yield self.packet(0, PUSH_ACK, request)
        self.now_ns += self.rtt_ns
        if self.acks:
            yield self.packet(1, ACK)
        self.now_ns += SERVICE_NS
        starts = range(0, len(response), SEGMENT)
        for number, start in enumerate(starts, 1):
            yield self.packet(1, PUSH_ACK, response[start : start + SEGMENT])
            if self.acks and (number % 2 == 0 or number == len(starts)):
                yield self.packet(0, ACK)
            self.now_ns += 1_000
        self.now_ns += CLIENT_NS

    def close(self, goodbye: bytes) -> Iterator[Record]:
        """The client says good-bye, and both sides hang up."""
        yield self.packet(0, PUSH_ACK, goodbye)
        yield self.packet(0, FIN_ACK)
        self.now_ns += self.rtt_ns
        yield self.packet(1, FIN_ACK)
        yield self.packet(0, ACK)


def write(path: Path, records: Iterable[Record]) -> None:
    with path.open("wb") as file:
        file.write(PCAP_HEADER)
        file.writelines(records)
