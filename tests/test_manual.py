"""The man page says what the commands say."""

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest
from conftest import ROOT

from latpcap.cli import cli

Run = Callable[..., subprocess.CompletedProcess[bytes]]

PAGE = ROOT / "latpcap.data/data/share/man/man1/latpcap.1"


def test_the_page_that_is_installed_is_that_of_the_commands(latpcap: Run) -> None:
    """After a change of options: `latpcap help --man` with its output to this file."""
    assert latpcap("help", "--man").stdout.decode() == PAGE.read_text()


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_every_command_is_there_with_all_its_options(command) -> None:  # type: ignore[no-untyped-def]
    page = PAGE.read_text().replace("\\-", "-")
    common = set(re.findall(r"--[a-z-]+", page.split(".SH COMMON OPTIONS")[1]))
    own = page.split(f".SS latpcap {command.name}\n")[1].split("\n.S")[0]
    for option in (
        option
        for param in command.params
        if not getattr(param, "hidden", False)
        for option in param.opts
        if option.startswith("--")
    ):
        assert option in own or option in common
        assert re.search(rf"(^|\W){re.escape(option)}\b", own) or option not in common


@pytest.mark.parametrize("command", [["mandoc", "-Tlint", "-Wwarning"], ["man", "--warnings", "-l"]])
def test_the_page_is_read_without_a_warning(command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run([*command, str(PAGE)], capture_output=True, check=False)
    complaints = [
        line for line in (done.stdout + done.stderr).decode().splitlines() if "WARNING" in line or "ERROR" in line
    ]
    assert [line for line in complaints if "missing date" not in line] == []
