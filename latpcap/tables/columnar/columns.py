"""Columns between Arrow and numpy, without a copy where there are no nulls.

Numbers come out as views of the Arrow buffers through the C data interface
(<https://arrow.apache.org/docs/format/CDataInterface.html>): neither pyarrow nor a Python object per value is needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from arro3.core import Array, ChunkedArray, DataType, Table, dictionary_dictionary, dictionary_indices
from msgspec import Struct
from numpy.typing import NDArray

from latpcap.tables.columnar.scratch import zeros

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_RETURNED_BYTES = 1 << 25
"""Memory below this is not given back to the system: asking for it again costs a tenth of the time."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""The option of its C library: see `mallopt(3)`."""
MAX_NAMES = 10_000
MAX_WANTED = 16
MAX_SHORT_ROWS = 1 << 12

_DTYPES = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "f": "f4", "g": "f8"}


class _ArrowSchema(ctypes.Structure):
    _fields_ = [("format", ctypes.c_char_p)]  # only the first of its fields is read


class _ArrowArray(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class NullableArray(Struct, frozen=True):
    """Values and, where some are null, which of them are valid."""

    values: NDArray[Any]
    valid: Bools | None = None

    def ints(self, missing: int) -> Ints:
        """The values as signed integers, with `missing` in the place of nulls."""
        wide = self.values.dtype == np.uint64  # nothing that is counted reaches 2^63, so no copy is needed
        values = self.values.view(np.int64) if wide else self.values.astype(np.int64, copy=False)
        return values if self.valid is None else np.where(self.valid, values, missing)

    def picked(self, rows: NDArray[Any] | slice) -> NullableArray:
        """Some rows, in this order."""
        return NullableArray(self.values[rows], None if self.valid is None else self.valid[rows])

    def is_valid(self) -> Bools:
        """True where there is a value."""
        return np.ones(len(self.values), bool) if self.valid is None else self.valid

    def floats(self) -> Floats:
        """The values as floats, nulls as NaN."""
        values = self.values.astype(np.float64)
        if self.valid is not None:
            values[~self.valid] = np.nan
        return values


class Codes(Struct, frozen=True):
    """A text column as numbers: `names[codes[i]]` is the text of row i, and -1 is null."""

    codes: NDArray[np.signedinteger[Any]]
    """Return the codes of a column of the core: narrow where there are few names, with room for as many again."""
    names: list[str]

    def name(self, row: int | np.integer[Any]) -> str:
        """The text of a row that has one."""
        return self.names[int(self.codes[row])]

    def texts(self) -> list[str | None]:
        """The text of each row."""
        names = [*self.names, None]
        return [names[code] for code in self.codes.tolist()]

    def picked(self, rows: NDArray[Any] | slice) -> Codes:
        """Some rows, in this order."""
        return Codes(self.codes[rows], self.names)

    def renamed(self, change: Callable[[str], str]) -> Codes:
        """With `change` applied to each distinct text once; the names that are left are in their order."""
        changed = [change(name) for name in self.names]
        names = sorted(set(changed))
        numbers = {name: number for number, name in enumerate(names)}
        table = np.array([*(numbers[name] for name in changed), -1], np.int64)
        return Codes(table[self.codes], names)

    def __len__(self) -> int:
        return len(self.codes)

    def where(self, wanted: Callable[[str], bool]) -> Bools:
        """True where the text is `wanted`, asked once per distinct text."""
        numbers = [number for number, name in enumerate(self.names) if wanted(name)]
        if len(numbers) <= MAX_WANTED:  # a comparison is many times quicker than a look-up
            found = zeros(self.codes, len(self.codes), bool)
            for number in numbers:
                found |= self.codes == number
            return found
        table = np.zeros(len(self.names) + 1, bool)
        table[numbers] = True
        listed: Bools = table[self.codes]
        return listed


class Entries(Struct, frozen=True):
    """Columns side by side: an entry is a row of all of them."""

    def picked(self, rows: NDArray[Any] | slice) -> Self:
        """Some of them, in this order, or those that are true."""
        made: Any = type(self)
        picked: Self = made(*(getattr(self, name)[rows] for name in self.__struct_fields__))
        return picked

    def where(self, keep: Bools) -> Self:
        """Return the rows to keep: if these are all, nothing is copied."""
        return self if keep.all() else self.picked(keep)

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Several of them, one after the other."""
        made: Any = cls
        columns = zip(*([getattr(part, name) for name in cls.__struct_fields__] for part in parts), strict=True)
        joined: Self = made(*map(np.concatenate, columns))
        return joined


def first_that_holds(rules: Sequence[Bools], values: Sequence[Any], otherwise: Any) -> NDArray[Any]:
    """The value of the first rule that holds, row by row: as `np.select`, which takes four times as long for few rows.

    >>> first_that_holds([np.array([True, False]), np.array([True, True])], [1, 2], 3).tolist()
    [1, 2]
    """
    found = otherwise
    for rule, value in zip(reversed(rules), reversed(values), strict=True):
        found = np.where(rule, value, found)
    return np.asarray(found)


def forget(of: object, *kinds: type, but: Collection[str] = (), much: int = MIN_RETURNED_BYTES) -> None:
    """Let go of the columns (and of what else is of `kinds`) that `of` keeps: they are made again when asked for.

    Where that is `much`, the system gets it back.
    """
    kept, freed = vars(of), 0
    for name in [name for name in kept if isinstance(getattr(type(of), name, None), cached_property)]:
        if name not in but and isinstance(kept[name], (np.ndarray, Codes, *kinds)):
            freed += getattr(kept.pop(name), "nbytes", 0)
    if freed > much:
        give_back()


def give_back() -> None:
    """Let the system have what is free.

    The C library of Linux keeps columns of less than 32 MB for the next ones, and for the threads that have read a
    capture what its connections took while they were open. What is a column it learns when the largest is freed; until
    then it asks for pages again and again: so it is told.
    """
    calls = (
        ("mallopt", _MMAP_THRESHOLD, MIN_RETURNED_BYTES),
        ("mallopt", _TRIM_THRESHOLD, 2 * MIN_RETURNED_BYTES),
        ("malloc_trim", 0),
    )
    for name, *asked in calls:
        if hasattr(ctypes.pythonapi, name):
            getattr(ctypes.pythonapi, name)(*asked)


def constant(value: float, count: int) -> NDArray[Any]:
    """A column of the same number in every row: of many it takes the room of one, of few no time."""
    if count <= MAX_SHORT_ROWS:
        return np.full(count, value)
    return np.broadcast_to(np.asarray(value), count)


def known(values: Floats, otherwise: float = 0.0) -> Floats:
    """The values, with another in the place of NaN; what numpy has for this takes five times as long for few rows."""
    return np.where(np.isnan(values), otherwise, values)


def before(values: NDArray[Any]) -> NDArray[Any]:
    """Return for each row the value of the one before it; of the first, the last one's."""
    return np.concatenate((values[-1:], values[:-1]))


def column(table: Table, name: str) -> NullableArray:
    """Return a column of numbers, booleans or timestamps (as int64 of their unit)."""
    return _view(_one_array(table.column(name)))


def texts(table: Table, name: str) -> list[str | None]:
    """Return a text column as Python strings: for small tables."""
    return list(_one_array(table.column(name)).to_pylist())


def notes(table: Table) -> list[tuple[str, str, str, int, int | None]]:
    """Return the rows of a table of notes: code, severity, message, count, and the first frame where one is known."""
    code, severity, message = ([text or "" for text in texts(table, name)] for name in ("code", "severity", "message"))
    frame = _one_array(table.column("first_frame")).to_pylist()
    return list(zip(code, severity, message, column(table, "count").values.tolist(), frame, strict=True))


def codes(table: Table, name: str) -> Codes:
    """Return a text column as `Codes`; the texts are compared in Rust."""
    return _codes(_one_array(table.column(name)))


def _codes(array: Array) -> Codes:
    if not str(array.type).startswith("arro3.core.DataType<Dictionary"):
        array = array.cast(DataType.dictionary(DataType.int32(), DataType.string()))
    indices, names = _view(dictionary_indices(array)), list(dictionary_dictionary(array).to_pylist())
    numbers: NDArray[Any] = indices.values.astype(np.int16 if len(names) <= MAX_NAMES else np.int64)
    if indices.valid is not None:
        numbers[~indices.valid] = -1
    return Codes(numbers, names)


def is_missing(values: NDArray[Any]) -> Bools:
    """True where there is no value: NaN, NaT, or `None` among texts."""
    if values.dtype == object:
        return np.array([value is None for value in values], bool)
    missing: Bools = np.isnat(values) if values.dtype.kind == "M" else values != values
    return missing


def is_text(array: ChunkedArray) -> bool:
    """True for a column of text."""
    return DataType.is_string(array.type) or DataType.is_large_string(array.type)


def map_text(array: ChunkedArray, change: Callable[[str], str]) -> Array:
    """Return the text column with `change` applied to each distinct text once."""
    coded = _codes(_one_array(array))
    changed = Array([change(name) for name in coded.names], DataType.string())
    return take(changed, coded.codes)


def take(array: Array, indices: NDArray[np.integer[Any]]) -> Array:
    """Return `array[indices]`, null where the index is negative."""
    return _taken(array, _indices(indices))


def _indices(rows: NDArray[np.integer[Any]]) -> Array:
    """Rows as Arrow takes them; a negative one becomes null."""
    return Array.from_numpy(rows.astype(np.int64)).cast(DataType.uint64())


def _taken(array: Array, indices: Array) -> Array:
    if not array.field.nullable:
        array = array.cast(array.type)  # forgets that nothing was null
    return array.take(indices)


def rows_of(table: Table, rows: NDArray[np.integer[Any]]) -> Table:
    """Return these rows of a table."""
    if len(rows) == 0:
        return Table.from_pydict({name: empty(table.column(name).type) for name in table.column_names})
    indices = _indices(rows)
    return Table.from_pydict({name: _taken(_one_array(table.column(name)), indices) for name in table.column_names})


def joined(tables: Iterable[Table]) -> Table:
    """The rows of all; the first says in which order the columns are."""
    first, *others = tables
    if not others:
        return first
    both = {
        name: [chunk for table in (first, *others) for chunk in table.column(name).chunks]
        for name in first.column_names
    }  # a column may be without nulls in one of them alone
    return Table.from_pydict({name: ChunkedArray(chunks, first.column(name).type) for name, chunks in both.items()})


def nullable(values: NDArray[Any], valid: Bools | None = None) -> Array:
    """Return an Arrow array of numbers; not `valid` (by default: NaN) becomes null."""
    values = np.ascontiguousarray(values)
    if valid is None and values.dtype.kind == "f":
        valid = ~np.isnan(values)
    array = Array.from_numpy(values)
    if valid is None or bool(valid.all()):
        return array
    return take(array, np.where(valid, np.arange(len(values)), -1))


def numbering(hashes: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[np.uint64]]:
    """Return what gives each of these hashes a number, from 1 on in the order they first appear; 0 stays 0.

    Equal ones stay equal, but hashing guesses finds no value.

    >>> numbering(np.array([0, 7, 5, 7]))(np.array([5, 7, 0])).tolist()
    [2, 1, 0]
    """
    distinct, first = np.unique(hashes, return_index=True)
    rank = np.empty(len(distinct), np.uint64)
    rank[np.argsort(first)] = np.arange(1, len(distinct) + 1)
    if len(distinct) and distinct[0] == 0:
        rank[rank > rank[0]] -= np.uint64(1)
        rank[0] = 0
    return lambda some: rank[np.searchsorted(distinct, some)]


def empty(kind: DataType) -> Array:
    """Return an array of no values."""
    return Array.from_numpy(np.empty(0, np.int64)).cast(kind)


def _one_array(chunked: ChunkedArray) -> Array:
    if chunked.num_chunks == 0:
        return empty(chunked.type)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


def _view(array: Array) -> NullableArray:
    schema_capsule, array_capsule = array.__arrow_c_array__()
    arrow = _ArrowArray.from_address(_pointer(array_capsule, b"arrow_array"))
    kind = (_ArrowSchema.from_address(_pointer(schema_capsule, b"arrow_schema")).format or b"").decode()
    if arrow.length == 0:
        return NullableArray(np.empty(0, bool if kind == "b" else _dtype(kind)))
    valid = _bits(arrow, 0, array_capsule) if array.null_count else None
    if kind == "b":
        return NullableArray(_bits(arrow, 1, array_capsule), valid)
    return NullableArray(
        _buffer(arrow, 1, _dtype(kind), arrow.offset + arrow.length, array_capsule)[arrow.offset :], valid
    )


def text_buffers(array: Array) -> tuple[Ints, NDArray[np.uint8]]:
    """Return where each text begins and the last one ends, and the bytes of all, in UTF-8; a null is an empty text."""
    _, capsule = array.__arrow_c_array__()
    arrow = _ArrowArray.from_address(_pointer(capsule, b"arrow_array"))
    if arrow.length == 0:
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    wide = DataType.is_large_string(array.type)
    starts = _buffer(arrow, 1, np.dtype("i8" if wide else "i4"), arrow.offset + arrow.length + 1, capsule)[
        arrow.offset :
    ]
    return starts.astype(np.int64), _buffer(arrow, 2, np.dtype("u1"), int(starts[-1]), capsule)


def _dtype(kind: str) -> np.dtype[Any]:
    """The numpy type of an Arrow format string; timestamps and durations are int64."""
    return np.dtype("i8") if kind[0] == "t" else np.dtype(_DTYPES[kind])


def _bits(arrow: _ArrowArray, index: int, owner: object) -> Bools:
    end = arrow.offset + arrow.length
    packed = _buffer(arrow, index, np.dtype("u1"), (end + 7) // 8, owner)
    return np.unpackbits(packed, count=end, bitorder="little")[arrow.offset :].view(bool)


def _buffer(arrow: _ArrowArray, index: int, dtype: np.dtype[Any], count: int, owner: object) -> NDArray[Any]:
    if count == 0:
        return np.empty(0, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(arrow.buffers[index])
    memory.owner = owner  # type: ignore[attr-defined]  # the capsule frees the buffers, so the view keeps it
    values: NDArray[Any] = np.frombuffer(memoryview(memory), dtype)
    values.flags.writeable = False
    return values
