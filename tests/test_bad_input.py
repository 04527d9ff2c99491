"""Whatever is read: one clear line, the right exit status, no traceback, no memory by a length, nothing that harms."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import mysql_wire
import pytest
from conftest import FIXTURES, load_fixture
from mysql_wire import error, message, mysql, query, result, tcp

Run = Callable[..., subprocess.CompletedProcess[bytes]]
COMMANDS = ["analyze", "project", "table exchanges", "table connections", "statements"]

PCAP = tcp.PCAP_HEADER
GOOD = mysql_wire.capture([(query("SELECT 1"), result(1))] * 20)


def pcap_header(link_type: int) -> bytes:
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link_type)


def block(kind: int, body: bytes = b"", length: int | None = None) -> bytes:
    stated = struct.pack("<I", len(body) + 12 if length is None else length)
    return struct.pack("<I", kind) + stated + body + stated


SECTION = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
INTERFACE = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))


def enhanced(record: bytes) -> bytes:
    """The pcapng block of a packet with its pcap header."""
    seconds, nanoseconds, length, original = struct.unpack_from("<IIII", record)
    time = seconds * 10**9 + nanoseconds
    head = struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, length, original)
    return block(6, head + record[16:] + bytes(-length % 4))


RECORDS = mysql_wire.records([(query("SELECT 1"), result(1))] * 20)
PCAPNG = SECTION + INTERFACE + b"".join(map(enhanced, RECORDS))


def told(done: subprocess.CompletedProcess[bytes], status: int) -> str:
    """The one line on standard error."""
    assert b"Traceback" not in done.stderr
    (line,) = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (status, b""), line
    assert line.startswith("latpcap: ")
    return line.removeprefix("latpcap: ")


def healthy(latpcap: Run, path: Path, *options: str) -> dict[str, int]:
    """The health notes by code, and the number of exchanges."""
    done = latpcap("analyze", path, "--json", *options)
    assert (done.returncode, done.stderr) == (0, b"")
    read = json.loads(done.stdout)
    return {note["code"]: note["count"] for note in read["health"]} | {"exchanges": read["summary"]["exchanges"]}


# --- what is no capture ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty (0 bytes)"),
        (b"To be, or not to be\n" * 9, "is not a capture file but text"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is not a capture file but a PDF document"),
        (b"\x7fELF\x02\x01\x01" + bytes(57), "is not a capture file but an ELF program"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not a capture file but a PNG image"),
        (bz2.compress(GOOD), "is not a capture file"),
        (bytes(64), "is not a capture file"),
        (GOOD[:23], "ends at byte 23, inside the file header"),
    ],
)
def test_what_is_no_capture_is_named(latpcap: Run, tmp_path: Path, command: str, content: bytes, said: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    line = told(latpcap(command, path), 3)
    assert line.startswith(f"{path}: ")
    assert said in line


def test_a_missing_file_and_a_directory_are_named(latpcap: Run, tmp_path: Path) -> None:
    assert told(latpcap("analyze", tmp_path / "x.pcap"), 3) == f"{tmp_path}/x.pcap: no such file"
    assert told(latpcap("analyze", tmp_path), 3).startswith(f"{tmp_path}: is a directory; ")


def test_a_file_that_may_not_be_read_is_named(latpcap: Run, tmp_path: Path) -> None:
    """Root may read everything, but not even root its own memory from address 0."""
    path = Path("/proc/self/mem")
    if os.geteuid() != 0:
        path = tmp_path / "x.pcap"
        path.write_bytes(GOOD)
        path.chmod(0)
    assert re.match(rf"{path}: cannot be (read at byte 0|opened): ", told(latpcap("analyze", path), 3))


def test_one_bad_file_among_good_ones_is_named(latpcap: Run, tmp_path: Path) -> None:
    (tmp_path / "good.pcap").write_bytes(GOOD)
    (tmp_path / "bad.pcap").write_text("text")
    assert told(latpcap("analyze", tmp_path / "*.pcap"), 3).startswith(
        f"{tmp_path}/bad.pcap: is not a capture file but text"
    )


@pytest.mark.parametrize(("content", "said"), [(b"", "is empty"), (b"hello\n" * 9, "is not a capture file but text")])
def test_standard_input_is_named_too(process: Run, content: bytes, said: str) -> None:
    assert told(process("analyze", "-", input=content), 3).startswith(f"standard input: {said}")


# --- captures that end too early or lie ------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [GOOD, PCAPNG], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("missing", [1, 17, 90])
def test_what_lies_before_a_cut_is_analysed(latpcap: Run, tmp_path: Path, content: bytes, missing: int) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(content[:-missing])
    seen = healthy(latpcap, path)
    assert seen["file-cut"] == 1
    assert seen["exchanges"] == 22
    line = latpcap("table", "exchanges", path, "--format", "csv").stderr.decode().splitlines()[0]
    last = len(content) - (len(RECORDS[-1]) if content == GOOD else len(enhanced(RECORDS[-1])))
    assert f"{path.name}: the file ends inside the packet or block that begins at byte {last}" in line


PACKERS = [["gzip", "-c"], ["zstd", "-qc"], ["lz4", "-qc", "-B4"]]


@pytest.mark.parametrize("packer", PACKERS, ids=lambda packer: packer[0])
def test_what_lies_before_a_cut_in_a_packed_file_is_analysed(latpcap: Run, tmp_path: Path, packer: list[str]) -> None:
    if shutil.which(packer[0]) is None:
        pytest.skip(f"{packer[0]} is not installed")
    plain = mysql_wire.capture((query(f"SELECT {os.urandom(40).hex()}"), result(9)) for _ in range(2000))
    packed = subprocess.run(packer, input=plain, capture_output=True, check=True).stdout
    path = tmp_path / "x.packed"
    path.write_bytes(packed[: len(packed) * 2 // 3])
    note, exchanges = healthy_with_note(latpcap, path)
    assert re.match(rf"{path.name}: the {packer[0]} data cannot be decompressed beyond byte \d+", note)
    assert 1000 < exchanges < 2000
    path.write_bytes(packed[:11])
    assert told(latpcap("analyze", path), 3).startswith(f"{path}: ")


def healthy_with_note(latpcap: Run, path: Path) -> tuple[str, int]:
    read = json.loads(latpcap("analyze", path, "--json").stdout)
    return read["health"][0]["message"], read["summary"]["exchanges"]


HUGE = 0x7FFFFFF0
ROWS = 1_000_000
LONG_BLOB = b"\xfe" + b"\xff" * 8
DAMAGED = {
    "a packet of 2 GB": PCAP + b"".join(RECORDS) + struct.pack("<IIII", 1, 1, HUGE, HUGE),
    "a block of 2 GB": PCAPNG + struct.pack("<II", 6, HUGE) + bytes(40),
    "a packet longer than its block": PCAPNG + block(6, struct.pack("<IIIII", 0, 0, 0, HUGE, HUGE) + bytes(8)),
    "a block of length 0": PCAPNG + struct.pack("<II", 6, 0) + bytes(400),
    "a block of length 4": PCAPNG + struct.pack("<II", 6, 4) + bytes(400),
    "a packet of an interface nobody described": PCAPNG + block(6, struct.pack("<IIIII", 9, 0, 0, 4, 4) + bytes(4)),
}
LYING = {
    "a million columns": [(query("SELECT 1"), message(1, b"\xfd" + struct.pack("<I", ROWS)[:3]))],
    "2^64 - 1 columns": [(query("SELECT 1"), message(1, LONG_BLOB))],
    "65,535 parameters": [
        (message(0, b"\x16SELECT ?"), message(1, b"\0" + struct.pack("<IHHBH", 1, 0xFFFF, 0xFFFF, 0, 0)))
    ],
    "a message of 16 MB": [(query("SELECT 1"), b"\xff\xff\xff\x01" + bytes(40))],
    "2^64 - 1 rows changed": [(query("UPDATE t"), message(1, b"\0" + LONG_BLOB * 2 + b"\x02\0\0\0"))],
    "a text of 2^64 - 1 bytes in a row": [(query("SELECT 1"), result(0)[:-9] + message(4, LONG_BLOB + b"a"))],
}
PACKED = {
    "a zstd frame of 2^60 bytes": b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60) + bytes(9),
    "a zstd window of 2 GB": b"\x28\xb5\x2f\xfd\x00\xa8" + struct.pack("<I", 0x7FFFFF << 3)[:3],
    "an lz4 frame of 2^60 bytes": b"\x04\x22\x4d\x18\x68\x70" + struct.pack("<Q", 1 << 60) + b"\0" + b"\xff" * 4,
}


@pytest.mark.parametrize("lie", DAMAGED)
def test_what_lies_before_damage_is_analysed(latpcap: Run, tmp_path: Path, lie: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(DAMAGED[lie])
    seen = healthy(latpcap, path)
    assert seen.keys() & {"file-damaged", "file-cut", "unknown-interface"}
    assert seen["exchanges"] == 22


PEAK = """
import os, resource, sys, latpcap

def peak(path, limit):
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        latpcap.read(path).analyze()
    except latpcap.LatpcapError:
        pass
    with open("/proc/self/status") as status:
        return next(line for line in status if line.startswith("VmPeak")).split()[1]

for line in sys.stdin:
    if os.fork() == 0:
        limit, path = line.rstrip().split(" ", 1)
        print(peak(path, int(limit)), flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        print("it ended", flush=True)
"""
ROOM = 24 << 20
"""Less than a million entries of anything would take."""


@pytest.fixture(scope="module")
def peak_bytes() -> Iterator[Callable[[Path, int], int]]:
    """Address space that a reading takes, in a process forked for it; beyond the limit it ends with an error."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", PEAK], text=True, **pipes) as process:

        def measured(path: Path, limit: int = resource.RLIM_INFINITY) -> int:
            process.stdin.write(f"{limit} {path}\n")
            process.stdin.flush()
            return int(process.stdout.readline()) << 10

        yield measured


@pytest.fixture(scope="module")
def usual_peak(peak_bytes: Callable[..., int], tmp_path_factory: pytest.TempPathFactory) -> int:
    path = tmp_path_factory.mktemp("good") / "x.pcap"
    path.write_bytes(GOOD)
    return peak_bytes(path)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the peak of the address space")
@pytest.mark.parametrize("lie", [*DAMAGED, *LYING, *PACKED])
def test_a_lying_length_allocates_nothing(
    tmp_path: Path, peak_bytes: Callable[..., int], usual_peak: int, lie: str
) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(DAMAGED.get(lie) or PACKED.get(lie) or mysql_wire.capture(LYING[lie]))
    assert peak_bytes(path, usual_peak + ROOM) < usual_peak + ROOM


# --- captures without database traffic -------------------------------------------------------------------------------


def test_an_unknown_link_type_is_named(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap_header(147) + GOOD[len(PCAP) :])
    assert told(latpcap("analyze", path), 4).startswith(f"{path}: ")


def test_http_on_the_port_of_mysql_is_no_database_traffic(latpcap: Run, tmp_path: Path) -> None:
    wire = tcp.Wire(1_000_000)
    asked = b"GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    opening = [wire.packet(0, tcp.SYN), wire.packet(1, tcp.SYN | tcp.ACK), wire.packet(0, tcp.ACK)]
    path = tmp_path / "x.pcap"
    path.write_bytes(PCAP + b"".join([*opening, *wire.ask(*asked), *wire.ask(*asked)]))
    assert told(latpcap("analyze", path), 4).startswith(f"{path}: 1 TCP connection")


def test_a_capture_without_packets_has_no_database_traffic(latpcap: Run, tmp_path: Path) -> None:
    for content in (PCAP, SECTION, SECTION + INTERFACE):
        (tmp_path / "x.pcap").write_bytes(content)
        assert told(latpcap("analyze", tmp_path / "x.pcap"), 4).startswith(f"{tmp_path}/x.pcap: no TCP connection")


# --- closed ends -----------------------------------------------------------------------------------------------------


def shell(command: str, *paths: Path) -> subprocess.CompletedProcess[bytes]:
    """Run `command` in bash; `latpcap` in it is the command line, "$1" the first path."""
    function = f'latpcap() {{ "{sys.executable}" -m latpcap "$@"; }}; '
    argv = ["bash", "-c", function + command, "bash", *map(str, paths)]
    return subprocess.run(argv, capture_output=True, timeout=300, check=False)


@pytest.fixture
def capture() -> Path:
    return load_fixture("mysql/nplus1-300-client").path


@pytest.mark.parametrize(
    "command", ["table exchanges", "table exchanges --format jsonl", "table exchanges --format parquet"]
)
def test_a_reader_that_closes_its_end_ends_latpcap_quietly(command: str) -> None:
    path = load_fixture("mysql/nplus1-10k").path
    done = shell(f'latpcap {command} "$1" | head -c 9 >/dev/null; echo ${{PIPESTATUS[0]}}', path)
    assert done.stdout in (b"141\n", b"0\n")
    assert done.stderr == b""


def test_a_closed_standard_input_is_empty() -> None:
    done = shell("latpcap analyze - <&-")
    assert told(done, 3).startswith("standard input: ")


@pytest.mark.parametrize("command", ["analyze", "analyze --json", "table exchanges"])
def test_a_full_disk_is_told(capture: Path, command: str) -> None:
    done = shell(f'latpcap {command} "$1" >/dev/full', capture)
    assert done.stderr == b"latpcap: standard output: cannot be written: No space left on device\n"
    assert done.returncode == 5


@pytest.mark.parametrize("command", ["--help", "--version", "help", "help --man", "analyze --help", "completion bash"])
def test_so_is_one_that_takes_no_help_and_a_reader_who_has_gone(command: str) -> None:
    done = shell(f"latpcap {command} >/dev/full")
    assert (done.returncode, done.stderr.count(b"\n")) == (5, 1)
    assert done.stderr.endswith(b"standard output: cannot be written: No space left on device\n")
    done = shell(f"latpcap {command} | true; echo ${{PIPESTATUS[0]}}")
    assert done.stdout in (b"141\n", b"0\n")
    assert done.stderr == b""


@pytest.mark.parametrize("output", ["-o full", "--ci full.xml", "--ci full.sarif"])
def test_so_is_a_full_disk_behind_a_file(
    capture: Path, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = output.split()[1]
    (tmp_path / name).symlink_to("/dev/full")
    done = shell(f'latpcap analyze "$1" --fail-if "round_trips > 5" {output}', capture)
    assert done.stderr.decode() == f"latpcap: {name}: cannot be written: No space left on device\n"
    assert done.returncode == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_standard_output_is_told(capture: Path, command: str) -> None:
    done = shell(f'latpcap {command} "$1" >&-', capture)
    assert b"Traceback" not in done.stderr


def test_the_exit_status_needs_no_standard_error() -> None:
    assert shell("latpcap analyze /no/such/file 2>&-").returncode == 3


# --- nothing harmful comes out ---------------------------------------------------------------------------------------

STEERING = "\x1b[31mEVIL\x1b]0;title\x07\x1b[2J\x9b31m\u202e\u2066\x08\x7f\r\nlatpcap: error: forged"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Every text that a capture can hold tries to steer the terminal."""
    path = tmp_path / "hostile.pcap"
    asked = [
        (query(f"SELECT '{STEERING}' AS a, {STEERING}"), error(f"no {STEERING}")),
        (query(f"SELECT 1 -- {STEERING}"), result(1)),
        (query(f'SELECT "{STEERING}" /* {STEERING} */ FROM `{STEERING}`'), result(1)),
        (message(0, b"\x02" + STEERING.encode()), message(1, mysql_wire.OK)),
    ]
    path.write_bytes(mysql_wire.capture(asked, user=STEERING, database=STEERING))
    return path


FORMATS = [
    *(["analyze", *more] for more in ([], ["--json"])),
    *([command] for command in COMMANDS[1:]),
    *([command, "--format", written] for command in COMMANDS[2:] for written in ("csv", "jsonl")),
]


@pytest.mark.parametrize("literals", [[], ["--show-literals"]], ids=["", "show-literals"])
@pytest.mark.parametrize(
    "command",
    FORMATS,
    ids=" ".join,
)
def test_no_text_of_a_capture_steers_a_terminal(
    latpcap: Run, hostile: Path, command: list[str], literals: list[str]
) -> None:
    done = latpcap(*command, hostile, *literals)
    assert done.returncode == 0
    for written in (done.stdout.decode(), done.stderr.decode()):
        assert not HARMFUL.findall(written)
        assert not re.search("^latpcap: error: forged", written, re.MULTILINE)


def test_no_name_of_a_file_steers_a_terminal(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mred.pcap"
    assert not HARMFUL.findall(latpcap("analyze", path).stderr.decode())
    path.write_text("text")
    assert not HARMFUL.findall(latpcap("analyze", path).stderr.decode())


# --- nothing secret comes out ----------------------------------------------------------------------------------------

LAB_PASSWORDS = ["labpw", "edpw"]
"""Of benchmarks/lab/load.sql; the captures hold them hashed, encrypted, or as an account is made."""


@pytest.mark.parametrize("name", sorted(path.stem for path in FIXTURES.glob("mysql/login-*.toml")))
def test_the_passwords_of_the_lab_are_in_no_output(latpcap: Run, name: str) -> None:
    path = load_fixture(f"mysql/{name}").path
    for command in FORMATS:
        done = latpcap(*command, path, "--show-literals")
        assert not [word for word in LAB_PASSWORDS if word.encode() in done.stdout + done.stderr]


@pytest.mark.parametrize("command", FORMATS, ids=" ".join)
def test_passwords_in_statements_are_never_shown(latpcap: Run, tmp_path: Path, command: list[str]) -> None:
    statements = [
        "CREATE USER bob IDENTIFIED BY 'Tiger#1'",
        "SET PASSWORD FOR bob = PASSWORD('Tiger#1')",
        "GRANT ALL ON *.* TO bob IDENTIFIED BY 'Tiger#1'",
        "CHANGE MASTER TO MASTER_PASSWORD='Tiger#1'",
        "SELECT PASSWORD('Tiger#1')",
    ]
    path = tmp_path / "x.pcap"
    path.write_bytes(mysql_wire.capture((query(sql), message(1, mysql_wire.OK)) for sql in statements))
    for literals in ([], ["--show-literals"]):
        done = latpcap(*command, path, *literals)
        assert done.returncode == 0
        assert b"Tiger" not in done.stdout + done.stderr


@pytest.mark.parametrize("command", FORMATS, ids=" ".join)
def test_literals_are_in_no_output_unless_asked_for(latpcap: Run, tmp_path: Path, command: list[str]) -> None:
    statements = [
        "SELECT * FROM t WHERE name = 'Smithers' AND n = 424242",
        "INSERT INTO t VALUES ('Smithers', 424242), (X'536d6974', 4.24242e5)",
        "SELECT 1 -- Smithers",
        "SELECT /* Smithers */ 'un'' finished Smithers",
    ]
    path = tmp_path / "x.pcap"
    path.write_bytes(mysql_wire.capture((query(sql), message(1, mysql_wire.OK)) for sql in statements))
    done = latpcap(*command, path)
    assert not re.search(rb"Smithers|424242|4\.24242e5|536d6974", done.stdout + done.stderr)


def test_literals_are_shown_when_asked_for(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(mysql_wire.capture([(query("SELECT 'Smithers'"), result(1))]))
    shown = latpcap("table", "exchanges", path, "--show-literals", "--format", "csv").stdout.decode()
    assert [row["statement"] for row in csv.DictReader(io.StringIO(shown))][-1] == "SELECT 'Smithers'"


# --- more than there is room for -------------------------------------------------------------------------------------


def test_more_files_than_a_process_may_hold_open_are_read_side_by_side(tmp_path: Path) -> None:
    for number in range(60):
        wire = tcp.Wire(1_000_000, client=(bytes([10, 0, 1, 1 + number]), 40_000))
        records = [*mysql.log_in(wire), *wire.ask(query("SELECT 1"), result(1))]
        (tmp_path / f"{number:03}.pcap").write_bytes(PCAP + b"".join(records))
    done = shell('ulimit -n 40; latpcap analyze --json --quiet "$1"/*.pcap', tmp_path)
    read = json.loads(done.stdout)
    assert len(read["connections"]) == 60
    assert not [note for note in read["health"] if note["code"].startswith("file")]


def test_what_is_beyond_the_memory_is_left_out_with_a_note(latpcap: Run, tmp_path: Path) -> None:
    wire = tcp.Wire(1_000_000)
    pings, answers = message(0, b"\x0e") * 1000, mysql.OK * 1000
    asked = (record for _ in range(150) for record in wire.ask(pings, answers))
    path = tmp_path / "x.pcap"
    path.write_bytes(PCAP + b"".join([*mysql.log_in(wire), *asked]))
    seen = healthy(latpcap, path, "--memory", "64MB", "--disk", "0")
    assert "too-many-exchanges" in seen
    assert 80_000 < seen["exchanges"] < 130_000
    assert "too-many-exchanges" not in healthy(latpcap, path)
    assert told(latpcap("analyze", path, "--memory", "1MB"), 2).startswith("1000000 bytes of memory are too few")


def compressed_conversation(packets: int) -> bytes:
    """Records of a MySQL connection that agrees on compression and asks so often with 16 MB in 16 KB."""
    body = zlib.compress(bytes(16_000_000), 9)
    packed = struct.pack("<I", len(body))[:3] + b"\0" + struct.pack("<I", 16_000_000)[:3] + body
    wire = tcp.Wire(1_000_000)
    asked = [*wire.open(), wire.packet(1, tcp.PUSH_ACK, mysql.greeting())]
    flags = struct.pack("<IIB23x", 0x000A_A225, 1 << 24, 45)
    asked += wire.ask(message(1, flags + b"lab\0\x14" + b"\x07" * 20 + b"mysql_native_password\0"), mysql.OK)
    for request in [b"\x0a\0\0\0\0\0\0" + query("do 1 ")] + [packed] * packets:
        asked += wire.ask(request, b"\x0b\0\0\0\0\0\0" + mysql.OK)
    return b"".join(asked)


def test_compressed_packets_in_a_compressed_file_are_read_up_to_what_real_ones_become(
    latpcap: Run, tmp_path: Path
) -> None:
    other = tcp.Wire(1_000_000, client=(bytes([10, 0, 1, 9]), 40_000))
    other.now_ns += 10**9
    after = b"".join([*mysql.log_in(other), *other.ask(query("SELECT 1"), result(1))])
    path = tmp_path / "x.pcap.gz"
    for packets, is_bomb in ((10, False), (20, True)):
        path.write_bytes(gzip.compress(PCAP + compressed_conversation(packets) + after))
        assert ("too-much-inflated" in healthy(latpcap, path)) == is_bomb
        told = latpcap("table", "exchanges", path, "--format", "jsonl").stdout.splitlines()
        complete = [row["command"] for row in map(json.loads, told) if row["complete"]]
        assert complete.count("query") == 2  # the one before, and the other connection's
        assert len(told) == 3 + packets + 3
