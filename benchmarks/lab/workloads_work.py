#!/usr/bin/env python3
"""Programs that work between their calls, and their fixed forms: `workloads_work.py KIND_PLACE_MS[_fixed] N`.

The dialogue is that of `workloads.py`. The application works (it sleeps) for so many milliseconds in each of N pieces of
work: before the first call, within (between two calls), or behind the last one. `benchmarks/fixes` says which are tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workloads import SALARIES, WORKLOADS, Run, Workload, connector_python, main, pymysql_connection
from workloads_fixes import JOIN, KEYS, ROW, UPDATE
from workloads_postgresql import psycopg2_connection, psycopg3_connection

PLACES = ("before", "within", "behind")
WORK_MS = (20, 300, 900, 2000)
FIRST_KEY = 1


@dataclass(frozen=True)
class Work:
    """The application's own work in one place of each piece."""

    place: str
    seconds: float

    def __call__(self, place: str) -> None:
        if place == self.place:
            time.sleep(self.seconds)

    def elsewhere(self) -> None:
        """All of it, where none of its calls is left."""
        time.sleep(self.seconds)


Kind = Callable[[Run, int, Work, bool], None]


def ping(run: Run, n: int, work: Work, fixed: bool) -> None:
    ask_twice(run, n, work, pymysql_connection(), None if fixed else lambda database: database.ping(reconnect=False))


def select1(run: Run, n: int, work: Work, fixed: bool) -> None:
    check = None if fixed else lambda database: database.execute("SELECT 1").fetchall()
    ask_twice(run, n, work, psycopg3_connection(prepare_threshold=None), check)


def setting(run: Run, n: int, work: Work, fixed: bool) -> None:
    check = None if fixed else lambda database: database.cursor().execute("SET SESSION sql_mode = ''")
    ask_twice(run, n, work, pymysql_connection(), check)


def ask_twice(run: Run, n: int, work: Work, database: Any, check: Callable[[Any], None] | None) -> None:
    """In each piece a check of the connection, if any, and two queries."""
    with run.work():
        for key in range(FIRST_KEY, FIRST_KEY + n):
            work("before")
            if check:
                check(database)
            run.query(database.cursor(), SALARIES, (key,))
            work("within")
            run.query(database.cursor(), SALARIES, (key + n,))
            work("behind")
    database.close()


def nplus1(run: Run, n: int, work: Work, fixed: bool) -> None:
    one_each(run, n, work, fixed, pymysql_connection())


def nplus1pg(run: Run, n: int, work: Work, fixed: bool) -> None:
    one_each(run, n, work, fixed, psycopg3_connection(prepare_threshold=None))


def one_each(run: Run, n: int, work: Work, fixed: bool, database: Any) -> None:
    cursor = database.cursor()
    with run.work():
        if fixed:
            run.query(cursor, JOIN if isinstance(cursor, pymysql_cursor()) else JOIN_PG, (0, n))
        for key in range(n) if fixed else run.query(cursor, f"{KEYS} LIMIT {n}"):
            work("before")
            if not fixed:
                run.query(cursor, SALARIES, (key[0],))
            work("behind")
    database.close()


JOIN_PG = JOIN.replace("LIMIT %s, %s", "OFFSET %s LIMIT %s")


def pymysql_cursor() -> type:
    """PyMySQL's cursor; imports the driver."""
    from pymysql.cursors import Cursor

    return Cursor


def repeated(run: Run, n: int, work: Work, fixed: bool) -> None:
    database = pymysql_connection()
    with run.work():
        for number in range(n):
            work("before")
            if not (fixed and number):
                run.query(database.cursor(), SALARIES, (FIRST_KEY,))
            work("behind")
    database.close()


def transaction(run: Run, n: int, work: Work, fixed: bool) -> None:
    """A transaction around each query."""
    database = psycopg2_connection(autocommit=fixed)
    with run.work():
        for key in range(FIRST_KEY, FIRST_KEY + n):
            work("before")
            run.query(database.cursor(), SALARIES, (key,))
            work("within")
            if not fixed:
                database.commit()
            work("behind")
    database.close()


def commit(run: Run, n: int, work: Work, fixed: bool) -> None:
    commit_each(run, n, work, fixed, pymysql_connection(autocommit=False))


def commitpg(run: Run, n: int, work: Work, fixed: bool) -> None:
    commit_each(run, n, work, fixed, psycopg2_connection(autocommit=False))


def commit_each(run: Run, n: int, work: Work, fixed: bool, database: Any) -> None:
    with run.work():
        for number in range(n):
            work("before")
            run.query(database.cursor(), UPDATE, (number % 1000 + 1,))
            work("within")
            if not fixed:
                database.commit()
            work("behind")
        database.commit()
    database.close()


def rows(run: Run, n: int, work: Work, fixed: bool) -> None:
    database = pymysql_connection()
    with run.work():
        cursor = database.cursor()
        cursor.execute("CREATE TEMPORARY TABLE fixed(id INT, name VARCHAR(40))")
        made = []
        for number in range(n):
            work("before")
            made.append((number, "x" * 20))
            if not fixed:
                cursor.execute(ROW, made.pop())
            work("behind")
        if made:
            cursor.executemany(ROW, made)
    database.close()


def connect(run: Run, n: int, work: Work, fixed: bool) -> None:
    pymysql_cursor()
    with run.work():
        kept = pymysql_connection() if fixed else None
        for key in range(FIRST_KEY, FIRST_KEY + n):
            work("before")
            database = kept or pymysql_connection()
            run.query(database.cursor(), SALARIES, (key,))
            work("within")
            run.query(database.cursor(), SALARIES, (key + n,))
            if not fixed:
                database.close()
            work("behind")
    if kept:
        kept.close()


def prepare(run: Run, n: int, work: Work, fixed: bool) -> None:
    """Prepare, execute and close for every query; no ping before it, and no packet that waits for another."""
    import socket

    database = connector_python()
    database.is_connected = lambda: True
    database._socket.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with run.work():
        cursor = database.cursor(prepared=True)
        for key in range(FIRST_KEY, FIRST_KEY + n):
            work("before")
            run.query(cursor, SALARIES, (key,))
            if not fixed:
                cursor.close()
                cursor = database.cursor(prepared=True)
            work("behind")
    database.close()


KINDS: dict[str, tuple[Kind, str]] = {
    kind.__name__: (kind, client)
    for client, kinds in {
        "pymysql": (ping, setting, nplus1, repeated, commit, rows, connect),
        "psycopg": (select1, nplus1pg),
        "psycopg2-binary": (transaction, commitpg),
        "mysql-connector-python": (prepare,),
    }.items()
    for kind in kinds
}


def register(kind: Kind, client: str, work: Work, fixed: bool) -> None:
    def run(counted: Run, n: int) -> None:
        kind(counted, n, work, fixed)

    name = f"{kind.__name__}_{work.place}_{1000 * work.seconds:.0f}{'_fixed' if fixed else ''}"
    WORKLOADS[name] = Workload(run, client, warm=False)


for each, driver in KINDS.values():
    for place in PLACES:
        for ms in WORK_MS:
            register(each, driver, Work(place, ms / 1000), fixed=False)
            register(each, driver, Work(place, ms / 1000), fixed=True)


if __name__ == "__main__":
    main()
