"""Texts as the core has them, one behind the other: a Python object is made only of what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from arro3.core import Array, ChunkedArray, DataType
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.tables.columnar import columns, passes
from latpcap.tables.columnar.columns import Bools, Ints


class Texts(Struct, frozen=True, eq=False):
    """Text t is `data[starts[t] : starts[t + 1]]`, in UTF-8."""

    array: Array
    starts: Ints
    data: NDArray[np.uint8]
    _marked: dict[tuple[Any, ...], Bools] = {}
    """Answers about them: many groups of connections ask the same of all statements."""

    @classmethod
    def of(cls, array: Array) -> Texts:
        """The texts of a column without nulls."""
        return cls(array, *columns.text_buffers(array))

    @classmethod
    def listed(cls, texts: Sequence[str]) -> Texts:
        """A few texts."""
        return cls.of(Array(texts, DataType.string()))

    @classmethod
    def joined(cls, *arrays: Array) -> Texts:
        """The texts of one column after those of another.

        >>> columns = (Array(["a", "b"], DataType.string()), Array(["c"], DataType.string()))
        >>> list(Texts.joined(*columns))
        ['a', 'b', 'c']
        """
        return cls.of(ChunkedArray([*arrays]).combine_chunks())

    def __reduce__(self) -> tuple[Any, ...]:
        return Texts.listed, ([self[number] for number in range(len(self))],)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self.data[self.starts[number] : self.starts[number + 1]].tobytes().decode()

    def holding(self, *words: str) -> Ints:
        """The numbers of those that hold one of `words`.

        >>> Texts.listed(["select ?", "commit"]).holding("?").tolist()
        [0]
        """
        return np.flatnonzero(passes.holding(self.starts, self.data, words))

    def marked(self, *words: str, wanted: Callable[[str], bool] | None = None) -> Bools:
        """For each text, and at last for none: it holds one of `words`, and is `wanted`. Looked up once.

        >>> Texts.listed(["select ?", "commit"]).marked("?").tolist()
        [True, False, False]
        """
        if (words, wanted) not in self._marked:
            mark, found = np.zeros(len(self) + 1, bool), self.holding(*words)
            mark[[number for number in found.tolist() if wanted(self[number])] if wanted else found] = True
            self._marked[words, wanted] = mark
        return self._marked[words, wanted]

    @property
    def sizes(self) -> Ints:
        """The bytes of each."""
        return np.diff(self.starts)

    @property
    def first_like(self) -> Ints:
        """The number of the first with the same text as each."""
        return passes.first_like(self.starts, self.data)
