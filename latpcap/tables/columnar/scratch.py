"""Long columns on a disk, where what is computed from a recording does not fit in memory.

Such a column is a numpy array over a temporary file: the system writes it out when it needs the memory, and reads it
again when somebody looks at it. What numpy computes from it, value by value, lies on the disk, too, so that measures
need not know where columns are. Values are written to the file piece by piece, which costs a third of setting them in
its pages. It has no name: nobody else opens it, and it is gone with the program, however that ends. Its room is taken
before anything is written to it, so that a full disk is an error in one line.
"""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.errors import DiskFull
from latpcap.units import DEFAULT_MEMORY_BYTES

MIN_FILE_BYTES = 1 << 20
"""An array of at least this many bytes is worth a file."""
PIECE_ROWS = 1 << 18
"""Rows made at a time where all would be too many: a few MB."""
CORE_PARTS = 8
"""One part in this many is for the core's rows and samples (`core/src/disk.rs`)."""
MEMORY_PARTS = 16
"""One part in this many of the memory is for the columns made last; their sources take about as much."""

Array = NDArray[Any]


class Scratch:
    """Room in a folder: `most` bytes, of which columns may take what the core does not need for rows and samples."""

    def __init__(self, folder: str, most: int, memory: int = DEFAULT_MEMORY_BYTES) -> None:
        """Make no file before one is needed; of `memory` a part holds what was looked at last."""
        self.folder = folder
        self.most = most
        self._left = most - most // CORE_PARTS
        self._in_memory = memory // MEMORY_PARTS
        self._made = 0
        self._columns = weakref.WeakSet[mmap.mmap]()

    def array(self, length: int, dtype: Any, parts: Iterable[Array] = ()) -> OnDisk:
        """An array of that many values: those of these parts, one after the other, then zeros; raises `DiskFull`."""
        from tempfile import TemporaryFile

        size = max(length * np.dtype(dtype).itemsize, 1)
        if size > self._left:
            raise self._is_full(f"{self.most:,} bytes are not enough")
        try:
            with TemporaryFile(dir=self.folder) as file:
                _take_room(file.fileno(), size)
                pages = mmap.mmap(file.fileno(), size)
                self._left -= size
                weakref.finalize(pages, self._give_back, size)
                for part in parts:
                    file.write(np.ascontiguousarray(part, dtype).data)
                file.flush()
        except OSError as error:
            raise self._is_full(error.strerror or str(error)) from None
        self._let_go(size)
        self._columns.add(pages)
        array = np.ndarray(length, dtype, pages).view(OnDisk)
        array.scratch = self
        return array

    def _give_back(self, size: int) -> None:
        self._left += size

    def _let_go(self, size: int) -> None:
        """Whenever so much was made, let go of the pages of all columns: those that are looked at again come back.

        The system would do so only when it runs out of memory itself.
        """
        self._made += size
        if self._made < self._in_memory or sys.platform == "win32":
            return
        self._made = size
        for pages in self._columns:
            pages.madvise(mmap.MADV_DONTNEED)

    def _is_full(self, why: str) -> DiskFull:
        return DiskFull(
            f"{self.folder}: no room for data that does not fit in memory ({why}): give more --disk, another "
            "--temp-folder, or more --memory"
        )


class OnDisk(np.ndarray[Any, Any]):
    """An array in a file of `scratch`, or computed from one: long ones that are computed from it go there, too."""

    scratch: Scratch

    def __array_finalize__(self, of: Any) -> None:
        """Views and copies know it as well."""
        if isinstance(of, OnDisk):
            self.scratch = of.scratch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
        """Compute as numpy does; a long column that has no place yet gets a file."""
        values, out = [_plain(each) for each in inputs], given.pop("out", None)
        given = {name: _plain(value) for name, value in given.items()}
        if out is not None:
            getattr(ufunc, method)(*values, out=tuple(_plain(each) for each in out), **given)
            return out[0] if len(out) == 1 else out
        if method != "__call__" or ufunc.nout > 1 or given:
            return _spill_column(self, getattr(ufunc, method)(*values, **given))
        shape = np.broadcast_shapes(*(np.shape(each) for each in values))
        kind = ufunc.resolve_dtypes((*(_kind(each) for each in values), None))[-1]
        if len(shape) != 1:
            return ufunc(*values)
        long = [np.ndim(each) == 1 and len(each) == shape[0] for each in values]
        pairs = [*zip(values, long, strict=True)]
        return build_column(
            self, shape[0], kind, lambda rows: ufunc(*(v[rows] if is_long else v for v, is_long in pairs))
        )

    def __array_function__(self, function: Any, types: Any, inputs: Any, given: Any) -> Any:
        """Compute as numpy does; a long column that comes out of it goes to a file then, or (`np.where`) at once."""
        if function is not np.where or len(inputs) != 3:
            result = super().__array_function__(function, types, inputs, given)
            return result if "out" in given else _spill_column(self, result)
        chosen = [_plain(each) for each in inputs]
        shape = np.broadcast_shapes(*(np.shape(each) for each in chosen))
        if len(shape) != 1:
            return np.where(*chosen)
        condition, one, other = (np.broadcast_to(each, shape) for each in chosen)
        kind = np.result_type(*chosen[1:])
        return build_column(self, shape[0], kind, lambda rows: np.where(condition[rows], one[rows], other[rows]))

    def __getitem__(self, index: Any) -> Any:
        """Rows that are picked go where this array is."""
        if not isinstance(index, np.ndarray) or index.ndim != 1 or self.ndim != 1:
            return super().__getitem__(index)
        values, index = _plain(self), _plain(index)
        if index.dtype != bool:
            return build_column(self, len(index), self.dtype, lambda rows: values[index[rows]])
        count = int(np.count_nonzero(index))
        if len(index) != len(values) or count * self.itemsize < MIN_FILE_BYTES:
            return values[index]
        return self.scratch.array(
            count, self.dtype, (values[rows][index[rows]] for rows in pieces(len(values), PIECE_ROWS))
        )

    def astype(self, dtype: Any, *args: Any, **given: Any) -> Any:
        """The values as another type."""
        if self.ndim != 1 or args or (given and self.dtype == dtype):
            return super().astype(dtype, *args, **given)
        values = _plain(self)
        return build_column(self, len(values), dtype, lambda rows: values[rows])


def build_column(where: Scratch | Array | None, length: int, dtype: Any, values: Callable[[slice], Any]) -> Array:
    """An array of the `values` of each slice of its rows: if it is long, on disk where `where` is.

    In memory all are asked for at once, which is quickest.
    """
    scratch = _scratch_for(where, length, dtype)
    if scratch is None:
        made: Array = np.asarray(values(slice(0, length))).astype(dtype, copy=False)
        return made
    return scratch.array(length, dtype, (values(rows) for rows in pieces(length, PIECE_ROWS)))


def spill(where: Scratch | Array | None, array: Array) -> Array:
    """Return the array, on disk where `where` is if it is long."""
    scratch = _scratch_for(where, len(array), array.dtype)
    if scratch is None or _is_mapped(array):
        return array
    return scratch.array(len(array), array.dtype, (array[rows] for rows in pieces(len(array), PIECE_ROWS)))


def zeros(where: Scratch | Array | None, length: int, dtype: Any) -> Array:
    """Return zeros, on disk where `where` is if they are many."""
    scratch = _scratch_for(where, length, dtype)
    return np.zeros(length, dtype) if scratch is None else scratch.array(length, dtype)


def pieces(count: int, most: int) -> Iterator[slice]:
    """`count` rows, `most` at a time."""
    return (slice(first, min(first + most, count)) for first in range(0, count, most))


def _scratch_for(where: Scratch | Array | None, length: int, dtype: Any) -> Scratch | None:
    """`None` for what stays in memory."""
    scratch = where.scratch if isinstance(where, OnDisk) else where
    return scratch if isinstance(scratch, Scratch) and length * np.dtype(dtype).itemsize >= MIN_FILE_BYTES else None


def _spill_column(where: OnDisk, result: Any) -> Any:
    return spill(where, result) if isinstance(result, np.ndarray) and result.ndim == 1 else result


def _is_mapped(array: Array) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, OnDisk) else value


def _kind(value: Any) -> Any:
    """Return the operands by which numpy chooses a result's type: numbers of Python's have none of their own."""
    return type(value) if type(value) in (int, float) else np.asarray(value).dtype


def _take_room(file: int, size: int) -> None:
    """Make the file so long that all of it can be written: a page that cannot be would end the program."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    nothing = bytes(1 << 20)
    for begin in range(0, size, len(nothing)):
        os.write(file, nothing[: size - begin])
