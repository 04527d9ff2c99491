"""The same captures and options give the same bytes: on any day, anywhere, with any number of processors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import written
from conftest import ROOT

HERE = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "COLUMNS": "", "NO_COLOR": "1", "HOME": "/"}
ELSEWHERE = {
    "PYTHONHASHSEED": "271828",
    "TZ": "Pacific/Kiritimati",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "de_DE",
    "USER": "ann",
    "FORCE_COLOR": "1",
    "TERM": "xterm-256color",
    "COLUMNS": "60",
}
FEWEST = 100
"""Files that are compared."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """All that two processes wrote, one after the other, each in a world of its own."""
    folders = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("elsewhere")
    for folder, world, processors in zip(folders, (HERE, ELSEWHERE), ("1", "64"), strict=True):
        command = [sys.executable, str(ROOT / "tests" / "written.py"), str(folder), processors]
        subprocess.run(command, cwd=folder, env=os.environ | world, check=True, timeout=600)
    return folders


def test_two_runs_write_the_same_bytes(runs: tuple[Path, Path]) -> None:
    here, elsewhere = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in runs)
    expected = {name for name, _ in written.commands(Path())} | {"gates.xml", "gates.sarif"}
    assert set(here) == set(elsewhere) == expected
    assert len(expected) >= FEWEST
    assert [name for name in here if here[name] != elsewhere[name]] == []


def test_what_is_written_names_no_folder_and_no_day_but_the_capture_s(runs: tuple[Path, Path]) -> None:
    """`rank` alone names files as they were given, so that one is found again."""
    for path in runs[0].iterdir():
        told = path.read_bytes()
        if "-rank" in path.name:
            continue
        assert os.fsencode(ROOT) not in told, path.name
        assert b"fixtures/mysql" not in told, path.name
        assert (b"2031-05-06" in told) == path.name.endswith("-names.md"), path.name
