"""What `latpcap record` costs the job that it records: pairs of runs, one recorded, one not, and the ratio of their times.

The job asks a MariaDB server of its own on loopback, one statement after the other, and times itself. Loopback is the
worst case: there is no network to wait for, and dumpcap takes its time from the same processors.

    python benchmarks/recorded.py --pairs 10 --statements 3000
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from mariadb_server import PASSWORD, free_port, mariadb

JOB = f"""
import pymysql, sys, time
database = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="app", password={PASSWORD!r}, database="live")
cursor = database.cursor()
began = time.perf_counter()
for number in range(int(sys.argv[2])):
    cursor.execute("SELECT salary FROM pay WHERE emp = %s", (number,))
    cursor.fetchall()
print(time.perf_counter() - began)
"""


def seconds(command: list[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--pairs", type=int, default=10)
    options.add_argument("--statements", type=int, default=3000)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="latpcap-recorded-") as folder:
        port = free_port()
        with mariadb(Path(folder), port, ["app"]):
            job = [sys.executable, "-c", JOB, str(port), str(asked.statements)]
            record = [sys.executable, "-m", "latpcap", "record", "--port", str(port), "--", *job]
            ratios = []
            for pair in range(asked.pairs):
                runs = [record, job] if pair % 2 else [job, record]
                times = {len(command): seconds(command) for command in runs}
                plain, recorded = times[len(job)], times[len(record)]
                ratios.append(recorded / plain)
                print(f"{plain:8.3f} s  recorded {recorded:8.3f} s  ratio {ratios[-1]:.3f}", flush=True)
    print(f"ratio: median {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
