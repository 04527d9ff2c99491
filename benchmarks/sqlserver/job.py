"""The job by pymssql or python-tds: `job.py {pymssql,python-tds,python-tds-mars} PORT`."""

from __future__ import annotations

import sys
from typing import Any


def connect(driver: str, port: int) -> Any:
    if driver == "pymssql":
        import pymssql

        return pymssql.connect("127.0.0.1", "ann", "top secret", "shop", port=str(port))
    import pytds

    return pytds.connect("127.0.0.1", "shop", "ann", "top secret", port=port, use_mars=driver.endswith("mars"))


def main(driver: str, port: int) -> None:
    rows = affected = 0
    connection = connect(driver, port)
    cursor = connection.cursor()
    cursor.execute("select id from order_ids")
    numbers = [number for (number,) in cursor.fetchall()]
    rows += len(numbers)
    for number in numbers:
        cursor.execute("select id, name from items where id = %s", (number,))
        rows += len(cursor.fetchall())
    for number in range(10):
        cursor.execute("insert into items (id, name) values (%s, %s)", (number, "name"))
        affected += cursor.rowcount
    connection.commit()
    cursor.execute("select id, doc from wide_table")
    rows += len(cursor.fetchall())
    connection.close()
    print(rows, affected)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
