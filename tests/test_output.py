"""Where results go: formats by the name of the file, JSON of every command, width and colour."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import FIXTURES
from test_cli import failed

from latpcap.cli import cli

Run = Callable[..., subprocess.CompletedProcess[bytes]]

NPLUS1 = FIXTURES / "mysql/nplus1-300-client.pcapng"
PREPARED = FIXTURES / "mysql/prepared-each.pcapng"
FLAWLESS = FIXTURES / "mysql/small-commands.pcapng"
ESCAPE = b"\x1b["


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


# --- the name of the file says the format ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.json", '{\n  "schema": "latpcap.analysis/1"'),
        ("x.md", "# nplus1-300-client.pcapng"),
        ("x.html", "<!doctype"),
        ("x.txt", "nplus1-300-client.pcapng: 1 connection, "),
    ],
)
def test_an_analysis_is_written_as_its_name_says(latpcap: Run, tmp_path: Path, name: str, start: str) -> None:
    done = latpcap("analyze", NPLUS1, "-o", tmp_path / name, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / name).read_text().lower().startswith(start.lower())


def test_a_name_without_a_suffix_and_a_dash_are_text(latpcap: Run, tmp_path: Path) -> None:
    latpcap("analyze", NPLUS1, "-o", tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == latpcap("analyze", NPLUS1, "-o", "-").stdout


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("analyze", "x.parquet", ".txt, .json, .html or .md; tables such as `latpcap table exchanges` write .parquet"),
        ("project", "x.md", "name a file that ends with .txt or .json; `latpcap report` writes .md"),
        ("table exchanges", "x.xlsx", "name a file that ends with .txt, .json, .csv, .jsonl or .parquet"),
        ("report", "x.pdf", "or .md; for a PDF, print the .html page"),
        ("findings", "x.html", "`latpcap report` writes .html"),
        ("analyze", "x.pcapng", "a capture is never overwritten"),
        ("analyze", "x.pcap.gz", "a capture is never overwritten"),
        ("table exchanges", "x.csv.gz", "x.csv.gz: name a file that ends with"),
    ],
)
def test_a_name_that_says_another_format_is_refused(
    latpcap: Run, tmp_path: Path, command: str, name: str, message: str
) -> None:
    status, line = failed(latpcap(command, NPLUS1, "-o", tmp_path / name))
    assert status == 2
    assert line.startswith(f"{tmp_path}/{name}: ")
    assert message in line
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "csv", "-o", "x.parquet"], "x.parquet: .parquet is for parquet, and csv was asked for"),
        (["--json", "-o", "x.jsonl"], "x.jsonl: .jsonl is for jsonl, and json was asked for"),
        (["--json", "--format", "csv"], "--json and --format csv: ask for one of them"),
    ],
)
def test_two_formats_at_once_are_refused(latpcap: Run, options: list[str], message: str) -> None:
    assert failed(latpcap("table", "exchanges", NPLUS1, *options)) == (2, message)


# --- one JSON object of every command --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("table health", "No warnings."),
        ("findings", "No findings."),
        ("table errors", "No errors in 20 statements"),
    ],
)
@pytest.mark.parametrize("width", ["", "80"])
def test_where_there_are_no_rows_a_sentence_says_so(
    latpcap: Run, monkeypatch: pytest.MonkeyPatch, command: str, said: str, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    done = latpcap(command, FLAWLESS)
    assert done.returncode == 0
    assert done.stdout.decode().startswith(said)
    assert done.stdout.decode().count("\n") == 1
    rows = json.loads(latpcap(command, FLAWLESS, "--json").stdout)["rows"]
    assert rows == []
    failing = FIXTURES / "findings" / "failing-my.pcapng.zst"
    others = {"table health": FIXTURES / "mysql" / "filtered.pcapng", "findings": NPLUS1, "table errors": failing}
    assert said not in latpcap(command, others[command]).stdout.decode()


@pytest.mark.parametrize(
    "command", ["table exchanges", "table connections", "statements", "findings", "table health", "table captures"]
)
def test_the_json_of_a_table_is_its_rows(latpcap: Run, command: str) -> None:
    whole = json.loads(latpcap(command, PREPARED, "--json", "--quiet").stdout)
    lines = latpcap(command, PREPARED, "--format", "jsonl", "--quiet").stdout.splitlines()
    assert whole["schema"] == f"latpcap.{command.split()[-1]}/1"
    assert whole["rows"] == [json.loads(line) for line in lines]


def test_every_command_has_json_but_those_that_write_something_else() -> None:
    without = {
        command.name
        for command in cli.commands.values()
        if not any(
            "--json" in (*param.opts, *param.secondary_opts)
            for param in command.params
            if not getattr(param, "hidden", False)
        )
    }
    others = {
        "scan",
        "completion",
        "explain",
        "help",
        "record",
        "watch",
        "report",
    }  # what they write: docs/command-line.md
    assert without == others


def test_a_table_without_rows_is_an_object_too(latpcap: Run) -> None:
    empty = latpcap("sql", NPLUS1, "select 1 as a where false", "--json").stdout
    assert json.loads(empty) == {"schema": "latpcap.rows/1", "rows": []}


def test_an_annotated_copy_says_what_it_wrote(latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    said = json.loads(latpcap("wireshark", NPLUS1, "-o", path, "--json", "--quiet").stdout)
    secrets = {"decryption_secrets": 0, "secrets_embedded": False, "tls_sessions_added": 0}
    assert said == {"schema": "latpcap.annotation/1", "path": path.name, "packets_with_comments": 305} | secrets


# --- width -----------------------------------------------------------------------------------------------------------


def test_what_is_redirected_is_neither_cut_nor_wrapped(latpcap: Run) -> None:
    text = latpcap("analyze", NPLUS1).stdout.decode()
    assert max(map(len, text.splitlines())) > 100
    assert text.splitlines()[3].endswith(": each millisecond of RTT costs 0.306 s")
    for table in ("statements", "table connections", "table captures"):
        assert "…" not in latpcap(table, NPLUS1).stdout.decode()


def test_columns_bounds_what_is_redirected(process: Run) -> None:
    text = process("analyze", NPLUS1, "-v", env=os.environ | {"COLUMNS": "80"}).stdout.decode()
    assert max(map(len, text.splitlines())) <= 80


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
def test_a_line_ends_neither_in_a_blank_nor_between_a_figure_and_its_unit(latpcap: Run) -> None:
    for capture in (NPLUS1, PREPARED, FIXTURES / "findings" / "failing-my.pcapng.zst"):
        lines = latpcap("analyze", capture, "-v").stdout.decode().splitlines()
        assert not [line for line in lines if line != line.rstrip()]
        assert not [line for line in lines if re.match(r"(?:ns|µs|ms|s)\b", line)]


@pytest.mark.usefixtures("narrow")
def test_what_follows_an_indented_line_is_indented_too(latpcap: Run) -> None:
    printed = latpcap("analyze", FIXTURES / "findings" / "failing-my.pcapng.zst", "-v").stdout.decode()
    assert "ON DUPLICATE KEY\n  UPDATE`" in printed


@pytest.mark.usefixtures("narrow")
def test_80_columns_cut_no_ratio_no_end_point_and_no_line_of_blocks(latpcap: Run) -> None:
    for name in ("mysql/path-changes.pcapng.zst", "findings/orm-pool-my.pcapng.zst", "mysql/think-time.pcapng"):
        printed = latpcap("analyze", FIXTURES / name, "-v").stdout.decode()
        for title in ("Chattiness", "Over time", "Connections"):
            assert "…" not in printed.partition(f"\n{title}")[2].partition("\n\n")[0]


@pytest.mark.parametrize("command", ["table exchanges", "statements", "project", "table intervals"])
def test_however_narrow_the_terminal_no_figure_is_cut(
    latpcap: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def figures() -> set[str]:
        return set(re.findall(r"[\d.,:]*\d\b", latpcap(command, NPLUS1).stdout.decode()))

    every = figures()
    for width in ("60", "40"):
        monkeypatch.setenv("COLUMNS", width)
        assert figures() <= every


@pytest.mark.usefixtures("narrow")
def test_what_failed_and_what_would_help_stand_before_the_ratios(latpcap: Run) -> None:
    printed = latpcap("analyze", FIXTURES / "findings" / "failing-my.pcapng.zst", "-v").stdout.decode()
    titles = ("Where the time went", "Errors (", "Findings (", "At another RTT", "Chattiness", "Statements (")
    assert sorted(titles, key=printed.index) == list(titles)


@pytest.mark.usefixtures("narrow")
def test_a_note_of_health_goes_on_below_itself(latpcap: Run) -> None:
    notes = latpcap("table", "health", FIXTURES / "mysql" / "filtered.pcapng").stdout.decode()
    assert max(map(len, notes.splitlines())) <= 80
    assert "…" not in notes.replace("--columns NAME,…", "")


# --- colour ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "environment", "coloured"),
    [
        ([], {}, False),
        (["--color", "always"], {}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"CLICOLOR_FORCE": "1"}, True),
        ([], {"CLICOLOR_FORCE": "0"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_a_pipe_has_colour_where_it_is_asked_for(
    process: Run, options: list[str], environment: dict[str, str], coloured: bool
) -> None:
    done = process("analyze", NPLUS1, *options, env=os.environ | environment)
    assert (ESCAPE in done.stdout) == coloured


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"CLICOLOR": "0"}, False)],
)
def test_a_terminal_has_colour_unless_the_environment_says_otherwise(
    environment: dict[str, str], coloured: bool
) -> None:
    shown = on_terminal("analyze", NPLUS1, environment=environment)
    assert (ESCAPE in shown) == coloured


def test_a_file_has_no_colour_and_no_terminals_width(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    assert on_terminal("analyze", NPLUS1, "-o", path) == b""
    text = path.read_bytes()
    assert ESCAPE not in text
    assert max(map(len, text.splitlines())) > 100


def on_terminal(*arguments: object, environment: dict[str, str] | None = None) -> bytes:
    """What the command line writes to a terminal, without the progress that a busy machine has the time to show."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "latpcap", *map(str, arguments), "--quiet"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"TERM": "xterm-256color", "PATH": os.environ["PATH"], **(environment or {})},
    ):
        os.close(theirs)
        written = b""
        try:
            while part := os.read(ours, 65536):
                written += part
        except OSError:  # Linux's way to say that the other side is closed
            pass
    os.close(ours)
    return written


# --- with what it was asked for --------------------------------------------------------------------------------------

READING = ["--think", "2s", "--rtt-baseline", "1ms", "--decode-as", "3306=mysql"]
ASKED_FOR = "Asked for: think time above 2 s, a baseline RTT of 1 ms, port 3306 as mysql"


def test_how_a_capture_was_read_is_told_where_it_is_not_as_usual(latpcap: Run, tmp_path: Path) -> None:
    assert ASKED_FOR in latpcap("analyze", NPLUS1, *READING).stdout.decode()
    assert ASKED_FOR in latpcap("project", NPLUS1, *READING).stdout.decode()
    latpcap("analyze", NPLUS1, *READING, "-o", tmp_path / "x.md")
    assert ASKED_FOR in (tmp_path / "x.md").read_text().split("\n")
    assert "Asked for" not in latpcap("analyze", NPLUS1).stdout.decode()


@pytest.mark.parametrize("command", ["analyze", "project"])
def test_how_a_capture_was_read_is_in_the_json(latpcap: Run, command: str) -> None:
    asked = json.loads(latpcap(command, NPLUS1, *READING, "--json").stdout)["settings"]
    assert asked == {"think_s": 2.0, "rtt_baseline_ms": 1.0, "decode_as": {"3306": "mysql"}, "keys": None}
    usual = json.loads(latpcap(command, NPLUS1, "--json").stdout)["settings"]
    assert usual == {"think_s": 1.0, "rtt_baseline_ms": None, "decode_as": {}, "keys": None}


def test_the_conditions_of_a_projection_stand_beside_it(latpcap: Run) -> None:
    there = ["--bandwidth", "34Mbit", "--loss", "0.1%", "--jitter", "3ms", "--connections", "4"]
    there += ["--distance", "1000km"]
    told = "34 Mbit/s at the bottleneck, 0.1% of the packets lost, 3 ms of jitter, 4 connections"
    told += ", 1,000 km of fibre (10 ms)"
    assert f"Conditions there: {told}." in " ".join(latpcap("project", NPLUS1, *there).stdout.decode().split())
    assert json.loads(latpcap("project", NPLUS1, *there, "--json").stdout)["conditions"] == {
        "bandwidth_bps": 34e6,
        "loss": 0.001,
        "jitter_ms": 3.0,
        "connections": 4,
        "distance_km": 1000.0,
        "rtt_is": "ping",
        "moved": [],
        "others_stay": False,
        "client_time": None,
        "service_time": None,
        "window_bytes": None,
        "compression": None,
    }


def test_how_two_captures_were_read_is_told_once(latpcap: Run) -> None:
    assert latpcap("compare", NPLUS1, NPLUS1, "--think", "2s").stdout.decode().count("think time above 2 s") == 1
    told = latpcap("compare", "--projected", NPLUS1, NPLUS1, "--after-rtt", "1ms").stdout.decode()
    assert told.startswith("Asked for: a baseline RTT of 1 ms\n")


def test_fixes_and_gates_are_under_the_same_conditions_as_the_projection(latpcap: Run) -> None:
    there = ["--rtt", "15ms", "--loss", "1%"]
    whole = json.loads(latpcap("project", NPLUS1, *there, "--fix", "n+1", "--json").stdout)
    runtime_s = whole["points"][0]["runtime_s"]
    assert whole["what_if"]["as_is_s"] == {"15": runtime_s}
    usual_s = json.loads(latpcap("project", NPLUS1, "--rtt", "15ms", "--json").stdout)["points"][0]["runtime_s"]
    gate = f"project(15ms) > {(usual_s + runtime_s) / 2}s"
    assert latpcap("project", NPLUS1, *there, "--fail-if", gate).returncode == 1
    assert latpcap("project", NPLUS1, "--rtt", "15ms", "--fail-if", gate).returncode == 0


# --- nothing to show --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table errors"], "No errors in 40 statements and 4 logins."),
        (["table errors", "--columns", "code,count"], "No errors in 40 statements and 4 logins."),
        (["table health"], "No warnings."),
        (["table health", "--columns", "code"], "No warnings."),
    ],
    ids=" ".join,
)
def test_an_empty_table_says_so_on_standard_output(latpcap: Run, arguments: list[str], said: str) -> None:
    name, *options = arguments
    done = latpcap(name, FIXTURES / "mysql" / "pool-4.pcapng", *options)
    assert (done.returncode, done.stdout.decode().splitlines(), done.stderr) == (0, [said], b"")


def test_a_query_without_rows_says_so(latpcap: Run) -> None:
    pytest.importorskip("duckdb")
    told = latpcap("sql", FIXTURES / "mysql" / "pool-4.pcapng", "select stream from exchanges where 1 = 0").stdout
    assert told.decode().splitlines()[-1] == "No rows."


def test_a_column_that_is_none_is_a_mistake_of_an_empty_table_too(latpcap: Run) -> None:
    done = latpcap("table", "errors", FIXTURES / "mysql" / "pool-4.pcapng", "--columns", "colour")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"no column `colour`" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "statements",
        "table connections",
        "table exchanges",
        "table intervals",
        "table tasks",
        "table captures",
        "analyze",
    ],
)
@pytest.mark.parametrize("width", ["80", "120", "200"])
def test_no_two_columns_of_a_table_have_one_header(
    latpcap: Run, monkeypatch: pytest.MonkeyPatch, command: str, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    whole = ["-v"] if command == "analyze" else []
    told = latpcap(command, FIXTURES / "mysql" / "pool-4.pcapng", *whole).stdout.decode().splitlines()
    headers = [above for above, line in pairwise(told) if line and not line.strip("─")]
    assert headers
    for header in headers:
        names = re.split(r" {2,}", header.strip())
        assert len(names) == len(set(names)), header
