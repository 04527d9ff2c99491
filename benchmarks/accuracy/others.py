"""How much of the processors other programs use while something is recorded: what disturbs a run without showing in its capture."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

KERNEL = 2
"""The parent of the kernel's own threads, some of which carry the lab's packets."""


class Others:
    """Processors that programs outside the lab kept busy: 0.5 is half of one."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.used_s = used_s()

    def load(self) -> float:
        """Since this began. Programs that ended meanwhile count where their parent has taken note of them."""
        return max(used_s() - self.used_s, 0.0) / (time.monotonic() - self.begin)


def used_s() -> float:
    """Processor time of all programs outside the lab, their children included, so far."""
    ticks = sum(each for path in Path("/proc").glob("[0-9]*") for each in outside(path))
    return ticks / os.sysconf("SC_CLK_TCK")


def outside(process: Path) -> Iterator[int]:
    """What a process has used, unless it is the lab's, the recorder, its child or the kernel's."""
    with contextlib.suppress(OSError):  # it has ended
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        is_labs = os.stat(process / "ns/net").st_ino in namespaces() or process.name == link()
        if not is_labs and os.getpid() not in (int(process.name), int(fields[1])) and int(fields[1]) != KERNEL:
            yield from map(int, fields[11:15])


@functools.cache
def namespaces() -> set[int]:
    return {os.stat(f"/run/netns/{name}").st_ino for name, _ in (lab.CLIENT, lab.SERVER)}


@functools.cache
def link() -> str:
    return (lab.LAB / "run/dl.pid").read_text().strip()
