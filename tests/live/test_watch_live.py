"""`latpcap watch` on a terminal, while a real client asks a real server."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pymysql
import pytest
from mariadb_server import PASSWORD, free_port, mariadb, needs_server_and_capture

import latpcap

pytestmark = needs_server_and_capture
WAITS_S = 60.0


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    home = Path(tempfile.mkdtemp(prefix="latpcap-watch-"))  # the folders of pytest are root's alone
    number = free_port()
    try:
        with mariadb(home, number, ["app"]):
            yield number
    finally:
        shutil.rmtree(home, ignore_errors=True)


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, *command: str) -> None:
        self._ours, theirs = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + WAITS_S
        while not re.search(text, self.shown):
            assert time.monotonic() < end, self.shown[-2000:]
            self._read()

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def ended(self) -> int:
        end = time.monotonic() + WAITS_S
        while self.process.poll() is None:
            assert time.monotonic() < end, self.shown[-2000:]
            self._read()
        self._read()
        os.close(self._ours)
        return self.process.returncode

    def _read(self) -> None:
        if select.select([self._ours], [], [], 0.05)[0]:
            with suppress(OSError):  # nobody has the other end any more
                self.shown += os.read(self._ours, 65536).decode(errors="replace")


@pytest.mark.parametrize("end", ["q", "\x03"], ids=["q", "Ctrl-C"])
def test_what_happens_is_shown_and_a_key_ends_it_with_the_report(port: int, tmp_path: Path, end: str) -> None:
    kept = tmp_path / "kept.pcapng"
    command = [sys.executable, "-m", "latpcap", "watch", "--port", str(port), "-o", str(kept)]
    terminal = Terminal(*command) if end == "q" else Terminal("setsid", "--ctty", "--wait", *command)
    terminal.wait_for("the full report")
    with pymysql.connect(host="127.0.0.1", port=port, user="app", password=PASSWORD, database="live") as client:
        with client.cursor() as cursor:
            for number in range(200):
                cursor.execute("SELECT salary FROM pay WHERE emp = %s", (number,))
        terminal.wait_for("20[23] round trips")  # the last one shows when a packet follows it
        terminal.wait_for("select salary from pay where emp = [?]")
        terminal.wait_for("each further millisecond of RTT: 0.20[23] s so far")
        terminal.type(end)
        status = terminal.ended()
    assert status == 0, terminal.shown[-2000:]
    assert "Where the time went" in terminal.shown
    assert latpcap.read(str(kept)).analyze().summary.round_trips == 203


def test_a_second_ctrl_c_ends_it_without_a_report(tmp_path: Path) -> None:
    kept = tmp_path / "kept.pcapng"
    command = [sys.executable, "-m", "latpcap", "watch", "--port", str(free_port()), "-o", str(kept)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watch:
        assert watch.stdout is not None
        assert watch.stderr is not None
        assert b"Ctrl-C ends with the full report" in watch.stderr.readline()
        watch.send_signal(signal.SIGINT)
        assert b"Ctrl-C again exits without a report" in watch.stderr.readline()
        watch.send_signal(signal.SIGINT)
        assert (watch.wait(WAITS_S), watch.stdout.read(), watch.stderr.read()) == (128 + signal.SIGINT, b"", b"")
    assert kept.read_bytes()[:4] == b"\n\r\r\n"


def test_what_saw_no_database_says_what_it_watched() -> None:
    nobody = free_port()
    command = [sys.executable, "-m", "latpcap", "watch", "--port", str(nobody), "--duration", "1s"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAITS_S)
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].startswith("latpcap: the recording: no TCP connection, so no database traffic")
    assert f"(recorded: TCP port {nobody})" in done.stderr
