"""Fixtures, captures and the command line for all tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
SHARED = ROOT.parent / "shared" / "captures"


@dataclass(frozen=True)
class Fixture:
    """A capture of our own with what is true of it."""

    path: Path
    facts: dict[str, Any]


def load_fixture(name: str) -> Fixture:
    """The fixture `PROTOCOL/NAME`."""
    facts = FIXTURES / f"{name}.toml"
    path = next(path for suffix in (".pcapng", ".pcapng.zst") if (path := FIXTURES / f"{name}{suffix}").exists())
    return Fixture(path, tomllib.loads(facts.read_text()))


@pytest.fixture
def fixture() -> Callable[[str], Fixture]:
    """`fixture("mysql/nplus1-10k")`: a capture of our own and its facts."""
    return load_fixture


@pytest.fixture
def shared_capture() -> Callable[[str], Path]:
    """`shared_capture("mysql/NAME.pcap")`: a capture of other projects, which is not part of the repository."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"../shared/captures/{name} is not here")
        return path

    return find


@pytest.fixture
def latpcap() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """`latpcap("analyze", path)`: the command line in a process of its own."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "latpcap", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=60, check=False, **options)

    return run
