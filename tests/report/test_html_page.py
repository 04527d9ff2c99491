"""The HTML report in a real browser: a mouse, a keyboard, a clipboard, and no network."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import load_fixture, read_fixture
from msgspec.structs import replace

from latpcap import Capture
from latpcap.findings import FindingResult
from latpcap.findings.frames import Frames
from latpcap.report.html import render, render_both
from latpcap.report.text import number as number_of
from latpcap.result.checks.gates import check
from latpcap.result.cover import Cover, with_picture
from latpcap.result.page.exploration import Exploration, explore
from latpcap.result.pairs.before_after import BeforeAfter, before_after
from latpcap.tables.recording import Recording
from latpcap.units import format_s

playwright = pytest.importorskip("playwright.sync_api")
playwright.expect.set_options(timeout=30_000)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="not installed: chromium")

QUIET = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
RTTS = (0.05, 0.09, 0.3, 1.0, 2.5, 7.0, 15.0, 42.0, 123.0, 300.0)
HOSTILE = "select '<img src=x onerror=\"hostile=1\"><script>hostile=1</script><b>bold</b>'"
FILTER = "tcp.stream == 0 && frame.number in {82..20081}"
SMALL = FindingResult(
    code="fetch",
    title="Small fetches <i>made up</i>",
    why="Each fetch waits.",
    fix="Fetch `1000` rows.",
    severity="low",
    statement=HOSTILE,
    fingerprint=HOSTILE,
    exchanges=200,
    round_trips_saved=10,
    round_trips_alone=10,
    saved_s={"15": 0.15},
    saved_at_baseline_s=0.0005,
    connections=(0,),
    first_frame=5,
    last_frame=5,
    frames=(Frames(0, 5, 5),),
    frames_left_out=0,
    display_filter="tcp.stream == 0",
    fix_name="fetch",
    facts={},
    needs=(),
    estimated=False,
)
REPEATED = replace(
    SMALL,
    code="n+1",
    title="N+1, made up",
    severity="high",
    statement="select ?",
    round_trips_saved=270,
    saved_s={"15": 4.05},
    frames=(Frames(0, 82, 20081),),
    first_frame=82,
    last_frame=20081,
    display_filter=FILTER,
    fix_name="n+1",
    frames_left_out=3,
)
SLOW = replace(
    SMALL,
    code="slow-server",
    title="The server is slow",
    fix="",
    severity="info",
    statement=None,
    round_trips_saved=0,
    saved_s={},
    frames=(),
    first_frame=None,
    last_frame=None,
    display_filter="",
    fix_name="",
)
FINDINGS = (SMALL, REPEATED, SLOW)


class Found(Capture):
    """A capture with findings that are known."""

    findings: tuple[FindingResult, ...] = FINDINGS


def explored(capture: Capture) -> Exploration:
    seen = explore(capture.measures)
    if not isinstance(capture, Found):
        return seen
    return replace(seen, findings=tuple(capture.findings), parts=(0.0,) * len(capture.findings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


class Window:
    """A browser window that is offline, with what it asked for and what it complained about."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options, offline=True)
        self.page = self.context.new_page()
        self.page.asked = []
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("request", lambda request: self.page.asked.append(request.url))

    def show(self, path: Path) -> Any:
        self.page.asked.clear()
        self.page.mouse.move(0, 0)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#sections a")
        return self.page


@pytest.fixture(scope="module")
def usual_window(browser: Any) -> Window:
    return Window(browser)


@pytest.fixture
def show(browser: Any, usual_window: Window, folder: Path) -> Iterator[Callable[..., Any]]:
    """`show(capture)`: its report, freshly loaded from disk; complaints fail the test. Options open a new window.

    Two captures that were compared have a report, too.
    """
    usual_window.complaints.clear()
    windows = [usual_window]

    def opened(source: Capture | BeforeAfter, **options: Any) -> Any:
        path = folder / "report.html"
        both = isinstance(source, BeforeAfter)
        path.write_text(render_both(source) if both else render(explored(source)), "utf-8")
        if options:
            windows.append(Window(browser, **options))
        return windows[-1].show(path)

    yield opened
    for window in windows[1:]:
        window.context.close()
    assert [window.complaints for window in windows] == [[] for _ in windows]


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return read_fixture("mysql/nplus1-300-client").recording


@pytest.fixture
def page(show: Any, recorded: Recording) -> Any:
    return show(Found(recorded))


def several() -> Capture:
    work = [Ex("query", sql=f"select {letter} from t where a = ?", service_ms=ms) for ms, letter in enumerate("cab", 1)]
    first = Conn(rtt_ms=2, exchanges=[Ex("authenticate"), *work * 5])
    second = Conn(rtt_ms=2, at_ms=30, client="10.0.0.1:40001", exchanges=[Ex("query", sql=HOSTILE), *work])
    return Found(build([first, second], [("cut", "warning", "the file was cut", 1)]))


def number(page: Any, element: str, name: str) -> float:
    return float(page.get_attribute(element, f"data-{name}"))


def runtime(page: Any) -> float:
    return number(page, "#runtime", "seconds")


def chosen(page: Any) -> float:
    return float(page.input_value("#rtt-number"))


def choose(page: Any, rtt: float) -> None:
    page.fill("#rtt-number", str(rtt))


# --- the slider -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mysql/nplus1-10k", "postgresql/pgbench-tpcb-c4"])
def test_the_values_are_those_of_latpcap_project(name: str, show: Any, latpcap: Any) -> None:
    path = load_fixture(name).path
    page = show(read_fixture(name))
    asked = ",".join(f"{rtt}ms" for rtt in RTTS)
    run = latpcap("project", path, "--rtt", asked, "--json", "--quiet")
    for point in json.loads(run.stdout)["points"]:
        choose(page, point["rtt_ms"])
        assert runtime(page) == pytest.approx(point["runtime_s"], rel=0.005)
        assert number(page, "#range", "optimistic") == pytest.approx(point["optimistic_s"], rel=0.005)
        assert number(page, "#range", "pessimistic") == pytest.approx(point["pessimistic_s"], rel=0.005)


def test_a_mouse_moves_the_slider(page: Any, recorded: Recording) -> None:
    slider = page.locator("#rtt-slider")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    at = float(slider.input_value()) / 1000
    page.mouse.move(box["x"] + 8 + at * (box["width"] - 16), middle)
    page.mouse.down()
    seen = []
    for share in (0.5, 0.3, 0.9):
        page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), middle, steps=4)
        seen.append((chosen(page), runtime(page)))
    page.mouse.up()
    for (rtt, seconds), share in zip(seen, (0.5, 0.3, 0.9), strict=True):
        assert rtt == pytest.approx(0.05 * 6000**share, rel=0.1)
        projected = Capture(recorded).project(rtt).points[0].runtime_s
        assert seconds == pytest.approx(projected, rel=0.005)


def test_keys_move_the_slider(page: Any) -> None:
    page.focus("#rtt-slider")
    before = chosen(page)
    page.keyboard.press("ArrowRight")
    assert before < chosen(page) < before * 1.05
    page.keyboard.press("PageUp")
    assert chosen(page) > before * 1.5
    page.keyboard.press("Home")
    assert chosen(page) == 0.05
    page.keyboard.press("End")
    assert chosen(page) == 300
    assert page.get_attribute("#rtt-slider", "aria-valuetext") == "300 ms"


def test_a_number_out_of_range_becomes_the_nearest(page: Any) -> None:
    for typed, taken in (("5000", 300), ("0.0001", 0.05), ("-3", 0.05), ("", 0.05), ("12.5", 12.5)):
        page.fill("#rtt-number", typed)
        page.press("#rtt-number", "Enter")
        page.focus("#rtt-slider")
        assert chosen(page) == taken


def test_a_place_chooses_its_rtt(page: Any, recorded: Recording) -> None:
    page.get_by_role("button", name="next country").click()
    assert chosen(page) == 20
    assert page.locator("#places [aria-pressed=true]").count() == 1
    page.get_by_role("button", name="as measured").click()
    assert runtime(page) == pytest.approx(recorded.runtime_s, rel=0.005)


def test_a_click_on_the_curve_chooses_its_rtt(page: Any) -> None:
    over = page.locator("#curve .u-over")
    box = over.bounding_box()
    over.click(position={"x": box["width"] / 2, "y": 50})
    assert chosen(page) == pytest.approx(math.sqrt(0.05 * 300), rel=0.05)


def test_the_value_under_the_crosshair_is_told(page: Any, recorded: Recording) -> None:
    over = page.locator("#curve .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    there = math.sqrt(0.05 * 300)
    rtt, told = page.locator("#curve .reading div").all_inner_texts()
    assert float(rtt.removesuffix(" ms")) == pytest.approx(there, rel=0.02)
    expected = Found(recorded).project(there).points[0]
    numbers = [float(each) for each in re.findall(r"[0-9.]+", told)]
    assert numbers == pytest.approx([expected.runtime_s, expected.optimistic_s, expected.pessimistic_s], rel=0.02)
    page.mouse.move(0, 0)
    assert not page.is_visible("#curve .reading")


def test_histograms_and_intervals_tell_what_is_under_the_crosshair(show: Any) -> None:
    page = show(read_fixture("mysql/path-changes"))
    for chart, expected in (("response-0", " exchanges, "), ("delta-0", " intervals, "), ("intervals-0", " UTC")):
        over = page.locator(f"#{chart} .u-over")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        seen = set()
        for part in range(1, 40):
            page.mouse.move(box["x"] + box["width"] * part / 40, box["y"] + 20)
            seen.add(page.locator(f"#{chart} .reading").inner_text() if page.is_visible(f"#{chart} .reading") else "")
        assert any(expected in each for each in seen), chart


def test_the_axes_are_logarithmic_or_linear(page: Any, recorded: Recording) -> None:
    over = page.locator("#curve .u-over")
    page.get_by_role("button", name="linear").press("Enter")
    assert page.get_by_role("button", name="linear").get_attribute("aria-pressed") == "true"
    assert "both linear" in page.inner_text("#curve-caption")
    width = over.bounding_box()["width"]
    over.click(position={"x": width / 3, "y": 50})
    assert chosen(page) == pytest.approx(10, rel=0.03)  # a third of 30 ms, beyond the 15 ms that were chosen
    page.get_by_role("button", name="logarithmic").click()
    over.click(position={"x": width / 2, "y": 50})
    assert chosen(page) == pytest.approx(math.sqrt(0.05 * 300), rel=0.05)


def test_the_fixed_curve_has_its_band(show: Any) -> None:
    page = show(read_fixture("mysql/prepared-each"))

    def banded() -> int:
        return page.evaluate("""() => {
          const [r, g, b] = [0xdb, 0xe7, 0xf2];
          const drawn = document.querySelector("#curve canvas");
          const copy = document.createElement("canvas");
          [copy.width, copy.height] = [drawn.width, drawn.height];
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(drawn, 0, 0);
          const { data } = context.getImageData(0, 0, copy.width, copy.height);
          let count = 0;
          for (let at = 0; at < data.length; at += 4) {
            count += data[at] === r && data[at + 1] === g && data[at + 2] === b;
          }
          return count;
        }""")

    before = banded()
    for switch in page.locator(".switch input").all():
        switch.click()
    page.wait_for_timeout(100)
    assert banded() > 1.3 * before > 0


def test_the_address_holds_what_was_chosen(show: Any, folder: Path) -> None:
    page = show(read_fixture("mysql/nplus1-300-client"))
    assert page.evaluate("location.hash") == ""
    choose(page, 42)
    page.locator(".switch input").first.click()
    page.get_by_role("button", name="linear").click()
    playwright.expect(page).to_have_url(re.compile(r"#rtt=42&fix=n%2B1&axes=linear$"))
    figures = page.inner_text("#figures")
    page.reload()
    page.wait_for_selector("#sections a")
    assert (chosen(page), page.is_checked(".switch input")) == (42, True)
    assert page.inner_text("#figures") == figures


@pytest.mark.parametrize(
    ("said", "rtt"),
    [("rtt=15", 15), ("rtt=1.5s", 300), ("rtt=500us", 0.5), ("rtt=<b>", 15), ("findings", 15), ("rtt=1e9", 15)],
)
def test_an_address_is_read_with_its_unit_and_within_range(page: Any, said: str, rtt: float) -> None:
    page.evaluate("(said) => { location.hash = said; }", said)
    page.wait_for_timeout(50)
    assert chosen(page) == rtt


def test_it_is_told_how_often_the_range_held(page: Any) -> None:
    choose(page, 20)
    assert re.fullmatch(
        r"The range held for \d+% of [0-9,]+ comparable test runs at a longer RTT.",
        page.inner_text("#held"),
    )
    choose(page, 0.1)
    assert "at a shorter RTT" in page.inner_text("#held")
    assert "Each runtime is replayed." in page.inner_text("#elsewhere")
    assert "comparable test runs at a longer RTT" in page.inner_text("#elsewhere")


def test_a_screen_reader_hears_the_answer_when_the_slider_rests(page: Any) -> None:
    choose(page, 7)
    playwright.expect(page.locator("#spoken")).to_contain_text("At 7 ms: ")
    assert page.get_attribute("#spoken", "role") == "status"


def test_the_budget_sums_to_the_runtime(page: Any) -> None:
    for rtt in (0.05, 3, 300):
        choose(page, rtt)
        cells = page.locator("#budget-table tfoot td").all_inner_texts()
        assert float(cells[2].replace(",", "")) == pytest.approx(runtime(page), rel=0.005)


def test_without_a_baseline_there_is_no_slider(show: Any) -> None:
    page = show(Capture(build([Conn(handshake=False, exchanges=[Ex("query", answered=False, complete=False)])])))
    assert not page.is_visible("#rtt-slider")
    assert "give it with --rtt-baseline" in page.inner_text("#elsewhere")
    assert page.locator("#statements tbody tr").count() == 1


# --- fixes and findings ---------------------------------------------------------------------------------------------


def test_switches_show_the_job_with_their_fixes_made(show: Any) -> None:
    capture = read_fixture("mysql/prepared-each")
    page = show(capture)
    names = [text.split(":")[0] for text in page.locator(".fix-title").all_inner_texts()]
    assert len(names) == 3
    fixes = ["prepare", "nodelay", "ping"]
    for rtt in (1, 15, 100):
        choose(page, rtt)
        for count in (1, 2, 3):
            page.locator(".switch label").nth(count - 1).click()
            changed = capture.what_if(fixes[:count], [rtt])
            assert changed is not None
            made = changed.all_fixes
            assert runtime(page) == pytest.approx(made.runtime_s[str(rtt)], rel=0.005)
            assert number(page, "#range", "optimistic") == pytest.approx(made.optimistic_s[str(rtt)], rel=0.005)
            assert number(page, "#range", "pessimistic") == pytest.approx(made.pessimistic_s[str(rtt)], rel=0.005)
            total = page.locator("#budget-table tfoot td").nth(2).inner_text()
            assert float(total.replace(",", "")) == pytest.approx(runtime(page), rel=0.005)
        assert page.locator("#ladder thead th").nth(-2).inner_text() == "with the fixes s"
        page.locator(".switch input").nth(1).focus()
        page.keyboard.press("Space")
        for switch in (0, 2):
            page.locator(".switch input").nth(switch).click()
        full = capture.project(rtt).points[0].runtime_s
        assert runtime(page) == pytest.approx(full, rel=0.005)


def test_runtimes_with_fixes_stand_beside_the_others_while_some_are_chosen(show: Any) -> None:
    page = show(read_fixture("mysql/prepared-each"))
    heads = page.locator("#ladder thead th:visible")
    without = heads.all_inner_texts()
    page.locator(".switch label").first.click()
    assert heads.all_inner_texts() == [*without, "with the fixes s", "range s"]
    cells = [float(cell) for cell in page.locator("#ladder tbody td:nth-last-child(2)").all_inner_texts() if cell]
    assert len(cells) == page.locator("#ladder tbody tr").count() - 1
    page.locator(".switch label").first.click()
    assert heads.all_inner_texts() == without


def test_statements_lose_what_the_fix_takes(show: Any) -> None:
    page = show(read_fixture("mysql/nplus1-10k"))
    choose(page, 15)
    before = sum(float(cell.replace(",", "")) for cell in column(page, "network s at 15 ms"))
    page.locator(".switch label").first.click()
    after = sum(float(cell.replace(",", "")) for cell in column(page, "network s at 15 ms"))
    assert before > 100 > 10 > after


def test_one_fix_at_a_time_where_combinations_would_take_too_long(show: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latpcap.result.page.switches.MAX_REPLAYED", 0)
    page = show(read_fixture("mysql/prepared-each"))
    page.locator(".switch label").nth(0).click()
    page.locator(".switch label").nth(1).click()
    assert [box.is_checked() for box in page.locator(".switch input").all()] == [False, True, False]
    assert "one at a time" in page.locator("#fixes-sum").inner_text()


def test_findings_come_in_their_order_and_only_those_with_a_fix_have_a_switch(page: Any) -> None:
    titles = page.locator("#findings .entries > li").all_inner_texts()
    assert [title.split(" ", 2)[:2] for title in titles] == [["low:", "Small"], ["high:", "N+1,"], ["info:", "The"]]
    assert page.locator(".switch").count() == 1
    assert "<i>made up</i>" in titles[0]
    choose(page, 2)
    assert re.search(r"^saves .* at 2 ms$", page.locator("#findings li").first.inner_text(), re.MULTILINE)


@pytest.mark.parametrize("allowed", [True, False])
def test_a_display_filter_is_copied(show: Any, recorded: Recording, allowed: bool) -> None:
    page = show(Found(recorded), permissions=["clipboard-read", "clipboard-write"])
    if not allowed:
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); }")
    page.evaluate("() => { window.setTimeout = () => 0; }")  # which would take the word away again
    page.get_by_role("button", name="Copy the display filter of N+1").click()
    playwright.expect(page.locator(".copy").nth(1)).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == FILTER


# --- tables ---------------------------------------------------------------------------------------------------------


def column(page: Any, title: str) -> list[str]:
    """The cells of the statements' column below this heading."""
    titles = page.locator("#statements thead th").all_inner_texts()
    return page.locator(f"#statements tbody tr:not([hidden]) > :nth-child({titles.index(title) + 1})").all_inner_texts()


def test_statements_are_sorted_by_their_headings(show: Any) -> None:
    page = show(several())
    heading = page.locator("#statements thead th").first
    assert heading.get_attribute("aria-sort") is None
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(page, "statement") == sorted(column(page, "statement"))
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, "statement") == sorted(column(page, "statement"), reverse=True)
    page.locator("#statements thead button", has_text="round trips").click()
    counts = [int(text) for text in column(page, "round trips")]
    assert counts == sorted(counts, reverse=True)
    assert heading.get_attribute("aria-sort") is None


def test_what_is_missing_is_sorted_last(show: Any) -> None:
    page = show(several())
    for _ in range(2):
        page.locator("#statements thead button", has_text="request interval median").click()
        values = column(page, "request interval median ms")
        assert values[-1] == ""
        assert "" not in values[:-2]


def test_the_statements_network_time_follows_the_slider(page: Any) -> None:
    """A ping is a little longer than the RTT of the data, hosts that wait longer go on later."""
    for rtt in (1, 100):
        choose(page, rtt)
        assert float(column(page, f"network s at {rtt} ms")[0].replace(",", "")) == pytest.approx(0.3 * rtt, rel=0.02)


def test_long_lists_begin_short(show: Any) -> None:
    page = show(Capture(build([Conn(exchanges=[Ex("query", sql=f"select {at}") for at in range(50)])])))
    assert len(column(page, "statement")) == 20
    page.get_by_role("button", name="Show all 50").click()
    assert len(column(page, "statement")) == 50


# --- errors ---------------------------------------------------------------------------------------------------------


def test_errors_are_shown_only_where_something_failed(show: Any) -> None:
    failed = Ex("query", sql="select a from b", error="1146 (42S02): Table ? doesn't exist")
    page = show(Capture(build([Conn(exchanges=[failed, failed, Ex("query", sql="select c from d")])])))
    assert page.inner_text("#errors > p") == "2 of 3 statements failed, in 2 round trips"
    assert page.inner_text("#errors tbody tr").split("\t")[:3] == ["2", "1146 (42S02)", "statement"]
    page = show(Capture(build([Conn(exchanges=[Ex("query", sql="select c from d")])])))
    assert page.locator("#errors").is_hidden()
    assert page.locator("#sections a", has_text="Errors").count() == 0


# --- what cannot be seen, routes, paths -------------------------------------------------------------------------------


def test_it_is_told_why_findings_are_missing(show: Any) -> None:
    page = show(read_fixture("mysql/tls13-nplus1-50"))
    told = page.inner_text("#verdict")
    assert "encrypted (TLSv1.3)" in told
    assert "pass the client's TLS key log: --keylog FILE" in told
    assert "only connection and timing problems were checked" in page.inner_text("#findings .missing")
    assert [page.locator(f"{where} .missing").count() for where in ("main", "#findings", "#to-do")] == [2, 1, 1]
    assert show(read_fixture("mysql/nplus1-300-client")).locator(".missing").count() == 0


def test_routes_are_listed_where_statements_name_them(show: Any) -> None:
    capture = read_fixture("findings/tagged-pg")
    page = show(capture)
    routes = capture.analyze().routes
    assert page.locator("#routes tbody th").all_inner_texts() == [route.route for route in routes]
    cells = page.locator("#routes tbody tr").first.locator("td").all_inner_texts()
    assert f"{routes[0].round_trips}" in cells
    assert page.inner_text("#routes > .note").startswith(f"{sum(route.round_trips for route in routes)} of ")
    assert show(several()).locator("#routes").is_hidden()


def test_on_a_phone_no_heading_is_cut_off(show: Any) -> None:
    page = show(read_fixture("mysql/nplus1-300-client"), color_scheme="light")  # a window of its own
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_selector("#to-do table.stacked")
    ends = page.evaluate("[...document.querySelectorAll('.stacked th')].map((e) => e.getBoundingClientRect().right)")
    assert 0 < max(ends) <= 390


def test_periods_of_a_path_that_changed_are_listed(show: Any) -> None:
    capture = read_fixture("mysql/path-changes")
    page = show(capture)
    [path] = capture.analyze().paths
    assert page.inner_text("#paths h3") == f"{path.client} → {path.server}: the RTT changed"
    rows = page.locator("#paths tbody tr")
    assert rows.count() == len(path.periods) > 1
    for row, period in zip(rows.all(), path.periods, strict=True):
        assert f"{period.rtt.baseline_ms:.3g}" in row.inner_text()
        assert f"{period.round_trips:,}" in row.inner_text()
    assert show(several()).locator("#paths tr").count() == 0


# --- timeline -------------------------------------------------------------------------------------------------------


def visible(page: Any) -> str:
    return page.inner_text("#timeline-range").strip()


def test_the_timeline_is_zoomed_by_buttons_keys_and_mouse(page: Any) -> None:
    whole = visible(page)
    page.get_by_role("button", name="Zoom in").click()
    nearer = visible(page)
    page.keyboard.press("ArrowRight")
    later = visible(page)
    assert len({whole, nearer, later}) == 3
    page.keyboard.press("0")
    assert visible(page) == whole
    page.locator("#timeline-chart").scroll_into_view_if_needed()
    box = page.locator("#timeline-chart .u-over").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 30, steps=5)
    page.mouse.up()
    assert visible(page) not in (whole, nearer, later)
    page.get_by_role("button", name="The whole time").click()
    assert visible(page) == whole


def test_an_exchange_under_the_mouse_is_named(page: Any) -> None:
    page.locator("#timeline-chart").scroll_into_view_if_needed()
    box = page.locator("#timeline-chart .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.inner_text("#timeline-hover").startswith("Frame ")
    assert "select salary, from_date from salaries" in page.inner_text("#timeline-hover")


# --- before and after ----------------------------------------------------------------------------------------------


def compared(before: str = "findings/orm-lazy-pg", after: str = "findings/orm-joined-pg") -> BeforeAfter:
    return before_after(read_fixture(before).measures, read_fixture(after).measures)


def test_two_captures_stand_side_by_side(show: Any) -> None:
    result = compared()
    page = show(result)
    old, new = result.before.summary, result.after.summary
    rows = {cells[0]: cells[1:] for cells in (row.split("\t") for row in page.inner_text("#figures table").split("\n"))}
    assert rows["round trips"][:2] == [f"{old.round_trips:,}", f"{new.round_trips:,}"]
    assert rows["runtime s"][:2] == [number_of(old.runtime_s), number_of(new.runtime_s)]
    assert page.locator("#findings li strong").all_inner_texts()[-1] == "gone:"
    assert page.locator("#statements tbody tr").count() == len(result.comparison.statements)
    totals = page.locator("#budget tfoot td").all_inner_texts()
    assert totals[:2] == [number_of(old.runtime_s), number_of(new.runtime_s)]


def test_both_projections_are_read_under_one_crosshair(show: Any) -> None:
    page = show(compared())
    over = page.locator("#curve .u-over")
    for axes in ("logarithmic", "linear"):
        page.get_by_role("button", name=axes).press("Enter")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 50)
        rtt, before, after, ratio = page.locator("#curve .reading div").all_inner_texts()
        there = float(rtt.removesuffix(" ms"))
        for name, told in (("lazy", before), ("joined", after)):
            expected = read_fixture(f"findings/orm-{name}-pg").project(there).points[0]
            amount, unit = re.search(r"([0-9.]+) (s|ms) ", told).groups()
            assert float(amount) / (1000 if unit == "ms" else 1) == pytest.approx(expected.runtime_s, rel=0.02)
        assert ratio.startswith("× 0.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_page_of_two(show: Any, scheme: str) -> None:
    page = show(compared(), color_scheme=scheme)
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []


@pytest.mark.parametrize("width", [320, 360, 1200])
def test_nothing_sticks_out_of_the_page_of_two(show: Any, width: int) -> None:
    encrypted = compared("mysql/tls12-nplus1-50", "mysql/tls13-nplus1-50")
    for result in (compared(), encrypted):
        page = show(result, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("#findings .missing").count() == 1
    assert "Before and after: " in page.inner_text("#findings .missing")


def test_the_page_of_two_loads_nothing_and_runs_nothing_of_theirs(show: Any) -> None:
    other = before_after(read_fixture("findings/orm-lazy-pg").measures, several().measures)
    page = show(other)
    assert HOSTILE in page.locator("#statements code").all_inner_texts()
    assert page.evaluate("typeof hostile") == "undefined"
    assert len(page.asked) == 1


# --- for whom, and how it was made -----------------------------------------------------------------------------------


def test_a_report_says_for_whom_it_is_and_how_it_was_made(browser: Any, folder: Path) -> None:
    cover = Cover(title="The nightly job", customer="ACME <b>", notes=("Taken at the client.",), date="2026-11-22")
    capture = read_fixture("mysql/nplus1-300-client")
    path = folder / "signed.html"
    path.write_text(render(explore(capture.measures, cover=cover)), "utf-8")
    page = Window(browser).show(path)
    assert page.inner_text("h1") == "The nightly job"
    assert page.inner_text("h1 + p") == "For ACME <b>, 2026-11-22"
    assert "Taken at the client." in page.inner_text(".masthead")
    assert capture.analyze().captures[0].sha256 in page.inner_text("#captures")
    assert capture.analyze().sign_off.packets.text in page.inner_text("#how-made")
    assert page.locator("main > section").last.get_attribute("id") == "captures"
    assert page.locator("#gates").is_hidden()
    page.context.close()


def test_gates_are_listed_with_those_that_failed_first(browser: Any, folder: Path) -> None:
    measures = read_fixture("mysql/nplus1-300-client").measures
    gates = check(["round_trips > 100000", "finding(n+1)"], measures)
    path = folder / "gated.html"
    path.write_text(render(explore(measures), gates), "utf-8")
    page = Window(browser).show(path)
    texts = page.locator("#gates li").all_inner_texts()
    told = [text.split(": ")[:2] for text in texts]
    assert told == [["failed", "finding(n+1)"], ["passed", "round_trips > 100000"]]
    page.context.close()


# --- safe, accessible, well set -------------------------------------------------------------------------------------


def test_nothing_is_asked_of_a_network(page: Any) -> None:
    page.mouse.wheel(0, 4000)
    choose(page, 3)
    assert [url for url in page.asked if not url.startswith("file:")] == []
    assert len(page.asked) == 1


def test_sql_with_markup_stays_text(show: Any) -> None:
    page = show(several())
    assert HOSTILE in column(page, "statement")
    assert page.evaluate("typeof hostile") == "undefined"
    assert page.locator("img, #statements b, #findings b, #findings i").count() == 0


def test_the_policy_stops_what_gets_in_nevertheless(browser: Any, folder: Path) -> None:
    path = folder / "broken.html"
    path.write_text(render(explored(several())).replace("<main ", "<script>hostile = 1</script><main "), "utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("typeof hostile") == "undefined"
    assert page.locator("#statements tbody tr").count() > 0
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(show: Any, recorded: Recording, scheme: str) -> None:
    page = show(several() if scheme == "dark" else Found(recorded), color_scheme=scheme)
    if page.locator(".switch").count():
        page.locator(".switch input").first.click()
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run()")
    assert [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]] == []
    assert len(found["passes"]) > 20


def test_the_colours_follow_the_system_and_the_reader(show: Any, recorded: Recording) -> None:
    page = show(Found(recorded), color_scheme="dark")

    def background() -> str:
        return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    dark = background()
    page.get_by_role("button", name="Light").click()
    assert background() == "rgb(255, 255, 255)" != dark
    page.get_by_role("button", name="Dark").click()
    page.emulate_media(color_scheme="light")
    assert background() == dark


@pytest.mark.parametrize("width", [320, 360, 390, 1200])
@pytest.mark.parametrize("name", [None, "mysql/path-changes", "findings/tagged-pg", "mysql/tls13-nplus1-50"])
def test_nothing_sticks_out(show: Any, width: int, name: str | None) -> None:
    page = show(read_fixture(name) if name else several(), viewport={"width": width, "height": 800})
    page.evaluate("() => { document.querySelector('h1').textContent = `${'long_file_name'.repeat(9)}.pcapng`; }")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_rows_are_stacked_on_a_telephone_and_sort_there(show: Any) -> None:
    page = show(several(), viewport={"width": 360, "height": 800})
    table = page.locator("#statements table")
    assert table.bounding_box()["width"] <= 328
    assert page.locator("#statements td[data-label='round trips']").count() == len(column(page, "statement"))
    page.locator("#statements thead button", has_text="round trips").click()
    counts = [int(text) for text in column(page, "round trips")]
    assert counts == sorted(counts, reverse=True)
    page.set_viewport_size({"width": 1000, "height": 800})
    page.wait_for_selector("#statements table:not(.stacked)")


PAPER_PX = 1005
"""The printable height of A4 where the page is 690 px wide."""


@pytest.mark.parametrize("name", ["mysql/nplus1-10k", "mysql/path-changes", "findings/failing-pg"])
def test_no_page_is_left_half_empty_and_no_row_is_printed_twice(show: Any, name: str) -> None:
    page = show(read_fixture(name), color_scheme="light")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    blocks = page.evaluate("""() => [...document.querySelectorAll("body *")]
      .filter((each) => getComputedStyle(each).breakInside === "avoid")
      .map((each) => [each.tagName, each.id, each.getBoundingClientRect().height])""")
    assert len(blocks) > 10
    assert [block for block in blocks if block[2] > PAPER_PX / 2] == []
    feet = page.evaluate("[...document.querySelectorAll('tfoot')].map((foot) => getComputedStyle(foot).display)")
    assert set(feet) <= {"table-row-group", "block"}
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    widest = page.evaluate("Math.max(...[...document.querySelectorAll('table')].map((each) => each.offsetWidth))")
    assert widest <= 690


def test_a_long_display_filter_shows_its_beginning_and_is_copied_whole(show: Any, recorded: Recording) -> None:
    found = Found(recorded)
    ranges = tuple(Frames(0, 10 * place, 10 * place + 5) for place in range(40))
    found.findings = (replace(REPEATED, display_filter=" || ".join([FILTER] * 40), frames=ranges), SLOW)
    page = show(found, color_scheme="light")
    shown = page.locator("#findings pre[data-copy]")
    assert shown.inner_text() == "tcp.stream == 0 && frame.number in {0..5, 10..15, 20..25}"
    assert shown.get_attribute("data-copy") == found.findings[0].display_filter
    assert "… 40 more" in page.inner_text("#findings")  # 37, and the 3 that the filter leaves out
    assert page.is_visible("#findings .copy")
    page.emulate_media(media="print")
    assert not page.is_visible("#findings .copy")


def test_headings_are_in_order(show: Any) -> None:
    page = show(read_fixture("mysql/path-changes"))
    levels = [
        int(each[1]) for each in page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => h.tagName)")
    ]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.get_attribute("html", "lang") == "en"


def test_on_paper_it_is_light_and_fits(show: Any, recorded: Recording) -> None:
    page = show(Found(recorded), color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    widths = page.evaluate("[...document.querySelectorAll('canvas')].map((canvas) => canvas.clientWidth)")
    assert max(widths) <= 690
    assert not page.is_visible("#theme")
    assert not page.is_visible("#rtt-slider")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.pdf(format="A4").startswith(b"%PDF")


# --- for two readers ------------------------------------------------------------------------------------------------

MANY = "postgresql/psycopg2-connect-each"


@pytest.mark.parametrize("name", ["mysql/nplus1-10k", "mysql/path-changes", "findings/failing-my", MANY])
def test_the_first_sheet_has_answer_what_to_do_and_chart(show: Any, name: str) -> None:
    """A chart that has no room there begins the next sheet, and leaves little of the first one empty."""
    page = show(read_fixture(name), color_scheme="light")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    todo, chart, in_short = page.evaluate("""() => ["to-do", "what-if", "in-short"]
      .map((id) => document.getElementById(id).getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])""")
    assert 0 < todo[0] < todo[1] < chart[0] < in_short[0]
    assert todo[1] < PAPER_PX
    assert chart[1] < PAPER_PX or todo[1] > PAPER_PX / 2
    assert not page.evaluate("""() => [...document.querySelectorAll("section")]
      .some((each) => getComputedStyle(each).breakBefore === "page")""")
    assert page.locator(":not(th) > button:visible, input:visible").count() == 0  # a heading is but its words there
    assert page.locator("table.stacked").count() == 0
    assert page.locator("#connections .scroller >> nth=0").locator("tbody tr:visible").count() == min(
        len(read_fixture(name).connections), 20
    )
    assert "Switch a fix on" not in page.inner_text("body")


def test_the_first_page_names_three_findings_with_their_seconds(show: Any) -> None:
    result = read_fixture("mysql/prepared-each").analyze()
    page = show(read_fixture("mysql/prepared-each"))
    told = f"{result.projection.headline_rtt_ms:g}"
    saving = sorted((each for each in result.findings if each.fix), key=lambda each: -each.saved_s[told])[:3]
    rows = page.locator("#to-do tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == [each.title for each in saving]
    assert [row.split("\t")[2] for row in rows] == [format_s(each.saved_s[told]) for each in saving]
    now, there = page.locator("#verdict .bar-title").all_inner_texts()
    assert now.startswith("As measured, at ")
    assert there.startswith(f"At {told} ms: {format_s(sum(result.projection.headline_budget.parts().values()))} ")


@pytest.mark.parametrize("width", [1280, 1440, 1920])
@pytest.mark.parametrize("name", [MANY, "postgresql/pgbench-tpcb-c4", "findings/tagged-pg"])
def test_nothing_is_clipped_on_a_wide_screen_and_no_address_is_broken(show: Any, name: str, width: int) -> None:
    page = show(read_fixture(name), viewport={"width": width, "height": 900})
    wider = "(each) => each.scrollWidth > each.clientWidth"
    assert page.evaluate(f"[...document.querySelectorAll('.scroller')].filter({wider}).length") == 0
    lines = page.evaluate("[...document.querySelectorAll('.address')].map((each) => each.getClientRects().length)")
    assert len(lines) > 0
    assert set(lines) == {1}
    hidden = page.locator("#connections th[hidden]").count()
    told = page.locator("#connections .left").first
    assert told.is_visible() == (hidden > 0)
    if hidden:
        assert told.inner_text().startswith(f"{hidden} more column")
        told.get_by_role("button").click()
        assert page.locator("#connections th[hidden]").count() == 0


def test_an_rtt_beyond_the_slider_is_told_with_what_replays_it(page: Any) -> None:
    page.fill("#rtt-number", "5000")
    page.press("#rtt-number", "Enter")
    told = page.inner_text("#bounds")
    assert told == "The slider goes from 50 µs to 300 ms; `latpcap project --rtt 5,000ms` replays 5 s."
    choose(page, 20)
    assert page.inner_text("#bounds") == ""


def test_a_rate_of_fewer_statements_is_not_set_beside_the_capture_s(show: Any) -> None:
    page = show(read_fixture("mysql/nplus1-300-client"))
    assert "not comparable" not in page.inner_text("#figures")
    page.locator(".switch input").first.click()
    assert re.search(r"not comparable: \d+ statements of \d+ removed", page.inner_text("#figures"))


def test_bars_of_now_and_there_have_one_scale(show: Any) -> None:
    page = show(read_fixture("mysql/nplus1-300-client"))
    choose(page, 15)
    ends = page.evaluate("""() => [...document.querySelectorAll("#bars .bar")].map((bar) => {
      const last = bar.lastElementChild;
      return Number(last.getAttribute("x").slice(0, -1)) + Number(last.getAttribute("width").slice(0, -1));
    })""")
    now, there = read_fixture("mysql/nplus1-300-client").analyze().summary.runtime_s, runtime(page)
    assert ends == pytest.approx([100 * now / there, 100], rel=0.001)


def test_a_report_has_its_author_and_logo_and_loads_nothing_else(browser: Any, folder: Path) -> None:
    logo = folder / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10" onload="hostile=1"></svg>')
    [name], picture = with_picture(["Jane <b>", str(logo)])
    path = folder / "authored.html"
    path.write_text(render(explore(several().measures, cover=Cover(author=name, logo=picture))), "utf-8")
    window = Window(browser)
    page = window.show(path)
    assert page.inner_text("h1 + p") == "By Jane <b>"
    assert page.evaluate("document.querySelector('.logo').naturalWidth") == 20
    assert page.evaluate("typeof hostile") == "undefined"
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert window.complaints == []
    window.context.close()


def test_the_page_tells_which_rtt_meets_a_target() -> None:
    seen = explore(read_fixture("mysql/nplus1-300-client").measures, [15.0], 60.0)
    assert "60 s is met up to an RTT of " in render(seen)


def test_without_scripts_all_but_charts_stands_there(browser: Any, folder: Path) -> None:
    path = folder / "scriptless.html"
    path.write_text(render(explore(read_fixture("findings/tagged-pg").measures)), "utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    for name in ("to-do", "elsewhere", "budget", "findings", "statements", "connections"):
        assert page.locator(f"#{name} tbody tr, #{name} li").count() > 0, name
    context.close()
