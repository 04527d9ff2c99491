"""The network of a rehearsed job: only the way to its servers is slow, all else is as ever, nothing stays behind."""

import json
import os
import resource
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from loopback import wait_until
from rehearsed import crossed, machine, needs_namespaces

from latpcap.errors import RecordingError
from latpcap.live.link.network import INTERFACE, LinkConditions, Network

RTT_MS = 10
NOBODY = 65534
pytestmark = [needs_namespaces]


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it reads; `bye` makes it hang up, `reset` reset the connection."""

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while piece := self.request.recv(65536):
            if piece == b"bye":
                self.request.sendall(b"last words")
                return
            if piece == b"reset":
                self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.request.close()
                return
            self.request.sendall(piece)
        self.request.sendall(b"end seen")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(self, family: socket.AddressFamily, address: str, port: int) -> None:
        self.address_family = family
        super().__init__((address, port), Echo)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


@pytest.fixture(scope="module")
def ports() -> Iterator[list[int]]:
    """Of two servers that listen at 127.0.0.1 and ::1."""
    servers = []
    for _ in range(2):
        servers.append(Server(socket.AF_INET, "127.0.0.1", 0))
        servers.append(Server(socket.AF_INET6, "::1", servers[-1].server_address[1]))
    yield [server.server_address[1] for server in servers[::2]]
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def network(ports: list[int]) -> Iterator[Network]:
    """The first server is farther away."""
    with Network([f"127.0.0.1:{ports[0]}"], LinkConditions(rtt_ms=RTT_MS)) as network:
        yield network


JOB = """
import json, socket, sys, time
def connect(port, host="127.0.0.1"):
    connection = socket.create_connection((host, int(port)), timeout=20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
def tell(*what):
    print(json.dumps(what), flush=True)
"""


def job(network: Network, program: str, *arguments: object, **options: object) -> list[object]:
    """What a job in the network tells."""
    words = [*network.prefix(), sys.executable, "-c", JOB + program, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


ECHO = """
connection = connect(*sys.argv[1:])
taken = []
for _ in range(10):
    began = time.perf_counter()
    connection.sendall(b"question")
    assert connection.recv(100) == b"question"
    taken.append(1000 * (time.perf_counter() - began))
tell(connection.getpeername()[:2], min(taken))
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "127.0.0.2"])
def test_a_server_of_this_machine_is_farther_away_by_the_rtt(network: Network, ports: list[int], host: str) -> None:
    if host == "127.0.0.2":
        Server(socket.AF_INET, host, ports[0])
    peer, least = job(network, ECHO, ports[0], host)
    assert peer == [host, ports[0]]
    assert least >= RTT_MS  # type: ignore[operator]
    assert crossed(network) >= 2 * 10


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_another_server_is_reached_without_the_link(network: Network, ports: list[int], host: str) -> None:
    assert job(network, ECHO, ports[1], host)[0] == [host, ports[1]]
    assert crossed(network) == 0


def test_the_server_sees_the_client_that_it_always_sees(ports: list[int]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Network([f"127.0.0.1:{server.getsockname()[1]}"], LinkConditions(rtt_ms=1)) as network,
        subprocess.Popen(
            [*network.prefix(), sys.executable, "-c", JOB + "connect(sys.argv[1])", str(server.getsockname()[1])]
        ),
    ):
        connection, client = server.accept()
        connection.close()
    assert client[0] == "127.0.0.1"


REFUSED = """
for host in "127.0.0.1", "::1":
    try:
        connect(sys.argv[1], host)
    except ConnectionRefusedError:
        continue
    tell(host, "did not refuse")
    sys.exit()
tell("refused")
"""


def test_a_server_that_is_not_there_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with Network([f"127.0.0.1:{port}"], LinkConditions(rtt_ms=1)) as network:
        assert job(network, REFUSED, port) == ["refused"]
        assert crossed(network) >= 2 * 2


def test_a_server_that_goes_refuses_from_then_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        network = Network([f"127.0.0.1:{port}"], LinkConditions(rtt_ms=1)).__enter__()
        job(network, "connect(sys.argv[1]); tell()", port)
    with closing(network):
        assert job(network, REFUSED, port) == ["refused"]


def test_a_port_that_nothing_listens_on_is_the_job_s_own(network: Network) -> None:
    program = """
server = socket.create_server(("127.0.0.1", 0))
client = connect(server.getsockname()[1])
client.sendall(b"hello")
tell(server.accept()[0].recv(5).decode())
"""
    assert job(network, program) == ["hello"]


def test_ends_and_resets_are_passed_on(network: Network, ports: list[int]) -> None:
    program = """
def until_end(connection):
    pieces = []
    while piece := connection.recv(100):
        pieces.append(piece)
    return b"".join(pieces).decode()
half = connect(sys.argv[1])
half.sendall(b"question")
half.shutdown(socket.SHUT_WR)
said = [until_end(half)]
closed = connect(sys.argv[1])
closed.sendall(b"bye")
said.append(until_end(closed))
reset = connect(sys.argv[1])
reset.sendall(b"reset")
try:
    said.append(until_end(reset))
except ConnectionResetError:
    said.append("reset")
tell(*said)
"""
    assert job(network, program, ports[0]) == ["questionend seen", "last words", "reset"]


def test_what_is_large_arrives_whole(network: Network, ports: list[int]) -> None:
    program = """
import hashlib, os, threading
connection, sent, got = connect(sys.argv[1]), hashlib.sha256(), hashlib.sha256()
pieces = [os.urandom(1 << 20) for _ in range(8)]
def send():
    for piece in pieces:
        sent.update(piece)
        connection.sendall(piece)
sender = threading.Thread(target=send)
sender.start()
left = 8 << 20
while left:
    piece = connection.recv(1 << 16)
    got.update(piece)
    left -= len(piece)
sender.join()
tell(sent.hexdigest() == got.hexdigest())
"""
    for port in ports:
        assert job(network, program, port) == [True]


def test_hundreds_of_connections_at_once(network: Network, ports: list[int]) -> None:
    program = """
connections = [connect(sys.argv[1]) for _ in range(50)]
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(450) as pool:
    connections += pool.map(connect, [sys.argv[1]] * 450)
for number, connection in enumerate(connections):
    connection.sendall(b"%03d" % number)
tell(all(connection.recv(3) == b"%03d" % number for number, connection in enumerate(connections)))
"""
    assert job(network, program, ports[0]) == [True]


def test_datagrams_are_answered_without_the_link(ports: list[int]) -> None:
    program = """
said = []
for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        asking.settimeout(20)
        asking.connect((host, int(sys.argv[1])))
        asking.send(b"question")
        said.append(asking.recv(100).decode())
tell(*said)
"""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", 0))

        def answer() -> None:
            for _ in range(2):
                question, client = server.recvfrom(100)
                server.sendto(b"answer to " + question, client)

        threading.Thread(target=answer, daemon=True).start()
        with Network([f"127.0.0.1:{ports[0]}"], LinkConditions(rtt_ms=RTT_MS)) as network:
            assert job(network, program, server.getsockname()[1]) == ["answer to question"] * 2
            assert crossed(network) == 0


def test_the_command_keeps_its_user_folder_environment_and_limits(network: Network, tmp_path: Path) -> None:
    program = "import os, resource; tell(os.getuid(), os.getcwd(), os.environ['X'], resource.getrlimit(7)[0])"
    limit = network._files[0]
    told = job(network, program, cwd=tmp_path, env={**os.environ, "X": "y"})
    assert told == [os.getuid(), str(tmp_path), "y", limit]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= limit


def test_a_command_that_cannot_be_run_ends_in_one_line(network: Network) -> None:
    done = subprocess.run([*network.prefix(), "no-such-command"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (127, "latpcap: no-such-command: No such file or directory\n")


def test_an_idle_network_sends_nothing(network: Network) -> None:
    job(network, "time.sleep(0.2); tell()")
    assert crossed(network) == 0


def congestion_controls(which: str = "") -> list[str]:
    return Path(f"/proc/sys/net/ipv4/tcp_{which}congestion_control").read_text().split()


CONTROLLED = """
connections = [connect(port, host) for port in sys.argv[1:] for host in ("127.0.0.1", "::1")]
tell(*(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode() for each in connections))
sys.stdin.read()
"""


@pytest.mark.parametrize("asked", ["", *congestion_controls("available_")])
def test_both_ends_have_the_congestion_control_that_is_asked_for(ports: list[int], asked: str) -> None:
    """Whatever the host has, also what it does not let namespaces choose; without asking its own."""
    (expected,) = [asked] if asked else congestion_controls()
    with Network([f"127.0.0.1:{ports[0]}"], LinkConditions(rtt_ms=1), asked) as network:
        assert network._keeper is not None  # which is in the namespace of the far ends
        words = [*network.prefix(), sys.executable, "-c", JOB + CONTROLLED, *map(str, ports)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as connected:
            assert connected.stdout is not None
            assert json.loads(connected.stdout.readline()) == [expected] * 4
            there = ["nsenter", f"--net=/proc/{network._keeper.pid}/ns/net", "ss", "-Htin", "state", "established"]

            def far() -> list[str]:
                shown = subprocess.run(there, capture_output=True, text=True, check=True).stdout
                return [line.split()[0] for line in shown.splitlines()[1::2]]

            wait_until(lambda: len(far()) == 4)  # the last acknowledgment may be on its way still
            assert far() == [expected] * 4
            connected.communicate()


def test_a_congestion_control_that_the_host_lacks_is_told() -> None:
    with pytest.raises(RecordingError, match=r"no congestion control nonsense here, but .*reno"):
        Network(["127.0.0.1:1"], LinkConditions(rtt_ms=1), "nonsense").__enter__()


# --- the end ----------------------------------------------------------------------------------------------------------


def lives(process: int) -> bool:
    """Not so if only its parent has not heard of its end yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def inside(namespace: int) -> list[int]:
    """The processes there."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "ns/net").stat().st_ino == namespace:
                found.append(int(process.name))
        except OSError:
            continue
    return found


REHEARSAL = """
import os, subprocess, sys, time
from latpcap.live.link.network import LinkConditions, Network
with Network([f"127.0.0.1:{sys.argv[1]}"], LinkConditions(rtt_ms=10)) as network:
    daemon = ["sh", "-c", "trap '' TERM; (sleep 1000 & sleep 1000) & exec sleep 1000"]
    command = subprocess.Popen([*network.prefix(), *daemon])
    while os.readlink(f"/proc/{command.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        time.sleep(0.01)
    print(os.getpid(), network._keeper.pid, command.pid, os.stat(f"/proc/{command.pid}/ns/net").st_ino, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("killed", ["latpcap", "the keeper", "the command", "all three", "nobody"])
def test_nothing_stays_behind_whoever_is_killed(ports: list[int], killed: str) -> None:
    before = machine()
    with subprocess.Popen(
        [sys.executable, "-c", REHEARSAL, str(ports[0])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as latpcap:
        assert latpcap.stdout is not None
        assert latpcap.stdin is not None
        own, keeper, command, namespace = map(int, latpcap.stdout.readline().split())
        assert namespace != os.stat("/proc/self/ns/net").st_ino
        wait_until(lambda: len(inside(namespace)) == 3)
        assert machine() == before
        victims = {
            "latpcap": [own],
            "the keeper": [keeper],
            "the command": [command],
            "all three": [keeper, own, command],
            "nobody": [],
        }[killed]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        latpcap.stdin.close()
    wait_until(lambda: not lives(keeper))
    if killed == "all three":  # nobody is left who could end the command's children: they have no network any more
        assert len(inside(namespace)) == 2
        for left in inside(namespace):
            os.kill(left, signal.SIGKILL)
    wait_until(lambda: not inside(namespace))
    assert machine() == before


def test_what_still_runs_is_ended_and_counted(ports: list[int]) -> None:
    with Network([f"127.0.0.1:{ports[0]}"], LinkConditions(rtt_ms=1)) as network:
        subprocess.run([*network.prefix(), "sh", "-c", "sleep 1000 & sleep 1000 &"], check=True)
        assert network.close() == 2
        assert network.close() == 0


def test_a_keeper_that_is_gone_is_told(ports: list[int]) -> None:
    with Network([f"127.0.0.1:{ports[0]}"], LinkConditions(rtt_ms=1)) as network:
        assert network.failure() is None
        assert network._keeper is not None
        network._keeper.kill()
        network._keeper.wait()
        assert network.failure() == "the process that keeps the job's namespaces was killed"


# --- without root -----------------------------------------------------------------------------------------------------

ORDINARY = """
import json, os, subprocess, sys
from latpcap.live.link.network import LinkConditions, Network
with Network([f"127.0.0.1:{sys.argv[1]}"], LinkConditions(rtt_ms=10)) as network:
    echo = subprocess.run([*network.prefix(), *sys.argv[2:]], capture_output=True, text=True, check=True).stdout
    rights = "grep CapEff /proc/self/status"
    without = subprocess.run([*network.prefix(), "sh", "-c", rights], capture_output=True, text=True).stdout.split()[1]
    capturing = [*network.prefix(may_capture=True), "sh", "-c", rights + "; id -u"]
    told = subprocess.run(capturing, capture_output=True, text=True).stdout.split()
    print(json.dumps([json.loads(echo), int(without, 16), int(told[1], 16), int(told[2]), network.counts()[0].sent]))
"""
NET_ADMIN_AND_RAW = 1 << 12 | 1 << 13


def everybody() -> dict[str, str]:
    """An environment in which any interpreter of this version finds what this one finds."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def python_of_everybody(user: list[str]) -> str:
    """An interpreter that lies where that user may read: not in root's home."""
    same = f"import latpcap._core, sys; assert sys.version_info[:2] == {sys.version_info[:2]}"
    for python in (sys.executable, "/usr/bin/python3"):
        again = f"import subprocess; subprocess.run([{python!r}, '-c', {same!r}], check=True)"
        if not subprocess.run([*user, python, "-c", again], capture_output=True, cwd="/", env=everybody()).returncode:
            return python
    pytest.skip("no Python here that an ordinary user may run")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_an_ordinary_user_needs_no_root(ports: list[int], tmp_path: Path) -> None:
    """As on a desktop, where everybody may open /dev/net/tun; here a node of the test's own stands for it."""
    mounted = 'mknod -m 666 "$0" c 10 200 && mount --bind "$0" /dev/net/tun && exec "$@"'
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    python = python_of_everybody(user)
    program = [python, "-c", ORDINARY, str(ports[0]), python, "-c", JOB + ECHO, str(ports[0])]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounted, str(tmp_path / "tun"), *user, *program],
        capture_output=True, text=True, cwd="/", env=everybody(),
    )  # fmt: skip
    if "user namespaces are not permitted" in done.stderr:
        pytest.skip("user namespaces are not permitted here")
    assert done.returncode == 0, done.stderr
    echo, without, capturing, user_id, packets = json.loads(done.stdout)
    assert echo[1] >= RTT_MS
    assert (without, capturing, user_id) == (0, NET_ADMIN_AND_RAW, NOBODY)
    assert packets >= 10


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_without_devices_one_line_says_what_to_do(ports: list[int]) -> None:
    program = [sys.executable, "-c", ORDINARY, str(ports[0])]
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh"]
    done = subprocess.run([*hidden, *program], capture_output=True, text=True, env=everybody())
    assert done.stderr.splitlines()[-1] == (
        "latpcap.errors.RecordingError: no network for the job: /dev/net/tun: No such file or directory: "
        "`modprobe tun`, for a container `--device /dev/net/tun`; or use the relay"
    )


def test_a_python_that_this_user_may_not_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.raises(RecordingError, match=r"this user cannot run /no/python: No such file.*use the relay"):
        Network(["127.0.0.1:1"], LinkConditions(rtt_ms=1)).__enter__()


def test_a_capture_in_the_network_sees_both_ways_even_of_ipv6(network: Network, ports: list[int]) -> None:
    words = ["tcpdump", "-i", INTERFACE, "-n", "-l", "-Z", "root", "tcp port", str(ports[0])]
    prefix = network.prefix(may_capture=True)
    with subprocess.Popen([*prefix, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tcpdump:
        assert tcpdump.stdout is not None
        assert tcpdump.stderr is not None
        wait_until(lambda: "listening on" in (tcpdump.stderr.readline() if tcpdump.stderr else ""))
        job(network, ECHO, ports[0], "::1")
        lines = [tcpdump.stdout.readline() for _ in range(3)]
        tcpdump.terminate()
    assert [line.split("Flags ")[1].split("]")[0] for line in lines] == ["[S", "[S.", "[."]
