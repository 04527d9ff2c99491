import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from arro3.core import Array, ChunkedArray, DataType, Table
from hypothesis import given
from hypothesis import strategies as st

from latpcap.tables.columnar import columns


def table(array: Array) -> Table:
    return Table.from_pydict({"x": array})


@pytest.mark.parametrize("kind", ["int64", "uint32", "uint64", "uint8", "float64"])
def test_numbers_come_out_with_their_nulls(kind: str) -> None:
    column = columns.column(table(Array([1, None, 3], getattr(DataType, kind)())), "x")
    assert column.values[[0, 2]].tolist() == [1, 3]
    assert column.is_valid().tolist() == [True, False, True]
    assert column.ints(-1).tolist() == [1, -1, 3]


def test_booleans_come_out_of_their_bits() -> None:
    column = columns.column(table(Array([True, False] * 9, DataType.bool())), "x")
    assert column.values.tolist() == [True, False] * 9


def test_a_slice_begins_where_it_should() -> None:
    whole = table(Array([None, True, False, True, None, True], DataType.bool()))
    column = columns.column(whole.slice(1, 4), "x")
    assert column.values[:3].tolist() == [True, False, True]
    assert column.is_valid().tolist() == [True, True, True, False]


def test_an_empty_column_is_empty() -> None:
    column = columns.column(table(Array.from_numpy(np.empty(0, np.int64))), "x")
    assert len(column.values) == 0


def test_several_chunks_are_one_column() -> None:
    chunks = ChunkedArray([Array.from_numpy(np.array([1])), Array.from_numpy(np.array([2, 3]))])
    assert columns.column(Table.from_pydict({"x": chunks}), "x").values.tolist() == [1, 2, 3]


def test_a_view_outlives_its_table() -> None:
    column = columns.column(table(Array.from_numpy(np.arange(100_000))), "x")
    assert int(column.values.sum()) == 4_999_950_000


def test_a_view_cannot_be_written_to() -> None:
    column = columns.column(table(Array.from_numpy(np.arange(3))), "x")
    with pytest.raises(ValueError, match="read-only"):
        column.values[0] = 7


@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "", "päth", "a\nb"]))))
def test_texts_as_codes_are_the_same_texts(texts: list[str | None]) -> None:
    coded = columns.codes(table(Array(texts, DataType.string())), "x")
    assert [None if code < 0 else coded.names[code] for code in coded.codes] == texts


def test_a_null_is_never_what_is_looked_for() -> None:
    coded = columns.codes(table(Array(["a", None], DataType.string())), "x")
    assert coded.where(lambda _: True).tolist() == [True, False]


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False))))
def test_nan_becomes_null(values: list[float | None]) -> None:
    floats = np.array([np.nan if value is None else value for value in values], float)
    assert columns.nullable(floats).to_pylist() == values


def test_what_is_free_is_given_back_where_the_system_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(ctypes, "pythonapi", SimpleNamespace(malloc_trim=left.append))
    columns.give_back()
    monkeypatch.setattr(ctypes, "pythonapi", SimpleNamespace())
    columns.give_back()
    assert left == [0]
