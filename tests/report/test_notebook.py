"""What a notebook shows: the whole report in a frame, charts that need no network, nothing that runs or grows."""

from __future__ import annotations

import base64
import html
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import read_fixture

from latpcap import Capture
from latpcap.report import notebook, report_to

NESTED = "findings/nested-my"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*where: object) -> None:
        raise OSError(f"asked the network: {where}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def framed(shown: str) -> str:
    found = re.fullmatch(r"<iframe sandbox='allow-scripts' [^<>&]* srcdoc='([^'<>]*)'></iframe>", shown)
    assert found, shown[:200]
    return html.unescape(found[1])


def test_a_capture_shows_its_whole_report() -> None:
    capture = read_fixture(NESTED)
    assert framed(capture._repr_html_()) == report_to("x.html")(capture.measures, None, None)


def test_where_no_frame_is_shown_there_is_the_verdict() -> None:
    shown = read_fixture(NESTED)._repr_mimebundle_()
    assert sorted(shown) == ["text/html", "text/plain"]
    assert "32 round trips + 1 TCP handshake + 1 greeting: " in shown["text/plain"]


def test_a_report_that_is_too_large_for_a_notebook_is_told_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "MAX_PAGE_CHARS", 1000)
    shown = read_fixture(NESTED)._repr_html_()
    assert "<iframe" not in shown
    assert "32 round trips + 1 TCP handshake + 1 greeting: " in shown
    assert "capture.report('report.html')" in shown


def test_a_capture_without_traffic_says_why() -> None:
    capture = Capture(build([]))
    assert "<iframe" not in capture._repr_html_()
    assert capture._repr_mimebundle_()["text/plain"] == repr(capture)


def charts(capture: Capture) -> list[Any]:
    views = (capture.timeline, capture.deltas, capture.over_time(), capture.analyze().budget)
    return [view.plot() for view in (capture.project([1, 15]), *views)]


@pytest.mark.usefixtures("no_network")
def test_charts_show_as_svg_without_a_network() -> None:
    pytest.importorskip("vl_convert")
    first, *others = charts(read_fixture(NESTED))
    for chart in (first, *others, first & first, first | first, first + first):
        for each in (chart, chart.properties(title="a title")):
            shown = each._repr_mimebundle_()
            [(kind, drawn)] = (shown[0] if isinstance(shown, tuple) else shown).items()
            assert kind == "image/svg+xml"
            assert set(re.findall(r"https?://[^\"' ]*", drawn)) <= {
                "http://www.w3.org/2000/svg",
                "http://www.w3.org/1999/xlink",
            }


def test_whoever_chooses_a_renderer_gets_it() -> None:
    altair = pytest.importorskip("altair")
    with altair.renderers.enable("json"):
        for chart in charts(read_fixture(NESTED)):
            shown = chart._repr_mimebundle_()
            assert "application/json" in (shown[0] if isinstance(shown, tuple) else shown)
    assert altair.renderers.active == "default"


@pytest.mark.usefixtures("no_network")
def test_a_projection_shows_its_curve_as_an_image_in_which_nothing_runs() -> None:
    pytest.importorskip("vl_convert")
    shown = read_fixture(NESTED).project(range(1, 51))._repr_html_()
    [image] = re.findall(r"<img alt='[\w ]*' src='data:image/svg\+xml;base64,([\w+/=]*)'>", shown)
    assert base64.b64decode(image).startswith(b"<svg")
    assert "and 30 more RTTs" in shown
    assert len(shown) < 100_000


def test_a_projection_without_a_curve_shows_its_figures() -> None:
    assert "<img" not in read_fixture(NESTED).project(15)._repr_html_()


def test_without_what_draws_there_are_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    from latpcap.report import plot

    monkeypatch.setattr(plot, "_draws", lambda: False)
    assert read_fixture(NESTED).project([1, 15])._repr_html_().startswith('<div class="scroller"><table')


def test_a_long_text_does_not_fill_a_cell() -> None:
    long = Capture(build([Conn(exchanges=[Ex("query", sql="select " + "a" * 5000)])]))
    assert "a" * 150 in long.exchanges._repr_html_()
    assert "a" * 300 not in long.exchanges._repr_html_()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    """A notebook's page with a style of its own, and the report within it; offline."""
    if CHROMIUM is None:
        pytest.skip("not installed: chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    path = tmp_path / "notebook.html"
    style = "<style>* {color: rgb(255, 0, 0) !important; display: block}</style>"
    path.write_text(f"<!doctype html><meta charset=utf-8>{style}<body>{read_fixture(NESTED)._repr_html_()}", "utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True).new_page()
        page.complaints = []
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.goto(path.as_uri())
        yield page
        browser.close()


def test_the_report_lives_within_a_notebook(page: Any) -> None:
    frame = page.frame_locator("iframe")
    frame.locator("#colophon:not(:empty)").wait_for()
    assert frame.locator("h1").evaluate("element => getComputedStyle(element).color") != "rgb(255, 0, 0)"
    box = frame.locator("input[type=number]").first
    box.fill("50")
    box.press("Tab")
    frame.get_by_text("50 ms").first.wait_for()
    page.wait_for_timeout(500)  # the address is kept a moment later
    assert page.complaints == []


def test_the_report_cannot_reach_the_notebook(page: Any) -> None:
    page.frame_locator("iframe").locator("#colophon:not(:empty)").wait_for()
    [inner] = [frame for frame in page.frames if frame.parent_frame]
    for reach in ("parent.document", "localStorage"):
        with pytest.raises(Exception, match="SecurityError"):
            inner.evaluate(f"() => {reach}.length")
