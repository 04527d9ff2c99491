#!/usr/bin/env python3
"""Firebird workloads whose truth is known: `workloads_firebird.py NAME N`, with the dialogue of `workloads.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from shapes import Driver, register
from workloads import HOST, Run, main, workload

PORTS = {"clear": 3050, "encrypted": 3051, "compressed": 3052}
ENCRYPTED = bool(os.environ.get("LATPCAP_TLS"))
"""What is clear otherwise is encrypted, as `workloads.py` does with TLS."""
SALARIES = "SELECT salary, from_date FROM salaries WHERE emp_no = ?"
KEYS = "SELECT FIRST {} emp_no FROM employees ORDER BY emp_no"


def fbclient(server: str = "clear") -> Any:
    """A connection of Debian's libfbclient 3."""
    import firebird.driver
    from firebird.driver import driver_config

    server = "encrypted" if ENCRYPTED and server == "clear" else server
    name = f"lab_{server}"
    if driver_config.get_database(name) is None:
        database = driver_config.register_database(name)
        database.dsn.value = f"inet://{HOST}:{PORTS[server]}/lab"
        database.user.value, database.password.value, database.charset.value = "SYSDBA", "masterkey", "UTF8"
        crypt, compression = "Enabled" if server == "encrypted" else "Disabled", str(server == "compressed").lower()
        database.config.value = f"WireCompression={compression}\nWireCrypt={crypt}"
    return firebird.driver.connect(name)


def pure_python() -> Any:
    import firebirdsql

    login: dict[str, Any] = {
        "host": HOST,
        "port": PORTS["encrypted" if ENCRYPTED else "clear"],
        "database": "lab",
        "user": "SYSDBA",
        "password": "masterkey",
    }
    return firebirdsql.connect(**login, wire_crypt=ENCRYPTED, auth_plugin_name="Srp", charset="UTF8")


def n_plus_one(run: Run, database: Any, n: int) -> None:
    """One query for n keys, then one query with its own text for each of them, as a naive program writes them."""
    with run.work():
        cursor = database.cursor()
        for (key,) in run.query(cursor, KEYS.format(n)):
            run.query(cursor, SALARIES.replace("?", str(key)))
        cursor.close()
        database.commit()
        run.statements += 1
    database.close()


def nplus1(name: str, client: str, connect: Callable[[], Any]) -> None:
    def function(run: Run, n: int) -> None:
        n_plus_one(run, connect(), n)

    function.__name__ = f"{name}_nplus1"
    workload(client, warm=True)(function)


nplus1("fbclient", "firebird-driver", fbclient)
nplus1("fbclient_encrypted", "firebird-driver", lambda: fbclient("encrypted"))
nplus1("fbclient_compressed", "firebird-driver", lambda: fbclient("compressed"))
nplus1("firebirdsql", "firebirdsql", pure_python)


@workload("firebird-driver", warm=True)
def fbclient_prepared(run: Run, n: int) -> None:
    database = fbclient()
    with run.work():
        cursor = database.cursor()
        statement = cursor.prepare(SALARIES)
        for key in range(1, n + 1):
            run.query(cursor, statement, (key,))
        cursor.close()
        statement.free()
        database.commit()
        run.statements += 2
    database.close()


@workload("firebird-driver", warm=True)
def fbclient_blobs(run: Run, n: int) -> None:
    """n rows with a blob each: the driver opens, reads and closes every one."""
    database = fbclient()
    with run.work():
        run.query(database.cursor(), f"SELECT FIRST {n} id, name, body FROM docs")
        database.commit()
        run.statements += 1
    database.close()


@workload("firebird-driver", warm=True)
def fbclient_transactions(run: Run, n: int) -> None:
    """One update and a commit, n times over."""
    database = fbclient()
    with run.work():
        cursor = database.cursor()
        statement = cursor.prepare("UPDATE acc SET bal = bal + 1 WHERE id = ?")
        for number in range(n):
            cursor.execute(statement, (number % 1000 + 1,))
            database.commit()
            run.statements += 2
        cursor.close()
    database.close()


@workload("firebird-driver", warm=True)
def fbclient_cursors(run: Run, n: int) -> None:
    """n cursors of which the first rows are read, and no more."""
    database = fbclient()
    with run.work():
        for key in range(1, n + 1):
            cursor = database.cursor()
            cursor.execute("SELECT emp_no, salary FROM salaries WHERE emp_no > ? ORDER BY emp_no", (key,))
            run.rows += len(cursor.fetchmany(10))
            cursor.close()
            run.statements += 1
        database.commit()
        run.statements += 1
    database.close()


@workload("firebird-driver", warm=True)
def fbclient_errors(run: Run, n: int) -> None:
    """Every second statement fails."""
    import firebird.driver

    database = fbclient()
    with run.work():
        for key in range(1, n + 1):
            cursor = database.cursor()
            try:
                run.query(cursor, SALARIES if key % 2 else "SELECT nothing FROM nowhere WHERE emp_no = ?", (key,))
            except firebird.driver.DatabaseError:
                run.statements += 1
            cursor.close()
        database.commit()
        run.statements += 1
    database.close()


@workload("firebird-driver", warm=True)
def fbclient_executemany(run: Run, n: int) -> None:
    """n updates with one call, n rows for the driver."""
    database = fbclient()
    with run.work():
        cursor = database.cursor()
        cursor.executemany("UPDATE acc SET bal = bal + 1 WHERE id = ?", [(key % 1000 + 1,) for key in range(n)])
        cursor.close()
        database.commit()
        run.statements += n + 1
    database.close()


@workload("firebirdsql", warm=True)
def firebirdsql_blobs(run: Run, n: int) -> None:
    """As `fbclient_blobs`."""
    database = pure_python()
    with run.work():
        run.query(database.cursor(), f"SELECT FIRST {n} id, name, body FROM docs")
        database.commit()
        run.statements += 1
    database.close()


register(workload, Driver("fbclient", "firebird-driver", fbclient, SALARIES))
register(workload, Driver("firebirdsql", "firebirdsql", pure_python, SALARIES))
register(workload, Driver("fbclient_encrypted", "firebird-driver", lambda: fbclient("encrypted"), SALARIES))
register(workload, Driver("fbclient_compressed", "firebird-driver", lambda: fbclient("compressed"), SALARIES))


if __name__ == "__main__":
    main()
