"""Gates: what they ask, how they fail, and what a malformed one says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build

import latpcap as latpcap_package
from latpcap.capture import Capture
from latpcap.errors import GateFailed, UsageError
from latpcap.result.checks.figures import FIGURES, read_share
from latpcap.result.checks.gates import check, parse
from latpcap.units import percent

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
        check([text], capture().measures).enforce()


@pytest.mark.parametrize(
    "text",
    ["round_trips > 500", "project(15ms) > 60s", "finding(n+1)", "finding(any)", "connections > 1", "runtime > 1h"],
)
def test_a_gate_passes_where_it_does_not(text: str) -> None:
    check([text], capture().measures).enforce()


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
            pytest.param("round_trips < 1" + 400 * "0", id="no number holds it"),
            "queries > 5",
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


SHARES = [name for name, figure in FIGURES.items() if name.endswith("_share")]


@pytest.mark.parametrize("figure", SHARES)
@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("50", "`50` has no unit: write 50%"),
        ("1", "`1` has no unit: write 1% or 100%"),
        ("1.5", "`1.5` has no unit: write 1.5%"),
        ("baseline + 5", "`5` has no unit: write 5%"),
        ("150%", "no share is above 100%"),
        ("1,000", "no share is above 100%"),
    ],
)
def test_a_limit_that_no_share_reaches_is_refused_in_one_line(figure: str, limit: str, said: str) -> None:
    with pytest.raises(UsageError) as failed:
        parse(f"{figure} > {limit}")
    assert str(failed.value) == f"`{figure} > {limit}`: {said}"


@pytest.mark.parametrize("figure", SHARES)
@pytest.mark.parametrize("limit", ["0", "0.05", "1%", "100%", "baseline + 150%", "baseline * 1.1"])
def test_a_share_has_any_limit_up_to_all(figure: str, limit: str) -> None:
    assert parse(f"{figure} > {limit}").figure == figure


def test_each_figure_that_is_written_in_percent_is_read_as_a_share() -> None:
    assert [name for name, figure in FIGURES.items() if figure.write is percent] == SHARES
    assert all(FIGURES[name].read is read_share for name in SHARES)


def test_an_unknown_rtt_fails_a_gate_about_it_and_says_what_to_do() -> None:
    blind = Capture(build([Conn(handshake=False, exchanges=[Ex(answered=False)])]))
    with pytest.raises(GateFailed, match="--rtt-baseline"):
        check(["project(15ms) > 60s"], blind.measures).enforce()


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
    ended = latpcap("project", FIXTURE, "--rtt", "15ms", "--fix", "commit", "--fix", "batch=10", "--json", "--quiet")
    told: dict[str, Any] = json.loads(ended.stdout)["what_if"]
    assert [fix["name"] for fix in told["fixes"]] == ["commit", "batch=10"]
    assert told["as_is_s"]["15"] > told["all_fixes"]["runtime_s"]["15"] > 0
    assert told["answer"]


def test_a_ratio_that_is_unknown_fails_its_gate_with_the_reason() -> None:
    with pytest.raises(GateFailed, match="round_trips_per_transaction > 9: no transaction was seen"):
        check(["round_trips_per_transaction > 9"], capture().measures).enforce()


# --- against a baseline -----------------------------------------------------------------------------------------------


def repeated(trips: int) -> Capture:
    """One statement, so many times."""
    return Capture(build([Conn(exchanges=[Ex(sql="select a from t where b = ?", rows=1) for _ in range(trips)])]))


@pytest.fixture
def baseline(tmp_path: Path, latpcap: Run) -> Path:
    """The saved result of the fixture."""
    path = tmp_path / "baseline.json"
    assert latpcap("analyze", FIXTURE, "--quiet", "--json", "-o", path).returncode == 0
    return path


@pytest.mark.parametrize("figure", [*FIGURES, "project(15ms)"])
def test_a_capture_is_equal_to_its_own_saved_result(figure: str, baseline: Path) -> None:
    conditions = [f"{figure} {sign} baseline" for sign in ("==", ">", "<", "!=")]
    found = check(conditions, latpcap_package.read(FIXTURE).measures, baseline).gates
    if found[0].value is None:
        assert {each.holds for each in found} == {None}
    else:
        assert [each.holds for each in found] == [True, False, False, False]
        assert found[0].baseline == found[0].value == found[0].limit


@pytest.mark.parametrize(
    ("condition", "limit", "holds"),
    [
        ("round_trips > baseline", 20, True),
        ("round_trips > baseline + 10%", 22, False),
        ("round_trips >= baseline + 10%", 22, True),
        ("round_trips>baseline+1", 21, True),
        ("round_trips > baseline + 2", 22, False),
        ("round_trips < baseline - 1", 19, False),
        ("round_trips > baseline * 1.05", 21, True),
        ("round_trips > baseline * 110%", 22, False),
        ("exchanges != baseline - 50%", 10, True),
    ],
)
def test_a_limit_may_be_the_baseline_changed(condition: str, limit: float, holds: bool) -> None:
    [found] = check([condition], repeated(22).measures, repeated(20).measures).gates
    assert (found.value, found.limit, found.baseline, found.holds) == (22, limit, 20, holds)


def test_a_duration_is_changed_by_a_duration(baseline: Path) -> None:
    measures = latpcap_package.read(FIXTURE).measures
    more, less = check(["runtime > baseline + 1ms", "runtime > baseline - 1ms"], measures, baseline).gates
    assert (more.holds, less.holds, more.unit) == (False, True, "s")
    assert more.limit == pytest.approx((more.baseline or 0) + 0.001)


def test_what_is_new_is_what_the_baseline_has_not() -> None:
    quiet, chatty = repeated(1).measures, latpcap_package.read(FIXTURE).measures
    assert check(["finding(new)"], chatty, chatty).passed
    assert check(["finding(new)"], quiet, chatty).passed
    [found] = check(["finding(new)"], chatty, quiet).failed
    assert (found.baseline, found.value) == (0, 2)
    assert found.text.startswith("50 rows updated one by one")


def test_the_sentence_names_the_baseline_and_the_limit() -> None:
    result = check(["round_trips > baseline + 10%"], repeated(30).measures, repeated(20).measures)
    assert repr(result) == (
        "<latpcap.Gates failed: round_trips > baseline + 10%: it is 30, in the baseline 20 (limit 22)>"
    )


@pytest.mark.parametrize(
    "text",
    ["baseline +", "baseline + x", "baseline 10%", "baseline / 2", "baseline * 2ms", "10x", "baseline * 1" + 400 * "0"],
)
def test_a_malformed_limit_shows_the_grammar(text: str) -> None:
    with pytest.raises(UsageError, match=r"baseline \+ 10%"):
        parse(f"round_trips > {text}")


def test_an_amount_of_time_beside_the_baseline_has_a_unit() -> None:
    with pytest.raises(UsageError, match=r"`20` has no unit: write 20s or 20ms"):
        parse("runtime > baseline + 20")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "a baseline is a JSON file"),
        (b"\x0a\x0d\x0d\x0a\xff\xfe", "a baseline is a JSON file"),
        (b"[" * 100_000, "a baseline is a JSON file"),
        (b"[1]", "no result of latpcap"),
        (b"{}", "it has no schema"),
        (b'{"schema": "latpcap.comparison/1"}', "its schema is `latpcap.comparison/1`"),
        (b'{"schema": "latpcap.analysis/2"}', "its schema is `latpcap.analysis/2`"),
        (b'{"schema": "latpcap.analysis/1"}', "the baseline has no `summary.round_trips`"),
        (b'{"schema": "latpcap.analysis/1", "summary": "x"}', "the baseline has no `summary.round_trips`"),
        (b'{"schema": "latpcap.analysis/1", "summary": {"round_trips": "5"}}', "is no number"),
        (b'{"schema": "latpcap.analysis/1", "summary": {"round_trips": true}}', "is no number"),
        (b'{"schema": "latpcap.analysis/1", "summary": {"round_trips": 1%s}}' % (b"0" * 400), "is no number"),
        (b'{"schema": "latpcap.projection/1"}', "the baseline has no `summary.round_trips`"),
    ],
)
def test_what_is_no_baseline_is_said_in_one_line_before_the_capture_is_read(
    content: bytes, said: str, tmp_path: Path, latpcap: Run
) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    ended = latpcap("analyze", "no-such.pcap", "--baseline", path, "--fail-if", "round_trips > baseline")
    assert ended.returncode == 2
    assert ended.stdout == b""
    [line] = ended.stderr.decode().splitlines()
    assert line.startswith(f"latpcap: {path}: ")
    assert said in line


def test_an_rtt_that_the_baseline_was_not_projected_onto_is_named(baseline: Path, latpcap: Run) -> None:
    ended = latpcap("analyze", FIXTURE, "--baseline", baseline, "--fail-if", "project(3ms) > baseline + 10%")
    assert ended.returncode == 2
    assert b"no projection onto 3 ms: write it with --rtt 3ms" in ended.stderr


def test_a_projection_is_a_baseline_for_projections(tmp_path: Path, latpcap: Run) -> None:
    path = tmp_path / "baseline.json"
    latpcap("project", FIXTURE, "--rtt", "15ms", "--json", "-o", path, "--quiet")
    gate = ["--baseline", path, "--fail-if", "project(15ms) > baseline", "--fail-if", "project(15ms) < baseline"]
    assert latpcap("project", FIXTURE, "--quiet", *gate).returncode == 0


def test_projections_are_compared_under_the_same_conditions_only(tmp_path: Path, latpcap: Run) -> None:
    path, there = tmp_path / "baseline.json", ["--bandwidth", "1Mbit", "--rtt-is", "handshake"]
    latpcap("project", FIXTURE, "--rtt", "15ms", *there, "--json", "-o", path, "--quiet")
    gate = ["--baseline", path, "--quiet", "--fail-if", "project(15ms) > baseline"]
    other = latpcap("project", FIXTURE, *gate)
    assert other.returncode == 2
    assert b"the baseline was projected with another bandwidth_bps and rtt_is" in other.stderr
    assert latpcap("project", FIXTURE, *there, *gate).returncode == 0


def test_baseline_and_conditions_need_each_other(baseline: Path, latpcap: Run) -> None:
    alone = latpcap("analyze", FIXTURE, "--fail-if", "round_trips > baseline")
    unused = latpcap("analyze", FIXTURE, "--fail-if", "round_trips > 5", "--baseline", baseline)
    assert (alone.returncode, unused.returncode) == (2, 2)
    assert b"--baseline FILE" in alone.stderr
    assert b"no condition of --fail-if compares with it" in unused.stderr


def test_compare_has_gates_whose_baseline_is_the_first_capture(latpcap: Run) -> None:
    after = FIXTURE.with_name("nplus1-300-client.pcapng")
    gates = ["--fail-if", "round_trips > baseline + 10%", "--fail-if", "runtime > 1h", "--fail-if", "finding(new)"]
    ended = latpcap("compare", FIXTURE, after, "--json", "--quiet", *gates)
    assert ended.returncode == 1
    told = json.loads(ended.stdout)
    assert told["schema"] == "latpcap.comparison/1"
    assert told["gates"][0] == {
        "condition": "round_trips > baseline + 10%",
        "figure": "round_trips",
        "value": 303,
        "limit": pytest.approx(113.3),
        "baseline": 103,
        "unit": None,
        "holds": True,
        "text": "it is 303, in the baseline 103 (limit 113.3)",
    }
    assert [each["holds"] for each in told["gates"]] == [True, False, True]
    assert b"gate failed: round_trips > baseline + 10%" in ended.stderr
    assert latpcap("compare", FIXTURE, FIXTURE, "--quiet", "--fail-if", "round_trips > baseline").returncode == 0


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_a_report_has_gates_and_is_written_where_they_fail(name: str, tmp_path: Path, latpcap: Run) -> None:
    path = tmp_path / name
    ended = latpcap("analyze", FIXTURE, "-o", path, "--quiet", "--fail-if", "round_trips > 5")
    assert ended.returncode == 1
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("command", ["analyze", "project", "findings"])
def test_json_tells_what_became_of_the_gates(command: str, latpcap: Run) -> None:
    ended = latpcap(command, FIXTURE, "--json", "--quiet", "--fail-if", "round_trips > 5", "--fail-if", "finding(n+1)")
    told = json.loads(ended.stdout)["gates"]
    assert [(each["figure"], each["value"], each["holds"]) for each in told] == [
        ("round_trips", 103, True),
        ("finding(n+1)", 0, False),
    ]
    assert "gates" not in json.loads(latpcap(command, FIXTURE, "--json", "--quiet").stdout)


def test_what_cannot_be_told_is_null_in_json_and_fails() -> None:
    blind = Capture(build([Conn(handshake=False, exchanges=[Ex(answered=False)])]))
    [found] = check(["network_share > 50%"], blind.measures).failed
    assert (found.value, found.holds) == (None, None)
