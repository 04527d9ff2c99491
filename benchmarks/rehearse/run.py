#!/usr/bin/env python3
"""Rehearse the jobs of `jobs.py` by several ways, at 5, 15 and 50 ms: a line of JSON for each job and way.

    python benchmarks/rehearse/run.py --way lab,link,relay > rehearsed.jsonl
    python benchmarks/rehearse/table.py rehearsed.jsonl
    python benchmarks/rehearse/run.py --way lab,link --only 'nplus1|copy' --rtt 15 --loss 0.5% --runs 3 > worse.jsonl

Needs root and the lab, up, with MariaDB and PostgreSQL loaded; `LATPCAP_LAB` and the namespaces' names are the lab's.
Run it with the lab's clients at normal priority (`LATPCAP_REALTIME=`), as users have them. All ways reach the same
servers: the lab's own link lies between, with the RTT asked for (`lab`) or without a delay (`link`, `relay`).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from jobs import JOBS, command
from recorder import lab
from ways import SERVERS, WAYS, Reached

from latpcap.errors import LatpcapError
from latpcap.live.rehearsal import Plan, run_rehearsal
from latpcap.projection.assumptions import Conditions
from latpcap.quantities import bits_per_s, milliseconds, share


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=".", help="jobs that match this regular expression")
    parser.add_argument("--way", default="lab,link,relay", type=lambda text: text.split(","), help="with commas")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rtt", type=float, nargs="+", default=[5.0, 15.0, 50.0], help="in ms")
    parser.add_argument("--loss", type=share, help="the link's, as of `latpcap rehearse`")
    parser.add_argument("--jitter", type=milliseconds, default=0.0)
    parser.add_argument("--bandwidth", type=bits_per_s)
    arguments = parser.parse_args()
    conditions = Conditions(bandwidth_bps=arguments.bandwidth, loss=arguments.loss, jitter_ms=arguments.jitter)
    for name in arguments.way:
        for rtt_ms in arguments.rtt:
            echo = echo_ms(WAYS[name](Conditions()), rtt_ms)
            print(json.dumps({"way": name, "target_rtt_ms": rtt_ms, "echo_ms": echo}), flush=True)
    for job in JOBS:
        for name in arguments.way if re.search(arguments.only, job.name) else ():
            folder = lab.LAB / "rehearsed" / f"{job.name}-{name}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            asked = Plan(command(job, WAYS[name].host), arguments.rtt, arguments.runs, conditions=conditions)
            rehearse(job.name, name, asked, folder)


def echo_ms(way: Reached, rtt_ms: float) -> float:
    """The link's own RTT, as a program without latpcap measures it."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told")
        script = str(Path(__file__).with_name("handshakes.py"))
        way.run([sys.executable, script, way.host, "5432", str(told)], Path(folder, "echo.pcapng"), SERVERS, rtt_ms)
        return float(told.read_text())


def rehearse(job: str, name: str, plan: Plan, folder: Path) -> None:
    way = WAYS[name](plan.conditions)
    try:
        result = run_rehearsal(plan, way, folder, tell=lambda line: print(f"{job} {name}: {line}", file=sys.stderr))
    except LatpcapError as problem:  # one job that fails must not end all
        print(f"{job} {name}: {problem}", file=sys.stderr)
        return
    print(json.dumps(result.to_dict() | {"job": job, "way": name}), flush=True)


if __name__ == "__main__":
    main()
