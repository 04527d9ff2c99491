"""How build servers hear of gates and findings: JUnit XML, SARIF and annotations, as others read them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from builder import Conn, Ex, build
from conftest import FIXTURES, read_fixture
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from junitparser import Error, Failure, JUnitXml, TestSuite

import latpcap as package
from latpcap.capture import Capture
from latpcap.report.checks import github, junit, sarif
from latpcap.result.checks.gate_report import Checked, checked
from latpcap.result.checks.gates import GateResult, Gates, check

Run = Callable[..., subprocess.CompletedProcess[bytes]]

CAPTURE = FIXTURES / "mysql" / "commit-each-row.pcapng"
GATES = ["--fail-if", "round_trips > 10", "--fail-if", "finding(n+1)", "--fail-if", "runtime > 1h"]
HOSTILE = "select '\x1b[31m', '%0A::set-output name=a::b' \r\n::error::x ]]> <b> & \"q\" \ufffe\x00\x85\u2028 #[x]"


@cache
def schema() -> Validator:
    """SARIF 2.1.0 as the multitool's package has it."""
    return Draft202012Validator(json.loads((Path(__file__).parent / "sarif" / "sarif-2.1.0.json").read_text()))


def valid(text: str) -> Any:
    """The log's only run, after it was held to the schema."""
    log = json.loads(text)
    schema().validate(log)
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    return run


def suite(text: str) -> TestSuite:
    """The only suite, as junitparser reads it."""
    [found] = JUnitXml.fromstring(text.encode())
    return found


def commands(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them: name, properties, message."""
    for line in text.splitlines():
        matched = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
        assert matched, line
        name, properties, message = matched.groups()
        given = dict(each.split("=", 1) for each in properties.split(","))
        yield name, {key: unescaped(value) for key, value in given.items()}, unescaped(message)


def unescaped(text: str) -> str:
    for escape, meant in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, meant)
    return text


def of_capture(capture: Capture, *conditions: str) -> Checked:
    return checked(capture.analyze(), check(conditions, capture.measures), "1.2.3")


def hostile() -> Checked:
    """A capture whose statements were written to break whoever shows them."""
    capture = Capture(build([Conn(exchanges=[Ex(sql=HOSTILE, rows=1) for _ in range(40)])]))
    found = of_capture(capture, "round_trips > 1")
    gate = GateResult(HOSTILE, HOSTILE, 1.0, 1.0, None, None, True, HOSTILE)
    return Checked("1.2.3", (HOSTILE,), Gates((*found.gates.gates, gate)), found.findings)


def test_junit_xml_has_a_test_case_for_each_gate(tmp_path: Path, latpcap: Run) -> None:
    path = tmp_path / "junit.xml"
    assert latpcap("analyze", CAPTURE, "--quiet", *GATES, "--ci", path).returncode == 1
    found = suite(path.read_text())
    assert (found.name, found.tests, found.failures, found.errors) == (CAPTURE.name, 3, 1, 0)
    first, *others = found
    assert (first.name, [type(each) for each in first.result]) == ("round_trips > 10", [Failure])
    assert first.result[0].message == "it is 103"
    assert [(each.name, each.result) for each in others] == [("finding(n+1)", []), ("runtime > 1h", [])]


def test_what_cannot_be_told_is_an_error_of_junit() -> None:
    blind = Capture(build([Conn(handshake=False, exchanges=[Ex(answered=False)])]))
    found = suite(junit.render(of_capture(blind, "project(15ms) > 1s", "round_trips > 500")))
    assert (found.tests, found.failures, found.errors) == (2, 0, 1)
    assert [type(each) for each in next(iter(found)).result] == [Error]


def test_junit_xml_of_no_gate_is_a_mistake(tmp_path: Path, latpcap: Run) -> None:
    ended = latpcap("analyze", CAPTURE, "--ci", tmp_path / "junit.xml")
    assert ended.returncode == 2
    assert b"there is no gate" in ended.stderr


def test_sarif_has_the_gates_that_failed_and_all_findings(tmp_path: Path, latpcap: Run) -> None:
    path = tmp_path / "results.sarif"
    assert latpcap("analyze", CAPTURE, "--quiet", *GATES, "--ci", path).returncode == 1
    run = valid(path.read_text())
    results = run["results"]
    assert [(each["ruleId"], each["level"]) for each in results] == [
        ("gate", "error"),
        ("row-by-row-dml", "warning"),
        ("commit-per-row", "warning"),
    ]
    assert run["artifacts"] == [
        {
            "location": {"uri": CAPTURE.name},
            "length": CAPTURE.stat().st_size,
            "hashes": {"sha-256": sha256(CAPTURE.read_bytes()).hexdigest()},
        }
    ]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in results)
    assert results[0]["message"]["text"] == "Gate failed: round_trips > 10: it is 103."


def test_files_of_one_name_keep_what_tells_them_apart(tmp_path: Path, latpcap: Run) -> None:
    for folder in "12":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / CAPTURE.name).write_bytes(CAPTURE.read_bytes())
    files = [tmp_path / folder / CAPTURE.name for folder in "12"]
    latpcap("analyze", *files, "--quiet", *GATES, "--ci", tmp_path / "results.sarif")
    run = valid((tmp_path / "results.sarif").read_text())
    assert [each["location"]["uri"] for each in run["artifacts"]] == [f"1/{CAPTURE.name}", f"2/{CAPTURE.name}"]


def test_a_finding_lies_in_frames_and_in_a_statement(tmp_path: Path, latpcap: Run) -> None:
    path = tmp_path / "results.sarif"
    latpcap("findings", FIXTURES / "mysql" / "nplus1-300-client.pcapng", "--quiet", "--ci", path)
    [finding] = valid(path.read_text())["results"]
    [place] = finding["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "nplus1-300-client.pcapng", "index": 0}
    frames, statement = place["logicalLocations"]
    assert (frames["kind"], frames["fullyQualifiedName"]) == ("frames", "tcp.stream 0/frames 15-614")
    assert (statement["kind"], statement["name"]) == (
        "statement",
        "select salary, from_date from salaries where emp_no = ?",
    )
    assert finding["properties"]["displayFilter"] == "tcp.stream == 0 && frame.number in {15..614}"


def test_a_finding_has_the_same_fingerprint_in_the_next_run() -> None:
    def fingerprints(trips: int) -> list[str]:
        capture = Capture(build([Conn(exchanges=[Ex(sql=f"select a from t{n}", rows=1) for n in range(trips)])]))
        results = valid(sarif.render(of_capture(capture)))["results"]
        return [each["partialFingerprints"]["finding/v1"] for each in results]

    assert fingerprints(50) == fingerprints(60) != []


def test_annotations_are_workflow_commands_on_standard_error(latpcap: Run) -> None:
    ended = latpcap("analyze", CAPTURE, "--quiet", "--json", *GATES, "--ci", "github")
    *lines, last = ended.stderr.decode().splitlines(keepends=True)
    told = list(commands("".join(lines)))
    assert [name for name, _, _ in told] == ["error", "warning", "warning"]
    assert told[0] == ("error", {"title": "latpcap: round_trips > 10"}, "it is 103")
    assert last.startswith("latpcap: gate failed: ")
    assert json.loads(ended.stdout)["schema"] == "latpcap.analysis/1"


def test_hostile_text_stays_text() -> None:
    found = hostile()
    read = suite(junit.render(found))
    assert [each.name for each in read][1].startswith("select ' [31m'")
    assert valid(sarif.render(found))["artifacts"][0]["location"]["uri"].isascii()
    told = list(commands(github.render(found)))
    assert {name for name, _, _ in told} <= {"error", "warning", "notice"}
    assert "%0A::set-output" in told[1][2]
    for text in (junit.render(found), sarif.render(found), github.render(found)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", text)


@pytest.mark.parametrize("render", [junit.render, sarif.render, github.render])
def test_no_literal_and_no_folder_is_told(render: Callable[[Checked], str], tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "night ly.pcapng"
    path.parent.mkdir()
    path.write_bytes(CAPTURE.read_bytes())
    text = render(of_capture(package.read(path), "round_trips > 1", "finding(any)"))
    assert str(tmp_path) not in text
    assert not re.search(r"id = \d", text)


@pytest.mark.parametrize(
    "name",
    ["mysql/sql-errors", "mysql/think-time", "findings/connects-pg", "findings/django-lazy", "findings/fetch-10"],
)
def test_every_kind_of_result_is_valid(name: str) -> None:
    found = of_capture(read_fixture(name), "finding(any)", "round_trips >= 0", "network_share > 1%")
    assert len(valid(sarif.render(found))["results"]) == len(found.gates.failed) + len(found.findings)
    assert suite(junit.render(found)).tests == 3
    assert len(list(commands(github.render(found)))) >= 2


def test_gates_are_never_written_over_a_capture_or_another_output(tmp_path: Path, latpcap: Run) -> None:
    capture, output = tmp_path / "a.pcapng", tmp_path / "a.json"
    capture.write_bytes(CAPTURE.read_bytes())
    gate = ["--fail-if", "round_trips > 500"]
    for path, said in (
        (capture, b"a capture is never overwritten"),
        (output, b"a file of its own"),
        ("-", b"writes files"),
        (tmp_path / "none" / "x", b"no such directory"),
    ):
        ended = latpcap("analyze", capture, *gate, "--ci", path, "-o", output)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
        assert said in ended.stderr
    assert capture.read_bytes() == CAPTURE.read_bytes()


@pytest.mark.parametrize("command", ["analyze", "project", "findings", "compare"])
def test_each_command_with_gates_tells_them(command: str, tmp_path: Path, latpcap: Run) -> None:
    captures = [CAPTURE, CAPTURE] if command == "compare" else [CAPTURE]
    files = ["--ci", tmp_path / "x.xml", "--ci", tmp_path / "x.sarif"]
    ended = latpcap(command, *captures, "--quiet", "--fail-if", "round_trips > 500", *files)
    assert ended.returncode == 0
    assert suite((tmp_path / "x.xml").read_text()).tests == 1
    assert len(valid((tmp_path / "x.sarif").read_text())["results"]) == 2
