from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Fixture, read_fixture
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from latpcap.report.markdown import cell_of, code_of, render, text_of
from latpcap.report.text import printable

Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def nplus1(fixture: Callable[[str], Fixture]) -> Path:
    return fixture("mysql/nplus1-300-client").path


def test_the_verdict_comes_first_and_the_tables_follow(nplus1: Path) -> None:
    result = read_fixture("mysql/nplus1-300-client").analyze(rtt_ms=15, within_s=60)
    text = render(result)
    title, size, verdict, *_ = text.split("\n\n")
    assert title == "# nplus1-300-client.pcapng"
    assert size.startswith("2026-11-21 08:36:22 UTC · 619 packets · ")
    assert verdict == f"**{result.text.splitlines()[0]}**"
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    first = ["What to do", "At another RTT", "Where the time went", "How this is known"]
    assert headings[:7] == [*first, "Appendix", "Findings (1)", "What the round trips do"]
    assert headings[-4:] == ["Statements (6)", "Connections (1)", "Packets, assumptions, accuracy", "Captures"]
    assert "| `select salary, from_date from salaries where emp_no = ?` |" in text
    assert re.search(r"^\| runtime \| 0\.393 \| 100% \|", text, re.MULTILINE)
    assert re.search(r"^\| 15 \| 4\.\d+ \|", text, re.MULTILINE)


def test_a_capture_writes_it_where_the_name_says_so(tmp_path: Path) -> None:
    capture = read_fixture("mysql/nplus1-300-client")
    capture.report(tmp_path / "report.md", rtt_ms=15)
    assert (tmp_path / "report.md").read_text("utf-8") == render(capture.analyze(rtt_ms=15))


def test_every_row_of_a_table_has_as_many_cells_as_its_heading(nplus1: Path) -> None:
    result = read_fixture("mysql/nplus1-300-client").analyze()
    hostile = replace(result.statements[0], fingerprint="select `a` || '|' || \"``\" \n from <b>t</b>")
    text = render(replace(result, statements=(hostile, *result.statements[1:])))
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert len(tables) == 8
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_findings_are_told_with_their_fix_and_filter() -> None:
    result = read_fixture("mysql/nplus1-300-client").analyze()
    finding = replace(
        result.findings[0],
        title="One query <for> each row",
        why="It waits.",
        fix="Join.",
        severity="high",
        statement="select a || b",
        round_trips_alone=299,
        saved_at_baseline_s=0.5,
        saved_s={"15": 4.5},
        display_filter="frame.number == 1 || frame.number == 3",
        frames=(),
        frames_left_out=0,
    )
    text = render(replace(result, findings=(finding,)))
    assert "- high: One query &lt;for> each row (n+1)\n  - It waits.\n" in text
    assert (
        "  - saves 299 round trips: 0.500 s here, 4.50 s at 15 ms\n  - statement: `select a || b`\n  - fix: Join.\n"
        in text
    )
    assert "  - in Wireshark: `frame.number == 1 || frame.number == 3`\n" in text


def test_errors_have_a_table_only_where_there_are_some() -> None:
    text = render(read_fixture("mysql/sql-errors").analyze())
    assert "## Errors (3)\n\n30 of 40 statements failed, in 30 round trips\n" in text
    [row] = re.findall(r"^\| 10 \| 1146 .*", text, re.MULTILINE)
    assert row.startswith("| 10 | 1146 (42S02) | statement | ")
    assert row.endswith(" | 15 | 88 | Table ? doesn't exist | `select * from absent` |")
    assert "## Errors" not in render(read_fixture("mysql/nplus1-300-client").analyze())


HOSTILE = (
    "![x](http://a.example) <script> *b* _c_ __d__ \x1b[1m",
    "<b>a</b> <!-- c --> <http://a.example> &lt; &#60; &amp;",
    "see http://a.example/x, www.example.org, mailto:a@b.example, a@b.example, @ann and #12",
    "~~gone~~ ~gone~ $x$ `code` ``a` lone ` and | bar",
    "[x]: http://a.example",
    "[^1]: note",
    "# heading",
    "> quoted",
    "- item",
    "* item",
    "+ item",
    "1. item",
    "12) item",
    "===",
    "---",
    "\\* \\_ \\< c:\\dir",
    "**bold*** ***x*** a*b*c a_b_c 3 * 4 < 5 > 2 & 1",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_capture_becomes_no_markup(text: str) -> None:
    """GitHub's flavour, rendered: a paragraph that says what the text said, and code in it at most."""
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    source = text_of(text)
    told = markdown.render(source)
    assert set(re.findall(r"<(\w+)", told)) <= {"p", "code"}
    said = html.unescape(re.sub(r"</?(?:p|code)>", "", told)).strip()
    assert said.replace("`", "") == printable(text).strip().replace("`", "")
    outside_code = html.unescape(re.sub(r"<code>.*?</code>", "", told))
    assert not re.search(r"http|www|\S@\S|@\w|(?<!&)#\d", outside_code)
    assert markdown.render(f"| a |\n|---|\n| {source} |\n").count("<td>") == 1


PIECES = (
    *"`*_[]<>|~&#!@\\$():-+=. 1a/",
    *["http://a.b/c", "www.x.org", "a@b.cd", "@ann", "#12", "<b>", "&amp;", "```", "**", "](", "![", "<!--"],
    *("1. ", "- "),
)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_no_text_does_anything_in_a_paragraph_a_cell_or_bold(text: str) -> None:
    """The same held of 6,000 texts with GitHub's own renderer (cmark-gfm 0.29)."""
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    source, plain = text_of(text), "".join(text.replace("`", "").split())
    for around, tags in (
        ("x: {} x", {"p"}),
        ("**x: {} x**", {"p", "strong"}),
        ("- x: {} x", {"ul", "li"}),
        ("# x: {} x", {"h1"}),
    ):
        told = markdown.render(around.format(source))
        assert set(re.findall(r"</?(\w+)", told)) <= tags | {"code"}
        said = "".join(html.unescape(re.sub(r"</?\w+>", "", told)).replace("`", "").split())
        assert said == f"x:{plain}x"
    for cell in (source, cell_of(text)):
        told = markdown.render(f"| a |\n|---|\n| {cell} |\n")
        [found] = re.findall("<td>(.*)</td>", told)
        assert "".join(html.unescape(re.sub("</?code>", "", found)).replace("`", "").split()) == plain


def test_statements_stand_in_code_whole_and_in_one_cell() -> None:
    markdown = MarkdownIt("commonmark").enable("table")
    for statement in ("select a || b", "a | b", "|", "`a|b` ``", " || x || ", "select '<b>' | [c](d) | *e*"):
        told = markdown.render(f"| a |\n|---|\n| {cell_of(statement)} |\n")
        [cell] = re.findall("<td>(.*)</td>", told)
        assert html.unescape(re.sub("</?code>", "", cell)) == statement.strip()
        assert "\\" not in cell_of(statement)
    assert code_of("``a`") == "``` ``a` ```"
    assert cell_of("x" * 400).count("x") == 300


@pytest.mark.parametrize(
    "name", ["mysql/sql-errors", "postgresql/logins", "firebird/fbclient3-nplus1", "keys/asyncpg-tlsv13"]
)
def test_a_report_has_no_backslash(name: str) -> None:
    assert "\\" not in render(read_fixture(name).analyze())


def test_the_suffix_says_which_report(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    assert latpcap("analyze", nplus1, "--rtt", "15ms", "-o", tmp_path / "r.md").returncode == 0
    assert "\n\n**NOW** 0.393 s: network 78%" in (tmp_path / "r.md").read_text("utf-8")
    for arguments, message in (
        (("-o", tmp_path / "r.pdf"), b"name a file that ends with .txt, .json, .html or .md"),
        (("-o", nplus1), b"a capture is never overwritten"),
        (("-o", tmp_path / "no" / "r.md"), b"no such directory"),
    ):
        done = latpcap("analyze", nplus1, *arguments)
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
        assert message in done.stderr


def test_a_capture_is_not_written_over_by_its_report(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    capture = tmp_path / "capture.md"
    capture.write_bytes(nplus1.read_bytes())
    done = latpcap("analyze", capture, "-o", capture)
    assert (done.returncode, capture.read_bytes()) == (2, nplus1.read_bytes())
    assert b"a capture is never overwritten" in done.stderr
