#!/usr/bin/env python3
"""Run the lab's jobs clear and encrypted, and capture each: `caps/` and a line a run in `truth.jsonl` of the folder.

    benchmarks/encrypted/run.py FOLDER --only nplus1

Needs the lab, up, with MariaDB and PostgreSQL loaded. What is recorded already is left alone. Secrets are written beside
the captures (`.keys`) where the client gives them: Java's with the agent that `LATPCAP_JAVA_AGENT` names, those of programs
linked with OpenSSL with the library that `LATPCAP_PRELOAD` names (`benchmarks/keys/keylog.c`).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encrypted_jobs import Job, works
from ways import Way, key_log

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from metronome import Metronome, metronome
from recorder import lab

NEAR_MS, FAR_MS = 1.0, 15.0
PORTS = {"mysql": "port 3306", "postgresql": "port 5432", "firebird": "portrange 3050-3051"}
PATIENCE_S = 120
STILL, ATTEMPTS = 0.02, 2
"""A run during which a CPU stood still for a larger share is recorded again, so often."""

writing = threading.Lock()


@dataclass(frozen=True)
class Run:
    """One job, one way, one distance."""

    job: Job
    way: Way
    rtt_ms: float

    @property
    def key(self) -> tuple[str, str, float]:
        return self.job.name, self.way.name, self.rtt_ms

    @property
    def capture(self) -> str:
        return f"caps/{self.job.name}__{self.way.name}__rtt{self.rtt_ms:g}.pcapng"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=".", help="runs whose job and way (`pgjdbc_batch tls13`) match this")
    parser.add_argument("--rtt", type=float, help=f"only this one of {NEAR_MS:g} and {FAR_MS:g} ms")
    arguments = parser.parse_args()
    (arguments.folder / "caps").mkdir(parents=True, exist_ok=True)
    with metronome() as ticking:
        for rtt_ms in (arguments.rtt,) if arguments.rtt else (NEAR_MS, FAR_MS):
            done = {
                (line["workload"], line["way"], line["rtt_ms"]) for line in read_lines(arguments.folder / "truth.jsonl")
            }
            runs = [run for run in planned(rtt_ms, arguments.only) if run.key not in done]
            lab.set_link(rtt_ms)
            together = [run for run in runs if rtt_ms == FAR_MS and not run.job.alone]
            one_by_one([run for run in runs if run not in together], arguments.folder, ticking)
            side_by_side(together, arguments.folder, ticking)
    lab.set_link()


def planned(rtt_ms: float, only: str) -> Iterator[Run]:
    for work in works(rtt_ms, FAR_MS):
        for way in work.ways:
            if re.search(only, f"{work.job.name} {way.name}"):
                yield Run(work.job, way, rtt_ms)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def side_by_side(runs: list[Run], folder: Path, ticking: Metronome) -> None:
    """Who waits for a distant server disturbs nobody: a lane for each kind of server."""
    lanes = [
        threading.Thread(
            target=one_by_one, args=([run for run in runs if run.job.protocol == protocol], folder, ticking)
        )
        for protocol in PORTS
    ]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


def one_by_one(runs: list[Run], folder: Path, ticking: Metronome) -> None:
    for run in runs:
        try:
            record(run, folder, ticking)
        except Exception as problem:  # one that fails must not end the others
            print(f"{' '.join(map(str, run.key))} failed: {problem}", file=sys.stderr, flush=True)


def record(run: Run, folder: Path, ticking: Metronome) -> None:
    for _ in range(ATTEMPTS):
        counted = attempt(run, folder, ticking)
        if counted["still_s"] <= STILL * counted["total"]:
            break
    line = {"workload": run.job.name, "way": run.way.name, "rtt_ms": run.rtt_ms, "kind": run.job.kind}
    line |= {"protocol": run.job.protocol, "n": run.job.n, "capture": run.capture, **counted}
    with writing, (folder / "truth.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {' '.join(map(str, run.key)):50} {counted['total']:8.3f} s", flush=True)


def attempt(run: Run, folder: Path, ticking: Metronome) -> dict[str, Any]:
    """Warm up over the link, then capture one run."""
    capture = folder / run.capture
    keys = capture.with_suffix(".keys") if run.way.version else None
    environment = run.way.environment(folder)
    environment |= key_log(keys, environment) if keys else {}
    with lab.workload(run.job.command, run.job.n, keys=keys, environment=environment) as process:
        watchdog = threading.Timer(PATIENCE_S, process.kill)
        watchdog.start()
        with lab.capturing(lab.CLIENT, capture, f"tcp {PORTS[run.job.protocol]}"):
            begin = time.time_ns()
            counted = lab.go(process)
            end = time.time_ns()
            watchdog.cancel()
            time.sleep(run.rtt_ms * 2.5e-3)
    return counted | {"still_s": round(ticking.still_s(begin, end), 6)}


if __name__ == "__main__":
    main()
