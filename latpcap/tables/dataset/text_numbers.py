"""Texts of a dataset and their numbers: each part has numbers of its own, the tables that are read have others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from arro3.core import Array, DataType, Table
from msgspec import Struct

from latpcap.errors import CaptureError
from latpcap.tables.columnar import columns
from latpcap.tables.columnar.columns import Ints, joined, rows_of
from latpcap.tables.dataset.checks import check_visible
from latpcap.tables.dataset.layout import RENAMED, WORDS
from latpcap.tables.dataset.manifest import SavedFile

NULL = np.iinfo(np.int64).min
"""In the place of what is null."""


class NumberedTexts(Struct, frozen=True):
    """The texts of all parts, each once, and of each part the numbers that its texts have there."""

    table: Table
    numbers: list[Ints]

    @classmethod
    def joined(cls, parts: Sequence[Table]) -> NumberedTexts:
        """The texts of one part keep their numbers."""
        if len(parts) == 1:
            return cls(parts[0], [np.arange(len(parts[0]))])
        both = joined(parts)
        known: dict[str | None, int] = {}
        each = np.array([known.setdefault(text, len(known)) for text in columns.texts(both, "text")], np.int64)
        is_fingerprint = np.zeros(len(each), bool)
        if "kind" in both.column_names:
            is_fingerprint = columns.codes(both, "kind").codes >= 0
        order = np.argsort(~is_fingerprint, kind="stable")  # a text is one where it is one in any part
        row = np.empty(len(known), np.int64)
        row[each[order[::-1]]] = order[::-1]
        table = rows_of(both, row)
        if "id" in table.column_names:
            ids = Array.from_numpy(np.arange(len(table))).cast(DataType.uint32())
            table = table.set_column(table.column_names.index("id"), "id", ids)
        numbers = np.split(each, np.cumsum([len(part) for part in parts])[:-1])
        return cls(table, numbers)


class WordNumbers:
    """Texts of the exchanges and their numbers, in the order in which they come."""

    def __init__(self, parts: Iterable[Mapping[str, list[str]]]) -> None:
        self._numbers: dict[str, dict[str, int]] = {name: {} for name in WORDS}
        for known in parts:
            for name, numbers in self._numbers.items():
                check_visible(known.get(name, []), name)
                for word in known.get(name, []):
                    numbers.setdefault(word, len(numbers))

    def numbers(self, batch: Table, name: str, texts: NumberedTexts | None, place: SavedFile) -> Ints:
        """A column of the core as it keeps it: numbers, of which texts have the next that is free."""
        if name in WORDS:
            coded, known = columns.codes(batch, name), self._numbers[name]
            check_visible(coded.names, name)
            numbers = [known.setdefault(text, len(known)) for text in coded.names]
            of_code = np.array([*numbers, NULL], np.int64)
            words: Ints = of_code[coded.codes]
            return words
        values = np.ascontiguousarray(columns.column(batch, RENAMED.get(name, name)).ints(NULL), np.int64)
        if texts is not None:
            here = np.append(texts.numbers[place.part], NULL)
            at = np.where(values == NULL, len(here) - 1, values)
            if ((at < 0) | (at >= len(here))).any():
                raise CaptureError(f"{place.path}: is damaged: it names texts that are not there")
            return here[at]
        if name == "parameters" and place.scan:  # each scan has numbers of its own
            return np.where(values == 0, 0, values ^ (place.scan << 40))
        return values

    @property
    def known(self) -> list[tuple[str, list[str]]]:
        """All of them, column by column."""
        return [(name, list(known)) for name, known in self._numbers.items()]
