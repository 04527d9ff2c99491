"""How wrong is the baseline RTT of captures as they are taken in the field, and how sure of itself?

    python benchmarks/variants.py [--set NAME] [--class NAME] [--seeds N] [--worst N]

Good captures of known RTT, stretched to other RTTs, are varied as networks, hosts and capture points vary them. Each
variant is compared with what the same work shows whole, at the client, with its RTT given. `absurd`: the baseline is
off by more than 20 %, its range reaches beyond 45 %, more than a fifth of the time is unknown though nine of ten exchanges
are complete, the network's share is off by 20 points or a projection by 15 %. `confident`: absurd, and the truth lies
outside the stated range. `withheld`: no absurd figure, as one is not told, or a share that is less by what is told to be
unknown. Rules are made with the first set of captures; the others are only held against them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import struct
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import damage
import numpy as np
from damage import ACK, FIN, FIXTURES, MS, PUSH, SYN, Packet, Packets, in_time

import latpcap

DEVELOPMENT = {
    "mysql/nplus1-1000-rtt15": (0, 15),
    "mysql/driver-connector-python": (0, 14, 49),
    "mysql/commit-each-row": (4,),
    "mysql/pool-4": (0, 19),
    "mysql/jdbc-mysql-nplus1": (1, 90),
    "postgresql/psycopg2-nplus1-100": (0, 49),
    "postgresql/psycopg2-connect-each": (19,),
    "postgresql/pgbench-tpcb-c1": (1,),
    "postgresql/pgbench-tpcb-c4": (29,),
    "firebird/fbclient3-nplus1-100-client": (0,),
}
"""Captures taken at the client, and by how many ms their RTT is stretched."""
HELD_OUT = {
    "clients/go-sql-driver-mysql97": (0, 23),
    "clients/tokio-postgres": (10,),
    "clients/django-postgresql": (38,),
    "clients/node-mysql2-mysql97": (4, 60),
    "clients/pyodbc-postgresql": (1,),
    "clients/gorm-mysql": (6,),
    "clients/perl-dbd-mysql": (16,),
    "clients/activerecord-postgresql": (30,),
    "findings/orm-no-pool-my": (9,),
    "mysql/mysql97-cli-tracked": (7,),
    "keys/go-sql-driver-clear-two-sessions": (12,),
}
SECOND = {
    "clients/hibernate-mariadb": (0,),
    "clients/sqlx-postgresql": (45,),
    "findings/insert-each-my": (70,),
    "findings/nested-pg": (0,),
    "findings/orm-lazy-my": (13,),
    "findings/orm-pool-pg": (24,),
    "firebird/jaybird6-nplus1": (0.3,),
    "mysql/small-commands": (9,),
    "keys/mysql-jdbc-clear": (8,),
    "mysql/churn-20": (4,),
    "mysql/mysql97-pure-prepared": (18,),
    "mysql/prepared-reused": (33,),
    "postgresql/jdbc-transactions": (2,),
    "postgresql/pg8000-nplus1-100": (11,),
    "postgresql/pgbench-select-simple-c4": (52,),
    "mysql/nplus1-10k": (0.4,),
}
THIRD = {
    "clients/php-odbc-mariadb": (0,),
    "clients/sqlalchemy-mysql": (61,),
    "clients/sqldb-postgresql": (27,),
    "findings/chatter-my": (35,),
    "findings/insert-commit-pg": (14,),
    "findings/orm-requests-pg": (7,),
    "firebird/firebird4-fbclient5-nplus1": (48,),
    "firebird/firebirdsql-nplus1": (0.5,),
    "keys/mysql2-clear": (20,),
    "keys/postgresql-jdbc-clear": (3,),
    "mysql/cursor-fetch1": (12,),
    "mysql/mysql97-jdbc-attributes": (78,),
    "mysql/nplus1-1000": (0.2,),
    "mysql/parallel-8": (17,),
    "postgresql/asyncpg-prepared": (5,),
    "postgresql/pgbench-select-prepared-c4": (40,),
}
FOURTH = {
    "findings/failing-my": (6,),
    "findings/nested-my": (29,),
    "findings/oltp-pg": (55,),
    "findings/orm-lazy-pg": (3,),
    "findings/repeated-pg": (0,),
    "firebird/go-firebirdsql-nplus1": (15,),
    "firebird/jaybird5-nplus1": (1.5,),
    "keys/psycopg-direct-clear": (43,),
    "keys/pymysql-clear": (10,),
    "mysql/jdbc-mariadb-nplus1": (25,),
    "mysql/login-native": (12,),
    "mysql/mysql97-cext-prepared": (79,),
    "postgresql/pgbench-select-extended-c4": (8,),
    "postgresql/pgx": (4,),
    "postgresql/psycopg2-transactions": (19,),
    "postgresql/psycopg3-nplus1-100": (0,),
}
FIFTH = {
    "findings/chatter-pg": (22,),
    "findings/connects-my": (16,),
    "findings/failing-pg": (5,),
    "findings/insert-commit-my": (2,),
    "findings/orm-no-pool-pg": (34,),
    "findings/orm-requests": (0,),
    "findings/write-write-read": (9,),
    "firebird/firebird4-jaybird6-nplus1": (27,),
    "firebird/node-firebird-nplus1": (3,),
    "keys/go-sql-driver-clear": (47,),
    "mysql/compressed-zlib": (65,),
    "mysql/jdbc-mysql-prepared-each": (13,),
    "mysql/nplus1-1000-rtt1": (0.5,),
    "postgresql/pgbench-select-prepared-c1": (39,),
    "postgresql/psql-nplus1-100": (7,),
}
SETS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "development": DEVELOPMENT,
    "held-out": HELD_OUT,
    "second": SECOND,
    "third": THIRD,
    "fourth": FOURTH,
    "fifth": FIFTH,
}
MOST_PACKETS = 400
HOST_NS = 40_000
"""The server's turnaround for a SYN."""


@dataclass(frozen=True)
class Base:
    """A capture at the client, and its RTT."""

    name: str
    packets: Packets
    rtt_ns: int

    @property
    def way_ns(self) -> int:
        """A capture point elsewhere: no answer may pass it before its request."""
        last: dict[int, int] = {}
        waits = [self.rtt_ns]
        for packet in self.packets:
            assert packet.tcp is not None
            if is_clients(packet):
                last[port(packet)] = packet.time_ns
            elif packet.tcp.payload_length and port(packet) in last:
                waits.append(packet.time_ns - last.pop(port(packet)))
        return min(waits) - 5_000 if min(waits) > self.rtt_ns / 2 else self.rtt_ns


@dataclass(frozen=True)
class Variant:
    """What is read, and the same work as it is known."""

    packets: Packets
    reference: Packets
    truth_ns: dict[int, int]
    """Of connections by the client's port; 0 for all others."""


Made = Callable[[Base, random.Random], Variant]
CLASSES: dict[str, list[Made]] = defaultdict(list)


def variant(name: str) -> Callable[[Made], Made]:
    def added(made: Made) -> Made:
        CLASSES[name].append(made)
        return made

    return added


# --- bases ------------------------------------------------------------------------------------------------------------


def bases(names: Mapping[str, tuple[float, ...]]) -> Iterator[Base]:
    for name, more in names.items():
        [path] = (path for path in FIXTURES.glob(f"{name}.pcap*") if ".pcap" in path.name)
        packets = damage.read(path)
        packets = [packet for packet in packets if packet.tcp][:MOST_PACKETS]
        for more_ms in more:
            stretched = interval(elsewhere(packets), round(more_ms * MS))
            yield Base(f"{name}+{more_ms}", stretched, handshake_ns(stretched) - HOST_NS)


def elsewhere(packets: Packets) -> Packets:
    """What one host said to itself: its server has an address of its own."""
    made = Packets()
    for packet in packets:
        assert packet.tcp is not None
        data = bytearray(packet.data)
        if packet.tcp.source[0] == packet.tcp.destination[0]:
            data[packet.ip + (19 if is_clients(packet) else 15)] ^= 0x40
        made.append(replace(packet, data=bytes(data)))
    return made


def is_clients(packet: Packet) -> bool:
    assert packet.tcp is not None
    return packet.tcp.source[1] > packet.tcp.destination[1]


def port(packet: Packet) -> int:
    assert packet.tcp is not None
    return max(packet.tcp.source[1], packet.tcp.destination[1])


def is_pure_ack(packet: Packet) -> bool:
    assert packet.tcp is not None
    return not packet.tcp.payload_length and not packet.tcp.flags & (SYN | FIN)


def handshake_ns(packets: Packets) -> int:
    sent: dict[int, int] = {}
    found = []
    for packet in packets:
        assert packet.tcp is not None
        if packet.tcp.flags & SYN:
            if not packet.tcp.flags & ACK:
                sent[port(packet)] = packet.time_ns
            elif port(packet) in sent:
                found.append(packet.time_ns - sent[port(packet)])
    return int(statistics.median_low(found))


def interval(packets: Packets, more_ns: int | Callable[[Packet], int]) -> Packets:
    """As if the server were so much farther away: what answers a request, and all behind it, is later."""
    late: dict[int, int] = {}
    way: dict[int, int] = defaultdict(int)
    """By how much the server's data are longer on their way."""
    over: list[tuple[int, int]] = []
    last = {port(packet): packet.time_ns for packet in packets}
    asked: dict[int, bool] = {}
    greeted: dict[int, bool] = {}
    clocks: dict[tuple[int, bool, int], int] = {}
    made = Packets()
    for packet in packets:
        assert packet.tcp is not None
        at = port(packet)
        if at not in late:
            over = [(end, late[other]) for other, end in last.items() if other in late and end <= packet.time_ns]
            late[at] = max((shift for _, shift in over), default=0)
        if is_clients(packet):
            asked[at] = asked.get(at, False) or packet.tcp.payload_length > 0 or bool(packet.tcp.flags & (SYN | FIN))
        elif asked.get(at) or (packet.tcp.payload_length and not greeted.get(at)):
            more = more_ns(packet) if callable(more_ns) else more_ns
            late[at] += more
            way[at] = more // 2
            asked[at] = False
        if packet.tcp.payload_length:
            greeted[at] = True
        later = packet.at(packet.time_ns + late[at])
        made.append(stamped(later, late[at] if is_clients(packet) else late[at] - way[at], clocks))
    return in_time(made)


def stamped(packet: Packet, late_ns: int, clocks: dict[tuple[int, bool, int], int]) -> Packet:
    """Sent so much later by its sender's clock (TCP timestamps of 1 ms), whose readings the other side echoes."""
    assert packet.tcp is not None
    at, end = packet.tcp.at + 20, packet.tcp.payload_at
    while at < end and packet.data[at] not in (0, 8):
        at += 1 if packet.data[at] == 1 else max(packet.data[at + 1], 2)
    if at + 10 > end or packet.data[at] != 8:
        return packet
    sent, echoed = struct.unpack_from(">II", packet.data, at + 2)
    changed = (sent + late_ns // MS) & 0xFFFFFFFF
    clocks[port(packet), is_clients(packet), sent] = changed
    data = bytearray(packet.data)
    echo = clocks.get((port(packet), not is_clients(packet), echoed), echoed)
    struct.pack_into(">II", data, at + 2, changed, echo)
    return replace(packet, data=bytes(data))


def seen_from(packets: Packets, part: float, rtt_ns: int | Callable[[Packet], int]) -> Packets:
    """As a capture point sees it that lies this part of the way from the client to the server."""

    def way(packet: Packet) -> int:
        return round(part * (rtt_ns(packet) if callable(rtt_ns) else rtt_ns) / 2)

    return in_time([packet.at(packet.time_ns + way(packet) * (1 if is_clients(packet) else -1)) for packet in packets])


def begun(packets: Packets, part: float) -> Packets:
    """The capture begins later, and no connection's beginning is in it."""
    kept = packets[round(part * len(packets)) :]
    opened = {port(packet) for packet in kept if packet.tcp and packet.tcp.flags & SYN}
    return [packet for packet in kept if port(packet) not in opened]


def moved(packets: Packets, first: int, by_ns: int, only: int | None = None) -> Packets:
    """All from one place on is later, or sooner; `only` one connection's."""
    return in_time(
        [
            packet.at(packet.time_ns + by_ns * (place >= first and only in (None, port(packet))))
            for place, packet in enumerate(packets)
        ]
    )


def answers(packets: Packets) -> list[int]:
    """Places of server data that follow a request."""
    asked: dict[int, bool] = {}
    found = []
    for place, packet in enumerate(packets):
        assert packet.tcp is not None
        if packet.tcp.payload_length:
            if not is_clients(packet) and asked.get(port(packet)):
                found.append(place)
            asked[port(packet)] = is_clients(packet)
    return found


def made_packet(
    like: Packet, time_ns: int, new_port: int, flags: int, sequence: int, ack: int, payload: bytes
) -> Packet:
    """One of another connection between the same hosts."""
    ports = {"source_port" if is_clients(like) else "destination_port": new_port}
    changed = like.with_tcp(flags=flags, sequence=sequence, acknowledgment=ack, payload=payload, **ports)
    return replace(changed, origin=-1, time_ns=time_ns)


def few(base: Base, chance: random.Random) -> Packets:
    """The whole, some exchanges of it, or it begun in the middle."""
    how = chance.randrange(3)
    places = answers(base.packets)
    if how == 1:
        return base.packets[: places[min(chance.randint(5, 24), len(places) - 1)] + 1]
    later = begun(base.packets, chance.uniform(0.1, 0.5))
    return later if how == 2 and len(answers(later)) >= 4 else base.packets


def same(packets: Packets, base: Base, reference: Packets | None = None) -> Variant:
    return Variant(packets, packets if reference is None else reference, {0: base.rtt_ns})


# --- variants ---------------------------------------------------------------------------------------------------------


@variant("leftovers, early and late stamps")
def quit_and_fin(base: Base, chance: random.Random) -> Variant:
    """An older connection's goodbye was sent again, its first copy before the capture: the FIN comes too early."""
    packets = few(base, chance)
    asked = next(packet for packet in packets if is_clients(packet) and packet.tcp and packet.tcp.payload_length)
    answered = next(packet for packet in packets if not is_clients(packet))
    start, early = packets[0].time_ns - 30 * MS, round(base.rtt_ns * chance.uniform(0.1, 0.7))
    quits = asked.data[asked.tcp.payload_at :][:5] if asked.tcp else b""
    other = 33333
    left = [
        made_packet(asked, start, other, ACK | PUSH, 1000, 5000, quits),
        made_packet(answered, start + early, other, ACK | FIN, 5000, 1005, b""),
        made_packet(asked, start + early + 20_000, other, ACK | FIN, 1005, 5001, b""),
        made_packet(answered, start + early + base.rtt_ns, other, ACK, 5001, 1006, b""),
    ]
    if chance.random() < 0.5:
        left[1] = made_packet(answered, start + early, other, ACK, 5000, 1005, b"")
    return same(in_time([*left, *packets]), base)


@variant("leftovers, early and late stamps")
def early_answers(base: Base, chance: random.Random) -> Variant:
    """One to three answers come sooner: another way, or the request was seen late."""
    packets = few(base, chance)
    places = answers(packets)
    by_ns = -round(base.rtt_ns * chance.uniform(0.2, 0.8))
    made = packets
    for place in sorted(chance.sample(places, min(chance.randint(1, 3), max(len(places) // 8, 1)))):
        made = moved(made, place, by_ns, port(packets[place]))
    return same(made, base, packets)


@variant("leftovers, early and late stamps")
def resent_request(base: Base, chance: random.Random) -> Variant:
    """A request was sent again, and the capture shows its copy only."""
    packets = few(base, chance)
    place = chance.choice(answers(packets))
    early = round(base.rtt_ns * chance.uniform(0.1, 0.9))
    before = max(at for at in range(place) if port(packets[at]) == port(packets[place]) and is_clients(packets[at]))
    made = [packet.at(packet.time_ns + early * (at == before)) for at, packet in enumerate(packets)]
    return same(in_time(made), base, packets)


@variant("leftovers, early and late stamps")
def late_stamp(base: Base, chance: random.Random) -> Variant:
    """A few packets were stamped late, any of them."""
    packets = few(base, chance)
    made = list(packets)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(made))
        until = next((packet.time_ns for packet in made[at + 1 :]), made[at].time_ns)
        late = min(round(base.rtt_ns * chance.uniform(0.2, 2)), max(until - made[at].time_ns - 1, 0))
        made[at] = made[at].at(made[at].time_ns + late)
    return same(in_time(made), base, packets)


@variant("leftovers, early and late stamps")
def clock_set(base: Base, chance: random.Random) -> Variant:
    """The clock is set by a part of the RTT, back or forward."""
    packets = few(base, chance)
    by_ns = round(base.rtt_ns * chance.uniform(-0.8, 2))
    return same(moved(packets, chance.randrange(1, len(packets)), by_ns), base, packets)


@variant("handshake answered on the way")
def firewall(base: Base, chance: random.Random) -> Variant:
    """A firewall answers every SYN."""
    part = chance.uniform(0.02, 0.7)
    made, late = Packets(), {}
    for packet in base.packets:
        assert packet.tcp is not None
        if packet.tcp.flags & SYN and packet.tcp.flags & ACK:
            late[port(packet)] = -round((1 - part) * base.rtt_ns)
        elif packet.tcp.payload_length:
            late[port(packet)] = 0
        made.append(packet.at(packet.time_ns + late.get(port(packet), 0)))
    return same(in_time(made), base, base.packets)


@variant("handshake answered on the way")
def second_syn(base: Base, chance: random.Random) -> Variant:
    """The SYN was sent twice, and only its copy is there."""
    late = round(base.rtt_ns * chance.uniform(0.1, 0.9))
    made = [
        packet.at(packet.time_ns + late * bool(packet.tcp and packet.tcp.flags & (SYN | ACK) == SYN))
        for packet in base.packets
    ]
    return same(in_time(made), base, base.packets)


@variant("slow handshake")
def slow_handshake(base: Base, chance: random.Random) -> Variant:
    """The first handshake, or every one, takes longer."""
    more = round(base.rtt_ns * chance.uniform(0.2, 9))
    every = chance.random() < 0.5
    packets, made = base.packets, Packets()
    if chance.random() < 0.5:
        places = answers(packets)
        packets = packets[: places[min(chance.randint(4, 20), len(places) - 1)] + 1]
    late: dict[int, int] = {}
    for packet in packets:
        if packet.tcp and packet.tcp.flags & (SYN | ACK) == SYN | ACK and (every or not late):
            late[port(packet)] = more
        made.append(packet.at(packet.time_ns + late.get(port(packet), 0)))
    return same(in_time(made), base)


@variant("slow handshake")
def resent_handshake(base: Base, chance: random.Random) -> Variant:
    """The first SYN was lost."""
    syn = next(packet for packet in base.packets if packet.tcp and packet.tcp.flags & SYN)
    return same([syn.at(syn.time_ns - 1000 * MS), *base.packets], base)


def begins(base: Base, chance: random.Random, part: float) -> Variant:
    packets = begun(base.packets, chance.uniform(0.05, 0.7))
    if len(answers(packets)) < 4:
        packets = [packet for packet in base.packets if packet.tcp and not packet.tcp.flags & SYN]
    return same(seen_from(packets, part, base.way_ns), base, packets)


@variant("begins in the middle, at the client")
def begins_at_client(base: Base, chance: random.Random) -> Variant:
    return begins(base, chance, 0)


@variant("begins in the middle, at the server or on the way")
def begins_at_server(base: Base, chance: random.Random) -> Variant:
    return begins(base, chance, 1)


@variant("begins in the middle, at the server or on the way")
def begins_on_the_way(base: Base, chance: random.Random) -> Variant:
    return begins(base, chance, chance.uniform(0.1, 0.95))


@variant("capture point on the way")
def on_the_way(base: Base, chance: random.Random) -> Variant:
    return same(seen_from(base.packets, chance.uniform(0.05, 0.98), base.way_ns), base, base.packets)


@variant("capture point on the way")
def at_the_server(base: Base, chance: random.Random) -> Variant:
    return same(seen_from(base.packets, 1, base.way_ns), base, base.packets)


@variant("capture point on the way")
def two_taps(base: Base, chance: random.Random) -> Variant:
    other = seen_from(base.packets, chance.uniform(0.2, 1), base.way_ns)
    return same(in_time([*base.packets, *other]), base, base.packets)


@variant("one path, two distances")
def two_distances(base: Base, chance: random.Random) -> Variant:
    """Behind one address are a near host and a far one."""
    near = base.packets
    if chance.random() < 0.5:
        places = answers(near)
        near = near[: places[min(chance.randint(3, 20), len(places) - 1)] + 1]
    added = min(round(base.rtt_ns * chance.uniform(1, 40)), 200 * MS)
    end = near[-1].time_ns - near[0].time_ns + 10 * MS
    far, truth = Packets(), {0: base.rtt_ns}
    for packet in interval(near, added):
        other = port(packet) - 20_000
        truth[other] = base.rtt_ns + added
        ports = {"source_port" if is_clients(packet) else "destination_port": other}
        far.append(packet.with_tcp(**ports).at(packet.time_ns + end))
    return Variant([*near, *far], [*near, *far], truth)


@variant("acknowledged on the way")
def acknowledged_on_the_way(base: Base, chance: random.Random) -> Variant:
    """A NAT in user space (VirtualBox) answers SYNs and acknowledges data itself: only responses come from the server."""
    part, made = chance.uniform(0.02, 0.6), Packets()
    sooner = round((1 - part) * base.rtt_ns)
    asked: dict[int, int] = {}
    opening: dict[int, bool] = {}
    for packet in base.packets:
        assert packet.tcp is not None
        at, time_ns = port(packet), packet.time_ns
        if is_clients(packet):
            time_ns -= sooner * (is_pure_ack(packet) and opening.pop(at, False))
            asked[at] = time_ns
        elif not packet.tcp.payload_length and at in asked:
            opening[at] = bool(packet.tcp.flags & SYN)
            time_ns = max(time_ns - sooner, asked[at] + 20_000)
        made.append(packet.at(time_ns))
    return same(in_time(made), base, base.packets)


@variant("acknowledged late, below 1 ms")
def acknowledged_late(base: Base, chance: random.Random) -> Variant:
    """A server so near that its work is longer than the path, whose pure ACKs are late."""
    late = round(base.rtt_ns * chance.uniform(2, 5)) if base.rtt_ns < MS else 0
    made = [
        packet.at(packet.time_ns + late * (is_pure_ack(packet) and not is_clients(packet))) for packet in base.packets
    ]
    return same(in_time(made), base, base.packets)


@variant("path changes")
def path_changes(base: Base, chance: random.Random) -> Variant:
    """From the first third on the server is farther, or nearer for that long."""
    more = round(base.rtt_ns * chance.uniform(0.5, 3))
    at_ns = base.packets[len(base.packets) // 3].time_ns
    nearer = chance.random() < 0.5
    made = interval(base.packets, lambda packet: more * ((packet.time_ns < at_ns) is nearer))
    later: dict[int, list[bool]] = defaultdict(list)
    for place in answers(base.packets):
        later[port(base.packets[place])].append((base.packets[place].time_ns < at_ns) is nearer)
    truth = {at: base.rtt_ns + more * (2 * sum(far) > len(far)) for at, far in later.items()}
    return Variant(made, made, {0: base.rtt_ns, -1: base.rtt_ns + more, **truth})


@variant("two servers, one near")
def two_servers(base: Base, chance: random.Random) -> Variant:
    """Beside the job a monitor asks a server that is near."""
    near_ns, first, monitor = round(MS * chance.uniform(0.2, 0.6)), base.packets[0].time_ns, Packets()
    for packet in base.packets[: max(len(base.packets) // 3, 30)]:
        scaled = first + round(near_ns / base.rtt_ns * (packet.time_ns - first))
        ports = {"source_port" if is_clients(packet) else "destination_port": port(packet) - 20_000}
        data = bytearray(packet.with_tcp(**ports).data)
        data[packet.ip + (19 if is_clients(packet) else 15)] ^= 0x40
        monitor.append(replace(packet, data=bytes(data), time_ns=scaled))
    truth = {0: base.rtt_ns} | {port(packet): near_ns for packet in monitor}
    both = in_time([*base.packets, *monitor])
    return Variant(both, both, truth)


@variant("one direction missing")
def one_direction(base: Base, chance: random.Random) -> Variant:
    """The mirror port lost what one side sent, from one place on or of one connection."""
    lost, first = chance.random() < 0.5, chance.randrange(len(base.packets) // 4, len(base.packets))
    made = [packet for place, packet in enumerate(base.packets) if place < first or is_clients(packet) != lost]
    return same(made, base, base.packets)


@variant("coarse clock")
def coarse_clock(base: Base, chance: random.Random) -> Variant:
    packets, ticks = few(base, chance), [tick * MS for tick in (1, 2, 4, 10) if tick * MS < 0.8 * base.rtt_ns]
    tick = chance.choice(ticks or [MS // 10])
    return same([packet.at(packet.time_ns // tick * tick) for packet in packets], base, packets)


@variant("jitter, loss, bursts")
def jitter(base: Base, chance: random.Random) -> Variant:
    packets = few(base, chance)
    most = round(base.rtt_ns * chance.uniform(0.02, 0.3))
    made = interval(packets, lambda _: chance.randrange(most + 1))
    return Variant(made, made, {0: base.rtt_ns + most // 2})


@variant("jitter, loss, bursts")
def loss(base: Base, chance: random.Random) -> Variant:
    packets = few(base, chance)
    return same(damage.lose_on_path(packets, chance, 0.02, max(200 * MS, base.rtt_ns)), base)


@variant("jitter, loss, bursts")
def holes(base: Base, chance: random.Random) -> Variant:
    packets = few(base, chance)
    how = chance.choice((damage.lose_single, damage.lose_intervals))
    return same(how(packets, chance), base, packets)


@variant("jitter, loss, bursts")
def snapped(base: Base, chance: random.Random) -> Variant:
    packets = few(base, chance)
    return same(damage.cut_packets(packets, chance, chance.choice((80, 96, 128))), base, packets)


def _withstood(how: Callable[[Packets, random.Random], Packets]) -> Made:
    def made(base: Base, chance: random.Random) -> Variant:
        return same(how(base.packets, chance), base, base.packets)

    made.__name__ = how.__name__
    return made


for each in (damage.keep_alive, damage.refuse, damage.leave_unanswered, damage.duplicate, damage.merge_segments):
    variant("withstood before")(_withstood(each))


@variant("withstood before")
def ends_early(base: Base, chance: random.Random) -> Variant:
    return same(damage.end_in_the_middle(base.packets, chance), base)


# --- judging ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What a capture is told to be."""

    share: float | None
    unknown: float
    """What cannot be divided, as a part of the runtime."""
    projection: float | None
    """Of the runtime, at twice the RTT and 5 ms more."""


def told(capture: latpcap.Capture, rtt_ms: float) -> Told:
    analysis = capture.analyze([2 * rtt_ms + 5])
    [point] = [each for each in analysis.projection.points if abs(each.rtt_ms - 2 * rtt_ms - 5) < 1e-6]
    runtime_s = max(analysis.summary.runtime_s, 1e-9)
    projection = None if point.runtime_s is None else point.runtime_s / runtime_s
    return Told(analysis.summary.network_share, analysis.budget.unknown_s / runtime_s, projection)


def judge(made: Variant) -> tuple[list[str], list[str], bool, str]:
    """Why it is absurd, what is withheld, whether it is confident, and what was told."""
    capture = latpcap.read(damage.pcapng(made.packets))
    analysis = capture.analyze()
    recording, rtt = capture.recording, capture.measures.rtt
    found, connections, exchanges = rtt.of_connections, recording.connections, recording.exchanges
    trips = np.bincount(exchanges.connection, exchanges.round_trips, len(connections))
    names = [connections.client.name(row) for row in range(len(connections))]
    truth = np.array([made.truth_ns.get(int(name.rpartition(":")[2]), made.truth_ns[0]) for name in names], float)
    share_of_trips = trips / max(trips.sum(), 1)
    wrong = ~(np.abs(found.baseline / truth - 1) <= 0.2)
    wide = ~((found.high - found.low) / 2 <= 0.45 * truth)
    slack = 0.02 * truth + 100_000 + recording.tick_ns
    outside = (found.low > truth + slack) | (found.high < truth - slack)
    why: list[str] = []
    withheld: list[str] = []
    for name, which in (("baseline", wrong), ("range", wide)):
        if share_of_trips[which].sum() > 0.1:
            why.append(name)
    confident = bool(share_of_trips[outside].sum() > 0.1)
    whole = exchanges.complete.mean() > 0.9
    if whole and analysis.budget.unknown_s > 0.2 * analysis.summary.runtime_s:
        why.append("unknown")
    one = len(set(made.truth_ns.values())) == 1
    if one:
        rtt_ms = made.truth_ns[0] / 1e6
        reference = told(latpcap.read(damage.pcapng(made.reference), rtt_baseline_ms=rtt_ms), rtt_ms)
        shown = told(capture, rtt_ms)
        if reference.share is not None:
            if shown.share is None:
                withheld.append("no share")
            elif shown.share > reference.share + 0.2 or shown.share + shown.unknown < reference.share - 0.2:
                why.append("share")
            elif shown.share < reference.share - 0.2:
                withheld.append("undivided")
        if reference.projection is not None:
            if shown.projection is None:
                withheld.append("no projection")
            elif abs(shown.projection / reference.projection - 1) > 0.15:
                why.append("projection")
        detail = (
            f" share {shown.share} ({shown.unknown:.2f} unknown) for {reference.share}, "
            f"projection {shown.projection} for {reference.projection}"
        )
    else:
        detail = ""
    busiest = int(trips.argmax()) if len(trips) else 0
    text = (
        f"{truth[busiest] / 1e6:.3f}: {found.baseline[busiest] / 1e6:.3f} [{found.low[busiest] / 1e6:.3f}–"
        f"{found.high[busiest] / 1e6:.3f}] {found.method_name(busiest)}, {found.position_name(busiest)}: "
        f"{found.reason_text(busiest)}{detail}"
    )
    return why, withheld, bool(why) and confident, text


Row = tuple[str, str, list[str], list[str], bool, str]


def judged(task: tuple[str, Made, Base, int]) -> Row:
    name, how, base, seed = task
    chance = random.Random(f"{how.__name__} {base.name} {seed}")
    label = f"{how.__name__} {base.name} {seed}"
    try:
        made = how(base, chance)
        why, withheld, confident, text = judge(made)
    except latpcap.NoDatabaseTraffic:
        return name, label, [], ["nothing read"], False, ""
    return name, label, why, withheld, confident, text


_TASKS: list[tuple[str, Made, Base, int]] = []


def _judged_at(index: int) -> Row:
    return judged(_TASKS[index])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="development", help="which captures")
    parser.add_argument("--class", dest="only", help="of these classes: a part of their name")
    parser.add_argument("--seeds", type=int, default=3, help="variants of each kind and capture")
    parser.add_argument("--worst", type=int, default=0, help="show so many absurd ones of each class")
    asked = parser.parse_args()
    chosen = list(bases(SETS[asked.set]))
    _TASKS.extend(
        (name, how, base, seed)
        for name, several in CLASSES.items()
        if not asked.only or asked.only in name
        for how in several
        for base in chosen
        for seed in range(asked.seeds)
    )
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(_judged_at, range(len(_TASKS)), chunksize=20))
    print("| variants | how many | absurd | confident | withheld | why |\n|---|--:|--:|--:|--:|---|")
    everything = [*CLASSES] if not asked.only else sorted({row[0] for row in rows})
    for name in [*everything, "all"]:
        mine = [row for row in rows if name in (row[0], "all")]
        absurd = [row for row in mine if row[2]]
        withheld = [row for row in mine if row[3] and not row[2]]
        causes = Counter(cause for row in mine for cause in row[2] or row[3])
        print(
            f"| {name} | {len(mine)} | {len(absurd)} | {sum(row[4] for row in mine)} | {len(withheld)} | "
            + ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
            + " |"
        )
    for name in everything if asked.worst else []:
        absurd = [row for row in rows if row[0] == name and row[2]]
        random.Random(0).shuffle(absurd)
        print(f"\n{name}")
        for _, label, why, _, confident, text in sorted(absurd[: asked.worst]):
            print(f"  {label} {'CONFIDENT ' if confident else ''}{'+'.join(why)} {text}")


if __name__ == "__main__":
    main()
