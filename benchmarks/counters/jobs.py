"""Programs whose statements a server counts: `jobs.py SERVER JOB ADDRESS PORT` runs one of them.

They need the drivers alone, so that they run where latpcap is not installed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

PASSWORD = "counted"
Connect = Callable[[], Any]

FAILING = ("SELEC 1", "SELECT id FROM nothing WHERE id = 1", "INSERT INTO items VALUES (1, 1)")
"""Found by the parser, by the analysis, and by the execution."""


# --- on either server -----------------------------------------------------------------------------------------------


def nplus1(database: Any) -> None:
    """A list, then one query a row."""
    cursor = database.cursor()
    cursor.execute("SELECT id FROM items WHERE id <= 300 ORDER BY id")
    for (number,) in cursor.fetchall():
        cursor.execute("SELECT price FROM items WHERE id = %s", (number,))
        cursor.fetchall()


def mixed(database: Any) -> None:
    """Waits, sorts, scans, long results and changes."""
    sleep = "SELECT pg_sleep(0.02)" if "psycopg" in type(database).__module__ else "SELECT SLEEP(0.02)"
    cursor = database.cursor()
    for number in range(10):
        for sql in (
            sleep,
            "SELECT id FROM big ORDER BY md5(payload) LIMIT 5",
            f"SELECT COUNT(*) FROM big WHERE payload LIKE '%{number}{number}%'",
            "SELECT id, payload FROM big WHERE id <= 20000",
        ):
            cursor.execute(sql.replace("%", "%%"), ())
            cursor.fetchall()
        cursor.execute("UPDATE items SET price = price + 1 WHERE id BETWEEN %s AND %s", (10 * number, 10 * number + 9))


def commits(database: Any) -> None:
    """A transaction for every row: each COMMIT waits for the disk."""
    cursor = database.cursor()
    for number in range(100):
        cursor.execute("INSERT INTO log (note) VALUES (%s)", (f"row {number}",))
        database.commit()


def errors(database: Any) -> None:
    """42 statements, 30 of which fail."""
    cursor = database.cursor()
    for number in range(12):
        cursor.execute("SELECT price FROM items WHERE id = %s", (number,))
        for sql in FAILING if number < 10 else ():
            try:
                cursor.execute(sql)
            except Exception:  # each driver has its own
                continue
            raise SystemExit(f"did not fail: {sql}")


def procedure(database: Any) -> None:
    """Two statements run inside of one."""
    cursor = database.cursor()
    call = "SELECT raise_prices(%s)" if "psycopg" in type(database).__module__ else "CALL raise_prices(%s)"
    for number in range(20):
        cursor.execute(call, (number * 10,))
        cursor.fetchall()
        while getattr(cursor, "nextset", None) and "pymysql" in type(database).__module__ and cursor.nextset():
            pass


# --- with a driver's own means --------------------------------------------------------------------------------------

PREPARED = "SELECT price FROM items WHERE id = {} AND price >= {}"
ROWS = "SELECT id, payload FROM big WHERE id <= 300"


def mariadb_prepared(address: str, port: int) -> None:
    """Prepared once, executed 200 times."""
    import mysql.connector

    database = mysql.connector.connect(
        host=address, port=port, user="app", password=PASSWORD, database="shop", use_pure=True
    )
    cursor, sql = database.cursor(prepared=True), PREPARED.format("%s", "%s")  # another text object is prepared anew
    for number in range(200):
        cursor.execute(sql, (number, 0))
        cursor.fetchall()
    database.close()


def mariadb_cursor(address: str, port: int) -> None:
    """300 rows by a cursor of the server; this driver fetches one row a time."""
    import mariadb

    database = mariadb.connect(host=address, port=port, user="app", password=PASSWORD, database="shop")
    cursor = database.cursor(
        cursor_type=mariadb.constants.CURSOR.READ_ONLY, prefetch_size=10, binary=True, buffered=False
    )
    cursor.execute(ROWS.replace("300", "?"), (300,))
    while cursor.fetchmany(10):
        pass
    cursor.close()
    database.close()


def postgresql_prepared(address: str, port: int) -> None:
    """Prepared once, executed 200 times."""
    import psycopg

    with psycopg.connect(
        host=address, port=port, user="app", password=PASSWORD, dbname="postgres", autocommit=True, sslmode="disable"
    ) as database:
        for number in range(200):
            database.execute(PREPARED.format("%s", "%s"), (number, 0), prepare=True).fetchall()


def postgresql_cursor(address: str, port: int) -> None:
    """300 rows by DECLARE and FETCH, ten at a time."""
    database = psycopg2_connection(address, port)
    database.autocommit = False
    cursor = database.cursor("rows")
    cursor.itersize = 10
    cursor.execute(ROWS)
    assert sum(1 for _ in cursor) == 300
    database.close()


def postgresql_portal(address: str, port: int) -> None:
    """300 rows by a portal, ten at a time."""
    import asyncpg

    async def work() -> None:
        database = await asyncpg.connect(
            host=address, port=port, user="app", password=PASSWORD, database="postgres", ssl=False
        )
        async with database.transaction():
            assert len([row async for row in database.cursor(ROWS.replace("300", "$1"), 300, prefetch=10)]) == 300
        await database.close()

    asyncio.run(work())


def pymysql_connection(address: str, port: int) -> Any:
    import pymysql

    return pymysql.connect(host=address, port=port, user="app", password=PASSWORD, database="shop", autocommit=True)


def psycopg2_connection(address: str, port: int) -> Any:
    import psycopg2

    database = psycopg2.connect(
        host=address, port=port, user="app", password=PASSWORD, dbname="postgres", sslmode="disable"
    )
    database.autocommit = True
    return database


def on(
    connect: Callable[[str, int], Any], job: Callable[[Any], None], autocommit: bool = True
) -> Callable[[str, int], None]:
    def run(address: str, port: int) -> None:
        database = connect(address, port)
        if not autocommit:
            database.autocommit(False) if callable(database.autocommit) else setattr(database, "autocommit", False)
        job(database)
        database.close()

    run.__doc__ = job.__doc__
    return run


JOBS: dict[str, dict[str, Callable[[str, int], None]]] = {
    server: {
        "nplus1": on(connect, nplus1),
        "mixed": on(connect, mixed),
        "prepared": prepared,
        "cursor": cursor,
        "commits": on(connect, commits, autocommit=False),
        "errors": on(connect, errors),
        "procedure": on(connect, procedure),
    }
    for server, connect, prepared, cursor in (
        ("mariadb", pymysql_connection, mariadb_prepared, mariadb_cursor),
        ("postgresql", psycopg2_connection, postgresql_prepared, postgresql_cursor),
    )
}
JOBS["postgresql"]["portal"] = postgresql_portal

if __name__ == "__main__":
    server, job, address, port = sys.argv[1:]
    JOBS[server][job](address, int(port))
