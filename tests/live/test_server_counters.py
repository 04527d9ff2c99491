"""Real servers count what they execute (MariaDB's digests, pg_stat_statements): latpcap's runs are the same.

Times are compared by people: benchmarks/counters, docs/accuracy.md.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import ROOT
from loopback import captured

sys.path.insert(0, str(ROOT / "benchmarks" / "counters"))

from jobs import JOBS, PASSWORD
from join import Row, join, normal
from servers import SERVERS, Server, postgresql_binaries

import latpcap

pytestmark = [
    pytest.mark.skipif(shutil.which("tcpdump") is None, reason="not installed: tcpdump"),
    pytest.mark.skipif(os.geteuid() != 0, reason="capturing packets needs root"),
]
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def started(name: str) -> Iterator[tuple[Server, int]]:
    port = free_port()
    home = Path(tempfile.mkdtemp(prefix="latpcap-counters-"))  # the folders of pytest are root's alone
    home.chmod(0o755)
    try:
        with SERVERS[name](home, "127.0.0.1", port) as server:
            yield server, port
    finally:
        shutil.rmtree(home)


@pytest.fixture(scope="module")
def mariadb() -> Iterator[tuple[Server, int]]:
    if shutil.which("mariadbd", path=PATH) is None:
        pytest.skip("not installed: mariadbd")
    with started("mariadb") as running:
        yield running


@pytest.fixture(scope="module")
def postgresql() -> Iterator[tuple[Server, int]]:
    if postgresql_binaries() is None:
        pytest.skip("not installed: postgresql")
    with started("postgresql") as running:
        yield running


def joined(running: tuple[Server, int], path: Path, work: Callable[[int], object]) -> dict[str, Row]:
    """The rows of both sides, by their text, while `work` ran."""
    server, port = running
    with captured(path, port):
        server.forget()
        work(port)
    rows = list(join(latpcap.read(path), server.counted(), server.commands()))
    for row in rows:
        print(row)
    return {row.text: row for row in rows}


def runs(row: Row) -> tuple[int | None, int | None]:
    return row.seen and row.seen.runs, row.counted and row.counted.runs


ITEM = "select price from items where id = ?"


# --- MariaDB --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "most"),
    [("nplus1", {ITEM: 300}), ("commits", {"commit": 100}), ("procedure", {"call raise_prices ( ? )": 20})],
)
def test_mariadb_counts_the_same_runs(
    mariadb: tuple[Server, int], tmp_path: Path, job: str, most: dict[str, int]
) -> None:
    pytest.importorskip("pymysql")
    rows = joined(mariadb, tmp_path / "job.pcap", lambda port: JOBS["mariadb"][job]("127.0.0.1", port))
    assert {text: runs(rows[text]) for text in most} == {text: (count, count) for text, count in most.items()}
    assert {text: runs(row) for text, row in rows.items() if runs(row)[0] != runs(row)[1]} == {}


def test_statements_that_failed_are_counted_but_for_those_that_mariadb_could_not_parse(
    mariadb: tuple[Server, int], tmp_path: Path
) -> None:
    pytest.importorskip("pymysql")
    rows = joined(mariadb, tmp_path / "job.pcap", lambda port: JOBS["mariadb"]["errors"]("127.0.0.1", port))
    different = {text: runs(row) for text, row in rows.items() if runs(row)[0] != runs(row)[1]}
    assert different == {"selec ?": (10, None)}
    assert runs(rows[ITEM]) == (12, 12)


def test_mariadb_counts_what_is_prepared_by_command_only(mariadb: tuple[Server, int], tmp_path: Path) -> None:
    pytest.importorskip("mysql.connector")
    rows = joined(mariadb, tmp_path / "job.pcap", lambda port: JOBS["mariadb"]["prepared"]("127.0.0.1", port))
    assert {name: runs(rows[f"all {name}"]) for name in ("stmt_prepare", "stmt_execute", "stmt_reset")} == {
        "stmt_prepare": (1, 1),
        "stmt_execute": (200, 200),
        "stmt_reset": (200, 200),
    }
    assert runs(rows["select price from items where id = ? and price > = ?"]) == (200, None)


# --- PostgreSQL -----------------------------------------------------------------------------------------------------

SCRIPT = """
{each}
BEGIN; INSERT INTO log (note) VALUES ('a'); COMMIT;
BEGIN; DECLARE rows CURSOR FOR SELECT id FROM big WHERE id <= 25;
FETCH 10 FROM rows; FETCH 10 FROM rows; FETCH 10 FROM rows; COMMIT;
SELECT raise_prices(5);
SELECT nothing FROM items;
"""


def with_psql(port: int) -> None:
    sql = SCRIPT.format(each="".join(f"SELECT price FROM items WHERE id = {number};\n" for number in range(20)))
    words = ["-h", "127.0.0.1", "-p", str(port), "-U", "app", "-d", "postgres", "-qAtX"]
    environment = os.environ | {"PGPASSWORD": PASSWORD, "PGSSLMODE": "disable"}
    binaries = postgresql_binaries()
    assert binaries is not None
    subprocess.run(
        [str(binaries / "psql"), *words], input=sql.encode(), env=environment, check=True, capture_output=True
    )


def test_postgresql_counts_the_same_runs_but_for_those_that_fail(
    postgresql: tuple[Server, int], tmp_path: Path
) -> None:
    rows = joined(postgresql, tmp_path / "job.pcap", with_psql)
    different = {text: runs(row) for text, row in rows.items() if runs(row)[0] != runs(row)[1]}
    assert different == {"select nothing from items": (1, None)}
    assert runs(rows[ITEM]) == (20, 20)
    assert runs(rows["fetch ? from rows"]) == (3, 3)
    assert runs(rows["select raise_prices ( ? )"]) == (1, 1)
    assert runs(rows["commit"]) == (2, 2)


# --- the join -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT `price` FROM `items` WHERE `id` = ? ", "select price from items where id=?"),
        ('FETCH FORWARD 10 FROM "rows"', "fetch forward ? from rows"),
        ("INSERT INTO `items` VALUES (...) ", "insert into items values (?, ?)"),
        ("select a from t where b in ($1, $2) and c = $3", "select a from t where b in (?) and c = 'it''s'"),
    ],
)
def test_both_write_a_statement_in_their_own_way(one: str, other: str) -> None:
    assert normal(one) == normal(other)
