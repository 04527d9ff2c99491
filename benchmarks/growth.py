"""How latpcap's processor time grows with a capture: 1×, 2× and 4× of one thing, for each command.

    python benchmarks/growth.py [SUBJECT…] [--commands analyze,…] [--scale 1] [--limit 120]

Captures are generated. The table shows processor seconds, and from the smallest capture to the largest the exponent
(of four times as many: `log4(t4 ÷ t1)`) after what latpcap takes for an almost empty capture is subtracted: 1 is linear,
2 quadratic; and what each of the largest takes in milliseconds. What takes longer than the limit counts as that and is
marked. Groups, and files with a group each, are counted for `rank` and `scan`: 500, 2,500 and 10,000 of 14 requests.
"""

from __future__ import annotations

import argparse
import math
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path

from speed.traffic.mysql import log_in, message, result
from speed.traffic.wire import FIN_ACK, PCAP_HEADER, PUSH_ACK, Wire, client
from spending import Spent, spend

RTT_NS = 400_000
LINEAR = 1.25
"""The largest exponent that still counts as linear: `n log n` and what stands in the noise."""
SCALES = 1, 2, 4
GROUPS = 1, 5, 20
"""Times 500."""
MEMORY = 4 << 30

Records = Iterator[bytes]


def query(wire: Wire, sql: str, rows: int = 1) -> Records:
    return wire.ask(message(0, b"\x03" + sql.encode()), result([("id", 3)], [[str(row)] for row in range(rows)]))


def failing(wire: Wire, sql: str, text: str) -> Records:
    return wire.ask(message(0, b"\x03" + sql.encode()), message(1, b"\xff\x28\x04#42000" + text.encode()))


def bye(wire: Wire) -> Records:
    yield wire.packet(0, PUSH_ACK, message(0, b"\x01"))
    yield wire.packet(0, FIN_ACK)
    yield wire.packet(1, FIN_ACK)


def session(number: int, now_ns: int, queries: int, user: str = "lab") -> tuple[Wire, list[bytes]]:
    """A whole connection that begins at `now_ns`."""
    wire = Wire(RTT_NS, client(number))
    wire.now_ns = now_ns
    asked = (query(wire, f"SELECT id FROM t{number % 7} WHERE k={number + row}") for row in range(queries))
    return wire, list(chain(log_in(wire, user), *asked, bye(wire)))


def one_after_the_other(count: int, user: Callable[[int], str] = lambda _: "lab") -> Records:
    now_ns = Wire(RTT_NS).now_ns
    for number in range(count):
        wire, records = session(number, now_ns, queries=2, user=user(number))
        yield from records
        now_ns = wire.now_ns + 100_000


def at_once(count: int) -> Records:
    """All connections open, and their requests overlap."""
    begin_ns = Wire(RTT_NS).now_ns
    sessions = [session(number, begin_ns + number * 1_000, queries=4)[1] for number in range(count)]
    for step in zip_longest(*sessions):
        yield from (record for record in step if record)


def in_time(records: Records) -> Records:
    return iter(sorted(records, key=lambda record: struct.unpack_from("<II", record)))


def connections(count: int) -> Records:
    return one_after_the_other(count)


def concurrent(count: int) -> Records:
    return in_time(at_once(count))


def users(count: int) -> Records:
    """Each connection has a user of its own, and statements and messages name them."""
    yield from one_after_the_other(count, lambda number: f"user_{number}")
    wire = Wire(RTT_NS, client(count))
    yield from log_in(wire, "root")
    for number in range(count):
        yield from failing(wire, f"DROP USER 'user_{number}'@'host-{number}'", f"no user 'person {number}' here")


def statements(count: int) -> Records:
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for number in range(count):
        yield from query(wire, f"SELECT c{number} FROM t{number % 1000} WHERE k = 1")


def errors(count: int) -> Records:
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for number in range(count):
        yield from failing(wire, "SELECT nothing", f"Unknown column 'c{number}' in 'field list'")


def routes(count: int) -> Records:
    """Statements with comments that name the code that sent them."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    for number in range(count):
        yield from query(wire, f"SELECT a FROM t WHERE k = {number} /*route='/orders/{number}/lines'*/")


def rows(count: int) -> Records:
    """The classic N+1."""
    wire = Wire(RTT_NS)
    yield from log_in(wire)
    yield from query(wire, "SELECT id FROM orders", count % 1000)
    for number in range(count):
        yield from query(wire, f"SELECT a FROM lines WHERE order_id = {number}")


def groups(count: int, of: str) -> Records:
    """Two connections of each client, user or server, one after the other."""
    now_ns = Wire(RTT_NS).now_ns
    for number in range(2 * count):
        group = number // 2
        place = bytes([10, 9, group >> 8 & 255, group & 255])
        here = (place, 40_000 + number % 2) if of == "client" else (bytes([10, 1, 0, 5]), 1024 + number % 60_000)
        wire = Wire(RTT_NS, here, (place, 3306) if of == "server" else (bytes([10, 0, 0, 2]), 3306))
        wire.now_ns = now_ns
        asked = (query(wire, f"SELECT id FROM t{group % 7} WHERE k={group + row}") for row in range(4))
        yield from chain(log_in(wire, f"u{group}" if of == "user" else "lab"), *asked, bye(wire))
        now_ns = wire.now_ns + 100_000


@dataclass(frozen=True)
class Subject:
    """What grows, and how many of it the smallest capture has."""

    records: Callable[[int], Records]
    count: int
    options: tuple[str, ...] = ()
    files: bool = False
    """Each connection is a file of its own."""
    scales: tuple[int, ...] = SCALES
    commands: tuple[str, ...] = ()
    """These alone."""


SUBJECTS = {
    "connections": Subject(connections, 5_000),
    "concurrent connections": Subject(concurrent, 2_000),
    "users": Subject(users, 1_000),
    "users, --pseudonymise": Subject(users, 1_000, ("--pseudonymise",)),
    "statements": Subject(statements, 10_000),
    "statements, --pseudonymise": Subject(statements, 10_000, ("--pseudonymise",)),
    "errors": Subject(errors, 10_000),
    "errors, --pseudonymise": Subject(errors, 10_000, ("--pseudonymise",)),
    "routes": Subject(routes, 10_000),
    "exchanges": Subject(rows, 20_000),
    "files": Subject(connections, 375, files=True),
    "clients": Subject(partial(groups, of="client"), 500, scales=GROUPS, commands=("rank by client", "scan")),
    "users of rank": Subject(partial(groups, of="user"), 500, scales=GROUPS, commands=("rank by user",)),
    "servers": Subject(
        partial(groups, of="server"),
        500,
        scales=GROUPS,
        commands=("rank by server", "scan", "scan to a dataset", "analyze a dataset"),
    ),
    "files of rank": Subject(connections, 500, files=True, scales=GROUPS, commands=("rank",)),
}

COMMANDS = {
    "analyze": ("analyze", "--json"),
    "findings": ("findings", "--rtt", "15ms"),
    "report": ("analyze", "-o", "{out}.html"),
    "statements": ("statements", "--format", "csv"),
    "connections": ("table", "connections", "--format", "csv"),
    "comments": ("wireshark", "-o", "{out}.pcapng", "--force"),
    "sql": ("sql", "select count(*) from exchanges"),
}
OF_GROUPS = {
    "rank": ("rank", "--json"),
    "rank by client": ("rank", "--by", "client", "--json"),
    "rank by user": ("rank", "--by", "user", "--json"),
    "rank by server": ("rank", "--by", "server", "--json"),
    "scan": ("scan", "--totals", "--workers", "1"),
    "scan to a dataset": ("scan", "--force", "-o", "{out}.dataset"),
    "analyze a dataset": ("analyze", "--json"),
}


def main() -> None:
    arguments = parse()
    print("| subject | command | small: s | middle: s | large: s | exponent | ms each | peak MB |")
    print("|---|---|" + "--:|" * (len(SCALES) + 3))
    too_steep = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        floors: dict[str, float] = {}
        for name in arguments.subjects:
            subject = SUBJECTS[name]
            counts = [round(subject.count * arguments.scale * scale) for scale in subject.scales]
            captures = [written(subject, count, base) for count in counts]
            for command in subject.commands or arguments.commands.split(","):
                floor = floors.setdefault(command, floor_s(command, base))
                spent = [run(command, subject, capture, base, arguments.limit) for capture in captures]
                exponent = growth(spent, floor, counts)
                print(line(name, counts, command, spent, exponent, floor), flush=True)
                too_steep += [f"{name}: {command}"] if exponent > LINEAR else []
    if too_steep:
        sys.exit("not linear: " + "; ".join(too_steep))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", default=list(SUBJECTS), metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--commands", default=",".join(COMMANDS), help="separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="of all captures")
    parser.add_argument("--limit", type=int, default=120, help="processor seconds a run")
    return parser.parse_args()


def written(subject: Subject, count: int, base: Path) -> list[Path]:
    """The capture, or a folder full."""
    if not subject.files:
        path = base / f"{abs(hash((subject.records, count)))}.pcap"
        with path.open("wb") as file:
            file.writelines((PCAP_HEADER, *subject.records(count)))
        return [path]
    paths = [base / f"{count}-{number:05}.pcap" for number in range(count)]
    begin_ns = Wire(RTT_NS).now_ns
    for number, path in enumerate(paths):
        records = session(number, begin_ns + number * 10_000_000, queries=2)[1]
        path.write_bytes(PCAP_HEADER + b"".join(records))
    return paths


def run(command: str, subject: Subject, captures: list[Path], base: Path, limit: int) -> Spent:
    verb, *rest = (part.format(out=base / "out") for part in (COMMANDS | OF_GROUPS)[command])
    if command == "analyze a dataset":
        captures = [saved(captures, base, limit)]
    arguments = [verb, *map(str, captures), *rest] if verb == "sql" else [verb, *rest, *map(str, captures)]
    options = () if verb == "wireshark" else subject.options
    files = 256 if subject.files else None
    return spend([*arguments, *options, "--quiet"], cpu_s=limit, memory=MEMORY, files=files)


def saved(captures: list[Path], base: Path, limit: int) -> Path:
    """The dataset of the captures."""
    dataset = base / "saved.dataset"
    spend(["scan", *map(str, captures), "--force", "-o", str(dataset), "--quiet"], cpu_s=limit, memory=MEMORY)
    return dataset


def floor_s(command: str, base: Path) -> float:
    """What the command takes where there is next to nothing."""
    subject = Subject(connections, 1)
    spent = run(command, subject, written(subject, 1, base), base, 60)
    if spent.mark:
        sys.exit(f"latpcap {command}: {spent.complaint}")
    return spent.cpu_s


def growth(spent: list[Spent], floor: float, counts: list[int]) -> float:
    first, last = (max(each.cpu_s - floor, 0.02) for each in (spent[0], spent[-1]))
    return math.log(last / first, counts[-1] / counts[0])


def line(name: str, counts: list[int], command: str, spent: list[Spent], exponent: float, floor: float) -> str:
    seconds = " | ".join(f"{each.cpu_s:.2f}{each.mark}" for each in spent)
    peak = max(each.peak_mb for each in spent)
    each = 1000 * (spent[-1].cpu_s - floor) / counts[-1]
    return f"| {name} ({counts[0]:,} to {counts[-1]:,}) | {command} | {seconds} | {exponent:.2f} | {each:.2f} | {peak:.0f} |"


if __name__ == "__main__":
    main()
