import re

import pytest
from builder import Conn, Ex, build, build_awake

from latpcap import Capture
from latpcap.report import FORMATS
from latpcap.report.rows import render as render_rows
from latpcap.report.sections.projection import budget_there
from latpcap.report.terminal import document
from latpcap.report.text import ascii_only, printable

QUERIES = [
    Ex("query", sql="select * from a_table_with_a_long_name where its_column = ?", service_ms=1, client_ms=2)
] * 20


@pytest.fixture
def capture() -> Capture:
    pause = Ex("query", sql="update t set a = ?", client_ms=2000)
    return Capture(build([Conn(rtt_ms=10, greeting=True, exchanges=[Ex("connect"), *QUERIES, pause])]))


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def test_the_verdict_comes_first(capture: Capture) -> None:
    first, now, *_ = FORMATS["terminal"](capture.analyze()).split("\n")
    assert first.startswith("built.pcap: ")
    assert now.startswith("NOW     2.30 s: network 10% (9 to 11%), ")


def test_nothing_is_wider_than_80_columns(capture: Capture) -> None:
    text = FORMATS["terminal"](capture.analyze())
    assert max(map(len, text.splitlines())) <= 80


def test_every_heading_is_there(capture: Capture) -> None:
    text = FORMATS["terminal"](capture.analyze())
    for heading in ("Where the time went", "At another RTT", "Statements (3)", "Connections (1)"):
        assert f"\n{heading}\n" in text


def test_without_colour_the_bar_is_made_of_letters(capture: Capture) -> None:
    bar = next(line for line in FORMATS["terminal"](capture.analyze()).splitlines() if line.startswith("NN"))
    assert re.fullmatch("N+S+A+T+", bar)
    assert len(bar) == 80


def test_where_hosts_take_another_time_there_the_projection_says_why(capture: Capture) -> None:
    said = "Idle hosts respond a little later at a higher RTT"
    assert said in document([budget_there(capture.project([50]))])
    awake = Capture(build_awake([Conn(rtt_ms=10, exchanges=QUERIES)]))
    assert said not in document([budget_there(awake.project([50]))])


def test_each_path_is_a_line_where_there_are_several() -> None:
    far, near = (Conn(rtt_ms=rtt, client=client, exchanges=[Ex()] * 9) for rtt, client in ((15, "b:1"), (1, "a:1")))
    text = FORMATS["terminal"](Capture(build([near, near, far])).analyze())
    told = text.split("How the RTT is known")[1]
    assert told.index("a → 10.0.0.2:3306") < told.index("b → 10.0.0.2:3306")
    assert "The fastest responses confirm the TCP handshake" in told
    assert "How the RTT is known" in FORMATS["terminal"](Capture(build([near])).analyze())


def test_no_control_character_of_a_capture_reaches_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e\u2028[bold]x"
    recording = build([Conn(exchanges=[Ex(sql=evil)])])  # names and errors that could steer it are refused by the core
    recording.notes = [("note", "warning", evil, 1, None)]
    capture = Capture(recording)
    shown = FORMATS["terminal"](capture.analyze())
    for table in (capture.exchanges, capture.connections, capture.statements):
        shown += "".join(render_rows(table))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]", shown)
    assert "[bold]x" in shown


def test_rows_are_printed_with_one_header_however_many_there_are() -> None:
    capture = Capture(build([Conn(exchanges=[Ex(sql="select ?")] * 1200)]))
    lines = "".join(render_rows(capture.exchanges)).splitlines()
    assert sum("statement" in line for line in lines) == 1
    assert sum("select ?" in line for line in lines) == 1200


def test_numbers_have_thousands_separated() -> None:
    capture = Capture(build([Conn(exchanges=[Ex(sql="select ?")] * 1200)]))
    assert "1,200" in FORMATS["terminal"](capture.analyze())


def test_text_becomes_one_printable_line() -> None:
    assert printable("a\nb\tc\x1b[0m") == "a b c [0m"
    assert printable(None) == ""


def test_ascii_is_enough() -> None:
    assert ascii_only("client → server 42 µs…") == "client -> server 42 us..."
