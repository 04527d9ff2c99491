"""The jobs of one recording: which drivers are held out, what each does, and with which numbers, all drawn by the recording's seed."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from matrix import BULK, CHURN, WAIT, Job

TRANSACTIONS, PREPARED, INSERTS = "transactions", "prepared, pipelined", "inserts, batches"
SIDE_BY_SIDE, SEVERAL = "pool, fan-out", "several clients"
KINDS = (WAIT, TRANSACTIONS, PREPARED, INSERTS, BULK, CHURN, SIDE_BY_SIDE, SEVERAL)
DEV, HELD_OUT = "dev", "held-out"
MOST_CLIENTS = 5

Offers = tuple[tuple[str, str, int], ...]
DRIVERS: dict[str, Offers] = {
    "PyMySQL": (
        (WAIT, "pymysql_nplus1", 60),
        (WAIT, "python-mysql:django-mysql_lazy", 50),
        (TRANSACTIONS, "commit_each_row", 25),
        (TRANSACTIONS, "python-mysql:django-mysql_saved", 14),
        (INSERTS, "local_infile", 8000),
        (INSERTS, "python-mysql:sqlalchemy-mysql_inserted", 400),
        (BULK, "pymysql_bulk", 1200),
        (BULK, "pymysql_hundreds", 10),
        (CHURN, "pymysql_connect_each", 9),
        (SIDE_BY_SIDE, "pymysql_shared_pool", 160),
    ),
    "MySQL Connector/Python": (
        (WAIT, "connector_python_nplus1", 60),
        (PREPARED, "prepared_each", 20),
        (PREPARED, "prepared_reused", 30),
    ),
    "MariaDB Connector/Python": ((WAIT, "connector_c_nplus1", 60), (INSERTS, "bulk_execute", 4000)),
    "MySQL Connector/J": ((WAIT, "jdbc:mysql_nplus1", 60), (INSERTS, "jdbc:mysql_batch_rewritten", 2000)),
    "go-sql-driver/mysql": (
        (WAIT, "go-mysql:mysql_nplus1", 30),
        (WAIT, "go-mysql:interpolating_nplus1", 60),
        (TRANSACTIONS, "go-mysql:interpolating_transactions", 20),
        (PREPARED, "go-mysql:mysql_prepared", 60),
        (INSERTS, "go-mysql:mysql_upload", 1200),
        (BULK, "go-mysql:mysql_bulk", 1200),
        (CHURN, "go-mysql:interpolating_connect_each", 9),
        (SIDE_BY_SIDE, "go-mysql:interpolating_pool", 160),
        (SIDE_BY_SIDE, "go-mysql:interpolating_web", 14),
    ),
    "mysql2 (Node)": (
        (WAIT, "node-mysql:mysql2_nplus1", 60),
        (TRANSACTIONS, "node-mysql:mysql2_transactions", 20),
        (PREPARED, "node-mysql:mysql2_prepared", 60),
        (BULK, "node-mysql:mysql2_bulk", 1200),
        (BULK, "node-mysql:mysql2_stream", 1200),
        (CHURN, "node-mysql:mysql2_connect_each", 9),
        (SIDE_BY_SIDE, "node-mysql:mysql2_pool", 160),
        (SIDE_BY_SIDE, "node-mysql:mysql2_web", 14),
    ),
    "mysqli (PHP)": (
        (WAIT, "php-mysql:mysqli_nplus1", 60),
        (TRANSACTIONS, "php-mysql:mysqli_transactions", 20),
        (PREPARED, "php-mysql:mysqli_prepared_each", 24),
        (BULK, "php-mysql:mysqli_bulk", 1200),
        (CHURN, "php-mysql:mysqli_pages", 7),
    ),
    "mysql2 (Ruby)": (
        (WAIT, "ruby-mysql:mysql2_nplus1", 60),
        (WAIT, "ruby-mysql:activerecord-mysql2_lazy", 40),
        (TRANSACTIONS, "ruby-mysql:mysql2_transactions", 20),
        (CHURN, "ruby-mysql:mysql2_reconnecting", 80),
    ),
    "psycopg2": (
        (WAIT, "postgresql:psycopg2_nplus1", 60),
        (TRANSACTIONS, "postgresql:psycopg2_transactions", 20),
        (INSERTS, "postgresql:psycopg2_copy_in", 15_000),
        (BULK, "postgresql:psycopg2_bulk", 1200),
        (BULK, "postgresql:psycopg2_hundreds", 10),
        (CHURN, "postgresql:psycopg2_connect_each", 8),
        (SIDE_BY_SIDE, "postgresql:psycopg2_shared_pool", 160),
    ),
    "Psycopg 3": (
        (WAIT, "postgresql:psycopg3_nplus1", 60),
        (WAIT, "python-postgresql:django-pg_lazy", 50),
        (TRANSACTIONS, "python-postgresql:django-pg_saved", 14),
        (PREPARED, "postgresql:psycopg3_prepared", 60),
        (PREPARED, "postgresql:psycopg3_pipeline_50", 600),
        (INSERTS, "python-postgresql:sqlalchemy-pg_inserted", 400),
        (BULK, "postgresql:psycopg3_hundreds", 10),
        (CHURN, "postgresql:psycopg3_connect_each", 8),
        (SIDE_BY_SIDE, "postgresql:psycopg3_shared_pool", 160),
    ),
    "asyncpg": (
        (WAIT, "postgresql:asyncpg_nplus1", 60),
        (PREPARED, "postgresql:asyncpg_prepared", 60),
        (INSERTS, "postgresql:asyncpg_executemany", 1000),
    ),
    "pg8000": ((WAIT, "postgresql:pg8000_nplus1", 24),),
    "PgJDBC": ((WAIT, "pgjdbc:nplus1", 60), (INSERTS, "pgjdbc:batch", 800)),
    "lib/pq": (
        (WAIT, "go-postgresql:pq_nplus1", 30),
        (TRANSACTIONS, "go-postgresql:pq_transactions", 18),
        (INSERTS, "go-postgresql:pq_upload", 8000),
        (BULK, "go-postgresql:pq_bulk", 1200),
    ),
    "pgx": (
        (WAIT, "go-postgresql:pgx_nplus1", 60),
        (PREPARED, "go-postgresql:pgx_batches", 400),
        (INSERTS, "go-postgresql:pgx_upload", 8000),
        (BULK, "go-postgresql:pgx_bulk", 1200),
        (CHURN, "go-postgresql:pgx_connect_each", 9),
        (SIDE_BY_SIDE, "go-postgresql:pgx_pool", 160),
        (SIDE_BY_SIDE, "go-postgresql:pgx_web", 14),
    ),
    "pg (Node)": (
        (WAIT, "node-postgresql:pg_nplus1", 60),
        (TRANSACTIONS, "node-postgresql:pg_transactions", 20),
        (PREPARED, "node-postgresql:pg_prepared", 60),
        (BULK, "node-postgresql:pg_bulk", 1200),
        (CHURN, "node-postgresql:pg_connect_each", 9),
        (SIDE_BY_SIDE, "node-postgresql:pg_pool", 160),
        (SIDE_BY_SIDE, "node-postgresql:pg_web", 14),
    ),
    "PDO (PHP)": (
        (WAIT, "php-postgresql:pdo-pgsql_nplus1", 60),
        (TRANSACTIONS, "php-postgresql:pdo-pgsql_transactions", 20),
        (PREPARED, "php-postgresql:pdo-pgsql_prepared_each", 20),
        (CHURN, "php-postgresql:pdo-pgsql_pages", 7),
    ),
    "pg (Ruby)": (
        (WAIT, "ruby-postgresql:pg_nplus1", 60),
        (TRANSACTIONS, "ruby-postgresql:pg_transactions", 20),
        (TRANSACTIONS, "ruby-postgresql:activerecord-pg_saved", 14),
        (PREPARED, "ruby-postgresql:pg_pipeline", 400),
        (CHURN, "ruby-postgresql:pg_reconnecting", 80),
    ),
    "libfbclient": (
        (WAIT, "firebird:fbclient_nplus1", 25),
        (TRANSACTIONS, "firebird:fbclient_transactions", 25),
        (CHURN, "firebird:fbclient_connect_each", 5),
    ),
    "firebirdsql": (
        (WAIT, "firebird:firebirdsql_nplus1", 18),
        (TRANSACTIONS, "python-firebird:firebirdsql_committed", 16),
        (CHURN, "firebird:firebirdsql_connect_each", 5),
    ),
}
"""What each driver can do: the kind of work, the lab's name of it (`recorder.lab.workload_command`), and how much about takes 3 s at 50 ms."""


def drawn(seed: int) -> list[tuple[str, str, Job]]:
    """Split, driver and job: for each server and kind of work one job of each split, whose drivers and seeds are no other's."""
    draw = random.Random(seed)
    held_out = drawn_drivers(draw)
    jobs = []
    for split, own_seed in ((DEV, 2 * seed), (HELD_OUT, 2 * seed + 1)):
        drivers = [driver for driver in DRIVERS if (driver in held_out) == (split == HELD_OUT)]
        for kind, offers in offered(drivers).items():
            driver, job = draw.choice(offers)
            jobs.append((split, driver, numbered(job, own_seed, several=kind[1] == SEVERAL)))
    return jobs


def drawn_drivers(draw: random.Random) -> set[str]:
    """Half of them; both halves know every kind of work of every server that two drivers know."""
    known = offered(DRIVERS)
    shared = {kind for kind, offers in known.items() if len({driver for driver, _ in offers}) > 1}
    while True:
        held_out = set(draw.sample(sorted(DRIVERS), len(DRIVERS) // 2))
        if all(shared <= set(offered(half)) for half in (held_out, set(DRIVERS) - held_out)):
            return held_out


def offered(drivers: set[str] | list[str] | dict[str, Offers]) -> dict[tuple[str, str], list[tuple[str, Job]]]:
    """The jobs of some drivers, by server and kind of work; what waits can also be done by several clients at once."""
    found: dict[tuple[str, str], list[tuple[str, Job]]] = {}
    for driver in sorted(drivers):
        for kind, command, n in DRIVERS[driver]:
            for each in kinds(Job(command, n, kind)):
                found.setdefault((each.protocol, each.kind), []).append((driver, each))
    return dict(sorted(found.items()))


def kinds(job: Job) -> Iterator[Job]:
    yield job
    if job.kind == WAIT and job.protocol != "firebird":
        yield replace(job, kind=SEVERAL)


def numbered(job: Job, seed: int, *, several: bool) -> Job:
    """How much of it, and by how many; workloads in other languages draw more numbers of their own (`languages.py`)."""
    draw = random.Random(f"{job.command} {seed}")
    n = max(round(job.n * draw.uniform(0.6, 1.4)), 4)
    command = f"{job.command}#{seed}" if "-" in job.command.partition(":")[0] else job.command
    # Alone: programs that start beside a run delay it, though they are the lab's own.
    return replace(job, command=command, n=n, clients=draw.randint(2, MOST_CLIENTS) if several else 1, alone=True)
