#!/usr/bin/env python3
"""Notice when the whole machine stands still, as virtual ones do for tenths of a second: no capture of such a moment says anything about a link.

As a program it sleeps 5 ms for ever, at real-time priority, and prints the begin and end (ns since 1970) of every sleep that took 15 ms and more.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

SLEEP_S = 0.005
LATE_NS = 15_000_000


class Metronome:
    """The moments at which the machine stood still since this began."""

    def __init__(self) -> None:
        argv = ["chrt", "-r", "49", sys.executable, __file__]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        self.moments: list[tuple[int, int]] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            begin, end = line.split()
            self.moments.append((int(begin), int(end)))

    def still_s(self, begin_ns: int, end_ns: int) -> float:
        """How many seconds between the two the machine stood still."""
        return sum(max(min(end, end_ns) - max(begin, begin_ns), 0) for begin, end in self.moments) / 1e9

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


@contextlib.contextmanager
def metronome() -> Iterator[Metronome]:
    ticking = Metronome()
    try:
        yield ticking
    finally:
        ticking.stop()


def main() -> None:
    last = time.time_ns()
    while True:
        time.sleep(SLEEP_S)
        now = time.time_ns()
        if now - last >= LATE_NS:
            print(last, now, flush=True)
        last = now


if __name__ == "__main__":
    main()
