"""A command under a recording or on another link: it has the terminal, latpcap waits and keeps its exit status.

The command stays in latpcap's process group, with the same standard input, output and error. So what a terminal sends
(Ctrl-C, Ctrl-Z) reaches it as if latpcap were not there, and latpcap takes no notice of it; what somebody
sends to latpcap alone (`kill`, a build server that gives up) is forwarded.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from latpcap.errors import CommandNotExecutable, CommandNotFound

FORWARDED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""The command shall have these as any other command does."""
LOOK_S = 0.2
"""Look so often whether the command has ended, should another thread have got the news."""


class CommandExit(Struct, frozen=True):
    """What became of the command."""

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
    heard: set[int] = {signal.SIGCHLD, *FORWARDED}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    try:
        began = time.monotonic()
        child = _start(program, command, os.environ if environment is None else environment, mask)
        asked: set[int] = set()
        with _heard_by_other_threads(child, asked):
            status = _wait(child, heard, asked)
        return CommandExit(status, time.monotonic() - began, interrupted=not asked.isdisjoint(ENDING))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start(program: str, command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    try:
        return os.posix_spawn(program, [*command], environment, setsigmask=mask, setsigdef=IGNORED_BY_PYTHON)
    except OSError as error:
        raise CommandNotExecutable(f"{command[0]}: {error.strerror}") from None


def _wait(child: int, heard: set[int], asked: set[int]) -> int:
    """The status of the child once it has ended; what is sent to latpcap alone goes on to the child."""
    while True:
        told = signal.sigtimedwait(heard, LOOK_S)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if told:
            asked.add(told.si_signo)
        if told and told.si_signo in FORWARDED and _sent_by_a_process(told):
            os.kill(child, told.si_signo)


@contextmanager
def _heard_by_other_threads(child: int, asked: set[int]) -> Iterator[None]:
    """What another thread is given, as it blocks no signal: nobody knows who sent it, and Ctrl-C is the terminal's."""

    def heard(number: int, _frame: object) -> None:
        asked.add(number)
        if number not in (signal.SIGINT, signal.SIGQUIT):
            os.kill(child, number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in FORWARDED}
    changed = {each: handler for each, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    try:
        for each in changed:
            signal.signal(each, heard)
        yield
    finally:
        for each, handler in changed.items():
            signal.signal(each, handler)


def _sent_by_a_process(told: signal.struct_siginfo) -> bool:
    """Not by the terminal, which sends to the whole process group: siginfo's code is then above 0."""
    return told.si_code <= 0
