"""tcpdump on loopback, which knows when it has seen everything: no test waits for a while and hopes."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LAST = b"all that came before this datagram is in the file"


@contextmanager
def captured(path: Path, port: int) -> Iterator[None]:
    """Everything that passes on loopback to and from TCP's `port` while the block runs."""
    options = ["-i", "lo", "-Z", "root", "-U", "--immediate-mode", "--time-stamp-precision=nano", "-B", "65536"]
    command = [shutil.which("tcpdump") or "tcpdump", *options, "-w", str(path), f"port {port}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            if not line.startswith("tcpdump: listening"):
                pytest.skip(f"no capture: {line.strip()}")
            yield
            wait_until(lambda: _says_the_last(port) and LAST in path.read_bytes())
        finally:
            process.terminate()


def _says_the_last(port: int) -> bool:
    """Send the last datagram, again with each look: a busy machine may drop one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
        return last.sendto(LAST, ("127.0.0.1", port)) == len(LAST)


def wait_until(ready: Callable[[], bool], seconds: float = 60) -> None:
    """Look again and again, as the machine may be busy."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
