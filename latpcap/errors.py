"""The errors of latpcap, as exceptions that a caller can distinguish.

```text
LatpcapError                 everything below; `exit_status` is what the command line ends with
├── GateFailed          1    a condition of --fail-if holds
├── UsageError          2    an option, an argument or an output file is not usable
│   └── NotTheSameJob   2    two captures that are to be of one job differ in their round trips
├── CaptureError        3    a file cannot be read or is no capture
├── DiskFull            5    an output, or what does not fit in memory, does not fit on the disk
├── RecordingError      6    packets cannot be recorded here
├── ServerUnreachable   7    a server does not answer
├── WorkersLost         8    workers of a scan died again and again
├── CommandFailed       …    a command that was run failed: its own status
├── CommandNotExecutable 126 the command of `latpcap record` cannot be run
├── CommandNotFound   127    there is no such command
└── NoDatabaseTraffic   4    the captures were read, but no connection of theirs talks to a database
    └── NothingSelected 4    none of those that do is among what was asked for
```

Messages are one line: what happened, where, what to do.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The system's errors where a file takes no more."""
IN_USE = (5, 32)
"""Errors of Windows for a file that somebody has open, and for one that is not for this user."""

WORD = re.compile(r"[^\s'\"]+")
"""A URL ends where a word does."""
MAX_URL_CHARACTERS = 4096
"""A longer one is not shown."""
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?::[/\\]*|[/\\]{2,})")
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
"""A drive has one letter, a scheme two at least."""
USER = re.compile(rf"({URL.pattern})(?:[^/\s:]*:(?!\d*/)[^\s'\"]*|[^/\s]*)@")
"""A password may have a slash that should have been `%2F`; a port has none."""
MISSPELT_USER = re.compile(rf"((?<![A-Za-z0-9+.-])(?!{URL.pattern}(?!/)){SCHEME.pattern})[^\s/\\:@'\"]*:[^\s'\"]*@")
"""A user and a password behind a scheme that has too few slashes, or too many."""
QUERY = re.compile(rf"((?i:https?):/+[^\s?]*|{URL.pattern}[^\s?]*(?=\?[^\s'\"]*=))\?[^\s'\"]*?(?=:?(?:[\s'\"]|$))")
"""Behind HTTP `?` always begins one; elsewhere it may be that of a glob."""


MIN_LIKENESS = 0.72
"""Two words that share less than this part of their letters are not confused."""
MAX_WORD_CHARACTERS = 100
"""A longer word is compared with no other."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that somebody who wrote `word` meant; `None` where none is like it.

    >>> nearest("round_trip", ["rows", "round_trips"]), nearest("nplus1", ["loss", "n+1"]), nearest("x", ["rows"])
    ('round_trips', 'n+1', None)
    >>> nearest("frame", ["rows", "request_frame"])
    'request_frame'
    """
    from difflib import get_close_matches

    spelt = {way: each for each in known for way in (each.lower(), each.lower().replace("+", "plus"))}
    asked = word.lower()
    if len(asked) > MAX_WORD_CHARACTERS:
        return None
    near = get_close_matches(asked, spelt, 1, MIN_LIKENESS) or [way for way in spelt if len(asked) > 2 and asked in way]
    return spelt[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], there: str = "") -> str:
    """Return a question after the known word that is nearest to `word`, as the end of a message.

    Where none is near, all follow `there`, if that is given.

    >>> did_you_mean("postgres", ["mysql", "postgresql"]), did_you_mean("x", ["a", "b"], "write")
    ('; did you mean `postgresql`?', ': write a, b')
    """
    words = [*known]
    if near := nearest(word, words):
        return f"; did you mean `{near}`?"
    return f": {there} {', '.join(words)}" if there else ""


class LatpcapError(Exception):
    """Any failure that latpcap explains in one line, which shows no secret of a URL."""

    exit_status = 1

    def __init__(self, message: str = "") -> None:
        """`message` may have URLs in it as they were written."""
        super().__init__(without_secrets(message))


def without_secrets(text: str) -> str:
    """Return `text` with its URLs as they may be shown: without users and passwords, and without signatures.

    >>> without_secrets("https://me:hush@host/live.pcap?X-Amz-Signature=hush: no such file")
    'https://host/live.pcap: no such file'
    >>> without_secrets("cannot open 'ftp://me:hu/sh@host/live.pcap', 'http://host:80/me@home.pcap?hush'")
    "cannot open 'ftp://host/live.pcap', 'http://host:80/me@home.pcap'"
    >>> without_secrets("http:/me:hush@host, jdbc:db2://me:hush@host: s3://bucket/ring_?.pcap")
    'http:/host, jdbc:db2://host: s3://bucket/ring_?.pcap'
    """
    return WORD.sub(lambda word: _without_secrets(word[0]), text)


def _without_secrets(word: str) -> str:
    if "@" not in word and "?" not in word:
        return word
    if len(word) > MAX_URL_CHARACTERS:
        return "…"
    return QUERY.sub(r"\1", MISSPELT_USER.sub(r"\1", USER.sub(r"\1", word)))


def reason(error: OSError) -> str:
    """Return the system's words on a failure, without the number that Rust adds.

    >>> reason(OSError("/dev/net/tun: Permission denied (os error 13): run it as root"))
    '/dev/net/tun: Permission denied: run it as root'
    """
    return re.sub(r" \(os error \d+\)", "", error.strerror or str(error))


def unwritten(what: str | os.PathLike[str], error: OSError) -> LatpcapError:
    """Return the error of an output that cannot be written: no room for it, else a mistake of whoever named it.

    >>> unwritten("job.json", OSError(errno.ENOSPC, "No space left on device"))
    DiskFull('job.json: cannot be written: No space left on device')
    """
    kind = DiskFull if error.errno in NO_ROOM else UsageError
    hint = " (is it open in another program?)" if getattr(error, "winerror", None) in IN_USE else ""
    return kind(f"{what}: cannot be written: {reason(error)}{hint}")


class GateFailed(LatpcapError):
    """A condition of `--fail-if` holds."""

    exit_status = 1


class UsageError(LatpcapError):
    """An option, an argument or an output file is not usable."""

    exit_status = 2


class NotTheSameJob(UsageError):
    """Two captures that are to be of one job differ in their round trips."""


class CaptureError(LatpcapError):
    """A file cannot be read, or is not a capture."""

    exit_status = 3


class DiskFull(LatpcapError):
    """An output, or what does not fit in memory, does not fit on the disk."""

    exit_status = 5


class ServerUnreachable(LatpcapError):
    """A server cannot be reached: its name, its address or its port."""

    exit_status = 7


class WorkersLost(LatpcapError):
    """Workers that computed parts of a scan died, and so did those that took their place."""

    exit_status = 8


class RecordingError(LatpcapError):
    """Packets cannot be recorded here: no permission, no capturer, no such interface, a port in use."""

    exit_status = 6


class CommandFailed(LatpcapError):
    """A command that latpcap ran failed; its exit status becomes latpcap's."""

    def __init__(self, message: str, status: int) -> None:
        """`status` is the command's."""
        super().__init__(message)
        self.exit_status = status


class CommandNotExecutable(LatpcapError):
    """The command to be run under a recording is there, but cannot be run."""

    exit_status = 126


class CommandNotFound(LatpcapError):
    """There is no such command."""

    exit_status = 127


class NoDatabaseTraffic(LatpcapError):
    """The captures were read, but no connection of theirs talks to a database."""

    exit_status = 4

    def __init__(self, message: str, *, let_in: bool = True) -> None:
        """`let_in`: a connection was; otherwise servers refused all that there were, or did not answer."""
        super().__init__(message)
        self.let_in = let_in


class NothingSelected(NoDatabaseTraffic):
    """The captures hold database traffic, but none of it is among what was asked for."""
