#!/usr/bin/env python3
"""Count the round trips of each job at the client's system calls: `counts.jsonl` of the folder.

    benchmarks/encrypted/system_calls.py FOLDER --only nplus1

A wait is a read that returns data after something was written (`fixtures/recorder/truth.py`), whether that is encrypted or
not. Of a pipeline they tell no truth: there, a client reads what it has not waited for.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from encrypted_jobs import PIPELINE
from run import NEAR_MS, Run, lab, planned, read_lines

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import postgresql, truth

COUNT = {"mysql": truth.count, "postgresql": postgresql.count}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=".", help="runs whose job and way (`pgjdbc_batch tls13`) match this")
    arguments = parser.parse_args()
    path = arguments.folder / "counts.jsonl"
    done = {(line["workload"], line["way"]) for line in read_lines(path)}
    lab.set_link(NEAR_MS)
    for run in planned(NEAR_MS, arguments.only):
        if run.job.kind != PIPELINE and run.way.name != "again" and (run.job.name, run.way.name) not in done:
            try:
                counted = count(run, arguments.folder)
            except Exception as problem:  # one that fails must not end the others
                print(f"{run.job.name} {run.way.name} failed: {problem}", file=sys.stderr, flush=True)
                continue
            line = {"workload": run.job.name, "way": run.way.name}
            line |= {"connections": counted.connections, "round_trips": counted.round_trips}
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)
    lab.set_link()


def count(run: Run, folder: Path) -> truth.Truth:
    log = folder / "strace.log"
    tracer = [*truth.STRACE, "-o", str(log)]
    environment = run.way.environment(folder)
    with lab.workload(run.job.command, run.job.n, cold=True, tracer=tracer, environment=environment) as process:
        lab.go(process)
    counted = COUNT[run.job.protocol](log)
    log.unlink()
    return counted


if __name__ == "__main__":
    main()
