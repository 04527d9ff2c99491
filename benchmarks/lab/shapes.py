"""Work that has the same shape on every server: pools, threads, processes, pauses, results of every size.

A server's own file of workloads registers them for one driver, under the driver's name: `register(workload, Driver("psycopg2", …))`.
"""

from __future__ import annotations

import multiprocessing
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

PAUSE_S = 1.2
THINK_S = 0.005
Shape = Callable[[Any, int, "Driver"], None]


@dataclass(frozen=True)
class Driver:
    """One driver on one server."""

    name: str
    client: str
    """Its package."""
    connect: Callable[[], Any]
    by_key: str
    """One query with the driver's mark for a parameter."""
    slow: str | None = None
    """A query that the server takes 20 ms for."""


def register(workload: Callable[..., Any], driver: Driver) -> None:
    """Register every shape for `driver` as `NAME_SHAPE`."""
    for shape in SHAPES:
        if shape is not slow_server or driver.slow:
            function = partial(shape, driver=driver)
            function.__name__ = f"{driver.name}_{shape.__name__}"  # type: ignore[attr-defined]
            workload(driver.client, warm=True)(function)


def ask(run: Any, database: Any, sql: str, *parameters: Any) -> None:
    cursor = database.cursor()
    run.query(cursor, sql, *parameters)
    cursor.close()


def in_turn(run: Any, n: int, driver: Driver) -> None:
    """Four pooled connections, used one after the other."""
    databases = [driver.connect() for _ in range(4)]
    with run.work():
        for key in range(1, n + 1):
            ask(run, databases[key % 4], driver.by_key, (key,))
    close(databases)


def shared_pool(run: Any, n: int, driver: Driver, connections: int = 8) -> None:
    """Four threads take whichever connection has been free for longest."""
    databases = [driver.connect() for _ in range(connections)]
    free: queue.Queue[Any] = queue.Queue()
    for database in databases:
        free.put(database)
    runs = [type(run)() for _ in range(4)]

    def work(part: int) -> None:
        for key in range(part * (n // 4) + 1, (part + 1) * (n // 4) + 1):
            database = free.get()
            ask(runs[part], database, driver.by_key, (key,))
            free.put(database)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    with run.work():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for own in runs:
        run.add(own)
    close(databases)


def scarce_pool(run: Any, n: int, driver: Driver) -> None:
    """Four threads that share two connections."""
    shared_pool(run, n, driver, connections=2)


def processes(run: Any, n: int, driver: Driver) -> None:
    """Eight processes with a connection each; n queries in all."""
    fork = multiprocessing.get_context("fork")
    start, results = fork.Barrier(9), fork.Queue()

    def work(part: int) -> None:
        database, own = driver.connect(), type(run)()
        start.wait()
        for key in range(part * (n // 8) + 1, (part + 1) * (n // 8) + 1):
            ask(own, database, driver.by_key, (key,))
        results.put((own.statements, own.rows))
        database.close()

    children = [fork.Process(target=work, args=(part,)) for part in range(8)]
    for child in children:
        child.start()
    start.wait()
    with run.work():
        for _ in children:
            statements, rows = results.get()
            run.statements, run.rows = run.statements + statements, run.rows + rows
    for child in children:
        child.join()


def thinking(run: Any, n: int, driver: Driver) -> None:
    """The application computes for 5 ms after every query."""
    sequential(run, n, driver, lambda key: time.sleep(THINK_S))


def pauses(run: Any, n: int, driver: Driver) -> None:
    """A person who pauses three times for longer than a second."""
    sequential(run, n, driver, lambda key: time.sleep(PAUSE_S if key % max(n // 3, 25) == 0 else 0))


def sequential(run: Any, n: int, driver: Driver, between: Callable[[int], None]) -> None:
    database = driver.connect()
    with run.work():
        for key in range(1, n + 1):
            ask(run, database, driver.by_key, (key,))
            between(key)
    database.close()


def connect_each(run: Any, n: int, driver: Driver) -> None:
    """A connection for every query."""
    with run.work():
        for key in range(1, n + 1):
            database = driver.connect()
            ask(run, database, driver.by_key, (key,))
            database.close()


def slow_server(run: Any, n: int, driver: Driver) -> None:
    """Each query keeps the server busy for 20 ms."""
    repeated(run, driver, [driver.slow or ""] * n)


def hundreds(run: Any, n: int, driver: Driver) -> None:
    """n results of 100 rows, 100 kB each."""
    repeated(
        run,
        driver,
        [f"SELECT * FROM big WHERE id BETWEEN {first * 100 + 1} AND {first * 100 + 100}" for first in range(n)],
    )


def bulk(run: Any, n: int, driver: Driver) -> None:
    """One result of n rows of 1 kB."""
    repeated(run, driver, [f"SELECT * FROM big WHERE id <= {n}"])


def long_text(run: Any, n: int, driver: Driver) -> None:
    """n statements of 50 kB."""
    repeated(run, driver, [f"SELECT COUNT(*) FROM acc WHERE id = 1 /* {'a long story ' * 4000} */"] * n)


def repeated(run: Any, driver: Driver, statements: list[str]) -> None:
    database = driver.connect()
    with run.work():
        for sql in statements:
            ask(run, database, sql)
    database.close()


def close(databases: list[Any]) -> None:
    for database in databases:
        database.close()


SHAPES: tuple[Shape, ...] = (
    *(in_turn, shared_pool, scarce_pool, processes, thinking, pauses, connect_each),
    *(slow_server, hundreds, bulk, long_text),
)
