"""One engine: what a fix saves is the same in `findings`, in `project --fix`, in the JSON and in the HTML report."""

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
def test_every_saving_is_the_same_everywhere(path: Path) -> None:
    try:
        capture = latpcap.read(path)
        result = capture.analyze([RTT_MS])
    except latpcap.NoDatabaseTraffic:
        return
    names = sorted({found.fix_name for found in result.findings if found.fix_name})
    if not names or result.summary.baseline_rtt_ms is None:
        return
    changed = capture.what_if(names, [0.0, RTT_MS])
    assert isinstance(changed, WhatIf)
    by_fix = {each.name: each for each in changed.fixes}
    for each in (*changed.fixes, changed.all_fixes):
        for rtt, seconds in each.runtime_s.items():
            assert 0 <= each.optimistic_s[rtt] <= seconds <= each.pessimistic_s[rtt]
    plain = result.to_dict()["findings"]
    page = embedded(html.render(explore(capture.measures, [RTT_MS])))
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
