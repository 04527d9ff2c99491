"""A MariaDB server of a test's own, and a small job for its clients."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback import wait_until

NEEDED = ("mariadbd", "mariadb-install-db", "mariadb", "tcpdump")
MISSING = [name for name in NEEDED if shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None]
needs_server_and_capture = [
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="capturing packets needs root"),
]

PASSWORD = "live-secret"
EMPLOYEES = 20
SALARIES = 3
LIST = "SELECT emp FROM pay GROUP BY emp ORDER BY emp"
EACH = "SELECT salary FROM pay WHERE emp = "
RAISE = "UPDATE pay SET salary = salary + 1 WHERE emp = 1"
WRONG = "SELECT * FROM nothing"
SQL = [LIST, *(f"{EACH}{emp}" for emp in range(EMPLOYEES)), RAISE]
ROWS = EMPLOYEES + EMPLOYEES * SALARIES


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is asked to end, and waited for, whatever happens."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(300)


@contextmanager
def mariadb(home: Path, port: int, accounts: Iterable[str], *more: str) -> Iterator[Path]:
    """Run a server of its own with the table and these accounts; yield its log of all commands. `more`: options.

    Its folder for temporary tables is its own, too: a server that begins removes those of all others in it.
    """
    data, log, sock = home / "data", home / "general.log", home / "socket"
    shutil.chown(home, "mysql", "mysql")
    owner = pwd.getpwnam("mysql").pw_name
    places = [f"--user={owner}", f"--datadir={data}", f"--tmpdir={home}"]
    install = ["mariadb-install-db", "--no-defaults", *places, "--skip-test-db"]
    installed = subprocess.run([*install, "--auth-root-authentication-method=normal"], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
    options = [*places, f"--socket={sock}", f"--port={port}", "--bind-address=127.0.0.1"]
    lean = ["--skip-log-bin", "--innodb-buffer-pool-size=8M", "--skip-name-resolve", "--general-log"]
    with running(
        [server, "--no-defaults", *options, *lean, f"--general-log-file={log}", f"--pid-file={home}/pid", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ):
        wait_until(sock.exists)
        fill(sock, accounts)
        yield log


def tls(home: Path) -> list[str]:
    """Options of a server that speaks TLS with a certificate of its own."""
    key, certificate = home / "server.key", home / "server.crt"
    made = ["-subj", "/CN=live", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made], check=True, capture_output=True)
    shutil.chown(key, "mysql")
    return [f"--ssl-key={key}", f"--ssl-cert={certificate}"]


def fill(sock: Path, accounts: Iterable[str]) -> None:
    import pymysql

    with pymysql.connect(unix_socket=str(sock), user="root", autocommit=True) as root, root.cursor() as cursor:
        cursor.execute("CREATE DATABASE live")
        cursor.execute("CREATE TABLE live.pay (emp INT, salary INT, KEY (emp))")
        pay = [(emp, 1000 + salary) for emp in range(EMPLOYEES) for salary in range(SALARIES)]
        cursor.executemany("INSERT INTO live.pay VALUES (%s, %s)", pay)
        for account in accounts:
            cursor.execute(f"GRANT ALL ON live.* TO {account}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
