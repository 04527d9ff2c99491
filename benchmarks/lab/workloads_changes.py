"""Workloads that go on for a given time, so that the link can change while they run: `workloads_changes.py SERVER SHAPE SECONDS`.

Run inside the client's namespace; SERVER is mysql or postgresql. Like the others it prints READY, waits for a line, works, and prints what
the application counted. `benchmarks/changes.py` records them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

HOST = os.environ.get("LATPCAP_HOST", "10.77.0.2")
LOGIN = {"host": HOST, "user": "lab", "password": "labpw", "database": "lab"}
BY_KEY = "SELECT salary, from_date FROM salaries WHERE emp_no = %s"
WORK_S = 0.002
"""What the application does with each row."""
SLOW = {"mysql": "SELECT SLEEP(0.015)", "postgresql": "SELECT pg_sleep(0.015)"}
BULK = "SELECT a.salary, a.from_date, b.to_date FROM salaries a, (SELECT to_date FROM salaries LIMIT 40) b LIMIT 20000"


def connector(server: str) -> Callable[[], Any]:
    if server == "mysql":
        import pymysql

        return lambda: pymysql.connect(**LOGIN, ssl_disabled=True)
    import psycopg2

    return lambda: psycopg2.connect(**LOGIN, sslmode="disable")


def ask(database: Any, sql: str, *parameters: Any) -> None:
    cursor = database.cursor()
    cursor.execute(sql, *parameters)
    cursor.fetchall()
    cursor.close()


def keys(seconds: float) -> Iterator[int]:
    end, key = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        key += 1
        yield key
        time.sleep(WORK_S)


def one(connect: Callable[[], Any], server: str, seconds: float) -> int:
    """One connection, one statement after the other."""
    database = connect()
    count = sum(ask(database, BY_KEY, (key,)) is None for key in keys(seconds))
    database.close()
    return count


def each(connect: Callable[[], Any], server: str, seconds: float) -> int:
    """A new connection for every statement."""
    count = 0
    for key in keys(seconds):
        database = connect()
        ask(database, BY_KEY, (key,))
        database.close()
        count += 1
    return count


def pause(connect: Callable[[], Any], server: str, seconds: float) -> int:
    """Nothing happens for the middle third."""
    database = connect()
    count = sum(ask(database, BY_KEY, (key,)) is None for key in keys(seconds / 3))
    time.sleep(seconds / 3)
    count += sum(ask(database, BY_KEY, (key,)) is None for key in keys(seconds / 3))
    database.close()
    return count


def slow(connect: Callable[[], Any], server: str, seconds: float) -> int:
    """The server takes 15 ms longer from the middle on."""
    database = connect()
    count = sum(ask(database, BY_KEY, (key,)) is None for key in keys(seconds / 2))
    count += sum(ask(database, SLOW[server]) is None for _ in keys(seconds / 2))
    database.close()
    return count


def bulk(connect: Callable[[], Any], server: str, seconds: float) -> int:
    """Small results, then large ones."""
    database = connect()
    count = sum(ask(database, BY_KEY, (key,)) is None for key in keys(seconds / 2))
    count += sum(ask(database, BULK) is None for _ in keys(seconds / 2))
    database.close()
    return count


SHAPES = {shape.__name__: shape for shape in (one, each, pause, slow, bulk)}

if __name__ == "__main__":
    server, shape, seconds = sys.argv[1], SHAPES[sys.argv[2]], float(sys.argv[3])
    connect = connector(server)
    print("READY", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    statements = shape(connect, server, seconds)
    print(json.dumps({"statements": statements, "work_s": time.perf_counter() - begin}))
