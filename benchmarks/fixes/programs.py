"""Programs that are really fixed: what they run as they are, what once fixed, and what latpcap calls the fix."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """Workloads of `benchmarks/lab`, as `recorder.lab` calls them, that do the same for their user."""

    title: str
    wasteful: str
    n: int
    fixed: dict[str, tuple[str, ...]]
    """The workload once fixed, and the fixes as `latpcap project --fix` takes them."""

    @property
    def kind(self) -> str:
        """The kind of a program that works between its calls; empty for others."""
        return self.wasteful.removeprefix("work:").partition("_")[0] if self.wasteful.startswith("work:") else ""


WORK_FIXES = {
    "ping": "ping",
    "select1": "ping",
    "setting": "session",
    "nplus1": "n+1=join",
    "nplus1pg": "n+1=join",
    "repeated": "cache",
    "transaction": "session",
    "commit": "commit",
    "commitpg": "commit",
    "rows": "batch=100",
    "connect": "pool",
    "prepare": "prepare",
}
WORK_PIECES = {20: 60, 300: 20, 900: 12, 2000: 8}
"""How many pieces of work a program does, by how long it works in each (ms)."""
WORKING = (
    *("ping_before_300", "ping_within_20", "ping_behind_900", "ping_before_2000"),
    *("select1_before_20", "select1_behind_300"),
    *("setting_before_300", "setting_within_20", "setting_behind_2000"),
    *("nplus1_before_20", "nplus1_behind_300", "nplus1_before_900", "nplus1pg_behind_20", "nplus1pg_before_300"),
    *("repeated_before_20", "repeated_behind_300", "repeated_before_900", "repeated_before_2000"),
    *("transaction_before_20", "transaction_within_300", "transaction_behind_900", "transaction_before_2000"),
    *("commit_before_300", "commit_behind_20"),
    *("commitpg_before_20", "commitpg_within_20", "commitpg_behind_300", "commitpg_within_300"),
    *("rows_before_20", "rows_behind_300", "rows_before_900"),
    *("connect_before_20", "connect_within_300", "connect_behind_900", "connect_before_2000"),
    *("prepare_before_20", "prepare_behind_300"),
)
"""Programs that work between their calls: what is wasteful, where they work, for how long (ms)."""


def working(name: str) -> Program:
    """A program that works between its calls."""
    kind, place, ms = name.split("_")
    title = f"{kind}, {float(ms) / 1000:g} s of work {place} each"
    return Program(title, f"work:{name}", WORK_PIECES[int(ms)], {f"work:{name}_fixed": (WORK_FIXES[kind],)})


PROGRAMS = (
    Program(
        "N+1, PyMySQL",
        *("pymysql_nplus1", 200),
        {"fixes:nplus1_join": ("n+1=join",), "fixes:nplus1_in": ("n+1=in:20",)},
    ),
    Program("N+1 by 8 threads, PyMySQL", "fixes:threads_nplus1", 800, {"fixes:threads_join": ("n+1=join",)}),
    Program("N+1 by a pool of 8, PyMySQL", "fixes:pool_nplus1", 800, {"fixes:pool_join": ("n+1=join",)}),
    Program("one question again and again, PyMySQL", "fixes:repeated", 200, {"fixes:cached": ("cache",)}),
    Program("10 rows a fetch, psycopg2", "postgresql:psycopg2_cursor10", 2000, {"fixes:cursor1000": ("fetch=1000",)}),
    Program("connection each, PyMySQL", "pymysql_connect_each", 60, {"fixes:pymysql_kept": ("pool",)}),
    Program("connection each, psycopg 3", "fixes:psycopg3_connect_each", 60, {"fixes:psycopg3_kept": ("pool",)}),
    Program(
        "connection each by 8 threads, PyMySQL", "fixes:threads_connect_each", 160, {"fixes:threads_kept": ("pool",)}
    ),
    Program("one by one, psycopg 3", "fixes:one_by_one", 200, {"fixes:pipelines": ("pipeline=50",)}),
    Program("row by row, PyMySQL", "fixes:row_by_row", 200, {"fixes:in_batches": ("batch=100",)}),
    Program(
        "BEGIN with UPDATE, COMMIT, pgjdbc",
        *("pgjdbc:transactions", 100),
        {"pgjdbc:one_transaction": ("commit",), "pgjdbc:one_batch": ("batch=100",)},
    ),
    Program(
        "BEGIN, UPDATE, COMMIT, psycopg2",
        *("postgresql:psycopg2_transactions", 100),
        {"fixes:psycopg2_one_transaction": ("commit",), "fixes:psycopg2_one_batch": ("batch=100",)},
    ),
    Program("BEGIN, SELECT, COMMIT, psycopg2", "fixes:transaction_each", 100, {"fixes:no_transaction": ("session",)}),
    Program(
        "ping, prepare, execute, close, mysql-connector",
        *("fixes:prepared_anew", 100),
        {
            "fixes:prepared_without_ping": ("ping",),
            "fixes:prepared_nodelay": ("nodelay",),
            "fixes:prepared_once": ("prepare", "ping"),
        },
    ),
    *(working(each) for each in WORKING),
)
