"""The jobs that are run clear and encrypted. Pipelines and read-ahead are kinds of their own: there, counting can be wrong."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ways import AGAIN, CBC, CLEAR, KEY_UPDATES, RESUMED12, RESUMED13, TLS12, TLS13, WIRE, Way

sys.path.append(str(Path(__file__).resolve().parents[1] / "accuracy"))

from matrix import BULK, CHURN, CURSOR, PARALLEL, PIPELINE, WAIT, Job, shapes

READ_AHEAD = "read-ahead"
EVERY = (CLEAR, AGAIN, TLS12, TLS13)
FAR = (CLEAR, TLS12, TLS13)
"""What is run at the distance that is projected onto."""


@dataclass(frozen=True)
class Work:
    """One job, and the ways in which it is run."""

    job: Job
    ways: tuple[Way, ...] = EVERY


def several(driver: str, share: float, *, slow: bool = True) -> list[Job]:
    """The shapes that every server has, but for those that do nothing but pause."""
    return [job for job in shapes(driver, share, slow=slow) if not job.name.endswith("_pauses")]


JOBS = (
    Job("pymysql_nplus1", 200, WAIT),
    Job("connector_python_nplus1", 150, WAIT),
    Job("connector_c_nplus1", 200, WAIT),
    Job("cli_nplus1", 200, WAIT),
    Job("compressed", 100, WAIT),
    Job("prepared_each", 100, WAIT),
    Job("prepared_reused", 150, WAIT),
    Job("commit_each_row", 100, WAIT),
    Job("small_commands", 60, WAIT),
    Job("multi_statements", 60, WAIT),
    Job("procedure_calls", 60, WAIT),
    Job("sql_errors", 40, WAIT),
    Job("cursor_fetch1", 150, CURSOR),
    Job("error_after_rows", 10, READ_AHEAD),
    Job("wide_result", 500, BULK),
    Job("bulk_execute", 5000, PIPELINE, alone=True),
    Job("local_infile", 20_000, BULK, alone=True),
    Job("large_row", 4, BULK, alone=True),
    Job("parallel", 800, PARALLEL),
    Job("jdbc:mysql_nplus1", 150, WAIT),
    Job("jdbc:mysql_prepared_each", 80, WAIT),
    Job("jdbc:mysql_cursor_fetch10", 1000, CURSOR),
    Job("jdbc:mysql_batch", 100, WAIT),
    Job("jdbc:mysql_batch_rewritten", 1000, BULK),
    Job("jdbc:mariadb_nplus1", 150, WAIT),
    Job("jdbc:mariadb_prepared_each", 80, PIPELINE),
    Job("jdbc:mariadb_batch_bulk", 1000, PIPELINE),
    Job("jdbc:mariadb_batch_pipelined", 500, PIPELINE),
    *several("pymysql", 0.5),
    Job("postgresql:psycopg2_nplus1", 200, WAIT),
    Job("postgresql:psycopg3_nplus1", 200, WAIT),
    Job("postgresql:asyncpg_nplus1", 200, WAIT),
    Job("postgresql:asyncpg_nplus1_uncached", 100, WAIT),
    Job("postgresql:pg8000_nplus1", 100, WAIT),
    Job("postgresql:psql_nplus1", 200, WAIT),
    Job("postgresql:psycopg3_prepared", 150, WAIT),
    Job("postgresql:psycopg2_transactions", 80, WAIT),
    Job("postgresql:psycopg2_errors", 40, WAIT),
    Job("postgresql:psycopg2_notices", 20, WAIT),
    Job("postgresql:psycopg2_cursor10", 1000, CURSOR),
    Job("postgresql:asyncpg_portal10", 1000, CURSOR),
    Job("postgresql:psycopg3_cursors", 300, READ_AHEAD),
    Job("postgresql:psycopg3_pipeline_50", 1000, PIPELINE),
    Job("postgresql:psycopg3_pipeline_all", 1000, PIPELINE),
    Job("postgresql:psycopg3_pipeline_error", 100, PIPELINE),
    Job("postgresql:pgbench_pipeline", 100, PIPELINE),
    Job("postgresql:asyncpg_executemany", 1000, PIPELINE),
    Job("postgresql:psycopg2_copy_in", 100_000, BULK, alone=True),
    Job("postgresql:psycopg2_copy_out", 10_000, BULK, alone=True),
    Job("postgresql:psycopg3_copies", 500, BULK),
    Job("postgresql:pgbench_select_simple_c1", 200, WAIT),
    Job("postgresql:pgbench_select_extended_c1", 200, WAIT),
    Job("postgresql:pgbench_select_prepared_c4", 800, PARALLEL),
    Job("postgresql:pgbench_tpcb_c4", 80, PARALLEL),
    Job("pgjdbc:nplus1", 150, WAIT),
    Job("pgjdbc:fetch10", 1000, CURSOR),
    Job("pgjdbc:batch", 1000, PIPELINE),
    Job("pgjdbc:transactions", 80, WAIT),
    *several("postgresql:psycopg3", 0.5),
)

FIREBIRD = (
    *(Job(f"firebird:{driver}_nplus1", 100, WAIT) for driver in ("fbclient", "firebirdsql")),
    Job("firebird:fbclient_prepared", 150, WAIT),
    Job("firebird:fbclient_transactions", 100, WAIT),
    Job("firebird:fbclient_errors", 60, WAIT),
    Job("firebird:fbclient_executemany", 150, PIPELINE),
    Job("firebird:fbclient_cursors", 40, READ_AHEAD),
    Job("firebird:fbclient_blobs", 60, CURSOR),
    Job("firebird:firebirdsql_blobs", 60, CURSOR),
    *several("firebird:fbclient", 0.3, slow=False),
    *several("firebird:firebirdsql", 0.15, slow=False),
)

SPECIAL = (
    Work(Job("pymysql_nplus1", 200, WAIT), (CBC,)),
    Work(Job("pymysql_hundreds", 40, BULK), (CBC,)),
    Work(Job("postgresql:psycopg3_nplus1", 200, WAIT), (CBC,)),
    Work(Job("jdbc:mariadb_nplus1", 150, WAIT), (CBC, KEY_UPDATES)),
    Work(Job("pgjdbc:nplus1", 150, WAIT), (CBC, KEY_UPDATES)),
    Work(Job("pgjdbc:batch", 1000, PIPELINE), (KEY_UPDATES,)),
    Work(Job("pymysql_connect_each", 24, CHURN), (RESUMED12, RESUMED13)),
)


def works(rtt_ms: float, far_ms: float) -> list[Work]:
    """Everything that is run at this RTT."""
    if rtt_ms == far_ms:
        return [Work(job, FAR) for job in JOBS] + [Work(job, (CLEAR, WIRE)) for job in FIREBIRD]
    return [
        *(Work(job) for job in JOBS),
        *(Work(job, (CLEAR, AGAIN, WIRE)) for job in FIREBIRD),
        *SPECIAL,
    ]
