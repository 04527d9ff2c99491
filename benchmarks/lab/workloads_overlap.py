#!/usr/bin/env python3
"""Clients that do not wait for one answer after the other: `workloads_overlap.py NAME SEED`, with the dialogue of `workloads.py`.

A scheduler that starts work by the clock, a reader ahead of its worker, waits for what the server pushes, work that fans out over a pool.
All of a job's parameters follow from its seed. Jobs that look alike without that property end in `_alike`.
"""

from __future__ import annotations

import asyncio
import queue
import random
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from workloads import HOST, SALARIES, Run, main, pymysql_connection, workload
from workloads_postgresql import PORT, WORDS, psycopg2_connection, psycopg3_connection

CONNECT: dict[str, tuple[str, Callable[..., Any], str]] = {
    "pymysql": ("pymysql", pymysql_connection, "SELECT SLEEP(%s)"),
    "psycopg2": ("psycopg2-binary", psycopg2_connection, "SELECT pg_sleep(%s)"),
    "psycopg3": ("psycopg", psycopg3_connection, "SELECT pg_sleep(%s)"),
}
LASTS_S = 2.5
"""A job takes about so long at a short RTT."""


class Asker:
    """One connection whose queries keep the server busy for as long as the seed says."""

    def __init__(self, driver: str, chance: random.Random, run: Run) -> None:
        self.database, self.run, self.chance = CONNECT[driver][1](), run, chance
        self.sleep = CONNECT[driver][2]
        self.busy_s = chance.choice((0, 0, 0.002, 0.006))

    def ask(self) -> None:
        cursor = self.database.cursor()
        if self.busy_s:
            self.run.query(cursor, self.sleep, (self.chance.uniform(0, self.busy_s),))
        else:
            self.run.query(cursor, SALARIES, (self.chance.randint(1, 400),))
        cursor.close()

    def close(self) -> None:
        self.database.close()


def register(shape: Callable[[Run, int, str], None]) -> Callable[[Run, int, str], None]:
    for driver, (client, *_) in CONNECT.items():

        def function(run: Run, seed: int, driver: str = driver) -> None:
            shape(run, seed, driver)

        function.__name__ = f"{driver}_{shape.__name__}"
        workload(client)(function)
    return shape


# ---------------------------------------------------------------- by the clock


@register
def periodic(run: Run, seed: int, driver: str) -> None:
    """Work that begins by the clock: one to three queries, and what the client does in between."""
    chance = random.Random(seed)
    period, style = chance.uniform(0.018, 0.06), chance.choice(("grid", "sleeps the rest", "skips"))
    queries, work = chance.choice((1, 1, 2, 3)), chance.choice((0, 0, 0.1)) * period
    asker = Asker(driver, chance, run)
    with run.work():
        due = time.perf_counter()
        for _ in range(round(LASTS_S / period)):
            time.sleep(max(due - time.perf_counter(), 0))
            begun = time.perf_counter()
            for _ in range(queries):
                asker.ask()
                time.sleep(chance.uniform(0, work))
            now = time.perf_counter()
            if style == "grid":
                due += period
            elif style == "sleeps the rest":
                due = max(begun + period, now)
            else:
                due += period * max(1, -(-(now - due) // period))
    asker.close()


@register
def thinks_alike(run: Run, seed: int, driver: str) -> None:
    """The client computes for as long as that, always or on average, after each answer."""
    chance = random.Random(seed)
    think, style = chance.uniform(0.01, 0.05), chance.choice(("constant", "uniform", "exponential", "exponential"))
    draw = {
        "constant": lambda: think,
        "uniform": lambda: chance.uniform(0.5, 1.5) * think,
        "exponential": lambda: chance.expovariate(1 / think),
    }[style]
    asker = Asker(driver, chance, run)
    with run.work():
        for _ in range(round(LASTS_S / think)):
            asker.ask()
            time.sleep(draw())
    asker.close()


# ---------------------------------------------------------------- ahead of the worker


@register
def prefetch(run: Run, seed: int, driver: str) -> None:
    """A thread reads ahead of the one that works on what it has read."""
    chance = random.Random(seed)
    depth, work = chance.choice((1, 1, 2, 4, 8)), chance.uniform(0.006, 0.04)
    varies, count = chance.choice((0.05, 0.3, 0.6)), round(LASTS_S / work)
    ahead: queue.Queue[None] = queue.Queue(depth)
    asker = Asker(driver, chance, run)

    def read() -> None:
        for _ in range(count):
            asker.ask()
            ahead.put(None)

    with run.work():
        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(count):
            ahead.get()
            time.sleep(work * chance.uniform(1 - varies, 1 + varies))
        reader.join()
    asker.close()


# ---------------------------------------------------------------- pushed


def listener(chance: random.Random, run: Run, count: int, ask_every: int) -> Callable[[], None]:
    """One that asks something after each so many notifications."""
    database = psycopg2_connection()
    cursor = database.cursor()
    run.query(cursor, "LISTEN lab_overlap")

    def listen() -> None:
        heard = 0
        while heard < count:
            select.select([database], [], [], 10)
            database.poll()
            while database.notifies:
                database.notifies.pop(0)
                heard += 1
                if heard % ask_every == 0:
                    run.query(cursor, SALARIES, (chance.randint(1, 400),))
        database.close()

    return listen


@workload("psycopg2-binary")
def psycopg2_notified(run: Run, seed: int) -> None:
    """Another connection notifies after each pause of its own."""
    chance = random.Random(seed)
    pause, varies, every = chance.uniform(0.008, 0.04), chance.choice((0, 0.5)), chance.choice((1, 1, 3))
    count = round(LASTS_S / pause)
    notifier = psycopg2_connection()
    work = listener(chance, run, count, every)
    with run.work():
        thread = threading.Thread(target=work)
        thread.start()
        cursor = notifier.cursor()
        for number in range(count):
            cursor.execute(f"NOTIFY lab_overlap, '{number}'")
            time.sleep(pause * chance.uniform(1 - varies, 1 + varies))
        thread.join()
    notifier.close()


@workload("psycopg2-binary")
def psycopg2_told_by_the_clock(run: Run, seed: int) -> None:
    """The server itself notifies, at its own pace."""
    chance = random.Random(seed)
    pause, every = chance.uniform(0.01, 0.05), chance.choice((1, 1, 3))
    count = round(LASTS_S / pause)
    server = psycopg2_connection()
    work = listener(chance, run, count, every)
    loop = f"FOR i IN 1..{count} LOOP PERFORM pg_sleep({pause}); NOTIFY lab_overlap; COMMIT; END LOOP"
    with run.work():
        thread = threading.Thread(target=work)
        thread.start()
        server.cursor().execute(f"DO $$ BEGIN {loop}; END $$")
        thread.join()
    server.close()


@workload("psycopg2-binary")
def psycopg2_ping_pong(run: Run, seed: int) -> None:
    """Two connections that notify each other in turn."""
    chance = random.Random(seed)
    count, works = chance.randint(60, 120), chance.uniform(0, 0.01)
    sides = [psycopg2_connection() for _ in range(2)]
    for side, database in enumerate(sides):
        database.cursor().execute(f"LISTEN side{side}")

    def play(side: int) -> None:
        database, cursor, heard = sides[side], sides[side].cursor(), 0
        while heard < count:
            select.select([database], [], [], 10)
            database.poll()
            while database.notifies:
                database.notifies.pop(0)
                heard += 1
                time.sleep(works)
                if heard < count or side:
                    cursor.execute(f"NOTIFY side{1 - side}")
        database.close()

    with run.work():
        threads = [threading.Thread(target=play, args=(side,)) for side in range(2)]
        for thread in threads:
            thread.start()
        other = psycopg2_connection()
        other.cursor().execute("NOTIFY side1")
        other.close()
        for thread in threads:
            thread.join()


# ---------------------------------------------------------------- fanned out


def with_pool(work: Callable[[Any], Any], least: int, most: int) -> None:
    import asyncpg

    async def session() -> None:
        words = {
            "host": HOST,
            "port": PORT,
            "user": "lab",
            "database": "lab",
            "password": WORDS["password"],
            "ssl": False,
        }
        async with asyncpg.create_pool(min_size=least, max_size=most, **words) as pool:
            await work(pool)

    asyncio.run(session())


@workload("asyncpg")
def asyncpg_fan_out(run: Run, seed: int) -> None:
    """Web requests: a query, some side by side that need its answer, and one that needs all of theirs."""
    chance = random.Random(seed)
    width, pooled, works = chance.randint(2, 6), chance.choice((0, 2, 6)), chance.uniform(0, 0.004)
    busy = chance.choice((0, 0.003))

    async def ask(pool: Any) -> None:
        async with pool.acquire() as database:
            await database.fetch("SELECT pg_sleep($1)", chance.uniform(0, busy)) if busy else await database.fetch(
                "SELECT salary FROM salaries WHERE emp_no = $1", chance.randint(1, 400)
            )
        run.statements += 1

    async def work(pool: Any) -> None:
        for _ in range(chance.randint(60, 120)):
            await ask(pool)
            await asyncio.gather(*(ask(pool) for _ in range(width)))
            await ask(pool)
            await asyncio.sleep(works)

    with run.work():
        with_pool(work, width, width + pooled)


@register
def threads_fan_out(run: Run, seed: int, driver: str) -> None:
    """The same by threads with a connection each, each of which may ask twice."""
    from concurrent.futures import ThreadPoolExecutor

    chance = random.Random(seed)
    width, works, each = chance.randint(2, 6), chance.uniform(0, 0.003), chance.choice((1, 1, 2))
    askers = [Asker(driver, random.Random(seed), run) for _ in range(width + 1)]

    def several(asker: Asker) -> None:
        for _ in range(each):
            asker.ask()

    with run.work(), ThreadPoolExecutor(width) as pool:
        for _ in range(chance.randint(60, 120)):
            askers[0].ask()
            list(pool.map(several, askers[1:]))
            askers[0].ask()
            time.sleep(works)
    for asker in askers:
        asker.close()


@workload("asyncpg")
def asyncpg_tasks(run: Run, seed: int) -> None:
    """Tasks with a transaction each on a pool that is filled before them and closed after the slowest."""
    chance = random.Random(seed)
    tasks, queries = chance.randint(3, 10), chance.randint(3, 12)
    pooled = chance.randint(3, tasks)

    async def task(pool: Any) -> None:
        async with pool.acquire() as database, database.transaction():
            for _ in range(chance.randint(1, queries)):
                await database.fetch("SELECT salary FROM salaries WHERE emp_no = $1", chance.randint(1, 400))
                run.statements += 1

    async def work(pool: Any) -> None:
        await asyncio.gather(*(task(pool) for _ in range(tasks)))

    with run.work():
        with_pool(work, pooled, pooled)


@workload("asyncpg")
def asyncpg_independent_alike(run: Run, seed: int) -> None:
    """Tasks on one pool that have nothing to do with each other, and pause at random."""
    chance = random.Random(seed)
    tasks, pause = chance.randint(2, 6), chance.uniform(0.002, 0.02)

    async def task(pool: Any) -> None:
        for _ in range(round(LASTS_S / (pause + 0.002))):
            await pool.fetch("SELECT salary FROM salaries WHERE emp_no = $1", chance.randint(1, 400))
            run.statements += 1
            await asyncio.sleep(chance.expovariate(1 / pause))

    async def work(pool: Any) -> None:
        await asyncio.gather(*(task(pool) for _ in range(tasks)))

    with run.work():
        with_pool(work, tasks, tasks)


@register
def threads_alike(run: Run, seed: int, driver: str) -> None:
    """Threads with a connection each that have nothing to do with each other."""
    chance = random.Random(seed)
    askers = [Asker(driver, random.Random(seed + part), run) for part in range(chance.randint(2, 5))]
    pause = chance.uniform(0.001, 0.01)

    def loop(asker: Asker) -> None:
        for _ in range(round(LASTS_S / 2 / (pause + 0.002))):
            asker.ask()
            time.sleep(asker.chance.expovariate(1 / pause))

    with run.work():
        threads = [threading.Thread(target=loop, args=(asker,)) for asker in askers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for asker in askers:
        asker.close()


if __name__ == "__main__":
    main()
