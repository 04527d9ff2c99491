"""The display filter of each finding, given to the real Wireshark, shows exactly the finding's frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, analysed, load_fixture, read_fixture
from sharkd import Sharkd

pytest.importorskip("latpcap._core", reason="the core is not built")

from latpcap.findings import Finding
from latpcap.projection.project import DEFAULT_LADDER_MS, headline_rtt_ms
from latpcap.result.analysis import Measures
from latpcap.tables.columnar import columns

NAMES = [
    *sorted(f"findings/{path.name.split('.')[0]}" for path in (FIXTURES / "findings").glob("*.pcapng.zst")),
    *("mysql/nplus1-1000", "mysql/prepared-each", "mysql/parallel-8", "mysql/churn-20", "mysql/doubled"),
    *("mysql/unsorted", "postgresql/pg8000-nplus1-100", "postgresql/pgbench-select-simple-c4"),
    "firebird/jaybird6-nplus1",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_filter_shows_exactly_the_frames_of_the_finding(sharkd: Sharkd, name: str) -> None:
    path = load_fixture(name).path
    streams = {frame: int(stream) for frame, ((stream,),) in sharkd.frames(path, "tcp", "tcp.stream").items()}
    capture = read_fixture(name)
    exchanges = capture.recording.exchanges_table
    frames = {key: columns.column(exchanges, key).ints(-1) for key in ("request_frame", "response_end_frame")}
    findings = capture.measures
    for finding, found in zip(analysed(name).findings, _found(findings), strict=True):
        if not finding.display_filter:
            continue
        wanted = {
            frame
            for each in finding.frames
            for frame in range(each.first, each.last + 1)
            if streams.get(frame) == each.stream
        }
        seen = set(sharkd.frames(path, finding.display_filter))
        assert seen == wanted, (name, finding.code)
        of_exchanges = {int(frames[key][row]) for key in frames for row in found.shown} - {-1}
        assert of_exchanges <= seen, (name, finding.code)
        assert (min(seen), max(seen)) == (finding.first_frame, finding.last_frame)


def _found(measures: Measures) -> list[Finding]:
    """The findings in the order of the results."""
    savings = measures.savings
    ladder = DEFAULT_LADDER_MS if savings.base.job is not None else ()
    told = headline_rtt_ms(ladder, savings.base.baseline_ms) if ladder else None
    return [saving.finding for saving in savings.savings(ladder, told)]


@pytest.mark.parametrize("name", NAMES)
def test_a_interval_holds_no_other_waiting_exchange(name: str) -> None:
    capture = read_fixture(name)
    measures = capture.measures
    evidence = measures.evidence
    for finding, found in zip(analysed(name).findings, _found(measures), strict=True):
        if len(found.effect.closed):  # whole connections are shown
            continue
        others = set(range(len(evidence.exchanges))) - set(map(int, found.shown))
        for row in others:
            if not evidence.waits[row] or evidence.first_frame[row] < 0:
                continue
            stream = int(evidence.recording.connections.stream[evidence.exchanges.connection[row]])
            inside = [
                each
                for each in finding.frames
                if each.stream == stream
                and each.first < evidence.first_frame[row]
                and evidence.last_frame[row] < each.last
            ]
            assert not inside, (name, finding.code, row)


def test_the_filter_stands_on_one_line_however_narrow_the_terminal(
    latpcap: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = FIXTURES / "findings" / "orm-pre-ping-my.pcapng.zst"
    text = latpcap("findings", path, "--quiet").stdout.decode()
    filters = [line.strip() for line in text.splitlines() if "tcp.stream" in line]
    assert filters
    assert all(line.endswith("}") for line in filters)


def test_the_last_line_says_what_all_fixes_save_at_once(latpcap: Any) -> None:
    text = latpcap("findings", FIXTURES / "mysql" / "prepared-each.pcapng", "--rtt", "15ms", "--quiet").stdout.decode()
    assert text.splitlines()[-3] == "All fixes together (nodelay, ping and prepare) save 9.01 s at 15 ms."
    alone = latpcap("findings", FIXTURES / "mysql" / "nplus1-300-client.pcapng", "--quiet").stdout.decode()
    assert "Together" not in alone


# --- as people see them ----------------------------------------------------------------------------------------------

SCATTERED = FIXTURES / "findings" / "insert-commit-my.pcapng.zst"


def told(latpcap: Any, *options: str) -> list[str]:
    shown = latpcap("findings", SCATTERED, "--quiet", *options).stdout.decode()
    return [line for line in shown.splitlines() if "tcp.stream" in line or "more (" in line]


def test_three_ranges_of_frames_are_shown_and_how_many_more_there_are(latpcap: Any) -> None:
    first, more = told(latpcap)[:2]
    assert first.count("..") == 3
    assert more == "  … 57 more (`latpcap findings CAPTURE --columns display_filter`)"


def test_filters_are_whole_where_they_are_asked_for(latpcap: Any) -> None:
    whole = told(latpcap, "--columns", "display_filter")
    rows = json.loads(latpcap("findings", SCATTERED, "--quiet", "--json").stdout)["rows"]
    assert [line.strip() for line in whole] == [row["display_filter"] for row in rows if row["display_filter"]]
    assert whole[0].count("..") == 60


def test_the_markdown_report_is_as_short(latpcap: Any, tmp_path: Path) -> None:
    latpcap("analyze", SCATTERED, "--quiet", "-o", tmp_path / "x.md")
    assert (
        "}`\n  - … 57 more (`latpcap findings CAPTURE --columns display_filter`)\n" in (tmp_path / "x.md").read_text()
    )
