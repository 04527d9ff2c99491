"""One set of sections, in every format: what stands in one stands in all, and a renderer knows no subject."""

from __future__ import annotations

import ast
import re
from html import unescape
from typing import get_args

import pytest
from conftest import ROOT, read_fixture
from markdown_it import MarkdownIt
from msgspec.structs import replace

from latpcap.report import html, markdown
from latpcap.report.console import print_renderables
from latpcap.report.markup import fragment
from latpcap.report.section import (
    Bar,
    Chart,
    ChartLine,
    Column,
    Drawn,
    Entry,
    Figure,
    Line,
    Piece,
    Row,
    Section,
    SectionTable,
    Sentence,
    Text,
)
from latpcap.report.sections import report, sections
from latpcap.report.terminal import drawn
from latpcap.result.page.exploration import explore

HOSTILE = "a`b <b>bold</b> | [x](http://a.example) \x1b[31m\u202e"
NAMES = ("mysql/path-changes", "findings/failing-my", "findings/tagged-pg", "mysql/tls13-nplus1-50", "mysql/pool-4")


def words(text: str) -> str:
    """What of a text is the same in every format."""
    return " ".join(re.findall(r"\w+", text.replace("`", "")))


@pytest.mark.parametrize("name", NAMES)
def test_every_section_stands_in_every_format(name: str) -> None:
    capture = read_fixture(name)
    result = capture.analyze()
    made = [section for section in sections(result) if section.parts and section.title]
    assert len(made) >= 9
    texts = [
        words(print_renderables(part for section in made for part in drawn(section))),
        words(markdown.render(result)),
    ]
    for text in texts:
        assert [section.title for section in made if words(section.title) not in text] == []
    page = html.render(explore(capture.measures))
    assert [section.name for section in made if f'<section id="{section.name}" ' not in page] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_markdown_says_a_page_says_too(name: str) -> None:
    """Every sentence, and every row of a table."""
    for section in report(read_fixture(name).analyze()):
        told = words(unescape(re.sub("<[^>]*>", " ", fragment(section, whole=True))))
        for part in section.parts:
            if isinstance(part, Sentence):
                assert words(part.text) in told
            if isinstance(part, SectionTable):
                rows = fragment(Section("one", "", [part]), whole=True).count("<tr>")
                assert rows == 1 + len(part.rows) + (part.foot is not None)


PIECE = Piece("network", HOSTILE, "N", "red", 1.0)
VALUES: dict[str, object] = {
    **dict.fromkeys(get_args(Text), HOSTILE),
    **dict.fromkeys(get_args(Figure), 1),
    "figures": HOSTILE,
    "key": PIECE,
}
KINDS = ("text", "key", "code", "figures", "id", "count", "ms", "s", "percent", "figure", "bytes")
HARD: Row = [VALUES[kind] for kind in KINDS]
ALL = Section(
    "all",
    HOSTILE,
    [
        *(Sentence(HOSTILE, tone) for tone in ("", "strong", "quiet", "head", "missing")),
        Entry(HOSTILE, HOSTILE, "high", HOSTILE, (Line(HOSTILE), Line(HOSTILE, "a name", "code"))),
        SectionTable([Column(kind, kind) for kind in KINDS], [HARD, [[HOSTILE]] + [None] * (len(KINDS) - 1)], HOSTILE),
        Bar([PIECE], HOSTILE),
        Drawn("all"),
        Chart(
            *("chart", HOSTILE, HOSTILE, "time"),
            ["2026-11-21T09:00:00Z"] * 3,
            (ChartLine(HOSTILE, HOSTILE, "ms", [1.0, None, 2.0]),),
        ),
    ],
)


def test_no_text_of_a_section_does_anything_anywhere() -> None:
    text = print_renderables(drawn(ALL))
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    said = markdown.document([ALL])
    told = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(said)
    tags = {"h2", "h3", "p", "strong", "ul", "li", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(re.findall(r"<(\w+)", told)) <= tags
    tables = re.findall(r"(?:^\|.*\|\n)+", said, re.MULTILINE)
    assert len(tables) == 1
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
    assert "<b>" not in fragment(ALL, whole=True)


def test_what_needs_room_is_left_out_of_a_terminal_and_stands_in_markdown() -> None:
    table = SectionTable([Column("a"), Column("b", detail=True), Column("c", optional=True)], [("here", "there", None)])
    section = Section("one", "One", [Sentence("a note", detail=True), table])
    text = print_renderables(drawn(section))
    assert "here" in text
    assert not re.search("there|note|c", text.split("One")[1])
    said = markdown.document([section])
    assert "a note" in said
    assert "| here | there |" in said
    assert re.findall(">([abc])</th>", fragment(section, whole=True)) == ["a", "b"]


def test_a_section_without_parts_is_nowhere() -> None:
    empty = replace(ALL, parts=[])
    assert (print_renderables(drawn(empty)), markdown.document([empty]).strip(), fragment(empty)) == ("", "", "")


@pytest.mark.parametrize("renderer", ["terminal", "markdown", "markup"])
def test_a_renderer_draws_every_part_there_is(renderer: str) -> None:
    """But bars and charts, whose figures stand in a table, where nothing can be drawn."""
    source = (ROOT / "latpcap" / "report" / f"{renderer}.py").read_text()
    named = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    assert {"Sentence", "Entry", "SectionTable"} <= named
    if renderer != "markdown":
        assert {"Bar", "Chart", "Drawn"} <= named
