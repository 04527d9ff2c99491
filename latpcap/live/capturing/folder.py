"""A folder of a recording under way: it goes with latpcap, and what a killed one left goes when the next one starts.

Whoever uses a folder holds a lock on it, which the system lets go however that process ends. Windows has no locks of
folders: what a killed process left stays there.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from latpcap.errors import unwritten
from latpcap.tables.reading.disk_space import usual_folder
from latpcap.tables.writing.locks import lock

IN_USE, KEPT = "latpcap-recording-", "latpcap-kept-"


class Folder:
    """A new folder that only this user may read, by default where temporary files are large."""

    def __init__(self, within: str | os.PathLike[str] | None = None) -> None:
        """Raises `UsageError` where none can be made."""
        place = Path(within or os.environ.get("TMPDIR") or usual_folder())
        try:
            _remove_left(place)
            self.path, self._lock = _made(place)
        except OSError as error:
            raise unwritten(error.filename or place, error) from None
        self._removal = weakref.finalize(self, _remove, self.path, self._lock, os.getpid())

    def keep(self) -> Path:
        """Leave it there for good; returns where."""
        if self._removal.detach() is not None:
            if self._lock is not None:
                os.close(self._lock)
            self.path = self.path.rename(self.path.with_name(self.path.name.replace(IN_USE, KEPT, 1)))
        return self.path

    def remove(self) -> None:
        """Remove it now, not when nobody knows of it any more."""
        self._removal()

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _made(place: Path) -> tuple[Path, int | None]:
    """A folder and the file that holds its lock."""
    if sys.platform == "win32":
        return Path(tempfile.mkdtemp(prefix=IN_USE, dir=place)), None
    while True:
        path = Path(tempfile.mkdtemp(prefix=IN_USE, dir=place))
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # where the file system knows no locks, nobody takes it for one that was left, either
            lock(file, waits=True)
        if path.exists():
            return path, file
        os.close(file)


def _remove(path: Path, held: int | None, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked from it has no say
        shutil.rmtree(path, ignore_errors=True)
    if held is not None:
        os.close(held)


def _remove_left(place: Path) -> None:
    """Remove the folders that nobody holds."""
    if sys.platform == "win32":
        return
    for path in place.glob(f"{IN_USE}*"):
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                lock(file, waits=False)
                if os.fstat(file).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(file)
