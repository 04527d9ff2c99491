"""The jobs of the accuracy table: which workload of the lab, how much of it, and what kind of work that is.

The same number of queries is asked for at every RTT; it is chosen so that a run takes at most about 20 s at 50 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

RTTS_MS = (0.5, 1.0, 15.0, 5.0, 50.0, 0.0)
"""In the order of their worth, should the recording be cut short."""


@dataclass(frozen=True)
class Job:
    """One workload of `benchmarks/lab`, as `recorder.lab` calls it."""

    command: str
    """Its name, with the server's before it where that is not MariaDB: `postgresql:psycopg2_nplus1`."""
    n: int
    kind: str
    alone: bool = False
    """Moves so much data that nothing else may run beside it."""
    both_ends: bool = False
    """Captured at the server too."""
    server: int = 0
    """The server's port where it is not the usual one."""
    clients: int = 1
    """So many processes do it at once, each all of it."""

    @property
    def name(self) -> str:
        kind, _, name = self.command.rpartition(":")
        language = kind if "jdbc" in kind else kind.partition("-")[0] if "-" in kind else ""
        more = (f"_{self.server}" if self.server else "") + (f"_x{self.clients}" if self.clients > 1 else "")
        return f"{language}_{name}".lstrip("_").replace("#", "_") + more

    @property
    def protocol(self) -> str:
        kind = self.command.rpartition(":")[0].rpartition("-")[2]
        return {"": "mysql", "jdbc": "mysql", "pgjdbc": "postgresql"}.get(kind, kind)


WAIT, CURSOR, PIPELINE, BULK = "stop and wait", "cursor", "pipeline", "bulk"
PARALLEL, POOL, CHURN, THINK, SLOW = "parallel", "pool", "connect per query", "think time", "slow server"
PERIODIC, PREFETCH, FAN_OUT, PUSH = "periodic", "prefetch", "fan-out", "push"


def shapes(driver: str, share: float = 1, *, slow: bool = True) -> list[Job]:
    """The shapes that every server has (`benchmarks/lab/shapes.py`); `share` for drivers that wait several times a query."""

    def some(n: int) -> int:
        return round(n * share / 8) * 8

    return [
        Job(f"{driver}_in_turn", some(200), POOL),
        Job(f"{driver}_shared_pool", some(800), POOL),
        Job(f"{driver}_scarce_pool", some(400), POOL),
        Job(f"{driver}_processes", some(1600), PARALLEL),
        Job(f"{driver}_thinking", some(200), THINK),
        Job(f"{driver}_pauses", some(150), THINK),
        Job(f"{driver}_connect_each", some(50), CHURN),
        *([Job(f"{driver}_slow_server", 60, SLOW)] if slow else []),
        Job(f"{driver}_hundreds", some(80), BULK, alone=True),
        Job(f"{driver}_bulk", 20_000, BULK, alone=True),
        Job(f"{driver}_long_text", some(60), BULK, alone=True),
    ]


def encrypted(driver: str, share: float = 1) -> list[Job]:
    """Of the shapes, those that encryption changes."""
    wanted = ("_processes", "_connect_each", "_bulk", "_in_turn")
    return [job for job in shapes(driver, share, slow=False) if job.name.endswith(wanted)]


JOBS: tuple[Job, ...] = (
    # MariaDB
    Job("pymysql_nplus1", 400, WAIT, both_ends=True),
    Job("connector_python_nplus1", 300, WAIT),
    Job("connector_c_nplus1", 300, WAIT),
    Job("tlsv1_2_nplus1", 200, WAIT),
    Job("tlsv1_3_nplus1", 200, WAIT),
    Job("compressed", 150, WAIT),
    Job("prepared_each", 100, WAIT),
    Job("prepared_reused", 200, WAIT),
    Job("commit_each_row", 150, WAIT),
    Job("cursor_fetch1", 300, CURSOR),
    Job("bulk_execute", 20_000, BULK, alone=True),
    Job("local_infile", 20_000, BULK, alone=True),
    Job("large_row", 16, BULK, alone=True),
    Job("parallel", 1600, PARALLEL),
    Job("jdbc:mysql_nplus1", 200, WAIT),
    Job("jdbc:mysql_prepared_each", 100, WAIT),
    Job("jdbc:mysql_cursor_fetch10", 2000, CURSOR),
    Job("jdbc:mysql_batch_rewritten", 2000, BULK),
    Job("jdbc:mariadb_batch_pipelined", 500, PIPELINE),
    *shapes("pymysql"),
    *encrypted("pymysql_tls", 0.5),
    # PostgreSQL
    Job("postgresql:psycopg2_nplus1", 400, WAIT, both_ends=True),
    Job("postgresql:psycopg3_nplus1", 300, WAIT),
    Job("postgresql:psycopg3_nplus1", 300, WAIT, server=5433),
    Job("postgresql:asyncpg_nplus1", 300, WAIT),
    Job("postgresql:pg8000_nplus1", 120, WAIT),
    Job("postgresql:psycopg2_tls", 200, WAIT),
    Job("postgresql:psycopg3_prepared", 300, WAIT),
    Job("postgresql:psycopg2_transactions", 100, WAIT),
    Job("postgresql:psycopg2_cursor10", 2000, CURSOR, both_ends=True),
    Job("postgresql:asyncpg_portal10", 2000, CURSOR),
    Job("postgresql:psycopg3_pipeline_50", 1000, PIPELINE),
    Job("postgresql:psycopg3_pipeline_all", 1000, PIPELINE),
    Job("postgresql:pgbench_pipeline", 100, PIPELINE),
    Job("postgresql:asyncpg_executemany", 1000, PIPELINE),
    Job("postgresql:psycopg2_copy_in", 200_000, BULK, alone=True),
    Job("postgresql:pgbench_select_simple_c1", 300, WAIT),
    Job("postgresql:pgbench_select_prepared_c4", 1200, PARALLEL),
    Job("postgresql:pgbench_tpcb_c4", 160, PARALLEL),
    Job("pgjdbc:nplus1", 200, WAIT),
    Job("pgjdbc:fetch10", 2000, CURSOR),
    Job("pgjdbc:batch", 1000, PIPELINE),
    *shapes("postgresql:psycopg2"),
    *encrypted("postgresql:psycopg2_tls", 0.5),
    # Firebird
    Job("firebird:fbclient_nplus1", 100, WAIT, both_ends=True),
    Job("firebird:fbclient_encrypted_nplus1", 60, WAIT),
    Job("firebird:fbclient_compressed_nplus1", 60, WAIT),
    Job("firebird:firebirdsql_nplus1", 80, WAIT),
    Job("firebird:fbclient_prepared", 150, WAIT),
    Job("firebird:fbclient_transactions", 100, WAIT),
    Job("firebird:fbclient_blobs", 60, CURSOR),
    *shapes("firebird:fbclient", 0.3, slow=False),
    *encrypted("firebird:fbclient_encrypted", 0.3),
    *(job for job in encrypted("firebird:fbclient_compressed", 0.3) if job.kind == BULK),
)

SEEDS = (21, 22, 23)
"""Others than those that the model was fitted on, 1 to 8, or first tried on, 9 to 20."""
OVERLAP: tuple[Job, ...] = tuple(
    Job(f"overlap-{protocol}:{name}#{seed}", seed, kind)
    for seed in SEEDS
    for protocol, name, kind in (
        ("mysql", "pymysql_periodic", PERIODIC),
        ("postgresql", "psycopg2_periodic", PERIODIC),
        ("mysql", "pymysql_prefetch", PREFETCH),
        ("postgresql", "psycopg2_prefetch", PREFETCH),
        ("postgresql", "psycopg2_notified", PUSH),
        ("postgresql", "psycopg2_ping_pong", PUSH),
        ("postgresql", "asyncpg_fan_out", FAN_OUT),
        ("mysql", "pymysql_threads_fan_out", FAN_OUT),
    )
)
"""Work that does not wait for one answer after the other; all of a job's parameters follow from its seed."""

COLD: tuple[Job, ...] = (
    Job("pymysql_nplus1", 100, WAIT, both_ends=True),
    Job("postgresql:psycopg2_nplus1", 100, WAIT, both_ends=True),
    Job("postgresql:psycopg2_cursor10", 600, CURSOR),
    Job("pymysql_shared_pool", 240, POOL),
    Job("postgresql:psycopg2_connect_each", 16, CHURN),
    Job("postgresql:asyncpg_nplus1", 100, WAIT),
    Job("commit_each_row", 60, WAIT),
    Job("postgresql:psycopg3_nplus1", 100, WAIT),
    Job("pymysql_connect_each", 16, CHURN),
    Job("cursor_fetch1", 80, CURSOR),
    Job("postgresql:psycopg2_in_turn", 80, POOL),
    Job("connector_c_nplus1", 100, WAIT),
    Job("prepared_reused", 80, WAIT),
    Job("tlsv1_3_nplus1", 60, WAIT),
    Job("postgresql:psycopg2_transactions", 30, WAIT),
)
"""Recorded on processors that sleep, where the machine must be quiet meanwhile: small."""

CLIENTS: tuple[Job, ...] = (
    Job("go-mysql:interpolating_nplus1#1", 60, WAIT),
    Job("go-mysql:mysql_nplus1#1", 40, WAIT),
    Job("go-mysql:mysql_prepared#1", 60, WAIT),
    Job("go-mysql:mysql_pool#1", 200, POOL),
    Job("go-mysql:mysql_pool#2", 160, POOL),
    Job("go-mysql:mysql_ticker#1", 40, PERIODIC),
    Job("go-mysql:mysql_prefetch#1", 50, PREFETCH),
    Job("go-mysql:mysql_web#1", 12, FAN_OUT),
    Job("go-mysql:compressed_nplus1#1", 40, WAIT),
    Job("go-mysql:compressed_bulk#1", 6000, BULK, alone=True),
    Job("go-mysql:mysql_upload#1", 3000, BULK, alone=True),
    Job("go-postgresql:pq_transactions#1", 25, WAIT),
    Job("go-postgresql:pq_upload#1", 20_000, BULK, alone=True),
    Job("go-postgresql:pq_bulk#1", 6000, BULK, alone=True),
    Job("go-postgresql:pgx_nplus1#1", 60, WAIT),
    Job("go-postgresql:pgx_batches#1", 600, PIPELINE),
    Job("go-postgresql:pgx_batches#2", 300, PIPELINE),
    Job("go-postgresql:pgx_upload#1", 20_000, BULK, alone=True),
    Job("go-postgresql:pgx_ticker#1", 40, PERIODIC),
    Job("go-postgresql:pgx_ticker#2", 40, PERIODIC),
    Job("go-postgresql:pgx_prefetch#1", 60, PREFETCH),
    Job("go-postgresql:pgx_prefetch#2", 60, PREFETCH),
    Job("go-postgresql:pgx_web#1", 15, FAN_OUT),
    Job("go-postgresql:pgx_notified#1", 30, PUSH),
    Job("go-postgresql:pgx_connect_each#1", 20, CHURN),
    Job("node-mysql:mysql2_nplus1#1", 60, WAIT),
    Job("node-mysql:mysql2_all_at_once#1", 150, POOL),
    Job("node-mysql:mysql2_timer#1", 40, PERIODIC),
    Job("node-mysql:mysql2_web#1", 12, FAN_OUT),
    Job("node-mysql:mysql2_stream#1", 4000, BULK, alone=True),
    Job("node-mysql:compressed_bulk#1", 4000, BULK, alone=True),
    Job("node-mysql:compressed_nplus1#1", 40, WAIT),
    Job("node-postgresql:pg_nplus1#1", 60, WAIT),
    Job("node-postgresql:pg_queued#1", 60, WAIT),
    Job("node-postgresql:pg_pool#1", 150, POOL),
    Job("node-postgresql:pg_timer#1", 40, PERIODIC),
    Job("node-postgresql:pg_timer#2", 40, PERIODIC),
    Job("node-postgresql:pg_poll#1", 40, THINK),
    Job("node-postgresql:pg_prefetch#1", 60, PREFETCH),
    Job("node-postgresql:pg_web#1", 12, FAN_OUT),
    Job("node-postgresql:pg_web#2", 12, FAN_OUT),
    Job("node-postgresql:pg_notified#1", 30, PUSH),
    Job("node-postgresql:pg_stream#1", 3000, CURSOR),
    Job("node-firebird:firebird_nplus1#1", 25, WAIT),
    Job("php-mysql:mysqli_nplus1#1", 60, WAIT),
    Job("php-mysql:mysqli_pages#1", 12, CHURN),
    Job("php-mysql:compressed_bulk#1", 6000, BULK, alone=True),
    Job("php-postgresql:pdo-pgsql_prepared_each#1", 30, WAIT),
    Job("php-postgresql:pdo-pgsql_pages#1", 12, CHURN),
    Job("ruby-mysql:mysql2_thinking#1", 40, THINK),
    Job("ruby-postgresql:pg_pipeline#1", 400, PIPELINE),
    Job("ruby-mysql:activerecord-mysql2_lazy#1", 40, WAIT),
    Job("ruby-postgresql:activerecord-pg_saved#1", 20, WAIT),
    Job("rust-postgresql:tokio-postgres_nplus1#1", 25, WAIT),
    Job("rust-postgresql:tokio-postgres_joined#1", 500, PIPELINE),
    Job("rust-postgresql:tokio-postgres_upload#1", 30_000, BULK, alone=True),
    Job("rust-postgresql:tokio-postgres_prefetch#1", 60, PREFETCH),
    Job("rust-postgresql:tokio-postgres_notified#1", 30, PUSH),
    Job("rust-mysql:sqlx-mysql_pool#1", 150, POOL),
    Job("rust-postgresql:sqlx-postgres_nplus1#1", 40, WAIT),
    Job("rust-postgresql:sqlx-postgres_web#1", 12, FAN_OUT),
    Job("python-mysql:django-mysql_requests#1", 12, CHURN),
    Job("python-postgresql:django-pg_lazy#1", 50, WAIT),
    Job("python-postgresql:django-pg_saved#1", 20, WAIT),
    Job("python-mysql:sqlalchemy-mysql_lazy#1", 50, WAIT),
    Job("python-postgresql:sqlalchemy-pg_flushed#1", 400, PIPELINE),
    Job("python-postgresql:sqlalchemy-pg_inserted#1", 600, BULK),
    Job("python-postgresql:sqlalchemy-pg_eager#1", 20, THINK),
    Job("python-firebird:firebirdsql_committed#1", 40, THINK),
)
"""By clients in other languages, with drawn numbers (`benchmarks/lab/languages.py`)."""
