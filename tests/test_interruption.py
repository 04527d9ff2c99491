"""How a recording without a command ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")

WAITS = """
import signal, threading, time
from latpcap.live import interruption

def say():
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.01)
    print("waits", flush=True)

threading.Thread(target=say).start()
interruption.wait()
print("ended", flush=True)
"""


@contextmanager
def waiting(*before: str) -> Iterator[subprocess.Popen[str]]:
    """A program that waits, and ends by itself when it is asked to."""
    command = [*before, sys.executable, "-c", WAITS]
    as_usual = partial(signal.signal, 1, signal.SIG_DFL)  # where the tests run under `nohup`
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True, preexec_fn=as_usual) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "waits\n"
        try:
            yield program
            assert (program.stdout.read(), program.wait()) == ("ended\n", 0)
        finally:
            program.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, 1])
def test_whoever_asks_ends_it(number: int) -> None:
    with waiting() as program:
        program.send_signal(number)


def test_the_end_of_the_terminal_does_not_under_nohup() -> None:
    with waiting("nohup") as program:
        program.send_signal(1)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(1)
        program.terminate()
