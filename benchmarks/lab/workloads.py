#!/usr/bin/env python3
"""Database workloads whose truth is known: `workloads.py NAME N`, run inside the client's namespace.

Each prints READY once its driver is loaded and warm, waits for a line (so that the recorder can start the capture), works, and prints one
line of JSON: statements run, rows received and the seconds the work took, as an application would count them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shapes import Driver, register

HOST = os.environ.get("LATPCAP_HOST", "10.77.0.2")
LOGIN: dict[str, Any] = {"host": HOST, "user": "lab", "password": "labpw", "database": "lab"}
SALARIES = "SELECT salary, from_date FROM salaries WHERE emp_no = %s"
ENCRYPTED = bool(os.environ.get("LATPCAP_TLS"))
"""Whatever is clear otherwise uses TLS; its version and suites are the environment's (`benchmarks/encrypted/ways.py`)."""
CLI = ["mariadb", "--no-defaults", "-h", HOST, "-ulab", "-plabpw", "--ssl" if ENCRYPTED else "--skip-ssl"]


@dataclass
class Run:
    """What the application knows about its own work."""

    statements: int = 0
    rows: int = 0
    seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start

    def query(self, cursor: Any, sql: str, *parameters: Any) -> list[Any]:
        """Run one statement and take all its rows."""
        cursor.execute(sql, *parameters)
        self.statements += 1
        rows = list(cursor.fetchall()) if cursor.description else []
        self.rows += len(rows)
        return rows

    def add(self, other: Run) -> None:
        self.statements += other.statements
        self.rows += other.rows


@dataclass(frozen=True)
class Workload:
    function: Callable[[Run, int], None]
    client: str
    warm: bool


WORKLOADS: dict[str, Workload] = {}


def workload(client: str, warm: bool = False) -> Callable[[Callable[[Run, int], None]], Callable[[Run, int], None]]:
    """Register a workload under its function's name; `warm` runs it once, small, before the capture."""

    def register(function: Callable[[Run, int], None]) -> Callable[[Run, int], None]:
        WORKLOADS[function.__name__] = Workload(function, client, warm)
        return function

    return register


# ---------------------------------------------------------------- connections


def pymysql_connection(**options: Any) -> Any:
    import pymysql

    security = {"ssl": tls_context()} if ENCRYPTED else {} if "ssl" in options else {"ssl_disabled": True}
    return pymysql.connect(**{**LOGIN, "autocommit": True, **security, **options})


def connector_python(**options: Any) -> Any:
    import mysql.connector

    choice = {"charset": "utf8mb4", "collation": "utf8mb4_general_ci", "use_pure": True, "autocommit": True}
    clear = {} if ENCRYPTED or "tls_versions" in options else {"ssl_disabled": True}
    return mysql.connector.connect(**{**LOGIN, **choice, **clear, **options})


def connector_c(**options: Any) -> Any:
    import mariadb

    return mariadb.connect(**{**LOGIN, "autocommit": True, "ssl": ENCRYPTED, **options})


def tls_context(version: str = "") -> Any:
    """Any certificate will do; without a version the environment's."""
    import ssl

    context = remembering() if os.environ.get("LATPCAP_RESUME") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if secrets := os.environ.get("SSLKEYLOGFILE"):
        context.keylog_filename = secrets
    if suites := os.environ.get("LATPCAP_SUITES"):
        context.set_ciphers(suites)
    if version:
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    return context


@functools.cache
def remembering() -> Any:
    """One context for all connections, each of which resumes the session of the one before it."""
    import ssl

    class Socket(ssl.SSLSocket):
        def close(self) -> None:
            self.context.kept = self.session  # a closed socket has none
            super().close()

    class Remembering(ssl.SSLContext):
        sslsocket_class = Socket
        kept: Any = None

        def wrap_socket(self, *arguments: Any, **options: Any) -> Any:  # type: ignore[override]
            return super().wrap_socket(*arguments, session=self.kept, **options)

    return Remembering(ssl.PROTOCOL_TLS_CLIENT)


def shell(argv: list[str], stdin: str = "") -> str:
    preload = {"LD_PRELOAD": library} if (library := os.environ.get("LATPCAP_PRELOAD")) else {}
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, env=os.environ | preload)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


# ---------------------------------------------------------------- N+1 in every driver


def n_plus_one(run: Run, database: Any, n: int, mark: str = "%s") -> None:
    """One query for n keys, then one query for each of them: what a naive object mapper sends."""
    cursor = database.cursor()
    with run.work():
        keys = run.query(cursor, f"SELECT emp_no FROM employees ORDER BY emp_no LIMIT {n}")
        for (key,) in keys:
            run.query(cursor, SALARIES.replace("%s", mark), (key,))


@workload("pymysql", warm=True)
def pymysql_nplus1(run: Run, n: int) -> None:
    database = pymysql_connection()
    n_plus_one(run, database, n)
    database.close()


@workload("mysql-connector-python", warm=True)
def connector_python_nplus1(run: Run, n: int) -> None:
    database = connector_python()
    n_plus_one(run, database, n)
    database.close()


@workload("mariadb", warm=True)
def connector_c_nplus1(run: Run, n: int) -> None:
    database = connector_c()
    n_plus_one(run, database, n, "?")
    database.close()


@workload("mariadb", warm=True)
def compressed(run: Run, n: int) -> None:
    compressed_work(run, n, compress=True)


@workload("mariadb", warm=True)
def compressed_clear(run: Run, n: int) -> None:
    """The same work uncompressed: its commands can be read off the socket."""
    compressed_work(run, n, compress=False)


def compressed_work(run: Run, n: int, compress: bool) -> None:
    """N+1, then one result larger than a compressed packet and one request large enough to be compressed."""
    database = connector_c(compress=compress)
    n_plus_one(run, database, n, "?")
    with run.work():
        cursor = database.cursor()
        run.query(cursor, f"SELECT * FROM big LIMIT {n * 10}")
        run.query(cursor, f"SELECT '{'compressible ' * 1000}'")
    database.close()


def tls_nplus1(version: str) -> Callable[[Run, int], None]:
    def function(run: Run, n: int) -> None:
        database = pymysql_connection(ssl=tls_context(version))
        n_plus_one(run, database, n)
        database.close()

    function.__name__ = version.lower() + "_nplus1"
    return function


workload("pymysql", warm=True)(tls_nplus1("TLSv1_2"))
workload("pymysql", warm=True)(tls_nplus1("TLSv1_3"))


@workload("mariadb-cli")
def cli_nplus1(run: Run, n: int) -> None:
    """The command line client, reading its statements from a pipe."""
    queries = [f"SELECT emp_no FROM employees ORDER BY emp_no LIMIT {n};"] + [
        SALARIES % key + ";" for key in range(1, n + 1)
    ]
    with run.work():
        output = shell([*CLI, "-N", "lab"], "\n".join(queries))
    run.statements, run.rows = len(queries), len(output.splitlines())


@workload("DBD::mysql")
def dbd_mysql_prepared(run: Run, n: int) -> None:
    """Perl's driver, on Connector/C, with statements prepared at the server; the program reports its own counts."""
    with run.work():
        counts = json.loads(shell(["perl", str(Path(__file__).with_name("dbd_mysql.pl")), HOST, str(n)]))
    run.statements, run.rows = counts["statements"], counts["rows"]


# ---------------------------------------------------------------- prepared statements and cursors


@workload("mysql-connector-python", warm=True)
def prepared_each(run: Run, n: int) -> None:
    """Prepare, execute, close for every query."""
    database = connector_python()
    with run.work():
        for key in range(1, n + 1):
            cursor = database.cursor(prepared=True)
            run.query(cursor, SALARIES, (key,))
            cursor.close()
    database.close()


@workload("mysql-connector-python", warm=True)
def prepared_reused(run: Run, n: int) -> None:
    """Prepare once; the driver sends COM_STMT_RESET before each further execution."""
    database = connector_python()
    with run.work():
        cursor = database.cursor(prepared=True)
        for key in range(1, n + 1):
            run.query(cursor, SALARIES, (key,))
        cursor.close()
    database.close()


@workload("mariadb", warm=True)
def cursor_fetch1(run: Run, n: int) -> None:
    """A server-side cursor: whatever the program asks for, this driver fetches one row a time."""
    import mariadb

    database = connector_c(autocommit=False)
    with run.work():
        cursor = database.cursor(
            cursor_type=mariadb.constants.CURSOR.READ_ONLY, prefetch_size=10, binary=True, buffered=False
        )
        cursor.execute("SELECT emp_no, first_name, last_name FROM employees WHERE emp_no <= ?", (n,))
        run.statements += 1
        while rows := cursor.fetchmany(10):
            run.rows += len(rows)
        cursor.close()
    database.close()


@workload("mariadb", warm=True)
def bulk_execute(run: Run, n: int) -> None:
    """executemany of Connector/C: MariaDB's own COM_STMT_BULK_EXECUTE."""
    database = connector_c(autocommit=False)
    with run.work():
        cursor = database.cursor()
        run.query(cursor, "CREATE OR REPLACE TABLE bulked(id INT, name VARCHAR(100))")
        cursor.executemany("INSERT INTO bulked VALUES (?, ?)", [(i, f"value {i}") for i in range(n)])
        run.statements += 1
        database.commit()
        run.statements += 1
    database.close()


# ---------------------------------------------------------------- commands and results


@workload("pymysql", warm=True)
def small_commands(run: Run, n: int) -> None:
    """Ping, USE as a command of the protocol, and a query, n times over."""
    database = pymysql_connection()
    cursor = database.cursor()
    with run.work():
        for _ in range(n):
            database.ping(reconnect=False)
            database.select_db("lab")
            run.query(cursor, "SELECT 1")
    database.close()


@workload("pymysql", warm=True)
def multi_statements(run: Run, n: int) -> None:
    """Three statements in one COM_QUERY: rows, a change, rows."""
    from pymysql.constants import CLIENT

    database = pymysql_connection(client_flag=CLIENT.MULTI_STATEMENTS)
    cursor = database.cursor()
    with run.work():
        for key in range(1, n + 1):
            cursor.execute(
                f"SELECT {key}; UPDATE acc SET bal = bal + 1 WHERE id = {key}; SELECT * FROM acc WHERE id <= 3"
            )
            run.statements += 3
            take_all_results(run, cursor)
    database.close()


def take_all_results(run: Run, cursor: Any) -> None:
    run.rows += len(cursor.fetchall())
    while cursor.nextset():
        run.rows += len(cursor.fetchall())


@workload("pymysql", warm=True)
def procedure_calls(run: Run, n: int) -> None:
    """CALL of a procedure with two results: each ends with MORE_RESULTS, the last is an OK."""
    database = pymysql_connection()
    cursor = database.cursor()
    with run.work():
        for key in range(1, n + 1):
            cursor.execute("CALL two_results(%s)", (key,))
            run.statements += 1
            take_all_results(run, cursor)
    database.close()


@workload("pymysql", warm=True)
def sql_errors(run: Run, n: int) -> None:
    """A syntax error, a duplicate key, an unknown table and a good query, n times over."""
    import pymysql

    database = pymysql_connection()
    cursor = database.cursor()
    with run.work():
        for _ in range(n):
            for sql in ("SELEKT 1", "INSERT INTO acc VALUES (1, 0)", "SELECT * FROM absent", "SELECT 1"):
                with contextlib.suppress(pymysql.err.MySQLError):
                    run.query(cursor, sql)
    run.statements = 4 * n
    database.close()


@workload("pymysql", warm=True)
def error_after_rows(run: Run, n: int) -> None:
    """The last row's expression fails, so the error comes where the end of the result was due."""
    import pymysql
    import pymysql.cursors

    database = pymysql_connection()
    cursor = database.cursor(pymysql.cursors.SSCursor)
    with run.work():
        for _ in range(n):
            cursor.execute(
                "SELECT seq, IF(seq = 2000, (SELECT emp_no FROM employees WHERE emp_no <= seq), seq) FROM seq_1_to_2000"
            )
            run.statements += 1
            with contextlib.suppress(pymysql.err.MySQLError):
                while cursor.fetchone():
                    run.rows += 1
            run.extra["errors"] = run.extra.get("errors", 0) + 1
    database.close()


@workload("pymysql", warm=True)
def local_infile(run: Run, n: int) -> None:
    """LOAD DATA LOCAL INFILE: of n lines, of an empty file, of a file the client refuses to open."""
    import tempfile

    import pymysql

    database = pymysql_connection(local_infile=True)
    cursor = database.cursor()
    with tempfile.TemporaryDirectory() as folder:
        lines, empty = Path(folder, "lines.txt"), Path(folder, "empty.txt")
        lines.write_text("".join(f"{i}\tline {i} of a file that the client sends\n" for i in range(n)))
        empty.write_text("")
        os.chdir(folder)
        with run.work():
            run.query(
                cursor, "CREATE OR REPLACE TABLE loaded(id INT, line VARCHAR(100)) ENGINE = Aria TRANSACTIONAL = 0"
            )
            for name in ("lines.txt", "empty.txt", "absent.txt"):
                run.statements += 1
                with contextlib.suppress(pymysql.err.MySQLError, FileNotFoundError):
                    cursor.execute(f"LOAD DATA LOCAL INFILE '{name}' INTO TABLE loaded")
    with contextlib.suppress(Exception):
        database.close()


@workload("pymysql")
def large_statement(run: Run, n: int) -> None:
    """A statement longer than one protocol packet may be (16 MB - 1), answered by one row."""
    database = pymysql_connection(max_allowed_packet=64 << 20)
    cursor = database.cursor()
    with run.work():
        run.query(cursor, "SELECT LENGTH('" + "a" * (n << 20) + "')")
        run.query(cursor, "SELECT 1")
    database.close()


@workload("pymysql")
def large_row(run: Run, n: int) -> None:
    """One row longer than one protocol packet may be, and one whose packet is exactly full."""
    database = pymysql_connection(max_allowed_packet=64 << 20)
    cursor = database.cursor()
    with run.work():
        run.query(cursor, f"SELECT REPEAT('a', {n << 20})")
        run.query(cursor, "SELECT 1")
    database.close()


@workload("pymysql")
def full_packet_row(run: Run, n: int) -> None:
    """A row of exactly 16 MB - 1 bytes: an empty packet must follow it. Its length prefix begins with FD."""
    del n
    database = pymysql_connection(max_allowed_packet=64 << 20)
    cursor = database.cursor()
    with run.work():
        run.query(cursor, f"SELECT REPEAT('a', {0xFFFFFF - 4})")
        run.query(cursor, "SELECT 1")
    database.close()


@workload("pymysql", warm=True)
def wide_result(run: Run, n: int) -> None:
    database = pymysql_connection()
    cursor = database.cursor()
    columns = ", ".join(f"emp_no + {i} AS c{i}" for i in range(40))
    with run.work():
        run.query(cursor, f"SELECT {columns} FROM employees LIMIT {n}")
    database.close()


@workload("pymysql", warm=True)
def commit_each_row(run: Run, n: int) -> None:
    database = pymysql_connection(autocommit=False)
    cursor = database.cursor()
    with run.work():
        for i in range(n):
            cursor.execute("UPDATE acc SET bal = bal + 1 WHERE id = %s", (i + 1,))
            database.commit()
            run.statements += 2
    database.close()


def capi_workload(part: str) -> None:
    WORKLOADS["capi_" + part] = Workload(lambda run, n: capi(run, part, n), "capi", False)


for part in ("commands", "long_data", "cursor", "progress"):
    capi_workload(part)


def capi(run: Run, part: str, n: int) -> None:
    """Commands that only the C API sends; the program reports its own counts."""
    program = os.environ["LATPCAP_LAB"] + "/bin/capi"
    with run.work():
        counts = json.loads(shell([program, part, str(n)]))
    run.statements, run.rows = counts.pop("statements"), counts.pop("rows")
    run.extra |= counts


# ---------------------------------------------------------------- logins


@workload("pymysql")
def churn(run: Run, n: int) -> None:
    """A connection for every query."""
    with run.work():
        for key in range(1, n + 1):
            database = pymysql_connection()
            run.query(database.cursor(), SALARIES, (key,))
            database.close()


def login_only(**options: Any) -> Callable[[Run, int], None]:
    """n logins, each with one ping, whether they succeed or not."""

    def function(run: Run, n: int) -> None:
        with run.work():
            for _ in range(n):
                with contextlib.suppress(Exception):
                    database = pymysql_connection(**options)
                    database.ping(reconnect=False)
                    database.close()

    return function


WORKLOADS["login_native"] = Workload(login_only(), "pymysql", False)
WORKLOADS["login_wrong_password"] = Workload(login_only(password="wrong"), "pymysql", False)
WORKLOADS["login_unknown_database"] = Workload(login_only(database="absent"), "pymysql", False)
WORKLOADS["login_ed25519"] = Workload(login_only(user="ed", password="edpw"), "pymysql", False)
WORKLOADS["login_refused"] = Workload(login_only(connect_timeout=3), "pymysql", False)


@workload("mariadb-cli")
def login_auth_switch(run: Run, n: int) -> None:
    """A client that begins with a plugin its account does not use is told to switch."""
    with run.work():
        for _ in range(n):
            shell([*CLI, "--default-auth=client_ed25519", "-N", "-e", "DO 1"])
            run.statements += 1


# ---------------------------------------------------------------- several connections, pauses, streams


@workload("pymysql", warm=True)
def parallel(run: Run, n: int) -> None:
    """Eight connections at once; n queries in all."""
    share = n // 8

    def work(part: int, own: Run) -> None:
        database = pymysql_connection()
        cursor = database.cursor()
        for key in range(part * share + 1, (part + 1) * share + 1):
            run_one(own, cursor, key)
        database.close()

    runs = [Run() for _ in range(8)]
    threads = [threading.Thread(target=work, args=(part, own)) for part, own in enumerate(runs)]
    with run.work():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for own in runs:
        run.add(own)


def run_one(run: Run, cursor: Any, key: int) -> None:
    run.query(cursor, SALARIES, (key,))


@workload("pymysql", warm=True)
def pool(run: Run, n: int) -> None:
    """Four pooled connections used in turn, never two at once."""
    databases = [pymysql_connection() for _ in range(4)]
    with run.work():
        for key in range(1, n + 1):
            run_one(run, databases[key % 4].cursor(), key)
    for database in databases:
        database.close()


@workload("pymysql", warm=True)
def think_time(run: Run, n: int) -> None:
    """A person who thinks twice for 1.2 s between queries."""
    database = pymysql_connection()
    cursor = database.cursor()
    with run.work():
        for key in range(1, n + 1):
            run_one(run, cursor, key)
            if key in (n // 3, 2 * n // 3):
                time.sleep(1.2)
    database.close()


@workload("pymysql")
def port_reuse(run: Run, n: int) -> None:
    """n connections one after the other from one client port: the addresses are the same, the connections are not."""
    import socket

    with run.work():
        for key in range(1, n + 1):
            own = socket.socket()
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            own.bind(("", 40000))
            own.connect((HOST, 3306))
            database = pymysql_connection(defer_connect=True)
            database.connect(own)
            run_one(run, database.cursor(), key)
            quit_with_reset(database, own)


def quit_with_reset(database: Any, own: Any) -> None:
    """Say goodbye, then reset: a closed port would wait a minute in TIME_WAIT before it can be used again."""
    import socket
    import struct

    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.02)
    database.close()
    own.close()


@workload("mariadb-binlog")
def binlog_dump(run: Run, n: int) -> None:
    """A replica's stream: after the dump command the server only pushes, here n transactions made by a second connection."""
    program = [
        "mariadb-binlog",
        "--no-defaults",
        "-h",
        HOST,
        "-ulab",
        "-plabpw",
        CLI[-1],
        "--read-from-remote-server",
    ]
    last = shell([*CLI, "-N", "-e", "SHOW MASTER STATUS"]).split()[0]
    with run.work():
        stream = subprocess.Popen(
            [*program, "--stop-never", "--stop-never-slave-server-id=77", last], stdout=subprocess.DEVNULL
        )
        time.sleep(1)
        database = pymysql_connection()
        cursor = database.cursor()
        for key in range(1, n + 1):
            cursor.execute("UPDATE acc SET bal = bal + 1 WHERE id = %s", (key,))
            run.statements += 1
        database.close()
        time.sleep(0.5)
        stream.terminate()
        stream.wait()


# ---------------------------------------------------------------- shapes that every server has


def pymysql_tls() -> Any:
    return pymysql_connection(ssl=tls_context("TLSv1_3"))


register(workload, Driver("pymysql", "pymysql", pymysql_connection, SALARIES, slow="SELECT SLEEP(0.02)"))
register(workload, Driver("pymysql_tls", "pymysql", pymysql_tls, SALARIES))


def client_version(client: str) -> str:
    """Name and version of the client, as it goes into the fixture's facts."""
    if client in ("mariadb-cli", "mariadb-binlog", "capi"):
        library = shell(["mariadb_config", "--cc_version"]).strip()
        server = re.search(r"[\d.]+-MariaDB", shell(["mariadb", "--version"]))
        return f"C program on Connector/C {library}" if client == "capi" else f"{client} {server and server[0]}"
    if client == "DBD::mysql":
        library = shell(["mariadb_config", "--cc_version"]).strip()
        return (
            f"DBD::mysql {shell(['perl', '-MDBD::mysql', '-e', 'print DBD::mysql->VERSION'])} on Connector/C {library}"
        )
    if client in ("mysql", "psql18"):
        unstable = str(Path(__file__).resolve().parent / "unstable.sh")
        told = shell([unstable, "run", client.removesuffix("18"), "--version"])
        return " ".join(told.partition(" for ")[0].split())
    if client == "psql":
        return shell(["psql", "--version"]).strip()
    version = importlib.metadata.version(client)
    if client == "mariadb":
        import mariadb

        return f"mariadb {version} on Connector/C {mariadb.mariadbapi_version}"
    return f"{client} {version}"


def main() -> None:
    name, n = sys.argv[1], int(sys.argv[2])
    chosen = WORKLOADS[name]
    if chosen.warm and not os.environ.get("COLD"):
        chosen.function(Run(), min(n, 24))
    client = client_version(chosen.client)
    print("READY", flush=True)
    sys.stdin.readline()
    run = Run()
    start = time.perf_counter()
    chosen.function(run, n)
    total = time.perf_counter() - start
    print(
        json.dumps(
            {
                "statements": run.statements,
                "rows": run.rows,
                "seconds": run.seconds,
                "total": total,
                "client": client,
                "extra": run.extra,
            }
        )
    )


if __name__ == "__main__":
    main()
