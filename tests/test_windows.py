"""What users of Windows trip over: code pages, globs, drives, pipes, files that are open."""

from __future__ import annotations

import ntpath
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import FIXTURES, Done

from latpcap.cli import cli, main
from latpcap.cli.shared import io
from latpcap.errors import DiskFull, UsageError, unwritten
from latpcap.tables.reading import sources

Run = Callable[..., Done]
PLAIN = FIXTURES / "mysql/nplus1-300-client.pcapng"
CODE_PAGES = ("cp437", "cp850", "cp1252", "cp932")
IS_WINDOWS = sys.platform == "win32"
on_windows = pytest.mark.skipif(not IS_WINDOWS, reason="files and consoles of Windows")


def in_code_page(page: str, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONIOENCODING": page, "PYTHONUTF8": "0", **more}


# --- consoles with a code page ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", CODE_PAGES)
@pytest.mark.parametrize("command", [["--help"], ["analyze", "--help", "--all"], ["help", "--man"]])
def test_a_help_goes_to_any_code_page(process: Run, page: str, command: list[str]) -> None:
    done = process(*command, env=in_code_page(page))
    assert (done.returncode, done.stderr) == (0, b"")
    whole = process(*command, env=in_code_page("utf-8")).stdout.decode()
    assert len(done.stdout.decode(page).split()) == len(whole.split()), "each word is there"


@pytest.mark.parametrize("page", CODE_PAGES)
def test_reports_for_people_are_ascii_there(process: Run, page: str) -> None:
    done = process("analyze", PLAIN, "--rtt", "15ms", env=in_code_page(page))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"4.71 s -> 0.123 s at 15 ms" in done.stdout


def test_what_programs_read_is_the_same_in_all_of_them(process: Run) -> None:
    command = ["analyze", PLAIN, "--json", "--quiet"]
    assert len({process(*command, env=in_code_page(page)).stdout for page in ("utf-8", *CODE_PAGES)}) == 1


def test_an_error_is_told_in_any_code_page(process: Run) -> None:
    done = process("analyze", "Größe→µs.pcapng", env=in_code_page("cp437"))
    assert done.returncode == 3
    assert done.stderr.decode("cp437").startswith("latpcap: Größe?µs.pcapng: no such file")


# --- arguments and names ---------------------------------------------------------------------------------------------


def test_a_glob_that_no_shell_has_expanded_is_expanded(process: Run) -> None:
    done = process("table", "captures", os.path.join(PLAIN.parent, "nplus1-300-*.pcapng"), "--format", "csv", "--quiet")
    assert done.stdout.count(b"nplus1-300-") == len(list(PLAIN.parent.glob("nplus1-300-*.pcapng"))) > 1


def test_arguments_that_name_no_files_stay_as_they_were_typed(process: Run) -> None:
    query = "select '%PATH% $PATH ~ *' as typed"
    done = process("sql", PLAIN, query, "--format", "csv", "--quiet")
    assert done.stdout.decode().split("\n")[:2] == ["typed", "%PATH% $PATH ~ *"]


def test_click_is_told_to_leave_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}
    monkeypatch.setattr(cli, "main", lambda **named: asked.update(named))
    with pytest.raises(SystemExit):
        main()
    assert asked["windows_expand_args"] is False


@pytest.fixture
def with_drives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of files as on Windows."""
    monkeypatch.setattr(
        sources, "os", SimpleNamespace(path=ntpath, sep="\\", PathLike=os.PathLike, fsdecode=os.fsdecode)
    )


@pytest.mark.usefixtures("with_drives")
def test_files_are_called_alike_on_all_systems() -> None:
    assert sources.names([r"C:\acme\live.pcap", r"C:\acme\test.pcap"]) == ["live.pcap", "test.pcap"]
    assert sources.names([r"C:\acme\1\live.pcap", r"C:\acme\2\live.pcap"]) == ["1/live.pcap", "2/live.pcap"]
    assert sources.names([r"\\server\share\1\live.pcap", r"\\server\share\2\live.pcap"]) == [
        "1/live.pcap",
        "2/live.pcap",
    ]


@pytest.mark.usefixtures("with_drives")
def test_files_of_one_name_may_be_on_several_drives() -> None:
    drives = [r"C:\acme\live.pcap", r"D:\acme\live.pcap", r"\\server\share\live.pcap"]
    assert sources.names(drives) == ["C:/acme/live.pcap", "D:/acme/live.pcap", "//server/share/live.pcap"]


# --- pipes -----------------------------------------------------------------------------------------------------------


def test_a_capture_from_a_pipe_is_read_byte_by_byte(process: Run) -> None:
    content = PLAIN.read_bytes()
    assert b"\r\n" in content or b"\x1a" in content, "what text would lose"
    piped = process("table", "exchanges", "-", "--format", "csv", "--quiet", input=content)
    assert piped.stdout == process("table", "exchanges", PLAIN, "--format", "csv", "--quiet").stdout


def test_a_reader_that_closes_its_end_ends_latpcap_quietly() -> None:
    command = [
        sys.executable,
        "-m",
        "latpcap",
        "table",
        "exchanges",
        str(FIXTURES / "mysql/nplus1-10k.pcapng.zst"),
        "--quiet",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", io.SIGPIPE_STATUS)


# --- files -----------------------------------------------------------------------------------------------------------


def in_use(number: int) -> OSError:
    error = PermissionError(13, "Access is denied")
    error.winerror = number
    return error


def test_an_output_that_another_program_has_open_is_told_so() -> None:
    for number in (5, 32):
        told = unwritten("job.html", in_use(number))
        assert str(told) == "job.html: cannot be written: Access is denied (is it open in another program?)"
        assert isinstance(told, UsageError)
    assert "another program" not in str(unwritten("job.html", OSError(28, "No space left on device")))
    assert isinstance(unwritten("job.html", OSError(28, "No space left on device")), DiskFull)


def test_a_dataset_is_written_in_parts_by_processes_and_replaced(process: Run, tmp_path: Path) -> None:
    dataset = tmp_path / "dataset"
    dataset.mkdir()
    for more in ((), ("--force",)):
        command = ("scan", PLAIN, "-o", dataset, "--engine", "processes", "--workers", "2", "--quiet", *more)
        done = process(*command)
        assert (done.returncode, done.stderr) == (0, b"")
    assert list(tmp_path.iterdir()) == [dataset]
    rows = ("table exchanges", "--format", "csv", "--quiet")
    assert process(rows[0], dataset, *rows[1:]).stdout == process(rows[0], PLAIN, *rows[1:]).stdout


# --- on Windows alone ------------------------------------------------------------------------------------------------


@on_windows
def test_an_output_that_is_open_stays_as_it_is(process: Run, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    output.write_bytes(b"old")
    with output.open("rb") as held:
        done = process("analyze", PLAIN, "-o", output)
        assert done.returncode == 2
        assert b"is it open in another program?" in done.stderr
        assert held.read() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert process("analyze", PLAIN, "-o", output).returncode == 0
    assert output.read_bytes().startswith(b"<!doctype html>")


@on_windows
def test_long_paths_are_read_and_written(process: Run, tmp_path: Path) -> None:
    folder = Path("\\\\?\\" + str(tmp_path / ("f" * 120) / ("g" * 120)))
    folder.mkdir(parents=True)
    named = tmp_path / "long.pcapng"
    named.write_bytes(PLAIN.read_bytes())
    (folder / "long.pcapng").write_bytes(PLAIN.read_bytes())
    for capture in ("long.pcapng", "*.pcapng"):
        done = process("analyze", folder / capture, "--json", "--quiet")
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == process("analyze", named, "--json", "--quiet").stdout
    assert process("analyze", named, "-o", folder / "report.json", "--quiet").returncode == 0
    assert (folder / "report.json").read_bytes() == done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["long.pcapng", "report.json"]


@on_windows
def test_nul_takes_a_result(process: Run) -> None:
    assert process("analyze", PLAIN, "-o", "NUL").returncode == 0


PRESSES = """
import ctypes, signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
child.stdin.write(open(sys.argv[1], "rb").read())
child.stdin.flush()
time.sleep(3)
signal.signal(signal.SIGINT, lambda *_: None)
ctypes.windll.kernel32.GenerateConsoleCtrlEvent(signal.CTRL_C_EVENT, 0)
print(child.stdout.read().decode().partition("\\n")[0], child.stderr.read().decode().strip(), child.wait(), sep="|")
"""


@on_windows
def test_the_first_ctrl_c_ends_the_reading_and_reports_what_was_read() -> None:
    command = [sys.executable, "-c", PRESSES, str(PLAIN), sys.executable, "-m", "latpcap", "analyze", "-"]
    own_console = subprocess.CREATE_NEW_CONSOLE
    done = subprocess.run(command, capture_output=True, text=True, check=True, creationflags=own_console, timeout=120)
    said, hint, status = done.stdout.strip().split("|")
    assert "303 round trips" in said
    assert (hint, status) == ("latpcap: reading ends here; Ctrl-C again exits at once", "0")


# --- recording, with a dumpcap of `windows.sh` ------------------------------------------------------------------------

with_dumpcap = pytest.mark.skipif("LATPCAP_CAPTURED" not in os.environ, reason="tests/windows.sh puts a dumpcap there")
ON_ETHERNET = ("record", "--port", "3306", "--interface", "Ethernet")


@with_dumpcap
def test_dumpcap_records_on_the_interface_that_is_named(process: Run, tmp_path: Path) -> None:
    output = tmp_path / "app.pcapng"
    done = process(*ON_ETHERNET, "-o", output, "--", sys.executable, "-c", "print('asked')")
    assert (done.returncode, done.stdout.strip()) == (0, b"asked")
    assert b"303 round trips" in done.stderr
    assert output.read_bytes() == PLAIN.read_bytes()


@with_dumpcap
def test_an_interface_must_be_named_and_exist(process: Run) -> None:
    done = process("record", "--port", "3306", "--", sys.executable, "-c", "")
    assert (done.returncode, b"name the network interface, `--interface NAME`" in done.stderr) == (6, True)
    done = process("record", "--port", "3306", "--interface", "Ethernet 9", "--", sys.executable, "-c", "")
    assert (done.returncode, b'There is no device named "Ethernet 9"' in done.stderr) == (6, True)


@with_dumpcap
def test_nobody_goes_on_recording_when_latpcap_was_killed(tmp_path: Path) -> None:
    output = tmp_path / "app.pcapng"
    job = [sys.executable, "-c", "import time; print('asked', flush=True); time.sleep(20)"]
    command = [sys.executable, "-m", "latpcap", *ON_ETHERNET, "-o", str(output), "--", *job]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as recording:
        assert recording.stdout is not None
        assert recording.stdout.readline().strip() == b"asked"
        with pytest.raises(PermissionError):
            output.unlink()
        recording.kill()
    for _ in range(100):
        with suppress(PermissionError):
            output.unlink()
            break
        time.sleep(0.1)
    assert not output.exists()
