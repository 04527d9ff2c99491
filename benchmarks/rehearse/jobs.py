"""The ten jobs of benchmarks/results/rehearse.md: workloads of the lab, small enough for a run at 50 ms."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "accuracy"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from matrix import BULK, CHURN, FAN_OUT, PIPELINE, POOL, WAIT, Job
from recorder import lab

JOBS = (
    Job("pymysql_nplus1", 200, WAIT),
    Job("prepared_each", 60, WAIT),
    Job("commit_each_row", 80, WAIT),
    Job("jdbc:mysql_nplus1", 120, WAIT),
    Job("postgresql:psycopg2_shared_pool", 400, POOL),
    Job("postgresql:psycopg3_pipeline_50", 1000, PIPELINE),
    Job("postgresql:psycopg2_bulk", 20_000, BULK),
    Job("postgresql:psycopg2_copy_in", 100_000, BULK),
    Job("postgresql:psycopg2_connect_each", 30, CHURN),
    Job("overlap-postgresql:asyncpg_fan_out#21", 21, FAN_OUT),
)


def command(job: Job, host: str) -> list[str]:
    """The job as a user would run it: nobody tells it when to begin."""
    environment = {"COLD": "1", "LATPCAP_LAB": str(lab.LAB), "LATPCAP_HOST": host}
    words = shlex.join(lab.workload_command(job.command, job.n))
    return [
        "env",
        *(f"{key}={value}" for key, value in environment.items()),
        "sh",
        "-c",
        f"echo go | {words} >/dev/null",
    ]
