"""Real servers in the network of a rehearsed job, with their own rules of who may come from where; one elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loopback import wait_until
from mariadb_server import PASSWORD, free_port, mariadb, running
from rehearsed import crossed, needs_namespaces

from latpcap.live.link.network import LinkConditions, Network

RTT_MS = 5
POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/nowhere"))
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="the servers run as users of their own: that needs root"),
    needs_namespaces,
]


@contextmanager
def folder(server: str) -> Iterator[Path]:
    """That the server's own user may reach: the folders of pytest are root's alone."""
    home = Path(tempfile.mkdtemp(prefix=f"latpcap-{server}-"))
    try:
        yield home
    finally:
        shutil.rmtree(home)


MYSQL = """
import json, pymysql, sys, time
with pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="app", password=sys.argv[2]) as client:
    with client.cursor() as cursor:
        cursor.execute("SELECT CURRENT_USER(), USER()")
        who, taken = cursor.fetchone(), []
        for _ in range(5):
            began = time.perf_counter()
            cursor.execute("SELECT 1")
            taken.append(1000 * (time.perf_counter() - began))
print(json.dumps([*who, min(taken)]))
"""


@pytest.mark.skipif(shutil.which("mariadb-install-db") is None, reason="MariaDB is not installed")
def test_mariadb_knows_the_user_by_his_host() -> None:
    with (
        folder("mariadb") as home,
        mariadb(home, port := free_port(), ["app"]),
        Network([f"127.0.0.1:{port}"], LinkConditions(rtt_ms=RTT_MS)) as network,
    ):
        done = subprocess.run(
            [*network.prefix(), sys.executable, "-c", MYSQL, str(port), PASSWORD], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        account, client, least = json.loads(done.stdout)
        assert (account, client) == ("app@127.0.0.1", "app@127.0.0.1")
        assert least >= RTT_MS


@contextmanager
def postgresql(home: Path, port: int) -> Iterator[None]:
    """A server that lets in who comes by TCP from 127.0.0.1 and ::1, with a password, and nobody else."""
    shutil.chown(home, "postgres", "postgres")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    (home / "password").write_text(PASSWORD)
    init = [*user, str(POSTGRES / "initdb"), "-D", str(home / "data"), "-U", "app", "--auth=scram-sha-256", "--no-sync"]
    subprocess.run([*init, f"--pwfile={home / 'password'}"], check=True, capture_output=True, cwd="/")
    rules = "".join(f"host all app {address} scram-sha-256\n" for address in ("127.0.0.1/32", "::1/128"))
    (home / "data" / "pg_hba.conf").write_text(rules)
    options = ["-c", f"port={port}", "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1,::1"]
    log = (home / "log").open("wb")
    with log, running([*user, str(POSTGRES / "postgres"), "-D", str(home / "data"), *options], stderr=log, cwd="/"):
        wait_until(lambda: b"ready to accept connections" in (home / "log").read_bytes())
        yield


@pytest.mark.skipif(not POSTGRES.exists(), reason="PostgreSQL is not installed")
def test_postgresql_lets_in_whom_its_rules_let_in() -> None:
    ask = ["psql", "-XAt", "-c", "SELECT inet_client_addr()"]
    with folder("postgresql") as home, postgresql(home, port := free_port()):
        for host in "127.0.0.1", "::1", "localhost":
            with Network([f"127.0.0.1:{port}"], LinkConditions(rtt_ms=RTT_MS)) as network:
                told = subprocess.run(
                    [*network.prefix(), *ask, f"host={host} port={port} user=app dbname=postgres"],
                    env={**os.environ, "PGPASSWORD": PASSWORD}, capture_output=True, text=True,
                )  # fmt: skip
                assert told.stdout.strip() in ("127.0.0.1", "::1"), told.stderr
                assert crossed(network) > 10


REMOTE = """
import os, subprocess, sys, time
from latpcap._core import Link
from latpcap.live.link.network import LinkConditions, Network

# This process has a network namespace of its own: it stands for the machine. Another is the server's.
other = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
while os.readlink(f"/proc/{other.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
    time.sleep(0.01)
link = Link(("/proc/self/ns/net", "out"), (f"/proc/{other.pid}/ns/net", "in"))
link.set(rtt_ms=3)
there = ["nsenter", f"--net=/proc/{other.pid}/ns/net"]
for prefix, own, far, device in ([], "203.0.113.1", "203.0.113.2", "out"), (there, "203.0.113.2", "203.0.113.1", "in"):
    for words in (
        ["address", "add", own, "peer", far, "dev", device],
        ["address", "add", f"2001:db8::{own[-1]}/64", "dev", device, "nodad"],
        ["link", "set", device, "up"],
    ):
        subprocess.run([*prefix, "ip", *words], check=True)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server = subprocess.Popen([*there, sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
server.stdout.readline()
servers = ["203.0.113.2:7", "[2001:db8::2]:7"]
try:
    with Network(servers, LinkConditions(rtt_ms=10)) as network:
        subprocess.run([*network.prefix(), sys.executable, "-c", sys.argv[2]], check=True)
finally:
    other.kill()
    server.kill()
"""
ECHO = """
import socket, threading
listeners = [socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) for port in (7, 8)]
print("ready", flush=True)
def serve(listener):
    while True:
        connection, client = listener.accept()
        with connection:
            connection.sendall(connection.recv(100) + b" of " + client[0].encode())
threads = [threading.Thread(target=serve, args=[listener]) for listener in listeners]
[thread.start() for thread in threads]
"""
ASK = """
import errno, json, socket, time
told = []
for host in "203.0.113.2", "2001:db8::2":
    for port in 7, 8:
        began = time.perf_counter()
        connection = socket.create_connection((host, port), timeout=20)
        connected = time.perf_counter()
        connection.sendall(b"question")
        answer = connection.recv(100).decode()
        told.append([answer, 1000 * (connected - began), 1000 * (time.perf_counter() - connected)])
for host in "198.51.100.1", "2001:db8:1::1":
    try:
        socket.create_connection((host, 7), timeout=20)
    except OSError as error:
        told.append(errno.errorcode[error.errno])
print(json.dumps(told))
"""


def test_a_server_elsewhere_is_farther_away_by_the_link_and_no_route_is_no_route() -> None:
    """It is 3 ms away by itself, in a handshake, too."""
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", REMOTE, ECHO, ASK], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    *answers, no_route, no_route6 = json.loads(done.stdout)
    assert [answer for answer, *_ in answers] == [f"question of {own}" for own in
        ["::ffff:203.0.113.1"] * 2 + ["2001:db8::1"] * 2]  # fmt: skip
    for (_, *delayed), (_, *direct) in (answers[:2], answers[2:]):
        assert min(delayed) >= 10 + 3
        assert min(direct) >= 3
    assert (no_route, no_route6) == ("ENETUNREACH", "ENETUNREACH")
