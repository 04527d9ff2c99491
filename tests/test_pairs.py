"""Two captures of one job: compared, and predicted against measured."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from builder import Conn, Ex, build, build_awake
from conftest import load_fixture, read_fixture

from latpcap import Capture
from latpcap.errors import UsageError
from latpcap.result.analysis import Analysis
from latpcap.result.pairs.comparison import compare
from latpcap.result.pairs.validation import validate

NEAR, FAR, OTHER = "mysql/nplus1-1000-rtt1", "mysql/nplus1-1000-rtt15", "mysql/driver-connector-c"


def test_a_projection_is_validated_by_a_run_at_the_other_rtt() -> None:
    result = validate(read_fixture(NEAR), read_fixture(FAR))
    assert result.measured_s == pytest.approx(15.509, abs=0.001)
    assert abs(result.error) < 0.03
    assert result.inside
    assert sum(term.measured_s for term in result.terms) == pytest.approx(result.measured_s)
    assert sum(term.predicted_s for term in result.terms) == pytest.approx(result.predicted_s)


@pytest.mark.parametrize("near_share", [0, 1])
def test_stalls_are_projected_as_they_are_measured_at_the_other_rtt(near_share: float) -> None:
    """The timer stays, the acknowledgment's round trip grows, whether the packet waits before or within a request."""

    def job(rtt_ms: float) -> Capture:
        close, before = Ex("stmt_close", round_trips=0, answered=False), 43 + rtt_ms
        within = Ex(sql="select b", request_ms=40 + rtt_ms, stalled_ms=40)
        held = [close, Ex(sql="select a", client_ms=before, stalled_ms=40), within]
        exchanges = [Ex(sql="select c"), *held * 50]
        return Capture(build_awake([Conn(rtt_ms=rtt_ms, near_share=near_share, exchanges=exchanges)]))

    result = validate(job(1), job(15))
    assert result.error == pytest.approx(0, abs=2e-3)
    for term in result.terms:
        assert term.predicted_s == pytest.approx(term.measured_s, abs=0.02), term.name


def test_another_job_is_refused() -> None:
    with pytest.raises(UsageError, match="not the same job: 1,003 round trips against 52"):
        validate(read_fixture(NEAR), read_fixture(OTHER))


def test_a_farther_database_explains_the_difference() -> None:
    result = compare(read_fixture(NEAR).analyze(), read_fixture(FAR).analyze())
    assert result.statements == ()
    assert "slower" in result.explanation
    assert "because the RTT is 15" in result.explanation


def test_what_was_added_and_what_is_gone_is_named() -> None:
    result = compare(read_fixture(NEAR).analyze(), read_fixture(OTHER).analyze())
    changes = {change.text: change for change in result.statements}
    salaries = changes["select salary, from_date from salaries where emp_no = ?"]
    assert (salaries.change, salaries.executions_before, salaries.executions_after) == ("changed", 1000, 50)
    assert changes["set names utf8mb4"].change == "gone"


def test_a_capture_equals_itself() -> None:
    analysis = read_fixture(NEAR).analyze()
    assert compare(analysis, analysis).explanation == "Both take the same time."


def test_the_command_line_shows_both(latpcap: Any) -> None:
    near, far = load_fixture(NEAR).path, load_fixture(FAR).path
    told = json.loads(latpcap("compare", "--projected", near, far, "--json", "--quiet").stdout)
    assert told["schema"] == "latpcap.validation/1"
    assert told["inside"]
    shown = latpcap("compare", near, far, "--pseudonymise", "--quiet").stdout
    assert b"round trips" in shown
    told = json.loads(latpcap("compare", near, far, "--json", "--quiet").stdout)
    assert told["round_trips_before"] == told["round_trips_after"] == 1003


@pytest.mark.parametrize("seed", range(3))
def test_statements_are_told_apart_by_protocol_and_text(seed: int) -> None:
    random = Random(seed)

    def some() -> Analysis:
        protocols = random.choices(("mysql", "postgresql"), k=2)
        asked = [[Ex(sql=random.choice("abcd")) for _ in range(9)] + [Ex("ping")] for _ in protocols]
        return Capture(
            build([Conn(exchanges=each, protocol=name) for each, name in zip(asked, protocols, strict=True)])
        ).analyze()

    def counts(result: Analysis) -> dict[tuple[str, str], tuple[int, int]]:
        return {
            (each.protocol, each.fingerprint or each.text): (each.executions, each.round_trips)
            for each in result.statements
        }

    before, after = some(), some()
    old, new = counts(before), counts(after)
    expected = {key: (old.get(key, (0, 0)), new.get(key, (0, 0))) for key in old | new if old.get(key) != new.get(key)}
    found = compare(before, after)
    assert found.unchanged == len(old | new) - len(expected)
    assert [
        (each.text, (each.executions_before, each.round_trips_before), (each.executions_after, each.round_trips_after))
        for each in found.statements
    ] == [
        (text, *counts)
        for (_, text), counts in sorted(expected.items(), key=lambda item: -abs(item[1][1][1] - item[1][0][1]))
    ]
    assert {each.change for each in found.statements} <= {"added", "gone", "changed"}
