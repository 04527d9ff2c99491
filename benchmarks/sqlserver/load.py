"""The account, the database and the tables of the workloads, in a server that has none: `load.py PORT`.

As `babel`, the superuser that `babelfish.sh` makes; what is there already stays, but for the tables.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import pymssql

PASSWORD = "top secret"
OPENING = (
    f"create login ann with password = '{PASSWORD}'",
    "alter server role sysadmin add member ann",
    "create database shop",
)
LONG = "replicate(cast('abc ' as varchar(max)), 4000)"
TABLES = {
    "order_ids": ("id int", 50, "@i"),
    "items": ("id int, name nvarchar(100)", 50, "@i, null"),
    "big_table": ("id int, name nvarchar(100)", 5_000, "@i, 'customer ' + cast(1000000 + @i as varchar(20))"),
    "wide_table": ("id int, doc varbinary(max)", 20, f"@i, cast({LONG} as varbinary(max))"),
}


def main(port: str) -> None:
    with connected(port, "master") as cursor:
        for statement in OPENING:
            with contextlib.suppress(pymssql.Error):
                cursor.execute(statement)
    with connected(port, "shop") as cursor:
        for name, (columns, rows, values) in TABLES.items():
            cursor.execute(f"drop table if exists {name}")
            cursor.execute(f"create table {name} ({columns})")
            insert = f"insert into {name} values ({values}); set @i = @i + 1"
            cursor.execute(f"begin tran; declare @i int = 0; while @i < {rows} begin {insert} end; commit")


@contextlib.contextmanager
def connected(port: str, database: str) -> Iterator[Any]:
    connection = pymssql.connect("127.0.0.1", "babel", PASSWORD, database, port=port, autocommit=True)
    with contextlib.closing(connection), contextlib.closing(connection.cursor()) as cursor:
        yield cursor


if __name__ == "__main__":
    main(sys.argv[1])
