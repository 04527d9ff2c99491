"""Projections of SQL Server's clients from 1 ms to 15 and 50, beside what the same jobs took there.

    benchmarks/sqlserver/project.py FOLDER record [CLIENT … WORKLOAD …]     over the lab's link: 12 clients, three RTTs, 6 minutes
    benchmarks/sqlserver/project.py FOLDER                       the table of what was recorded

The scripted server of `tests/sqlserver/` answers, half to twice of 1 ms after it was asked. `FOLDER` as for `run.py`;
`LATPCAP_LAB` and the namespaces as for `../lab/up.sh`, which must have run.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ["SQLSERVER"] = "10.77.0.2"
sys.path[:0] = [str(HERE.parent / part) for part in ("lab", "accuracy")] + [str(HERE)]

import dlctl  # noqa: E402
from facts import Facts, facts  # noqa: E402
from run import CLIENTS, NONE, command  # noqa: E402
from table import projected  # noqa: E402

CLIENT, SERVER = (
    os.environ.get(name, usual) for name, usual in (("LATPCAP_CLIENT_NS", "labc"), ("LATPCAP_SERVER_NS", "labs"))
)
PORT, NEAR, FAR = 1433, 1, (15, 50)
JOBS = ("n_plus_one", "transactions", "cursor_fetch", "mars")
NAMES = [
    "pymssql",
    "python-tds",
    "odbc",
    "odbc-mars",
    "freetds",
    "mssql-python",
    "mssql-jdbc",
    "mssql-jdbc-cursor",
    "jtds",
    "tedious",
    "go-mssqldb",
    "sqlalchemy-pytds",
    "gorm",
]


def inside(namespace: str, *words: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *words]


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
    server = [sys.executable, "-m", "sqlserver.scripted_server", str(PORT), NONE, os.environ["SQLSERVER"], "0.001"]
    with running(inside(SERVER, "chrt", "-r", "10", *server), HERE.parent.parent / "tests"):
        for name in names:
            for job in (job for job in jobs if job in CLIENTS[name].workloads.split()):
                for rtt_ms in (NEAR, *FAR):
                    dlctl.control(f"rtt={rtt_ms * 1000}")
                    one(folder, name, job, rtt_ms)


def one(folder: Path, name: str, job: str, rtt_ms: int) -> None:
    path = captured(folder, name, job, rtt_ms)
    tcpdump = ["tcpdump", "-i", "tunc", "-Z", "root", "-U", "--immediate-mode", "-w", str(path), f"port {PORT}"]
    with running(inside(CLIENT, *tcpdump), folder):
        asked = inside(CLIENT, "chrt", "-r", "10", *command(CLIENTS[name], job, folder, PORT, NONE))
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=120)
        time.sleep(0.1)
    print(f"{name} {job} {rtt_ms} ms: {done.stdout.strip() or done.stderr[-200:]}", flush=True)


def captured(folder: Path, name: str, job: str, rtt_ms: int) -> Path:
    (folder / "projected").mkdir(exist_ok=True)
    return folder / "projected" / f"{name}-{job}-{rtt_ms}.pcap"


def table(folder: Path) -> None:
    print(
        "| client | workload | round trips | to | took | projected | error | range |\n|---|---|--:|--:|--:|--:|--:|---|"
    )
    errors: dict[int, list[float]] = {rtt_ms: [] for rtt_ms in FAR}
    for name in NAMES:
        for job in JOBS:
            if not captured(folder, name, job, FAR[-1]).exists():
                continue
            near = facts(captured(folder, name, job, NEAR))
            for rtt_ms in FAR:
                far = facts(captured(folder, name, job, rtt_ms))
                point = projected(near.capture, far.rtt.in_stream, "in-stream", far.runtime_s)
                counts = is_whole(near) and is_whole(far) and near.round_trips == far.round_trips
                errors[rtt_ms] += [abs(point.error_pct)] * counts
                trips = str(near.round_trips) + f", {far.round_trips}" * (far.round_trips != near.round_trips)
                held = f"{point.optimistic_s:.2f} to {point.pessimistic_s:.2f}{'' if point.inside else ' missed'}"
                cells = (
                    name,
                    job,
                    trips + " (not counted)" * (not counts),
                    f"{rtt_ms} ms",
                    f"{far.runtime_s:.3f} s",
                    f"{point.predicted_s:.3f} s",
                )
                print(f"| {' | '.join(cells)} | {point.error_pct:+.2f} % | {held} |")
    for rtt_ms, found in errors.items():
        ninth = statistics.quantiles(found, n=10)[-1]
        print(
            f"\nto {rtt_ms} ms, {len(found)} jobs: median {statistics.median(found):.2f} %, p90 {ninth:.2f} %, worst {max(found):.2f} %"
        )


def is_whole(recorded: Facts) -> bool:
    return "capture-loss" not in {note.code for note in recorded.capture.analyze().health}


if __name__ == "__main__":
    where, told = Path(sys.argv[1]).resolve(), sys.argv[3:]
    if len(sys.argv) > 2:
        record(
            where, [name for name in NAMES if name in told or not told], [job for job in JOBS if job in told] or [*JOBS]
        )
    else:
        table(where)
