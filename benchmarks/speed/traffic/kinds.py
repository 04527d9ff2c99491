"""The kinds of traffic: each is what comes once, what repeats and how often, and what comes last."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from . import mysql, postgresql
from .repeat import ETHERNET, JITTER_NS, NUMBER, RECORD, TCP, Block, Strand, Template, time_ns
from .wire import BEGIN_NS, ETHERNET_HEADERS, PCAP_HEADER, SYN, Record, Wire, client

RTT_NS = 389_000
STAGGER_NS = 100_000
"""Connections that work side by side ask one after the other."""
SIDE_BY_SIDE = 16
CLOSING = 4
"""Packets of a connection's end: good-bye, and both sides hang up."""
GAP_NS = 1_000_000
LINK_ETHERNET = 1
ROOT = Path(__file__).parents[3]

Step = Callable[[Wire], Iterable[Record]]
BudgetDifference = Callable[[], Iterator[Record] | Iterator[Block]]


@dataclass(frozen=True)
class Wish:
    """How much is wanted; each kind uses what concerns it."""

    packets: int
    connections: int = 1
    acks: bool = True
    """Both sides also acknowledge in packets of their own: four packets a query instead of two."""
    row_bytes: int = 16_000

    def times(self, share: float) -> Wish:
        return replace(self, packets=round(self.packets * share))


@dataclass(frozen=True)
class Traffic:
    """A capture to be, and what is true of it."""

    packets: int
    connections: int
    queries: int
    fingerprints: int
    """Statements that differ in more than their literals."""
    parts: Sequence[BudgetDifference]

    def blocks(self) -> Iterator[bytes | Block]:
        yield PCAP_HEADER
        for part in self.parts:
            yield from part()

    def write(self, file: IO[bytes]) -> int:
        """To a file or a pipe; how many bytes it was."""
        return sum(file.write(block.data if isinstance(block, np.ndarray) else block) for block in self.blocks())


@dataclass(frozen=True)
class Dialect:
    """What a server's protocol makes of logging in, one query and hanging up."""

    port: int
    log_in: Callable[[Wire], Iterator[Record]]
    request: bytes
    response: bytes
    goodbye: bytes


SALARY_SQL = f"SELECT salary, from_date FROM salaries WHERE emp_no={NUMBER}"
MYSQL = Dialect(
    3306,
    mysql.log_in,
    mysql.query(SALARY_SQL),
    mysql.result(mysql.SALARY, [["60117", "1986-06-26"]]),
    mysql.QUIT,
)
POSTGRESQL = Dialect(
    5432,
    postgresql.log_in,
    postgresql.query("SELECT salary, from_date FROM salaries WHERE emp_no = $1", NUMBER),
    postgresql.result(["salary", "from_date"], [["60117", "1986-06-26"]]),
    postgresql.GOODBYE,
)


def nplus1(wish: Wish) -> Traffic:
    """One query after the other for one row each, on connections side by side."""
    return steady(wish, MYSQL)


def postgresql_extended(wish: Wish) -> Traffic:
    """The same as Parse, Bind, Describe, Execute and Sync."""
    return steady(wish, POSTGRESQL)


def statements(wish: Wish) -> Traffic:
    """No two queries have the same text but for literals: each asks for a column of its own."""
    sql = f"SELECT c{NUMBER} FROM salaries WHERE emp_no=1"
    traffic = steady(wish, Dialect(3306, mysql.log_in, mysql.query(sql), MYSQL.response, mysql.QUIT))
    return Traffic(traffic.packets, traffic.connections, traffic.queries, traffic.queries, traffic.parts)


def bulk(wish: Wish) -> Traffic:
    """Large results in full segments: a megabyte each, in rows of `row_bytes`."""
    rows = [["7" * wish.row_bytes]] * max(1, 1_000_000 // wish.row_bytes)
    answer = mysql.result([("document", 252)], rows)
    sql = f"SELECT document FROM documents WHERE folder={NUMBER}"
    return steady(wish, Dialect(3306, mysql.log_in, mysql.query(sql), answer, mysql.QUIT))


def steady(wish: Wish, dialect: Dialect) -> Traffic:
    """All connections open, then ask in turns, then hang up."""
    wires = [wire(number, dialect.port, wish.acks) for number in range(wish.connections)]
    opening = [record for each in wires for record in dialect.log_in(each)]
    before = [tuple(each.sequence) for each in wires]
    begin_ns = max(each.now_ns for each in wires)
    asked = side_by_side(wires, begin_ns, lambda each: each.ask(dialect.request, dialect.response))
    period_ns = max(each.now_ns for each in wires) - begin_ns + JITTER_NS
    strands = [strand(each, old) for each, old in zip(wires, before, strict=True)]
    template = Template(asked, strands, period_ns, fresh=False)
    around = len(opening) + CLOSING * len(wires)
    count = (wish.packets - around) // len(asked)
    closing = [
        record
        for each, along in zip(wires, strands, strict=True)
        for record in closed(each, along, begin_ns + count * period_ns, count - 1, dialect.goodbye)
    ]
    parts: list[BudgetDifference] = [lambda: in_time(opening), lambda: template.blocks(count), lambda: in_time(closing)]
    return Traffic(around + count * len(asked), len(wires), count * len(wires), 1, parts)


def wire(number: int, port: int, acks: bool) -> Wire:
    made = Wire(RTT_NS, client(number), (bytes([10, 0, 0, 2]), port), acks=acks, timestamps=True)
    made.now_ns += number * 1_000
    return made


def side_by_side(wires: Sequence[Wire], begin_ns: int, step: Step) -> list[Record]:
    records: list[Record] = []
    for number, each in enumerate(wires):
        each.now_ns = begin_ns + number * STAGGER_NS
        records += step(each)
    return records


def strand(wire: Wire, before: Sequence[int]) -> Strand:
    client_bytes, server_bytes = (now - old for now, old in zip(wire.sequence, before, strict=True))
    return Strand((wire.addresses[0], wire.ports[0]), (client_bytes, server_bytes))


def closed(wire: Wire, along: Strand, now_ns: int, repetitions: int, goodbye: bytes) -> Iterator[Record]:
    """The end of a connection, so many repetitions later than the one that was made."""
    wire.now_ns = now_ns
    wire.sequence = [
        (now + repetitions * step) & 0xFFFFFFFF for now, step in zip(wire.sequence, along.advance, strict=True)
    ]
    return wire.close(goodbye)


def short(wish: Wish) -> Traffic:
    """Connections of three queries: sixteen side by side, then sixteen others."""
    return phased(wish, [[MYSQL.log_in, ask, ask, ask, hang_up]])


def connections(wish: Wish) -> Traffic:
    """All connections are open at once: all log in, then all ask, and again, then all hang up."""
    return phased(wish, [[MYSQL.log_in], [ask], [ask], [hang_up]])


def all_of(phase: Sequence[Step], wire: Wire) -> Iterator[Record]:
    return chain.from_iterable(step(wire) for step in phase)


def ask(wire: Wire) -> Iterator[Record]:
    return wire.ask(MYSQL.request, MYSQL.response)


def hang_up(wire: Wire) -> Iterator[Record]:
    return wire.close(MYSQL.goodbye)


def phased(wish: Wish, phases: Sequence[Sequence[Step]]) -> Traffic:
    """All connections go through a phase before the next begins; in a phase sixteen work side by side."""
    wires = [wire(number, MYSQL.port, wish.acks) for number in range(SIDE_BY_SIDE)]
    strands = [strand(each, each.sequence) for each in wires]
    a_connection = sum(1 for phase in phases for step in phase for _ in step(wire(0, MYSQL.port, wish.acks)))
    count = wish.packets // (a_connection * SIDE_BY_SIDE)
    begin_ns = BEGIN_NS
    templates = []
    for phase in phases:
        records = side_by_side(wires, begin_ns, partial(all_of, phase))
        period_ns = max(each.now_ns for each in wires) - begin_ns + JITTER_NS
        templates.append(Template(records, strands, period_ns, fresh=True))
        begin_ns += count * period_ns
    opened = count * SIDE_BY_SIDE
    queries = opened * sum(step is ask for phase in phases for step in phase)
    parts = [partial(template.blocks, count) for template in templates]
    return Traffic(opened * a_connection, opened, queries, 1, parts)


@dataclass(frozen=True)
class Session:
    """A real session of one connection, to be repeated, and how many statements it executes."""

    capture: Path
    queries: int
    fingerprints: int

    def __call__(self, wish: Wish) -> Traffic:
        """Again and again, each time on a connection of its own."""
        records = list(packets_of(self.capture))
        times = [time_ns(record) for record in records]
        template = Template(
            records, [Strand(who_opened(records))], max(times) - min(times) + GAP_NS, fresh=True, jitter=False
        )
        count = wish.packets // len(records)
        parts = [partial(template.blocks, count)]
        return Traffic(count * len(records), count, count * self.queries, self.fingerprints, parts)


def packets_of(capture: Path) -> Iterator[Record]:
    """With nanoseconds and Ethernet headers, whatever they were captured with."""
    data = subprocess.run(["editcap", "-F", "nsecpcap", capture, "-"], capture_output=True, check=True).stdout
    front = b"" if int.from_bytes(data[20:24], "little") == LINK_ETHERNET else ETHERNET_HEADERS[0]
    at = len(PCAP_HEADER)
    while at < len(data):
        seconds, nanoseconds, kept, whole = struct.unpack_from("<IIII", data, at)
        header = struct.pack("<IIII", seconds, nanoseconds, kept + len(front), whole + len(front))
        yield header + front + data[at + RECORD : at + RECORD + kept]
        at += RECORD + kept


def who_opened(records: Iterable[Record]) -> tuple[bytes, int]:
    ip = RECORD + ETHERNET
    opening = next(record for record in records if record[ip + TCP + 13] & SYN)
    return opening[ip + 12 : ip + 16], int.from_bytes(opening[ip + TCP : ip + TCP + 2])


def in_time(records: Sequence[Record]) -> Iterator[Record]:
    return iter(sorted(records, key=time_ns))


FIREBIRD = Session(ROOT / "fixtures" / "firebird" / "fbclient3-nplus1-100-client.pcapng.zst", 101, 2)
TNS = Session(ROOT.parent / "shared" / "captures" / "tns" / "jdbc_19c_nplus1_rtt5.pcap", 201, 2)

KINDS: dict[str, Callable[[Wish], Traffic]] = {
    "nplus1": nplus1,
    "postgresql": postgresql_extended,
    "bulk": bulk,
    "short": short,
    "connections": connections,
    "statements": statements,
    "firebird": FIREBIRD,
    "tns": TNS,
}
