"""The delay link between two network namespaces, with real TCP across it; `benchmarks/lab/link.py` runs it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from rehearsed import needs_namespaces

from latpcap._core import Link

pytestmark = needs_namespaces

LAB = Path(__file__).resolve().parents[2] / "benchmarks/lab"
SERVER = """
import socket
listener = socket.create_server(("10.77.0.2", 7))
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while piece := connection.recv(65536):
            connection.sendall(piece)
"""
CLIENT = """
import json, os, socket, sys, time
size, times = map(int, sys.argv[1:])
connection = socket.create_connection(("10.77.0.2", 7), timeout=10)
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
taken = []
for _ in range(times):
    sent, back = os.urandom(size), b""
    began = time.monotonic()
    connection.sendall(sent)
    while len(back) < size:
        back += connection.recv(65536)
    taken.append(1000 * (time.monotonic() - began))
    assert back == sent
print(json.dumps(taken))
"""


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def wait_until(what: Callable[[], object], *, for_s: float = 20) -> None:
    ends = time.monotonic() + for_s
    while not what():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.02)


def inside(namespace: str, *command: str) -> list[str]:
    return ["nsenter", f"--net={namespace}", *command]


@pytest.fixture
def namespaces() -> Iterator[tuple[str, str]]:
    """Two empty ones, the client's and the server's: without names, so that they go with the process that has them."""
    keep = ["unshare", "--net", "sh", "-c", "echo made && exec sleep 1000"]
    with ExitStack() as kept:
        paths = []
        for _ in range(2):
            keeper = kept.enter_context(subprocess.Popen(keep, stdout=subprocess.PIPE, text=True))
            kept.callback(keeper.kill)
            assert keeper.stdout
            assert keeper.stdout.readline() == "made\n"
            paths.append(f"/proc/{keeper.pid}/ns/net")
        yield paths[0], paths[1]


def join(namespaces: tuple[str, str]) -> None:
    """Give the link's devices their addresses."""
    client, server = namespaces
    for namespace, device, own, peer in (
        (client, "tunc", "10.77.0.1", "10.77.0.2"),
        (server, "tuns", "10.77.0.2", "10.77.0.1"),
    ):
        run(*inside(namespace, "ip", "address", "add", own, "peer", peer, "dev", device))
        run(*inside(namespace, "ip", "link", "set", device, "up"))


@dataclass
class Lab:
    program: subprocess.Popen[str]
    folder: Path
    namespaces: tuple[str, str]

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `dlctl.py`."""
        argv = [sys.executable, str(LAB / "dlctl.py"), *words]
        return subprocess.run(argv, env=os.environ | {"LATPCAP_LAB": str(self.folder)}, capture_output=True, text=True)

    def control(self, *words: str) -> dict:
        done = self.ask(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def echoes(self, size: int, times: int) -> list[float]:
        """How long each took, in ms."""
        argv = inside(self.namespaces[0], sys.executable, "-c", CLIENT, str(size), str(times))
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def lab(namespaces: tuple[str, str], tmp_path: Path) -> Iterator[Lab]:
    """The link and a server that echoes."""
    client, server = namespaces
    (tmp_path / "run").mkdir()
    argv = [sys.executable, str(LAB / "link.py"), client, "tunc", server, "tuns", "-d", "20000"]
    argv += ["-u", str(tmp_path / "run/dl.sock")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout
            assert program.stdout.readline() == "ready\n"
            join(namespaces)
            echo = inside(server, sys.executable, "-c", SERVER)
            with subprocess.Popen(echo, stdout=subprocess.PIPE, text=True) as echoing:
                assert echoing.stdout
                assert echoing.stdout.readline() == "ready\n"
                yield Lab(program, tmp_path, namespaces)
                echoing.kill()
        finally:
            program.kill()


def test_a_round_trip_takes_what_was_asked(lab: Lab) -> None:
    lab.control("reset")
    assert min(lab.echoes(100, 5)) >= 20
    assert lab.control("rtt=2000")["rtt_us"] == 2000
    assert min(lab.echoes(100, 5)) >= 2
    wait_until(lambda: all(way["rx"] == way["tx"] for way in lab.control()["dirs"]))
    there, back = lab.control()["dirs"]
    assert min(there["tx"], back["tx"]) >= 2 * (5 + 2), "two connections, ten echoes"
    assert min(there["bytes"], back["bytes"]) >= 10 * 140
    assert [there[key] for key in ("lost", "qdrop", "werr")] == [0, 0, 0]


def test_bulk_goes_through_a_bottleneck_that_drops(lab: Lab) -> None:
    lab.control("rtt=4000", "rate=50e6", "queue=30000", "reset")
    (taken,) = lab.echoes(1_000_000, 1)
    assert taken >= 1_000_000 * 8 / 50e6 * 1e3 + 4
    wait_until(lambda: all(way["rx"] == way["tx"] + way["qdrop"] for way in lab.control()["dirs"]))
    assert sum(way["qdrop"] for way in lab.control()["dirs"]) > 0


def test_what_is_lost_is_counted_and_sent_again(lab: Lab) -> None:
    lab.control("rtt=1000", "loss=5", "reset")
    lab.echoes(300_000, 1)
    wait_until(lambda: all(way["rx"] == way["tx"] + way["lost"] for way in lab.control()["dirs"]))
    assert sum(way["lost"] for way in lab.control()["dirs"]) > 0


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("loss=200", "the share of packets lost lies between 0 and 1, not at 2"),
        ("rtt=-5000", "-5 ms is no RTT of a link"),
        ("rtt=nan", "NaN ms is no RTT of a link"),
    ],
)
def test_what_no_link_can_do_is_refused(lab: Lab, asked: str, told: str) -> None:
    done = lab.ask(asked)
    assert (done.returncode, done.stderr) == (1, f"the link cannot be set: {told}\n")
    assert lab.control()["rtt_us"] == 20000


def test_whoever_asks_and_leaves_does_no_harm(lab: Lab) -> None:
    for message in (b"rtt=3000", b"\xff\xfe", b"", b"=,=", b"rate=1e999", b"queue=-1"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
            asking.bind(str(lab.folder / "gone"))
            (lab.folder / "gone").unlink()
            asking.sendto(message, str(lab.folder / "run/dl.sock"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as nameless:
            nameless.sendto(message, str(lab.folder / "run/dl.sock"))
    assert lab.control()["rtt_us"] == 3000


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_devices_go_with_the_program(lab: Lab, how: signal.Signals) -> None:
    lab.program.send_signal(how)
    lab.program.wait(20)
    for namespace in lab.namespaces:
        shown = subprocess.run(inside(namespace, "ip", "-o", "link"), capture_output=True, text=True, check=True)
        assert "tun" not in shown.stdout


def test_a_device_that_goes_is_told(namespaces: tuple[str, str]) -> None:
    client, server = namespaces
    link = Link((client, "tunc"), (server, "tuns"))
    assert link.failure is None
    run(*inside(server, "ip", "link", "del", "tuns"))
    wait_until(lambda: link.failure)
    assert str(link.failure).startswith("a device of the link is gone: ")
    link.stop()


def test_what_cannot_be_opened_is_named(namespaces: tuple[str, str]) -> None:
    here = namespaces[0]
    with pytest.raises(OSError, match="network namespace /run/netns/nowhere: No such file"):
        Link(("/run/netns/nowhere", "tunc"), (here, "tuns"))
    with pytest.raises(OSError, match="TUN device a-name-that-is-too-long: a name has 1 to 15 bytes"):
        Link((here, "a-name-that-is-too-long"), (here, "tuns"))
    with pytest.raises(OSError, match="TUN device tunc: "):
        Link((here, "tunc"), (here, "tunc"))
