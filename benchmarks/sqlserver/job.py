"""One workload by one of Python's clients: `job.py CLIENT WORKLOAD PORT MODE`; prints rows and changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOST = os.environ.get("SQLSERVER", "127.0.0.1")
PASSWORD, IDS, ROWS = "top secret", 50, 200
ONE, INSERT = "select id, name from items where id = {}", "insert into items (id, name) values ({}, {})"


class Job:
    """A client's connections, and what it got by them."""

    def __init__(self, client: str, port: int, mode: str):
        self.client, self.port, self.mode = client, port, mode
        self.rows = self.changes = 0
        self.mark = "?" if client.startswith(("mssql", "odbc", "freetds")) else "%s"
        self.one, self.insert = ONE.format(self.mark), INSERT.format(self.mark, self.mark)

    def connect(self) -> Any:
        name, port, encrypt = self.client, self.port, self.mode in ("all", "strict")
        if name.startswith("sqlalchemy"):
            return self.mapped()
        if name == "pymssql":
            import pymssql

            return pymssql.connect(HOST, "ann", PASSWORD, "shop", port=str(port))
        if name.startswith("python-tds"):
            import pytds

            sealed = {} if self.mode == "none" else {"cafile": os.environ["CERTIFICATE"], "validate_host": False}
            more = {"use_mars": name.endswith("mars"), "enc_login_only": self.mode == "login"}
            return pytds.connect(HOST, "shop", "ann", PASSWORD, port=port, **sealed, **more)
        certificate = f"ServerCertificate={os.environ['CERTIFICATE']}" if self.mode == "strict" else ""
        options = f"DATABASE=shop;UID=ann;PWD={PASSWORD};TrustServerCertificate=yes;{certificate}"
        secure = f"Encrypt={'strict' if self.mode == 'strict' else 'yes' if encrypt else 'no'}"
        if name == "mssql-python":
            import mssql_python

            return mssql_python.connect(f"SERVER={HOST},{port};{options};{secure}")
        import pyodbc

        pyodbc.pooling = False
        if name == "freetds":
            kind = {"none": "off", "login": "request"}.get(self.mode, "require")
            server = f"SERVER={HOST};PORT={port};TDS_Version=7.4;Encryption={kind}"
            return pyodbc.connect(f"DRIVER={os.environ['FREETDS']};{server};DATABASE=shop;UID=ann;PWD={PASSWORD}")
        more = {"odbc-mars": "MARS_Connection=yes", "odbc-encrypted": "ColumnEncryption=Enabled"}.get(name, "")
        return pyodbc.connect(f"DRIVER={microsoft()};SERVER={HOST},{port};{options};{secure};{more}")

    def mapped(self) -> Any:
        """SQLAlchemy's, with its pool and what it asks when it connects."""
        from sqlalchemy import create_engine

        url = f"mssql+{self.client.split('-')[1]}://ann:{PASSWORD}@{HOST}:{self.port}/shop"
        return create_engine(url).raw_connection()

    def read(self, cursor: Any, sql: str, *values: Any) -> list[Any]:
        cursor.execute(sql, values) if values else cursor.execute(sql)
        rows = cursor.fetchall()
        self.rows += len(rows)
        return list(rows)

    def write(self, cursor: Any, sql: str, *values: Any) -> None:
        cursor.execute(sql, values) if values else cursor.execute(sql)
        self.changes += cursor.rowcount

    # --- workloads ---

    def n_plus_one(self) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        for (number,) in self.read(cursor, "select id from order_ids"):
            self.read(cursor, self.one, number)
        connection.close()

    def prepared(self) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        for number in range(IDS):
            self.read(cursor, self.one, number)
            self.write(cursor, self.insert, number, "name")
        connection.commit()
        connection.close()

    def cursor_fetch(self) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute("select id, name from big_table")
        while rows := cursor.fetchmany(100):
            self.rows += len(rows)
        self.read(cursor, "select id, doc from wide_table")
        connection.close()

    def batch(self) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        cursor.executemany(self.insert, [(number, "name") for number in range(30)])
        self.changes += 30
        connection.commit()
        connection.close()

    def bulk(self) -> None:
        connection = self.connect()
        cursor, rows = connection.cursor(), [(number, f"name {number}") for number in range(ROWS)]
        driver = getattr(connection, "driver_connection", connection)  # of SQLAlchemy's
        if hasattr(driver, "bulk_copy"):
            driver.bulk_copy("items", rows)
        elif hasattr(cursor, "copy_to"):
            import pytds

            types = pytds.tds_types
            kinds = [pytds.Column("id", type=types.IntType()), pytds.Column("name", type=types.NVarCharType(100))]
            cursor.copy_to(data=rows, table_or_view="items", columns=kinds)
        elif hasattr(cursor, "bulkcopy"):
            cursor.bulkcopy("items", rows)
        else:
            cursor.fast_executemany = True
            cursor.executemany(self.insert, rows)
        self.changes += ROWS
        connection.commit()
        connection.close()

    def transactions(self) -> None:
        connection = self.connect()
        cursor = connection.cursor()
        for number in range(10):
            self.write(cursor, self.insert, number, "name")
            self.write(cursor, "update items set name = 'x' where id = 7")
            connection.rollback() if number == 7 else connection.commit()
        connection.close()

    def connect_per_query(self) -> None:
        for number in range(10):
            connection = self.connect()
            self.read(connection.cursor(), self.one, number)
            connection.close()

    def mars(self) -> None:
        connection = self.connect()
        outer, inner = connection.cursor(), connection.cursor()
        outer.execute("select id, name from big_table")
        for number in range(10):
            self.rows += len(outer.fetchmany(5))
            self.read(inner, self.one, number)
        self.rows += len(outer.fetchall())
        connection.close()


def microsoft() -> str:
    """Microsoft's ODBC driver, which comes with `mssql-python`."""
    import mssql_python_odbc

    return str(next(Path(mssql_python_odbc.__file__).parent.glob("libs/linux/debian_ubuntu/x86_64/lib/libmsodbcsql*")))


if __name__ == "__main__":
    job = Job(sys.argv[1], int(sys.argv[3]), sys.argv[4])
    workload: Callable[[], None] = getattr(job, sys.argv[2])
    workload()
    print(job.rows, job.changes)
