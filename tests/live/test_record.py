"""`latpcap record` around a real client of a real server, beside tcpdump, and however any part of it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from loopback import captured, wait_until
from mariadb_server import PASSWORD, free_port, mariadb, needs_server_and_capture, tls

import latpcap
from latpcap.errors import CaptureError, NoDatabaseTraffic, RecordingError, UsageError
from latpcap.live.capturing import tools
from latpcap.live.capturing.capturer import Capturer
from latpcap.live.processes import servers_of

pytest.importorskip("pymysql")
pytestmark = needs_server_and_capture

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
JOB = f"""
import os, pymysql, signal, ssl, sys, time
port, times, then = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
tls = {{"ssl": {{"ca": None}}}} if then == ["tls"] else {{"ssl_disabled": True}}
ssl.create_default_context()  # which writes the heading of a key log
database = pymysql.connect(host="127.0.0.1", port=port, user="app", password={PASSWORD!r}, database="live", **tls)
cursor = database.cursor()
for number in range(times):
    cursor.execute("SELECT salary FROM pay WHERE emp = %s", (number,))
    cursor.fetchall()
print("asked", flush=True)
if then == ["wait"]:
    time.sleep(600)
database.close()
"""
LOGIN = 3
"""Round trips of PyMySQL beside the statements: login, character set, autocommit."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    home = Path(tempfile.mkdtemp(prefix="latpcap-record-"))  # the folders of pytest are root's alone
    number = free_port()
    try:
        with mariadb(home, number, ["app"], *tls(home)):
            yield number
    finally:
        shutil.rmtree(home, ignore_errors=True)


def job(port: int, times: int, *then: str) -> list[str]:
    return [sys.executable, "-c", JOB, str(port), str(times), *then]


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """`latpcap record` in a process of its own, once the command has asked."""
    command = [sys.executable, "-m", "latpcap", "record", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"asked\n"
        yield process


def children_of(process: subprocess.Popen[bytes]) -> dict[str, int]:
    """Its children by the names of their programs."""
    done = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)], capture_output=True, text=True)
    return {name: int(pid) for pid, name in (line.split(None, 1) for line in done.stdout.splitlines())}


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def round_trips(path: Path) -> int:
    return latpcap.read(path).analyze().summary.round_trips


def holds(path: Path, expected: int) -> bool:
    """As far as the file is written."""
    with suppress(CaptureError, NoDatabaseTraffic):
        return round_trips(path) == expected
    return False


@pytest.mark.parametrize("tool", ["dumpcap", "tcpdump"])
def test_it_counts_what_tcpdump_counts_at_the_same_time(
    tool: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, latpcap: Run
) -> None:
    path = shutil.which(tool)
    assert path is not None
    monkeypatch.setattr(tools, "_found", lambda name: path if name == tool else None)
    ours, theirs = tmp_path / "ours.pcapng", tmp_path / "theirs.pcap"
    with captured(theirs, port):
        done = latpcap("record", "--port", port, "-o", ours, "--", *job(port, 40))
    assert done.returncode == 0, done.stderr
    said, *answer = done.stderr.decode().split("\n")
    assert said == f"latpcap: recorded TCP port {port} into {ours}"
    assert f"{40 + LOGIN} round trips" in "\n".join(answer)
    assert ours.read_bytes()[:4] == b"\n\r\r\n"  # pcapng, whoever captured
    assert ours.stat().st_mode & 0o077 == 0
    assert round_trips(ours) == round_trips(theirs) == 40 + LOGIN
    assert packets(ours) == packets(theirs)


def test_on_other_systems_the_interface_is_named(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BPF's way, with this system's dumpcap: no interface that is all of them, and nobody knows the others but it."""
    monkeypatch.setattr(sys, "platform", "darwin")
    asked = {"capture_filter": f"tcp port {port}", "where": "here"}
    with pytest.raises(RecordingError, match=r"name the network interface, `--interface NAME`, .*`dumpcap -D` lists"):
        Capturer(tmp_path / "any.pcapng", **asked).start()
    with pytest.raises(RecordingError, match="nothing9"):
        Capturer(tmp_path / "unknown.pcapng", interfaces=["nothing9"], **asked).start()
    recorder = Capturer(tmp_path / "lo.pcapng", interfaces=["lo"], **asked)
    recorder.start()
    subprocess.run(job(port, 20), check=True)
    recorded = recorder.stop()
    assert (recorded.trouble, recorded.dropped) == (None, 0)
    assert round_trips(recorded.path) == 20 + LOGIN


def packets(path: Path) -> int:
    """Of TCP: tcpdump's own last datagram is not among them."""
    done = subprocess.run(["tcpdump", "-r", str(path), "tcp"], capture_output=True, check=True)
    return len(done.stdout.splitlines())


def test_the_command_has_standard_output_and_the_result_standard_error(port: int, process: Run) -> None:
    done = process("record", "--server", f"127.0.0.1:{port}", "--", *job(port, 5))
    assert (done.returncode, done.stdout) == (0, b"asked\n")
    assert b"Where the time went" in done.stderr
    assert f"recorded 127.0.0.1:{port}; -o FILE.pcapng keeps the recording".encode() in done.stderr


def test_the_exit_status_is_the_commands_then_the_gates(port: int, latpcap: Run, tmp_path: Path) -> None:
    asks, too_many = (
        job(port, 5),
        ("--port", port, "--report", tmp_path / "result.json", "--fail-if", "round_trips > 5"),
    )
    assert latpcap("record", *too_many, "--", *asks).returncode == 1
    failing = latpcap("record", *too_many, "--", "sh", "-c", '"$@"; exit 42', "sh", *asks)
    assert (failing.returncode, b"gate failed: round_trips > 5: it is 8" in failing.stderr) == (42, True)
    nothing = latpcap("record", "--port", port, "--", "true")
    assert nothing.returncode == 4
    assert b"the recording: no TCP connection, so no database traffic" in nothing.stderr
    assert b"Unix socket" in nothing.stderr
    assert latpcap("record", "--port", port, "--", "no-such-command").returncode == 127


def test_a_relay_records_without_the_right_to_capture(port: int, latpcap: Run, tmp_path: Path) -> None:
    at, nobody = free_port(), free_port()
    relays = ("--relay", f"{at}:127.0.0.1:{port}", "--relay", f"{nobody}:127.0.0.1:{free_port()}")
    assert latpcap("record", *relays, "-o", tmp_path / "relayed.pcapng", "--", *job(at, 5)).returncode == 0
    assert round_trips(tmp_path / "relayed.pcapng") == LOGIN + 5
    assert f" {LOGIN + 5} round trips + " in latpcap("record", *relays, "--privacy", "--", *job(at, 5)).stderr.decode()
    assert b"refused the connection" in latpcap("record", *relays, "--", *job(nobody, 1)).stderr


@pytest.mark.parametrize("way", ["--port", "--relay"])
def test_a_server_that_refuses_is_told_without_advice_for_other_mistakes(way: str, latpcap: Run) -> None:
    nobody, relay = free_port(), free_port()
    asked, what = (nobody, nobody) if way == "--port" else (relay, f"{relay}:127.0.0.1:{nobody}")
    knock = f"import socket\nknocks = socket.socket()\nknocks.connect_ex(('127.0.0.1', {asked}))"
    knock += "\ntry: knocks.recv(1)\nexcept OSError: pass"
    done = latpcap("record", way, what, "--", sys.executable, "-c", knock)
    assert done.returncode == NoDatabaseTraffic.exit_status
    line = done.stderr.decode().splitlines()[-1]
    assert f"port {nobody} refused the connections or did not answer (recorded: " in line
    assert line.endswith(")")
    assert b"--decode-as" not in done.stderr


def test_headers_alone_are_enough_to_count(port: int, latpcap: Run, tmp_path: Path) -> None:
    path = tmp_path / "headers.pcapng"
    done = latpcap("record", "--port", port, "--privacy", "-o", path, "--", *job(port, 30))
    assert f" {30 + LOGIN} round trips + " in done.stderr.decode()
    assert b"WHERE emp" not in path.read_bytes()  # of each packet 34 bytes behind the headers are kept


def test_what_tls_sealed_is_read_with_the_secrets_that_the_command_logs(
    port: int, latpcap: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    clear, sealed = tmp_path / "clear.pcapng", tmp_path / "sealed.pcapng"
    told = latpcap("record", "--port", port, "--keylog", "-o", clear, "--", *job(port, 5)).stderr
    assert b"the command logged no TLS secret" in told
    told = latpcap("record", "--port", port, "--keylog", "-o", sealed, "--", *job(port, 5, "tls")).stderr
    assert b"sealed.pcapng holds the secrets of 1 TLS session: whoever has the file can read them" in told
    assert b"SELECT salary" in clear.read_bytes()
    assert b"SELECT salary" not in sealed.read_bytes()
    assert asked(sealed) == asked(clear)
    assert (tls_versions(clear), tls_versions(sealed)) == ([None], ["TLSv1.3"])
    told = latpcap("record", "--port", port, "--keylog", "--", *job(port, 5, "tls")).stderr
    assert b"SELECT salary" in told.replace(b"select", b"SELECT")
    assert b"holds the secrets" not in told  # nothing is kept that could hold them
    assert not list(temporary.iterdir())


def asked(path: Path) -> list[tuple[str, int | None]]:
    """What was asked once the login was over, and how many rows came back."""
    exchanges = latpcap.read(path, show_literals=True).exchanges.to_dicts()
    return [(row["statement"], row["rows"]) for row in exchanges if row["statement"]]


def tls_versions(path: Path) -> list[str | None]:
    return [row["tls_version"] for row in latpcap.read(path).connections.to_dicts()]


def test_a_session_in_python(port: int, tmp_path: Path) -> None:
    with latpcap.record(port=port, output=tmp_path / "session.pcapng") as session:
        subprocess.run(job(port, 10), check=True, capture_output=True)
        with pytest.raises(UsageError, match="has not ended"):
            _ = session.round_trips
    assert session.round_trips == 10 + LOGIN
    assert session.analysis.summary.connections == 1
    assert session.recorded.dropped == 0
    assert session.path == tmp_path / "session.pcapng"
    with pytest.raises(UsageError, match="records one block"), session:
        pass
    with latpcap.record(port=port) as silent:
        pass
    with pytest.raises(NoDatabaseTraffic, match="Unix socket"):
        _ = silent.round_trips
    folder = silent.path.parent
    assert folder.is_dir()
    del silent
    assert not folder.exists()


PREFORK = [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"]
"""A master that leaves all work to a child."""


@pytest.mark.parametrize("master", [[], PREFORK], ids=["itself", "a child of it"])
def test_a_process_that_runs_is_recorded_until_it_ends(port: int, master: list[str]) -> None:
    asks_later = JOB.replace("for number", "sys.stdin.readline()\nfor number", 1)
    asks = [*master, sys.executable, "-c", asks_later, str(port), "20"]
    record = [sys.executable, "-m", "latpcap", "record", "--pid"]
    with subprocess.Popen(asks, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as service:
        wait_until(lambda: bool(servers_of(service.pid)))
        with subprocess.Popen([*record, str(service.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            assert process.stderr.readline().decode() == f"latpcap: recording 127.0.0.1:{port}; Ctrl-C stops it\n"
            service.communicate(b"ask\n")
            out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert b" 20 round trips" in out


def test_it_ends_although_others_go_on_asking(port: int, latpcap: Run) -> None:
    asks_on = JOB.replace("range(times)", "iter(int, 1)").replace("    cursor.fetchall()", "    time.sleep(0.05)", 1)
    with subprocess.Popen([sys.executable, "-c", asks_on, str(port), "0"]) as other:
        wait_until(lambda: bool(servers_of(other.pid)))
        beside_a_command = latpcap("record", "--port", port, "--", "sleep", "0.2")
        for_a_while = latpcap("record", "--port", port, "--duration", "1s")
        other.kill()
    assert (beside_a_command.returncode, for_a_while.returncode) == (0, 0)
    assert b"warning: packets still arrived 2 s after the end, from other clients" in beside_a_command.stderr
    assert b"warning: packets still arrived" not in for_a_while.stderr


def command_of(process: subprocess.Popen[bytes]) -> int:
    return next(pid for name, pid in children_of(process).items() if name not in ("dumpcap", "sh"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_interrupted_is_analysed(number: signal.Signals, port: int, tmp_path: Path) -> None:
    path = tmp_path / "interrupted.pcapng"
    with started("--port", port, "-o", path, "--", *job(port, 5, "wait")) as process:
        wait_until(lambda: holds(path, 5 + LOGIN))  # the kernel hands packets over when it likes
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == 128 + number
    assert f"{5 + LOGIN} round trips".encode() in said


def test_after_kill_9_of_latpcap_the_recording_is_readable_and_the_command_goes_on(port: int, tmp_path: Path) -> None:
    path = tmp_path / "killed.pcapng"
    with started("--port", port, "-o", path, "--", *job(port, 5, "wait")) as process:
        children, command = children_of(process), command_of(process)
        wait_until(lambda: holds(path, 5 + LOGIN))  # the kernel hands packets over when it likes
        process.kill()
        wait_until(lambda: not runs(children["dumpcap"]))
        assert runs(command)
        os.kill(command, signal.SIGTERM)
    assert round_trips(path) == 5 + LOGIN


def test_after_kill_9_of_the_capturer_the_command_goes_on_and_the_rest_is_told(port: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcapng"
    with started("--port", port, "-o", path, "--", *job(port, 5, "wait")) as process:
        wait_until(lambda: holds(path, 5 + LOGIN))
        os.kill(children_of(process)["dumpcap"], signal.SIGKILL)
        os.kill(command_of(process), signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"dumpcap was ended by SIGKILL: later packets are not recorded" in said
    assert f"{5 + LOGIN} round trips".encode() in said


def test_after_kill_9_of_the_command_what_it_asked_is_analysed(port: int) -> None:
    with started("--port", port, "--", *job(port, 5, "wait")) as process:
        os.kill(command_of(process), signal.SIGKILL)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL
    assert f"{5 + LOGIN} round trips".encode() in said


def test_a_relay_records_without_any_rights(port: int, tmp_path: Path) -> None:
    relay, path = free_port(), tmp_path / "relayed.pcapng"
    without = ["setpriv", "--bounding-set", "-net_raw,-net_admin", "--inh-caps", "-net_raw,-net_admin"]
    command = [*without, sys.executable, "-m", "latpcap", "record", "--relay", f"{relay}:127.0.0.1:{port}", "-o", path]
    done = subprocess.run([*command, "--", *job(relay, 10)], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"asked\n"), done.stderr
    assert f"{10 + LOGIN} round trips".encode() in done.stderr
    assert round_trips(path) == 10 + LOGIN


def test_who_may_not_capture_is_told_what_to_do(process: Run) -> None:
    without = ["setpriv", "--bounding-set", "-net_raw,-net_admin", "--inh-caps", "-net_raw,-net_admin"]
    command = [*without, sys.executable, "-m", "latpcap", "record", "--port", "5432", "--", "true"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == RecordingError.exit_status
    assert done.stderr.count(b"\n") == 1
    assert b"CAP_NET_RAW" in done.stderr
    assert b"--relay" in done.stderr


def test_where_it_cannot_record_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordingError, match="nosuch0: no such network interface; there are lo"):
        Capturer(tmp_path / "x", capture_filter="tcp", where="TCP", interfaces=["nosuch0"]).start()
    monkeypatch.setattr(tools, "_found", lambda name: None)
    with pytest.raises(RecordingError, match="neither dumpcap nor tcpdump is installed"):
        Capturer(tmp_path / "x", capture_filter="tcp", where="TCP").start()
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_cannot_be_written_is_told_before_the_command_runs(latpcap: Run) -> None:
    for ways in (("--port", "5432"), ("--relay", f"{free_port()}:127.0.0.1:5432")):
        done = latpcap("record", *ways, "-o", "/proc/job.pcapng", "--", "false")
        assert done.returncode == UsageError.exit_status
        assert done.stderr == b"latpcap: /proc/job.pcapng: cannot be written: No such file or directory\n"


def test_a_recording_takes_the_place_of_a_link_and_of_what_others_may_read(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "x.pcapng"
    precious.write_text("mine")
    precious.chmod(0o666)
    for make in (path.symlink_to, path.hardlink_to):
        make(precious)
        recorder = Capturer(path, capture_filter="tcp port 9", where="TCP port 9", interfaces=["lo"])
        recorder.start()
        assert (path.stat().st_mode & 0o777, path.is_symlink()) == (0o600, False)
        recorder.stop(at_once=True)
        assert (precious.read_text(), path.stat().st_mode & 0o777) == ("mine", 0o600)
        assert sorted(each.name for each in tmp_path.iterdir()) == ["precious", "x.pcapng"]
        path.unlink()


def test_a_full_disk_is_told_and_the_command_goes_on(port: int, latpcap: Run) -> None:
    done = latpcap("record", "--port", port, "-o", "/dev/full", "--", *job(port, 5))
    assert b"warning: dumpcap: no space left on the disk: later packets are not recorded" in done.stderr
    assert (done.returncode, done.stdout) == (3, b"")


def test_a_ring_keeps_the_last_files(port: int, latpcap: Run, tmp_path: Path) -> None:
    done = latpcap("record", "--port", port, "--ring", "2x20kB", "-o", tmp_path / "app.pcapng", "--", *job(port, 200))
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("app_*.pcapng"))) == 2
