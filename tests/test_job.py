"""A command under latpcap behaves as it does without: terminal, signals, exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from latpcap.errors import CommandNotExecutable, CommandNotFound
from latpcap.live import job

RUN = "import sys\nfrom latpcap.live import job\nsys.exit(job.run(sys.argv[1:]).status)"


def under_latpcap(*command: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", RUN, *command], stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_the_exit_status_is_the_commands(status: int) -> None:
    assert job.run(["sh", "-c", f"exit {status}"]).status == status


def test_a_command_that_a_signal_ended_has_the_status_that_a_shell_tells() -> None:
    assert job.run(["sh", "-c", "kill -9 $$"]).status == 128 + signal.SIGKILL


def test_a_command_that_is_not_there_is_127_and_one_that_cannot_be_run_126(tmp_path: Path) -> None:
    plain, unreadable = tmp_path / "plain", tmp_path / "no-format"
    plain.write_text("x")
    unreadable.write_text("x")
    unreadable.chmod(0o755)
    with pytest.raises(CommandNotFound, match="no-such-thing: command not found"):
        job.run(["no-such-thing"])
    with pytest.raises(CommandNotExecutable, match="chmod"):
        job.run([str(plain)])
    with pytest.raises(CommandNotExecutable, match="is a folder"):
        job.run([str(tmp_path)])
    with pytest.raises(CommandNotExecutable, match="Exec format error"):
        job.run([str(unreadable)])
    assert (CommandNotFound.exit_status, CommandNotExecutable.exit_status) == (127, 126)


def test_the_command_has_the_standard_streams_and_the_process_group() -> None:
    process = under_latpcap("sh", "-c", "cat; ps -o pgid= -p $$", stdin=subprocess.PIPE)
    said, _ = process.communicate("in\n")
    assert said.split() == ["in", str(os.getpgrp())]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_what_is_sent_to_latpcap_alone_is_forwarded(name: str) -> None:
    number = signal.Signals[name]
    trap = f"trap 'echo got; exit 7' {name[3:]}; echo ready; while :; do sleep 0.05; done"
    as_usual = partial(signal.signal, number, signal.SIG_DFL)  # a shell cannot trap what `nohup` had it ignore
    process = under_latpcap("sh", "-c", trap, preexec_fn=as_usual)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert (process.communicate(timeout=300)[0], process.returncode) == ("got\n", 7)


def test_the_terminals_ctrl_c_reaches_the_command_once_and_latpcap_goes_on() -> None:
    import pty

    counts = "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\nprint('ready', flush=True)\n"
    counts += "signal.sigwait([2])\nprint('got', flush=True)\n"
    counts += "while signal.sigtimedwait([2], 1):\n    print('got', flush=True)\nos.kill(os.getpid(), signal.SIGALRM)"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", RUN, sys.executable, "-c", counts])
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1024)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    said += os.read(terminal, 1024)
    assert said.count(b"got") == 1
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGALRM


def test_signals_that_python_ignores_are_as_usual_for_the_command() -> None:
    masks = "grep -E '^Sig(Ign|Blk)' /proc/self/status"
    said, _ = under_latpcap("sh", "-c", masks).communicate()
    ignored, blocked = (int(mask, 16) for mask in reversed(said.split()[1::2]))
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
    assert not blocked & (1 << signal.SIGINT - 1 | 1 << signal.SIGCHLD - 1)
