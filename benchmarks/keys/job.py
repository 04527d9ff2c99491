"""`job.py CLIENT`: the job of this folder's README with a Python driver, clear or encrypted as the environment says.

TLS: `clear`, `TLSv1.2` or `TLSv1.3`; CIPHERS: TLS 1.2 suites in OpenSSL's words. Where the key log goes is left to each driver's own
setting: the environment's SSLKEYLOGFILE, but libpq's parameter of that name.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

HOST = os.environ.get("LATPCAP_HOST", "10.77.0.2")
LOGIN = {"host": HOST, "user": "lab", "password": "labpw", "database": "lab"}
TLS = os.environ.get("TLS", "clear")
CIPHERS = os.environ.get("CIPHERS")
PAIRS = "SELECT emp_no, salary FROM salaries WHERE emp_no = %s"
ALL = "SELECT emp_no, first_name, last_name FROM employees ORDER BY emp_no LIMIT 300"
ONE = "SELECT first_name FROM employees WHERE emp_no = %s"
REFUSED = "SELECT nothing FROM nowhere"


def context() -> ssl.SSLContext:
    """The standard library's default context, which obeys SSLKEYLOGFILE, without the check of a throw-away certificate."""
    made = ssl.create_default_context()
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.minimum_version = made.maximum_version = ssl.TLSVersion[TLS.replace(".", "_")]
    if CIPHERS:
        made.set_ciphers(CIPHERS)
    return made


def work(query: Callable[..., Iterable[Any]], prepared: Callable[[int], Iterable[Any]], error: type[Exception]) -> int:
    """Run the job's statements and return the rows received."""
    rows = sum(len(list(query(PAIRS, (key,)))) for key in range(1, 21))
    rows += len(list(query(ALL)))
    rows += sum(len(list(prepared(key))) for key in range(1, 4))
    try:
        query(REFUSED)
    except error:
        return rows
    raise AssertionError("an error was expected")


def by_cursor(connection: Any, error: type[Exception]) -> int:
    """A driver that writes values into the text, and prepares with SQL's own words."""
    cursor = connection.cursor()

    def query(text: str, values: tuple[Any, ...] | None = None) -> Any:
        cursor.execute(text, values)
        return cursor.fetchall()

    cursor.execute(f"PREPARE one FROM '{ONE.replace('%s', '?')}'")
    rows = work(query, lambda key: query(f"EXECUTE one USING {key}"), error)
    connection.close()
    return rows


def pymysql() -> int:
    import pymysql

    # An SSLContext is taken as it is; a dict makes PyMySQL call create_default_context, which is the same here.
    tls = {"ssl_disabled": True} if TLS == "clear" else {"ssl": context()}
    return by_cursor(pymysql.connect(**LOGIN, autocommit=True, **tls), pymysql.Error)


def connector_python() -> int:
    import mysql.connector

    tls = {"ssl_disabled": True} if TLS == "clear" else {"tls_versions": [TLS]}
    connection = mysql.connector.connect(
        **LOGIN, use_pure=True, autocommit=True, charset="utf8mb4", collation="utf8mb4_general_ci", **tls
    )
    return by_cursor(connection, mysql.connector.Error)


def mysqlclient() -> int:
    import MySQLdb

    mode = {"ssl_mode": "DISABLED" if TLS == "clear" else "REQUIRED"}
    return by_cursor(MySQLdb.connect(**LOGIN, autocommit=True, **mode), MySQLdb.Error)


def asyncpg() -> int:
    return asyncio.run(asyncpg_job())


async def asyncpg_job() -> int:
    import asyncpg

    tls: Any = False if TLS == "clear" else "require" if TLS == "TLSv1.3" else context()
    connection = await asyncpg.connect(**LOGIN, ssl=tls)
    rows = 0
    for key in range(1, 21):
        rows += len(await connection.fetch(PAIRS.replace("%s", "$1"), key))
    rows += len(await connection.fetch(ALL))
    one = await connection.prepare(ONE.replace("%s", "$1"))
    for key in range(1, 4):
        rows += len(await one.fetch(key))
    try:
        await connection.fetch(REFUSED)
    except asyncpg.PostgresError:
        await connection.close()
        return rows
    raise AssertionError("an error was expected")


def psycopg(**more: Any) -> int:
    """libpq 18 has the parameter; an older one knows none."""
    import psycopg

    tls = {"sslmode": "disable"} if TLS == "clear" else {"sslmode": "require", **more}
    if TLS != "clear":
        tls |= {"ssl_min_protocol_version": TLS, "ssl_max_protocol_version": TLS}
        tls |= {"sslkeylogfile": os.environ["SSLKEYLOGFILE"]} if "SSLKEYLOGFILE" in os.environ else {}
    connection = psycopg.connect(
        host=HOST,
        user="lab",
        password="labpw",
        dbname="lab",
        gssencmode="disable",
        autocommit=True,
        prepare_threshold=None,
        **tls,
    )

    def query(text: str, values: tuple[Any, ...] | None = None, prepare: bool = False) -> Any:
        return connection.execute(text, values, prepare=prepare).fetchall()

    rows = work(query, lambda key: query(ONE, (key,), prepare=True), psycopg.Error)
    connection.close()
    return rows


def psycopg_direct() -> int:
    return psycopg(sslnegotiation="direct")


def psycopg2() -> int:
    import psycopg2

    tls = {"sslmode": "disable" if TLS == "clear" else "require"}
    connection = psycopg2.connect(host=HOST, user="lab", password="labpw", dbname="lab", gssencmode="disable", **tls)
    connection.autocommit = True
    cursor = connection.cursor()

    def query(text: str, values: tuple[Any, ...] | None = None) -> Any:
        cursor.execute(text, values)
        return cursor.fetchall()

    cursor.execute("PREPARE one AS " + ONE.replace("%s", "$1"))
    rows = work(query, lambda key: query(f"EXECUTE one({key})"), psycopg2.Error)
    connection.close()
    return rows


def pg8000() -> int:
    import pg8000.dbapi

    connection = pg8000.dbapi.connect(**LOGIN, ssl_context=False if TLS == "clear" else context())
    connection.autocommit = True
    cursor = connection.cursor()

    def query(text: str, values: tuple[Any, ...] = ()) -> Any:
        cursor.execute(text, values)
        return cursor.fetchall()

    rows = work(query, lambda key: query(ONE, (key,)), pg8000.dbapi.Error)
    connection.close()
    return rows


JOBS: dict[str, tuple[Callable[[], int], str]] = {
    "pymysql": (pymysql, "PyMySQL"),
    "connector-python": (connector_python, "mysql-connector-python"),
    "mysqlclient": (mysqlclient, "mysqlclient"),
    "asyncpg": (asyncpg, "asyncpg"),
    "psycopg": (psycopg, "psycopg"),
    "psycopg-direct": (psycopg_direct, "psycopg"),
    "psycopg2": (psycopg2, "psycopg2-binary"),
    "pg8000": (pg8000, "pg8000"),
}


def main() -> None:
    job, package = JOBS[sys.argv[1]]
    rows = job()
    print(json.dumps({"client": f"{package} {version(package)}", "statements": 25, "rows": rows, "errors": 1}))


if __name__ == "__main__":
    main()
