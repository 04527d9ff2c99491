import base64
import hashlib
import json
import re
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arro3.core import Array, Table
from builder import EPOCH_NS, I64, TEXT, TIME, U32, U64, Conn, Ex, Rows, build
from conftest import load_fixture, read_fixture

from latpcap import Capture, UsageError
from latpcap.display import plain
from latpcap.report import html
from latpcap.report import page as pages
from latpcap.report.html import modules
from latpcap.report.page import MAX_TABLE_ROWS
from latpcap.result.page.exploration import explore
from latpcap.result.page.timeline import MAX_EXCHANGES, timeline
from latpcap.result.verdict import LABEL_CELLS
from latpcap.tables.recording import Recording

HOSTILE = "select '</script><script>hostile()</script><!-- {{STYLE}} \u2028 &amp; <img src=x onerror=hostile()>'"
MEGABYTE = 1e6


def render(capture: Capture) -> str:
    return html.render(explore(capture.measures))


def page_data(capture: Capture, rtt_ms: list[float] | None = None) -> dict[str, Any]:
    return plain(pages.page_data(explore(capture.measures, rtt_ms)))


def some_capture(*exchanges: Ex) -> Capture:
    return Capture(
        build([Conn(rtt_ms=2, exchanges=list(exchanges or [Ex("query", sql="select ?", service_ms=1)] * 5))])
    )


def column(page: str, name: str, title: str) -> list[str]:
    """The texts of a column of a section's first table, that of the rows that are summed last."""
    section = re.search(rf'<section id="{name}" .*?</section>', page, re.DOTALL)
    assert section
    table = section[0].split("</table>")[0]
    heads, *rows = (re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table))
    return [unescape(re.sub("<[^>]*>", "", row[heads.index(title)])) for row in rows]


def numbers(texts: list[str]) -> list[float]:
    return [float(each.replace(",", "")) for each in texts]


def embedded(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


# --- one file that is safe to open ----------------------------------------------------------------------------------


def test_the_page_names_no_address() -> None:
    page = render(read_fixture("mysql/nplus1-300-client"))
    assert "://" not in page
    targets = re.findall(r"""\b(?:src|href)=["']?(.)""", page.split("<script", 1)[0])
    assert set(targets) == {"#"}


def test_the_policy_allows_the_page_s_own_style_and_scripts_and_nothing_else() -> None:
    page = render(some_capture())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    inline = r"<style>(.*?)</style>|<script>(.*?)</script>|<script type=\"module\">(.*?)</script>"
    texts = ["".join(groups) for groups in re.findall(inline, page, re.DOTALL)]
    assert len(texts) == 3
    for text in texts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert "unsafe" not in policy[1]


def test_sql_that_looks_like_markup_stays_data() -> None:
    page = render(some_capture(Ex("query", sql=HOSTILE)))
    assert "<script>hostile" not in page
    assert "<img" not in page
    assert "\u2028" not in page
    assert page.count("</script>") == 3
    assert column(page, "statements", "statement") == [HOSTILE.replace("\u2028", "\ufffd")]


def test_a_hostile_file_name_stays_text() -> None:
    recording = build([Conn(exchanges=[Ex("query", sql="select ?")])])
    recording.captures_table = _captures("x/<b>&\u202e\x1b[31m.pcap")
    page = render(Capture(recording))
    assert "<title>&lt;b&gt;&amp;\ufffd [31m.pcap" in page


def _captures(path: str) -> Table:
    texts = {name: Array([text], TEXT) for name, text in (("path", path), ("format", "pcap"))}
    counts = {name: Array([10], U64) for name in ("packets", "bytes", "tick_ns")}
    times = {name: Array([EPOCH_NS], I64).cast(TIME) for name in ("first_time", "last_time")}
    return Table.from_pydict(texts | counts | times)


def test_every_module_is_part_of_the_page() -> None:
    assets = files("latpcap.report") / "assets"
    assert sorted({*modules("main"), *modules("before_after")}) == sorted(
        each.name[:-3] for each in assets.iterdir() if each.name.endswith(".js")
    )
    assert not re.search(r"^(import|export)\b", render(some_capture()), re.MULTILINE)


def test_the_licence_of_the_charts_is_in_the_page() -> None:
    assert "Copyright (c) 2022 Leon Sorokin" in render(some_capture())


def test_the_page_names_no_folder() -> None:
    path = load_fixture("mysql/nplus1-300-client").path
    page = render(read_fixture("mysql/nplus1-300-client"))
    assert path.name in page
    assert str(path.parent) not in page


# --- what it carries ------------------------------------------------------------------------------------------------


def test_the_verdict_is_there_without_any_script() -> None:
    capture = some_capture()
    for line in capture.analyze().text.split("\n"):
        assert f"{line[LABEL_CELLS:].strip()}</" in render(capture) or f">{line}</p>" in render(capture)


def test_the_slider_begins_where_the_verdict_speaks_of() -> None:
    assert page_data(some_capture())["asked_rtt_ms"] == 15
    assert page_data(some_capture(), [1, 40])["asked_rtt_ms"] == 40


SHAPES = ("nplus1-10k", "pool-4", "churn-20", "cursor-fetch1", "wide-2000", "local-infile", "reordered")


@pytest.mark.parametrize("name", [*(f"mysql/{shape}" for shape in SHAPES), "postgresql/pgbench-tpcb-c4"])
def test_the_curve_gives_the_projection_at_any_rtt(name: str) -> None:
    capture = read_fixture(name)
    job = page_data(capture)["jobs"][0]
    curve = job["curve"]
    asked = np.geomspace(0.05, 300, 250).tolist()
    for point, rtt in zip(capture.project(asked).points, asked, strict=True):
        for column, expected in (
            ("runtime_s", point.runtime_s),
            ("optimistic_s", point.optimistic_s),
            ("pessimistic_s", point.pessimistic_s),
        ):
            assert np.interp(rtt, curve["rtt_ms"], curve[column]) == pytest.approx(expected, rel=0.005)
        for part, expected in point.budget.parts().items():
            read = np.interp(rtt, curve["rtt_ms"], job["parts"][part])
            assert read == pytest.approx(expected, abs=0.005 * point.runtime_s), part


@pytest.mark.parametrize("rtt_ms", [0.0123, 15.0, 600.0])
def test_the_measured_rtt_is_on_the_curve_however_small(rtt_ms: float) -> None:
    capture = Capture(build([Conn(rtt_ms=rtt_ms, exchanges=[Ex("query")] * 3)]))
    data = page_data(capture)
    assert data["projection"]["baseline_rtt_ms"] in data["jobs"][0]["curve"]["rtt_ms"]
    assert data["lowest_rtt_ms"] <= min(0.05, rtt_ms * 1.01)
    assert data["highest_rtt_ms"] >= max(300, rtt_ms * 0.99)


@pytest.mark.parametrize("name", ["mysql/prepared-each", "mysql/pool-4", "postgresql/jdbc-transactions"])
def test_every_combination_of_switches_is_what_project_says(name: str) -> None:
    capture = read_fixture(name)
    data = page_data(capture)
    assert data["combined"]
    names = [switch["fix"] for switch in data["switches"]]
    assert len(data["jobs"]) == 2 ** len(names)
    for job in data["jobs"][1:]:
        changed = capture.what_if([names[fix] for fix in job["fixes"]], [1, 15, 40])
        assert changed is not None
        for rtt in ("1", "15", "40"):
            for column in ("runtime_s", "optimistic_s", "pessimistic_s"):
                read = np.interp(float(rtt), job["curve"]["rtt_ms"], job["curve"][column])
                assert read == pytest.approx(getattr(changed.all_fixes, column)[rtt], rel=0.005)
        assert job["seconds_per_ms"] == pytest.approx(changed.all_fixes.seconds_per_ms)


def test_the_parts_of_a_job_are_its_runtime_and_stalls_go_with_their_fix() -> None:
    data = page_data(read_fixture("mysql/prepared-each"))
    names = [switch["fix"] for switch in data["switches"]]
    for job in data["jobs"]:
        made = {names[fix] for fix in job["fixes"]}
        rtt_ms = data["projection"]["baseline_rtt_ms"]
        at = job["curve"]["rtt_ms"]
        parts = {name: np.interp(rtt_ms, at, seconds) for name, seconds in job["parts"].items()}
        assert sum(parts.values()) == pytest.approx(np.interp(rtt_ms, at, job["curve"]["runtime_s"]))
        assert (parts["stall_s"] > 4) == (not made & {"nodelay", "prepare"})


def test_many_fixes_or_exchanges_are_shown_one_fix_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latpcap.result.page.switches.MAX_REPLAYED", 0)
    data = page_data(read_fixture("mysql/prepared-each"))
    assert not data["combined"]
    assert [job["fixes"] for job in data["jobs"]] == [[], *([fix] for fix in range(len(data["switches"])))]


def test_statements_beyond_the_dearest_are_summed() -> None:
    count = MAX_TABLE_ROWS + 30
    page = render(some_capture(*(Ex("query", sql=f"select {number}", service_ms=number) for number in range(count))))
    *listed, rest = column(page, "statements", "statement")
    assert (len(listed), rest) == (MAX_TABLE_ROWS, "(30 further statements together)")
    assert sum(numbers(column(page, "statements", "round trips"))) == count
    *seconds, further = numbers(column(page, "statements", "server s"))
    assert min(seconds) >= further / 30


def test_routes_and_paths_beyond_the_first_are_summed() -> None:
    count = MAX_TABLE_ROWS + 20
    asked = [Ex("query", sql="select ?", tags=f"route='r{number}'") for number in range(count)]
    paths = [
        Conn(client=f"10.1.{number // 200}.{number % 200 + 1}:40000", exchanges=[Ex("query")])
        for number in range(MAX_TABLE_ROWS + 9)
    ]
    page = render(Capture(build([Conn(exchanges=asked), *paths])))
    *routes, rest = column(page, "routes", "route")
    assert (len(routes), rest) == (MAX_TABLE_ROWS, "20 further routes together")
    assert sum(numbers(column(page, "routes", "round trips"))) == count
    *listed, rest = column(page, "paths", "client → server")
    assert (len(listed), rest) == (MAX_TABLE_ROWS, "10 further paths together")


def test_texts_have_a_bound() -> None:
    page = render(some_capture(Ex("query", sql="select " + "x" * 60_000)))
    assert max(map(len, re.findall("x+", page))) < 4000


def test_a_capture_without_a_baseline_has_a_page() -> None:
    page = render(Capture(build([Conn(handshake=False, exchanges=[Ex("query", answered=False, complete=False)])])))
    assert embedded(page)["jobs"] == []


# --- timeline -------------------------------------------------------------------------------------------------------

PARTS = ("stall", "network", "service", "transfer", "setup", "unknown")


def parts_of(lane: dict[str, Any]) -> dict[str, int]:
    return {part: sum(lane.get(part, [])) for part in PARTS}


def drawn(capture: Capture, **options: int) -> dict[str, Any]:
    measures = capture.measures
    return timeline(capture.recording, measures.rtt.each_baseline, measures.timeline, **options)


def test_an_exchange_is_cut_into_what_it_waited_for() -> None:
    capture = some_capture(Ex("authenticate"), Ex("query", service_ms=3, transfer_ms=4, client_ms=1))
    lane = drawn(capture)["lanes"][0]
    assert parts_of(lane) == {
        "stall": 0,
        "network": 2000,
        "service": 3000,
        "transfer": 4000,
        "setup": 2000,
        "unknown": 0,
    }
    assert lane["gap"] == [2000, 3000]


def test_a_stall_is_drawn_where_the_request_was_held_back() -> None:
    close = Ex("stmt_close", round_trips=0, answered=False)
    lane = drawn(some_capture(Ex(), Ex(), close, Ex(client_ms=45, stalled_ms=40)))["lanes"][0]
    assert parts_of(lane)["stall"] == 40_000 + 2_000
    assert lane["gap"][-1] == 3_000


def test_at_the_server_the_network_is_not_in_the_exchanges() -> None:
    conn = Conn(rtt_ms=10, near_share=1.0, exchanges=[Ex("query", service_ms=3)] * 9)
    assert parts_of(drawn(Capture(build([conn])))["lanes"][0])["network"] == 0


def test_intervals_hold_the_same_time_as_the_exchanges() -> None:
    exchanges = [Ex("query", service_ms=at % 7, transfer_ms=at % 3, client_ms=at % 5) for at in range(400)]
    capture = Capture(build([Conn(rtt_ms=1, exchanges=exchanges), Conn(rtt_ms=1, at_ms=40, exchanges=exchanges[:90])]))
    exact, summed = drawn(capture), drawn(capture, one_by_one=10, intervals=100)
    assert summed["stretch_us"] > 0
    for one, other in zip(exact["lanes"], summed["lanes"], strict=True):
        assert parts_of(other) == parts_of(one)
        assert sum(other["count"]) == len(one["gap"])


def test_connections_one_after_the_other_share_a_lane_where_they_are_many() -> None:
    many = [Conn(at_ms=20 * number, exchanges=[Ex("query")]) for number in range(150)]
    found = drawn(Capture(build(many)))
    assert (len(found["lanes"]), found["lanes"][0]["connections"]) == (1, 150)


# --- size -----------------------------------------------------------------------------------------------------------


class ManyExchanges(Rows):
    """`count` exchanges on `connections` side by side, of `statements` kinds: made of columns, as rows take long."""

    def __init__(self, count: int, connections: int, statements: int) -> None:
        super().__init__([Conn(rtt_ms=0.4, exchanges=[Ex("query", sql="x")]) for _ in range(connections)], [])
        self.texts = [f"select {'column, ' * 40} from table_{number} where id = ?" for number in range(statements)]
        self.count, self.statement_count, self.connection_count = count, statements, connections
        for row in self.connection_rows:
            row["end"] = row["data_end"] = EPOCH_NS + count // connections * 900_000

    def exchanges(self) -> Table:
        """Waits of 0.4 ms and an exponential service time, pauses between them."""
        random = np.random.default_rng(7)
        each = self.count // self.connection_count
        stream = np.repeat(np.arange(self.connection_count), each)
        number = np.tile(np.arange(each), self.connection_count)
        service = random.exponential(300_000, len(stream)).astype(np.int64)
        pause = random.exponential(200_000, len(stream)).astype(np.int64)
        pace = (400_000 + service + pause).reshape(-1, each)
        start = EPOCH_NS + 400_000 + (np.cumsum(pace, axis=1) - pace).ravel()
        waited = service + 400_000
        delta = np.where(number > 0, np.diff(start, prepend=0), 0)
        statement = random.integers(0, self.statement_count, len(stream))
        frame = np.arange(len(stream)) * 2 + 1
        made = {
            "stream": (stream, U32),
            "exchange": (number, U32),
            **dict.fromkeys(("fingerprint", "text"), (statement, U32)),
            **dict.fromkeys(("request_frame", "request_end_frame"), (frame, U64)),
            **dict.fromkeys(("response_frame", "response_end_frame"), (frame + 1, U64)),
            **dict.fromkeys(("request_time", "request_end_time"), (start, TIME)),
            **dict.fromkeys(("response_time", "response_end_time"), (start + waited, TIME)),
            "waited_ns": (waited, I64),
            "delta_ns": (delta, I64),
            "client_ns": (pause, I64),
        }
        like_the_first = Array.from_numpy(np.zeros(len(stream), np.int64)).cast(U64)
        usual = super().exchanges()
        every = {name: usual.column(name).combine_chunks().take(like_the_first) for name in usual.column_names}
        return Table.from_pydict(every | {name: _array(*each) for name, each in made.items()})


def _array(values: Any, kind: Any) -> Array:
    return Array.from_numpy(np.ascontiguousarray(values, np.int64)).cast(kind)


def test_three_times_the_exchanges_make_the_same_five_megabytes_at_most() -> None:
    few, many = (
        len(render(Capture(Recording(ManyExchanges(n, 1, 5_000).recording()))).encode()) for n in (50_000, 150_000)
    )
    assert many < 5 * MEGABYTE
    assert many < 1.1 * few  # so that a million make no two megabytes


def test_many_connections_at_once_stay_below_five_megabytes() -> None:
    page = render(Capture(Recording(ManyExchanges(60_000, 150, 20).recording())))
    assert len(embedded(page)["timeline"]["lanes"]) == 100
    assert embedded(page)["timeline"]["lanes_left_out"] == 50
    assert len(page.encode()) < 5 * MEGABYTE


def test_the_longest_recording_that_is_drawn_one_by_one_stays_below_three_megabytes() -> None:
    page = render(Capture(Recording(ManyExchanges(MAX_EXCHANGES, 4, 5_000).recording())))
    assert embedded(page)["timeline"]["stretch_us"] == 0
    assert len(page.encode()) < 3 * MEGABYTE


# --- from Python ----------------------------------------------------------------------------------------------------


def test_a_capture_writes_its_report(tmp_path: Path) -> None:
    some_capture().report(tmp_path / "report.html", rtt_ms=5)
    assert embedded((tmp_path / "report.html").read_text("utf-8"))["asked_rtt_ms"] == 5


def test_a_report_of_another_kind_is_the_user_s_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"report\.pdf: a report is \.html or \.md"):
        some_capture().report(tmp_path / "report.pdf")


# --- where only some servers move ----------------------------------------------------------------------------------


def two_servers() -> Capture:
    """100 statements to each of two servers, one after the other, at 1 ms and at 2 ms."""
    statements = [Ex(sql="select a from t", service_ms=1, client_ms=1 + number % 7 / 3) for number in range(100)]
    near = Conn(statements, server="10.0.0.2:3306", rtt_ms=1)
    return Capture(build([near, Conn(statements, server="10.0.0.3:3306", rtt_ms=2, at_ms=401)]))


def moved_page(move: dict[str, float], rtt_ms: list[float] | None = None) -> dict[str, Any]:
    capture = two_servers()
    asked, conditions = capture.moved(rtt_ms, move)
    return plain(pages.page_data(explore(capture.measures, asked, conditions=conditions)))


def test_the_slider_moves_the_servers_that_are_moved_and_nothing_else() -> None:
    data = moved_page({"10.0.0.3": 12.0})
    assert data["moving"]["text"] == "The slider moves 10.0.0.3:3306 alone; all else stays where it is."
    assert data["moving"]["measured_ms"] == pytest.approx(2, rel=0.01)
    curve = data["jobs"][0]["curve"]
    for rtt in (0.5, 2.0, 12.0, 90.0):
        [point] = two_servers().project(move={"10.0.0.3": rtt}).points
        assert np.interp(rtt, curve["rtt_ms"], curve["runtime_s"]) == pytest.approx(point.runtime_s, rel=0.005)
        assert np.interp(rtt, curve["rtt_ms"], curve["pessimistic_s"]) == pytest.approx(point.pessimistic_s, rel=0.005)


def test_beside_an_rtt_the_servers_that_are_moved_keep_theirs() -> None:
    data = moved_page({"10.0.0.3": 12.0}, [5.0])
    assert data["moving"] == {"text": "10.0.0.3:3306 at 12 ms; the slider moves everything else.", "measured_ms": None}
    curve = data["jobs"][0]["curve"]
    for rtt in (1.0, 40.0):
        [point] = two_servers().project(rtt, move={"10.0.0.3": 12.0}).points
        assert np.interp(rtt, curve["rtt_ms"], curve["runtime_s"]) == pytest.approx(point.runtime_s, rel=0.005)


def test_one_slider_cannot_move_servers_to_two_rtts() -> None:
    with pytest.raises(UsageError, match="give them one RTT, or write Markdown"):
        moved_page({"10.0.0.3": 12.0, "10.0.0.2": 5.0})
