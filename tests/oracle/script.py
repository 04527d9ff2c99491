"""The script that answers SQL: what a statement returns depends on the table's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oracle.ttc import date

VARCHAR, NUMBER, DATE, CLOB, BLOB = 1, 2, 12, 112, 113


class OracleError(Exception):
    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code, self.message = code, f"ORA-{code:05}: {message}\n".encode()


@dataclass(frozen=True)
class Column:
    name: str
    kind: int
    size: int
    precision: int = 0

    @property
    def has_charset(self) -> bool:
        return self.kind in (VARCHAR, CLOB)

    @property
    def is_lob(self) -> bool:
        return self.kind in (CLOB, BLOB)


ID = Column("ID", NUMBER, 22, 10)
NAME = Column("NAME", VARCHAR, 200)


@dataclass
class Rows:
    columns: list[Column]
    rows: Iterator[tuple[Any, ...]]


@dataclass(frozen=True)
class Done:
    """A statement without rows; its number is the server's for this kind of statement."""

    number: int


CHANGE, BLOCK, DEFINITION = Done(2), Done(47), Done(1)
BIG_TABLE_ROWS = 20_000
LOB_ROWS = 5


def breaking(rows: int) -> Iterator[tuple[int]]:
    yield from ((number,) for number in range(1, rows + 1))
    raise OracleError(1722, "invalid number")


def query(sql: str) -> Rows:
    match next((word for word in sql.replace("(", " ").split() if word in TABLES), "dual"):
        case "big_table":
            columns = [ID, NAME, Column("CREATED", DATE, 7)]
            return Rows(
                columns,
                ((n, f"customer {n:06}", date(2024, 1 + n % 12, 1 + n % 28)) for n in range(1, BIG_TABLE_ROWS + 1)),
            )
        case "wide_table":
            return Rows([ID, Column("TXT", VARCHAR, 4000)], ((n, f"x{n:05} " * 400) for n in range(1, 101)))
        case "order_ids":
            return Rows([ID], ((n,) for n in range(1, 201)))
        case "items":
            return Rows([ID, NAME], iter([(7, "item seven")]))
        case "status_rep":  # values that repeat: bit vectors
            return Rows([NAME, ID], (("OPEN" if n % 50 else "CLOSED", n) for n in range(1, 301)))
        case "docs":
            columns = [ID, Column("DOC", CLOB, 4000), Column("RAWDOC", BLOB, 4000)]
            return Rows(columns, ((n, f"document {n} " * 100, bytes(range(256)) * 40) for n in range(1, LOB_ROWS + 1)))
        case "breaks_later":
            return Rows([ID], breaking(150))
        case "empty_table":
            return Rows([ID], iter([]))
        case _:
            return Rows([Column("1", NUMBER, 22, 10)], iter([(1,)]))


TABLES = {"big_table", "wide_table", "order_ids", "items", "status_rep", "docs", "breaks_later", "empty_table"}


def run(sql: str) -> Rows | Done:
    text = sql.strip().lower()
    if "no_such_table" in text:
        raise OracleError(942, "table or view does not exist")
    if "dup_key" in text:
        raise OracleError(1, "unique constraint (SCOTT.PK_ITEMS) violated")
    if text.startswith(("select", "with")):
        return query(text)
    if text.startswith(("insert", "update", "delete", "merge")):
        return CHANGE
    return BLOCK if text.startswith(("begin", "declare", "call")) else DEFINITION
