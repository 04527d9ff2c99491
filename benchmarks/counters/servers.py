"""Real servers of their own that count what they execute: MariaDB's digests, PostgreSQL's pg_stat_statements."""

from __future__ import annotations

import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BINARIES = "/usr/lib/postgresql/*/bin"
"""Where Debian keeps PostgreSQL's programs."""
PASSWORD = "counted"


@dataclass(frozen=True)
class SectionContents:
    """What a server counted of one statement."""

    text: str
    runs: int
    service_ms: float


@dataclass(frozen=True)
class Server:
    """A server that runs; statements of its administrator go by its own socket, which no capture sees."""

    name: str
    version: str
    admin: Callable[[str], str]
    reset: str
    digests: str
    """Asks for text in hex, runs and milliseconds."""
    by_command: str = ""
    """The same for commands whose statements it does not tell apart."""

    def forget(self) -> None:
        """Count from zero."""
        self.admin(self.reset)

    def counted(self) -> list[SectionContents]:
        """What it has executed for the application since then."""
        return self._asked(self.digests)

    def commands(self) -> list[SectionContents]:
        """The same for commands, by latpcap's names."""
        return self._asked(self.by_command) if self.by_command else []

    def _asked(self, sql: str) -> list[SectionContents]:
        rows = (line.split() for line in self.admin(sql).splitlines() if line.strip())
        return [SectionContents(bytes.fromhex(text).decode(), int(runs), float(ms)) for text, runs, ms in rows]


# --- MariaDB --------------------------------------------------------------------------------------------------------

COUNTS = (
    "--performance-schema=ON",
    "--performance-schema-instrument=statement/%=ON",
    "--performance-schema-consumer-statements-digest=ON",
)
MARIADB_DIGESTS = """
    SELECT HEX(digest_text), count_star, sum_timer_wait / 1e9 FROM performance_schema.events_statements_summary_by_digest
    WHERE schema_name = 'shop' AND digest_text IS NOT NULL"""
"""The administrator works without a schema."""
MARIADB_COMMANDS = """
    SELECT HEX(CASE event_name WHEN 'statement/com/Prepare' THEN 'stmt_prepare' WHEN 'statement/com/Execute' THEN 'stmt_execute'
        WHEN 'statement/com/Fetch' THEN 'stmt_fetch' WHEN 'statement/com/Reset stmt' THEN 'stmt_reset' END),
        count_star, sum_timer_wait / 1e9 FROM performance_schema.events_statements_summary_global_by_event_name
    WHERE count_star > 0 AND event_name IN
        ('statement/com/Prepare', 'statement/com/Execute', 'statement/com/Fetch', 'statement/com/Reset stmt')"""
"""It has no digests for what is prepared."""
MARIADB_RESET = """
    TRUNCATE performance_schema.events_statements_summary_by_digest;
    TRUNCATE performance_schema.events_statements_summary_global_by_event_name"""
MARIADB_TABLES = f"""
    CREATE DATABASE shop; USE shop;
    CREATE TABLE items (id INT PRIMARY KEY, price INT);
    CREATE TABLE big (id INT PRIMARY KEY, payload VARCHAR(64));
    INSERT INTO items SELECT seq, seq * 7 % 1000 FROM seq_1_to_2000;
    INSERT INTO big SELECT seq, CONCAT(MD5(seq), MD5(seq + 1)) FROM seq_1_to_50000;
    CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(40));
    CREATE PROCEDURE raise_prices(n INT) BEGIN
        UPDATE items SET price = price + 1 WHERE id <= n; SELECT COUNT(*) FROM items WHERE price > 500; END //
    CREATE USER app IDENTIFIED BY '{PASSWORD}' //
    GRANT ALL ON shop.* TO app //"""


@contextmanager
def mariadb(home: Path, address: str, port: int, inside: Sequence[str] = ()) -> Iterator[Server]:
    """MariaDB with statement digests, empty but for the tables of the jobs.

    A server that begins removes the temporary tables of all others in its `tmpdir`: it has its own.
    """
    data, sock = home / "mariadb", home / "mariadb.socket"
    owner = pwd.getpwnam("mysql").pw_name
    shutil.chown(home, owner)
    places = [f"--user={owner}", f"--datadir={data}", f"--tmpdir={home}"]
    install = ["mariadb-install-db", "--no-defaults", *places, "--skip-test-db"]
    subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, capture_output=True)
    where = [
        *places,
        f"--socket={sock}",
        f"--port={port}",
        f"--bind-address={address}",
        "--skip-name-resolve",
    ]
    program = shutil.which("mariadbd", path="/usr/sbin:/usr/bin")
    command = [*inside, program, "--no-defaults", *where, *COUNTS, f"--pid-file={home}/mariadb.pid"]

    def admin(sql: str, *words: str) -> str:
        return asked(["mariadb", "--no-defaults", "-uroot", f"--socket={sock}", "-NB", *words], sql)

    with running(command, home / "mariadb.log"):
        wait_for(sock.exists)
        tables, procedure = MARIADB_TABLES.split("CREATE PROCEDURE")
        admin(tables)
        admin(f"USE shop //\nCREATE PROCEDURE{procedure}", "--delimiter=//")
        version = admin("SELECT VERSION()").strip()
        name = f"MariaDB {version.partition('-')[0]}"
        yield Server("mariadb", name, admin, MARIADB_RESET, MARIADB_DIGESTS, MARIADB_COMMANDS)


# --- PostgreSQL -----------------------------------------------------------------------------------------------------

POSTGRESQL_DIGESTS = """
    SELECT encode(convert_to(query, 'UTF8'), 'hex'), calls, total_exec_time + total_plan_time FROM pg_stat_statements
    WHERE userid = 'app'::regrole"""
POSTGRESQL_TABLES = f"""
    CREATE EXTENSION pg_stat_statements;
    CREATE TABLE items (id INT PRIMARY KEY, price INT);
    CREATE TABLE big (id INT PRIMARY KEY, payload VARCHAR(64));
    INSERT INTO items SELECT n, n * 7 % 1000 FROM generate_series(1, 2000) n;
    INSERT INTO big SELECT n, md5(n::text) || md5((n + 1)::text) FROM generate_series(1, 50000) n;
    CREATE TABLE log (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note VARCHAR(40));
    CREATE FUNCTION raise_prices(n INT) RETURNS BIGINT LANGUAGE plpgsql AS $$ BEGIN
        UPDATE items SET price = price + 1 WHERE id <= n; RETURN (SELECT COUNT(*) FROM items WHERE price > 500); END $$;
    CREATE ROLE app LOGIN PASSWORD '{PASSWORD}';
    GRANT ALL ON ALL TABLES IN SCHEMA public TO app;"""


def postgresql_binaries() -> Path | None:
    """The folder of the newest of Debian's servers."""
    return max(Path("/").glob(BINARIES.lstrip("/")), key=lambda path: int(path.parent.name), default=None)


@contextmanager
def postgresql(
    home: Path, address: str, port: int, inside: Sequence[str] = (), planning: bool = False
) -> Iterator[Server]:
    """PostgreSQL with pg_stat_statements; `planning` counts the time for plans as well."""
    data, binaries = home / "postgresql", postgresql_binaries()
    assert binaries is not None
    shutil.chown(home, "postgres")
    as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    initdb = [
        *as_owner,
        str(binaries / "initdb"),
        "-D",
        str(data),
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
    ]
    subprocess.run(initdb, check=True, capture_output=True, cwd="/")
    (data / "pg_hba.conf").write_text("local all all trust\nhost all all 0.0.0.0/0 scram-sha-256\n")
    settings = {
        "listen_addresses": address,
        "port": port,
        "unix_socket_directories": home,
        "shared_preload_libraries": "pg_stat_statements",
        "pg_stat_statements.track_planning": "on" if planning else "off",
        "autovacuum": "off",
        "jit": "off",
    }
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]

    def admin(sql: str) -> str:
        words = ["-h", str(home), "-p", str(port), "-U", "postgres", "-d", "postgres", "-qAt", "-F", " "]
        return asked([str(binaries / "psql"), "-v", "ON_ERROR_STOP=1", *words], sql)

    with running([*inside, *as_owner, str(binaries / "postgres"), "-D", str(data), *options], home / "postgresql.log"):
        ready = [str(binaries / "pg_isready"), "-q", "-h", str(home), "-p", str(port)]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0)
        admin(POSTGRESQL_TABLES)
        version = admin("SHOW server_version").split()[0]
        yield Server(
            "postgresql", f"PostgreSQL {version}", admin, "SELECT pg_stat_statements_reset()", POSTGRESQL_DIGESTS
        )


SERVERS = {"mariadb": mariadb, "postgresql": postgresql}


# --- processes ------------------------------------------------------------------------------------------------------


@contextmanager
def running(command: Sequence[Any], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is asked to end, and waited for, whatever happens."""
    with log.open("wb") as file:
        process = subprocess.Popen([*map(str, command)], stdout=file, stderr=file, stdin=subprocess.DEVNULL, cwd="/")
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT if "postgres" in log.name else signal.SIGTERM)
        process.wait(60)


def asked(command: Sequence[str], sql: str) -> str:
    done = subprocess.run(command, input=sql, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise RuntimeError(f"the server refused: {done.stderr.strip()}")
    return done.stdout


def wait_for(ready: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise RuntimeError("the server did not start")
        time.sleep(0.05)
