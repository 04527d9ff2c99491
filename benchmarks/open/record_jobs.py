#!/usr/bin/env python3
"""Record the jobs that a seed draws, check each run, and write the manifest: `run` calls this.

    python benchmarks/open/record_jobs.py FOLDER [--quick] [--split held-out] [--share 3] [--seed 7] [--seconds 150]

Needs root, the lab, up, with its three kinds of server loaded, and latpcap. Without `--seed` the clients that are held out and all
numbers are new. What `--seconds` or an interruption leaves out is recorded by the same command again, which keeps the seed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))

from machine import client_at, described, link_echoes, rests
from manifest import AS_THEY_ARE, AWAKE, FORMAT, LICENCE, LOOPBACK_MS, NAME
from open_jobs import DEV, HELD_OUT, Job, drawn
from record import STILL, lab, record_all

import latpcap

RTTS_MS, QUICK_RTTS_MS = (LOOPBACK_MS, 0.5, 1.0, 15.0, 5.0, 50.0), (1.0, 15.0)
SEEDS = 10_000
BUSY, TICKS_S = 0.1, 0.02
"""A run counts where other programs used less of a processor meanwhile (which the kernel counts in ticks),"""
OFF_MS, OFF = 0.1, 0.05
"""where the link's ping was so near to that of the other runs at this RTT,"""
CLOCK_S, CLOCK = 0.03, 0.05
"""and where the client's own clock tells as long a time as the capture: what is more is the client's start and end."""

Run = dict[str, Any]


def main() -> None:
    arguments = parse()
    end = time.monotonic() + arguments.seconds
    rtts_ms = QUICK_RTTS_MS if arguments.quick else RTTS_MS
    head = head_of(arguments.folder, arguments.seed, rtts_ms)
    chosen = [
        (split, driver, replace(job, n=math.ceil(job.n * arguments.share)))
        for split, driver, job in drawn(head["seed"])
        if arguments.split in ("", split)
    ]
    for rtt_ms in rtts_ms:
        record_all([job for *_, job in chosen], (rtt_ms,), arguments.folder, end=end, client=client_at(rtt_ms))
    if time.monotonic() > end:
        sys.exit("not finished: the same command goes on")
    if lab.REALTIME:  # what follows takes a while, and none of the link's spinning
        subprocess.run([lab.SCRIPTS / "down.sh"], check=True)
    finish(arguments.folder, head, chosen)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="a new one, or one that is not finished")
    parser.add_argument("--quick", action="store_true", help="the held-out split at 1 and 15 ms")
    parser.add_argument("--split", choices=(DEV, HELD_OUT), default="", help="only that")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)) % SEEDS)
    parser.add_argument("--share", type=float, default=1, help="how much of each job's work")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after that time")
    arguments = parser.parse_args()
    arguments.split = arguments.split or (HELD_OUT if arguments.quick else "")
    return arguments


def head_of(folder: Path, seed: int, rtts_ms: tuple[float, ...]) -> dict[str, Any]:
    """The manifest without its jobs: as the recording began, or a new one's, for which the machine is measured."""
    path = folder / NAME
    if path.exists():
        head: dict[str, Any] = json.loads(path.read_text())
        return head if "jobs" not in head else sys.exit(f"{folder} is recorded already")
    folder.mkdir(parents=True)
    head = {
        "format": FORMAT,
        "licence": LICENCE,
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
        "seed": seed,
        "processors": AWAKE if lab.REALTIME else AS_THEY_ARE,
        "machine": described(),
        "rests": rests(),
        "link_echo_ms": link_echoes(rtts_ms),
    }
    write(folder, head)
    return head


def write(folder: Path, manifest: dict[str, Any]) -> None:
    (folder / NAME).write_text(json.dumps(manifest, indent=1) + "\n")


def finish(folder: Path, head: dict[str, Any], chosen: list[tuple[str, str, Job]]) -> None:
    """Pack and check the runs, write the manifest, and drop what does not count."""
    truth = folder / "truth.jsonl"
    runs = [packed(json.loads(line), folder) for line in truth.read_text().splitlines()]
    written = head | counting(chosen, runs)
    write(folder, written)
    truth.unlink()
    named = {run["capture"] for job in written["jobs"] for run in job["runs"]}
    for run in (run for run in runs if run["capture"] not in named):
        (folder / run["capture"]).unlink()
    print("\n".join(written["thrown_away"]))
    print(f"{sum(len(job['runs']) for job in written['jobs'])} runs of {len(written['jobs'])} jobs: {folder}")


def packed(run: Run, folder: Path) -> Run:
    """Its capture as Zstandard, and how long that is from the first packet of a connection to the last that carries data."""
    path = folder / run["capture"]
    capture = path.with_name(f"{path.name.removesuffix('.gz')}.zst")
    if path.exists():
        raw = subprocess.run(["gzip", "-cdf", path], check=True, capture_output=True).stdout
        subprocess.run(["zstd", "-q", "-19", "--long=24", "-f", "-o", capture], check=True, input=raw)
        path.unlink()
    runtime_s = latpcap.read(capture).analyze().summary.runtime_s
    return run | {"capture": str(capture.relative_to(folder)), "runtime_s": runtime_s}


def counting(chosen: list[tuple[str, str, Job]], runs: list[Run]) -> dict[str, Any]:
    """The manifest's runs that count, and a line for each that does not."""
    about = {job.name: {"split": split, "driver": driver} | told(job) for split, driver, job in chosen}
    pings = {
        rtt_ms: statistics.median(run["echo_ms"] for run in runs if run["rtt_ms"] == rtt_ms) for rtt_ms in rtts(runs)
    }
    known = {by_job(run) for run in runs}
    thrown = [
        f"{name} at {rtt_ms:g} ms did not end"
        for name in about
        for rtt_ms in sorted(pings)
        if (name, rtt_ms) not in known
    ]
    jobs = []
    for name, siblings in groupby(sorted(runs, key=by_job), key=lambda run: run["workload"]):
        same = list(siblings)
        usual = Counter((run["statements"], run["rows"]) for run in same).most_common(1)[0][0]
        kept = []
        for run in same:
            found = list(faults(run, pings[run["rtt_ms"]], usual))
            if found:
                thrown.append(f"{name} at {run['rtt_ms']:g} ms is thrown away: {'; '.join(found)}")
            else:
                kept.append(counted(run))
        counts = {"client": same[0]["driver"], "statements": usual[0], "rows": usual[1]}
        jobs.append({"id": name} | about[name] | counts | {"runs": kept})
    return {"jobs": jobs, "thrown_away": thrown}


def told(job: Job) -> dict[str, Any]:
    return {"server": job.protocol, "kind": job.kind, "clients": job.clients, "work": job.command, "n": job.n}


def rtts(runs: list[Run]) -> set[float]:
    return {run["rtt_ms"] for run in runs}


def by_job(run: Run) -> tuple[str, float]:
    return run["workload"], run["rtt_ms"]


def faults(run: Run, usual_ms: float, usual: tuple[int, int]) -> Iterator[str]:
    """Why a run says nothing about its job at this RTT."""
    if (run["statements"], run["rows"]) != usual:
        yield f"{run['statements']} statements and {run['rows']} rows, {usual[0]} and {usual[1]} in its other runs"
    if abs(run["echo_ms"] - usual_ms) > OFF_MS + OFF * usual_ms:
        yield f"a ping took {run['echo_ms']:.3f} ms, {usual_ms:.3f} ms in the other runs"
    if abs(run["total_s"] - run["runtime_s"]) > CLOCK_S + CLOCK * run["runtime_s"]:
        yield f"{run['total_s']:.3f} s by the client's clock, {run['runtime_s']:.3f} s in the capture"
    if run["load"] * run["total_s"] > BUSY * run["total_s"] + TICKS_S:
        yield f"other programs used {run['load']:.2f} of a processor"
    if run["still_s"] > STILL * run["total_s"]:
        yield f"a processor stood still for {run['still_s']:.3f} s"


def counted(run: Run) -> Run:
    return {
        "link_ms": run["rtt_ms"],
        "ping_ms": run["echo_ms"],
        "pings": run["echoes"],
        "runtime_s": round(run["runtime_s"], 6),
        "client_s": round(run["total_s"], 6),
        "load": run["load"],
        "capture": run["capture"],
    }


if __name__ == "__main__":
    main()
