"""The application of this demo: it prints what each invoice comes to, in three releases of the same thing.

python invoices.py RELEASE [HOST [PORT]]
"""

from __future__ import annotations

import os
import sys

import pymysql
from pymysql.cursors import Cursor

SUMS = "select i.id, i.customer, sum(t.cents) from invoice i join item t on t.invoice = i.id group by i.id"


def release_1(cursor: Cursor) -> list[tuple[object, ...]]:
    """One statement for all of it."""
    cursor.execute(SUMS)
    return list(cursor.fetchall())


def release_2(cursor: Cursor) -> list[tuple[object, ...]]:
    """The largest first: another statement, and as many of them."""
    cursor.execute(f"{SUMS} order by sum(t.cents) desc")
    return list(cursor.fetchall())


def release_3(cursor: Cursor) -> list[tuple[object, ...]]:
    """Rewritten with one object for each invoice, which asks for its own items."""
    cursor.execute("select id, customer from invoice")
    invoices = cursor.fetchall()
    lines = []
    for number, customer in invoices:
        cursor.execute("select sum(cents) from item where invoice = %s", (number,))
        [(cents,)] = cursor.fetchall()
        lines.append((number, customer, cents))
    return lines


RELEASES = {"1": release_1, "2": release_2, "3": release_3}

if __name__ == "__main__":
    release, host, port = [*sys.argv[1:], *("3", "127.0.0.1", "3306")[len(sys.argv) - 1 :]]
    password = os.environ.get("SHOP_PASSWORD", "shop")
    shop = pymysql.connect(
        host=host,
        port=int(port),
        user="shop",
        password=password,
        database="shop",
        ssl_disabled=True,  # on one machine; so the statements can be read without the keys
    )
    with shop:
        for line in RELEASES[release](shop.cursor()):
            print(*line)
