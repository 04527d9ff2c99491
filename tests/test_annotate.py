"""`latpcap wireshark -o annotated.pcapng`: comments that Wireshark shows, on packets that are as they were."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Fixture, load_fixture, read_fixture

import latpcap as package
from latpcap.measures.health import HealthNote
from latpcap.wireshark.annotate import _fact, annotate, comments

Run = Callable[..., subprocess.CompletedProcess[bytes]]

PACKETS = ("frame.number", "frame.time_epoch", "frame.len", "frame.cap_len", "frame.protocols", "frame.md5_hash")


def tshark(path: Path, *fields: str) -> list[list[str]]:
    """The fields of each frame, as Wireshark reads it."""
    named = [part for field in fields for part in ("-e", field)]
    hashed = ["-o", "frame.generate_md5_hash:TRUE"]
    command = ["tshark", "-n", "-r", str(path), *hashed, "-T", "fields", "-E", "aggregator=\x1f", *named]
    done = subprocess.run(command, capture_output=True, check=True)
    return [line.split("\t") for line in done.stdout.decode().splitlines()]


@pytest.fixture
def nplus1(fixture: Callable[[str], Fixture]) -> Path:
    return fixture("mysql/nplus1-300-client").path


def told_of(name: str) -> dict[int, list[str]]:
    capture = read_fixture(name)
    return dict(chain.from_iterable(comments(capture.analyze(), capture.exchanges)))


def annotated(paths: Path | list[Path], out: Path, **options: bool) -> int:
    capture = package.read(paths, **options)
    return annotate(paths, out, capture.analyze(), capture.exchanges).packets


@pytest.mark.parametrize(
    "name", ["mysql/nplus1-300-client", "mysql/local-infile", "postgresql/psycopg2-nplus1-100", "mysql/large-row"]
)
def test_wireshark_shows_the_comments_and_the_same_packets(name: str, tmp_path: Path) -> None:
    path, out = load_fixture(name).path, tmp_path / "out.pcapng"
    told = told_of(name)
    assert annotated(path, out) == len(told)
    *packets, texts = zip(*tshark(out, *PACKETS, "frame.comment"), strict=True)
    assert list(zip(*packets, strict=True)) == list(map(tuple, tshark(path, *PACKETS)))
    assert {int(number): text.split("\x1f") for number, text in zip(packets[0], texts, strict=True) if text} == told


def test_an_exchange_is_told_at_the_packet_that_completes_its_request() -> None:
    told = told_of("mysql/nplus1-300-client")
    fact = r"latpcap: exchange 3 of stream 0, query: 1 round trip, 1\.34 ms, service 0\.\d+ ms, 300 rows"
    assert re.fullmatch(fact, told[11][-1])


def test_a_pcap_keeps_link_type_and_nanoseconds(tmp_path: Path, nplus1: Path) -> None:
    pcap, out = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    subprocess.run(["editcap", "-F", "nsecpcap", str(nplus1), str(pcap)], check=True, capture_output=True)
    assert annotated(pcap, out) == 305
    assert tshark(out, *PACKETS, "frame.encap_type") == tshark(pcap, *PACKETS, "frame.encap_type")
    assert b"".join(package.read(out).exchanges.encode("csv")) == b"".join(package.read(pcap).exchanges.encode("csv"))


def test_several_captures_become_what_mergecap_makes_of_them(tmp_path: Path, nplus1: Path) -> None:
    other = load_fixture("postgresql/psycopg2-nplus1-100").path
    out, merged = tmp_path / "out.pcapng", tmp_path / "merged.pcapng"
    subprocess.run(["mergecap", "-w", str(merged), str(nplus1), str(other)], check=True, capture_output=True)
    annotated([nplus1, other], out)
    assert tshark(out, *PACKETS) == tshark(merged, *PACKETS)


def test_findings_are_told_at_their_first_packet(nplus1: Path) -> None:
    capture = read_fixture("mysql/nplus1-300-client")
    finding = {
        "code": "n+1",
        "title": "One query for each row \x1b[31m",
        "fix": "Join.",
        "first_frame": 13,
        "frames": [{"first": 13, "last": 14}, {"first": 15, "last": 16}],
        "round_trips_saved": 299,
        "saved_s": {"15": 4.5},
        "display_filter": "tcp.stream == 0",
    }

    notes = (
        HealthNote("capture-loss", "warning", "3 segments were not captured", 3),
        HealthNote("loss", "warning", "a packet was lost", 1, 14),
    )
    result: Any = SimpleNamespace(findings=(finding,), health=notes, projection=SimpleNamespace(headline_rtt_ms=15.0))
    told = dict(chain.from_iterable(comments(result, capture.exchanges)))
    assert told[13][0] == (
        "latpcap: finding n+1: One query for each row  [31m. Join. It would save 299 round trips (4.50 s at 15 ms). "
        "Show its packets with: tcp.stream == 0"
    )
    assert told[15][0] == "latpcap: part of finding n+1 (see frame 13)"
    assert told[1] == ["latpcap: warning: 3 segments were not captured"]
    assert told[14][0] == "latpcap: warning: a packet was lost"


def test_a_comment_tells_first_what_went_wrong() -> None:
    told = chain.from_iterable(told_of("findings/failing-my").values())
    [first, *_] = [text for text in told if "error" in text and "exchange" in text]
    assert re.fullmatch(r"latpcap: exchange 3 of stream 0, query: error 1064 \(42000\), 1 round trip, .*", first)
    row: dict[str, Any] = {
        "exchange": 7,
        "stream": 2,
        "command": "query",
        "round_trips": 2,
        "service_ms": 1.0,
        "rows": math.nan,
    }
    trouble = {"error_code": "40P01", "retransmissions": 3, "loss_ms": 201.0, "complete": False}
    assert _fact(math.nan, **row | trouble) == (
        "exchange 7 of stream 2, query: error 40P01, 3 retransmissions, loss 201 ms, captured in part, 2 round trips, "
        "service 1.00 ms"
    )


def test_no_literal_and_no_escape_gets_into_a_comment(tmp_path: Path) -> None:
    path, out = load_fixture("mysql/all-commands").path, tmp_path / "out.pcapng"
    annotated(path, out, show_literals=True)
    assert all("select" not in text.lower() for _, text in tshark(out, "frame.number", "frame.comment"))


def test_the_command_writes_and_says_what(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    done = latpcap("wireshark", nplus1, "-o", out)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == f"latpcap: {out}: 305 packets with comments\n".encode()


KEYS = "CLIENT_RANDOM 0123 4567\n"


@pytest.fixture
def with_keys(nplus1: Path, tmp_path: Path) -> Path:
    keys, out = tmp_path / "keys.txt", tmp_path / "keys.pcapng"
    keys.write_text(KEYS)
    subprocess.run(
        ["editcap", "--inject-secrets", f"tls,{keys}", str(nplus1), str(out)], check=True, capture_output=True
    )
    assert KEYS.encode() in out.read_bytes()
    return out


def test_secrets_of_a_capture_are_dropped_unless_asked_for(latpcap: Run, with_keys: Path, tmp_path: Path) -> None:
    out, merged, kept = (tmp_path / f"{name}.pcapng" for name in ("out", "merged", "kept"))
    dropped = b"306 packets with comments; 1 block of decryption secrets was dropped (--embed-keys keeps it)\n"
    assert latpcap("wireshark", with_keys, "-o", out).stderr.endswith(dropped)
    assert (
        b"2 blocks of decryption secrets were dropped"
        in latpcap("wireshark", with_keys, with_keys, "-o", merged).stderr
    )
    assert not any(KEYS.encode() in file.read_bytes() for file in (out, merged))
    told = json.loads(latpcap("wireshark", with_keys, "-o", kept, "--embed-keys", "--json").stdout)
    assert (told["decryption_secrets"], told["secrets_embedded"]) == (1, True)
    assert kept.read_bytes().count(KEYS.encode()) == 1
    both = latpcap("wireshark", with_keys, with_keys, "-o", merged, "--embed-keys", "--force")
    assert b"2 blocks of decryption secrets were kept: whoever has the file" in both.stderr
    assert merged.read_bytes().count(KEYS.encode()) == 2
    assert tshark(kept, *PACKETS) == tshark(out, *PACKETS) == tshark(with_keys, *PACKETS)


def test_nothing_is_written_over(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    kept, link, there = nplus1.read_bytes(), tmp_path / "link.pcapng", tmp_path / "there.pcapng"
    link.symlink_to(nplus1)
    there.write_bytes(b"mine")
    for output, message in (
        (nplus1, b"a capture is never overwritten"),
        (link, b"a capture is never overwritten"),
        (there, b"already exists; name another file, or add --force"),
        (tmp_path, b"is a directory"),
        (tmp_path / "no" / "x.pcapng", b"no such directory"),
    ):
        done = latpcap("wireshark", nplus1, "-o", output)
        assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
        assert message in done.stderr
    assert latpcap("wireshark", nplus1, "-o", link, "--force").returncode == 2
    assert (nplus1.read_bytes(), there.read_bytes()) == (kept, b"mine")
    assert latpcap("wireshark", nplus1, "-o", there, "--force").returncode == 0
    assert package.read(there).captures.column("packets").tolist() == [619]


def test_mistakes_are_one_line(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("no capture\n" * 9)
    for arguments, status in (
        ((nplus1, "--force"), 2),
        (("-", "-o", tmp_path / "x.pcapng"), 2),
        ((nplus1, "-o", tmp_path / "x.pcapng", "--pseudonymise"), 2),
        ((text, "-o", tmp_path / "x.pcapng"), 3),
    ):
        done = latpcap("wireshark", *arguments)
        assert (done.returncode, done.stderr.count(b"\n")) == (status, 1)
        assert not (tmp_path / "x.pcapng").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_told(latpcap: Run, nplus1: Path) -> None:
    done = latpcap("wireshark", nplus1, "-o", "/dev/full")
    assert (done.returncode, done.stderr) == (5, b"latpcap: /dev/full: cannot be written: No space left on device\n")
