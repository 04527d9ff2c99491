"""What is asked for little loads little: every module costs the user time before anything is read."""

import subprocess
import sys

import pytest
from conftest import ROOT

NPLUS1 = ROOT / "fixtures" / "mysql" / "nplus1-300-client.pcapng"
LOADED = "import sys\n{}\nprint(*sys.modules, sep='\\n')"


def modules_of(work: str) -> set[str]:
    """The modules that a new Python holds after this work."""
    done = subprocess.run([sys.executable, "-c", LOADED.format(work)], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def of_command(*arguments: str) -> str:
    return f"from latpcap.cli import cli\ncli.main({[*arguments]}, standalone_mode=False)"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["analyze", "--help"], ["sql", "--help"]])
def test_help_needs_no_numbers(arguments: list[str]) -> None:
    assert not {"numpy", "arro3.core", "rich", "latpcap._core", "json"} & modules_of(of_command(*arguments))


def test_the_package_loads_what_is_asked_of_it() -> None:
    assert "numpy" not in modules_of("import latpcap")
    assert "numpy" not in modules_of("import latpcap\nlatpcap.UsageError")


def test_results_are_structs() -> None:
    """A hundred dataclasses take longer to define than reading a small capture does."""
    sources = (ROOT / "latpcap").rglob("*.py")
    assert not [path.name for path in sources if "import dataclass" in path.read_text()]


def test_json_is_written_without_what_draws() -> None:
    loaded = modules_of(of_command("analyze", "--json", "--quiet", str(NPLUS1)))
    drawing = {"rich", "altair", "duckdb"}
    assert not (drawing | {"numpy.ma"}) & loaded


NOT_FOR_JSON = (
    *("base64", "dataclasses", "importlib.metadata", "subprocess", "asyncio"),
    *("latpcap.live", "latpcap.work", "latpcap.verify", "latpcap.wireshark", "latpcap.pytest_plugin"),
    *("latpcap.comparing", "latpcap.ranking", "latpcap.scan", "latpcap.pytest_round_trips"),
    *("latpcap.measures.charts", "latpcap.measures.traffic", "latpcap.projection.by_connections"),
    *("latpcap.report.checks", "latpcap.report.console", "latpcap.report.html", "latpcap.report.markdown"),
    *("latpcap.report.notebook", "latpcap.report.plot", "latpcap.report.sections", "latpcap.report.terminal"),
    *("latpcap.result.checks", "latpcap.result.page", "latpcap.result.pairs", "latpcap.result.rank"),
    *("latpcap.result.tables", "latpcap.result.tasks"),
    *("latpcap.tables.dataset.loading", "latpcap.tables.dataset.writing", "latpcap.tables.privacy.pseudonyms"),
    *("latpcap.tables.writing.locks", "latpcap.tables.writing.outputs", "latpcap.tables.writing.sql"),
)
"""Modules and packages that `analyze --json` without further options does without: the list only grows."""


def test_json_is_computed_without_what_only_others_ask_for() -> None:
    loaded = modules_of(of_command("analyze", "--json", "--quiet", str(NPLUS1)))
    assert not [name for name in loaded if any(f"{name}.".startswith(f"{each}.") for each in NOT_FOR_JSON)]


def test_a_command_loads_no_other_one() -> None:
    loaded = modules_of(of_command("analyze", "--help"))
    assert {name for name in loaded if name.startswith("latpcap.cli.") and ".shared" not in name} == {
        "latpcap.cli.analyze"
    }


def test_what_is_public_is_listed_before_it_is_loaded() -> None:
    listed = modules_of("import latpcap\nprint(*dir(latpcap), sep='\\n')")
    assert {"read", "rank", "Capture", "Progress"} <= listed
