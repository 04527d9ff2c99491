"""The lab's two namespaces: cubic whatever the host allows, and nothing of them stays, nor any setting changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from rehearsed import machine, needs_namespaces

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces with names need root"),
    needs_namespaces,
]
CONTAINED = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
"""Names of namespaces are files of /run, and what runs in here ends with the test, however that ends."""
IN_A_RUN_OF_ITS_OWN = ["sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", "bash", "-c"]
SHOWS_WHAT_IS_LEFT = """
echo "namespaces: $(ip netns list)"
echo "processes: $(pgrep -cf 'link[.]py')"
"""
SERVER = """
import socket, sys
listener = socket.create_server(("10.77.0.2", 7))
print("ready", file=sys.stderr, flush=True)
connection, _ = listener.accept()
print(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
"""
CLIENT = """
import socket
connection = socket.create_connection(("10.77.0.2", 7), timeout=20)
print(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
"""
CONNECTS = f"""
ip netns exec labs "$LATPCAP_PYTHON" -c '{SERVER}' >"$LATPCAP_LAB/said" 2>"$LATPCAP_LAB/server" &
until grep -q ready "$LATPCAP_LAB/server"; do sleep .05; done
ip netns exec labc "$LATPCAP_PYTHON" -c '{CLIENT}'
wait $!
cat "$LATPCAP_LAB/said"
"""
IS_KILLED = """
"$LAB/up.sh" >&2 & up=$!
until [ -s "$LATPCAP_LAB/run/dl.pid" ]; do sleep .01; done
kill -KILL $up
"""


def told(script: str, home: Path) -> list[str]:
    """What the script prints, with the lab of this folder in a place where nobody else sees it."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("LATPCAP_")},
        "LATPCAP_LAB": str(home), "LATPCAP_PYTHON": sys.executable, "LAB": str(ROOT / "benchmarks/lab"),
    }  # fmt: skip
    done = subprocess.run(
        [*CONTAINED, *IN_A_RUN_OF_ITS_OWN, script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_both_ends_are_cubic_and_down_leaves_nothing(tmp_path: Path) -> None:
    before = machine()
    up, down = '"$LAB/up.sh" >&2 || exit 1', '"$LAB/down.sh"'
    assert told(f"{up}\n{CONNECTS}\n{down}\n{SHOWS_WHAT_IS_LEFT}", tmp_path) == [
        "cubic", "cubic", "namespaces: ", "processes: 0",
    ]  # fmt: skip
    assert machine() == before
    assert not list((tmp_path / "run").iterdir())


def test_down_ends_what_a_killed_up_has_begun(tmp_path: Path) -> None:
    before = machine()
    assert told(f'{IS_KILLED}\n"$LAB/down.sh"\n{SHOWS_WHAT_IS_LEFT}', tmp_path) == ["namespaces: ", "processes: 0"]
    assert machine() == before


def test_what_is_not_as_booted_is_said(tmp_path: Path) -> None:
    changes = "ip netns add seen; sysctl -qw net.ipv4.ip_local_reserved_ports=7"
    said = told(f"unshare --net bash -c '{changes}; {ROOT}/.ci/machine'", tmp_path)
    assert said[0] == "not as booted:"
    assert "  setting: net.ipv4.ip_local_reserved_ports is '7', at boot ''" in said
    assert "  network namespace: seen" in said


def test_a_number_that_another_process_has_got_is_not_ended(tmp_path: Path) -> None:
    """As after a boot: the lab's files are older than the process."""
    (tmp_path / "run").mkdir()
    with subprocess.Popen(["sleep", "1000"]) as other:
        pid = tmp_path / "run" / "dl.pid"
        pid.write_text(f"{other.pid}\n")
        os.utime(pid, (0, 0))
        environment = os.environ | {
            "LATPCAP_LAB": str(tmp_path),
            "LATPCAP_CLIENT_NS": "none1",
            "LATPCAP_SERVER_NS": "none2",
        }
        subprocess.run([str(ROOT / "benchmarks/lab/down.sh")], env=environment, check=True, capture_output=True)
        assert other.poll() is None
        other.kill()
