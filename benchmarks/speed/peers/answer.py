"""What every peer is asked for, and what the three Python libraries leave to their user: MySQL's packets and pairing."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import dataclass, field
from decimal import Decimal

HEADER = 4
COM_QUERY = 3
SYN, ACK = 0x02, 0x10
NUMBER = re.compile(rb"\b\d+\b")

End = tuple[bytes, int]


@dataclass
class Stream:
    """One TCP connection: its handshake, what of a request is not whole yet, and whether an answer is due."""

    opened: Decimal | None = None
    pending: bytearray = field(default_factory=bytearray)
    waiting: bool = False


@dataclass
class Answer:
    """Queries, how many were answered, what is told apart of them, and the handshakes' median RTT.

    Segments are taken in the order of the capture: no reassembly, which none of the three has in a form that is fit
    for this. The captures here have none out of order.
    """

    packets: int = 0
    connections: int = 0
    queries: int = 0
    answered: int = 0
    statements: set[bytes] = field(default_factory=set)
    rtts_s: list[Decimal] = field(default_factory=list)
    streams: dict[tuple[End, End], Stream] = field(default_factory=dict)

    def segment(self, time_s: Decimal, source: End, destination: End, flags: int, payload: bytes) -> None:
        to_server = destination[1] == 3306
        key = (source, destination) if to_server else (destination, source)
        stream = self.streams.setdefault(key, Stream())
        if to_server:
            self.handshake(stream, time_s, flags)
            self.requests(stream, payload)
        elif payload and stream.waiting:
            stream.waiting = False
            self.answered += 1

    def handshake(self, stream: Stream, time_s: Decimal, flags: int) -> None:
        if flags & SYN:
            stream.opened = time_s
            self.connections += 1
        elif stream.opened is not None:
            self.rtts_s.append(time_s - stream.opened)
            stream.opened = None

    def requests(self, stream: Stream, payload: bytes) -> None:
        """Those that are whole by now."""
        pending = stream.pending
        pending += payload
        while len(pending) >= HEADER and len(pending) >= (end := HEADER + int.from_bytes(pending[:3], "little")):
            if pending[3] == 0 and end > HEADER and pending[HEADER] == COM_QUERY:
                self.queries += 1
                self.statements.add(NUMBER.sub(b"?", bytes(pending[HEADER + 1 : end])))
                stream.waiting = True
            del pending[:end]

    def print(self) -> None:
        told = {"packets": self.packets, "connections": self.connections, "queries": self.queries}
        rtt_ms = float(statistics.median(self.rtts_s) * 1000) if self.rtts_s else None
        print(json.dumps({**told, "answered": self.answered, "statements": len(self.statements), "rtt_ms": rtt_ms}))
