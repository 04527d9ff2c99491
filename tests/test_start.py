"""README.md and the pages of the first twenty minutes: what each shows is what its commands print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "start").glob("*.md"))]


def shown(page: Path) -> Iterator[list[tuple[str, str]]]:
    """Each console of a page: its commands, with what stands below each."""
    for block in re.findall(r"```console\n(.*?)```\n", page.read_text(), re.DOTALL):
        yield re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


def printed(command: str, folder: Path) -> tuple[str, int]:
    """What a terminal of 80 columns shows of a command of latpcap, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "latpcap", *shlex.split(command)[1:]],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode


def missing(told: str, output: str) -> list[str]:
    """The pieces between the dots of a page that do not stand so, and in this order, in the output."""
    lacking, rest = [], output
    for piece in filter(None, re.split(r"^…\n", told, flags=re.MULTILINE)):
        before, found, behind = rest.partition(piece)
        lacking += [] if found else [piece]
        rest = behind if found else before
    return lacking


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    consoles = list(shown(page))
    assert consoles
    for console in consoles:
        status = 0
        for command, told in console:
            output, status = (f"{status}\n", status) if command == "echo $?" else printed(command, tmp_path)
            assert missing(told, output) == [], command
            assert told or not output, command


def test_each_kind_of_reader_has_a_short_page() -> None:
    assert [page.stem for page in PAGES[1:]] == ["dba", "developer", "network-analyst"]
    assert all(len(page.read_text().split()) <= 500 for page in PAGES[1:])
