"""What is to be recorded, and what a recording is made of: all that needs no packets."""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import damage
import pytest
from conftest import FIXTURES, load_fixture
from test_cli import failed

import latpcap
from latpcap import record, rehearse
from latpcap.errors import NoDatabaseTraffic, UsageError
from latpcap.live.capture_scope import usual_ports, watched
from latpcap.live.capturing import rights
from latpcap.live.capturing.capturer import _as_pcapng
from latpcap.live.capturing.folder import Folder
from latpcap.live.capturing.ring import Ring, parse_ring
from latpcap.live.capturing.tools import _dropped_by_dumpcap, _dropped_by_tcpdump
from latpcap.live.keylog import embed, told_to_log
from latpcap.live.routes import interfaces_to
from latpcap.tables.reading.keys import key_log

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_ports_and_servers_become_a_capture_filter() -> None:
    assert watched(ports=[5432]).capture_filter == "tcp port 5432"
    both = watched(ports=[5432], servers=["127.0.0.1:3306", "[::1]:3306"])
    assert both.capture_filter == (
        "tcp port 5432 or (tcp port 3306 and (host 127.0.0.1)) or (tcp port 3306 and (host ::1))"
    )
    assert both.text == "TCP port 5432, 127.0.0.1:3306, [::1]:3306"
    assert both.interfaces == ()  # a port may be anywhere
    assert {3306, 5432, 1521, 3050} <= set(usual_ports()) == set(watched().ports)


def test_an_address_of_this_machine_is_reached_by_loopback() -> None:
    if shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
        pytest.skip("not installed: ip")
    assert interfaces_to(["127.0.0.1"]) == watched(servers=["127.0.0.1:3306"]).interfaces == ("lo",)
    assert interfaces_to(["not-an-address"]) == ()


def test_what_does_not_go_together_is_refused_before_anything_runs(latpcap: Run, tmp_path: Path) -> None:
    refused: dict[str, tuple[object, ...]] = {
        "nothing to record: give a command": (),
        "leave out the command": ("--duration", "1s", "--", "true"),
        "cannot be set for a running process": ("--keylog", "--port", 1),
        "--ring keeps files": ("--ring", "10x1MB", "--port", 1),
        "write 10x100MB": ("--ring", "100MB", "--port", 1),
        "each output needs a file of its own": ("-o", "x", "--report", "x", "--", "true"),
        "name it .pcapng; for the result there is `--report x.json`": ("-o", "x.json", "--", "true"),
        "and not compressed: name it .pcapng": ("-o", "x.pcapng.gz", "--", "true"),
        "no such directory": ("-o", tmp_path / "no/x.pcapng", "--", "true"),
        "'abc' is no TCP port: give a number from 1 to 65535": ("--port", "abc", "--", "true"),
        "is not HOST:PORT": ("--server", "db", "--", "true"),
        "no such process": ("--pid", 1 << 30),
        "--pid finds the servers: leave out": ("--pid", 1, "--port", 1),
        "is not a relay: write": ("--relay", "5432", "--", "true"),
        "--relay records what connects to it": ("--relay", "1:db:2", "--port", 1, "--", "true"),
    }
    for message, arguments in refused.items():
        status, line = failed(latpcap("record", *arguments))
        assert (status, message in line) == (2, True), line
    assert failed(latpcap("record", "--server", "no.such.invalid:1", "--", "true"))[0] == 7


@pytest.mark.parametrize("port", ["x", 0, 70000, -1, True, 3.5, None, [5432, "y"]])
def test_a_port_that_is_none_is_refused_in_python_too(port: Any) -> None:
    for ask in (record, partial(rehearse, ["true"], rtt_ms=5)):
        with pytest.raises(UsageError, match=r" is no TCP port: give a number from 1 to 65535$"):
            ask(port=port)


@pytest.mark.parametrize("name", ["prot", "decode_ass", "source"])
def test_a_keyword_that_there_is_not_is_refused_before_the_block_runs(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^record\(\) got an unexpected keyword argument '{name}'$"):
        record(port=5432, **{name: 1})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"server": 5432}, "`5432` is not HOST:PORT"),
        ({"relay": 5432}, "`5432` is not a relay"),
        ({"loss": 2}, "2 is not a share of packets"),
        ({"loss": -0.1}, "-0.1 is not a share of packets"),
        ({"bandwidth_bps": 0}, "0 is not a bandwidth above 0"),
        ({"command": "python job.py"}, "the command is a list of words"),
        ({"relay": "15432:db:5432", "port": 5432}, "--relay names the servers: leave out"),
        ({"command": []}, "the command is a list of words"),
    ],
)
def test_what_no_rehearsal_can_be_is_refused_in_one_line(given: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=f"^{told}"):
        rehearse(given.pop("command", ["true"]), rtt_ms=5, **given)


def test_connections_that_nobody_let_in_are_told_apart() -> None:
    packets = damage.read(load_fixture("mysql/nplus1-300-client").path)
    with pytest.raises(NoDatabaseTraffic, match="with an unanswered SYN") as raised:
        latpcap.read(damage.pcapng(packets[:1])).analyze()
    assert not raised.value.let_in
    with pytest.raises(NoDatabaseTraffic, match="no TCP connection, so no database traffic") as raised:
        latpcap.read(damage.pcapng(packets[:0])).analyze()
    assert raised.value.let_in


def test_the_way_to_the_right_to_capture_is_the_one_that_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "dumpcap"
    tool.touch(mode=0o754)
    group = grp.getgrgid(tool.stat().st_gid).gr_name
    monkeypatch.setattr(rights, "may_gain_nothing", lambda: False)
    monkeypatch.setattr(rights.os, "geteuid", lambda: 1000)
    assert f"`sudo setcap cap_net_raw,cap_net_admin=eip {tool}`" in rights.how_to_be_allowed(str(tool))
    monkeypatch.setattr(rights.os, "access", lambda path, mode: False)
    assert f"`sudo usermod -aG {group} $USER`" in rights.how_to_be_allowed(str(tool))
    monkeypatch.setattr(rights, "may_gain_nothing", lambda: True)
    told = rights.how_to_be_allowed(str(tool))
    assert "no_new_privs" in told
    assert "sudo" not in told


def test_a_process_that_may_gain_no_rights_knows_it() -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("not installed: setpriv")
    ask = "from latpcap.live.capturing.rights import may_gain_nothing; print(may_gain_nothing())"
    command = ["setpriv", "--no-new-privs", sys.executable, "-c", ask]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


def test_drops_are_what_the_capturers_say() -> None:
    said = "Packets: 5\nPackets received/dropped on interface '{}': 12/3 (pcap:2/dumpcap:1/flushed:0/ps_ifdrop:0) (80%)"
    assert _dropped_by_dumpcap(f"{said.format('lo')}\n{said.format('it is 1/2')}") == 6
    assert _dropped_by_dumpcap("killed") is None
    assert _dropped_by_tcpdump("12 packets captured\n3 packets dropped by kernel\n1 packet dropped by interface\n") == 4
    assert _dropped_by_tcpdump("12 packets captured") is None


def test_drops_that_tcpdump_told_are_a_health_note(tmp_path: Path) -> None:
    path = tmp_path / "dropped.pcapng"
    full = FIXTURES / "mysql/nplus1-300-client.pcapng"
    subprocess.run(["editcap", "-F", "pcap", str(full), str(path)], check=True)
    assert _as_pcapng(path, 7) is None
    capture = latpcap.read(path)
    assert capture.analyze().summary.round_trips == latpcap.read(full).analyze().summary.round_trips
    notes = {note["code"]: note["count"] for note in capture.health.to_dicts()}
    assert notes["capture-drops"] == 7


def test_a_command_is_told_where_to_log_its_secrets(tmp_path: Path) -> None:
    told = told_to_log(tmp_path / "keys", {"NODE_OPTIONS": "--trace-warnings", "HOME": "/root"})
    assert told["SSLKEYLOGFILE"] == str(tmp_path / "keys")
    assert told["NODE_OPTIONS"] == f"--trace-warnings --tls-keylog={tmp_path / 'keys'}"
    assert told["HOME"] == "/root"


def test_the_secrets_of_the_recording_go_into_its_file(tmp_path: Path) -> None:
    path, name = tmp_path / "sealed.pcapng", "pymysql-tlsv12"
    packed, keys = FIXTURES / f"keys/{name}.pcapng.zst", FIXTURES / f"keys/{name}.keys"
    subprocess.run(["zstd", "-dq", str(packed), "-o", str(path)], check=True)
    log = key_log(str(keys))
    assert log is not None
    sealed = latpcap.read(path)
    assert sealed.analyze().timing_only
    assert embed(log, latpcap.read(path, keylog=log).measures.recording.core, path) > 0
    assert not latpcap.read(path).analyze().timing_only
    assert [each.name for each in tmp_path.iterdir()] == ["sealed.pcapng"]


def test_what_a_killed_latpcap_left_goes_with_the_next_start(tmp_path: Path) -> None:
    left = "import os, sys\nfrom latpcap.live.capturing.folder import Folder\n"
    left += "folder = Folder(sys.argv[1])\n(folder.path / 'keys').touch()\nos.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", left, str(tmp_path)], check=False)
    assert [[each.name for each in folder.iterdir()] for folder in tmp_path.iterdir()] == [["keys"]]
    with Folder(tmp_path) as first, Folder(tmp_path) as second:
        assert set(tmp_path.iterdir()) == {first.path, second.path}
        kept = second.keep()
        if (child := os.fork()) == 0:
            first.remove()
            os._exit(0)
        os.waitpid(child, 0)
        with Folder(tmp_path):
            assert first.path.is_dir()
    assert list(tmp_path.iterdir()) == [kept]


def test_a_ring_takes_dumpcaps_files_oldest_first(tmp_path: Path) -> None:
    for name in ("app_00010_20261122101530.pcapng", "app_00009_20261122101500.pcapng", "app_1.pcapng", "app.pcapng"):
        (tmp_path / name).touch()
    found = parse_ring("10x100MB").files(tmp_path / "app.pcapng")
    assert [path.name[4:9] for path in found] == ["00009", "00010"]
    assert Ring(10, 100_000_000).options() == ["-b", "files:10", "-b", "filesize:100000"]
