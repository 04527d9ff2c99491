#!/usr/bin/env python3
"""PostgreSQL workloads whose truth is known: `workloads_postgresql.py NAME N`, with the dialogue of `workloads.py`.

`LATPCAP_PGPORT` chooses the server: 5432 is Debian's 15, 5433 the newest from PyPI.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from shapes import Driver, register
from workloads import ENCRYPTED, HOST, LOGIN, Run, main, shell, tls_context, workload

PORT = int(os.environ.get("LATPCAP_PGPORT", "5432"))
SALARIES = "SELECT salary, from_date FROM salaries WHERE emp_no = "
KEYS = "SELECT emp_no FROM employees ORDER BY emp_no LIMIT "
EMPLOYEES = "SELECT emp_no, first_name, last_name FROM employees WHERE emp_no <= "
SSLMODE = "require" if ENCRYPTED else "disable"
WORDS = {"password": "labpw", "sslmode": SSLMODE, "gssencmode": "disable"}
SHELL = {"PGPASSWORD": "labpw", "PGSSLMODE": SSLMODE, "PGGSSENCMODE": "disable"}
UNSTABLE = Path(__file__).resolve().parent / "unstable.sh"
TARGET = ["-h", HOST, "-p", str(PORT), "-U", "lab"]


# ---------------------------------------------------------------- connections


def psycopg2_connection(autocommit: bool = True, **options: Any) -> Any:
    import psycopg2

    database = psycopg2.connect(**{"host": HOST, "port": PORT, "user": "lab", "dbname": "lab", **WORDS, **options})
    database.autocommit = autocommit
    return database


def psycopg3_connection(autocommit: bool = True, **options: Any) -> Any:
    import psycopg

    secrets = os.environ.get("SSLKEYLOGFILE") if ENCRYPTED else None
    words = WORDS | ({"sslkeylogfile": secrets} if secrets else {})
    return psycopg.connect(
        **{"host": HOST, "port": PORT, "user": "lab", "dbname": "lab", "autocommit": autocommit, **words, **options}
    )


def security() -> Any:
    """What asyncpg and pg8000 are told of TLS."""
    return tls_context() if ENCRYPTED else False


def with_asyncpg(work: Callable[[Any], Awaitable[None]]) -> None:
    import asyncpg

    async def session() -> None:
        database = await asyncpg.connect(**LOGIN, port=PORT, ssl=security())
        await work(database)
        await database.close()

    asyncio.run(session())


def tool(*argv: str, stdin: str = "") -> str:
    os.environ.update(SHELL)
    return shell(list(argv), stdin)


# ---------------------------------------------------------------- N+1 in every driver


def n_plus_one(run: Run, database: Any, n: int) -> None:
    """One query for n keys, then one query for each of them: what a naive object mapper sends."""
    cursor = database.cursor()
    with run.work():
        for (key,) in run.query(cursor, f"{KEYS}{n}"):
            run.query(cursor, SALARIES + "%s", (key,))


@workload("psycopg2-binary", warm=True)
def psycopg2_nplus1(run: Run, n: int) -> None:
    database = psycopg2_connection()
    n_plus_one(run, database, n)
    database.close()


@workload("psycopg", warm=True)
def psycopg3_nplus1(run: Run, n: int) -> None:
    """The sixth use of a statement prepares it on the server: one more round trip, once."""
    database = psycopg3_connection()
    n_plus_one(run, database, n)
    database.close()


@workload("asyncpg", warm=True)
def asyncpg_nplus1(run: Run, n: int) -> None:
    async def work(database: Any) -> None:
        with run.work():
            keys = await database.fetch(f"{KEYS}{n}")
            run.statements, run.rows = run.statements + 1, run.rows + len(keys)
            for (key,) in keys:
                run.rows += len(await database.fetch(SALARIES + "$1", key))
                run.statements += 1

    with_asyncpg(work)


@workload("asyncpg", warm=True)
def asyncpg_nplus1_uncached(run: Run, n: int) -> None:
    """Without its statement cache, as one has to run it behind a pooler."""

    async def session() -> None:
        import asyncpg

        database = await asyncpg.connect(**LOGIN, port=PORT, ssl=security(), statement_cache_size=0)
        with run.work():
            keys = await database.fetch(f"{KEYS}{n}")
            run.statements, run.rows = run.statements + 1, run.rows + len(keys)
            for (key,) in keys:
                run.rows += len(await database.fetch(SALARIES + "$1", key))
                run.statements += 1
        await database.close()

    asyncio.run(session())


@workload("pg8000", warm=True)
def pg8000_nplus1(run: Run, n: int) -> None:
    import pg8000.dbapi

    database = pg8000.dbapi.connect(**LOGIN, port=PORT, ssl_context=security())
    database.autocommit = True
    n_plus_one(run, database, n)
    database.close()


@workload("psql")
def psql_nplus1(run: Run, n: int) -> None:
    """psql, reading its statements from a pipe."""
    queries = [f"{KEYS}{n};"] + [f"{SALARIES}{key};" for key in range(1, n + 1)]
    with run.work():
        output = tool("psql", "-X", "-q", "-t", "-A", *TARGET, "lab", stdin="\n".join(queries))
    run.statements, run.rows = len(queries), len(output.split())


# ---------------------------------------------------------------- pipelines


def in_pipelines(run: Run, n: int, size: int) -> None:
    database = psycopg3_connection()
    with run.work():
        for first in range(1, n + 1, size):
            with database.pipeline():
                cursors = [database.execute(SALARIES + "%s", (key,)) for key in range(first, min(first + size, n + 1))]
            run.statements += len(cursors)
            run.rows += sum(len(cursor.fetchall()) for cursor in cursors)
    database.close()


@workload("psycopg", warm=True)
def psycopg3_pipeline_50(run: Run, n: int) -> None:
    in_pipelines(run, n, 50)


@workload("psycopg", warm=True)
def psycopg3_pipeline_all(run: Run, n: int) -> None:
    in_pipelines(run, n, n)


@workload("psycopg", warm=True)
def psycopg3_pipeline_error(run: Run, n: int) -> None:
    """The middle statement of a pipeline fails: the server skips what follows it."""
    import psycopg

    database = psycopg3_connection()
    with run.work():
        try:
            with database.pipeline():
                for key in range(n):
                    database.execute("SELECT 100 / %s::int", (key - n // 2,))
        except psycopg.Error:
            pass
        run.statements += n
        run.query(database.cursor(), "SELECT 1")
    database.close()


# ---------------------------------------------------------------- prepared statements, cursors, COPY


@workload("psycopg", warm=True)
def psycopg3_prepared(run: Run, n: int) -> None:
    database = psycopg3_connection()
    with run.work():
        for key in range(1, n + 1):
            run.rows += len(database.execute(SALARIES + "%s", (key,), prepare=True).fetchall())
            run.statements += 1
    database.close()


@workload("asyncpg", warm=True)
def asyncpg_prepared(run: Run, n: int) -> None:
    async def work(database: Any) -> None:
        with run.work():
            statement = await database.prepare(SALARIES + "$1")
            for key in range(1, n + 1):
                run.rows += len(await statement.fetch(key))
                run.statements += 1

    with_asyncpg(work)


@workload("asyncpg", warm=True)
def asyncpg_portal10(run: Run, n: int) -> None:
    """A portal of n rows, ten at a time."""

    async def work(database: Any) -> None:
        with run.work():
            async with database.transaction():
                async for _ in database.cursor(EMPLOYEES + "$1", n, prefetch=10):
                    run.rows += 1
            run.statements += 3

    with_asyncpg(work)


@workload("asyncpg", warm=True)
def asyncpg_executemany(run: Run, n: int) -> None:
    async def work(database: Any) -> None:
        with run.work():
            await database.executemany(
                "UPDATE acc SET bal = bal + $2 WHERE id = $1", [(key, 1) for key in range(1, n + 1)]
            )
            run.statements += n

    with_asyncpg(work)


@workload("psycopg2-binary", warm=True)
def psycopg2_cursor10(run: Run, n: int) -> None:
    """A named cursor: DECLARE, FETCH 10 until nothing comes, CLOSE, inside a transaction."""
    database = psycopg2_connection(autocommit=False)
    with run.work():
        cursor = database.cursor("labcur")
        cursor.execute(EMPLOYEES + "%s", (n,))
        run.statements += 2
        while rows := cursor.fetchmany(10):
            run.rows += len(rows)
            run.statements += 1
        cursor.close()
        database.commit()
        run.statements += 3
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_copy_out(run: Run, n: int) -> None:
    database = psycopg2_connection()
    with run.work():
        lines = io.StringIO()
        database.cursor().copy_expert(f"COPY (SELECT * FROM employees LIMIT {n}) TO STDOUT", lines)
        run.statements, run.rows = run.statements + 1, run.rows + lines.getvalue().count("\n")
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_copy_in(run: Run, n: int) -> None:
    database = psycopg2_connection()
    with run.work():
        cursor = database.cursor()
        run.query(cursor, "TRUNCATE copyin")
        lines = io.StringIO("".join(f"{number}\trow {number} of the volume\n" for number in range(n)))
        cursor.copy_expert("COPY copyin FROM STDIN", lines, 512)
        run.statements += 1
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_copy_in_error(run: Run, n: int) -> None:
    """The server refuses a row in the middle; the connection goes on."""
    import psycopg2

    database = psycopg2_connection()
    with run.work():
        cursor = database.cursor()
        lines = io.StringIO("".join(f"{number if number != n // 2 else 'x'}\trow\n" for number in range(n)))
        try:
            cursor.copy_expert("COPY copyin FROM STDIN", lines, 64)
        except psycopg2.Error:
            run.statements += 1
        run.query(cursor, "SELECT 1")
    database.close()


# ---------------------------------------------------------------- logins


@workload("psycopg2-binary", warm=True)
def psycopg2_connect_each(run: Run, n: int) -> None:
    """A connection for every query, with SCRAM."""
    with run.work():
        for key in range(1, n + 1):
            database = psycopg2_connection()
            run.query(database.cursor(), SALARIES + "%s", (key,))
            database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_prefer_tls(run: Run, n: int) -> None:
    """libpq's default against a server without TLS: it asks in vain, on every connection."""
    with run.work():
        for key in range(1, n + 1):
            database = psycopg2_connection(sslmode="prefer")
            run.query(database.cursor(), SALARIES + "%s", (key,))
            database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_tls(run: Run, n: int) -> None:
    database = psycopg2_connection(sslmode="require")
    n_plus_one(run, database, n)
    database.close()


@workload("psycopg", warm=True)
def psycopg3_direct_tls(run: Run, n: int) -> None:
    database = psycopg3_connection(sslmode="require", sslnegotiation="direct")
    n_plus_one(run, database, n)
    database.close()


@workload("psycopg2-binary")
def logins(run: Run, n: int) -> None:
    """Trust, password, MD5, SCRAM, a wrong password, an unknown database."""
    import psycopg2

    attempts: list[dict[str, Any]] = [{"user": "trusty"}, {"user": "plain"}, {"user": "md5user"}, {"user": "lab"}]
    attempts += [{"password": "wrong"}, {"dbname": "nowhere"}]
    with run.work():
        for attempt in attempts:
            try:
                database = psycopg2_connection(**attempt)
            except psycopg2.OperationalError:
                continue
            run.query(database.cursor(), "SELECT 1")
            database.close()


# ---------------------------------------------------------------- libpq 18: protocol 3.2, psql's pipelines

LATEST = {"max_protocol_version": "latest"}


@workload("psycopg", warm=True)
def psycopg3_protocol32(run: Run, n: int) -> None:
    """Protocol 3.2: the key that cancels is longer. A server that has only 3.0 says so before it asks for the password."""
    import psycopg

    database = psycopg3_connection(**LATEST)
    n_plus_one(run, database, n)
    with run.work():
        threading.Timer(0.2, database.cancel_safe).start()
        run.statements += 1
        with contextlib.suppress(psycopg.Error):
            database.execute("SELECT pg_sleep(5)")
        run.query(database.cursor(), "SELECT 1")
    database.close()


@workload("psycopg", warm=True)
def psycopg3_copies(run: Run, n: int) -> None:
    """COPY both ways, as text and as binary."""
    database = psycopg3_connection(**LATEST)
    with run.work(), database.cursor() as cursor:
        for form in ("text", "binary"):
            with cursor.copy(f"COPY copyin FROM STDIN (FORMAT {form})") as copy:
                copy.set_types(["int4", "text"])
                for number in range(n):
                    copy.write_row((number, f"row {number} of the volume"))
            with cursor.copy(f"COPY (SELECT * FROM employees LIMIT {n}) TO STDOUT (FORMAT {form})") as copy:
                run.rows += sum(1 for _ in (copy.rows() if form == "text" else copy)) - (form == "binary")
            run.statements += 2
    database.close()


@workload("psycopg", warm=True)
def psycopg3_cursors(run: Run, n: int) -> None:
    """A cursor of n rows read ten at a time, then one that is read row by row as it comes."""
    database = psycopg3_connection(autocommit=False, **LATEST)
    with run.work():
        with database.cursor("labcur") as cursor:
            cursor.execute(EMPLOYEES + str(n))
            while rows := cursor.fetchmany(10):
                run.rows += len(rows)
        with database.cursor() as cursor:
            run.rows += sum(1 for _ in cursor.stream(EMPLOYEES + str(n), size=5))
        database.commit()
        run.statements += 6 + n // 10
    database.close()


@workload("psycopg", warm=True)
def psycopg3_listen(run: Run, n: int) -> None:
    """Notifications are waited for, and come beside answers."""
    listener, sender = psycopg3_connection(**LATEST), psycopg3_connection(**LATEST)
    with run.work():
        run.query(listener.cursor(), "LISTEN lab")
        for number in range(n):
            run.query(sender.cursor(), f"NOTIFY lab, 'message {number}'")
            run.extra["notified"] = run.extra.get("notified", 0) + sum(
                1 for _ in listener.notifies(timeout=1, stop_after=1)
            )
        run.query(listener.cursor(), "NOTIFY lab, 'to myself'")
        run.query(listener.cursor(), "SELECT 1")
    sender.close()
    listener.close()


@workload("psql18")
def psql18_pipeline(run: Run, n: int) -> None:
    """psql's own pipelines, a statement prepared by name, and a result in chunks."""
    several = "\n".join(f"{SALARIES}$1 \\bind {key} \\sendpipeline" for key in range(1, n + 1))
    script = f"""\\startpipeline
        {several}
        \\syncpipeline
        SELECT 100 / $1::int \\bind 0 \\sendpipeline
        SELECT 1 \\bind \\sendpipeline
        \\endpipeline
        {SALARIES}$1 \\parse pay
        \\bind_named pay 1 \\g
        \\bind_named pay 2 \\g
        \\close_prepared pay
        \\set FETCH_COUNT 10
        {EMPLOYEES}{n};
        """
    with run.work():
        output = tool(str(UNSTABLE), "run", "psql", "-X", "-q", "-t", "-A", *TARGET, "lab", stdin=script)
    run.statements, run.rows = n + 5, len(output.splitlines())


# ---------------------------------------------------------------- what else a session does


@workload("psycopg2-binary", warm=True)
def psycopg2_transactions(run: Run, n: int) -> None:
    """BEGIN, one update, COMMIT; each waits."""
    database = psycopg2_connection(autocommit=False)
    with run.work():
        cursor = database.cursor()
        for number in range(n):
            cursor.execute("UPDATE acc SET bal = bal + 1 WHERE id = %s", (number % 1000 + 1,))
            database.commit()
            run.statements += 3
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_errors(run: Run, n: int) -> None:
    import psycopg2

    database = psycopg2_connection()
    with run.work():
        cursor = database.cursor()
        for _ in range(n):
            for statement in ("SELECT * FROM nowhere", "SELECT 1/0", "SELECT 1"):
                run.statements += 1
                try:
                    cursor.execute(statement)
                except psycopg2.Error:
                    continue
                run.rows += len(cursor.fetchall())
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_notices(run: Run, n: int) -> None:
    """Notices, a changed parameter, several statements in one query, an empty query."""
    database = psycopg2_connection()
    with run.work():
        cursor = database.cursor()
        for _ in range(n):
            run.query(cursor, "DO $$ BEGIN RAISE NOTICE 'one'; RAISE WARNING 'two'; END $$")
            run.query(cursor, "SET application_name = 'renamed'")
            run.query(cursor, "UPDATE acc SET bal = 0 WHERE id <= 3; SELECT 1; SELECT 2 WHERE false")
            run.query(cursor, "CREATE TEMP TABLE IF NOT EXISTS seen AS SELECT 1 AS a")
            run.query(cursor, "INSERT INTO seen VALUES (1), (2) RETURNING a")
    database.close()


@workload("psycopg2-binary", warm=True)
def psycopg2_listen(run: Run, n: int) -> None:
    """Notifications arrive while nobody waits."""
    listener, sender = psycopg2_connection(), psycopg2_connection()
    with run.work():
        run.query(listener.cursor(), "LISTEN lab")
        for number in range(n):
            run.query(sender.cursor(), f"NOTIFY lab, 'message {number}'")
        time.sleep(0.2)
        listener.poll()
        run.query(listener.cursor(), "SELECT 1")
    sender.close()
    listener.close()


@workload("psycopg2-binary")
def psycopg2_cancel(run: Run, n: int) -> None:
    import psycopg2

    database = psycopg2_connection()
    with run.work():
        for _ in range(n):
            threading.Timer(0.2, database.cancel).start()
            run.statements += 1
            try:
                database.cursor().execute("SELECT pg_sleep(5)")
            except psycopg2.Error:
                time.sleep(0.1)
        run.query(database.cursor(), "SELECT 1")
    database.close()


@workload("psycopg2-binary")
def psycopg2_terminated(run: Run, n: int) -> None:
    """An administrator ends the session, once while idle and once in a query."""
    import psycopg2

    administrator = psycopg2_connection()
    for statement in ("SELECT 1", "SELECT pg_sleep(5)"):
        database = psycopg2_connection()
        cursor = database.cursor()
        pid = database.info.backend_pid
        kill = threading.Timer(
            0.3, lambda pid=pid: administrator.cursor().execute(f"SELECT pg_terminate_backend({pid})")
        )
        kill.start()
        try:
            run.query(cursor, statement)
            kill.join()
            time.sleep(0.1)
        except psycopg2.Error:
            kill.join()
        database.close()
    administrator.close()


@workload("psql")
def psql_session(run: Run, n: int) -> None:
    script = f"""\\d employees
        \\copy copyin from program 'seq 1 {n} | sed s/$/,text/' with csv
        \\copy (select * from employees limit {n}) to '/dev/null'
        \\set FETCH_COUNT 10
        select * from employees limit {n};
        """
    with run.work():
        tool("psql", "-X", "-q", "-A", "-o", "/dev/null", *TARGET, "lab", stdin=script)


# ---------------------------------------------------------------- pgbench


def pgbench(name: str, clients: int, *options: str) -> None:
    def function(run: Run, n: int) -> None:
        with run.work():
            tool(
                "pgbench",
                "-n",
                "--random-seed=1",
                *TARGET,
                "-c",
                str(clients),
                "-t",
                str(n // clients),
                *options,
                "lab",
            )
        run.statements = n if "-S" in options else 7 * n
        run.rows = n

    function.__name__ = f"pgbench_{name}"
    workload("psql")(function)


for clients in (1, 4):
    for mode in ("simple", "extended", "prepared"):
        pgbench(f"select_{mode}_c{clients}", clients, "-S", "-M", mode)
    pgbench(f"tpcb_c{clients}", clients)


@workload("psql")
def pgbench_pipeline(run: Run, n: int) -> None:
    """libpq's pipeline mode: ten statements, one Sync."""
    script = "\\startpipeline\n" + "SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n" * 10 + "\\endpipeline\n"
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        with run.work():
            tool("pgbench", "-n", *TARGET, "-c", "1", "-t", str(n), "-M", "extended", "-f", file.name, "lab")
    run.statements = run.rows = 10 * n


# ---------------------------------------------------------------- replication


@workload("psql")
def logical_replication(run: Run, n: int) -> None:
    """pg_recvlogical reads a slot while another connection writes; the stream is no dialogue."""
    database = psycopg2_connection()
    name = "pg_recvlogical"
    with run.work():
        tool(name, *TARGET, "-d", "lab", "--slot", "lab", "--create-slot", "-P", "test_decoding")
        run.query(database.cursor(), f"UPDATE acc SET bal = bal + 1 WHERE id <= {n}")
        run.query(database.cursor(), "SELECT pg_current_wal_lsn()")
        with contextlib.suppress(RuntimeError):  # ended by the timeout
            tool("timeout", "2", name, *TARGET, "-d", "lab", "--slot", "lab", "--start", "-f", "/dev/null")
        tool(name, *TARGET, "-d", "lab", "--slot", "lab", "--drop-slot")
    database.close()


# ---------------------------------------------------------------- shapes that every server has


def psycopg2_tls_connection() -> Any:
    return psycopg2_connection(sslmode="require")


SLOW = "SELECT pg_sleep(0.02)"
register(workload, Driver("psycopg2", "psycopg2-binary", psycopg2_connection, SALARIES + "%s", SLOW))
register(workload, Driver("psycopg2_tls", "psycopg2-binary", psycopg2_tls_connection, SALARIES + "%s"))
register(workload, Driver("psycopg3", "psycopg", psycopg3_connection, SALARIES + "%s", SLOW))


if __name__ == "__main__":
    main()
