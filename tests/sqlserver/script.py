"""The script that answers SQL: what a statement returns depends on the table's name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class SqlServerError(Exception):
    def __init__(self, number: int, message: str, level: int = 16):
        super().__init__(message)
        self.number, self.message, self.level = number, message, level


@dataclass(frozen=True)
class Rows:
    columns: tuple[tuple[str, type], ...]
    rows: Iterable[tuple[Any, ...]]


@dataclass(frozen=True)
class Changed:
    """Rows that a statement has changed, and what kind of statement it was: its number at the server."""

    command: int
    count: int


SELECT, INSERT, DELETE, UPDATE, BULK, OTHER = 193, 195, 196, 197, 240, 253
CHANGES = {"insert": INSERT, "delete": DELETE, "update": UPDATE}
BIG_ROWS, IDS = 5_000, 50
NAMES = {
    "@@version": "Microsoft SQL Server 2022 - 16.0.4135.4",
    "serverproperty": "16.0.4135.4",
    "schema_name": "dbo",
    "test max support": "test max support",
    "system_views": "dm_exec_sessions",
    "transaction_isolation_level": "READ COMMITTED",
}
"""What mappers ask when they connect."""


def run(sql: str) -> Rows | Changed | None:
    """What one statement returns; `None` for one that returns nothing."""
    text = sql.strip().lower().removeprefix("sp_executesql n'")
    if "no_such_table" in text:
        raise SqlServerError(208, "Invalid object name 'no_such_table'.")
    if "dup_key" in text:
        raise SqlServerError(2627, "Violation of PRIMARY KEY constraint 'pk'. Cannot insert duplicate key.", 14)
    if text.startswith("set fmtonly on"):
        return Rows(_query(text).columns, ())
    first = text.split(None, 1)[0] if text else ""
    if first in ("select", "with"):
        return _query(text)
    if text.startswith("insert bulk"):
        return None
    return Changed(CHANGES[first], 1) if first in CHANGES else None


def _query(text: str) -> Rows:
    if "system_type_name" in text:  # of the table that will be loaded
        columns = ("column_id", int), ("system_type_name", str), ("is_identity", int)
        return Rows(columns, ((1, "int", 0), (2, "nvarchar", 0)))
    if "encryption_type" in text:
        columns = ("collation_name", str), ("is_computed", int), ("encryption_type", int)
        return Rows(columns, ((None, 0, None), ("Latin1_General_CI_AS", 0, None)))
    if "big_table" in text:
        return Rows((("id", int), ("name", str)), ((n, f"customer {n:06}") for n in range(BIG_ROWS)))
    if "order_ids" in text:
        return Rows((("id", int),), ((n,) for n in range(IDS)))
    if "wide_table" in text:
        return Rows((("id", int), ("doc", bytes)), ((n, f"x{n} ".encode() * 5_000) for n in range(20)))
    if "empty_table" in text:
        return Rows((("id", int),), ())
    if "items" in text:
        return Rows((("id", int), ("name", str)), ((7, None),))
    for word, value in NAMES.items():
        if word in text:
            return Rows((("", str),), ((value,),))
    return Rows((("", int),), ((1,),))
