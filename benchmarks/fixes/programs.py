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
)
