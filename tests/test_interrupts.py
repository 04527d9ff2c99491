"""Ctrl-C: the first one ends the reading, the second one ends latpcap."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path

import pytest
from conftest import FIXTURES, ROOT

import latpcap
from latpcap.cli.shared.io import write

NPLUS1 = FIXTURES / "mysql/nplus1-300-client.pcapng"
LARGE = FIXTURES / "mysql/nplus1-10k.pcapng.zst"
READ = 150_000
"""More than a pipe holds: when it is written, latpcap reads."""
LATPCAP = [sys.executable, "-m", "latpcap"]

Waiting = subprocess.Popen[bytes]


def test_a_ctrl_c_while_modules_are_loaded_ends_it_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('loading', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [*LATPCAP, "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"loading\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == b""
    assert process.returncode == -signal.SIGINT


def test_hardly_anything_is_loaded_before_that_is_so() -> None:
    ask = f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = {{*sys.modules}}; import latpcap.__main__"
    ask += "; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", ask], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "latpcap.__main__" in loaded
    assert not loaded & {"typing", "re", "contextlib", "click"}


@pytest.fixture
def waiting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Waiting]:
    """latpcap with a capture read from a pipe that stays open; the parameters are its arguments."""
    process = subprocess.Popen(
        [*LATPCAP, *getattr(request, "param", ["analyze", "-"])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=dict(os.environ),  # readline exports COLUMNS=80 behind Python's back
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    assert process.stdin is not None
    fcntl(process.stdin, F_SETPIPE_SZ, 4096)
    process.stdin.write(NPLUS1.read_bytes())
    process.stdin.flush()  # what the pipe cannot hold has been read: the reading goes on and waits for more
    yield process
    process.kill()
    process.communicate()


def ended(process: Waiting) -> tuple[int, str, str]:
    """The status, standard output and standard error; its standard input stays open."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read().decode(), process.stderr.read().decode()
    return process.wait(300), out, err


def test_the_first_ctrl_c_ends_the_reading_and_reports_what_was_read(waiting: Waiting) -> None:
    waiting.send_signal(signal.SIGINT)
    status, out, err = ended(waiting)
    assert status == 0
    assert "303 round trips" in out
    assert "reading was stopped before the end of the input" in " ".join(out.split())
    assert err == "latpcap: reading ends here; Ctrl-C again exits at once\n"


@pytest.mark.parametrize("waiting", [["table", "exchanges", "-", "--quiet", "--format", "csv"]], indirect=True)
def test_rows_are_written_after_a_ctrl_c_too(waiting: Waiting) -> None:
    waiting.send_signal(signal.SIGINT)
    status, out, err = ended(waiting)
    assert (status, len(out.splitlines()), err) == (0, 306, "")


def test_the_second_ctrl_c_ends_at_once(waiting: Waiting) -> None:
    waiting.send_signal(signal.SIGINT)
    assert waiting.stderr is not None
    assert waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    assert ended(waiting) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("waiting", [["compare", "-", str(NPLUS1)]], indirect=True)
def test_what_needs_whole_capture_is_ended_by_the_first(waiting: Waiting) -> None:
    waiting.send_signal(signal.SIGINT)
    assert ended(waiting)[:2] == (128 + signal.SIGINT, "")


@pytest.mark.parametrize("waiting", [["scan", "-", "-o", "dataset"]], indirect=True)
def test_of_a_part_no_dataset_is_kept(waiting: Waiting, tmp_path: Path) -> None:
    waiting.send_signal(signal.SIGINT)
    assert ended(waiting)[:2] == (128 + signal.SIGINT, "")
    assert not list(tmp_path.iterdir())


def test_a_pipe_that_ends_by_the_same_ctrl_c_is_read_to_its_end() -> None:
    """As with `tcpdump -w - | latpcap analyze -` in one terminal: both are told, and the writer flushes."""
    waits = "sh -c 'echo ready >&2; exec sleep 60'"  # its shell may get the Ctrl-C before it waits, and would
    script = f'(trap "tail -c +{READ + 1} {NPLUS1}; exit" INT; head -c {READ} {NPLUS1}; {waits}) |'
    out = after_ctrl_c(f"{script} {' '.join(LATPCAP)} analyze - --color never")
    assert "303 round trips" in out
    assert "stopped" not in out


def after_ctrl_c(command: str) -> str:
    """What a shell's terminal shows of `command`, which gets Ctrl-C when it says that it is ready."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv("/bin/bash", ["bash", "-c", command])
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
            if b"ready" in part:
                os.write(terminal, b"\x03")
    except OSError:  # Linux's way to say that the other side is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    os.close(terminal)
    return shown.decode()


def test_a_result_that_is_stopped_half_way_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> Iterator[str]:
        yield "half of it"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(parts(), str(tmp_path / "rows.csv"))
    assert not list(tmp_path.iterdir())


def test_a_file_is_left_where_it_is_stopped() -> None:
    progress = latpcap.Progress()
    progress.stop()
    capture = latpcap.read(LARGE, progress=progress)
    (note,) = (note for note in capture.analyze().health if note.code == "stopped")
    assert "reading was stopped after frame 4096, with " in note.message
    assert 1000 < len(capture.exchanges) < 3000


def test_a_recording_that_is_read_whole_has_no_such_note() -> None:
    assert "stopped" not in {note.code for note in latpcap.read(NPLUS1).analyze().health}
