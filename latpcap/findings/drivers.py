"""The settings by which drivers fix a pattern, so that a finding can name the one at hand.

Sources: the drivers' own manuals (PostgreSQL JDBC, MySQL Connector/J, MariaDB Connector/J, psycopg, asyncpg, Oracle
JDBC, python-oracledb, SQL*Plus, Jaybird, the Firebird API).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from latpcap.findings.evidence import Evidence
from latpcap.tables import columns

__all__ = ["SETTINGS", "driver_of", "sentence"]

GENERAL = {
    "n+1": "Ask once: join the two statements, or fetch all keys with `IN (…)` (ORM: eager loading)",
    "fetch": "Fetch more rows at a time",
    "batch": "Send the rows as one batch or one multi-row statement",
    "commit": "Commit once for many rows, not after each",
    "prepare": "Prepare each statement once and keep it",
    "pool": "Keep connections open in a pool and reuse them",
    "ping": "Let the pool test connections only after a time of idleness, not before every use",
    "session": "Set the session up once per connection; leave out what does not change",
    "blob": "Fetch small blobs with their rows instead of opening each",
    "pipeline": "Send reads that do not depend on each other together, or over several connections at once",
    "cache": "Keep the answer in the program for as long as it may be old",
    "nodelay": "Write each request in one piece, or set TCP_NODELAY",
}

SETTINGS: dict[str, dict[str, dict[str, str]]] = {
    "postgresql": {
        "PostgreSQL JDBC": {
            "fetch": "`defaultRowFetchSize=1000` with autocommit off",
            "batch": "`addBatch()` with `reWriteBatchedInserts=true`",
            "prepare": "`prepareThreshold` and `preparedStatementCacheQueries`; reuse the PreparedStatement",
            "pipeline": "`addBatch()`/`executeBatch()`",
            "ping": "HikariCP `aliveBypassWindowMs`; no `connectionTestQuery`",
        },
        "psycopg": {
            "fetch": "named cursor with `itersize=1000`",
            "batch": "`execute_values()` (psycopg2), `executemany()` (psycopg 3) or `COPY`",
            "prepare": "`prepare_threshold` (psycopg 3)",
            "pipeline": "`with connection.pipeline():` (psycopg 3)",
            "pool": "`psycopg_pool.ConnectionPool`, or PgBouncer",
            "session": "`autocommit=True` where no transaction is needed",
        },
        "asyncpg": {
            "fetch": "`cursor(prefetch=1000)`",
            "batch": "`executemany()` or `copy_records_to_table()`",
            "prepare": "`statement_cache_size` above 0 (behind PgBouncer: 1.21 or newer)",
            "pool": "`asyncpg.create_pool()`",
        },
        "psql": {"fetch": "`\\set FETCH_COUNT 1000`", "pipeline": "`\\startpipeline` (18) or one script with `\\;`"},
        "pgbench": {"prepare": "`-M prepared`", "pipeline": "`\\startpipeline`"},
        "postgres.js": {"pool": "`max` connections of one `postgres()` object"},
    },
    "mysql": {
        "MySQL Connector/J": {
            "fetch": "`useCursorFetch=true&defaultFetchSize=1000`",
            "batch": "`rewriteBatchedStatements=true`",
            "prepare": "`cachePrepStmts=true&useServerPrepStmts=true`",
            "session": "`useLocalSessionState=true&cacheServerConfiguration=true`",
            "ping": "HikariCP `aliveBypassWindowMs`; no `connectionTestQuery`",
        },
        "MariaDB Connector/J": {
            "fetch": "`defaultFetchSize=1000`",
            "batch": "`useBulkStmts=true` with `addBatch()`",
            "prepare": "`cachePrepStmts=true`; pipelining of prepare and execute",
            "pipeline": "`addBatch()` sends without waiting",
        },
        "Python": {
            "fetch": "an unbuffered cursor (`SSCursor`, `buffered=False`) instead of a server-side one",
            "batch": "`executemany()` with one `INSERT … VALUES`",
            "ping": "SQLAlchemy `pool_pre_ping=False` with `pool_recycle`",
            "pool": "SQLAlchemy's pool, or `mysql.connector.pooling`",
            "session": "`autocommit=True` in `connect()` where no transaction is needed",
        },
    },
    "oracle": {
        "Oracle JDBC": {
            "fetch": "`defaultRowPrefetch=1000` or `setFetchSize(1000)`; the default is 10",
            "batch": "`addBatch()`/`executeBatch()`",
            "prepare": "`setImplicitCachingEnabled(true)` and `setStatementCacheSize()`",
            "blob": "`defaultLobPrefetchSize`",
            "ping": "UCP `setSecondsToTrustIdleConnection()`",
        },
        "python-oracledb": {
            "fetch": "`cursor.arraysize = 1000` and `prefetchrows = 1001`",
            "batch": "`executemany()`",
            "prepare": "`stmtcachesize`",
            "blob": "`oracledb.defaults.fetch_lobs = False`",
            "pipeline": "`oracledb.create_pipeline()` (23ai)",
            "ping": "`ping_interval` of the pool",
            "pool": "`oracledb.create_pool()`",
        },
        "SQL*Plus": {"fetch": "`set arraysize 1000`; the default is 15", "prepare": "`set statementcache 20`"},
    },
    "firebird": {
        "Jaybird": {
            "fetch": "`setFetchSize(1000)`",
            "batch": "the batch API (Firebird 4 with Jaybird 5 or newer, `useServerBatch=true`)",
            "blob": "Firebird 5.0.3: `maxInlineBlobSize`; or `cast(… as varchar(…))`",
        },
        "libfbclient": {
            "blob": "Firebird 5.0.3: inline blobs; or `cast(… as varchar(…))`",
            "batch": "`IBatch` (Firebird 4)",
        },
        "isql": {"blob": "`set blob off`, or `cast(… as varchar(…))`"},
    },
}
"""Protocol → driver → fix → its setting; the first drivers of a protocol speak where the driver is not known."""

SHOWN_DRIVERS = 2


def driver_of(protocol: str, application: str, server_version: str, first_text: str) -> str | None:
    """The driver behind a connection, where something it sent tells.

    >>> driver_of("oracle", "/usr/bin/python3", "19.0", "")
    'python-oracledb'
    """
    signs: dict[str, list[tuple[str, bool]]] = {
        "postgresql": [
            ("PostgreSQL JDBC", "JDBC" in application),
            ("psql", application == "psql"),
            ("pgbench", application == "pgbench"),
            ("postgres.js", application == "postgres.js"),
        ],
        "mysql": [
            ("MySQL Connector/J", "@@session.auto_increment_increment" in first_text),
            ("MariaDB Connector/J", "auto_increment_increment=?" in first_text.replace(" ", "")),
            ("Python", "python" in application.lower() or re.match(r"set names \w+$", first_text) is not None),
        ],
        "oracle": [
            ("python-oracledb", "python" in application.lower()),
            ("SQL*Plus", "sqlplus" in application.lower()),
            ("Oracle JDBC", "jdbc" in application.lower()),
        ],
        "firebird": [
            ("Jaybird", "Firebird" in server_version),
            ("isql", "isql" in application),
            ("libfbclient", bool(application)),
        ],
    }
    return next((driver for driver, applies in signs.get(protocol, []) if applies), None)


def sentence(evidence: Evidence, fix: str, connections: NDArray[np.int64]) -> str:
    """The fix in one sentence, with the driver's own setting where the driver is known, else the usual drivers'."""
    if len(connections) == 0:
        return f"{GENERAL[fix]}."
    first = int(connections[0])
    protocol = evidence.recording.connections.protocol[first]
    of_protocol = {driver: setting[fix] for driver, setting in SETTINGS.get(protocol, {}).items() if fix in setting}
    driver = _driver(evidence, first)
    if driver in of_protocol:
        return f"{GENERAL[fix]}; {driver}: {of_protocol[driver]}."
    named = [f"{name}: {setting}" for name, setting in list(of_protocol.items())[:SHOWN_DRIVERS]]
    return f"{GENERAL[fix]}; {'; '.join(named)}." if named and driver is None else f"{GENERAL[fix]}."


def _driver(evidence: Evidence, connection: int) -> str | None:
    recording = evidence.recording
    row = int(recording.database_rows[connection])
    table = recording.all_connections_table
    application, version = (columns.texts(table, name)[row] or "" for name in ("application", "server_version"))
    statements = evidence.exchanges.fingerprint[
        (evidence.exchanges.connection == connection) & (evidence.exchanges.fingerprint >= 0)
    ]
    first_text = evidence.text(int(statements[0])) if len(statements) else ""
    return driver_of(recording.connections.protocol[connection], application, version, first_text)
