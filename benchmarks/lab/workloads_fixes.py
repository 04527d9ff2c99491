#!/usr/bin/env python3
"""Wasteful programs and what their developers would make of them: `workloads_fixes.py NAME N`.

The dialogue is that of `workloads.py`. `benchmarks/fixes` says which belongs to which; those that the other files have
already are not here again.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from workloads import SALARIES, Run, connector_python, main, pymysql_connection, workload
from workloads_postgresql import EMPLOYEES, psycopg2_connection, psycopg3_connection

KEYS = "SELECT emp_no FROM employees ORDER BY emp_no"
JOIN = (
    "SELECT e.emp_no, s.salary, s.from_date FROM (SELECT emp_no FROM employees ORDER BY emp_no LIMIT %s, %s) e "
    "JOIN salaries s ON s.emp_no = e.emp_no"
)
ROW = "INSERT INTO fixed(id, name) VALUES (%s, %s)"
UPDATE = "UPDATE acc SET bal = bal + 1 WHERE id = %s"
THREADS = 8
ORDERS = 4
"""Pieces of work for each thread of the pool."""
GOLDEN, LONGEST_WORK_S = 0.618034, 0.008


# ---------------------------------------------------------------- N+1


@workload("pymysql", warm=True)
def nplus1_join(run: Run, n: int) -> None:
    database = pymysql_connection()
    with run.work():
        run.query(database.cursor(), JOIN, (0, n))
    database.close()


@workload("pymysql", warm=True)
def nplus1_in(run: Run, n: int) -> None:
    """Twenty keys at a time."""
    database = pymysql_connection()
    cursor = database.cursor()
    with run.work():
        keys = run.query(cursor, f"{KEYS} LIMIT {n}")
        for first in range(0, n, 20):
            listed = ", ".join(str(key) for (key,) in keys[first : first + 20])
            run.query(cursor, f"SELECT emp_no, salary, from_date FROM salaries WHERE emp_no IN ({listed})")
    database.close()


def one_each(run: Run, database: Any, first: int, n: int) -> None:
    """The N+1 of n employees."""
    cursor = database.cursor()
    for (key,) in run.query(cursor, f"{KEYS} LIMIT {first}, {n}"):
        run.query(cursor, SALARIES, (key,))


def joined(run: Run, database: Any, first: int, n: int) -> None:
    run.query(database.cursor(), JOIN, (first, n))


Piece = Callable[[Run, Any, int, int], None]


def threads(run: Run, n: int, piece: Piece) -> None:
    """Eight threads, each with its own connection and an eighth of the employees."""

    def work(number: int) -> None:
        database = pymysql_connection()
        piece(run, database, number * (n // THREADS), n // THREADS)
        database.close()

    side_by_side(run, work)


@workload("pymysql", warm=True)
def threads_nplus1(run: Run, n: int) -> None:
    threads(run, n, one_each)


@workload("pymysql", warm=True)
def threads_join(run: Run, n: int) -> None:
    threads(run, n, joined)


def pool(run: Run, n: int, piece: Piece) -> None:
    """Eight threads take whichever of eight connections has been free for longest, for each piece of their work."""
    databases = [pymysql_connection() for _ in range(THREADS)]
    free: queue.Queue[Any] = queue.Queue()
    for database in databases:
        free.put(database)
    size = n // (THREADS * ORDERS)

    def work(number: int) -> None:
        for order in range(number * ORDERS, (number + 1) * ORDERS):
            database = free.get()
            piece(run, database, order * size, size)
            free.put(database)

    side_by_side(run, work)
    for database in databases:
        database.close()


@workload("pymysql", warm=True)
def pool_nplus1(run: Run, n: int) -> None:
    pool(run, n, one_each)


@workload("pymysql", warm=True)
def pool_join(run: Run, n: int) -> None:
    pool(run, n, joined)


def side_by_side(run: Run, work: Callable[[int], None]) -> None:
    workers = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    with run.work():
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


# ---------------------------------------------------------------- fetches, repeats, pipelines, batches


@workload("psycopg2-binary", warm=True)
def cursor1000(run: Run, n: int) -> None:
    """What `psycopg2_cursor10` does, a thousand rows at a time."""
    database = psycopg2_connection(autocommit=False)
    with run.work():
        cursor = database.cursor("labcur")
        cursor.execute(EMPLOYEES + "%s", (n,))
        while rows := cursor.fetchmany(1000):
            run.rows += len(rows)
        cursor.close()
        database.commit()
    database.close()


@workload("pymysql", warm=True)
def repeated(run: Run, n: int) -> None:
    """The same question, over and over."""
    database = pymysql_connection()
    with run.work():
        for _ in range(n):
            run.query(database.cursor(), SALARIES, (1,))
    database.close()


@workload("pymysql", warm=True)
def cached(run: Run, _n: int) -> None:
    repeated(run, 1)


@workload("psycopg", warm=True)
def one_by_one(run: Run, n: int) -> None:
    """What `psycopg3_pipeline_50` asks, each after the answer to the one before."""
    database = psycopg3_connection(prepare_threshold=None)
    with run.work():
        for key in range(1, n + 1):
            run.query(database.cursor(), SALARIES, (key,))
    database.close()


@workload("psycopg", warm=True)
def pipelines(run: Run, n: int) -> None:
    """Fifty at a time."""
    database = psycopg3_connection(prepare_threshold=None)
    with run.work():
        for first in range(1, n + 1, 50):
            with database.pipeline():
                cursors = [database.execute(SALARIES, (key,)) for key in range(first, min(first + 50, n + 1))]
            run.rows += sum(len(cursor.fetchall()) for cursor in cursors)
    database.close()


def inserts(run: Run, n: int, size: int) -> None:
    """Rows that stay within the session; PyMySQL makes one statement of several."""
    database = pymysql_connection()
    with run.work():
        cursor = database.cursor()
        cursor.execute("CREATE TEMPORARY TABLE fixed(id INT, name VARCHAR(40))")
        rows = [(number, "x" * 20) for number in range(n)]
        for first in range(0, n, size):
            cursor.executemany(ROW, rows[first : first + size])
    database.close()


@workload("pymysql", warm=True)
def row_by_row(run: Run, n: int) -> None:
    inserts(run, n, 1)


@workload("pymysql", warm=True)
def in_batches(run: Run, n: int) -> None:
    """A hundred rows at a time."""
    inserts(run, n, 100)


def updates(run: Run, n: int, size: int) -> None:
    """The updates of `psycopg2_transactions` in one transaction, `size` of them sent together."""
    from psycopg2.extras import execute_batch

    database = psycopg2_connection(autocommit=False)
    with run.work():
        execute_batch(database.cursor(), UPDATE, [(number % 1000 + 1,) for number in range(n)], page_size=size)
        database.commit()
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_one_transaction(run: Run, n: int) -> None:
    updates(run, n, 1)


@workload("psycopg2-binary", warm=True)
def psycopg2_one_batch(run: Run, n: int) -> None:
    updates(run, n, n)


# ---------------------------------------------------------------- connections


@workload("pymysql", warm=True)
def pymysql_kept(run: Run, n: int) -> None:
    """What `pymysql_connect_each` asks, over one connection."""
    kept(run, n, pymysql_connection())


@workload("psycopg", warm=True)
def psycopg3_connect_each(run: Run, n: int) -> None:
    with run.work():
        for key in range(1, n + 1):
            database = psycopg3_connection()
            run.query(database.cursor(), SALARIES, (key,))
            database.close()


@workload("psycopg", warm=True)
def psycopg3_kept(run: Run, n: int) -> None:
    kept(run, n, psycopg3_connection(prepare_threshold=None))


def kept(run: Run, n: int, database: Any) -> None:
    with run.work():
        ask(run, database, n)
    database.close()


def ask(run: Run, database: Any, n: int) -> None:
    for key in range(1, n + 1):
        run.query(database.cursor(), SALARIES, (key,))


@workload("pymysql", warm=True)
def threads_connect_each(run: Run, n: int) -> None:
    """Eight threads, each with a connection for every query."""

    def work(_number: int) -> None:
        for _ in range(n // THREADS):
            database = pymysql_connection()
            ask(run, database, 1)
            database.close()

    side_by_side(run, work)


@workload("pymysql", warm=True)
def threads_kept(run: Run, n: int) -> None:
    """Eight threads, each with one connection for all its queries."""

    def work(_number: int) -> None:
        database = pymysql_connection()
        ask(run, database, n // THREADS)
        database.close()

    side_by_side(run, work)


# ---------------------------------------------------------------- what a session sends beside its work


def prepared(run: Run, n: int, database: Any) -> None:
    """Prepare, execute, work, close for every query."""
    with run.work():
        for key in range(1, n + 1):
            cursor = database.cursor(prepared=True)
            ask_and_work(run, cursor, key)
            cursor.close()
    database.close()


def ask_and_work(run: Run, cursor: Any, key: int) -> None:
    """Ask, then work for 0 to 8 ms.

    Delayed acknowledgments come with the kernel's ticks, 4 ms apart on many machines: a loop that always takes the same
    falls into step with them, so that a round trip costs a whole number of ticks. The work keeps it out of step.
    """
    run.query(cursor, SALARIES, (key,))
    time.sleep(key * GOLDEN % 1 * LONGEST_WORK_S)


@workload("mysql-connector-python", warm=True)
def prepared_anew(run: Run, n: int) -> None:
    """The driver pings before each new cursor, right after the close of the one before."""
    prepared(run, n, connector_python())


@workload("mysql-connector-python", warm=True)
def prepared_without_ping(run: Run, n: int) -> None:
    """Is the connection alive? It is."""
    database = connector_python()
    database.is_connected = lambda: True
    prepared(run, n, database)


@workload("mysql-connector-python", warm=True)
def prepared_nodelay(run: Run, n: int) -> None:
    """No small packet waits for the acknowledgment of the one before."""
    database = connector_python()
    database._socket.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    prepared(run, n, database)


@workload("mysql-connector-python", warm=True)
def prepared_once(run: Run, n: int) -> None:
    database = connector_python()
    with run.work():
        cursor = database.cursor(prepared=True)
        for key in range(1, n + 1):
            ask_and_work(run, cursor, key)
        cursor.close()
    database.close()


def reads(run: Run, n: int, autocommit: bool) -> None:
    database = psycopg2_connection(autocommit=autocommit)
    with run.work():
        for key in range(1, n + 1):
            run.query(database.cursor(), SALARIES, (key,))
            database.commit()
    database.close()


@workload("psycopg2-binary", warm=True)
def transaction_each(run: Run, n: int) -> None:
    """BEGIN and COMMIT around every single read."""
    reads(run, n, autocommit=False)


@workload("psycopg2-binary", warm=True)
def no_transaction(run: Run, n: int) -> None:
    reads(run, n, autocommit=True)


if __name__ == "__main__":
    main()
