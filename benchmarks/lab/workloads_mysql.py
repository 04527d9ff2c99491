#!/usr/bin/env python3
"""Workloads for Oracle's MySQL only, whose truth is known: `workloads_mysql.py NAME N`, with the dialogue of `workloads.py`.

`LATPCAP_HOST` names the server, as for all workloads; those of `workloads.py` run there too.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shapes import Driver, register
from workloads import (
    HOST,
    LOGIN,
    SALARIES,
    Run,
    connector_python,
    main,
    pymysql_connection,
    tls_context,
    workload,
)

UNSTABLE = Path(__file__).resolve().parent / "unstable.sh"


# ---------------------------------------------------------------- logins of caching_sha2_password


def unseen(user: str, password: str = "") -> Any:
    """A session over the server's own socket, which no capture sees."""
    import pymysql

    return pymysql.connect(unix_socket=os.environ["LATPCAP_LAB"] + "/data/mysql/s.sock", user=user, password=password)


def forget_passwords() -> None:
    """The next login of each account has to prove its password in full."""
    with unseen("root") as root, root.cursor() as cursor:
        cursor.execute("FLUSH PRIVILEGES")


def logins(run: Run, n: int, full: bool, **options: Any) -> None:
    """n logins with a ping each."""
    with run.work():
        for _ in range(n):
            if full:
                forget_passwords()
            database = pymysql_connection(**options)
            database.ping(reconnect=False)
            database.close()


@workload("pymysql", warm=True)
def sha2_fast(run: Run, n: int) -> None:
    """The server knows the password's hash: a scramble is enough."""
    logins(run, n, full=False)


@workload("pymysql")
def sha2_rsa(run: Run, n: int) -> None:
    """The server does not, and the line is clear: the client asks for the public key and encrypts the password with it."""
    logins(run, n, full=True)


@workload("pymysql")
def sha2_tls(run: Run, n: int) -> None:
    """The server does not, and the line is encrypted: the password itself is sent."""
    logins(run, n, full=True, ssl=tls_context("TLSv1_3"))


# ---------------------------------------------------------------- Connector/Python, and libmysqlclient inside of it


def libmysqlclient() -> ctypes.CDLL:
    """The library inside of Connector/Python, with the OpenSSL that came with it."""
    import mysql

    site = Path(mysql.__path__[0]).parent
    for name in ("libcrypto.so.3", "libssl.so.3"):
        ctypes.CDLL(str(site / "mysql/vendor" / name), ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(next(site.glob("_mysql_connector*.so"))))


def connector_cext(**options: Any) -> Any:
    libmysqlclient()
    return connector_python(**{"use_pure": False, **options})


def connector(name: str, connect: Callable[..., Any]) -> Callable[..., Callable[..., None]]:
    """Register a workload for Connector/Python as `NAME_function`."""

    def decorate(function: Callable[[Run, Any, int], None], **options: Any) -> Callable[..., None]:
        def work(run: Run, n: int) -> None:
            database = connect(**options)
            with run.work():
                function(run, database, n)
            database.close()

        work.__name__ = f"{name}_{function.__name__}"
        return workload("mysql-connector-python", warm=True)(work)

    return decorate


def both(function: Callable[[Run, Any, int], None]) -> Callable[[Run, Any, int], None]:
    connector("pure", connector_python)(function)
    connector("cext", connector_cext)(function)
    return function


@both
def attributes(run: Run, database: Any, n: int) -> None:
    """Query attributes of several types in front of each statement."""
    cursor = database.cursor()
    for key in range(1, n + 1):
        cursor.clear_attributes()
        cursor.add_attribute("request", f"order-{key}")
        cursor.add_attribute("number", key)
        cursor.add_attribute("share", 0.5)
        run.query(cursor, SALARIES, (key,))


@both
def prepared(run: Run, database: Any, n: int) -> None:
    cursor = database.cursor(prepared=True)
    for key in range(1, n + 1):
        run.query(cursor, SALARIES, (key,))
    cursor.close()


@both
def sessions(run: Run, database: Any, n: int) -> None:
    """Reset the connection, become another user and back, and ask something after each."""
    unseen("other", "otherpw").close()  # to a password that it has seen the server says yes at once
    for _ in range(n):
        database.cmd_reset_connection()
        run.query(database.cursor(), "SELECT 1")
        database.cmd_change_user("other", "otherpw", "lab")
        run.query(database.cursor(), "SELECT current_user()")
        database.cmd_change_user(LOGIN["user"], LOGIN["password"], "lab")


@both
def procedures(run: Run, database: Any, n: int) -> None:
    """OUT parameters as the connector does it: SET, CALL, SELECT; and two results of one CALL."""
    cursor = database.cursor()
    for key in range(1, n + 1):
        run.statements += 3
        _, best, years = cursor.callproc("best_salary", (key, 0, 0))
        run.rows += bool(best and years == 9)
        cursor.callproc("two_results", (key,))
        run.statements += 1
        run.rows += sum(len(result.fetchall()) for result in cursor.stored_results())


connector("pure_zlib", connector_python)(prepared, compress=True)


class Library:
    """A session of libmysqlclient, for what no driver asks of it."""

    SSL_MODE, PUBLIC_KEY, OPTIONAL_METADATA = 35, 36, 38  # as mysql.h numbers its options
    DISABLED, NULL_TYPE, BIND_SIZE, BIND_TYPE_AT = 1, 6, 112, 96

    def __init__(self, run: Run, **options: bool) -> None:
        self.run = run
        self.library = libmysqlclient()
        for name in ("init", "real_connect", "store_result", "stmt_init"):
            getattr(self.library, f"mysql_{name}").restype = ctypes.c_void_p
        for name in ("num_rows", "stmt_num_rows"):
            getattr(self.library, f"mysql_{name}").restype = ctypes.c_uint64
        self.library.mysql_error.restype = ctypes.c_char_p
        self.database = ctypes.c_void_p(self.library.mysql_init(None))
        self.option(self.SSL_MODE, ctypes.c_uint(self.DISABLED))
        self.option(self.PUBLIC_KEY, ctypes.c_bool(True))
        if options.get("without_metadata"):
            self.option(self.OPTIONAL_METADATA, ctypes.c_bool(True))
        words = (word.encode() for word in (HOST, LOGIN["user"], LOGIN["password"], LOGIN["database"]))
        self.good(not self.library.mysql_real_connect(self.database, *words, 3306, None, ctypes.c_ulong(0)))

    def option(self, number: int, value: Any) -> None:
        self.library.mysql_options(self.database, number, ctypes.byref(value))

    def good(self, failed: int) -> None:
        if failed:
            raise RuntimeError(self.library.mysql_error(self.database))

    def query(self, sql: str) -> None:
        self.good(self.library.mysql_real_query(self.database, sql.encode(), ctypes.c_ulong(len(sql))))
        self.run.statements += 1
        if result := self.library.mysql_store_result(self.database):
            self.run.rows += self.library.mysql_num_rows(ctypes.c_void_p(result))
            self.library.mysql_free_result(ctypes.c_void_p(result))

    def prepare(self, sql: str) -> ctypes.c_void_p:
        statement = ctypes.c_void_p(self.library.mysql_stmt_init(self.database))
        self.good(self.library.mysql_stmt_prepare(statement, sql.encode(), ctypes.c_ulong(len(sql))))
        return statement

    def execute(self, statement: ctypes.c_void_p) -> None:
        """With NULL for every parameter; all results are read."""
        nulls = ctypes.create_string_buffer(self.BIND_SIZE * 8)
        for bind in range(8):
            nulls[bind * self.BIND_SIZE + self.BIND_TYPE_AT] = self.NULL_TYPE
        self.good(self.library.mysql_stmt_bind_param(statement, nulls))
        self.good(self.library.mysql_stmt_execute(statement))
        self.run.statements += 1
        further = 0
        while further == 0:
            self.library.mysql_stmt_store_result(statement)
            self.run.rows += self.library.mysql_stmt_num_rows(statement)
            self.library.mysql_stmt_free_result(statement)
            further = self.library.mysql_stmt_next_result(statement)

    def close(self, statement: ctypes.c_void_p | None = None) -> None:
        if statement:
            self.library.mysql_stmt_close(statement)
        self.library.mysql_close(self.database)


@workload("mysql-connector-python")
def without_metadata(run: Run, n: int) -> None:
    """Results without column definitions, in text and in prepared form."""
    session = Library(run, without_metadata=True)
    with run.work():
        session.query("SET resultset_metadata = NONE")
        for key in range(1, n + 1):
            session.query(SALARIES.replace("%s", str(key)))
        statement = session.prepare("SELECT salary, from_date FROM salaries WHERE emp_no = 7")
        for _ in range(n):
            session.execute(statement)
    session.close(statement)


@workload("mysql-connector-python")
def out_parameters(run: Run, n: int) -> None:
    """A prepared CALL brings its OUT parameters as one more result, here behind two of the procedure's own."""
    session = Library(run)
    with run.work():
        statement = session.prepare("CALL all_of_it(7, ?, ?)")
        for _ in range(n):
            session.execute(statement)
    session.close(statement)


# ---------------------------------------------------------------- MySQL's own command line client


def mysql(run: Run, statements: list[str], *options: str, folder: str = "/") -> None:
    """Run the statements in one session of the command line client, which counts neither rows nor statements: its output does."""
    words = ["--no-defaults", "-h", HOST, f"-u{LOGIN['user']}", "lab", "--batch", "--skip-column-names", "--force"]
    with run.work():
        done = subprocess.run(
            [str(UNSTABLE), "run", "env", "-C", folder, "mysql", *words, *options],
            input="\n".join(statements) + "\n",
            env={**os.environ, "MYSQL_PWD": LOGIN["password"]},
            capture_output=True,
            text=True,
            check=False,
        )
    if "ERROR 20" in done.stderr:  # its own errors; those of the server are asked for
        raise RuntimeError(done.stderr)
    run.rows += len(done.stdout.splitlines())


CLEAR = ("--ssl-mode=DISABLED", "--get-server-public-key")


def salaries(n: int) -> list[str]:
    return [SALARIES.replace("%s", str(key)) + ";" for key in range(1, n + 1)]


def with_mysql(name: str, statements: Callable[[int], list[str]], *options: str, clear: bool = True) -> None:
    def work(run: Run, n: int) -> None:
        texts = statements(n)
        mysql(run, texts, *(CLEAR if clear else ()), *options)
        run.statements += sum(text.count(";") for text in texts)

    work.__name__ = f"cli_{name}"
    workload("mysql")(work)


def wide(n: int) -> list[str]:
    return [*salaries(n), "SELECT * FROM big LIMIT 200;"]


def tracked(n: int) -> list[str]:
    return [
        "SET SESSION session_track_system_variables = '*', session_track_state_change = ON, "
        "session_track_transaction_info = 'CHARACTERISTICS';",
        *(text for key in range(1, n + 1) for text in (
            f"SET @seen = {key};", "SET time_zone = '+00:00';", "USE lab;", "BEGIN;", salaries(key)[-1],
            f"UPDATE acc SET bal = bal + 1 WHERE id = {key};", "COMMIT;",
        )),
    ]  # fmt: skip


def failing(n: int) -> list[str]:
    return ["SELEKT 1;", "INSERT INTO acc VALUES (1, 0);", "SELECT * FROM absent;", "SELECT 1;"] * n


def several(n: int) -> list[str]:
    """Three statements in one request."""
    texts = [
        f"SELECT {key}; UPDATE acc SET bal = bal + 1 WHERE id = {key}; SELECT * FROM acc WHERE id <= 3; //"
        for key in range(1, n + 1)
    ]
    return ["delimiter //", *texts]


def server_side(n: int) -> list[str]:
    """PREPARE and EXECUTE as SQL."""
    executes = [text for key in range(1, n + 1) for text in (f"SET @who = {key};", "EXECUTE pay USING @who;")]
    return ["PREPARE pay FROM 'SELECT salary FROM salaries WHERE emp_no = ?';", *executes, "DEALLOCATE PREPARE pay;"]


with_mysql("nplus1", salaries)
with_mysql("wide", wide)
with_mysql("zstd", wide, "--compression-algorithms=zstd")
with_mysql("zlib", wide, "--compression-algorithms=zlib")
with_mysql("tls", salaries, "--ssl-mode=REQUIRED", clear=False)
with_mysql("tracked", tracked)
with_mysql("errors", failing)
with_mysql("several", several)
with_mysql("execute", server_side)


@workload("mysql")
def cli_infile(run: Run, n: int) -> None:
    """LOAD DATA LOCAL INFILE of n lines, and of a file that is not there."""
    with tempfile.TemporaryDirectory(dir=os.environ["LATPCAP_LAB"]) as folder:
        lines = Path(folder, "lines.txt")
        lines.write_text("".join(f"{i}\tline {i} of a file that the client sends\n" for i in range(n)))
        Path(folder).chmod(0o755)
        load = "LOAD DATA LOCAL INFILE '{}' INTO TABLE loaded;"
        texts = [
            "TRUNCATE loaded;",
            load.format("lines.txt"),
            load.format("absent.txt"),
            "SELECT COUNT(*) FROM loaded;",
        ]
        mysql(run, texts, *CLEAR, "--local-infile=1", folder=folder)
        run.statements += len(texts)


# ---------------------------------------------------------------- shapes that every server has

register(workload, Driver("mysql", "pymysql", pymysql_connection, SALARIES, slow="SELECT SLEEP(0.02)"))


if __name__ == "__main__":
    main()
