"""The view of Wireshark on captures: one tshark run, its fields read line by line.

tshark is started without the user's preferences, profiles and Lua scripts, so that everybody gets the same answer.
What it prints comes from the capture and is taken as data only: what is no number where one belongs is left out.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import groupby, zip_longest
from typing import IO, Any

from msgspec import Struct, field

from latpcap.errors import CaptureError, UsageError
from latpcap.units import counted
from latpcap.verify.growing import Check
from latpcap.verify.programs import installed

FIELDS = (
    *("frame.number", "frame.time_epoch", "frame.protocols", "frame.cap_len", "frame.len"),
    *("tcp.stream", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport", "tcp.len"),
    *("tcp.analysis.initial_rtt", "tcp.analysis.flags"),
    *("mysql.command", "mysql.query", "mysql.query_attrs_count"),
    *("pgsql.frontend", "pgsql.type", "pgsql.query"),
    *("tds.type", "tds.status", "tds.packet_number", "tds.query"),
)
"""Fields; where a header comes several times (tunnels), its innermost is last."""

JOIN = "\r"
"""Between several values of one field: of all that may stand there, tshark escapes it where a capture contains it."""

FRAMES_PER_CHECK = 1000
"""Frames between two checks whether a capture has grown."""
MAX_TEXT_CHARS = 65_536
"""Characters of a statement that are kept: latpcap keeps no more either."""

DISSECTORS = {"mysql": "mysql", "postgresql": "pgsql", "sqlserver": "tds"}
"""Wireshark's name of each protocol whose messages are compared."""

SOCKS = "socks"
"""Wireshark reads what passes through such a proxy, latpcap does not."""

DISSECTED = frozenset(DISSECTORS.values())

ANSWER, ASKING = "4", {"1", "3", "14"}
"""Types of SQL Server's packets."""

MISSING = "tshark is not installed: apt install tshark (or Wireshark, on other systems), and have it in the PATH"


class Frame(Struct, frozen=True):
    """One packet of a TCP stream, as Wireshark reads it."""

    number: int
    time_ns: int | None
    stream: int
    source: str
    """`ADDRESS:PORT` of its sender."""
    data: int
    """Bytes of TCP payload."""
    is_cut: bool
    """Captured in part, because of the snap length."""
    is_anomalous: bool
    """Wireshark has a remark on its place among the others: sent again, out of order, one before it is missing."""
    has_message: bool = True
    """Wireshark reads a message of the database in it."""


class Query(Struct, frozen=True):
    """A statement with the frame that completes it."""

    frame: int
    stream: int
    text: str
    length: int


class Dissection(Struct):
    """A recording as Wireshark reads it."""

    packets: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    ends: dict[int, frozenset[str]] = field(default_factory=dict)
    """The two end points of each TCP stream."""
    initial_rtt_ns: dict[int, int] = field(default_factory=dict)
    speaks: dict[int, str] = field(default_factory=dict)
    """One of `DISSECTORS`, by stream."""
    frames: dict[int, list[Frame]] = field(default_factory=dict)
    """The frames of each stream that speaks one of these."""
    commands: list[tuple[int, int, int]] = field(default_factory=list)
    """MySQL's, as (stream, frame that completes it, code)."""
    queries: dict[str, list[Query]] = field(default_factory=lambda: {name: [] for name in DISSECTORS})
    """The statements, by protocol."""
    with_attributes: set[tuple[int, int]] = field(default_factory=set)
    """(stream, frame) in which a MySQL statement has query attributes."""
    asked: set[tuple[int, int]] = field(default_factory=set)
    """(stream, frame) in which a client asked for an answer: PostgreSQL's Query and Sync, the last packet of a batch or
    a call of SQL Server."""
    ready: set[tuple[int, int]] = field(default_factory=set)
    """(stream, frame) in which PostgreSQL's server was ready for the next query."""
    ended: set[tuple[int, int]] = field(default_factory=set)
    """(stream, frame) in which an answer of SQL Server ends."""
    numbered_on: set[tuple[int, int]] = field(default_factory=set)
    """(stream, frame) in which a request of SQL Server begins whose packets are numbered on from the one before."""
    begun: set[int] = field(default_factory=set)
    """Streams of which a request of SQL Server was not whole in the frames so far."""
    tunnelled: set[int] = field(default_factory=set)
    """Streams through a SOCKS proxy."""
    complaint: str | None = None
    streams: Container[int] | None = None
    """The streams looked at; `None` for all."""

    def add(self, cells: Mapping[str, list[str]]) -> None:
        """Take one frame."""
        protocols = ":".join(cells["frame.protocols"]).split(":")
        if protocols == ["data"]:  # a custom block: Wireshark numbers it, but it holds no packet
            return
        self.packets += 1
        time_ns = nanoseconds(cells["frame.time_epoch"])
        if time_ns is not None:
            self.first_ns = time_ns if self.first_ns is None else min(self.first_ns, time_ns)
            self.last_ns = time_ns if self.last_ns is None else max(self.last_ns, time_ns)
        number, stream = last_int(cells["frame.number"]), last_int(cells["tcp.stream"])
        if number is not None and stream is not None and (self.streams is None or stream in self.streams):
            self._add_segment(cells, number, stream, time_ns, protocols)

    def _add_segment(
        self, cells: Mapping[str, list[str]], number: int, stream: int, time_ns: int | None, protocols: list[str]
    ) -> None:
        source, other = end_points(cells, protocols)
        self.ends.setdefault(stream, frozenset((source, other)))
        rtt = nanoseconds(cells["tcp.analysis.initial_rtt"][-1:])
        if rtt is not None:
            self.initial_rtt_ns[stream] = rtt
        captured, length = last_int(cells["frame.cap_len"]), last_int(cells["frame.len"])
        self.frames.setdefault(stream, []).append(
            Frame(
                number,
                time_ns,
                stream,
                source,
                data=last_int(cells["tcp.len"]) or 0,
                is_cut=captured is not None and length is not None and captured < length,
                is_anomalous=bool(cells["tcp.analysis.flags"]),
                has_message=not DISSECTED.isdisjoint(protocols),
            )
        )
        if SOCKS in protocols:
            self.tunnelled.add(stream)
            return
        for protocol, dissector in DISSECTORS.items():
            if dissector in protocols:
                self.speaks[stream] = protocol
        self._add_messages(cells, number, stream)

    def _add_messages(self, cells: Mapping[str, list[str]], number: int, stream: int) -> None:
        codes = (int(code) for code in cells["mysql.command"] if code.isdecimal())
        self.commands.extend((stream, number, code) for code in codes)
        if any(count not in ("", "0") for count in cells["mysql.query_attrs_count"]):
            self.with_attributes.add((stream, number))
        for protocol, dissector in DISSECTORS.items():
            self.queries[protocol].extend(
                Query(number, stream, text[:MAX_TEXT_CHARS], len(text)) for text in cells[f"{dissector}.query"]
            )
        if "Ready for query" in cells["pgsql.type"]:
            self.ready.add((stream, number))
        whole = {kind for kind, status in zip(cells["tds.type"], cells["tds.status"], strict=False) if is_last(status)}
        if ANSWER in whole:
            self.ended.add((stream, number))
        if whole & ASKING:
            self.asked.add((stream, number))
        self._add_numbers(cells, number, stream)
        if {"Simple query", "Sync"} & set(cells["pgsql.type"]):
            self.asked.add((stream, number))

    def _add_numbers(self, cells: Mapping[str, list[str]], number: int, stream: int) -> None:
        packets = zip(cells["tds.type"], cells["tds.status"], cells["tds.packet_number"], strict=False)
        for kind, status, place in packets:
            if kind in ASKING:
                if stream not in self.begun and place not in ("0", "1"):
                    self.numbered_on.add((stream, number))
                (self.begun.discard if is_last(status) else self.begun.add)(stream)

    def frame(self, stream: int, number: int) -> Frame | None:
        """One frame of a stream."""
        return next(self.frames_between(stream, number, number), None)

    def frames_between(self, stream: int, first: int, last: int) -> Iterator[Frame]:
        """The frames of a stream from `first` to `last`, both included."""
        frames = self.frames.get(stream, [])
        for frame in frames[bisect_left(frames, first, key=lambda each: each.number) :]:
            if frame.number > last:
                return
            yield frame


# --- tshark ---------------------------------------------------------------------------------------------------------


def version() -> str:
    """The version of the tshark that is installed."""
    return _version(_program("tshark"))


@cache
def _version(program: str) -> str:
    with _home() as environment:
        done = subprocess.run([program, "--version"], capture_output=True, env=environment, check=False)
    words = done.stdout.decode("utf-8", "replace").split("\n")[0].split()
    return next((word for word in words if word[:1].isdigit()), "unknown")


def dissect(
    paths: Sequence[str],
    ports: Mapping[str, set[int]],
    streams: Container[int] | None = None,
    keys: str | None = None,
    check: Check = lambda: None,
) -> Dissection:
    """Let Wireshark read `paths` as one recording; `ports` says where it will find which protocol.

    Packets are counted all; of what else it says, that of `streams` is kept (`None`: of all); `keys` is a key log.
    `check` is called now and then, and at the end.
    """
    found = Dissection(streams=streams)
    with ExitStack() as stack:
        environment = stack.enter_context(_home())
        errors = stack.enter_context(tempfile.TemporaryFile())
        merging = _merging(paths, errors, environment, stack) if len(paths) > 1 else None
        source, given = ("-", merging.stdout) if merging else (os.path.abspath(paths[0]), None)
        command = [_program("tshark"), "-n", "-r", source, *_options(ports, keys)]
        process = stack.enter_context(_run(command, given, errors, environment))
        for number, line in enumerate(process.stdout):
            if number % FRAMES_PER_CHECK == 0:
                check()
            cells = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
            found.add(
                {
                    name: cell.split(JOIN) if cell else []
                    for name, cell in zip_longest(FIELDS, cells[: len(FIELDS)], fillvalue="")
                }
            )
        check()
        if process.wait() != 0 or (merging and merging.wait() != 0):
            found.complaint = _complaint(errors)
            if found.packets == 0:
                more = f" and {counted(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""
                raise CaptureError(f"tshark cannot read {paths[0]}{more}: {found.complaint}")
    return found


def decoded_as(ports: Mapping[str, set[int]]) -> list[str]:
    """The options by which Wireshark reads what passes to these ports of each protocol; adjacent ones take one.

    >>> decoded_as({"postgresql": {6543, 5432, 5433}, "firebird": {3050}})
    ['-d', 'tcp.port==5432-5433,pgsql', '-d', 'tcp.port==6543,pgsql']
    """
    return [
        part
        for protocol, dissector in DISSECTORS.items()
        for first, last in _runs(ports.get(protocol, ()))
        for part in ("-d", f"tcp.port=={first if first == last else f'{first}-{last}'},{dissector}")
    ]


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        adjacent = [number for _, number in run]
        yield adjacent[0], adjacent[-1]


def _options(ports: Mapping[str, set[int]], keys: str | None) -> list[str]:
    opened = [] if keys is None else ["-o", f"tls.keylog_file:{keys}"]
    fields = [part for name in FIELDS for part in ("-e", name)]
    how = [part for setting in ("separator=/t", "occurrence=a", f"aggregator={JOIN}") for part in ("-E", setting)]
    return [*opened, *decoded_as(ports), "-T", "fields", *how, *fields]


def _merging(paths: Sequence[str], errors: IO[bytes], environment: Mapping[str, str], stack: ExitStack) -> Any:
    """Run `mergecap`, which makes one capture of several for tshark, and refuses all where it cannot read one."""
    command = [_program("mergecap"), "-w", "-", *map(os.path.abspath, paths)]
    return stack.enter_context(_run(command, None, errors, environment))


@contextmanager
def _run(command: list[str], given: IO[bytes] | None, errors: Any, environment: Mapping[str, str]) -> Iterator[Any]:
    """A process that does not outlive its reader, who may be interrupted."""
    stdin = subprocess.DEVNULL if given is None else given
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def _home() -> Iterator[dict[str, str]]:
    """An environment in which Wireshark finds no preferences, profiles or scripts."""
    with tempfile.TemporaryDirectory() as folder:
        yield os.environ | {"HOME": folder, "XDG_CONFIG_HOME": folder, "WIRESHARK_CONFIG_DIR": folder}


def _program(name: str) -> str:
    path = installed(name)
    if path is None:
        raise UsageError(MISSING if name == "tshark" else f"{name} is not installed: it comes with Wireshark")
    return path


def _complaint(errors: IO[bytes]) -> str:
    """The first line that is about the capture, and not about who runs tshark."""
    errors.seek(0)
    lines = errors.read(65_536).decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in lines if line.strip() and not line.startswith("Running as")), "it failed")


# --- fields ---------------------------------------------------------------------------------------------------------


def is_last(status: str) -> bool:
    """Whether it is the status of the last packet of a message of SQL Server.

    >>> is_last("0x09"), is_last("0x00"), is_last("")
    (True, False, False)
    """
    with suppress(ValueError):
        return bool(int(status, 0) & 1)
    return False


def last_int(values: Sequence[str]) -> int | None:
    """The last value, where it is a number."""
    return int(values[-1]) if values and values[-1].isascii() and values[-1].isdecimal() else None


def nanoseconds(values: Sequence[str]) -> int | None:
    """The first value, exactly: `1700000000.123456789`; no float holds that.

    >>> nanoseconds(["1700000000.1234"]), nanoseconds(["-0.5"]), nanoseconds(["?"])
    (1700000000123400000, -500000000, None)
    """
    whole, _, fraction = (values[0] if values else "").partition(".")
    digits = whole.removeprefix("-")
    if not (digits + fraction).isdecimal() or len(digits) > 20:
        return None
    since = int(digits) * 10**9 + int(fraction[:9].ljust(9, "0"))
    return -since if whole.startswith("-") else since


def end_points(cells: Mapping[str, list[str]], protocols: list[str]) -> tuple[str, str]:
    """The innermost addresses with their ports, as latpcap writes them: sender, receiver."""
    backwards = protocols[::-1]
    v6 = "ipv6" in protocols and ("ip" not in protocols or backwards.index("ipv6") < backwards.index("ip"))

    def end(side: str, port: str) -> str:
        address = "".join(cells[f"{'ipv6' if v6 else 'ip'}.{side}"][-1:])
        number = "".join(cells[port][-1:])
        return f"[{address}]:{number}" if ":" in address else f"{address}:{number}"

    return end("src", "tcp.srcport"), end("dst", "tcp.dstport")
