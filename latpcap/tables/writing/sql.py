"""SQL over the tables of a capture, with DuckDB (extra `sql`).

A query sees the tables and nothing else: no file, no network, no extension, no variable of the program that asks. Its
time and its memory are bounded, and so is its result. What it returns is a `Table` like all others: its times are in
UTC with nanoseconds, sums fit 64 bits, and what no dataframe of numbers can hold (lists, intervals, dates) comes as
text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from threading import TIMEOUT_MAX, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from arro3.core import DataType, RecordBatchReader
from arro3.core import Table as ArrowTable

from latpcap.errors import UsageError
from latpcap.tables.columnar.columns import empty
from latpcap.tables.columnar.table import ROWS_PER_WRITE, Table
from latpcap.units import DEFAULT_MEMORY_BYTES, QUERY_TIMEOUT_S, format_s

if TYPE_CHECKING:
    import duckdb

INTERRUPT_INTERVAL_S = 0.05
"""A query is interrupted again after this time: it may have been between two of its statements."""
MAX_THREADS = 4
"""Each thread works in memory of its own."""

CLOSED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "",
}
"""DuckDB's settings that leave a query nothing but the tables; see
<https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview>."""

KEPT = frozenset(
    {
        *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        *("FLOAT", "DOUBLE", "VARCHAR", "TIMESTAMP_NS"),
    }
)
"""Types that every reader of a `Table` knows."""

NO_ZONE, UTC = DataType.timestamp("ns"), DataType.timestamp("ns", tz="UTC")


def query(
    text: str,
    tables: Sequence[str],
    made: Callable[[str], Table],
    timeout_s: float = QUERY_TIMEOUT_S,
    memory: int = DEFAULT_MEMORY_BYTES,
) -> Table:
    """Return the result of the last statement in `text`, a query over `tables`; those that it names are `made`.

    It may take `timeout_s` seconds, and `memory` bytes for its work and as many for its result.
    """
    if not 0 < timeout_s <= TIMEOUT_MAX:
        raise UsageError(f"{timeout_s} s is not a time limit: give more than 0 and less than 292 years")
    duck = engine()
    threads = min(os.cpu_count() or 1, MAX_THREADS)
    connection = duck.connect(":memory:", config=CLOSED | {"memory_limit": f"{memory}B", "threads": f"{threads}"})
    try:
        for name in _asked_for(connection, text, tables):
            connection.register(name, _in_zone(_fitting(name, made(name), memory), NO_ZONE))
        connection.execute("set lock_configuration = true")
        rows = _interruptible(lambda: _rows(connection, text, memory), timeout_s, connection)
        return Table(_in_zone(rows, UTC), "rows")
    except duck.OutOfMemoryException:
        raise UsageError(f"the query needs more than {_megabytes(memory)}: select less, or raise --memory") from None
    except duck.Error as error:
        raise UsageError(_one_line(str(error), tables)) from None
    except UsageError:
        raise
    except Exception as error:  # of the rows' way out of the engine: a batch of texts beyond 2 GB
        raise UsageError(f"the rows are too large: select less ({_one_line(str(error), tables)})") from None
    finally:
        connection.close()


def _asked_for(connection: Any, text: str, tables: Sequence[str]) -> Sequence[str]:
    """The tables that a query names; all of them, where that cannot be told, or it may ask which there are."""
    try:
        named = connection.get_table_names(text)
    except engine().Error:
        return tables
    return [name for name in tables if name in named] if named and named <= {*tables} else tables


def _interruptible(work: Callable[[], ArrowTable], timeout_s: float, connection: Any) -> ArrowTable:
    """Return what `work` makes on `connection`, which is interrupted when the time is over, and by a Ctrl-C.

    It has a thread of its own, since Python hears no signal while DuckDB works.
    """
    done: Future[ArrowTable] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    asking = Thread(target=run, daemon=True)
    ends_at, is_over = monotonic() + timeout_s, False
    try:
        asking.start()  # which waits: the query may be well under way when it returns
        while not _is_done(done):
            is_over = monotonic() >= ends_at
            if is_over:
                connection.interrupt()
    except KeyboardInterrupt:
        while asking.ident is not None and not done.done():
            connection.interrupt()
            _is_done(done)
        raise
    if is_over and done.exception() is not None:  # of the engine, or of the way out of it
        raise UsageError(f"the query was stopped after {format_s(timeout_s)}: select less, or give a longer --timeout")
    return done.result()


def _is_done(work: Future[ArrowTable]) -> bool:
    """Wait for it, but not long: on Windows no signal is heard meanwhile."""
    wait((work,), INTERRUPT_INTERVAL_S)
    return work.done()


def _rows(connection: Any, text: str, memory: int) -> ArrowTable:
    """The rows of the last statement in `text`."""
    result = connection.sql(text)
    if result is None:
        raise UsageError("the query returns nothing: end it with a `select`")
    return _within(memory, result.project(_plain_columns(result)))


def _within(memory: int, result: Any) -> ArrowTable:
    """The rows, as long as they take no more than `memory` bytes."""
    reader = RecordBatchReader.from_arrow(result)
    batches, size = [], 0
    for batch in reader:
        size += batch.nbytes
        if size > memory:
            raise UsageError(f"the result is larger than {_megabytes(memory)}: select less, or raise --memory")
        batches.append(batch)
    return ArrowTable.from_batches(batches, schema=reader.schema)


def _fitting(name: str, table: Table, memory: int) -> Table:
    """A table of which all rows at once take no more than half of `memory` bytes."""
    some = table.head(ROWS_PER_WRITE)
    if some.to_arrow().nbytes / max(len(some), 1) * len(table) > memory // 2:
        raise UsageError(
            f"{len(table):,} {name} take more than {_megabytes(memory // 2)} as a table: "
            "select a part of them (--from and --to, --client, --server), or raise --memory"
        )
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def engine() -> Any:
    """The module `duckdb`; a clear error where it is not installed."""
    try:
        import duckdb
    except ImportError:
        raise UsageError('SQL needs DuckDB: pip install "latpcap[sql]"') from None
    return duckdb


def _in_zone(table: Any, time: DataType) -> ArrowTable:
    """Times as `time`: DuckDB keeps nanoseconds, and computes with them, only where there is no time zone."""
    arrow = ArrowTable.from_arrow(table)
    chunked = [(name, arrow.column(index)) for index, name in enumerate(arrow.column_names)]
    types = {name: time if DataType.is_timestamp(column.type) else column.type for name, column in chunked}
    if arrow.num_rows == 0:  # a stream may then come without a single batch
        return ArrowTable.from_pydict({name: empty(kind) for name, kind in types.items()})
    return ArrowTable.from_pydict({name: column.cast(types[name]) for name, column in chunked})


def _plain_columns(result: duckdb.DuckDBPyRelation) -> str:
    """The columns of `result` under names of their own, in types that every reader knows."""
    names: list[str] = []
    columns = []
    for number, (name, kind) in enumerate(zip(result.columns, map(str, result.types), strict=True), 1):
        names.append(name if name not in names else f"{name}_{number}")
        quoted = names[-1].replace('"', '""')
        columns.append(f'cast(#{number} as {_plain_type(kind)}) as "{quoted}"')
    return ", ".join(columns)


def _plain_type(kind: str) -> str:
    if kind in KEPT:
        return kind
    if kind.startswith("TIMESTAMP"):
        return "TIMESTAMP_NS"
    return {"HUGEINT": "BIGINT", "UHUGEINT": "UBIGINT", "DECIMAL": "DOUBLE"}.get(kind.split("(")[0], "VARCHAR")


def _one_line(message: str, tables: Sequence[str]) -> str:
    """DuckDB's message without its picture of the query; with an unknown table, those there are."""
    first, *others = message.partition("\n\nLINE ")[0].split("\n")
    if first.startswith("Catalog Error: Table with name"):
        return f"{first.partition('!')[0]}; there are {', '.join(tables)}"
    hints = [line for line in others if line.startswith(("Did you mean", "Candidate bindings"))]
    return "; ".join([first.rstrip("!"), *hints])
