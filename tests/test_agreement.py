"""One engine: where the time goes, and what a fix saves, is the same in every command, the JSON and the HTML report."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import FIXTURES

import latpcap
from latpcap.findings.what_if import WhatIf
from latpcap.report import html
from latpcap.result.exploration import explore

RTT_MS = 15.0
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


def embedded(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def page_saving(page: dict, name: str) -> float:
    """What the page shows for the findings of a fix: the job as it is less the one with that switch on."""
    switch = next(place for place, each in enumerate(page["switches"]) if each["fix"] == name)
    runtime = {
        tuple(job["fixes"]): np.interp(RTT_MS, job["curve"]["rtt_ms"], job["curve"]["runtime_s"])
        for job in page["jobs"]
    }
    parts = [page["analysis"]["findings"][place]["part"] for place in page["switches"][switch]["findings"]]
    return float(runtime[()] - runtime[(switch,)]) * sum(parts)
