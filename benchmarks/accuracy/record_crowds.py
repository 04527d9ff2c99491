#!/usr/bin/env python3
"""Run crowds of different sizes, capture some of them, and write down how many statements a second they got done.

    python benchmarks/accuracy/record_crowds.py --only go_ --rtt 0.4,20 --capture 5 --count 20 --into FOLDER

Needs root, the lab, up, with MariaDB and both PostgreSQL, and what `crowd_jobs/` starts and loads there. Writes captures to `caps/`, and
a line a run to `truth.jsonl`, which `crowds.py` reads. What is recorded already is not recorded again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab

PROGRAMS = Path(__file__).resolve().parent / "crowd_jobs"
PACK_BYTES = 200_000


@dataclass(frozen=True)
class ClosedNetwork:
    """A job that any number of clients can do at once."""

    name: str
    port: int
    program: str
    """Of pgbench: what else it is told, the database last; of the others which program (sysbench, go, processes, threads), and what it does."""
    statements: int = 1
    """What pgbench counts as a transaction has so many."""

    def command(self, clients: int, seconds: float) -> list[str]:
        kind, *words = self.program.split()
        if kind == "pgbench":
            *words, database = (word.replace("@", f"{PROGRAMS}/") for word in words)
            place = ["-h", lab.DEBIANS, "-p", str(self.port), "-U", "lab", "-n", "--random-seed=1"]
            return [kind, *place, *words, "-c", str(clients), "-T", f"{seconds:.0f}", database]
        if kind == "sysbench":
            place = [f"--mysql-host={lab.DEBIANS}", "--mysql-user=lab", "--mysql-password=labpw", "--mysql-db=lab"]
            how = [
                "--tables=4",
                "--table-size=100000",
                "--rand-seed=7",
                f"--threads={clients}",
                f"--time={seconds:.0f}",
            ]
            return [kind, *words, "--db-driver=mysql", *place, *how, "run"]
        if kind == "go":
            program = str(lab.LAB / "clients/go/work")
            return [program, *words, str(clients), f"seconds={seconds:.0f}", f"port={self.port}"]
        python = str(lab.LAB / "venv/bin/python")
        return [python, str(PROGRAMS / "workers.py"), kind, *words, str(clients), str(seconds)]

    def done(self, printed: str) -> dict[str, float]:
        """Statements, and how many of them a second."""
        if printed.startswith("pgbench"):
            per_s = float(re.search(r"tps = ([\d.]+)", printed)[1]) * self.statements  # type: ignore[index]
            done = int(re.search(r"actually processed: (\d+)", printed)[1]) * self.statements  # type: ignore[index]
            return {"tps": per_s, "statements": done, "seconds": done / per_s}
        if printed.startswith("sysbench"):
            done, per_s = re.search(r"transactions: +(\d+) +\(([\d.]+) per", printed).groups()  # type: ignore[union-attr]
            per_s = float(per_s) * self.statements
            return {
                "tps": per_s,
                "statements": int(done) * self.statements,
                "seconds": int(done) * self.statements / per_s,
            }
        counted: dict[str, float] = json.loads(printed.splitlines()[-1])
        return {"tps": counted["statements"] / counted["seconds"], **counted}


CROWDS = (
    ClosedNetwork("pg_select_simple", 5442, "pgbench -S -M simple s1"),
    ClosedNetwork("pg_select_prepared", 5442, "pgbench -S -M prepared s10"),
    ClosedNetwork("pg_select_ext_j2", 5442, "pgbench -S -M extended -j 2 s10"),
    ClosedNetwork("pg1_select_simple", 5443, "pgbench -S -M simple s1"),
    ClosedNetwork("pg_tpcb_s1", 5442, "pgbench s1", 7),
    ClosedNetwork("pg_tpcb_s10", 5442, "pgbench s10", 7),
    ClosedNetwork("pg1_tpcb_s10", 5443, "pgbench -M prepared s10", 7),
    ClosedNetwork("pg_simpleupdate_s1", 5442, "pgbench -N s1", 5),
    ClosedNetwork("pg_cpu", 5442, "pgbench -f @cpu.sql s1"),
    ClosedNetwork("pg1_cpu", 5443, "pgbench -f @cpu.sql s1"),
    ClosedNetwork("pg_mixed", 5442, "pgbench -f @mixed.sql s1", 2),
    ClosedNetwork("pg_sleep", 5442, "pgbench -f @sleep.sql s1"),
    *(ClosedNetwork(f"my_{kind}", 3306, f"processes {kind}") for kind in ("read", "update", "hot", "sum", "sleep")),
    # nothing was fitted on these
    ClosedNetwork("pg18_select_prepared", 5433, "pgbench -S -M prepared -j 2 s20"),
    ClosedNetwork("pg18_simpleupdate_s20", 5433, "pgbench -N -M extended s20", 5),
    ClosedNetwork("pg18_tpcb_s2", 5433, "pgbench -M prepared s2", 7),
    ClosedNetwork("pg18_tpcb_s20", 5433, "pgbench -j 2 s20", 7),
    ClosedNetwork("pg18_range", 5433, "pgbench -f @range.sql s2"),
    ClosedNetwork("pg1_simpleupdate_s10", 5443, "pgbench -N s10", 5),
    ClosedNetwork("pg1_range", 5443, "pgbench -f @range.sql -M prepared s10"),
    *(ClosedNetwork(f"go_my_{kind}", 3306, f"go interpolating crowd_{kind}") for kind in ("point", "sum", "hot")),
    *(ClosedNetwork(f"go_pg18_{kind}", 5433, f"go pgx crowd_{kind}") for kind in ("point", "sum", "hot")),
    *(ClosedNetwork(f"threads_my_{kind}", 3306, f"threads {kind}") for kind in ("read", "warm")),
    ClosedNetwork("my_warm", 3306, "processes warm"),
    # the grid; sysbench makes its tables with `prepare`
    *(ClosedNetwork(f"grid_tpcb_s{scale}", 5442, f"pgbench s{scale}", 7) for scale in (1, 10, 50)),
    *(ClosedNetwork(f"grid_select_s{scale}", 5442, f"pgbench -S s{scale}") for scale in (10, 50)),
    ClosedNetwork("grid_tpcb_s10_1cpu", 5443, "pgbench s10", 7),
    ClosedNetwork("grid_select_s10_1cpu", 5443, "pgbench -S s10"),
    ClosedNetwork("grid_sysbench_point", 3306, "sysbench oltp_point_select"),
    ClosedNetwork("grid_sysbench_read", 3306, "sysbench oltp_read_only", 16),
    ClosedNetwork("grid_sysbench_write", 3306, "sysbench oltp_read_write", 20),
)


def main() -> None:
    arguments = parse()
    done = recorded(arguments.into)
    end = time.monotonic() + arguments.seconds
    sizes = [(clients, True) for clients in arguments.capture] + [(clients, False) for clients in arguments.count]
    for crowd in (crowd for crowd in CROWDS if re.fullmatch(arguments.only, crowd.name)):
        for rtt_ms in arguments.rtt:
            for clients, captured in sizes:
                if (crowd.name, rtt_ms, clients, captured) in done or time.monotonic() > end:
                    continue
                try:
                    record(crowd, rtt_ms, clients, captured, arguments)
                except Exception as problem:  # one job that fails must not end a night's recording
                    print(f"{crowd.name} at {rtt_ms:g} ms failed: {problem}", file=sys.stderr, flush=True)
    lab.set_link()


def parse() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(word) for word in text.split(",") if word]

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=".*", help="crowds whose whole name matches this regular expression")
    parser.add_argument("--rtt", default=[0.4, 3.0, 20.0], type=lambda text: [float(word) for word in text.split(",")])
    parser.add_argument("--capture", default=[4, 10], type=numbers, help="sizes that are captured")
    parser.add_argument("--count", default=[20, 50], type=numbers, help="sizes of which only the rate is written down")
    parser.add_argument("--length", type=float, default=10, help="of a run, in s")
    parser.add_argument("--captured-length", type=float, default=5, help="of one that is captured")
    parser.add_argument("--into", type=Path, default=lab.LAB / "crowds", help="folder for caps/ and truth.jsonl")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after that time")
    return parser.parse_args()


def recorded(folder: Path) -> set[tuple[str, float, int, bool]]:
    path = folder / "truth.jsonl"
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(run["workload"], run["rtt_ms"], run["clients"], bool(run["capture"])) for run in runs}


def record(crowd: ClosedNetwork, rtt_ms: float, clients: int, captured: bool, arguments: argparse.Namespace) -> None:
    """Run it; write down what it got done, and where its packets are."""
    path = arguments.into / "caps" / f"{crowd.name}__n{clients}__rtt{rtt_ms:g}.pcapng"
    path.parent.mkdir(parents=True, exist_ok=True)
    length = arguments.captured_length if captured else arguments.length
    length += 4 * clients * rtt_ms / 1000 if crowd.program.startswith("pgbench") else 0  # it counts while it connects
    lab.set_link(rtt_ms)
    with lab.capturing(lab.CLIENT, path, f"tcp port {crowd.port}") if captured else nullcontext():
        argv = lab.inside(lab.CLIENT[0], [*lab.REALTIME, *crowd.command(clients, length)])
        environment = {**os.environ, "PGPASSWORD": "labpw"}
        ran = subprocess.run(argv, input="go\n", capture_output=True, text=True, env=environment)
    if ran.returncode:
        raise RuntimeError(ran.stderr[-300:])
    done = crowd.done(ran.stdout)
    run: dict[str, Any] = {
        "workload": crowd.name,
        "rtt_ms": rtt_ms,
        "clients": clients,
        "tps": round(done["tps"], 1),
        "statements": int(done["statements"]),
        "work_s": round(done["seconds"], 4),
        "total_s": round(done["seconds"], 4),
        "capture": f"caps/{packed(path).name}" if captured else None,
    }
    with (arguments.into / "truth.jsonl").open("a") as truth:
        truth.write(json.dumps(run) + "\n")
    print(f"{crowd.name}, {clients} clients, {rtt_ms:g} ms: {run['tps']:.0f}/s", flush=True)


def packed(path: Path) -> Path:
    if path.stat().st_size <= PACK_BYTES:
        return path
    packed = path.with_name(path.name + ".gz")
    with path.open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as small:
        shutil.copyfileobj(plain, small)
    path.unlink()
    return packed


if __name__ == "__main__":
    main()
