"""What a run takes: wall time, processor time with that of its children, peak resident memory and what of it is its own."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

Command = list[str]


@dataclass(frozen=True)
class Cost:
    """One run, or the medians of several."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    own_mb: float
    """The most that it had without pages of files, seen ten times a second."""


@dataclass
class Runs:
    """The runs of one program, each with its number in the round."""

    costs: dict[int, Cost] = field(default_factory=dict)
    output: str = ""

    @property
    def median(self) -> Cost:
        columns = zip(
            *((cost.wall_s, cost.cpu_s, cost.peak_mb, cost.own_mb) for cost in self.costs.values()), strict=True
        )
        return Cost(*(statistics.median(column) for column in columns))

    def times(self, other: Runs, what: str = "wall_s") -> float:
        """How many times `other`'s: the median of the ratios of runs in the same round."""
        shared = self.costs.keys() & other.costs.keys()
        return float(statistics.median(getattr(self.costs[at], what) / getattr(other.costs[at], what) for at in shared))


class Failed(Exception):
    """A program ended with an error: what it said."""


LAUNCHER = str(Path(__file__).with_name("launcher.py"))


def spend(command: Command, feed: IO[bytes] | None = None) -> tuple[Cost, str]:
    """Run `command` to its end; its cost, and the first megabytes of what it printed."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        reading, writing = os.pipe()
        launched = [sys.executable, "-IS", LAUNCHER, str(writing), *command]
        process = subprocess.Popen(
            launched, stdin=feed or subprocess.DEVNULL, stdout=output, stderr=complaint, pass_fds=[writing]
        )
        os.close(writing)
        with os.fdopen(reading) as told:
            figures = told.read().split()
        process.wait()
        if process.returncode:
            raise Failed(f"{command[0]}: {text_of(complaint).strip()[-300:]}")
        return Cost(*map(float, figures)), text_of(output)


def text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1 << 30).decode(errors="replace")


def in_turn(commands: dict[str, Command], rounds: Callable[[str], int]) -> dict[str, Runs]:
    """Every program once, then every program again: whatever else the machine does meets all of them.

    `rounds` says how often: who takes minutes runs in the first rounds only.
    """
    runs = {name: Runs() for name in commands}
    for number in range(max(map(rounds, commands))):
        for name, command in commands.items():
            if number < rounds(name):
                runs[name].costs[number], runs[name].output = spend(command)
    return runs


def repeated(command: Command, rounds: int) -> Runs:
    return in_turn({"": command}, lambda _: rounds)[""]


def exponent(sizes: Sequence[float], seconds: Sequence[float], floor_s: float = 0.0) -> float:
    """How time grows from the first size to the last, without what an empty capture takes: 1 is linear."""
    first, last = (max(each - floor_s, 1e-3) for each in (seconds[0], seconds[-1]))
    return math.log(last / first) / math.log(sizes[-1] / sizes[0])
