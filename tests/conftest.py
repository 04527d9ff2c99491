"""Fixtures, captures and the command line for all tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, settings
from left import watch_over_this_run
from sharkd import Sharkd

for variable in ("COLUMNS", "LINES"):  # the terminal of whoever starts the tests, which workers would inherit
    os.environ.pop(variable, None)
os.environ["TZ"] = "UTC"  # no test depends on the machine's zone; those of local time set one
if hasattr(time, "tzset"):  # Windows has none
    time.tzset()
watch_over_this_run()  # before anything is imported that keeps in mind where temporary files go

import latpcap as package  # noqa: E402
from latpcap.cli import main  # noqa: E402

settings.register_profile("latpcap", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("latpcap")  # no test may fail because the machine is busy; in CI Hypothesis draws no new examples

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
SHARED = ROOT.parent / "shared" / "captures"
NEWEST = ["bash", str(ROOT / "benchmarks/lab/unstable.sh"), "there"]
HAS_NEWEST = sys.platform != "win32" and not subprocess.run(NEWEST, check=False, capture_output=True).returncode
collect_ignore = [] if HAS_NEWEST else ["live/test_newest.py"]
"""The newest servers are optional: `./dev newest` makes them, and `./dev test` says where they are missing."""


@dataclass(frozen=True)
class Fixture:
    """A capture of our own with what is true of it."""

    path: Path
    facts: dict[str, Any]


@cache
def load_fixture(name: str) -> Fixture:
    """The fixture `PROTOCOL/NAME`."""
    facts = FIXTURES / f"{name}.toml"
    path = next(path for suffix in (".pcapng", ".pcapng.zst") if (path := FIXTURES / f"{name}{suffix}").exists())
    return Fixture(path, tomllib.loads(facts.read_text("utf-8")))


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


@cache
def read_once(path: Path) -> package.Capture:
    """A capture as it is read without options, and measured, once for all tests: none of them changes it."""
    return package.read(path)


def read_fixture(name: str) -> package.Capture:
    """The fixture `PROTOCOL/NAME`, read once."""
    return read_once(load_fixture(name).path)


@cache
def analysed(name: str) -> package.Analysis:
    """The result of the fixture, projected onto 1 ms and 15 ms."""
    return read_fixture(name).analyze([1, 15])


@pytest.fixture(scope="session")
def sharkd() -> Iterator[Sharkd]:
    """Wireshark, started once."""
    if shutil.which("sharkd") is None:
        pytest.skip("sharkd is not installed: it comes with tshark")
    running = Sharkd()
    yield running
    running.close()


Done = subprocess.CompletedProcess[bytes]


def words(arguments: Sequence[object]) -> list[str]:
    """The words of a command line; a command may be given with a word of its own, as `table exchanges`."""
    first, *rest = [*map(str, arguments)] or [""]
    return [
        *(first.split() if first.startswith(("table ", "compare ", "wireshark ")) else [first] * bool(first)),
        *rest,
    ]


@pytest.fixture
def latpcap(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`latpcap("analyze", path)`: the command line as a process would run it, in this one."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["latpcap", *words(arguments)])
        with CliRunner().isolation() as (stdout, stderr, _), pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return Done(sys.argv, ended.value.code, stdout.getvalue(), stderr.getvalue())

    return run


@pytest.fixture
def process() -> Callable[..., Done]:
    """The same in a process of its own, for what only that has: pipes, signals, the environment."""

    def run(*arguments: object, **options: Any) -> Done:
        command = [sys.executable, "-m", "latpcap", *words(arguments)]
        options.setdefault("env", dict(os.environ))  # readline exports COLUMNS=80 behind Python's back
        return subprocess.run(command, capture_output=True, timeout=300, check=False, **options)

    return run
