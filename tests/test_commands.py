"""What the first argument is: a command, a capture, or a mistake; which options there are, and by which names."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from builder import Conn
from conftest import FIXTURES
from test_analysis import capture
from test_cli import failed

from latpcap.cli import EVERYWHERE, GROUPS, cli
from latpcap.cli.tables import TABLES
from latpcap.errors import NoDatabaseTraffic

Run = Callable[..., subprocess.CompletedProcess[bytes]]

NPLUS1 = FIXTURES / "mysql/nplus1-300-client.pcapng"


def test_without_a_command_the_help_is_shown_as_a_mistake(latpcap: Run) -> None:
    done = latpcap()
    assert (done.returncode, done.stdout) == (2, b"")
    assert all(f" {command.name}" in done.stderr.decode() for command in cli.commands.values())


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
    assert line.startswith("No such command or capture 'analyse'; did you mean `latpcap analyze`?")


def test_a_file_called_as_a_command_is_no_capture(
    latpcap: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report").write_bytes(NPLUS1.read_bytes())
    assert "Missing argument 'CAPTURE...'" in failed(latpcap("report"))[1]
    assert latpcap("./report").stdout.startswith(b"report: 1 connection, MariaDB ")


def test_help_is_a_command(latpcap: Run) -> None:
    assert latpcap("help").stdout == latpcap("--help").stdout
    assert latpcap("help", "project").stdout == latpcap("project", "--help").stdout
    assert "No such command or capture 'nonsense'" in failed(latpcap("help", "nonsense"))[1]


@pytest.mark.parametrize("command", cli.commands.values(), ids=lambda command: command.name)
def test_each_help_names_the_exit_statuses(command, latpcap: Run) -> None:  # type: ignore[no-untyped-def]
    told = " ".join(latpcap(command.name, "--help").stdout.decode().split())
    gated = any(param.name == "fail_if" for param in command.params)
    assert "Exit status: 0 done" in told
    assert ("1 a condition of --fail-if holds" in told) == gated
    assert ("1 --verify: a difference is unexplained" in told) == (command.name == "wireshark")
    reads = command.name not in ("calibrate", "completion", "explain", "help")
    assert ("3 unreadable capture, 4 no database traffic" in told) == reads


# --- options ---------------------------------------------------------------------------------------------------------

MAX_OPTIONS = 292


def own_options(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option) and not param.hidden]


def test_there_are_no_more_options_than_somebody_can_learn() -> None:
    """Over all commands, those of latpcap itself once. Each new one needs another to go, or a better reason."""
    assert len(EVERYWHERE) + sum(len(own_options(command)) for command in cli.commands.values()) <= MAX_OPTIONS


def test_the_help_names_each_command_in_its_group(latpcap: Run) -> None:
    told = latpcap("--help", "--all").stdout.decode()
    for title, commands in GROUPS.items():
        group = told.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in group.splitlines() if line[2] != " "] == [*commands]


def test_the_help_fits_a_terminal_and_names_the_other_commands(latpcap: Run) -> None:
    lines = latpcap("--help").stdout.decode().splitlines()
    assert len(lines) < 24
    assert all(len(line) <= 80 for line in lines)
    assert all(name in " ".join(lines) for name in GROUPS["More"])
    assert latpcap("--all", "--help").stdout == latpcap("--help", "--all").stdout == latpcap("help", "--all").stdout
    assert "--all goes with --help" in failed(latpcap("--all", "analyze", NPLUS1))[1]


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
    for arguments in (["--pseudonymise", "calibrate", "a:1"], ["calibrate", "a:1", "--pseudonymise"]):
        assert "No such option" in failed(latpcap(*arguments))[1]


@pytest.mark.parametrize("value", ["--rtt", "--"])
def test_an_option_is_no_value_of_another(latpcap: Run, value: str) -> None:
    status, line = failed(latpcap("record", "--relay", value, "--", "true"))
    assert status == 2
    assert f"--relay needs a value, and {value} is an option" in line


def test_a_file_for_build_servers_says_by_its_name_what_it_is(latpcap: Run, tmp_path: Path) -> None:
    status, line = failed(latpcap("analyze", NPLUS1, "--ci", tmp_path / "gates.txt"))
    assert (status, line) == (
        2,
        f"{tmp_path}/gates.txt: name a file that ends with .xml (JUnit XML) or .sarif, or write `--ci github`",
    )


# --- words that are wrong --------------------------------------------------------------------------------------------

WRONG = {
    ("connections", NPLUS1): "did you mean `latpcap table connections`?",
    ("table", NPLUS1, "connections"): "is a file: name the table before it, latpcap table NAME CAPTURE",
    ("validate", NPLUS1, NPLUS1): "No such command or capture 'validate' (see",
    ("analyze", NPLUS1, "--fail-if", "round_trip > 5"): "no figure is called `round_trip`; did you mean `round_trips`?",
    ("analyze", NPLUS1, "--fail-if", "finding(nplus1)"): "no finding is called `nplus1`; did you mean `n+1`?",
    ("analyze", NPLUS1, "--fail-if", "project(15s) > 5s"): "did you mean 15ms?",
    ("statements", NPLUS1, "--fail-if", "round_trip > 5"): "no column `round_trip`; did you mean `round_trips`?",
    ("statements", NPLUS1, "--columns", "txt"): "no column `txt`; did you mean `text`?",
    ("statements", NPLUS1, "--sort", "-txt"): "no column `txt`; did you mean `text`?",
    ("statements", NPLUS1, "--by", "usr"): "`usr` is none of its values; did you mean `user`?",
    ("explain", "nplus1"): "nothing is called `nplus1`; did you mean `n+1`?",
    ("analyze", NPLUS1, "--protocol", "postgres"): "did you mean `postgresql`?",
    ("analyze", NPLUS1, "--decode-as", "3307=postgres"): "did you mean `postgresql`?",
    ("project", NPLUS1, "--fix", "n1"): "unknown fix `n1`; did you mean `n+1`?",
    ("project", NPLUS1, "--rtt", "metr"): "no place is called `metr`; did you mean `metro`?",
    ("project", NPLUS1, "--rtt", "15", "ms"): "`ms` is a unit, not a capture",
    ("project", NPLUS1, "--loss", "0.1", "%"): "`%` is a unit, not a capture",
    ("project", NPLUS1, "--rtt", "15s"): "`15s` is longer than the RTT of any network: did you mean 15ms?",
    ("project", NPLUS1, "--move", "a:1=15s"): "did you mean 15ms?",
    ("project", NPLUS1, "--within", "110%"): "`110%` is a share and no duration",
    ("project", NPLUS1, "--rtt", "0..3ms"): "`0..3ms` begins at 0",
    ("project", NPLUS1, "--rtt", "50..3ms"): "`50..3ms` falls",
    ("wireshark", NPLUS1, "--force"): "--force is of an annotated copy: add -o annotated.pcapng",
    ("wireshark", NPLUS1, "--verify", "--from", "+1s"): "leave --from and --to out",
    ("report", NPLUS1): "name the page: -o report.html or -o report.md",
    ("compare", NPLUS1, NPLUS1, "--projected", "--fail-if", "runtime > 1s"): "leave --projected out",
    ("record",): "nothing to record: give a command",
}


@pytest.mark.parametrize("arguments", WRONG, ids=lambda words: " ".join(map(str, words[:1] + words[2:])))
def test_a_wrong_word_is_named_with_the_right_one(arguments: tuple[object, ...], latpcap: Run) -> None:
    status, line = failed(latpcap(*arguments))
    assert status in (2, 4)
    assert WRONG[arguments] in line
    assert len(line) < 250


def test_a_capture_of_http_is_called_one() -> None:
    with pytest.raises(NoDatabaseTraffic, match=r"1 TCP connection \(port 80, usually HTTP\), none to a database; "):
        capture(Conn(protocol=None, server="10.0.0.2:80")).analyze()


# --- table -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_written_by_its_name(name: str, latpcap: Run) -> None:
    assert f'"schema": "latpcap.{name}/1"'.encode() in latpcap("table", name, NPLUS1, "--json").stdout


def test_a_table_that_is_none_lists_those_that_are_the_nearest_first(latpcap: Run) -> None:
    done = latpcap("table", "tsks", NPLUS1)
    *listed, line = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2, b"")
    assert line == "latpcap: no table is called `tsks`; did you mean `tasks`?"
    assert {each.split()[0] for each in listed} == TABLES.keys()
    assert listed[0].startswith("tasks ")
    assert all(f"  {name} " in latpcap("table").stderr.decode() for name in TABLES)


def test_an_option_that_a_table_lacks_is_refused_by_name(latpcap: Run) -> None:
    for options, having in (
        (["--idle", "2s"], "tasks"),
        (["--every", "1s"], "intervals"),
        (["--think", "1s"], "tasks"),
    ):
        line = failed(latpcap("table", "health", NPLUS1, *options))[1]
        assert line == f"{options[0]} is an option of {having}, not of health"
