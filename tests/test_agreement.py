"""One engine: where the time goes, and what a fix saves, is the same in every command, the JSON and the HTML report."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FIXTURES, load_fixture, read_fixture, read_once
from msgspec.structs import replace

import latpcap
from latpcap.findings.what_if import WhatIf
from latpcap.projection.assumptions import CENTRAL, Conditions
from latpcap.projection.basis import AS_IT_IS
from latpcap.projection.budget_elsewhere import budget_with, budgets_there
from latpcap.report import html, markdown, terminal
from latpcap.report.section import written
from latpcap.report.sections.budget import BUDGET, PARTS, budget
from latpcap.report.sections.projection import budget_there
from latpcap.result.page.exploration import explore
from latpcap.result.pairs.comparison import compare
from latpcap.result.pairs.validation import judge
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
        capture = read_once(path)
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
    there = capture.project([RTT_MS]).headline_budget
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


@pytest.mark.parametrize("elsewhere", ELSEWHERE, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_every_reader_names_the_same_parts(latpcap: Callable[..., Any], name: str, elsewhere: dict[str, Any]) -> None:
    path, capture = load_fixture(name).path, read_fixture(name)
    options = [f"--{key.removesuffix('_bps')}={value}" for key, value in elsewhere.items()]
    rtts = ",".join(f"{rtt}ms" for rtt in RTTS_MS)
    printed = json.loads(latpcap("project", path, "--rtt", rtts, *options, "--json").stdout)
    for where, shown, expected in of_readers(capture, elsewhere, printed):
        assert shown == expected, where


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_every_reader_names_the_same_parts_of_what_was_captured(path: Path) -> None:
    try:
        capture = read_once(path)
        result = capture.analyze([])
    except latpcap.NoDatabaseTraffic:
        return
    for where, shown, expected in of_the_captured(capture, result):
        assert shown == expected, where


def test_without_what_a_fix_removes_its_parts_are_shorter() -> None:
    """A thousand queries become one: what they waited for the network is gone, what connecting took is not."""
    capture = read_fixture("mysql/nplus1-1000-rtt1")
    base, savings = capture.measures.basis, capture.measures.savings
    was, fixed = (budget_with(base, each) for each in (AS_IT_IS, savings.fix_set(["n+1"]).variant))
    assert fixed.network_s < 0.05 * was.network_s
    assert fixed.setup_s == pytest.approx(was.setup_s)


Compared = Iterator[tuple[Any, Any, Any]]
"""Who tells it of what, what it says, and what it should."""


def of_readers(capture: latpcap.Capture, elsewhere: dict[str, Any], printed: dict[str, Any]) -> Compared:
    """What JSON, page, terminal, Markdown and `validate` say of the parts at other RTTs, beside Python."""
    projection, measured = capture.project(RTTS_MS, **elsewhere), capture.analyze()
    page = embedded(html.render(explore(capture.measures, RTTS_MS, conditions=projection.conditions)))
    for point, in_json in zip(projection.points, printed["points"], strict=True):
        assert point.budget is not None
        parts, rtt = point.budget.parts(), point.rtt_ms
        same = pytest.approx(parts, abs=1e-8)
        yield ("JSON", rtt), in_json["budget"], same
        yield ("page", rtt), at(page["jobs"][0], rtt), pytest.approx(parts, rel=1e-4, abs=1e-5)
        told = capture.project([rtt], **elsewhere)
        assert told.headline_budget is not None
        yield ("Python", rtt), told.headline_budget.parts(), same
        terms = judge(replace(measured, projection=told), told.points[0], measured).terms
        yield ("validate", rtt), {term.name: term.predicted_s for term in terms}, same
        section = budget_there(told)
        for reader, text in (("terminal", terminal.document([section])), ("Markdown", markdown.document([section]))):
            figures = columns_of(text, 2)
            for part, seconds in parts.items():
                if seconds > 0:
                    yield (reader, rtt, part), figures.get(PARTS[part][1]), significant(seconds)
    yield from of_fixes(capture, projection.conditions, page)


def of_fixes(capture: latpcap.Capture, conditions: Conditions, page: dict[str, Any]) -> Compared:
    """What the page says of the parts with each fix made, beside Python, and of the runtime beside `project --fix`."""
    base, savings = capture.measures.application.basis, capture.measures.application.savings
    for place, switch in enumerate(page["switches"]):
        [job] = [job for job in page["jobs"] if job["fixes"] == [place]]
        fix, variant = switch["fix"], savings.fix_set([switch["fix"]]).variant
        [[there_s]] = base.runtimes_of([(variant, RTTS_MS)], [CENTRAL], conditions)
        changed = capture.what_if([fix], RTTS_MS, conditions=conditions)
        assert changed is not None
        there = budgets_there(base, RTTS_MS, there_s.tolist(), conditions, variant)
        for rtt, found in zip(RTTS_MS, there, strict=True):
            parts = found.parts()
            runtime_s = changed.all_fixes.runtime_s[f"{rtt:g}"]
            yield ("page", fix, rtt), at(job, rtt), pytest.approx(parts, rel=1e-4, abs=1e-5)
            yield ("project --fix", fix, rtt), runtime_s, pytest.approx(sum(parts.values()))


def of_the_captured(capture: latpcap.Capture, result: latpcap.Analysis) -> Compared:
    """What JSON, page, terminal, Markdown, `compare`, statements and tasks say of the parts that were captured."""
    parts, summary = result.budget.parts(), result.summary
    yield "JSON", result.to_dict()["budget"], parts
    compared = compare(result, result).budget
    yield "compare", {each.name: each.before_s for each in compared}, parts
    yield "compare", {each.name: each.after_s for each in compared}, parts
    section = budget(result)
    for reader, text, column in (
        ("terminal", terminal.document([section]), 2),
        ("Markdown", markdown.document([section]), 1),
    ):
        figures, seconds_of = columns_of(text, column), BUDGET[2].settled(parts.values())
        for part, seconds in parts.items():
            if seconds > 0:
                yield (reader, part), figures.get(PARTS[part][1]), written(seconds_of, seconds)
    if summary.network_s is None:
        return
    recording, timeline = capture.measures.application.recording, capture.measures.application.timeline
    works = ~recording.exchanges.is_setup
    for name, of_exchanges in (("network_s", timeline.network_ns), ("service_s", timeline.service_ns)):
        of_statements = sum(getattr(each, name) for each in result.statements)
        yield ("statements", name), of_statements, pytest.approx(of_exchanges.sum() / 1e9, rel=1e-6, abs=1e-6)
        of_work = timeline.parts_s[name.removesuffix("_s")]
        yield ("exchanges", name), of_exchanges[works].sum() / 1e9, pytest.approx(of_work, rel=1e-6, abs=1e-6)
    yield "summary", summary.network_s, pytest.approx(parts["network_s"], rel=1e-9)
    connections = capture.measures.application.recording.connections
    if len(capture.tasks) == len(connections) == 1 and parts["unknown_s"] == 0:
        yield "task", capture.tasks.column("network_s")[0], pytest.approx(summary.network_s, rel=0.01, abs=0.0002)


def at(job: dict[str, Any], rtt_ms: float) -> dict[str, float]:
    """The parts that the page shows at an RTT."""
    return {name: float(np.interp(rtt_ms, job["curve"]["rtt_ms"], seconds)) for name, seconds in job["parts"].items()}


def embedded(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def columns_of(text: str, column: int) -> dict[str, str]:
    """A figure of each part in a table of the terminal or of Markdown, by the part's title."""
    titles = "|".join(re.escape(title) for _, title, *_ in PARTS.values())
    lines = (re.match(rf"\|? ?({titles})(?= )", line) for line in text.splitlines())
    rows = ((line[1], re.findall(r"[^\s|]+", line.string[line.end() :])) for line in lines if line)
    return {title: row[column - 1] for title, row in rows if len(row) >= column}


def page_saving(page: dict, name: str) -> float:
    """What the page shows for the findings of a fix: the job as it is less the one with that switch on."""
    switch = next(place for place, each in enumerate(page["switches"]) if each["fix"] == name)
    runtime = {
        tuple(job["fixes"]): np.interp(RTT_MS, job["curve"]["rtt_ms"], job["curve"]["runtime_s"])
        for job in page["jobs"]
    }
    parts = [page["findings_parts"][place] for place in page["switches"][switch]["findings"]]
    return float(runtime[()] - runtime[(switch,)]) * sum(parts)
