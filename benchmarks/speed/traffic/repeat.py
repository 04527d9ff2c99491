"""Packets that repeat: made once, then copied as often as wanted, with numpy patching what changes.

Times, sequence numbers, addresses, ports, TCP's timestamps and the digits of `NUMBER` stand where they stood, so a
repetition is a row of bytes and a field a column of it. Checksums stay what they were: nobody is asked to check them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .wire import Record

Numbers = NDArray[np.int64]
Block = NDArray[np.uint8]

NUMBER = "########"
"""Stands in a template for the number of the query: as many digits, from 10,000,000 on."""
FIRST_NUMBER = 10_000_000
BLOCK_BYTES = 4 << 20
JITTER_NS = 30_000
"""No two answers take equally long: what follows the first answer of a repetition is later by up to so much."""
RECORD, ETHERNET = 16, 14
DATA_OFFSET, TCP = 12, 20
END, NOTHING, TIMESTAMPS = 0, 1, 8


@dataclass(frozen=True)
class Strand:
    """One of the connections in a template, and how far its sequence numbers (client, server) get in a repetition."""

    client: tuple[bytes, int]
    advance: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Packet:
    """Where one packet of the template stands, and what of it is patched."""

    at: int
    time_ns: int
    strand: int
    sender: int
    sequence: tuple[int, int]
    stamps: tuple[tuple[int, int], ...]
    """TCP's timestamps: where in the segment, and which."""
    late: bool


class Template:
    """The packets of one repetition, in the order of time.

    `fresh`: each repetition opens connections of its own, by other addresses and ports. Without it they go on, and
    sequence numbers do.
    """

    def __init__(
        self, records: Sequence[Record], strands: Sequence[Strand], period_ns: int, *, fresh: bool, jitter: bool = True
    ) -> None:
        records = sorted(records, key=time_ns)
        self.bytes = np.frombuffer(b"".join(records), np.uint8)
        self.strands, self.period_ns, self.fresh = strands, period_ns, fresh
        self.packets = list(packets(records, strands, jitter))
        self.numbers = list(occurrences(self.bytes.tobytes(), NUMBER.encode()))

    def blocks(self, count: int) -> Iterator[Block]:
        """All repetitions, a few megabytes at once."""
        step = max(1, BLOCK_BYTES // len(self.bytes))
        for begin in range(0, count, step):
            yield self.block(np.arange(begin, min(begin + step, count)))

    def block(self, repetitions: Numbers) -> Block:
        rows = np.tile(self.bytes, (len(repetitions), 1))
        begins = repetitions * self.period_ns
        late = begins + (repetitions * 2_654_435_761 & 0xFFFFFFFF) * JITTER_NS // (1 << 32)
        for packet in self.packets:
            self.patch(rows, packet, repetitions, late if packet.late else begins)
        for place, at in enumerate(self.numbers):
            put_digits(rows, at, FIRST_NUMBER + self.serial(repetitions, self.number_strand(place)))
        return rows

    def serial(self, repetitions: Numbers, strand: int) -> Numbers:
        return repetitions * len(self.strands) + strand

    def patch(self, rows: Block, packet: Packet, repetitions: Numbers, shift_ns: Numbers) -> None:
        seconds, nanoseconds = np.divmod(packet.time_ns + shift_ns, 1_000_000_000)
        put(rows, packet.at, seconds, "<u4")
        put(rows, packet.at + 4, nanoseconds, "<u4")
        ip = packet.at + RECORD + ETHERNET
        tcp = ip + TCP
        strand = self.strands[packet.strand]
        if self.fresh:
            put_client(rows, ip, tcp, packet.sender, self.serial(repetitions, packet.strand))
        else:
            ways = (packet.sender, 1 - packet.sender)
            for place, side, value in zip((4, 8), ways, packet.sequence, strict=True):
                put(rows, tcp + place, value + repetitions * strand.advance[side] & 0xFFFFFFFF, ">u4")
        for place, value in packet.stamps:
            put(rows, tcp + place, value + shift_ns // 1_000_000 & 0xFFFFFFFF, ">u4")

    def number_strand(self, place: int) -> int:
        """The connection that the number stands on: that of the packet around it."""
        at = self.numbers[place]
        return next(packet.strand for packet in reversed(self.packets) if packet.at < at)


def packets(records: Sequence[Record], strands: Sequence[Strand], jitter: bool) -> Iterator[Packet]:
    """What is to be known of Ethernet, IPv4 and TCP."""
    known = {strand.client: number for number, strand in enumerate(strands)}
    answered = False
    at = 0
    for record in records:
        ip = RECORD + ETHERNET
        total = struct.unpack_from(">H", record, ip + 2)[0]
        tcp = ip + TCP
        ends = [
            (record[ip + 12 + 4 * side : ip + 16 + 4 * side], struct.unpack_from(">H", record, tcp + 2 * side)[0])
            for side in (0, 1)
        ]
        sender = 0 if ends[0] in known else 1
        strand = known[ends[sender]]
        header = (record[tcp + DATA_OFFSET] >> 4) * 4
        answered |= jitter and sender == 1 and total > TCP + header
        sequence = struct.unpack_from(">II", record, tcp + 4)
        stamps = tuple(timestamps(record[tcp : tcp + header]))
        yield Packet(at, time_ns(record), strand, sender, sequence, stamps, answered)
        at += len(record)


def time_ns(record: Record) -> int:
    seconds, nanoseconds = struct.unpack_from("<II", record)
    return int(seconds * 1_000_000_000 + nanoseconds)


def timestamps(segment: bytes) -> Iterator[tuple[int, int]]:
    """Those of a TCP header that say something: the peer's is 0 in a SYN."""
    at = TCP
    while at < len(segment) and segment[at] != END:
        if segment[at] == TIMESTAMPS:
            both = zip((at + 2, at + 6), struct.unpack_from(">II", segment, at + 2), strict=True)
            yield from ((place, value) for place, value in both if value)
        at += 1 if segment[at] == NOTHING else segment[at + 1]


def occurrences(data: bytes, mark: bytes) -> Iterator[int]:
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + len(mark))


def put(rows: Block, at: int, values: Numbers, kind: str) -> None:
    patch = values.astype(kind).view(np.uint8).reshape(len(values), -1)
    rows[:, at : at + patch.shape[1]] = patch


def put_client(rows: Block, ip: int, tcp: int, sender: int, serial: Numbers) -> None:
    """As `wire.client` has it, for many at once."""
    host, port = np.divmod(serial, 50_000)
    address = (10 << 24) + (1 << 16) + (host // 256 << 8) + 1 + host % 256
    put(rows, ip + 12 + 4 * sender, address, ">u4")
    put(rows, tcp + 2 * sender, 10_000 + port, ">u2")


def put_digits(rows: Block, at: int, values: Numbers) -> None:
    for place in range(len(NUMBER)):
        rows[:, at + len(NUMBER) - 1 - place] = values // 10**place % 10 + ord("0")
