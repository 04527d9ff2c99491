"""What `latpcap record` costs the job that it records: pairs of blocks of statements, one recorded, one not.

One client on one connection asks a MariaDB server of its own on loopback, one statement after the other, and times each
block itself. Loopback is the worst case: there is no network to wait for, and the capturer takes its time from the
processors that client and server need.

    python benchmarks/recorded.py --pairs 40 --statements 3000
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from math import comb
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from mariadb_server import PASSWORD, free_port, mariadb

import latpcap

CLIENT = f"""
import pymysql, sys, time
database = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="app", password={PASSWORD!r}, database="live")
cursor = database.cursor()
for line in sys.stdin:
    began = time.perf_counter()
    for number in range(int(line)):
        cursor.execute("SELECT salary FROM pay WHERE emp = %s", (number,))
        cursor.fetchall()
    print(time.perf_counter() - began, flush=True)
"""
SURE = 0.95


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--statements", type=int, default=3000)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="latpcap-recorded-") as folder:
        port = free_port()
        client = [sys.executable, "-c", CLIENT, str(port)]
        with (
            mariadb(Path(folder), port, ["app"]),
            subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job,
        ):
            block_s(job, asked.statements)  # the first one warms up
            pairs = [pair_s(job, port, asked.statements, recorded_first=bool(each % 2)) for each in range(asked.pairs)]
            job.stdin.close()
    ratios = sorted(recorded / plain for plain, recorded in pairs)
    added_us = sorted((recorded - plain) / asked.statements * 1e6 for plain, recorded in pairs)
    print(f"recorded/plain: median {told(ratios, '.3f')}; of all pairs {ratios[0]:.3f} to {ratios[-1]:.3f}")
    print(f"added a statement: median {told(added_us, '.1f')} µs")


def pair_s(job: subprocess.Popen[str], port: int, statements: int, *, recorded_first: bool) -> tuple[float, float]:
    """Seconds of a plain block and of one that is recorded."""
    plain = None if recorded_first else block_s(job, statements)
    with latpcap.record(port=port):
        recorded = block_s(job, statements)
    plain = block_s(job, statements) if plain is None else plain
    print(f"{plain:8.3f} s  recorded {recorded:8.3f} s  ratio {recorded / plain:.3f}", flush=True)
    return plain, recorded


def block_s(job: subprocess.Popen[str], statements: int) -> float:
    job.stdin.write(f"{statements}\n")
    job.stdin.flush()
    return float(job.stdout.readline())


def told(values: list[float], precision: str) -> str:
    """The median of sorted values, and the range that holds the true one with the certainty `SURE`."""
    place = outermost(len(values))
    low, high = values[place], values[-1 - place]
    return f"{statistics.median(values):{precision}} ({SURE:.0%}: {low:{precision}} to {high:{precision}})"


def outermost(count: int) -> int:
    """How many values may be left out on each side: the median lies as often above as below each."""
    outside, place = 1 / 2 ** (count - 1), 0
    while place + 1 < count / 2 and outside + comb(count, place + 1) / 2 ** (count - 1) <= 1 - SURE:
        place += 1
        outside += comb(count, place) / 2 ** (count - 1)
    return place


if __name__ == "__main__":
    main()
