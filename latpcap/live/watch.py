"""Watching: what a recording shows while it is under way, and its whole result when it ends.

```text
recorder ─► file that grows ─┐
capture, or a pipe ──────────┴─► core: every packet read to its end ─► sums ─► screen
                                                                   └─► whole recording ─► report
```

The same reader as for any capture reads it, once: what is shown on the way costs nothing twice.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from latpcap._core import Progress
from latpcap.result.watching import WaitedFor, WatchedSoFar

if TYPE_CHECKING:
    from latpcap._core import LiveSum
    from latpcap.capture import Capture

POLL_S = 0.05
"""A file that has not grown is polled this often."""
RATE_WINDOW_S = 5.0
"""The rate `now` is that of this time."""
MIN_RATE_S = 1.0
"""Packets come in heaps: a rate over less than this says nothing."""
MAX_STATEMENTS = 8
MAX_CANCEL_S = 10.0
"""A cancelled reading notices within this time."""


class GrowingFile:
    """A file that grows, as one to be read: it ends where nobody writes to it any more."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 (read until the watch ends)
        self._ended = threading.Event()

    def read(self, size: int = -1) -> bytes:
        """Read data, waiting for them; none at the end."""
        while not (data := self._file.read(size)):
            if self._ended.is_set():
                return self._file.read(size)
            self._ended.wait(POLL_S)
        return data

    def end(self) -> None:
        """All is written."""
        self._ended.set()

    def close(self) -> None:
        """Nobody reads any more."""
        self._file.close()


class Watch:
    """A reading under way."""

    def __init__(self, read: Callable[[Progress], Capture]) -> None:
        """`read` reads the capture with this progress; it runs in a thread of its own from now on."""
        self.progress = Progress(live=True)
        self._read = read
        self._result: Capture | BaseException | None = None
        self._began = time.monotonic()
        self._recent: deque[tuple[float, int]] = deque([(self._began, 0)])
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._result = self._read(self.progress)
        except BaseException as error:
            self._result = error
        finally:
            self._done.set()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long for the end of what is read; true where it has come."""
        return self._done.wait(seconds)

    def result(self) -> Capture:
        """The whole recording, once it has been read; raises what reading raised."""
        while not self._done.wait(POLL_S):  # a plain wait could not be interrupted
            pass
        if isinstance(self._result, BaseException):
            raise self._result
        assert self._result is not None
        return self._result

    def close(self) -> None:
        """Nobody wants the result any more: Python must not end while a thread is in the core."""
        if not self._done.is_set():
            self.progress.cancel()
            self._done.wait(MAX_CANCEL_S)

    def seen(self) -> WatchedSoFar:
        """Figures so far."""
        now, total = time.monotonic(), self.progress.total
        packets, connections, _ = self.progress.read_so_far
        self._recent.append((now, total.round_trips))
        while self._recent[0][0] < now - RATE_WINDOW_S and len(self._recent) > 2:
            self._recent.popleft()
        since, before = self._recent[0]
        return WatchedSoFar(
            seconds=now - self._began,
            packets=packets,
            connections=connections,
            executions=total.exchanges,
            round_trips=total.round_trips,
            waited_s=total.waited_ns / 1e9,
            errors=total.errors,
            round_trips_per_s=None if now - since < MIN_RATE_S else (total.round_trips - before) / (now - since),
            worst=tuple(_statement(each) for each in self.progress.worst(MAX_STATEMENTS)),
        )


def _statement(each: LiveSum) -> WaitedFor:
    return WaitedFor(each.text, each.exchanges, each.round_trips, each.waited_ns / 1e9)
