"""Gates: what they ask, how they fail, and what a malformed one says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build

from latpcap.capture import Capture
from latpcap.cli.io import check_gates
from latpcap.errors import GateFailed, UsageError
from latpcap.result.gates import parse

FIXTURE = Path(__file__).parent.parent / "fixtures" / "mysql" / "commit-each-row.pcapng"

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def capture() -> Capture:
    return Capture(build([Conn(exchanges=[Ex(sql=f"select a from t{n}", rows=1) for n in range(20)])]))


@pytest.mark.parametrize(
    "text",
    [
        "round_trips > 19",
        "round_trips >= 20",
        "round_trips==20",
        "round_trips != 3",
        "exchanges<1,000",
        "statements > 1",
        "connections<=1",
        "network_share > 30%",
        "seconds_per_ms > 0.001",
        "runtime > 1ms",
        "baseline_rtt < 5ms",
        "project(15ms) > 200ms",
        "project( 15 )>0.2s",
        "finding(serial-reads)",
        "errors == 0",
        "failed_share <= 1%",
        "failed_logins < 1",
        "round_trips_per_row >= 1",
        "round_trips_per_s > 1",
    ],
)
def test_a_gate_fails_where_its_condition_holds(text: str) -> None:
    with pytest.raises(GateFailed, match="gate failed: "):
        check_gates([parse(text)], capture())


@pytest.mark.parametrize(
    "text",
    ["round_trips > 500", "project(15ms) > 60s", "finding(n+1)", "finding(any)", "connections > 1", "runtime > 1h"],
)
def test_a_gate_passes_where_it_does_not(text: str) -> None:
    check_gates([parse(text)], capture())


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "round_trips",
            "round_trips >",
            "> 5",
            "round_trips > x",
            "round_trips => 5",
            "round_trips > 5 5",
            "trips > 5",
        ),
        *(
            "project > 5s",
            "project(15ms)",
            "project() > 5s",
            "project(x) > 5s",
            "project(15ms) > x",
            "round_trips(5) > 3",
        ),
        *(
            "finding",
            "finding()",
            "finding(nope)",
            "finding(n+1) > 3",
            "runtime > -1s",
            "runtime > 5 apples",
            "finding(n+1",
        ),
    ],
)
def test_a_malformed_gate_shows_the_grammar(text: str) -> None:
    with pytest.raises(UsageError, match=r"FIGURE OP NUMBER.*finding\(CODE\).*for instance"):
        parse(text)


def test_an_unknown_rtt_fails_a_gate_about_it_and_says_what_to_do() -> None:
    blind = Capture(build([Conn(handshake=False, exchanges=[Ex(answered=False)])]))
    with pytest.raises(GateFailed, match="--rtt-baseline"):
        check_gates([parse("project(15ms) > 60s")], blind)


@pytest.mark.parametrize("command", ["analyze", "project", "findings"])
def test_a_failed_gate_ends_with_1_after_the_result_and_says_one_line(latpcap: Run, command: str) -> None:
    ended = latpcap(
        command, FIXTURE, "--quiet", "--fail-if", "round_trips > 10", "--fail-if", "finding(commit-per-row)"
    )
    assert ended.returncode == 1
    assert ended.stdout
    assert ended.stderr.decode().splitlines() == [
        "latpcap: gate failed: round_trips > 10: it is 103; finding(commit-per-row): Commit per row: 50 commits for "
        "50 changes, 49 round trips too many"
    ]


def test_a_gate_that_passes_changes_nothing(latpcap: Run) -> None:
    ended = latpcap("analyze", FIXTURE, "--quiet", "--fail-if", "round_trips > 1000")
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_malformed_gate_is_a_usage_error_before_the_capture_is_read(latpcap: Run) -> None:
    ended = latpcap("analyze", "no-such-file.pcap", "--fail-if", "round_trips")
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1


def test_the_table_of_fixes_is_json_too(latpcap: Run) -> None:
    import json

    ended = latpcap("project", FIXTURE, "--rtt", "15ms", "--fix", "commit", "--fix", "batch=10", "--json", "--quiet")
    told: dict[str, Any] = json.loads(ended.stdout)["what_if"]
    assert [fix["name"] for fix in told["fixes"]] == ["commit", "batch=10"]
    assert told["as_is_s"]["15"] > told["all_fixes"]["runtime_s"]["15"] > 0
    assert told["answer"]


def test_a_ratio_that_is_unknown_fails_its_gate_with_the_reason() -> None:
    with pytest.raises(GateFailed, match="round_trips_per_transaction > 9: no transaction was seen"):
        check_gates([parse("round_trips_per_transaction > 9")], capture())
