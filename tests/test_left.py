"""A test run that ends, or is killed, leaves no process and no file."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from left import RUN, of_the_run
from loopback import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")

TESTS = """
import os, subprocess, tempfile
from left import watch_over_this_run
watch_over_this_run()
folder = tempfile.mkdtemp()
server = subprocess.Popen(["setsid", "sleep", "1000"])
print(os.environ["TMPDIR"], server.pid, flush=True)
"""


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), 9)"], ids=["ended", "killed"])
def test_nothing_stays_of_a_run(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", TESTS + end], stdout=subprocess.PIPE, text=True)
    assert done.returncode == (-signal.SIGKILL if end else 0)
    folder, server = done.stdout.split()
    assert Path(folder).parent == tmp_path
    wait_until(lambda: not list(of_the_run(folder)))
    assert not Path(f"/proc/{server}/exe").exists()
    wait_until(lambda: not list(tmp_path.iterdir()))
