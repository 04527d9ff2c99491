"""Nothing of a test run stays on the machine, however it ends: a process of its own outlives it and sees to that.

Whatever the tests start has the name of the run in its environment, and their temporary files lie in one folder.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

RUN = "LATPCAP_TESTS"
"""The variable that names a run by its folder."""
LEAVES_S = 5.0
"""How long processes that end by themselves may take to do so."""
ENDS_S = 10.0


def watch_over_this_run() -> None:
    """Once a run; its workers (xdist) and programs inherit it."""
    if RUN in os.environ or sys.platform != "linux":
        return
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # where pytest keeps its last three
    folder = tempfile.mkdtemp(prefix="latpcap-tests-")
    os.chmod(folder, 0o1777)  # as /tmp: servers are users of their own
    clean = [sys.executable, "-I", "-S", __file__, str(os.getpid()), folder]
    os.posix_spawn(clean[0], clean, os.environ, setsid=True)  # nobody waits for it, which Popen would complain of
    os.environ |= {RUN: folder, "TMPDIR": folder}
    tempfile.tempdir = None


def of_the_run(folder: str) -> Iterator[int]:
    """The processes that still run."""
    mark = f"\0{RUN}={folder}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in b"\0" + (process / "environ").read_bytes():
                yield int(process.name)


def clean_up(folder: str) -> None:
    """End what has not ended, and remove the folder."""
    end = time.monotonic() + LEAVES_S
    while (left := list(of_the_run(folder))) and time.monotonic() < end:
        time.sleep(0.1)
    for pid in left:
        with suppress(OSError):
            name = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            print(f"tests: process {pid} was left and is ended: {name[:100]}", file=sys.stderr)
    end = time.monotonic() + ENDS_S
    while (left := list(of_the_run(folder))) and time.monotonic() < end:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    with suppress(ProcessLookupError):
        select.select([os.pidfd_open(int(sys.argv[1]))], [], [])
    clean_up(sys.argv[2])
