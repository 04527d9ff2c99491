"""Rows in columns are what they would be as objects, and their JSON is what Python's `json` writes of these."""

import gc
import json
import pickle
from typing import Any

import numpy as np
import pytest
from builder import Conn, Ex, build
from hypothesis import given
from hypothesis import strategies as st

from latpcap.display import plain
from latpcap.measures import statement_text
from latpcap.report.jsonout import dump
from latpcap.result.analysis import Measures
from latpcap.tables.columnar.texts import Texts
from latpcap.tables.columnar.values import ROWS_PER_BATCH, Booleans, Fractions, Names, Numbers, Rows, Times

FRACTIONS = st.floats() | st.floats(-1e-3, 1e-3) | st.integers(-(10**6), 10**6).map(lambda number: number / 1024)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NANOSECONDS = st.integers(-(10**18), 4 * 10**18)
ROWS = st.lists(st.tuples(FRACTIONS, st.none() | TEXTS, st.integers(0, 2**63 - 1), st.booleans(), NANOSECONDS))


def rows(values: list[tuple[Any, ...]]) -> Rows[dict[str, Any]]:
    fractions, texts, numbers, truths, times = zip(*values, strict=True) if values else ((), (), (), (), ())
    known = np.array(truths, bool)
    columns = {
        "fraction": Fractions(np.array(fractions, float)),
        "text": Names.of(texts),
        "number": Numbers(np.array(numbers, np.int64), known),
        "within": Rows({"truth": Booleans(known)}, dict),
        "time": Times(np.array(times, np.int64), ~known),
    }
    return Rows(columns, dict)


@given(ROWS)
def test_the_core_writes_what_json_writes(values: list[tuple[Any, ...]]) -> None:
    def rounded(row: dict[str, Any]) -> str:
        fraction = row["fraction"]
        return json.dumps(row | {"fraction": fraction and round(fraction, 9)}, ensure_ascii=False)

    written = b"".join(rows(values).encode(",\n")).decode()
    assert written == ",\n".join(map(rounded, rows(values)))


def test_a_row_is_made_when_it_is_asked_for() -> None:
    made = []

    def make(number: int) -> int:
        made.append(number)
        return number

    numbers = Rows({"number": Numbers(np.arange(3 * ROWS_PER_BATCH))}, make)
    assert (len(numbers), sum(map(len, numbers.encode(","))) > 0, made) == (3 * ROWS_PER_BATCH, True, [])
    assert (numbers[-1], numbers[:2], numbers[5:1:-2], made) == (
        3 * ROWS_PER_BATCH - 1,
        (0, 1),
        (5, 3),
        [3 * ROWS_PER_BATCH - 1, 0, 1, 5, 3],
    )


def test_rows_are_a_sequence_like_any_other() -> None:
    numbers = Numbers(np.array([1, 2, 3]), np.array([True, False, True]))
    assert numbers == (1, None, 3)
    assert numbers != [1, None]
    assert [*reversed(numbers)] == [3, None, 1]
    assert (None in numbers, 7 in numbers) == (True, False)
    assert pickle.loads(pickle.dumps(numbers)) == numbers
    assert repr(numbers) == "<3 Numbers: 1, None, 3>"
    with pytest.raises(IndexError):
        numbers[3]


def test_a_result_holds_rows_as_objects_for_scripts() -> None:
    within = Rows({"b": Fractions(np.array([0.5]))}, dict)
    assert plain(Rows({"a": Numbers(np.array([1])), "within": within}, dict)) == [{"a": 1, "within": {"b": 0.5}}]
    assert dump(
        {"some": Rows({"a": Numbers(np.array([1]))}, dict), "none": Rows({"a": Numbers(np.array([]))}, dict)}
    ) == ('{\n  "some": [\n    {"a": 1}\n  ],\n  "none": []\n}\n')


@given(st.lists(TEXTS))
def test_texts_are_known_by_the_first_one_like_them(texts: list[str]) -> None:
    column = Texts.listed(texts)
    assert [column[number] for number in range(len(column))] == texts
    assert column.first_like.tolist() == [texts.index(text) for text in texts]


@given(st.from_regex(statement_text._CATALOG))
def test_what_reads_the_catalog_holds_one_of_its_words(text: str) -> None:
    assert Texts.listed([text]).holding(*statement_text.CATALOG_WORDS).tolist() == [0]


def test_statements_make_no_objects() -> None:
    def objects_of(count: int) -> int:
        measures = Measures(
            build([Conn(exchanges=[Ex(sql=f"select a from t{row} where b = ?") for row in range(count)])])
        )
        gc.collect()
        before = len(gc.get_objects())
        result = measures.analyze()
        gc.collect()
        assert len(result.statements) == count
        return len(gc.get_objects()) - before

    assert objects_of(3000) - objects_of(1000) < 1000
