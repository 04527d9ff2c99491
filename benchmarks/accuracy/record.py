#!/usr/bin/env python3
"""Run every job of `matrix.py` at every RTT, capture it, and write down what the application measured.

    python benchmarks/accuracy/record.py --only 'nplus1$' --rtt 0.5,15 --repeat 3

Needs root and the lab, up, with its three kinds of server loaded (`run` sees to that). `LATPCAP_LAB` says where the lab keeps its state:
captures go to `caps/` there, and a line a run to `truth.jsonl`. What is recorded already is not recorded again. A run during which a
CPU stood still is recorded up to three times, and the quietest is kept.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import echo
from matrix import CLIENTS, COLD, JOBS, OVERLAP, RTTS_MS, Job
from metronome import Metronome, metronome
from others import Others

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

PORTS = {"mysql": (3306,), "postgresql": (5432, 5433), "firebird": (3050, 3051, 3052)}
LONG_MS = 15
"""From this RTT on the three kinds of server are recorded side by side: who waits for the network disturbs nobody."""
PATIENCE_S = 120
PACK_BYTES = 200_000
STILL = 0.01
"""A run during which a CPU stood still for a larger share is recorded again."""
ATTEMPTS = 3

writing = threading.Lock()


def main() -> None:
    arguments = parse()
    jobs = [
        replace(job, n=math.ceil(job.n * arguments.share / 8) * 8 if arguments.share != 1 else job.n)
        for job in ((*JOBS, *CLIENTS, *OVERLAP) if lab.REALTIME else COLD)
        if re.search(arguments.only, job.name)
    ]
    end = time.monotonic() + arguments.seconds
    record_all(jobs, arguments.rtt, arguments.into, arguments.repeat, end)


def record_all(
    jobs: list[Job],
    rtts_ms: Iterable[float],
    into: Path,
    repeat: int = 1,
    end: float = math.inf,
    client: tuple[str, str] = lab.CLIENT,
) -> None:
    """Record what is not recorded yet."""
    done = recorded(into)
    with metronome() if lab.REALTIME else nullcontext() as ticking:
        for repetition, rtt_ms in itertools.product(range(repeat), rtts_ms):
            todo = [job for job in jobs if (job.name, rtt_ms, repetition) not in done]
            setting = Setting(into, rtt_ms, repetition, ticking, end, client=client)
            together = [job for job in todo if lab.REALTIME and rtt_ms >= LONG_MS and not job.alone]
            one_by_one([job for job in todo if job not in together], setting)
            side_by_side(together, replace(setting, link_is_set=True))
    lab.set_link()


@dataclass(frozen=True)
class Setting:
    """What is the same for all jobs of one round."""

    into: Path
    rtt_ms: float
    repetition: int
    ticking: Metronome | None
    """None where the processors are to sleep: it would wake them."""
    end: float = math.inf
    """No run begins after this moment of `time.monotonic`."""
    link_is_set: bool = False
    """Several jobs share the link, so that none may touch it."""
    link: dict[str, float] = field(default_factory=dict)
    """What else the link is set to."""
    client: tuple[str, str] = lab.CLIENT
    """Namespace of the clients, and the device that is captured."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=".", help="jobs that match this regular expression")
    parser.add_argument(
        "--rtt", default=RTTS_MS, type=lambda text: tuple(map(float, text.split(","))), help="in ms, with commas"
    )
    parser.add_argument("--into", type=Path, default=lab.LAB, help="folder for caps/ and truth.jsonl; the lab's own")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin no run after that time; go on another day"
    )
    parser.add_argument("--share", type=float, default=1, help="how much of each job's work")
    parser.add_argument("--repeat", type=int, default=1, help="how often each is recorded; the table takes the median")
    return parser.parse_args()


def recorded(folder: Path) -> set[tuple[str, float, int]]:
    path = folder / "truth.jsonl"
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(run["workload"], run["rtt_ms"], run["rep"]) for run in runs}


def one_by_one(jobs: Iterable[Job], setting: Setting) -> None:
    for job in jobs:
        if time.monotonic() > setting.end:
            return
        try:
            record(job, setting)
        except Exception as problem:  # one job that fails must not end a night's recording
            print(f"{job.name} at {setting.rtt_ms:g} ms failed: {problem}", file=sys.stderr, flush=True)


def side_by_side(jobs: list[Job], setting: Setting) -> None:
    """One lane for each kind of server; the link is set once for all."""
    lab.set_link(setting.rtt_ms)
    lanes = [
        threading.Thread(target=one_by_one, args=([job for job in jobs if job.protocol == protocol], setting))
        for protocol in PORTS
    ]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()


def record(job: Job, setting: Setting) -> None:
    """Capture the job until the CPUs keep going meanwhile; write the line of the quietest run."""
    folder = setting.into / "caps"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{job.name}__n{job.n}__rtt{setting.rtt_ms:g}__r{setting.repetition}"
    quietest: dict[str, Any] = {}
    for _ in range(ATTEMPTS):
        trial = {folder / f".{name}.pcapng": setting.client}
        trial |= {folder / f".{name}.server.pcapng": lab.SERVER} if job.both_ends else {}
        counted = attempt(job, setting, trial)
        if not quietest or counted["still_s"] < quietest["still_s"]:
            quietest = counted
            files = [path.replace(path.with_name(path.name[1:])) for path in trial]
        if quietest["still_s"] <= STILL * quietest["total"]:
            break
    write(job, setting, quietest, [pack(file) for file in files])


def attempt(job: Job, setting: Setting, captured: dict[Path, tuple[str, str]]) -> dict[str, Any]:
    """Warm up on the bare link, then capture one run; what the link's echo and the processors' load were meanwhile."""
    packets = " or ".join(f"tcp port {port}" for port in PORTS[job.protocol])
    if not setting.link_is_set:
        lab.set_link()
    with ExitStack() as running:
        processes = [started(job, setting.client[0], running) for _ in range(job.clients)]
        if not setting.link_is_set:
            lab.set_link(setting.rtt_ms, **setting.link)
        heard = running.enter_context(echo.beside(setting.client[0]))
        for file, place in captured.items():
            running.enter_context(lab.capturing(place, file, packets))
        begin, others = time.time_ns(), Others()
        counted = together(processes)
        end, load = time.time_ns(), others.load()
        time.sleep(setting.rtt_ms * 2.5e-3)
    still_s = setting.ticking.still_s(begin, end) if setting.ticking else 0.0
    return counted | heard | {"still_s": still_s, "load": round(load, 4)}


def started(job: Job, namespace: str, running: ExitStack) -> subprocess.Popen[str]:
    """A process that waits for its go, and is ended with the rest, or when it takes too long."""
    waiting = lab.workload(job.command, job.n, environment=variables(job), namespace=namespace)
    process = running.enter_context(waiting)
    running.callback(process.kill)
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    running.callback(watchdog.cancel)
    return process


def together(processes: list[subprocess.Popen[str]]) -> dict[str, Any]:
    """Let them all work at once: what they counted in all, and the time of the slowest."""
    with ThreadPoolExecutor(len(processes)) as pool:
        told = list(pool.map(lab.go, processes))
    counts = {name: sum(each[name] or 0 for each in told) for name in ("statements", "rows")}
    return told[0] | counts | {name: max(each[name] for each in told) for name in ("seconds", "total")}


def variables(job: Job) -> dict[str, str]:
    return {"LATPCAP_PGPORT": str(job.server)} if job.server else {}


def pack(path: Path) -> str:
    """Compress a large capture; return its name within the lab."""
    if path.stat().st_size > PACK_BYTES:
        subprocess.run(["nice", "-n", "15", "gzip", "-1", "-f", str(path)], check=True)
        path = path.with_name(path.name + ".gz")
    return f"caps/{path.name}"


def write(job: Job, setting: Setting, counted: dict[str, Any], captures: list[str]) -> None:
    line = {
        "workload": job.name,
        "protocol": job.protocol,
        "driver": counted["client"],
        "kind": job.kind,
        "rtt_ms": setting.rtt_ms,
        "rep": setting.repetition,
        "n": job.n,
        "statements": counted["statements"],
        "rows": counted["rows"],
        "work_s": counted["seconds"],
        "total_s": counted["total"],
        "capture": captures[0],
        "capture_server": captures[1] if len(captures) > 1 else None,
        "load": counted["load"],
        "still_s": round(counted["still_s"], 6),
        "echo_ms": counted["echo_ms"],
        "echoes": counted["echoes"],
        "processors": "awake" if setting.ticking else "sleeping",
    }
    with writing, (setting.into / "truth.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
        print(
            f"{time.strftime('%H:%M:%S')} {setting.rtt_ms:5g} ms #{setting.repetition} {job.name:34} "
            f"{line['total_s']:8.3f} s, still {line['still_s']:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
