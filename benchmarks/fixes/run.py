#!/usr/bin/env python3
"""Fix programs for real and compare with what `latpcap project --fix` said: N+1, fetch size, pool, pipeline.

    benchmarks/lab/up.sh; benchmarks/lab/mariadb.sh init start load; benchmarks/lab/postgresql.sh init start load
    benchmarks/fixes/run.py [-o FILE]

Each program runs in its wasteful and in its fixed form at 5 and 15 ms, seven times each; the quickest run counts, as a busy
machine only ever adds. The wasteful form is captured once at 1 ms; from that capture alone latpcap says what the fix saves
at the RTT that the link really had (a further capture tells it: asked 5 ms are 5.1). Printed: predicted and measured seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "fixtures"))
HOST = "10.77.0.2"
RTTS = (5, 15)
RUNS = 7


# --- the programs ---------------------------------------------------------------------------------------------------


def mysql() -> Any:
    import pymysql

    return pymysql.connect(host=HOST, user="lab", password="labpw", database="lab", autocommit=True, ssl_disabled=True)


def postgresql(**options: Any) -> Any:
    import psycopg

    return psycopg.connect(
        f"host={HOST} user=lab password=labpw dbname=lab sslmode=disable", autocommit=True, **options
    )


def nplus1(fixed: str) -> None:
    with mysql() as connection, connection.cursor() as cursor:
        one = "select salary, from_date from salaries where emp_no = %s"
        cursor.execute("select emp_no from employees order by emp_no limit 200")
        keys = [key for (key,) in cursor.fetchall()]
        if fixed == "join":
            cursor.execute(
                "select e.emp_no, s.salary, s.from_date from (select emp_no from employees order by emp_no limit 200) e "
                "join salaries s on s.emp_no = e.emp_no"
            )
            cursor.fetchall()
        elif fixed:
            for start in range(0, len(keys), 20):
                part = ", ".join(map(str, keys[start : start + 20]))
                cursor.execute(f"select emp_no, salary, from_date from salaries where emp_no in ({part})")
                cursor.fetchall()
        else:
            for key in keys:
                cursor.execute(one, (key,))
                cursor.fetchall()


def fetch(fixed: str) -> None:
    import psycopg2

    connection = psycopg2.connect(host=HOST, user="lab", password="labpw", dbname="lab", sslmode="disable")
    with connection.cursor("reader") as cursor:
        cursor.itersize = 1000 if fixed else 10
        cursor.execute("select emp_no, salary from salaries limit 2000")
        assert sum(1 for _ in cursor) == 2000
    connection.close()


def pool(fixed: str) -> None:
    connection = mysql() if fixed else None
    for number in range(60):
        with connection.cursor() if connection else mysql().cursor() as cursor:
            cursor.execute(f"select first_name from employees where emp_no = {number + 1}")
            cursor.fetchall()
            if not connection:
                cursor.connection.close()


def pool_postgresql(fixed: str) -> None:
    shared = postgresql() if fixed else None
    for number in range(40):
        connection = shared or postgresql()
        connection.execute(f"select first_name from employees where emp_no = {number + 1}").fetchall()
        if not shared:
            connection.close()
    if shared:
        shared.close()


def pipeline(fixed: str) -> None:
    text = "select salary from salaries where emp_no = %s"
    with postgresql(prepare_threshold=None) as connection:
        if fixed:
            for start in range(1, 201, 50):
                with connection.pipeline():
                    cursors = [connection.execute(text, [n]) for n in range(start, start + 50)]
                    for cursor in cursors:
                        cursor.fetchall()
        else:
            for number in range(1, 201):
                connection.execute(text, [number]).fetchall()


def batch(fixed: str) -> None:
    rows = [(number, "x" * 20) for number in range(200)]
    with mysql() as connection, connection.cursor() as cursor:
        cursor.execute("create temporary table t(id int, name varchar(40))")
        if fixed:
            for start in range(0, 200, 100):
                cursor.executemany("insert into t(id, name) values (%s, %s)", rows[start : start + 100])
        else:
            for row in rows:
                cursor.execute("insert into t(id, name) values (%s, %s)", row)


PROGRAMS: dict[str, tuple[Callable[[str], None], str, str]] = {
    "N+1 → join, PyMySQL": (nplus1, "join", "n+1=join"),
    "N+1 → IN (20 keys), PyMySQL": (nplus1, "in", "n+1=in:20"),
    "fetch size 10 → 1000, psycopg2": (fetch, "1000", "fetch=1000"),
    "connection each → one kept, PyMySQL": (pool, "kept", "pool"),
    "connection each → one kept, psycopg 3": (pool_postgresql, "kept", "pool"),
    "one by one → pipelines of 50, psycopg 3": (pipeline, "50", "pipeline=50"),
    "row by row → batches of 100, PyMySQL": (batch, "100", "batch=100"),
}
"""Program, argument of its fixed form, fix as latpcap calls it."""


# --- measuring ------------------------------------------------------------------------------------------------------


def work(name: str, fixed: str) -> None:
    """In the client's namespace: warm up, wait for the go, work, say how long it took."""
    program = PROGRAMS[name][0]
    for driver in ("pymysql", "psycopg", "psycopg2"):
        __import__(driver)
    print("READY", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    program(fixed)
    print(time.perf_counter() - began, flush=True)


def run(name: str, fixed: str, capture: Path | None = None) -> float:
    """Seconds of one run; captured if a path is given."""
    from contextlib import nullcontext

    from recorder.lab import CLIENT, LAB, REALTIME, capturing, inside

    argv = inside(CLIENT[0], [*REALTIME, str(LAB / "venv/bin/python"), __file__, "--work", name, fixed])
    program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdout
    while program.stdout.readline().strip() != "READY":
        if program.poll() is not None:
            raise SystemExit(f"{name}: the program failed")
    with capturing(CLIENT, capture, "tcp port 3306 or tcp port 5432") if capture else nullcontext():
        return float(program.communicate("go\n")[0])


def compare(name: str) -> list[str]:
    """Rows of the table: one for each RTT."""
    from recorder.lab import set_link

    import latpcap

    fixed, fix = PROGRAMS[name][1:]
    set_link(rtt_ms=1)
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "wasteful.pcapng"
        run(name, "", capture)
        recording = latpcap.read(capture)
        rows = []
        for rtt in RTTS:
            set_link(rtt_ms=rtt)
            run(name, "", capture)
            there = round(latpcap.read(capture).analyze().summary.baseline_rtt_ms or rtt, 3)
            wasteful, better = (min(run(name, form) for _ in range(RUNS)) for form in ("", fixed))
            changed = recording.what_if([fix], [there])
            assert changed is not None
            saved = changed.all_fixes.saved_s[f"{there:g}"]
            measured = wasteful - better
            rows.append(
                f"| {name} | `{fix}` | {there:.2f} | {changed.all_fixes.round_trips_saved} | {wasteful:.3f} | {better:.3f} "
                f"| {measured:.3f} | {saved:.3f} | {saved / measured - 1:+.1%} |"
            )
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("-o", "--output", type=Path)
    arguments.add_argument("--work", nargs=2)
    arguments.add_argument("names", nargs="*", default=list(PROGRAMS))
    given = arguments.parse_args()
    if given.work:
        work(*given.work)
        return
    head = [
        "| program | fix | RTT ms | round trips saved | wasteful s | fixed s | measured saving s | predicted s | error |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    table = "\n".join([*head, *(row for name in given.names for row in compare(name))]) + "\n"
    if given.output:
        given.output.write_text(table)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
