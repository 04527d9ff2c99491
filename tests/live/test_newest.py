"""MySQL 9.7, PostgreSQL 18, Firebird 4.0, where `./dev newest` has made them: latpcap counts what their logs count."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from loopback import captured

pymysql = pytest.importorskip("pymysql")

import latpcap  # noqa: E402

SCRIPTS = ROOT / "benchmarks" / "lab"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="capturing packets needs root")
KEYS = range(1, 21)
EACH = "SELECT salary FROM salaries WHERE emp_no = "


class Newest:
    """Servers on an address of their own, with the lab's tables."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.address = f"127.77.{random.randrange(256)}.{random.randrange(1, 255)}"
        names = {"LATPCAP_LAB": str(home), "LATPCAP_SERVER_NS": "", "LATPCAP_NEWEST_IP": self.address}
        self.environment = os.environ | names

    def script(self, name: str, *arguments: str, stdin: str = "") -> str:
        argv = [str(SCRIPTS / f"{name}.sh"), *arguments]
        done = subprocess.run(argv, env=self.environment, input=stdin, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        try:
            # A server keeps what it is told to write to, and `captured` would wait for its end.
            argv = [str(SCRIPTS / f"{name}.sh"), "init", "start", "load"]
            subprocess.run(argv, env=self.environment, check=True, stdout=subprocess.DEVNULL)
            yield
        finally:
            self.script(name, "stop")

    def seen(self, path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The one connection to these servers, and its exchanges."""
        capture = latpcap.read(path, show_literals=True)
        (connection,) = [row for row in capture.connections.to_dicts() if row["server"].startswith(self.address)]
        return connection, [row for row in capture.exchanges.to_dicts() if row["stream"] == connection["stream"]]


@pytest.fixture
def newest() -> Iterator[Newest]:
    home = Path(tempfile.mkdtemp(prefix="latpcap-newest-"))
    home.chmod(0o755)
    yield Newest(home)
    shutil.rmtree(home)


def test_mysql(newest: Newest, tmp_path: Path) -> None:
    """PyMySQL proves the whole password first (a public key), then asks; the general log has the same statements."""
    path, rows = tmp_path / "mysql.pcap", 0
    with newest.running("mysql"):
        with captured(path, 3306):
            login = {"user": "lab", "password": "labpw", "database": "lab", "ssl_disabled": True}
            with pymysql.connect(host=newest.address, **login) as database, database.cursor() as cursor:
                for key in KEYS:
                    rows += cursor.execute(f"{EACH}{key}")
        log = (newest.home / "data/mysql/general.log").read_text()
    connection, exchanges = newest.seen(path)
    statements = [row["statement"] for row in exchanges if row["command"] == "query"]
    (thread,) = re.findall(r"(\d+) Connect\tlab@", log)
    assert statements == re.findall(rf"\t\s*{thread} Query\t(.*)", log)
    assert sum(row["rows"] or 0 for row in exchanges) == rows == 9 * len(KEYS)
    assert connection["server_version"].startswith("9.")
    assert connection["round_trips"] == 3 + len(statements)


def test_postgresql(newest: Newest, tmp_path: Path) -> None:
    """psql 18, whose statements the server's log has, too."""
    path = tmp_path / "postgresql.pcap"
    asked = [f"{EACH}{key};" for key in KEYS]
    with newest.running("postgresql18"):
        with captured(path, 5432):
            place = f"postgresql://lab:labpw@{newest.address}/lab?sslmode=disable&gssencmode=disable&max_protocol_version=latest"
            told = newest.script("unstable", "run", "psql", "-XAt", place, stdin="\n".join(asked))
        log = (newest.home / "logs/postgresql18.log").read_text()
    connection, exchanges = newest.seen(path)
    statements = [row["statement"] for row in exchanges if row["command"] == "query"]
    assert statements == asked == re.findall(rf"statement: ({EACH}\d+;)", log)
    assert sum(row["rows"] or 0 for row in exchanges) == len(told.splitlines()) == 9 * len(KEYS)
    assert connection["server_version"].startswith("18.")
    assert connection["round_trips"] == 3 + len(statements)


def test_firebird(newest: Newest, tmp_path: Path) -> None:
    """isql 4 encrypts what it can: what is left are the protocol and the waits."""
    path = tmp_path / "firebird.pcap"
    with newest.running("firebird4"), captured(path, 3050):
        login = ["-q", "-user", "SYSDBA", "-password", "masterkey", f"inet://{newest.address}/lab"]
        told = newest.script("unstable", "run", "isql-fb", *login, stdin=f"{EACH}1;")
    assert len(re.findall(r"^ +\d+", told, re.MULTILINE)) == 9
    connection, exchanges = newest.seen(path)
    assert (connection["protocol"], connection["encryption"]) == ("firebird", "wire encryption")
    assert connection["server_version"] == "protocol 17"
    assert len(exchanges) > 5
