"""Two captures of one job as a report to hand on: Markdown, and a page."""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import load_fixture, read_fixture

from latpcap import Capture
from latpcap.findings.registry import NO_FINDINGS
from latpcap.report import markdown
from latpcap.report.html import render_both
from latpcap.result.checks.gates import check
from latpcap.result.cover import Cover
from latpcap.result.pairs.before_after import BeforeAfter, before_after

HOSTILE = "select '</script><img src=x onerror=hostile()>' from `a|b`"


def each_row(count: int) -> Capture:
    asked = [Ex("query", sql="select salary from salaries where emp_no = ?")] * count
    return Capture(build([Conn(rtt_ms=1, exchanges=[Ex("query", sql="select emp_no from employees"), *asked])]))


def compared(before: Capture, after: Capture, cover: Cover | None = None) -> BeforeAfter:
    return before_after(before.measures, after.measures, cover)


@pytest.fixture(scope="module")
def orm() -> BeforeAfter:
    return compared(read_fixture("findings/orm-lazy-pg"), read_fixture("findings/orm-joined-pg"))


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}" .*?</section>', page, re.DOTALL)
    assert found
    return found[0]


def statements(page: str) -> list[str]:
    """The rows of the statements that changed."""
    return re.findall("<tr>(.*?)</tr>", section(page, "statements"))[1:]


# --- what became of the findings --------------------------------------------------------------------------------------


def test_a_finding_that_was_mended_is_gone(orm: BeforeAfter) -> None:
    gone = [each.before.code for each in orm.findings if each.change == "gone" and each.before]
    assert "n+1" in gone
    assert all(each.after is None for each in orm.findings if each.change == "gone")


def test_it_is_new_the_other_way_round(orm: BeforeAfter) -> None:
    back = compared(read_fixture("findings/orm-joined-pg"), read_fixture("findings/orm-lazy-pg"))
    turned = {"gone": "new", "new": "gone", "remaining": "remaining"}
    assert sorted((each.change, each.latest.title) for each in back.findings) == sorted(
        (turned[each.change], (each.before or each.latest).title) for each in orm.findings
    )


def test_every_finding_of_both_is_told_once(orm: BeforeAfter) -> None:
    for side, analysis in (("before", orm.before), ("after", orm.after)):
        told = [each for change in orm.findings if (each := getattr(change, side))]
        assert sorted(each.title for each in told) == sorted(
            each.title for each in analysis.findings if each.code not in NO_FINDINGS
        )


def test_a_capture_compared_with_itself_has_nothing_new_and_nothing_gone() -> None:
    capture = read_fixture("findings/orm-lazy-pg")
    same = compared(capture, capture)
    assert {each.change for each in same.findings} == {"remaining"}
    assert same.curves[0] == same.curves[1]


# --- both projections -------------------------------------------------------------------------------------------------


def test_the_curves_are_those_of_project(orm: BeforeAfter) -> None:
    for capture, curve in zip(("orm-lazy-pg", "orm-joined-pg"), orm.curves, strict=True):
        assert curve is not None
        points = read_fixture(f"findings/{capture}").project([0.5, 15, 100]).points
        for point in points:
            assert curve.runtime_s[curve.rtt_ms.index(point.rtt_ms)] == pytest.approx(point.runtime_s)
            assert curve.pessimistic_s[curve.rtt_ms.index(point.rtt_ms)] == pytest.approx(point.pessimistic_s)
    ends = [(curve.rtt_ms[0], curve.rtt_ms[-1]) for curve in orm.curves if curve]
    assert len(ends) == 2
    assert ends[0] == ends[1]


def test_where_an_rtt_is_unknown_there_is_no_curve_and_a_page_all_the_same() -> None:
    unknown = Capture(build([Conn(handshake=False, exchanges=[Ex("query", answered=False, complete=False)])]))
    result = compared(unknown, each_row(5))
    assert result.curves[0] is None
    assert "cannot be projected" in render_both(result)
    assert "give it with `--rtt-baseline`" in markdown.render_both(result)


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_markdown_sets_the_figures_side_by_side(orm: BeforeAfter) -> None:
    text = markdown.render_both(orm)
    old, new = orm.before.summary.round_trips, orm.after.summary.round_trips
    assert f"| round trips | {old:,} | {new:,} | −{old - new:,} |" in text
    assert "## At the same round-trip time" in text
    assert re.search(r"^- gone: N\+1", text, re.MULTILINE)
    assert "SHA-256" in text
    assert "\\" not in text


def test_every_heading_of_the_markdown_stands_alone(orm: BeforeAfter) -> None:
    lines = markdown.render_both(orm).split("\n")
    for at, line in enumerate(lines):
        if line.startswith("#"):
            assert at == 0 or lines[at - 1] == ""


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_is_one_inert_file() -> None:
    hostile = Capture(build([Conn(rtt_ms=1, exchanges=[Ex("query", sql=HOSTILE)] * 4)]))
    cover = Cover(title="<b>T</b>", customer="<i>A & B</i>", notes=("{{STYLE}}",), date="2026-11-22")
    page = render_both(compared(each_row(3), hostile, cover))
    assert page.count("</script>") == 3
    assert "<img" not in page
    assert "://" not in page.replace("https://github.com", "")
    assert "&lt;b&gt;T&lt;/b&gt;" in page
    assert "For &lt;i&gt;A &amp; B&lt;/i&gt;, 2026-11-22" in page
    assert "unsafe" not in page.split("</head>", 1)[0]
    assert [HOSTILE in unescape(row) for row in statements(page) if ">added<" in row] == [True]


def test_the_same_captures_give_the_same_page() -> None:
    first, second = (render_both(compared(each_row(3), each_row(9))) for _ in range(2))
    assert first == second


def test_the_page_carries_a_bounded_part_of_many_statements() -> None:
    many = Capture(build([Conn(exchanges=[Ex("query", sql=f"select {n}") for n in range(230)])]))
    page = render_both(compared(each_row(3), many))
    changed = len(compared(each_row(3), many).comparison.statements)
    assert len(statements(page)) == 200 < changed
    assert f"the 200 that changed most of {changed}" in section(page, "statements")
    assert len(section(page, "statements")) < 200_000


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_a_report_on_two_captures_has_its_cover(latpcap: Any, tmp_path: Path, suffix: str) -> None:
    before, after = (load_fixture(f"findings/orm-{kind}-pg").path for kind in ("lazy", "joined"))
    path = tmp_path / f"report{suffix}"
    run = latpcap("report", after, "--before", before, "-o", path, "--customer", "ACME", "--quiet")
    assert (run.returncode, run.stdout) == (0, b"")
    assert "ACME" in path.read_text("utf-8")
    assert str(before.parent) not in path.read_text("utf-8")


@pytest.mark.parametrize("suffix", [".html", ".md"])
def test_compare_writes_the_same_report_without_a_cover(latpcap: Any, tmp_path: Path, suffix: str) -> None:
    before, after = (load_fixture(f"findings/orm-{kind}-pg").path for kind in ("lazy", "joined"))
    paths = [tmp_path / f"{name}{suffix}" for name in ("compare", "report")]
    runs = [
        latpcap("compare", before, after, "-o", paths[0], "--quiet"),
        latpcap("report", after, "--before", before, "-o", paths[1], "--quiet"),
    ]
    assert [(run.returncode, run.stdout) for run in runs] == [(0, b"")] * 2
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert str(before.parent) not in paths[0].read_text("utf-8")


def test_what_a_report_is_given_to_say_needs_a_report(latpcap: Any) -> None:
    path = load_fixture("findings/orm-lazy-pg").path
    run = latpcap("report", path, "--before", path, "--customer", "ACME")
    assert (run.returncode, run.stdout) == (2, b"")
    assert b"name the page: -o report.html or -o report.md" in run.stderr
    run = latpcap("compare", path, path, "--customer", "ACME")
    assert (run.returncode, run.stdout) == (2, b"")
    assert b"No such option '--customer'" in run.stderr


def test_gates_stand_in_the_report_and_fail_the_command(latpcap: Any, tmp_path: Path) -> None:
    before, after = (load_fixture(f"findings/orm-{kind}-pg").path for kind in ("joined", "lazy"))
    for name in ("report.html", "report.md"):
        gate = "round_trips > baseline"
        run = latpcap("compare", before, after, "-o", tmp_path / name, "--quiet", "--fail-if", gate)
        assert run.returncode == 1
        text = (tmp_path / name).read_text("utf-8")
        if name.endswith("html"):
            assert f"<strong>failed:</strong> <code>{escape(gate)}</code>: " in section(text, "gates")
        else:
            assert f"- failed: `{gate}`: " in text


def test_gates_that_passed_are_told_as_well(orm: BeforeAfter) -> None:
    gates = check(["round_trips > 100000"], read_fixture("findings/orm-joined-pg").measures)
    assert "- passed: `round_trips > 100000`: " in markdown.render_both(orm, gates)
