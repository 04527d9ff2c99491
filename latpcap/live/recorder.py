"""A recording under way: start → stop → a whole pcapng. Who records is `capturer.py` or `relay.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from msgspec import Struct


class Recorded(Struct, frozen=True):
    """A recording that has ended."""

    paths: tuple[Path, ...]
    """The files, oldest first: one, unless a ring was asked for."""
    where: str
    """The recorded traffic in words: `TCP port 3306 on lo`."""
    dropped: int | None = None
    """Packets that passed and are not in the files; `None` where nobody counted."""
    trouble: str | None = None
    """Why the recording ended before it was stopped, in one line; `None` where it did not."""
    problems: tuple[str, ...] = ()
    """Other problems meanwhile, a line each: a server that refused."""

    @property
    def path(self) -> Path:
        """The file, where there is one."""
        return self.paths[-1]


class Recorder(Protocol):
    """Records what passes between clients and database servers."""

    @property
    def path(self) -> Path:
        """The pcapng: readable at any time, whole once `stop` has returned."""

    @property
    def where(self) -> str:
        """Name what is recorded, for people."""

    def start(self) -> None:
        """Return once all that passes is recorded; raise `RecordingError` where that cannot be."""

    def flush(self) -> None:
        """Return when all that passed so far is in the file."""

    def stop(self, *, at_once: bool = False) -> Recorded:
        """End the recording after its last packet, or `at_once`; what was recorded so far is kept. May be repeated."""


def ended_now(recorder: Recorder) -> Recorded:
    """End a recording with what has passed by now, whoever goes on."""
    recorder.flush()
    return recorder.stop(at_once=True)
