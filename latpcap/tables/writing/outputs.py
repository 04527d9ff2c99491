"""Files that latpcap writes: never one that it reads, and all of it or nothing.

An output is a new file beside its place, which takes its name at the end. So links are not followed, whoever reads the
old file goes on with it, and nothing that looks like a result is left where writing it fails. Whoever writes holds a
lock on the new file (on Windows it cannot be removed while it is open): what a killed process left goes with the next
output in its folder.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO

from latpcap.errors import CaptureError, UsageError, unwritten
from latpcap.tables.dataset.layout import is_dataset
from latpcap.tables.reading import sources
from latpcap.tables.reading.remote import is_url
from latpcap.tables.writing.locks import lock
from latpcap.tables.writing.sigterm import unwound_by_sigterm

Path = str | os.PathLike[str]
Identity = tuple[int, int]
"""Device and inode."""
OPEN_FILES = ("/proc/", "/dev/fd")
"""Folders that name the files a process has open."""
EVERYBODY, OWNER = 0o666, 0o600
"""Modes of new files, before the umask."""
READERS = {0o040: 0o060, 0o004: 0o006}
"""The bits that others get, by the bit with which they may read a capture."""
UNFINISHED = re.compile(r"\.latpcap-[0-9a-f]{16}\.part")


def check(outputs: Iterable[Path], inputs: Iterable[tuple[str, str]] = (), *, folders: Iterable[Path] = ()) -> None:
    """Refuse outputs that cannot be written, that are one file, or that are read, by whatever name.

    `inputs` are what is read (`capture`, `key log`) and where: a path, a glob, a folder, or `-`. What may be in
    `folders` that are written says whoever writes them.
    """
    known: dict[Identity | str, Path] = {}
    files = [*outputs]
    for output in files:
        _check_place(output)
    for output in (*files, *folders):
        key = _identity(output) or _whole_path(output)
        if key in known:
            raise UsageError(f"{output}: each output needs a file of its own")
        known[key] = output
    if not any(isinstance(key, tuple) for key in known):
        return  # what is not there is not read
    for what, given in inputs:
        for identity in _identities(given):
            if identity in known:
                raise UsageError(f"{known[identity]}: is one of the {what}s, and a {what} is never overwritten")


def _whole_path(output: Path) -> str:
    """By which two outputs that are not there yet are known to be one file."""
    try:
        return os.path.realpath(output)
    except OSError:  # of some long paths under Wine
        return os.path.abspath(output)


def check_here(output: Path) -> None:
    """Refuse a URL as the place of what is written."""
    if is_url(output):
        shown = sources.shown(str(output))
        raise UsageError(f"{shown}: results are written on this machine: name a file, and copy it there")


def _check_place(output: Path) -> None:
    check_here(output)
    folder = os.path.dirname(output) or "."
    if os.path.isdir(output):
        raise UsageError(f"{output}: is a directory; name a file")
    if not os.path.isdir(folder):
        raise UsageError(f"{output}: no such directory")
    if not os.access(output if _is_special(output) else folder, os.W_OK):
        raise UsageError(f"{output}: cannot be written: Permission denied")


def _is_special(path: Path) -> bool:
    """A pipe, a device, `/dev/stdout` wherever it leads: written as it is, a file in its place would reach nobody."""
    with suppress(OSError):  # Windows refuses to resolve some long names
        folder = os.path.realpath(os.path.dirname(path) or ".")
        if folder == "/dev" or folder.startswith(OPEN_FILES):
            return True
        return not stat.S_ISREG(os.stat(path).st_mode)
    return False


def _identity(path: Path | int) -> Identity | None:
    with suppress(OSError, ValueError):
        there = os.stat(path)
        return there.st_dev, there.st_ino
    return None


def _identities(given: str) -> Iterator[Identity | None]:
    """Yield the identities of all files read under this name; of a dataset its folder and all files in it."""
    if given == "-":
        yield _identity(0)
        return
    paths: list[str] = []
    with suppress(CaptureError):  # which is told when it is read
        paths = [] if is_url(given) else sources.files(given)
    for path in paths:
        yield _identity(path)
        if is_dataset(path):
            yield from (_identity(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def write(path: Path, parts: Iterable[str | bytes]) -> None:
    """Write a file: all `parts`, or nothing; raises what `unwritten` says."""
    with written(path) as file:
        try:
            for part in parts:
                file.write(part.encode("utf-8", "replace") if isinstance(part, str) else part)
            file.flush()
        except OSError as error:
            raise unwritten(path, error) from None


@contextmanager
def written(path: Path, *, private: bool = False, captures: Iterable[str] = ()) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the name `path` when the block ends; an exception or SIGTERM removes it.

    It has the mode of the file that it replaces, where that is this user's own; a `private` one nobody else may read,
    and one that holds packets of `captures` nobody else who may not read these. What is no plain file (a pipe, a
    device) is written to as it is.
    """
    if _is_special(path):
        with _told(path):
            special = open(path, "wb")  # noqa: SIM115
        with _told(path), special:  # what was not written is told again when it closes
            yield special
        return
    mode, allowed = OWNER if private else _mode_of(path), mode_of_all(captures)
    with unwound_by_sigterm():
        with _told(path):
            fresh, file = _fresh(os.path.dirname(path), EVERYBODY & allowed if mode is None else OWNER)
        try:
            with _told(path), _kept_locked(file):
                with _told(path), file:
                    yield file
                with _told(path):
                    if mode not in (None, OWNER):
                        os.chmod(fresh, mode & allowed)
                    os.replace(fresh, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(fresh)
            raise


@contextmanager
def _kept_locked(file: IO[bytes]) -> Iterator[None]:
    """A closed file stays locked until it has its name: nobody takes it for one that was left."""
    if sys.platform == "win32":  # which renames no open file
        yield
        return
    keeper = os.dup(file.fileno())
    try:
        yield
    finally:
        os.close(keeper)


def mode_of_all(captures: Iterable[str]) -> int:
    """Return the bits of a mode that lets nobody read what is made of `captures` who may not read all of them."""
    allowed = 0o777
    for path in captures:
        with suppress(OSError):  # what lies elsewhere has none
            mode = os.stat(path).st_mode
            allowed &= 0o711 | sum(given for reads, given in READERS.items() if mode & reads)
    return allowed


def _fresh(folder: str, bits: int) -> tuple[str, IO[bytes]]:
    """A new file, locked, in a folder that is rid of what killed processes have left."""
    _remove_left(folder or ".")
    while True:
        path = os.path.join(folder, f".latpcap-{os.urandom(8).hex()}.part")
        file = open(path, "xb", opener=lambda name, flags: os.open(name, flags, bits))  # noqa: SIM115
        with suppress(OSError):  # where the file system knows no locks, nobody takes it for one that was left, either
            lock(file.fileno(), waits=True)
        if os.path.exists(path):
            return path, file
        file.close()  # somebody took it for one that was left


def _remove_left(folder: str) -> None:
    """Remove the unfinished files that no process has open any more, of this user's."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if UNFINISHED.fullmatch(entry.name) and _mode_of(entry.path) is not None:
                with suppress(OSError):
                    _remove_unheld(entry.path)


def _remove_unheld(path: str) -> None:
    if sys.platform == "win32":
        os.unlink(path)
        return
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        lock(file, waits=False)
        os.unlink(path)
    finally:
        os.close(file)


def _mode_of(path: Path) -> int | None:
    """The mode of a file of this user's that is there."""
    with suppress(OSError):
        there = os.lstat(path)
        if stat.S_ISREG(there.st_mode) and (sys.platform == "win32" or there.st_uid == os.geteuid()):
            return stat.S_IMODE(there.st_mode) & 0o777
    return None


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritten(path, error) from None
