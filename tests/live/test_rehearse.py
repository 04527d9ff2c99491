"""A job that is run at another RTT: over a link, through a relay, and where nothing can be compared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mariadb_server import PASSWORD, SQL, free_port, mariadb, needs_server_and_capture
from rehearsed import needs_namespaces

pytest.importorskip("pymysql")

import latpcap

RTT_MS = 5
TIMES = 5
ROUND_TRIPS = 2 + 1 + len(SQL) * TIMES
"""Greeting, login, `SET AUTOCOMMIT`, the statements."""

JOB = f"""
import sys, pymysql
where = {{"host": "127.0.0.1", "port": int(sys.argv[1]), "ssl_disabled": True}}
with pymysql.connect(user="job", password="{PASSWORD}", database="live", **where) as database:
    cursor = database.cursor()
    for sql in {SQL!r} * {TIMES}:
        cursor.execute(sql)
print("the job has", cursor.rowcount, sys.stdin.readline().strip())
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    port = free_port()
    with tempfile.TemporaryDirectory() as home, mariadb(Path(home), port, ["job"]):
        yield port


pytestmark = needs_server_and_capture


def rehearse(*words: object, stdin: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "latpcap", "rehearse", "--rtt", f"{RTT_MS}ms", *map(str, words)]
    with open(stdin or "/dev/null", "rb") as file:
        return subprocess.run(command, stdin=file, capture_output=True, text=True, timeout=120)


def job(folder: Path, *words: object) -> list[object]:
    (folder / "job.py").write_text(JOB)
    return ["--", sys.executable, folder / "job.py", *words]


@needs_namespaces
def test_a_job_is_run_over_a_link_and_compared(port: int, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("read both times\n")
    kept = tmp_path / "kept"
    done = rehearse("--port", port, "-o", kept, "--json", *job(tmp_path, port), stdin=tmp_path / "input")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert done.stderr.count("read both times") == 2
    assert (told["way"], told["servers"]) == ("link", [f"127.0.0.1:{port}"])
    own = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
    assert told["ends"] == {"client": own, "server": own}
    (there,) = told["rtts"]
    assert there["told"]["round_trips"] == told["median_today"]["round_trips"] == ROUND_TRIPS
    handshake_ms = there["told"]["handshake_ms"]  # unknown where a loaded machine answered the SYN late
    assert handshake_ms is None or handshake_ms >= RTT_MS * 0.95
    assert there["told"]["runtime_s"] >= RTT_MS / 1e3 * ROUND_TRIPS
    assert there["validation"]["predicted_s"] >= RTT_MS / 1e3 * ROUND_TRIPS * 0.9
    for name in ("today-1.pcapng", "5ms-1.pcapng"):
        assert latpcap.read(kept / name).analyze().summary.round_trips == ROUND_TRIPS
    assert f"| {RTT_MS} |" in (kept / "rehearsal.md").read_text()
    assert json.loads((kept / "rehearsal.json").read_text()) == told


@needs_namespaces
def test_a_command_that_sends_nothing_over_the_link_is_not_reported(port: int, tmp_path: Path) -> None:
    """As one that reaches its server by a Unix socket; today's recording says where the database is."""
    today = rehearse("--port", port, "-o", tmp_path / "kept", *job(tmp_path, port))
    assert today.returncode == 0, today.stderr
    done = rehearse("--from", tmp_path / "kept" / "today-1.pcapng", "--", "true")
    assert done.returncode == 4
    assert "no packet of the command crossed the link at 5 ms" in done.stderr


@needs_namespaces
def test_a_command_that_fails_ends_the_rehearsal_with_its_status(port: int) -> None:
    done = rehearse("--quiet", "--", "sh", "-c", "exit 3")
    assert (done.returncode, done.stdout) == (3, "")
    told, where = done.stderr.rstrip().split("; the recordings so far are in ")
    assert told == "latpcap: the command ended with status 3 on today's network: nothing is compared"
    assert [path.name for path in Path(where).iterdir()] == ["today-1.pcapng"]
    shutil.rmtree(where)


def test_a_gate_that_cannot_be_judged_is_refused_before_anything_runs(tmp_path: Path) -> None:
    done = rehearse("--fail-if", "nonsense > 1", "--", "touch", tmp_path / "ran")
    assert done.returncode == 2
    assert "no column `nonsense`: there are recording, rtt_ms, runtime_s" in done.stderr
    assert not (tmp_path / "ran").exists()


@needs_namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="hiding a device needs root")
def test_where_no_link_can_be_made_nothing_is_run(tmp_path: Path) -> None:
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"]
    command = [sys.executable, "-m", "latpcap", "rehearse", "--rtt", "5ms", "--", "touch", str(tmp_path / "ran")]
    done = subprocess.run([*hidden, *command], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == (
        "latpcap: no network for the job: /dev/net/tun: No such file or directory: `modprobe tun`, for a container "
        "`--device /dev/net/tun`; or use the relay\n"
    )
    assert not (tmp_path / "ran").exists()


def test_a_relay_delays_without_rights(port: int, tmp_path: Path) -> None:
    relayed = free_port()
    gate = ["--fail-if", f"round_trips > {ROUND_TRIPS - 1}"]
    done = rehearse("--relay", f"{relayed}:127.0.0.1:{port}", *gate, "--json", *job(tmp_path, relayed))
    assert done.returncode == 1, done.stderr
    assert f"it is {ROUND_TRIPS} in 5ms-1.pcapng" in done.stderr
    told = json.loads(done.stdout)
    assert [each["holds"] for each in told["gates"]] == [True]
    (there,) = told["rtts"]
    assert told["way"] == "relay"
    assert there["told"]["round_trips"] == told["median_today"]["round_trips"] == ROUND_TRIPS
    assert there["told"]["runtime_s"] >= RTT_MS / 1e3 * (ROUND_TRIPS - 2)


def test_a_command_that_asks_no_database_is_told_what_to_look_at(port: int, tmp_path: Path) -> None:
    relayed = free_port()
    done = rehearse("--relay", f"{relayed}:127.0.0.1:{port}", "-o", tmp_path / "kept", "--", "true")
    assert (done.returncode, done.stdout) == (4, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("latpcap: the recording: no TCP connection, so no database traffic")
    assert "give the command 127.0.0.1; another server or port: --server HOST:PORT" in last


def test_a_relayed_server_that_refuses_is_told(tmp_path: Path) -> None:
    relayed, nobody = free_port(), free_port()
    (tmp_path / "knock.py").write_text(
        f"import socket\nwith socket.create_connection(('127.0.0.1', {relayed})) as knock:\n"
        "    try:\n        knock.recv(1)\n    except OSError:\n        pass\n"
    )
    done = rehearse("--relay", f"{relayed}:127.0.0.1:{nobody}", "--", sys.executable, tmp_path / "knock.py")
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1].startswith(f"latpcap: 127.0.0.1:{nobody} refused the connection; ")


def test_a_server_that_is_farther_away_is_brought_no_nearer(port: int, tmp_path: Path) -> None:
    relayed = free_port()
    done = rehearse("--rtt", "0.001ms", "--relay", f"{relayed}:127.0.0.1:{port}", *job(tmp_path, relayed))
    assert done.returncode == 2
    assert "and a link cannot reduce it to 1 µs" in done.stderr
