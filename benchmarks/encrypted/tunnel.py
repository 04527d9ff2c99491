#!/usr/bin/env python3
"""Record workloads through a tunnel of OpenSSH: `tunnel.py FOLDER [--rtt MS] [--only REGEX]`.

Needs root, the lab up with MariaDB and PostgreSQL loaded, and OpenSSH's client and server. For each workload there are two
captures of one and the same run: `NAME.tunnel.pcapng` at the client (what passes is SSH) and `NAME.behind.pcapng` on the
server's loopback (what passes is the database's protocol, in clear).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

PORT = 2222
FORWARDED = (3306, 5432)
WORKLOADS = {
    "pymysql_nplus1": 200,
    "pymysql_hundreds": 20,
    "pymysql_bulk": 20_000,
    "pymysql_connect_each": 24,
    "pymysql_thinking": 60,
    "pymysql_shared_pool": 160,
    "pymysql_long_text": 30,
    "postgresql:psycopg2_nplus1": 200,
    "postgresql:psycopg3_nplus1": 200,
    "postgresql:psycopg2_cursor10": 1000,
    "postgresql:psycopg3_pipeline_50": 1000,
}
CONFIGURATION = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile {folder}/sshd.pid
"""


@contextlib.contextmanager
def server(folder: Path) -> Iterator[None]:
    """A server of its own, with keys of its own."""
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "config").write_text(CONFIGURATION.format(port=PORT, address=lab.DEBIANS, folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    argv = ["/usr/sbin/sshd", "-D", "-f", str(folder / "config"), "-E", str(folder / "log")]
    process = subprocess.Popen(lab.inside(lab.SERVER[0], argv))
    try:
        while not (folder / "sshd.pid").exists():
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def tunnel(folder: Path) -> Iterator[None]:
    """The databases' ports on the client's own loopback."""
    options = {"StrictHostKeyChecking": "no", "UserKnownHostsFile": "/dev/null", "ExitOnForwardFailure": "yes"}
    forwards = [word for port in FORWARDED for word in ("-L", f"127.0.0.1:{port}:{lab.DEBIANS}:{port}")]
    words = [word for option in options.items() for word in ("-o", "=".join(option))]
    argv = ["ssh", "-N", "-i", str(folder / "client"), "-p", str(PORT), *words, *forwards, f"root@{lab.DEBIANS}"]
    process = subprocess.Popen(lab.inside(lab.CLIENT[0], argv), stderr=subprocess.DEVNULL)
    try:
        time.sleep(2.0)
        yield
    finally:
        process.terminate()
        process.wait()


def record(name: str, n: int, folder: Path, keys: Path) -> None:
    path = folder / name.rpartition(":")[2]
    behind = " or ".join(f"tcp port {port}" for port in FORWARDED)
    os.environ["LATPCAP_HOST"] = "127.0.0.1"
    with (
        lab.capturing(lab.CLIENT, Path(f"{path}.tunnel.pcapng"), f"tcp port {PORT}"),
        lab.capturing((lab.SERVER[0], "lo"), Path(f"{path}.behind.pcapng"), behind),
        tunnel(keys),
        lab.workload(name, n) as process,
    ):
        lab.go(process)
        process.wait()
    print(path.name, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rtt", type=float, default=5.0)
    parser.add_argument("--only", default=".")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    lab.set_link(arguments.rtt)
    with tempfile.TemporaryDirectory() as keys, server(Path(keys)):
        for name, n in WORKLOADS.items():
            if re.search(arguments.only, name):
                record(name, n, arguments.folder, Path(keys))
    lab.set_link()


if __name__ == "__main__":
    main()
