"""Key logs: the secrets of TLS sessions as clients write them (SSLKEYLOGFILE), from files, bytes or file objects.

The core reads them; of a secret nothing but whether it opened a session comes back.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from latpcap import _core
from latpcap.errors import UsageError
from latpcap.tables.reading.sources import shown
from latpcap.units import DEFAULT_MEMORY_BYTES

NAMELESS = "the key log"


def key_log(source: Any, *, memory: int = DEFAULT_MEMORY_BYTES, show_names: bool = True) -> _core.KeyLog | None:
    """Return what is read of `keylog`: a path, `-`, bytes, a file object, a list of these, or what was read before.

    Raises `UsageError` where one is not there, is empty or is not a key log; it names the file only with `show_names`.
    """
    if source is None or isinstance(source, _core.KeyLog):
        return source
    given = list(_each(source))
    if not given:
        return None
    named = [(name if show_names or name == "standard input" else NAMELESS, content) for name, content in given]
    for name, content in named:
        if isinstance(content, str) and content != "-":
            _check(name, content)
    try:
        return _core.KeyLog(named, memory=memory)
    except ValueError as error:
        raise UsageError(str(error)) from None


def named(source: Any) -> list[str]:
    """Return the paths among key logs; `-` is standard input."""
    if isinstance(source, list | tuple):
        return [path for each in source for path in named(each)]
    return [os.fsdecode(source)] if isinstance(source, str | os.PathLike) else []


def held(source: Any) -> list[str | bytes]:
    """Return the same key logs so that they can be read again: what is no file as its content."""
    return [content if _is_file(content) else _content(content) for _, content in _each(source)]


@contextmanager
def key_file(source: Any) -> Iterator[str | None]:
    """The path of one file with all of it, for programs that take nothing else; `None` where there is nothing.

    Several key logs, and what is no file, lie for the time in a folder that nobody else may enter.
    """
    given = held(source)
    if not given:
        yield None
        return
    if len(given) == 1 and isinstance(given[0], str):
        yield os.path.abspath(given[0])
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="latpcap-") as folder:  # on Windows nobody opens an unnamed file's name
        path = os.path.join(folder, "keys")
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(b"\n".join(map(_content, given)))
        yield path


def _is_file(content: str | bytes) -> bool:
    return isinstance(content, str) and os.path.isfile(content)


def _content(content: str | bytes) -> bytes:
    if isinstance(content, bytes):
        return content
    if content == "-":
        return sys.stdin.buffer.read()
    _check(shown(content), content)
    return Path(content).read_bytes()


def _each(source: Any) -> Iterator[tuple[str, str | bytes]]:
    """The key logs, and what messages call them."""
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        yield ("standard input" if path == "-" else shown(path)), path
    elif isinstance(source, bytes | bytearray | memoryview):
        yield NAMELESS, bytes(source)
    elif hasattr(source, "read"):
        content = source.read()
        yield NAMELESS, content.encode() if isinstance(content, str) else bytes(content)
    elif isinstance(source, Iterable) and not isinstance(source, dict):
        for item in source:
            yield from _each(item)
    else:
        raise UsageError(
            f"a {type(source).__name__} is not a key log: give a path, bytes, a file object, or a list of these"
        )


def _check(name: str, path: str) -> None:
    if not os.path.exists(path):
        raise UsageError(f"{name}: no such file: name the key log that the client writes (`latpcap explain keys`)")
    if os.path.isdir(path):
        raise UsageError(f"{name}: is a directory; name the key log in it")
    mode = os.stat(path).st_mode
    if path != os.devnull and (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        raise UsageError(f"{name}: is a device; name the key log that the client writes (`latpcap explain keys`)")
