"""A command under a recording or on another link: it has the terminal, latpcap waits and keeps its exit status.

The command stays in latpcap's process group, with the same standard input, output and error. So what a terminal sends
(Ctrl-C, Ctrl-Z) reaches it as if latpcap were not there, and latpcap takes no notice of it. On Linux what somebody
sends to latpcap alone is forwarded: `forwarding.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from latpcap.errors import CommandNotExecutable, CommandNotFound


class CommandExit(Struct, frozen=True):
    """The outcome of the command."""

    status: int
    """As a shell tells it: its exit status, or 128 + n where signal n ended it."""
    runtime_s: float
    interrupted: bool
    """Somebody wanted it to end meanwhile: Ctrl-C, `kill`."""


def find(command: Sequence[str]) -> str:
    """The file that the command is; `CommandNotFound` or `CommandNotExecutable` where it cannot be run."""
    program = command[0]
    if found := shutil.which(program):
        return found
    if "/" in program and os.path.exists(program):
        what = "is a folder" if os.path.isdir(program) else "is not executable: chmod +x makes it so"
        raise CommandNotExecutable(f"{program}: {what}")
    raise CommandNotFound(f"{program}: command not found")


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> CommandExit:
    """Run the command to its end; `environment` is its own, by default latpcap's."""
    program = find(command)
    own = os.environ if environment is None else environment
    began = time.monotonic()
    try:
        if sys.platform == "linux":
            from latpcap.live.forwarding import run_forwarding

            status, interrupted = run_forwarding(program, command, own)
        else:
            status, interrupted = _run(program, command, own)
    except OSError as error:
        raise CommandNotExecutable(f"{command[0]}: {error.strerror}") from None
    return CommandExit(status, time.monotonic() - began, interrupted)


def _run(program: str, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bool]:
    """Run where the system hides a signal's sender: Ctrl-C is the terminal's, which the command has got itself."""
    child, interrupted = subprocess.Popen([*command], executable=program, env=environment), False
    while True:
        try:
            status = child.wait()
            return (status if status >= 0 else 128 - status), interrupted
        except KeyboardInterrupt:
            interrupted = True
