"""Signals sent to latpcap alone (`kill`, a build server that gives up) go on to the command that it runs.

What a terminal sends has reached the command already. Linux says which of both it was; others do not.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

assert sys.platform == "linux"

FORWARDED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""The command shall have these as any other command does."""
POLL_S = 0.2
"""Poll this often whether the command has ended, should another thread have got the news."""


def run_forwarding(program: str, command: Sequence[str], environment: Mapping[str, str]) -> tuple[int, bool]:
    """Run it to its end; return its status, as a shell tells it, and whether somebody wanted it to end meanwhile."""
    asked: set[int] = set()
    heard: set[int] = {signal.SIGCHLD, *FORWARDED}
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # `nohup`
        heard.discard(signal.SIGHUP)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    try:
        child = _start(program, command, environment, mask)
        with _heard_by_other_threads(child, asked):
            return _wait(child, heard, asked), not asked.isdisjoint(ENDING)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start(program: str, command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    return os.posix_spawn(program, [*command], environment, setsigmask=mask, setsigdef=IGNORED_BY_PYTHON)


def _wait(child: int, heard: set[int], asked: set[int]) -> int:
    """The status of the child once it has ended; what is sent to latpcap alone goes on to the child."""
    while True:
        received = signal.sigtimedwait(heard, POLL_S)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if received:
            asked.add(received.si_signo)
        if received and received.si_signo in FORWARDED and _sent_by_a_process(received):
            os.kill(child, received.si_signo)


@contextmanager
def _heard_by_other_threads(child: int, asked: set[int]) -> Iterator[None]:
    """Forward signals that reach other threads, which block none: the sender is unknown, and Ctrl-C the terminal's."""

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


def _sent_by_a_process(received: signal.struct_siginfo) -> bool:
    """Not by the terminal, which sends to the whole process group: siginfo's code is then above 0."""
    return received.si_code <= 0
