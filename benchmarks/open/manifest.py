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


def pairs(folder: Path, split: str = "") -> Iterator[Pair]:
    """Every run of a job, projected onto every other one of the job; of both splits, or of one."""
    for job in json.loads((folder / NAME).read_text())["jobs"]:
        if split in ("", job["split"]):
            for base, target in permutations(job["runs"], 2):
                yield Pair(
                    id=f"{job['id']}:{base['link_ms']:g}:{target['link_ms']:g}",
                    job=job,
                    capture=folder / base["capture"],
                    from_ms=base["link_ms"],
                    to_ms=target["link_ms"],
                    to_ping_ms=target["ping_ms"],
                    measured_s=target["runtime_s"],
                )
