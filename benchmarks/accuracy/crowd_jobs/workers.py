"""So many processes or threads, each with a MariaDB connection, do the same again and again: the client's side of a crowd.

python workers.py load                                   # the table `crowd` of 1,000 rows, in MariaDB and PostgreSQL
python workers.py processes|threads KIND CLIENTS SECONDS # prints what they got done, from when all are connected
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pymysql

HOST = "10.77.0.2"
POSTGRESQL_PORTS = 5432, 5433
ROWS = 1000


def connect() -> Any:
    return pymysql.connect(host=HOST, user="lab", password="labpw", database="lab", autocommit=True, ssl_disabled=True)


def load() -> None:
    rows = [(number, number) for number in range(ROWS)]
    mariadb = connect()
    fill(mariadb.cursor(), rows, "ENGINE=InnoDB")
    for port in POSTGRESQL_PORTS:
        with psycopg.connect(host=HOST, port=port, user="lab", password="labpw", dbname="lab") as postgresql:
            fill(postgresql.cursor(), rows)


def fill(cursor: Any, rows: list[tuple[int, int]], engine: str = "") -> None:
    cursor.execute("DROP TABLE IF EXISTS crowd")
    cursor.execute(f"CREATE TABLE crowd (id INT PRIMARY KEY, n INT) {engine}")
    cursor.executemany("INSERT INTO crowd VALUES (%s, %s)", rows)


# --- what each does: returns how many statements ----------------------------------------------------------------------


def read(cursor: Any, draw: random.Random) -> int:
    return asked(cursor, "SELECT * FROM crowd WHERE id = %s", draw.randrange(ROWS))


def update(cursor: Any, draw: random.Random) -> int:
    return asked(cursor, "UPDATE crowd SET n = n + 1 WHERE id = %s", draw.randrange(ROWS))


def summed(cursor: Any, draw: random.Random) -> int:
    return asked(cursor, "SELECT SUM(n) FROM crowd WHERE id < %s", draw.randrange(ROWS // 2, ROWS))


def sleep(cursor: Any, _: random.Random) -> int:
    return asked(cursor, "SELECT SLEEP(0.004)")


def hot(cursor: Any, draw: random.Random) -> int:
    """One of five rows is held over two more round trips."""
    return transaction(cursor, draw, 5)


def warm(cursor: Any, draw: random.Random) -> int:
    """One of forty."""
    return transaction(cursor, draw, 40)


def transaction(cursor: Any, draw: random.Random, rows: int) -> int:
    asked(cursor, "BEGIN")
    asked(cursor, "UPDATE crowd SET n = n + 1 WHERE id = %s", draw.randrange(rows))
    asked(cursor, "SELECT n FROM crowd WHERE id = %s", draw.randrange(ROWS))
    asked(cursor, "COMMIT")
    return 4


def asked(cursor: Any, text: str, *values: int) -> int:
    cursor.execute(text, values)
    cursor.fetchall()
    return 1


KINDS: dict[str, Callable[[Any, random.Random], int]] = {
    "read": read,
    "update": update,
    "sum": summed,
    "sleep": sleep,
    "hot": hot,
    "warm": warm,
}

# --- the crowd --------------------------------------------------------------------------------------------------------


def work(kind: str, number: int, seconds: float, start: Any, results: Any) -> None:
    connection, draw, done = connect(), random.Random(number), 0
    cursor = connection.cursor()
    start.wait()
    begin = time.time()
    while time.time() < begin + seconds:
        done += KINDS[kind](cursor, draw)
    results.put((begin, time.time(), done))
    connection.close()


def crowd(how: str, kind: str, clients: int, seconds: float) -> dict[str, float]:
    fork = multiprocessing.get_context("fork")
    start: Any = fork.Barrier(clients) if how == "processes" else threading.Barrier(clients)
    results: Any = fork.Queue()
    new: Any = fork.Process if how == "processes" else threading.Thread
    workers = [new(target=work, args=(kind, number, seconds, start, results)) for number in range(clients)]
    for worker in workers:
        worker.start()
    runs = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return {
        "seconds": max(end for _, end, _ in runs) - min(begin for begin, _, _ in runs),
        "statements": sum(done for *_, done in runs),
        "tps": sum(done / (end - begin) for begin, end, done in runs),
    }


if __name__ == "__main__":
    if sys.argv[1] == "load":
        load()
    else:
        print(json.dumps(crowd(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))))
