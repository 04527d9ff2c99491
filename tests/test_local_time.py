"""Local time beside UTC: for people, never in files and data, and the same text on every machine with `--utc`."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import FIXTURES, Done

from latpcap.cli import cli
from latpcap.report.destination import going_to, send_to
from latpcap.report.local_time import first_packet, local

Run = Callable[..., Done]
PATH = FIXTURES / "mysql" / "refused.pcapng"
TALKS = FIXTURES / "mysql" / "pool-4.pcapng"
BERLIN, KOLKATA = "CET-1CEST,M3.5.0,M10.5.0/3", "IST-5:30"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="TZ is a variable of POSIX")


def at(zone: str) -> dict[str, str]:
    return {**os.environ, "TZ": zone, "COLUMNS": "140"}


def test_the_files_first_packet_is_told_in_local_time_with_its_zone(process: Run) -> None:
    told = process("table", "captures", PATH, "--quiet", env=at(BERLIN)).stdout.decode()
    assert "2026-11-21 08:39:53" in told
    assert "2026-11-21 09:39:53+01:00" in told
    assert "14:09:53+05:30" in process("table", "captures", PATH, "--quiet", env=at(KOLKATA)).stdout.decode()


def test_an_analysis_begins_with_it_too(process: Run) -> None:
    lines = process("analyze", TALKS, env=at(BERLIN)).stdout.decode().splitlines()
    [line] = [each for each in lines if each.startswith("First packet: ")]
    assert "+01:00 (2026-11-" in line
    assert line.endswith(" UTC)")


@pytest.mark.parametrize("command", ["table captures", "analyze"])
def test_utc_is_the_same_text_everywhere(process: Run, command: str) -> None:
    before = process("--utc", *command.split(), TALKS, env=at(BERLIN)).stdout
    assert process(*command.split(), TALKS, "--utc", env=at(KOLKATA)).stdout == before
    assert process(*command.split(), TALKS, env=at("UTC")).stdout == before
    assert process(*command.split(), TALKS, env=at(BERLIN)).stdout != before


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_data_have_utc_alone(process: Run, form: str) -> None:
    told = process("table", "captures", TALKS, "--format", form, env=at(BERLIN)).stdout
    assert told == process("table", "captures", TALKS, "--format", form, env=at("UTC")).stdout


@pytest.mark.parametrize("suffix", ["html", "md", "json", "txt"])
def test_files_are_the_same_on_machines_of_other_zones(process: Run, tmp_path: Path, suffix: str) -> None:
    written = []
    for zone in (BERLIN, "UTC"):
        out = tmp_path / f"{zone.partition(',')[0]}.{suffix}"
        assert process("analyze", TALKS, "-o", out, env=at(zone)).returncode == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_the_time_that_is_shown_can_be_asked_for(process: Run) -> None:
    told = process("table", "captures", TALKS, env=at(BERLIN)).stdout.decode()
    [shown] = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+01:00", told)
    whole, part = (
        process("table", "exchanges", TALKS, "--format", "csv", *since, env=at("UTC"))
        for since in ((), ("--from", shown))
    )
    assert part.stdout == whole.stdout
    assert whole.returncode == 0


def test_what_is_no_time_is_no_local_time() -> None:
    assert local(np.datetime64("NaT")) == ""
    assert local("2026-11-21T08:39:53.063996225Z") == ""  # the tests' zone is UTC
    assert first_packet([None]) == ""
    assert first_packet([]) == ""


def test_what_one_command_says_of_its_output_is_forgotten_behind_it(tmp_path: Path) -> None:
    before = going_to()
    for more in (["--utc"], ["--color", "always"], ["-o", str(tmp_path / "told.csv")]):
        assert CliRunner().invoke(cli, ["table", "captures", str(PATH), *more]).exit_code == 0
        assert going_to() == before


def test_times_that_no_machine_knows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", BERLIN)
    time.tzset()
    try:
        assert local(np.datetime64("2026-07-01T12:00:00")) == "2026-07-01 14:00:00+02:00"
        assert local(np.datetime64("1969-12-31T22:30:00")) == "1969-12-31 23:30:00+01:00"
        assert local(np.datetime64("9999-12-31T23:59:59")) == ""
        send_to(is_utc=True)
        assert local(np.datetime64("2026-07-01T12:00:00")) == ""
    finally:
        send_to(is_utc=False)
        monkeypatch.undo()
        time.tzset()
