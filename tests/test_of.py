"""`_core.Recording.of`: the tables of a recording make it again; others are refused, whatever they hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from arro3.core import Array, DataType, Table
from conftest import FIXTURES, load_fixture

from latpcap import Capture, NoDatabaseTraffic, _core
from latpcap.report import FORMATS
from latpcap.tables.recording import Recording

SMALL = ("captures", "notes", "cases", "connections", "statements", "tags", "taps", "clock_readings", "segments")
ROWS = ("exchanges", "rtt_samples")
FOLDERS = sorted(path for path in FIXTURES.iterdir() if [*path.glob("*.pcapng*")])
SOME = [file for folder in FOLDERS for file in sorted(folder.glob("*.pcapng*"))[::13][:2]]
"""One or two recordings of each protocol."""
SAMPLE = "postgresql/several-applications"
I64_MAX, U32_MAX = 2**63 - 1, 2**32 - 1


def tables_of(core: Any) -> dict[str, Table]:
    return {name: Table.from_arrow(getattr(core, name)()) for name in (*SMALL, *ROWS)}


def recording_of(tables: dict[str, Table], core: Any) -> _core.Recording:
    """The recording of `tables`, which came from `core`."""
    return _core.Recording.of(
        {name: [tables[name]] for name in SMALL if name in tables},
        [(0, tables["exchanges"])],
        [tables["rtt_samples"]],
        host_curve=core.host_curve(),
        contents=core.contents(),
    )


def said_of(core: Any) -> bytes:
    try:
        parts = [*FORMATS["json"](Capture(Recording(core)).analyze())]
    except NoDatabaseTraffic:
        return b""
    return b"".join(part.encode() if isinstance(part, str) else part for part in parts)


@pytest.mark.parametrize("path", SOME, ids=lambda path: f"{path.parent.name}/{path.name.partition('.')[0]}")
def test_the_tables_of_a_recording_make_the_same_recording(path: Any) -> None:
    core = _core.read([str(path)])
    tables = tables_of(core)
    again = recording_of(tables, core)
    for name, table in tables_of(again).items():
        assert table.schema.names == tables[name].schema.names
        assert table.to_struct_array().to_pylist() == tables[name].to_struct_array().to_pylist(), name
    assert (again.is_large, again.contents(), again.host_curve()) == (False, core.contents(), core.host_curve())
    assert said_of(again) == said_of(core)


@pytest.mark.parametrize("in_memory", [None, 0])
def test_rows_come_piece_by_piece_and_in_any_order(in_memory: int | None, tmp_path: Any) -> None:
    core = _core.read([str(load_fixture(SAMPLE).path)])
    tables = tables_of(core)
    count = len(tables["exchanges"])
    pieces = [tables["exchanges"].slice(begin, min(7, count - begin)) for begin in range(0, count, 7)]
    stream = tables["rtt_samples"].column("stream").to_numpy()
    order = np.argsort(-stream.astype(np.int64), kind="stable")
    samples = [tables["rtt_samples"].slice(int(row), 1) for row in order]
    again = _core.Recording.of(
        {name: [tables[name]] for name in SMALL},
        [(0, piece) for piece in reversed(pieces)],
        samples,
        disk=(str(tmp_path), 10**8),
        in_memory=in_memory,
        contents=core.contents(),
    )
    for name in ROWS:
        found, expected = Table.from_arrow(getattr(again, name)()), tables[name]
        assert found.to_struct_array().to_pylist() == expected.to_struct_array().to_pylist()


def test_rows_of_the_chosen_connections_alone_are_kept() -> None:
    core = _core.read([str(load_fixture(SAMPLE).path)])
    tables = tables_of(core)
    chosen = sorted(set(tables["exchanges"].column("stream").to_numpy().tolist()))[:2]
    again = _core.Recording.of(
        {name: [tables[name]] for name in SMALL},
        [(0, tables["exchanges"])],
        [tables["rtt_samples"]],
        chosen=np.array(chosen),
    )
    found = tables_of(again)
    assert len(found["connections"]) == len(tables["connections"])
    for name in (*ROWS, "clock_readings", "segments"):
        expected = [row for row in tables[name].to_struct_array().to_pylist() if row["stream"] in chosen]
        assert found[name].to_struct_array().to_pylist() == expected


def test_parts_share_texts_and_words_and_number_parameters_apart() -> None:
    """The same exchanges as two parts, whose connections have other numbers."""
    core = _core.read([str(load_fixture(SAMPLE).path)])
    tables = tables_of(core)
    moved = {name: shifted(tables[name], 1_000) for name in ("connections", "exchanges")}
    again = _core.Recording.of(
        {name: [tables[name]] for name in ("captures",)}
        | {name: [tables[name]] * 2 for name in ("notes", "cases", "statements", "tags")}
        | {"connections": [tables["connections"], moved["connections"]]},
        [(0, tables["exchanges"]), (1, moved["exchanges"])],
        [],
        parts=[(0, {}), (1, {})],
    )
    found = tables_of(again)
    count = len(tables["exchanges"])
    assert found["statements"].to_struct_array().to_pylist() == tables["statements"].to_struct_array().to_pylist()
    for name in ("fingerprint", "text", "command", "waited_ns"):
        both = found["exchanges"].column(name).to_pylist()
        assert both[:count] == both[count:] == tables["exchanges"].column(name).to_pylist()
    parameters = found["exchanges"].column("parameters").to_pylist()
    assert {0} == {*parameters[:count]} & {*parameters[count:]}
    assert len(found["notes"]) >= len(tables["notes"])


def shifted(table: Table, by: int) -> Table:
    streams = Array.from_numpy(table.column("stream").to_numpy() + np.uint32(by))
    return table.set_column(table.column_names.index("stream"), "stream", streams)


# --- damage -----------------------------------------------------------------------------------------------------------


@cache
def sample() -> tuple[Any, dict[str, Table]]:
    core = _core.read([str(load_fixture(SAMPLE).path)])
    return core, tables_of(core)


COLUMNS = [
    (name, column) for name, table in tables_of(_core.Recording.of({}, [], [])).items() for column in table.column_names
]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_column_that_is_missing_or_of_another_type_is_named(table: str, column: str) -> None:
    core, tables = sample()
    whole = tables[table]
    place = whole.column_names.index(column)
    without = whole.select([name for name in whole.column_names if name != column])
    others = Array([b"1"] * len(whole), DataType.binary())
    for changed in (without, whole.set_column(place, column, others)):
        with pytest.raises(_core.CaptureError, match=f"^is damaged: `{column}` "):
            recording_of(tables | {table: changed}, core)


def changes(chance: random.Random) -> Iterator[tuple[str, str, Table]]:
    """Yield tables of which one row of a column is another."""
    _, tables = sample()
    while True:
        table, column = chance.choice(COLUMNS)
        whole = tables[table]
        if len(whole) == 0:
            continue
        kind = whole.column(column).type
        if DataType.is_dictionary(kind):
            kind = DataType.string()
        values: list[Any] = whole.column(column).to_pylist()
        numbers = [None, 0, 1, 2**20, U32_MAX, I64_MAX, -1, -I64_MAX, 2**64 - 1]
        value = chance.choice([None, "", "\x1b[31m", "x" * 1000] if DataType.is_string(kind) else numbers)
        if DataType.is_boolean(kind):
            value = chance.choice([None, True, False])
        is_time = DataType.is_timestamp(kind)
        storage = DataType.int64() if is_time else kind
        if is_time:
            values = [*whole.column(column).cast(storage).to_pylist()]
        values[chance.randrange(len(values))] = value
        try:
            array = Array(values, storage)
        except (OverflowError, ValueError, TypeError):
            continue
        array = array.cast(kind) if is_time else array
        yield table, column, whole.set_column(whole.column_names.index(column), column, array)


def test_whatever_a_column_holds_is_refused_or_can_be_analysed() -> None:
    core, tables = sample()
    chance, refused = random.Random(65), 0
    found = changes(chance)
    for _ in range(150):
        table, _, changed = next(found)
        try:
            again = recording_of(tables | {table: changed}, core)
        except _core.CaptureError as error:
            refused += 1
            if not str(error).isprintable():
                raise
            continue
        said_of(again)
    assert refused > 20


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("exchanges", "purpose", "sabotage", "`purpose` has a word that latpcap never writes"),
        ("exchanges", "wait", "long", "`wait` has a word that latpcap never writes"),
        ("exchanges", "command", "\x1b[31m", "a text of `command` has characters that latpcap never writes"),
        ("statements", "text", "\u202e", "a text of `text` has characters that latpcap never writes"),
    ],
)
def test_words_that_the_core_never_gives_are_refused(table: str, column: str, value: str, message: str) -> None:
    core, tables = sample()
    whole = tables[table]
    values: list[Any] = whole.column(column).to_pylist()
    changed = whole.set_column(whole.column_names.index(column), column, Array([value, *values[1:]], DataType.string()))
    with pytest.raises(_core.CaptureError, match=message):
        recording_of(tables | {table: changed}, core)


def test_more_exchanges_than_fit_are_refused() -> None:
    _, tables = sample()
    with pytest.raises(_core.CaptureError, match="holds more exchanges than fit: raise --memory"):
        _core.Recording.of(
            {name: [tables[name]] for name in SMALL}, [(0, tables["exchanges"])] * 3_000, [], memory=64_000_000
        )
    with pytest.raises(_core.CaptureError, match="holds connections of another part"):
        _core.Recording.of({"connections": [tables["connections"]] * 2}, [], [])


def test_what_python_raises_meanwhile_is_raised() -> None:
    def broken() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        _core.Recording.of({}, broken(), [])
