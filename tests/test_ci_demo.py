"""The demo of a build with gates (examples/ci): what its page shows is what its commands print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

DEMO = ROOT / "examples" / "ci"
PAGE = DEMO / "README.md"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The demo where it may write."""
    return Path(shutil.copytree(DEMO, tmp_path / "ci"))


def consoles(page: str) -> Iterator[str]:
    """Each block of a page that shows commands and their output."""
    yield from re.findall(r"```console\n(.*?)```\n", page, re.DOTALL)


def told_again(block: str, folder: Path) -> str:
    """The same block with what the commands print now; `$?` is the status of the one before."""
    commands = re.findall(r"^\$ (.*)$", block, re.MULTILINE)
    lines, status = [], 0
    for command in commands:
        if command == "echo $?":
            lines += [f"$ {command}", str(status)]
            continue
        done = sh(command, folder)
        status = done.returncode
        lines += [f"$ {command}", *done.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def sh(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell as the demo's reader would, with this latpcap."""
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "latpcap"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m latpcap "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_the_page_shows_what_the_commands_print(copy: Path) -> None:
    page = PAGE.read_text()
    blocks = list(consoles(page))
    assert len(blocks) == 3
    assert [without_seconds(told_again(block, copy)) for block in blocks] == [without_seconds(each) for each in blocks]


def without_seconds(text: str) -> str:
    """A projection may get truer."""
    return re.sub(r"\b[\d.]+ s\b", "… s", text)


def test_the_first_release_passes_its_own_gates(copy: Path) -> None:
    done = sh("./check.sh captures/release-1.pcap", copy)
    assert (done.returncode, done.stdout) == (0, "")
    assert (copy / "report.html").exists()


def test_the_baseline_is_the_result_of_the_first_release(copy: Path) -> None:
    gates = " ".join(f"--fail-if '{figure} != baseline'" for figure in ("round_trips", "exchanges", "runtime"))
    done = sh(f"latpcap analyze captures/release-1.pcap --quiet --baseline baseline.json {gates} -o out.txt", copy)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_workflow_runs_what_is_there() -> None:
    workflow = (DEMO / ".github" / "workflows" / "latency.yml").read_text()
    for script in re.findall(r"run: \./(\S+)", workflow):
        assert os.access(DEMO / script, os.X_OK), script
    assert "./check.sh release.pcap --ci github" in workflow
