"""What the first argument is: a command, a capture, or a mistake."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FIXTURES
from test_cli import failed

from latpcap.cli import COMMANDS

Run = Callable[..., subprocess.CompletedProcess[bytes]]

NPLUS1 = FIXTURES / "mysql/nplus1-300-client.pcapng"


def test_without_a_command_the_help_is_shown_as_a_mistake(latpcap: Run) -> None:
    done = latpcap()
    assert (done.returncode, done.stdout) == (2, b"")
    assert all(f"  {command.name} " in done.stderr.decode() for command in COMMANDS)


def test_a_capture_is_analysed_without_a_command(latpcap: Run) -> None:
    assert latpcap(NPLUS1, "--rtt", "15ms").stdout == latpcap("analyze", NPLUS1, "--rtt", "15ms").stdout
    assert latpcap(NPLUS1.parent / "nplus1-300-[cs]*.pcapng", "--json").stdout.startswith(b'{\n  "schema"')


def test_a_pipe_is_analysed_without_a_command(process: Run) -> None:
    assert process("-", input=NPLUS1.read_bytes()).stdout == process("analyze", NPLUS1).stdout


def test_a_capture_that_is_not_there_is_told_as_one(latpcap: Run, tmp_path: Path) -> None:
    assert failed(latpcap(tmp_path / "no.pcapng")) == (3, f"{tmp_path}/no.pcapng: no such file")
    assert failed(latpcap(tmp_path))[0] == 3


def test_a_command_that_is_misspelt_is_told_with_the_right_one(latpcap: Run) -> None:
    status, line = failed(latpcap("analyse", NPLUS1))
    assert status == 2
    assert "No such command 'analyse'" in line
    assert "analyze" in line


def test_a_file_called_as_a_command_is_no_capture(
    latpcap: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").write_bytes(NPLUS1.read_bytes())
    assert "Missing argument" in failed(latpcap("report"))[1]
    assert latpcap("./report").stdout.startswith(b"303 round trips")


def test_help_is_a_command(latpcap: Run) -> None:
    assert latpcap("help").stdout == latpcap("--help").stdout
    assert latpcap("help", "project").stdout == latpcap("project", "--help").stdout
    assert "No such command 'nonsense'" in failed(latpcap("help", "nonsense"))[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_each_help_names_the_exit_statuses(command, latpcap: Run) -> None:  # type: ignore[no-untyped-def]
    told = " ".join(latpcap(command.name, "--help").stdout.decode().split())
    gated = any(param.name == "fail_if" for param in command.params)
    assert "Exit status: 0 done" in told
    assert ("1 a condition of --fail-if holds" in told) == gated
    reads = command.name not in ("calibrate", "completion", "help")
    assert ("3 unreadable capture, 4 no database traffic" in told) == reads
