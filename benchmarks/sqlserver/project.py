"""Projections of SQL Server's clients from 1 ms to 15 and 50, beside what the same jobs took there.

    benchmarks/sqlserver/project.py FOLDER record [CLIENT … WORKLOAD …]     over the lab's link: 12 clients, three RTTs, three times
    benchmarks/sqlserver/project.py FOLDER                                  the table of what was recorded

The scripted server of `tests/sqlserver/` answers half to twice of 1 ms after it was asked; the same request of each run
takes the same time there. With `SQLSERVER_PORT` a server that runs already is asked. `FOLDER` as for `run.py`; `LATPCAP_LAB` and the namespaces as for `../lab/up.sh`, which must
have run (`HOT=-H`). Of three runs the one with the median duration counts, and its RTT is what pings beside it took.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ["SQLSERVER"] = "10.77.0.2"
sys.path[:0] = [str(HERE.parent / part) for part in ("lab", "accuracy")] + [str(HERE)]

import echo  # noqa: E402
from facts import Facts, facts  # noqa: E402
from recorder.lab import CLIENT, REALTIME, SERVER, inside, set_link  # noqa: E402
from run import CLIENTS, NONE, command  # noqa: E402
from table import Projected, projected  # noqa: E402

PORT, NEAR, FAR, RUNS = int(os.environ.get("SQLSERVER_PORT", "1433")), 1, (15, 50), 3
JOBS = "n_plus_one", "transactions"
NAMES = [
    *("pymssql", "python-tds", "odbc", "odbc-mars", "freetds", "mssql-python"),
    *("mssql-jdbc", "mssql-jdbc-cursor", "jtds", "tedious", "go-mssqldb", "sqlalchemy-pytds"),
]


@contextmanager
def running(asked: list[str], where: Path) -> Iterator[None]:
    """A server or a capture, from the line on that says it is ready."""
    with subprocess.Popen(asked, cwd=where, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        try:
            yield
        finally:
            process.terminate()


def record(folder: Path, names: list[str], jobs: list[str]) -> None:
    (folder / "projected").mkdir(exist_ok=True)
    server = [sys.executable, "-m", "sqlserver.scripted_server", str(PORT), NONE, os.environ["SQLSERVER"], "0.001"]
    scripted = running(inside(SERVER[0], [*REALTIME, *server]), HERE.parent.parent / "tests")
    with nullcontext() if "SQLSERVER_PORT" in os.environ else scripted:
        for number in range(RUNS):
            for name in names:
                for job in (job for job in jobs if job in CLIENTS[name].workloads.split()):
                    for rtt_ms in (NEAR, *FAR):
                        one(folder, name, job, rtt_ms, number)


def one(folder: Path, name: str, job: str, rtt_ms: int, number: int) -> None:
    set_link(rtt_ms)
    path = captured(folder, name, job, rtt_ms, number)
    tcpdump = ["tcpdump", "-i", CLIENT[1], "-Z", "root", "-U", "--immediate-mode", "-w", str(path), f"port {PORT}"]
    with running(inside(CLIENT[0], tcpdump), folder), echo.beside() as heard:
        asked = inside(CLIENT[0], [*REALTIME, *command(CLIENTS[name], job, folder, PORT, NONE)])
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=120)
        time.sleep(0.1)
    path.with_suffix(".ping").write_text(f"{heard['echo_ms']}\n")
    told = done.stdout.strip() or done.stderr[-200:]
    print(f"{name} {job} {rtt_ms} ms: {told}, ping {heard['echo_ms']:.2f} ms", flush=True)


def captured(folder: Path, name: str, job: str, rtt_ms: int, number: int) -> Path:
    return folder / "projected" / f"{name}-{job}-{rtt_ms}-{number}.pcap"


def read(folder: Path, name: str, job: str, rtt_ms: int) -> list[tuple[Facts, float]]:
    """The whole runs at that RTT and what pings took beside them, the shortest first."""
    paths = [path for number in range(RUNS) if (path := captured(folder, name, job, rtt_ms, number)).exists()]
    found = [(facts(path), float(path.with_suffix(".ping").read_text())) for path in paths]
    return sorted((run for run in found if is_whole(run[0])), key=lambda run: run[0].runtime_s)


def is_whole(recorded: Facts) -> bool:
    return "capture-loss" not in {note.code for note in recorded.capture.analyze().health}


def apart_pct(runs: list[tuple[Facts, float]]) -> float:
    """Half of what the runs at one RTT lie apart."""
    return 50 * (runs[-1][0].runtime_s / runs[0][0].runtime_s - 1)


def table(folder: Path) -> None:
    print("| client | workload | round trips | to | took | the runs lie apart by | projected | error | range |")
    print("|---|---|--:|--:|--:|--:|--:|--:|---|")
    found: dict[int, list[tuple[Projected, float]]] = {rtt_ms: [] for rtt_ms in FAR}
    for name in NAMES:
        for job in JOBS:
            if not (near := read(folder, name, job, NEAR)):
                continue
            base = near[len(near) // 2][0]
            for rtt_ms in FAR:
                if far := read(folder, name, job, rtt_ms):
                    target, ping_ms = far[len(far) // 2]
                    point = projected(base.capture, ping_ms, "ping", target.runtime_s)
                    print(line(name, job, base, target, rtt_ms, point, apart_pct(far)))
                    if base.round_trips == target.round_trips:
                        found[rtt_ms].append((point, apart_pct(far)))
    for rtt_ms, points in found.items():
        print(summary(rtt_ms, points))


def line(name: str, job: str, near: Facts, far: Facts, rtt_ms: int, point: Projected, apart: float) -> str:
    other = near.round_trips != far.round_trips
    trips = f"{near.round_trips}, {far.round_trips} (not counted)" if other else str(near.round_trips)
    held = f"{point.optimistic_s:.2f} to {point.pessimistic_s:.2f}{'' if point.inside else ' missed'}"
    took, expected = f"{far.runtime_s:.3f} s | ±{apart:.2f} %", f"{point.predicted_s:.3f} s | {point.error_pct:+.2f} %"
    return f"| {name} | {job} | {trips} | {rtt_ms} ms | {took} | {expected} | {held} |"


def summary(rtt_ms: int, points: list[tuple[Projected, float]]) -> str:
    errors, apart = [abs(point.error_pct) for point, _ in points], [each for _, each in points]
    ninths = [statistics.quantiles(each, n=10)[-1] for each in (errors, apart)]
    return (
        f"\nto {rtt_ms} ms, {len(errors)} jobs: median {statistics.median(errors):.2f} %, p90 {ninths[0]:.2f} %,"
        f" worst {max(errors):.2f} %, in the range {sum(point.inside for point, _ in points)};"
        f" runs at the same RTT lie ±{statistics.median(apart):.2f} % apart, p90 ±{ninths[1]:.2f} %"
    )


if __name__ == "__main__":
    where, told = Path(sys.argv[1]).resolve(), sys.argv[3:]
    if len(sys.argv) > 2:
        named = [name for name in NAMES if name in told], [job for job in JOBS if job in told]
        record(where, named[0] or NAMES, named[1] or [*JOBS])
    else:
        table(where)
