"""`latpcap wireshark --verify`: what it says when the two agree, when they do not, and when Wireshark is not itself."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mysql_wire
import planted
import pytest
from conftest import FIXTURES, Fixture, load_fixture
from msgspec.structs import replace

import latpcap.verify
from latpcap import CaptureError, UsageError
from latpcap.report.notebook import render as render_html
from latpcap.report.sections.verification import summary
from latpcap.report.terminal import render
from latpcap.verify import Verification, compare, ours, verify
from latpcap.verify.ours import Exchange, Ours

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(scope="module")
def nplus1() -> Path:
    from conftest import load_fixture

    return load_fixture("mysql/nplus1-300-client").path


def unexplained(result: Verification) -> dict[str, int]:
    return {measure.name: measure.unexplained for measure in result.measures if measure.unexplained}


def test_the_command_shows_a_table_and_ends_with_0(latpcap: Run, nplus1: Path) -> None:
    done = latpcap("wireshark", "--verify", nplus1)
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[0].startswith("latpcap and Wireshark ")
    assert lines[0].endswith(" agree on everything.")
    rows = {line[:25].strip(): line[25:].split() for line in lines[4:]}
    assert rows["MySQL statements"] == ["302", "302", "302", "0", "0"]
    assert rows["MySQL response times"] == ["302", "302", "302", "0", "0"]


def test_json_has_every_measure(latpcap: Run, nplus1: Path) -> None:
    result = json.loads(latpcap("wireshark", "--verify", nplus1, "--json").stdout)
    assert (result["schema"], result["agrees"]) == ("latpcap.verification/1", True)
    assert [measure["name"] for measure in result["measures"]] == [
        *("packets", "first and last time", "streams, their end points", "initial RTT"),
        *("MySQL commands", "MySQL statements", "MySQL response times"),
    ]


def test_several_files_are_compared_as_one_recording(nplus1: Path, fixture: Callable[[str], Fixture]) -> None:
    result = verify([nplus1, fixture("postgresql/psycopg2-nplus1-100").path])
    assert result.agrees
    assert {measure.name.split()[0] for measure in result.measures} >= {"MySQL", "PostgreSQL"}


@pytest.mark.parametrize("files", [1, 2])
def test_of_a_growing_capture_both_read_what_it_held_at_the_start(
    nplus1: Path, fixture: Callable[[str], Fixture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    """It grows whenever somebody has begun to read it, as it would for ever."""
    whole = nplus1.read_bytes()
    growing = tmp_path / "growing.pcapng"
    growing.write_bytes(whole)
    paths = [str(growing), str(fixture("postgresql/psycopg2-nplus1-100").path)][:files]
    begun: list[list[str]] = []

    def grows(read: Callable[..., Any], *given: Any, **more: Any) -> Any:
        with growing.open("ab") as file:
            file.write(whole)
        begun.append(given[0])
        return read(*given, **more)

    for name in ("read", "dissect"):
        monkeypatch.setattr(f"latpcap.verify.{name}", partial(grows, getattr(latpcap.verify, name)))
    result = verify(paths)
    assert result.agrees
    assert result.measures == compare([str(nplus1), *paths[1:]], ours.read([str(nplus1), *paths[1:]], {})).measures
    assert result.captures == tuple(os.path.basename(path) for path in paths)
    assert [given == paths for given in begun[:4]] == [True, True, False, False]


# --- it can disagree -------------------------------------------------------------------------------------------------


def spoiled(path: Path, change: Callable[[Exchange], Exchange | None], number: int = 7) -> Verification:
    """The comparison, had latpcap read one exchange of the first stream otherwise (or not at all)."""
    seen = ours.read([str(path)], {})
    exchanges = seen.exchanges[0]
    changed = change(exchanges[number])
    exchanges[number : number + 1] = [] if changed is None else [changed]
    return compare([str(path)], seen)


def test_a_missed_command_is_a_difference(nplus1: Path) -> None:
    result = spoiled(nplus1, lambda exchange: None)
    assert unexplained(result) == {"MySQL commands": 1, "MySQL statements": 1}
    assert "frame 21: latpcap nothing, Wireshark query" in render(result)


def test_a_wrong_command_frame_or_text_is_a_difference(nplus1: Path) -> None:
    for change, wrong in (
        (lambda each: replace(each, command="ping"), {"MySQL commands": 2, "MySQL statements": 1}),
        (
            lambda each: replace(each, request_end_frame=each.request_end_frame - 2),
            {"MySQL commands": 2, "MySQL response times": 1},
        ),
        (lambda each: replace(each, statement="select 1"), {"MySQL statements": 2}),
        (lambda each: replace(each, response_ns=each.response_ns + 1), {"MySQL response times": 1}),
    ):
        assert unexplained(spoiled(nplus1, change)) == wrong


def test_a_wrong_answer_of_postgresql_is_a_difference(fixture: Callable[[str], Fixture]) -> None:
    path = fixture("postgresql/psycopg2-nplus1-100").path
    result = spoiled(path, lambda each: replace(each, response_end_frame=each.response_end_frame - 1))
    assert unexplained(result) == {"PostgreSQL answers": 2}
    result = spoiled(path, lambda each: replace(each, statement="select 1"))
    assert unexplained(result)["PostgreSQL statements"] == 2


def wrong_network(seen: Ours) -> Ours:
    first = seen.connections[0]
    seen.connections[0] = replace(first, ends=frozenset({"1.2.3.4:5", "6.7.8.9:10"}), ack_ns=first.ack_ns + 5_000)
    seen.files[0]["packets"] += 1
    seen.first_ns += 1
    return seen


def test_wrong_packets_times_streams_and_handshakes_are_differences(nplus1: Path) -> None:
    result = compare([str(nplus1)], wrong_network(ours.read([str(nplus1)], {})))
    names = ("packets", "first and last time", "streams, their end points", "initial RTT")
    assert unexplained(result) == dict.fromkeys(names, 1)
    assert render(result).splitlines()[0].endswith("differ: 4 differences are unexplained.")


def test_an_unexplained_difference_ends_with_status_1(
    nplus1: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    from latpcap.cli import main

    read = ours.read
    monkeypatch.setattr(ours, "read", lambda *arguments: wrong_network(read(*arguments)))
    monkeypatch.setattr(
        sys, "argv", ["latpcap", "wireshark", "--verify", str(nplus1), "--quiet", "--json", "-o", os.devnull]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1


def test_no_statement_is_shown(nplus1: Path) -> None:
    result = spoiled(nplus1, lambda exchange: None)
    for text in (render(result), render_html(result), json.dumps(result.to_dict())):
        assert re.search("a (`select`|<code>select</code>) of ", text)
        assert "salaries" not in text


# --- what it does not reach ------------------------------------------------------------------------------------------


def test_statements_that_are_no_utf_8_are_compared(tmp_path: Path) -> None:
    texts = [
        *(b"select 'caf\xe9 au lait'", "select '日本' from t".encode("gbk"), "select 'é'".encode()),
        *(b"select 'a\x1fb'", b"select '\xff\xfe'\r\n", b"\xe9", b" ", b"select '\\x41\x7f'"),
    ]
    calls = [(mysql_wire.message(0, b"\x03" + text), mysql_wire.result(1)) for text in texts]
    (tmp_path / "x.pcap").write_bytes(mysql_wire.capture(calls))
    (measure,) = (each for each in verify(tmp_path / "x.pcap").measures if each.name == "MySQL statements")
    assert (measure.latpcap, measure.wireshark, measure.equal) == (len(texts),) * 3


def test_an_answer_whose_request_was_not_captured_is_explained(tmp_path: Path) -> None:
    talk = planted.Talk(("10.0.0.1", 40000), ("10.0.0.2", 5432))
    talk.packets.clear()  # no handshake: the capture begins behind the login's request
    talk.say(planted.SERVER, planted._pg(b"R", bytes(4)) + planted._READY)
    for number in range(3):
        answer = planted._pg(b"C", b"SELECT 1\0") + planted._READY
        talk.ask(planted._pg(b"Q", f"select {number}\0".encode()), answer)
    (tmp_path / "x.pcapng").write_bytes(planted.pcapng([talk]))
    (measure,) = (each for each in verify(tmp_path / "x.pcapng").measures if each.name == "PostgreSQL answers")
    assert (measure.wireshark, measure.equal, measure.unexplained) == (4, 3, 0)


def test_a_statement_that_a_nul_ends_for_wireshark_is_explained(tmp_path: Path) -> None:
    texts = ["select 'ab'".encode("utf-16-le"), b"select _binary 'a\0b' from x", b"\0select 2", b""]
    calls = [(mysql_wire.message(0, b"\x03" + text), mysql_wire.result(1)) for text in texts]
    (tmp_path / "x.pcap").write_bytes(mysql_wire.capture(calls))
    result = verify(tmp_path / "x.pcap")
    assert unexplained(result) == {}
    assert not spoiled(tmp_path / "x.pcap", lambda each: replace(each, statement="select 'a'"), 3).agrees


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("firebird/fbclient3-nplus1", "of 1 connection: what Firebird says is not compared"),
        ("mysql/tls13-nplus1-50", "statements and answers of 1 connection: encrypted, so neither"),
        ("mysql/compressed-zlib", "statements and answers of 1 connection: compressed, and Wireshark"),
        ("mysql/refused", "latpcap reads no database traffic here, only packets, streams and handshakes"),
    ],
)
def test_what_was_not_compared_is_said(fixture: Callable[[str], Fixture], name: str, line: str) -> None:
    result = verify(fixture(name).path)
    assert any(line in each for each in result.unchecked)
    assert line in " ".join(render(result).split())
    assert line in render_html(result)
    assert result.to_dict()["unchecked"] == list(result.unchecked)
    assert not summary(result).endswith("agree on everything.")


def test_where_all_was_compared_nothing_is_left_to_say(nplus1: Path) -> None:
    assert verify(nplus1).unchecked == ()


# --- tshark is not itself --------------------------------------------------------------------------------------------


@pytest.fixture
def fake_tshark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script in the place of tshark."""

    def put(script: str) -> None:
        path = tmp_path / "tshark"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return put


HOSTILE = r"""
printf '1\t99999999999999999999999\t\033[31meth:tcp:mysql\tx\ty\t0\t<b>\t\033]0;t\007\t\t\t9999999999999\t-1\t'
printf '\t1e9\tq\t3\037x\037-7\tselect \033[2J\t1\n'
printf 'no number at all\n\t\t\t\n\377\376\t\000\n2\t1.5\ttcp\n'
exit 2
"""


def test_whatever_tshark_prints_is_harmless(fake_tshark: Callable[[str], None], nplus1: Path) -> None:
    fake_tshark(HOSTILE)
    result = verify(nplus1)
    assert not result.agrees
    shown = render(result) + render_html(result)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "<b>" not in render_html(result)


def test_a_tshark_that_fails_is_told_in_one_line(fake_tshark: Callable[[str], None], nplus1: Path) -> None:
    fake_tshark('[ "$1" = --version ] || { echo "Running as user root"; echo "it is broken"; } >&2; exit 3')
    with pytest.raises(CaptureError, match=r"tshark cannot read .*: it is broken"):
        verify(nplus1)


def test_without_tshark_one_line_says_what_to_install(
    latpcap: Run, nplus1: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = latpcap("wireshark", "--verify", nplus1)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"latpcap: tshark is not installed: apt install tshark")
    assert done.stderr.count(b"\n") == 1


def test_what_cannot_be_read_twice_is_refused(nplus1: Path) -> None:
    for source in (nplus1.read_bytes(), []):
        with pytest.raises(UsageError, match="give files, not a pipe or packets"):
            verify(source)


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        ("mysql/tls12-nplus1-50", 52),
        ("mysql/tls13-nplus1-50", 52),
        ("keys/go-sql-driver-tlsv12-cbc-sha", 10),
        ("keys/postgresql-jdbc-tlsv13-key-update", 10),
        ("keys/psycopg-direct-tlsv13", 0),
    ],
)
def test_with_the_same_keys_both_read_the_same(name: str, statements: int) -> None:
    path = load_fixture(name).path
    result = verify(path, keylog=(FIXTURES / name).with_suffix(".keys"))
    assert result.agrees
    assert not any("encrypted" in line for line in result.unchecked)
    found = {measure.name: measure for measure in result.measures}
    assert max(each.equal for title, each in found.items() if title.endswith(" statements")) >= statements


def test_a_statement_of_which_no_password_is_shown_is_explained(latpcap: Run, tmp_path: Path) -> None:
    statements = [
        "CREATE USER bob IDENTIFIED BY 'Tiger#1'",
        "SET PASSWORD = 'x'",
        f"SELECT PASSWORD('xy') {'1 ' * 20_000}",
    ]
    path = tmp_path / "x.pcap"
    path.write_bytes(
        mysql_wire.capture((mysql_wire.query(sql), mysql_wire.message(1, mysql_wire.OK)) for sql in statements)
    )
    done = latpcap("wireshark", "--verify", path)
    assert done.returncode == 0
    assert b"latpcap shows no secret: all else of the statement is the same" in done.stdout
    assert b"Tiger" not in done.stdout + done.stderr
