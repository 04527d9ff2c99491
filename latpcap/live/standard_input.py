"""Standard input for a command that is run several times: each run reads the same."""

from __future__ import annotations

import os
import select
import stat
import sys
from contextlib import suppress

from latpcap.errors import UsageError

STDIN = 0


class StandardInput:
    """The command's input, if it reads any: a file is read from the same place by each run.

    A pipe can be read once. What a terminal sends goes to whichever run reads it, as it does to any command.
    """

    def __init__(self, file: int = STDIN) -> None:
        """`file` is its number. Raises `UsageError` where a pipe holds something already."""
        self._file = file
        self._begin: int | None = None
        try:
            mode = os.fstat(file).st_mode
        except OSError:  # closed
            return
        if stat.S_ISREG(mode):
            self._begin = os.lseek(file, 0, os.SEEK_CUR)
        if stat.S_ISFIFO(mode) and _holds_something(file):
            raise UsageError(
                "standard input is a pipe, which only the first run could read: write it to a file and use `< FILE`"
            )

    def rewind(self) -> None:
        """Let the next run begin where the first one began."""
        if self._begin is not None:
            os.lseek(self._file, self._begin, os.SEEK_SET)


def _holds_something(pipe: int) -> bool:
    if sys.platform == "win32":
        import _winapi
        import msvcrt

        with suppress(OSError):  # whoever wrote there has gone
            return bool(_winapi.PeekNamedPipe(msvcrt.get_osfhandle(pipe), 0)[0])
        return False
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    return any(event & select.POLLIN for _, event in waiting.poll(0))
