"""What the first argument is: a command, a capture, or a mistake; which options there are, and by which names."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from conftest import FIXTURES
from test_cli import failed

from latpcap.cli import EVERYWHERE, GROUPS, cli

Run = Callable[..., subprocess.CompletedProcess[bytes]]

NPLUS1 = FIXTURES / "mysql/nplus1-300-client.pcapng"


def test_without_a_command_the_help_is_shown_as_a_mistake(latpcap: Run) -> None:
    done = latpcap()
    assert (done.returncode, done.stdout) == (2, b"")
    assert all(f"  {command.name} " in done.stderr.decode() for command in cli.commands.values())


def test_a_capture_is_analysed_without_a_command(latpcap: Run) -> None:
    assert latpcap(NPLUS1, "--rtt", "15ms").stdout == latpcap("analyze", NPLUS1, "--rtt", "15ms").stdout
    assert latpcap(NPLUS1.parent / "nplus1-300-[cs]*.pcapng", "--json").stdout.startswith(b'{\n  "schema"')


def test_a_pipe_is_analysed_without_a_command(process: Run) -> None:
    piped = process("-", input=NPLUS1.read_bytes()).stdout.replace(b"standard input", NPLUS1.name.encode())
    assert piped == process("analyze", NPLUS1).stdout


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
    assert latpcap("./report").stdout.startswith(b"report: 1 connection, MariaDB ")


def test_help_is_a_command(latpcap: Run) -> None:
    assert latpcap("help").stdout == latpcap("--help").stdout
    assert latpcap("help", "project").stdout == latpcap("project", "--help").stdout
    assert "No such command 'nonsense'" in failed(latpcap("help", "nonsense"))[1]


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_each_help_names_the_exit_statuses(command, latpcap: Run) -> None:  # type: ignore[no-untyped-def]
    told = " ".join(latpcap(command.name, "--help").stdout.decode().split())
    gated = any(param.name == "fail_if" for param in command.params)
    assert "Exit status: 0 done" in told
    assert ("1 a condition of --fail-if holds" in told) == gated
    reads = command.name not in ("calibrate", "completion", "explain", "help")
    assert ("3 unreadable capture, 4 no database traffic" in told) == reads


# --- options ---------------------------------------------------------------------------------------------------------

MOST_OPTIONS = 420


def own_options(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


def test_there_are_no_more_options_than_somebody_can_learn() -> None:
    """Over all commands, those of latpcap itself once. Each new one needs another to go, or a better reason."""
    assert len(EVERYWHERE) + sum(len(own_options(command)) for command in cli.commands.values()) <= MOST_OPTIONS


def test_the_help_names_each_command_in_its_group(latpcap: Run) -> None:
    told = latpcap("--help").stdout.decode()
    for title, commands in GROUPS.items():
        group = told.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in group.splitlines() if line[2] != " "] == [*commands]


@pytest.mark.parametrize(
    "command", [each for each in cli.commands.values() if each.name != "help"], ids=lambda each: each.name
)
def test_a_help_names_all_options_and_explains_its_own(command: click.Command, latpcap: Run) -> None:
    shown, everything = (latpcap(command.name, "--help", *more).stdout.decode() for more in ([], ["--all"]))
    for option in own_options(command):
        assert option.opts[-1] in shown
        assert any(line.strip().startswith(("-o, ", option.opts[-1], "--json, ")) for line in everything.splitlines())
    assert all(option.opts[0] in everything for option in EVERYWHERE[-2:])
    assert latpcap(command.name, "--all", "--help").stdout.decode() == everything
    assert latpcap("help", command.name, "--all").stdout.decode() == everything


def test_all_goes_with_help(latpcap: Run) -> None:
    assert "--all goes with --help" in failed(latpcap("analyze", NPLUS1, "--all"))[1]


def test_options_of_all_commands_stand_before_the_name_or_behind_it(latpcap: Run) -> None:
    behind = latpcap("analyze", NPLUS1, "-v", "--pseudonymise", "--color", "always").stdout
    assert b"server-1:3306" in behind
    assert latpcap("--pseudonymise", "--color", "always", "analyze", NPLUS1, "-v").stdout == behind
    assert latpcap("--pseudonymise", "--color", "always", NPLUS1, "-v").stdout == behind
    assert latpcap("--color", "always", "analyze", NPLUS1, "-v", "--color", "never", "--pseudonymise").stdout != behind


def test_an_option_that_a_command_lacks_is_refused_before_its_name_too(latpcap: Run) -> None:
    for arguments in (["--pseudonymise", "verify", NPLUS1], ["verify", NPLUS1, "--pseudonymise"]):
        assert "No such option" in failed(latpcap(*arguments))[1]


@pytest.mark.parametrize("value", ["--rtt", "--"])
def test_an_option_is_no_value_of_another(latpcap: Run, value: str) -> None:
    status, line = failed(latpcap("record", "--relay", value, "--", "true"))
    assert status == 2
    assert f"--relay needs a value, and {value} is an option" in line


FORMER = [
    (["report", "{}", "--rtt", "15ms"], ["analyze", "{}", "--rtt", "15ms"], "latpcap report"),
    (["validate", "{}", "--against", "{}"], ["validate", "{}", "{}"], "validate BASE --against OTHER"),
    (["project", "{}", "--client", "50%"], ["project", "{}", "--client-time", "50%"], "--client 50%"),
    (["scan", "{}", "--json", "--workers", "1"], ["scan", "{}", "--totals", "--workers", "1"], "--json"),
    (["analyze", "{}", "--annotations", "github"], ["analyze", "{}", "--ci", "github"], "--annotations"),
]


@pytest.mark.parametrize(("old", "new", "name"), FORMER)
def test_an_old_name_works_and_is_told(old: list[str], new: list[str], name: str, latpcap: Run) -> None:
    before, now = (latpcap(*(word.format(NPLUS1) for word in words)) for words in (old, new))
    assert (before.returncode, before.stdout) == (now.returncode, now.stdout)
    told, *rest = before.stderr.decode().splitlines()
    assert told.startswith(f"latpcap: `{name}` is `")
    assert told.endswith("` now; the old name goes with the next release")
    assert rest == now.stderr.decode().splitlines()


@pytest.mark.parametrize("name", ["errors", "exchanges", "connections", "health", "minutes"])
def test_an_option_that_changed_nothing_is_still_taken(name: str, latpcap: Run) -> None:
    before, now = latpcap(name, NPLUS1, "--think", "1ms"), latpcap(name, NPLUS1)
    assert (before.returncode, before.stdout) == (now.returncode, now.stdout)
    assert before.stderr.startswith(b"latpcap: `--think` changes nothing here; it goes with the next release\n")


def test_the_old_names_of_files_for_build_servers_work(latpcap: Run, tmp_path: Path) -> None:
    gate = ("--quiet", "--fail-if", "round_trips > 500")
    paths = [tmp_path / name for name in ("old.xml", "new.xml", "old.sarif", "new.sarif")]
    old = latpcap("analyze", NPLUS1, *gate, "--junit-xml", paths[0], "--sarif", paths[2])
    new = latpcap("analyze", NPLUS1, *gate, "--ci", paths[1], "--ci", paths[3])
    assert (old.returncode, new.returncode, new.stderr) == (0, 0, b"")
    assert old.stderr.count(b"the old name goes with the next release") == 2
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[2].read_bytes() == paths[3].read_bytes()
    assert json.loads(paths[3].read_text())["version"] == "2.1.0"


def test_a_file_for_build_servers_says_by_its_name_what_it_is(latpcap: Run, tmp_path: Path) -> None:
    status, line = failed(latpcap("analyze", NPLUS1, "--ci", tmp_path / "gates.txt"))
    assert (status, line) == (
        2,
        f"{tmp_path}/gates.txt: name a file that ends with .xml (JUnit XML) or .sarif, or write `--ci github`",
    )
