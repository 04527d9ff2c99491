"""Two captures of one job: compared, and predicted against measured."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import load_fixture, read_fixture

from latpcap.errors import UsageError
from latpcap.result.comparison import compare
from latpcap.result.validation import validate

NEAR, FAR, OTHER = "mysql/nplus1-1000-rtt1", "mysql/nplus1-1000-rtt15", "mysql/driver-connector-c"


def test_a_projection_is_validated_by_a_run_at_the_other_rtt() -> None:
    result = validate(read_fixture(NEAR), read_fixture(FAR))
    assert result.measured_s == pytest.approx(15.509, abs=0.001)
    assert abs(result.error) < 0.03
    assert result.inside
    assert sum(term.measured_s for term in result.terms) == pytest.approx(result.measured_s)
    assert sum(term.predicted_s for term in result.terms) == pytest.approx(result.predicted_s)


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
    told = json.loads(latpcap("validate", near, "--against", far, "--json", "--quiet").stdout)
    assert told["schema"] == "latpcap.validation/1"
    assert told["inside"]
    shown = latpcap("compare", near, far, "--pseudonymise", "--quiet").stdout
    assert b"round trips" in shown
    told = json.loads(latpcap("compare", near, far, "--json", "--quiet").stdout)
    assert told["round_trips_before"] == told["round_trips_after"] == 1003
