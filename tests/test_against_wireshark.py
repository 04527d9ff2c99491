"""Every capture against a second opinion: Wireshark's packets, streams, handshakes, MySQL commands and statements."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, SHARED, load_fixture
from wireshark import dissect

import latpcap
from latpcap import _core
from latpcap.table import Table

Find = Callable[[str], Path]

COMMANDS = {
    0x01: "quit", 0x02: "init_db", 0x03: "query", 0x04: "field_list", 0x09: "statistics", 0x0A: "process_info",
    0x0D: "debug", 0x0E: "ping", 0x11: "change_user", 0x12: "binlog_dump", 0x15: "register_slave",
    0x16: "stmt_prepare", 0x17: "stmt_execute", 0x18: "stmt_send_long_data", 0x19: "stmt_close", 0x1A: "stmt_reset",
    0x1B: "set_option", 0x1C: "stmt_fetch", 0x1F: "reset_connection", 0xFA: "stmt_bulk_execute",
}  # fmt: skip

NO_COMMAND = {"connect", "tls", "authenticate", "unreadable"}
"""Exchanges that are none: a connection's opening, and the turns of an encrypted one."""

WITH_STATEMENT = {"query", "stmt_prepare"}
"""Commands whose text is on the wire."""


def names(folder: str) -> list[str]:
    """The shared captures in a folder; the folder itself, where it is absent, so that the test says so and skips."""
    return [f"{folder}/{path.name}" for path in sorted((SHARED / folder).glob("*"))] or [folder]


OURS = sorted(f"fixtures/{path.parent.name}/{path.stem}" for path in FIXTURES.glob("*/*.toml"))
MYSQL = [name for name in OURS if name.startswith("fixtures/mysql/")] + names("mysql")
ALL = [*OURS, *names("formats"), *names("mysql")]


@pytest.fixture
def capture(request: pytest.FixtureRequest, shared_capture: Find) -> Path:
    """The file that a test is parametrised with."""
    name: str = request.param
    return load_fixture(name.removeprefix("fixtures/")).path if name in OURS else shared_capture(name)


of_all = pytest.mark.parametrize("capture", ALL, indirect=True)
of_mysql = pytest.mark.parametrize("capture", MYSQL, indirect=True)


@cache
def core(path: Path) -> Any:
    return _core.read([str(path)])


def times(table: Table, name: str) -> list[int | None]:
    missing = np.iinfo(np.int64).min
    return [None if value == missing else int(value) for value in table.column(name).view(np.int64)]


# --- packets, streams, handshakes ------------------------------------------------------------------------------------

UNSIGNED_TIMES = {"seladb-PcapPlusPlus__pcapng-example.pcapng", "seladb-PcapPlusPlus__pcapng-example.pcapng.zst"}
"""Some packets have times with the top bit set: 2^64 µs and some for Wireshark, just before 1970 for us."""

IN_80211 = {"zeek-zeek__gre-aruba.pcap", "zeek-zeek__gre-aruba-amsdu.pcap"}
"""The TCP of these is inside 802.11 inside GRE, where latpcap does not look."""


@of_all
def test_packets_and_their_times(capture: Path) -> None:
    theirs = dissect(capture)
    ours = Table(core(capture).captures())
    assert ours.column("packets").tolist() == [theirs.packets]
    if capture.name not in UNSIGNED_TIMES:
        assert (times(ours, "first_time"), times(ours, "last_time")) == ([theirs.first_ns], [theirs.last_ns])


@of_all
def test_streams_have_the_same_numbers_and_end_points(capture: Path) -> None:
    ours = Table(core(capture).connections())
    ends = {row["stream"]: frozenset({row["client"], row["server"]}) for row in ours.to_dicts()}
    assert ends == ({} if capture.name in IN_80211 else dissect(capture).ends)


ANSWERED_BY_RST = "SYN, then RST: Wireshark calls that an initial RTT too; for us there was no handshake"
NO_SYN_ACK = "the SYN/ACK was not captured, so the two halves of the handshake are not known"
OTHER_HANDSHAKES = {
    "refused.pcapng": {0: ANSWERED_BY_RST, 1: ANSWERED_BY_RST, 2: ANSWERED_BY_RST},
    "seladb-PcapPlusPlus__pcapng-example.pcapng": {11: ANSWERED_BY_RST},
    "seladb-PcapPlusPlus__pcapng-example.pcapng.zst": {11: ANSWERED_BY_RST},
    "seladb-PcapPlusPlus__raw_ip.pcap": {2: NO_SYN_ACK, 5: NO_SYN_ACK},
    "arkime-arkime__no-syn-ack.pcap": {0: NO_SYN_ACK, 1: NO_SYN_ACK},
    "port-reuse.pcapng": dict.fromkeys(
        range(1, 5), "Wireshark takes the late FIN/ACK of the port's previous connection for the handshake's ACK"
    ),
    "zeek-zeek__mysql8-navicat-login-failed.pcap": {
        0: "the SYN came twice: Wireshark measures from the last, we from the first (and do not use it as an RTT)"
    },
}
"""Streams by file where the handshake differs, and why."""


@of_all
def test_handshakes_take_as_long(capture: Path) -> None:
    ours = Table(core(capture).connections())
    lasted = [
        None if None in (begin, end) else end - begin
        for begin, end in zip(times(ours, "syn_time"), times(ours, "ack_time"), strict=True)
    ]
    other = OTHER_HANDSHAKES.get(capture.name, {})
    theirs = {} if capture.name in IN_80211 else dissect(capture).initial_rtt_ns
    wrong = {n: (lasted[n], rtt) for n, rtt in theirs.items() if lasted[n] is None or abs(lasted[n] - rtt) > 1000}
    assert wrong.keys() == other.keys()
    assert {n for n, span in enumerate(lasted) if span is not None} <= theirs.keys()


@pytest.mark.parametrize("content", [b"To be, or not to be\n" * 9, b"%PDF-1.7\n", b"\xd4\xc3\xb2\xa1\2\0"])
def test_what_wireshark_refuses_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    with pytest.raises(subprocess.CalledProcessError):
        dissect(path)
    with pytest.raises(latpcap.CaptureError) as error:
        latpcap.read(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


# --- MySQL -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """What only one of the two sees in a file, and why."""

    reason: str
    our_commands: dict[str, int] = field(default_factory=dict)
    their_commands: dict[str, int] = field(default_factory=dict)
    our_statements: dict[str, int] = field(default_factory=dict)
    their_statements: dict[str, int] = field(default_factory=dict)


CUT_BY_SNAP_LENGTH = "Wireshark shows no statement that the snap length cut; we show what there is of it, then …"

EXPLAINED = {
    "compressed-zlib.pcapng": Difference(
        "Wireshark inflates nothing: of the one request that is deflated it takes the zlib stream, 78 9c ed c7 b1, for "
        "a message of length 0xed9c78, number 0xc7, command 0xb1",
        our_commands={"query": 1},
        their_commands={"0xb1": 1},
        our_statements={"SELECT 'compressible compressible compre… (13,009)": 1},
    ),
    "mid-compressed.pcapng": Difference(
        "without the login Wireshark knows of no compression: it reads 3d 00 00 00 | 00 00 00, the first seven "
        "bytes, as a message's header and command 0, and is three bytes out of step from there on",
        our_commands={"query": 35, "quit": 1},
        their_commands={"0x00": 1},
        our_statements={f"SELECT salary, from_date FROM salaries WHERE emp_no = {n}": 1 for n in range(18, 51)}
        | {"SELECT * FROM big LIMIT 500": 1, "SELECT 'compressible compressible compre… (13,009)": 1},
    ),
    "large-statement.pcapng.zst": Difference(
        "a statement of 17 MB is two messages, 0xffffff bytes and the rest with number 1: Wireshark shows the first as "
        "the statement and the first byte of the second, an `a`, as a command; we keep 64 KiB of the text",
        our_commands={"query": 1},  # the same one: ours ends with the second message, theirs with the first
        their_commands={"query": 1, "0x61": 1},
        our_statements={"SELECT LENGTH('aaaaaaaaaaaaaaaaaaaaaaaaa… (65,534)": 1},
        their_statements={"SELECT LENGTH('aaaaaaaaaaaaaaaaaaaaaaaaa… (16,777,214)": 1},
    ),
    "local-infile.pcapng": Difference(
        "Wireshark takes the file that LOAD DATA LOCAL sends (numbers 2 and 3 of the exchange) for commands: its first "
        "byte, a `0`, and where its second message begins, a line feed before `369`",
        their_commands={"0x30": 1, "process_info": 1},
    ),
    "lost-request.pcapng": Difference(
        "the capture misses the request; we still count the exchange whose response is there",
        our_commands={"unknown": 1},
    ),
    "snap96-nplus1.pcapng": Difference(
        CUT_BY_SNAP_LENGTH,
        our_statements={
            "SELECT emp_no FROM employees ORDER BY e…": 1,
            "SELECT salary, from_date FROM salaries …": 300,
        },
    ),
    "snap96-prepared.pcapng": Difference(
        CUT_BY_SNAP_LENGTH,
        our_statements={
            "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_ge…": 1,
            "SELECT salary, from_date FROM salaries …": 100,
        },
    ),
    "seladb-PcapPlusPlus__mysql.pcapng": Difference(
        "the capture begins with the client's login (number 1); without the greeting Wireshark takes its capabilities, "
        "8d a6 ff 19, for a command",
        their_commands={"0x8d": 1},
    ),
    "zeek-zeek__mysql8-navicat-login-failed.pcap": Difference(
        "Wireshark takes the password that the client encrypted with the server's RSA key (256 bytes, number 5 of the "
        "login) for a command: its first byte is 7d",
        their_commands={"0x7d": 1},
    ),
    "zeek-zeek__mysql-9.0.0-query-attributes.pcap": Difference(
        "Wireshark reads the value of the first query attribute, TINY 42 in one byte, as a text of 42 bytes, and gives "
        "up before the statement",
        our_statements={"SELECT version()": 1},
    ),
}  # fmt: skip


NONE = Difference("no difference")


def short(statement: str) -> str:
    """`statement`, or for long ones their beginning and length."""
    return statement if len(statement) <= 100 else f"{statement[:40]}… ({len(statement):,})"


@cache
def exchanges(path: Path) -> list[dict[str, Any]]:
    """The commands; what is encrypted is nobody's to read."""
    try:
        read = latpcap.read(path, show_literals=True)
        return [row for row in read.exchanges.to_dicts() if row["command"] not in NO_COMMAND]
    except latpcap.NoDatabaseTraffic:
        return []


def by_name(counted: Counter[tuple[int, str]]) -> dict[str, int]:
    names = Counter[str]()
    for (_, name), count in counted.items():
        names[name] += count
    return dict(names)


PROXIED = {"seladb-PcapPlusPlus__one_tcp_stream_fin_rst_close_packet.pcap"}
"""A proxy's line comes first (`PROXY TCP4 …`), which latpcap does not know, and no command follows the login."""


@of_mysql
def test_the_same_streams_are_mysql(capture: Path) -> None:
    rows = Table(core(capture).connections()).to_dicts()
    ours = {row["stream"] for row in rows if row["protocol"] == "mysql"}
    assert dissect(capture).mysql - ours == ({0} if capture.name in PROXIED else set())


@of_mysql
def test_the_same_commands_end_in_the_same_frames(capture: Path) -> None:
    ours = Counter((row["request_end_frame"], row["command"]) for row in exchanges(capture))
    seen = dissect(capture).commands.items()
    theirs = Counter({(frame, COMMANDS.get(code, f"0x{code:02x}")): count for (frame, code), count in seen})
    known = EXPLAINED.get(capture.name, NONE)
    assert (by_name(ours - theirs), by_name(theirs - ours)) == (known.our_commands, known.their_commands)


@of_mysql
def test_the_same_statements(capture: Path) -> None:
    ours = Counter(short(row["statement"]) for row in exchanges(capture) if row["command"] in WITH_STATEMENT)
    theirs = Counter(map(short, dissect(capture).queries.elements()))
    known = EXPLAINED.get(capture.name, NONE)
    assert (dict(ours - theirs), dict(theirs - ours)) == (known.our_statements, known.their_statements)


@of_mysql
def test_what_cannot_be_read_is_encrypted(capture: Path) -> None:
    recording = core(capture)
    encrypted = {row["stream"] for row in Table(recording.connections()).to_dicts() if row["encryption"]}
    rows = Table(recording.exchanges()).to_dicts()
    assert {row["stream"] for row in rows if row["command"] == "unreadable"} <= encrypted
