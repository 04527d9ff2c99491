"""Captures that attack: bombs end, and no text of a capture harms where it is shown, in whatever form."""

from __future__ import annotations

import gzip
import json
import re
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import mysql_wire
import pytest
from arro3.io import read_parquet
from mysql_wire import error, message, query, result, tcp

import latpcap

Run = Callable[..., subprocess.CompletedProcess[bytes]]

HARMFUL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u2028\u2029\ufeff\xad\u3164\u115f\u2800]"
)
"""Controls (but for the line end), and what reorders or hides text."""
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
TEXTS = {
    "escapes": "\x1b[2J\x1b]0;title\x07\x9b31m\x08\x7f",
    "line ends": "a\r\nlatpcap: error: forged\rb\x0b\x0c\x85\u2028c\u2029d",
    "directions": "\u202egnp.exe\u2066\u2069\u200f\u200b\ufeff",
    "unseen": "a\xadb\u3164c\u115f\u2800",
    "markup": MARKUP,
    "rich markup": "[red]no[/red] [link=http://example.org]x[/link] :warning: [/]",
}
HOSTILE = " ".join(TEXTS.values())
BAD_UTF8 = b"\xff\xfe\xc3\x28\xed\xa0\x80\xf0\x9f"


def bytes_query(sql: bytes) -> bytes:
    return bytes(message(0, b"\x03" + sql))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hostile names, statements and errors; literals and quoted names are where text passes most freely."""
    path = tmp_path_factory.mktemp("hostile") / "x.pcap"
    asked = [(query(f"SELECT '{text}', `{text}` /* {text} */ FROM t"), error(f"no {text}")) for text in TEXTS.values()]
    asked += [(query(text), result(1)) for text in TEXTS.values()]
    asked += [(bytes_query(b"SELECT '" + BAD_UTF8 + b"', `" + BAD_UTF8 + b"` " + BAD_UTF8), result(1))]
    asked += [(bytes_query(bytes(range(256)) * 4), error("\0" * 99))]
    path.write_bytes(mysql_wire.capture(asked, user=HOSTILE, database=HOSTILE))
    return path


COMMANDS = ["analyze", "project", "statements", "table connections", "table exchanges"]
TABLES = ["table exchanges", "table connections", "statements"]
LITERALS = pytest.mark.parametrize("literals", [[], ["--show-literals"]], ids=["", "show-literals"])
WRITTEN = [
    *([command] for command in COMMANDS),
    *([command, "--json"] for command in ("analyze", "project")),
    *([command, "--format", form] for command in TABLES for form in ("csv", "jsonl")),
]


@LITERALS
@pytest.mark.parametrize("command", WRITTEN, ids=" ".join)
def test_no_text_steers_what_shows_it(latpcap: Run, hostile: Path, command: list[str], literals: list[str]) -> None:
    done = latpcap(*command, hostile, *literals)
    assert done.returncode == 0
    for written in (done.stdout.decode(), done.stderr.decode()):
        assert not HARMFUL.findall(written)
        assert not re.search("^latpcap: error: forged", written, re.MULTILINE)


@LITERALS
@pytest.mark.parametrize("table", TABLES)
def test_texts_in_parquet_are_harmless(
    latpcap: Run, hostile: Path, tmp_path: Path, table: str, literals: list[str]
) -> None:
    path = tmp_path / "x.parquet"
    assert latpcap(table, hostile, "-o", path, *literals).returncode == 0
    rows = read_parquet(path).read_all().to_struct_array().to_pylist()
    assert rows
    assert not HARMFUL.findall(json.dumps(rows, ensure_ascii=False, default=str))


@pytest.mark.parametrize("show_literals", [False, True])
def test_no_text_is_markup_in_a_notebook(hostile: Path, show_literals: bool) -> None:
    capture = latpcap.read(hostile, show_literals=show_literals)
    shown = [capture, capture.analyze(), capture.exchanges, capture.connections, capture.statements]
    for html in (thing._repr_html_() for thing in shown):
        assert "<script" not in html
        assert "<img" not in html
        assert not HARMFUL.findall(html)


def test_markup_of_the_terminal_library_is_shown_as_it_is(latpcap: Run, hostile: Path) -> None:
    assert b"[red]no[/red]" in latpcap("statements", hostile, "--show-literals").stdout


# --- long statements --------------------------------------------------------------------------------------------------

LONG = 16 << 20
FULL = 0xFFFFFF


def long_query(sql: bytes) -> bytes:
    """A statement beyond the longest packet of MySQL goes on in a second one, and the answer is the third."""
    payload = b"\x03" + sql
    return bytes(message(0, payload[:FULL]) + message(1, payload[FULL:]))


LONG_ANSWER = bytes(message(2, mysql_wire.OK))
LONG_TEXTS = {
    "a literal": b"SELECT '" + b"x" * LONG + b"'",
    "an open quote": b"SELECT '" + b"\\'" * (LONG // 2),
    "a list": b"SELECT a FROM t WHERE b IN (" + b"1," * (LONG // 2) + b"1)",
    "parentheses": b"SELECT " + b"(" * LONG,
    "comments": b"SELECT /*" * (LONG // 9) + b"x",
    "escapes": b"\x1b[31m" * (LONG // 5),
    "controls": b"\x00\x9b" * (LONG // 2),
    "a name": b"SELECT `" + b"<script>" * (LONG // 8) + b"` FROM t",
}


@pytest.mark.parametrize("kind", LONG_TEXTS)
def test_a_statement_of_16_mb_is_cut_and_read_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(mysql_wire.capture([(long_query(LONG_TEXTS[kind]), LONG_ANSWER), (query("SELECT 1"), result(1))]))
    for show_literals in (False, True):
        capture = latpcap.read(path, show_literals=show_literals)
        rows = capture.exchanges.to_dicts()
        assert [row["request_bytes"] > LONG for row in rows if row["command"] == "query"] == [True, False]
        assert all(row["complete"] for row in rows)
        for row in capture.statements.to_dicts():
            assert len(row["text"].encode()) < 70_000
            assert not HARMFUL.findall(row["text"])
        assert len(capture._repr_html_()) < 1 << 20


@pytest.mark.parametrize(
    "command", [*([name] for name in COMMANDS), ["table exchanges", "--format", "csv"]], ids=" ".join
)
def test_every_command_shows_a_statement_of_16_mb(latpcap: Run, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(mysql_wire.capture([(long_query(LONG_TEXTS["escapes"]), LONG_ANSWER)]))
    done = latpcap(*command, path, "--show-literals")
    assert done.returncode == 0
    assert not HARMFUL.findall(done.stdout.decode())
    assert len(done.stdout) < 1 << 20


# --- bombs ------------------------------------------------------------------------------------------------------------

ZEROS = 300 << 20
"""More than is decompressed without suspicion."""


def gzip_bomb() -> bytes:
    """Between full flushes a block stands for itself, so that one can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    header = packer.compress(tcp.PCAP_HEADER) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return header + block * (ZEROS >> 20) + packer.flush()


def zstd_bomb() -> bytes:
    """Each block of 3 + 1 bytes is one byte 128 KiB long (RFC 8878 §3.1.1.2)."""
    block = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + b"\0"
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + block * (ZEROS >> 17) + struct.pack("<I", 1)[:3]
    return zstd_stored(tcp.PCAP_HEADER) + frame


def zstd_stored(plain: bytes) -> bytes:
    return b"\x28\xb5\x2f\xfd\x00\x58" + struct.pack("<I", len(plain) << 3 | 1)[:3] + plain


@pytest.mark.parametrize("bomb", [gzip_bomb, zstd_bomb], ids=["gzip", "zstd"])
def test_a_bomb_ends(tmp_path: Path, bomb: Callable[[], bytes]) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(bomb())
    assert path.stat().st_size < 1 << 20
    capture = latpcap.read(path)
    notes = capture.recording.notes_table.to_struct_array().to_pylist()
    (note,) = [row for row in notes if row["code"] == "file-damaged"]
    assert "decompress to more than 200 times as many" in note["message"]
    with pytest.raises(latpcap.NoDatabaseTraffic):
        capture.analyze()


def test_what_is_compressed_twice_is_decompressed_once(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(gzip.compress(gzip.compress(mysql_wire.capture([]))))
    done = latpcap("analyze", path)
    assert done.returncode == 3
    assert b"is not a capture file" in done.stderr
