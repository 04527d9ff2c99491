#!/usr/bin/env python3
"""Record jobs whose link changes while they run, and look-alikes: `changes.py FOLDER [REGEX]`.

Needs root and the lab of `benchmarks/lab`, up and loaded with MariaDB and PostgreSQL. Each capture is beside its truth (JSON): when the
link was set to what, by the capture's clock, and what the application counted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "fixtures"))

from recorder import lab  # noqa: E402

SCRIPT = ROOT / "benchmarks/lab/workloads_changes.py"


@dataclass(frozen=True)
class Link:
    """What the link is set to, so many seconds after the work began."""

    at_s: float
    rtt_ms: float
    jitter_ms: float = 0.0
    rate_bps: float = 0.0
    loss_percent: float = 0.0


@dataclass(frozen=True)
class Case:
    name: str
    shape: str
    seconds: float
    links: tuple[Link, ...]
    changes: bool
    """The path really changes: it has more than one baseline."""


def constant(rtt_ms: float, **more: float) -> tuple[Link, ...]:
    return (Link(0, rtt_ms, **more),)


CASES = (
    Case("rise", "one", 12, (Link(0, 5), Link(6, 20)), True),
    Case("rise-pool", "each", 12, (Link(0, 5), Link(6, 20)), True),
    Case("fall", "one", 12, (Link(0, 20), Link(6, 5)), True),
    Case("fall-pool", "each", 12, (Link(0, 20), Link(6, 5)), True),
    Case("small-rise", "one", 12, (Link(0, 5), Link(6, 7)), True),
    Case("there-and-back", "one", 18, (Link(0, 5), Link(6, 20), Link(12, 5)), True),
    Case("rise-in-a-pause", "pause", 18, (Link(0, 5), Link(9, 20)), True),
    Case("episode", "one", 15, (Link(0, 5), Link(7, 15), Link(8.5, 5)), False),
    Case("jitter", "one", 12, constant(10, jitter_ms=3), False),
    Case("jitter-pool", "each", 12, constant(10, jitter_ms=3), False),
    Case("pause", "pause", 24, constant(5), False),
    Case("slow-server", "slow", 12, constant(5), False),
    Case("bulk", "bulk", 12, constant(5), False),
    Case("narrow-bulk", "bulk", 12, constant(5, rate_bps=20e6), False),
    Case("loss", "one", 12, constant(5, loss_percent=1), False),
    Case("steady", "one", 90, constant(5), False),
)


def record(case: Case, server: str, folder: Path) -> None:
    first, *later = case.links
    set_link(first)
    path = folder / f"{case.name}-{server}.pcapng"
    argv = [str(lab.LAB / "venv/bin/python"), str(SCRIPT), server, case.shape, str(case.seconds)]
    process = subprocess.Popen(
        lab.inside(lab.CLIENT[0], argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin
    assert process.stdout
    assert process.stdout.readline() == "READY\n"
    set_at = [time.time()]
    with ExitStack() as captures:
        port = 3306 if server == "mysql" else 5432
        for place, suffix in ((lab.CLIENT, ""), (lab.SERVER, ".server")):
            target = path.with_suffix(f"{suffix}.pcapng")
            captures.enter_context(lab.capturing(place, target, f"tcp port {port}"))
        process.stdin.write("go\n")
        process.stdin.flush()
        begin = time.time()
        for link in later:
            time.sleep(max(begin + link.at_s - time.time(), 0))
            set_link(link)
            set_at.append(time.time())
        output = process.communicate()[0]
    truth = {"case": asdict(case), "server": server, "set_at": set_at, **json.loads(output)}
    path.with_suffix(".json").write_text(json.dumps(truth) + "\n")
    print(path.name, output.strip(), flush=True)


def set_link(link: Link) -> None:
    lab.set_link(link.rtt_ms, link.loss_percent, link.jitter_ms, link.rate_bps)


if __name__ == "__main__":
    folder, wanted = Path(sys.argv[1]), re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        for server in ("mysql", "postgresql"):
            if wanted.search(f"{case.name}-{server}"):
                record(case, server, folder)
    lab.set_link()
