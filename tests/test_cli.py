import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Fixture

from latpcap.cli import cli

Run = Callable[..., subprocess.CompletedProcess[bytes]]
COMMANDS = ["analyze", "project", "table exchanges", "table connections", "statements"]


@pytest.fixture
def nplus1(fixture: Callable[[str], Fixture]) -> Path:
    return fixture("mysql/nplus1-300-client").path


@pytest.mark.parametrize("command", [[], *(name.split() for name in [*COMMANDS, "completion"])])
def test_every_help_has_an_example(command: list[str]) -> None:
    shown = CliRunner().invoke(cli, [*command, "--help"]).output
    assert "\b" not in shown
    assert "\n  latpcap " in shown or 'eval "$(latpcap completion bash)"' in shown


def test_what_each_command_does_is_told_whole_at_80_columns(latpcap: Run) -> None:
    told = latpcap("--help", "--all").stdout.decode()
    commands = told.partition("Commands:")[2].partition("Options:")[0]
    assert commands
    assert "…" not in commands
    assert "..." not in commands


def test_the_verdict_comes_first_and_standard_error_is_silent(latpcap: Run, nplus1: Path) -> None:
    done = latpcap("analyze", nplus1)
    first, now, *_ = done.stdout.decode().split("\n")
    assert first.startswith("nplus1-300-client.pcapng: 1 connection, MariaDB 10.11.19, ")
    assert now.startswith("NOW     0.393 s: network 78% (71 to 85%), ")
    assert (done.returncode, done.stderr) == (0, b"")


def test_json_is_one_object_with_exact_counts(latpcap: Run, nplus1: Path) -> None:
    result = json.loads(latpcap("analyze", nplus1, "--json").stdout)
    assert result["schema"] == "latpcap.analysis/1"
    assert result["summary"]["round_trips"] == 303


def test_rtts_are_a_list_and_repeat(latpcap: Run, nplus1: Path) -> None:
    result = json.loads(latpcap("project", nplus1, "--rtt", "15ms,1", "--rtt", "500us,15ms", "--json").stdout)
    assert [point["rtt_ms"] for point in result["points"]] == [15, 1, 0.5, 15]


def test_within_finds_the_latency_budget(latpcap: Run, nplus1: Path) -> None:
    first = latpcap("project", nplus1, "--within", "60s").stdout.decode().splitlines()[0]
    assert first == "60 s is met up to an RTT of 196 ms."


def test_the_baseline_can_be_given(latpcap: Run, nplus1: Path) -> None:
    result = json.loads(latpcap("analyze", nplus1, "--rtt-baseline", "0.5ms", "--json").stdout)
    assert result["summary"]["baseline_rtt_ms"] == 0.5
    assert result["connections"][0]["rtt"]["method"] == "given"


def test_think_time_has_a_threshold(latpcap: Run, fixture: Callable[[str], Fixture]) -> None:
    path = fixture("mysql/think-time").path

    def think_s(*options: str) -> float:
        return float(json.loads(latpcap("analyze", path, "--json", *options).stdout)["budget"]["think_s"])

    assert think_s("--think", "10s") == 0
    assert think_s("--think", "10ms") > 2


@pytest.mark.parametrize("command", ["table exchanges", "table connections", "statements"])
def test_rows_come_as_table_csv_jsonl_and_parquet(latpcap: Run, nplus1: Path, tmp_path: Path, command: str) -> None:
    rows = list(csv.DictReader(io.StringIO(latpcap(command, nplus1, "--format", "csv").stdout.decode())))
    lines = latpcap(command, nplus1, "--format", "jsonl").stdout.splitlines()
    shown = latpcap(command, nplus1).stdout.decode().splitlines()
    assert len(rows) == len(lines) == len(shown) - 2
    assert list(rows[0]) == list(json.loads(lines[0]))
    latpcap(command, nplus1, "-o", tmp_path / "rows.parquet")
    assert (tmp_path / "rows.parquet").read_bytes()[:4] == b"PAR1"


def test_the_name_of_the_output_says_its_format(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    latpcap("table", "exchanges", nplus1, "-o", tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().startswith("stream,exchange,protocol")


def test_literals_are_shown_only_when_asked_for(latpcap: Run, nplus1: Path) -> None:
    assert "emp_no = ?" in latpcap("table", "exchanges", nplus1, "--format", "csv").stdout.decode()
    shown = csv.DictReader(
        io.StringIO(latpcap("table", "exchanges", nplus1, "--show-literals", "--format", "csv").stdout.decode())
    )
    statements = {row["statement"] for row in shown}
    assert len(statements) > 300


def test_a_pipe_is_a_capture(latpcap: Run, process: Run, nplus1: Path) -> None:
    piped = process("analyze", "-", input=nplus1.read_bytes()).stdout.replace(b"standard input", nplus1.name.encode())
    assert piped == latpcap("analyze", nplus1).stdout


def test_a_glob_is_one_recording(latpcap: Run, nplus1: Path) -> None:
    result = json.loads(latpcap("analyze", nplus1.parent / "nplus1-300-[cs]*.pcapng", "--json").stdout)
    assert len(result["captures"]) == 2


def test_completion_is_printed_for_each_shell(latpcap: Run) -> None:
    for shell in ("zsh", "fish"):
        assert b"_LATPCAP_COMPLETE" in latpcap("completion", shell).stdout


# --- what goes wrong is one line ------------------------------------------------------------------------------------


def failed(done: subprocess.CompletedProcess[bytes]) -> tuple[int, str]:
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("latpcap: ")
    return done.returncode, lines[0].removeprefix("latpcap: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze"], "Missing argument 'CAPTURE...'"),
        (["nonsense"], "No such command or capture 'nonsense'"),
        (["analyze", "x", "--nonsense"], "No such option"),
        (["--nonsense", "x"], "No such option"),
        (["--rtt", "15ms", "x.pcap"], "write --rtt behind the command or the capture"),
        (["analyze", "x", "--rtt", "1parsec"], "`1parsec` is not a duration: write 500us"),
        (["analyze", "x", "--rtt", "-1ms"], "is not a duration"),
        (["analyze", "x", "--decode-as", "mysql"], "`mysql` is not PORT=PROTOCOL, for instance 3307=mysql"),
    ],
)
def test_a_wrong_usage_is_told_with_the_way_out(latpcap: Run, arguments: list[str], message: str) -> None:
    status, line = failed(latpcap(*arguments))
    assert status == 2
    assert message in line
    assert "--help`)" in line


def test_a_missing_file_is_told(latpcap: Run, tmp_path: Path) -> None:
    assert failed(latpcap("analyze", tmp_path / "no.pcap")) == (3, f"{tmp_path}/no.pcap: no such file")


def test_what_is_no_capture_is_told(latpcap: Run, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_text("hello\n" * 10)
    status, line = failed(latpcap("analyze", tmp_path / "x.pcap"))
    assert status == 3
    assert line.startswith(f"{tmp_path}/x.pcap: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_capture_without_database_traffic_is_told(
    latpcap: Run, shared_capture: Callable[[str], Path], command: str
) -> None:
    path = shared_capture("formats/lwerdna-filesamples__simple_http.pcap")
    status, line = failed(latpcap(command, path))
    assert status == 4
    assert line.startswith(f"{path}: 2 TCP connections (port 56789), none to a database; ")


def test_a_capture_is_never_overwritten(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    capture, alias = tmp_path / "x.csv", tmp_path / "alias.csv"
    shutil.copy(nplus1, capture)
    alias.symlink_to(capture)
    for output in (capture, alias):
        status, line = failed(latpcap("table", "exchanges", capture, "-o", output))
        assert (status, line) == (2, f"{output}: is one of the captures, and a capture is never overwritten")
    assert capture.read_bytes() == nplus1.read_bytes()


def test_an_output_that_cannot_be_written_is_told(latpcap: Run, nplus1: Path, tmp_path: Path) -> None:
    assert failed(latpcap("analyze", nplus1, "-o", tmp_path / "no" / "x")) == (2, f"{tmp_path}/no/x: no such directory")
    assert failed(latpcap("analyze", nplus1, "-o", tmp_path))[0] == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_long_output_arrives_whole(process: Run, nplus1: Path, unbuffered: str) -> None:
    path = nplus1.with_name("nplus1-10k.pcapng.zst")
    done = process("table", "exchanges", path, "--format", "csv", env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    assert done.stdout.count(b"\n") == 10_006


def test_a_reader_that_goes_away_is_no_error(nplus1: Path) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "latpcap",
            "table",
            "exchanges",
            str(nplus1.with_name("nplus1-10k.pcapng.zst")),
            "--format",
            "csv",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(300) == 128 + signal.SIGPIPE
    process.stderr.close()
