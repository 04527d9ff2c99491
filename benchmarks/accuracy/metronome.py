#!/usr/bin/env python3
"""Notice when a CPU stands still, as virtual ones do for tenths of a second: a capture of such a moment says nothing about the link.

As a program it sleeps 5 ms for ever on the given CPU, at real-time priority, and prints the begin and end (ns since 1970) of every sleep that took
15 ms and more.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

SLEEP_S = 0.005
LATE_NS = 15_000_000


class Metronome:
    """The moments at which a CPU stood still since this began."""

    def __init__(self) -> None:
        self.moments: dict[int, list[tuple[int, int]]] = {cpu: [] for cpu in os.sched_getaffinity(0)}
        self.processes = [self._watch(cpu) for cpu in self.moments]

    def _watch(self, cpu: int) -> subprocess.Popen[str]:
        argv = ["chrt", "-r", "49", sys.executable, __file__, str(cpu)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(process, self.moments[cpu]), daemon=True).start()
        return process

    def _read(self, process: subprocess.Popen[str], moments: list[tuple[int, int]]) -> None:
        assert process.stdout
        for line in process.stdout:
            begin, end = line.split()
            moments.append((int(begin), int(end)))

    def still_s(self, begin_ns: int, end_ns: int) -> float:
        """How many seconds between the two that CPU stood still which did so for longest."""
        return max(
            sum(max(min(end, end_ns) - max(begin, begin_ns), 0) for begin, end in moments) / 1e9
            for moments in self.moments.values()
        )

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def metronome() -> Iterator[Metronome]:
    ticking = Metronome()
    try:
        yield ticking
    finally:
        ticking.stop()


def main() -> None:
    os.sched_setaffinity(0, {int(sys.argv[1])})
    last = time.time_ns()
    while True:
        time.sleep(SLEEP_S)
        now = time.time_ns()
        if now - last >= LATE_NS:
            print(last, now, flush=True)
        last = now


if __name__ == "__main__":
    main()
