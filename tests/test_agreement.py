"""One engine: where the time goes, and what a fix saves, is the same in every command, the JSON and the HTML report."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, load_fixture, read_fixture
from hypothesis import assume, given
from msgspec.structs import replace
from test_budget import RECORDINGS

import latpcap
from latpcap.findings.what_if import WhatIf
from latpcap.projection.assumptions import CENTRAL
from latpcap.projection.basis import AS_IT_IS
from latpcap.projection.budget_elsewhere import budget_with, budgets_there
from latpcap.report import html, terminal
from latpcap.report.sections.budget import PARTS
from latpcap.report.sections.projection import budget_there
from latpcap.result.analysis import Measures
from latpcap.result.page.exploration import explore
from latpcap.result.pairs.validation import judge
from latpcap.tables.recording import Recording
from latpcap.units import significant

RTT_MS = 15.0
RTTS_MS = [0.5, 5.0, RTT_MS, 50.0, 200.0]
ELSEWHERE: list[dict[str, Any]] = [{}, {"bandwidth_bps": "20Mbit"}, {"loss": "1%"}]
NAMES = ["mysql/nplus1-1000-rtt1", "postgresql/pgbench-tpcb-c4", "findings/pipeline", "mysql/churn-20"]
CAPTURES = sorted(path for path in FIXTURES.rglob("*.pcapng*") if not path.name.endswith((".toml", ".golden")))


def close(one: float, other: float) -> bool:
    """Within 1 %, or 1 ms."""
    return abs(one - other) <= max(0.01 * abs(other), 0.001)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_every_part_and_every_saving_is_the_same_everywhere(path: Path) -> None:
    try:
        capture = latpcap.read(path)
        result = capture.analyze([RTT_MS])
    except latpcap.NoDatabaseTraffic:
        return
    if result.summary.baseline_rtt_ms is None:
        return
    page = embedded(html.render(explore(capture.measures, [RTT_MS])))
    for job in page["jobs"]:
        assert np.min([*job["parts"].values()]) >= 0
        assert np.sum([*job["parts"].values()], axis=0) == pytest.approx(job["curve"]["runtime_s"], rel=1e-5)
    as_it_is = page["jobs"][0]
    there = capture.project([RTT_MS]).budget_at
    assert there is not None
    for part, seconds in there.parts().items():
        shown = np.interp(RTT_MS, as_it_is["curve"]["rtt_ms"], as_it_is["parts"][part])
        assert shown == pytest.approx(seconds, rel=1e-5, abs=1e-6), part
    names = sorted({found.fix_name for found in result.findings if found.fix_name})
    if not names:
        return
    changed = capture.what_if(names, [0.0, RTT_MS])
    assert isinstance(changed, WhatIf)
    by_fix = {each.name: each for each in changed.fixes}
    for each in (*changed.fixes, changed.all_fixes):
        for rtt, seconds in each.runtime_s.items():
            assert 0 <= each.optimistic_s[rtt] <= seconds <= each.pessimistic_s[rtt]
    plain = result.to_dict()["findings"]
    for name in names:
        project = by_fix[name].saved_s["15"]
        listed = sum(found["saved_s"]["15"] for found in plain if found["fix_name"] == name)
        assert close(listed, project), (name, listed, project)
        table = capture.findings_at([RTT_MS]).to_dicts()
        assert close(sum(row["saved_15ms_s"] for row in table if row["fix_name"] == name), project)
        assert close(page_saving(page, name), project), name


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_the_parts_sum_to_the_runtime_wherever_and_whatever_else_is_different_there(path: Path) -> None:
    try:
        capture = latpcap.read(path)
        captured = capture.analyze(RTTS_MS)
    except latpcap.NoDatabaseTraffic:
        return
    assert sum(captured.budget.parts().values()) == pytest.approx(captured.summary.runtime_s, abs=1e-6)
    for elsewhere in ELSEWHERE:
        for point in capture.project([0.0, *RTTS_MS], **elsewhere).points:
            if point.budget is not None:
                parts = point.budget.parts().values()
                assert min(parts) >= 0
                assert sum(parts) == pytest.approx(point.runtime_s, abs=1e-6)


@pytest.mark.parametrize("elsewhere", ELSEWHERE, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_python_json_and_page_name_the_same_parts(
    process: Callable[..., Any], name: str, elsewhere: dict[str, Any]
) -> None:
    capture, path = read_fixture(name), load_fixture(name).path
    projection = capture.project(RTTS_MS, **elsewhere)
    options = [f"--{key.removesuffix('_bps')}={value}" for key, value in elsewhere.items()]
    rtts = ",".join(f"{rtt}ms" for rtt in RTTS_MS)
    printed = json.loads(process("project", path, "--rtt", rtts, *options, "--json").stdout)
    page = embedded(html.render(explore(capture.measures, RTTS_MS, conditions=projection.conditions)))
    shown, curve = page["jobs"][0]["parts"], page["jobs"][0]["curve"]["rtt_ms"]
    for point, in_json in zip(projection.points, printed["points"], strict=True):
        assert point.budget is not None
        for part, seconds in point.budget.parts().items():
            assert in_json["budget"][part] == pytest.approx(seconds, abs=1e-8)
            assert np.interp(point.rtt_ms, curve, shown[part]) == pytest.approx(seconds, rel=1e-4, abs=1e-5), part


@pytest.mark.parametrize("elsewhere", ELSEWHERE, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_terminal_and_validate_show_the_parts_that_python_has(name: str, elsewhere: dict[str, Any]) -> None:
    capture = read_fixture(name)
    measured = capture.analyze()
    for rtt in RTTS_MS:
        projection = capture.project([rtt], **elsewhere)
        [point] = projection.points
        assert point.budget is not None
        assert projection.budget_at == point.budget
        parts = {part: seconds for part, seconds in point.budget.parts().items() if seconds > 0}
        text = terminal.document([budget_there(projection)])
        shown = dict(columns_of("Where the time goes at", text))
        assert {PARTS[part][1]: significant(seconds) for part, seconds in parts.items()}.items() <= shown.items()
        terms = judge(replace(measured, projection=projection), point, measured).terms
        assert {term.name: term.predicted_s for term in terms} == point.budget.parts()


@pytest.mark.parametrize("name", NAMES)
def test_each_fix_has_the_same_parts_in_python_and_on_the_page(name: str) -> None:
    capture = read_fixture(name)
    base, savings = capture.measures.basis, capture.measures.savings
    names = sorted({found.fix_name for found in capture.analyze(RTTS_MS).findings if found.fix_name})
    page = embedded(html.render(explore(capture.measures, RTTS_MS)))
    for fix in names:
        variant = savings.fix_set([fix]).variant
        switch = next(place for place, each in enumerate(page["switches"]) if each["fix"] == fix)
        [job] = [job for job in page["jobs"] if job["fixes"] == [switch]]
        [runtime_s] = base.runtimes_of([(variant, RTTS_MS)], [CENTRAL])
        there = budgets_there(base, RTTS_MS, runtime_s[0].tolist(), base.as_usual, variant)
        for rtt, found in zip(RTTS_MS, there, strict=True):
            for part, seconds in found.budget.parts().items():
                shown = np.interp(rtt, job["curve"]["rtt_ms"], job["parts"][part])
                assert shown == pytest.approx(seconds, rel=1e-3, abs=1e-3), (fix, rtt, part)


@given(RECORDINGS)
def test_at_the_rtt_that_a_job_had_it_takes_what_it_took(recording: Recording) -> None:
    measures = Measures(recording)
    base, budget = measures.basis, measures.timeline.budget.parts()
    assume(base.job is not None and len(np.unique(base.job.baseline_ns)) == 1)
    [there] = budgets_there(base, [base.baseline_ms], [base.runtime_s], base.as_usual)
    assert there.budget.parts() == pytest.approx(budget, abs=1e-6)
    assert budget_with(base, AS_IT_IS).budget.parts() == pytest.approx(budget, abs=1e-6)


def test_without_what_a_fix_removes_its_parts_are_shorter() -> None:
    """A thousand queries become one: what they waited for the network is gone, what connecting took is not."""
    capture = read_fixture("mysql/nplus1-1000-rtt1")
    base, savings = capture.measures.basis, capture.measures.savings
    was, fixed = (budget_with(base, each).budget for each in (AS_IT_IS, savings.fix_set(["n+1"]).variant))
    assert fixed.network_s < 0.05 * was.network_s
    assert fixed.setup_s == pytest.approx(was.setup_s)


def embedded(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def columns_of(heading: str, text: str) -> Iterator[tuple[str, str]]:
    """Name and figure there of each row of the table with that heading."""
    _, _, table = text.partition(heading)
    for line in table.splitlines():
        if found := re.match(r"\s*(\S+)\s+\S+\s+(\S+)\s.*%$", line):
            yield found[1], found[2]


def page_saving(page: dict, name: str) -> float:
    """What the page shows for the findings of a fix: the job as it is less the one with that switch on."""
    switch = next(place for place, each in enumerate(page["switches"]) if each["fix"] == name)
    runtime = {
        tuple(job["fixes"]): np.interp(RTT_MS, job["curve"]["rtt_ms"], job["curve"]["runtime_s"])
        for job in page["jobs"]
    }
    parts = [page["findings_parts"][place] for place in page["switches"][switch]["findings"]]
    return float(runtime[()] - runtime[(switch,)]) * sum(parts)
