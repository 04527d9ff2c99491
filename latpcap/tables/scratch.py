"""Long columns on a disk, where what is computed from a recording does not fit in memory.

Such a column is a numpy array over a temporary file: the system writes it out when it needs the memory, and reads it
again when somebody looks at it. What numpy computes from it, value by value, lies on the disk, too, so that measures
need not know where columns are. The file has no name: nobody else opens it, and it is gone with the program, however
that ends. Its room is taken before anything is written to it, so that a full disk is an error in one line.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latpcap.errors import DiskFull, UsageError

__all__ = ["OnDisk", "Scratch", "filled", "laid", "scratch_within"]

LONG = 1 << 20
"""Bytes from which on an array is worth a file."""
PIECE = 1 << 18
"""Rows that are made at once where all would be too many: a few MB."""
MARGIN = 1_000_000_000
"""What stays free of a disk, in bytes."""
USUAL_FOLDER = "/var/tmp"
"""Where systems want large temporary files: `/tmp` may be a part of the memory."""

Array = NDArray[Any]


class Scratch:
    """Room in a folder for columns, of which so many bytes may be used."""

    def __init__(self, folder: str, most: int) -> None:
        """Nothing is made before somebody needs it."""
        self.folder = folder
        self.most = most
        self._used = 0

    def empty(self, length: int, dtype: Any) -> OnDisk:
        """An array of that many values, which are yet to be set; raises `DiskFull`."""
        size = max(length * np.dtype(dtype).itemsize, 1)
        if self._used + size > self.most:
            raise self._is_full(f"{self.most:,} bytes are used")
        try:
            with tempfile.TemporaryFile(dir=self.folder, prefix="latpcap-") as file:
                _take_room(file.fileno(), size)
                pages = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise self._is_full(error.strerror or str(error)) from None
        self._used += size
        weakref.finalize(pages, self._give_back, size)
        array = np.ndarray(length, dtype, pages).view(OnDisk)
        array.scratch = self
        return array

    def _give_back(self, size: int) -> None:
        self._used -= size

    def _is_full(self, why: str) -> DiskFull:
        return DiskFull(
            f"{self.folder}: no room for what does not fit in memory: {why}; give more --disk, another --temp-folder, "
            "or more --memory"
        )


def scratch_within(folder: str | os.PathLike[str] | None, most: int) -> Scratch | None:
    """Room in `folder`, or in the usual one: `most` bytes, but never all that is free; `None` for no room at all."""
    if most == 0:
        return None
    chosen = os.fspath(folder) if folder is not None else _usual_folder()
    if not (os.path.isdir(chosen) and os.access(chosen, os.W_OK | os.X_OK)):
        if folder is None:
            return None
        raise UsageError(f"{chosen}: temporary files cannot be written there: name another --temp-folder")
    room = min(most, shutil.disk_usage(chosen).free - MARGIN)
    return Scratch(chosen, room) if room > 0 else None


class OnDisk(np.ndarray[Any, Any]):
    """An array in a file of `scratch`, or computed from one: what is computed from it further goes there if it is long."""

    scratch: Scratch

    def __array_finalize__(self, of: Any) -> None:
        """Views and copies know it, too."""
        if isinstance(of, OnDisk):
            self.scratch = of.scratch

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Any:
        """Compute as numpy does; a long result that has no place yet gets one in a file."""
        plain, out = [_plain(each) for each in inputs], given.pop("out", None)
        given = {name: _plain(value) for name, value in given.items()}
        if out is not None:
            getattr(ufunc, method)(*plain, out=tuple(_plain(each) for each in out), **given)
            return out[0] if len(out) == 1 else out
        if method != "__call__" or ufunc.nout > 1 or given:
            return getattr(ufunc, method)(*plain, **given)
        shape = np.broadcast_shapes(*(np.shape(each) for each in plain))
        kinds = [type(each) if type(each) in (bool, int, float) else np.asarray(each).dtype for each in plain]
        kind = ufunc.resolve_dtypes((*kinds, None))[-1]  # type: ignore[arg-type]
        if len(shape) != 1 or shape[0] * kind.itemsize < LONG:
            return ufunc(*plain)
        result = self.scratch.empty(shape[0], kind)
        ufunc(*plain, out=_plain(result))
        return result

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """`np.where` chooses value by value; what else numpy does is its own."""
        if func is np.where and len(args) == 3 and not kwargs:
            return self._where(*args)
        return super().__array_function__(func, types, args, kwargs)

    def _where(self, condition: Any, chosen: Any, other: Any) -> Any:
        one = [_plain(each) for each in (condition, chosen, other)]
        rows = max(one, key=np.ndim)
        if np.ndim(rows) != 1:
            return np.where(*one)

        def part(each: Any, rows: slice) -> Any:
            return each[rows] if np.ndim(each) == 1 and len(each) > 1 else each

        return filled(self, len(rows), np.result_type(*one[1:]), lambda rows: np.where(*(part(each, rows) for each in one)))

    def __getitem__(self, index: Any) -> Any:
        """Rows that are picked one by one go where this array is."""
        if not isinstance(index, np.ndarray) or index.ndim != 1 or self.ndim != 1:
            return super().__getitem__(index)
        values, index = _plain(self), _plain(index)
        if index.dtype != bool:
            return filled(self, len(index), self.dtype, lambda rows: values[index[rows]])
        return self._chosen(values, index)

    def _chosen(self, values: Array, chosen: Array) -> Any:
        count = int(np.count_nonzero(chosen))
        if count * self.itemsize < LONG:
            return values[chosen]
        picked, begin = self.scratch.empty(count, self.dtype), 0
        for first in range(0, len(values), PIECE):
            piece = values[first : first + PIECE][chosen[first : first + PIECE]]
            _plain(picked)[begin : begin + len(piece)] = piece
            begin += len(piece)
        return picked

    def astype(self, dtype: Any, *args: Any, **given: Any) -> Any:
        """The values as another type."""
        if self.ndim != 1 or args or (given.get("copy") is False and self.dtype == dtype):
            return super().astype(dtype, *args, **given)
        return filled(self, len(self), dtype, lambda rows: _plain(self)[rows])


def filled(where: Scratch | Array | None, length: int, dtype: Any, values: Callable[[slice], Any]) -> Array:
    """An array of the `values` of each slice of its rows: on disk, if it is long, where `where` is.

    In memory all are asked for at once, which is quickest.
    """
    scratch = where.scratch if isinstance(where, OnDisk) else where
    if not isinstance(scratch, Scratch) or length * np.dtype(dtype).itemsize < LONG:
        made: Array = np.asarray(values(slice(0, length))).astype(dtype, copy=False)
        return made
    array = scratch.empty(length, dtype)
    plain = _plain(array)
    for begin in range(0, length, PIECE):
        rows = slice(begin, min(begin + PIECE, length))
        plain[rows] = values(rows)
    return array


def laid(where: Scratch | Array | None, array: Array) -> Array:
    """The same array: on disk, if it is long, where `where` is."""
    return filled(where, len(array), array.dtype, lambda rows: array[rows])


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, OnDisk) else value


def _usual_folder() -> str:
    return USUAL_FOLDER if "TMPDIR" not in os.environ and os.path.isdir(USUAL_FOLDER) else tempfile.gettempdir()


def _take_room(file: int, size: int) -> None:
    """Make the file so long that all of it can be written: a page that cannot be would end the program."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    nothing = bytes(1 << 20)
    for begin in range(0, size, len(nothing)):
        os.write(file, nothing[: size - begin])
