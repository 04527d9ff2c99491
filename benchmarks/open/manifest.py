"""The manifest of a recording and the pairs that follow from it: README.md describes both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

FORMAT = "latency-projection 2"
LICENCE = "Apache-2.0"
NAME = "manifest.json"
AS_THEY_ARE, AWAKE = "as they are", "awake"
"""The state of the machine's processors: left alone, or kept awake with the lab before other programs."""
LOOPBACK_MS = 0.0
"""The RTT by which a run without a link is named."""
SUBSET = Path(__file__).resolve().parent / "subset"


@dataclass(frozen=True)
class Pair:
    """One question: how long does the job of this capture take where a ping takes `to_ping_ms`?"""

    id: str
    job: dict[str, Any]
    capture: Path
    from_ms: float
    to_ms: float
    """What the link was set to."""
    to_ping_ms: float
    measured_s: float
    """The truth, which no tool may use."""
    rests: list[list[float]] | None
    """The machine's rest curve, in ms: a rest, and how much later it answers behind that; `None` where it is unknown."""


def kept(processors: str) -> Path:
    """The recording of that kind which is kept."""
    return SUBSET / processors.replace(" ", "-")


def read(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / NAME).read_text())
    return manifest


def pairs(folder: Path, split: str = "") -> Iterator[Pair]:
    """Every run of a job, projected onto every other one of the job that has a link; of both splits, or of one."""
    manifest = read(folder)
    for job in manifest["jobs"]:
        if split in ("", job["split"]):
            for base, target in permutations(job["runs"], 2):
                if target["link_ms"] == LOOPBACK_MS:
                    continue
                yield Pair(
                    id=f"{job['id']}:{base['link_ms']:g}:{target['link_ms']:g}",
                    job=job,
                    capture=folder / base["capture"],
                    from_ms=base["link_ms"],
                    to_ms=target["link_ms"],
                    to_ping_ms=target["ping_ms"],
                    measured_s=target["runtime_s"],
                    rests=manifest.get("rests"),
                )
