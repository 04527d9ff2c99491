"""`latpcap calibrate` beside the link's echo and the baseline RTT of a capture, over the lab's link.

    python benchmarks/calibrated.py      (root; benchmarks/lab is up, with MariaDB and PostgreSQL 15)

For each link: the median of 40 pings, what calibrate says to both servers, and the baseline of a job of 100 queries
that dumpcap records at the client. Prints the table of benchmarks/results/calibrate.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "fixtures"), str(ROOT / "benchmarks" / "accuracy")]

import echo  # noqa: E402
from recorder import lab  # noqa: E402

import latpcap  # noqa: E402

LINKS = [(rtt_ms, jitter) for jitter in (0.0, 0.1) for rtt_ms in (0.5, 5.0, 15.0, 50.0)]
"""RTT in ms, and how far each packet strays each way, as a part of it."""
PINGS = 40
JOBS = {
    "MariaDB": (3306, "import pymysql as d; c = d.connect(host='10.77.0.2', user='lab', password='labpw')"),
    "PostgreSQL": (
        5432,
        "import psycopg as d; c = d.connect('host=10.77.0.2 user=lab password=labpw dbname=postgres')",
    ),
}
WORK = "u = c.cursor(); [(u.execute('select 1'), u.fetchall()) for _ in range(100)]; c.close()"


def main() -> None:
    print("| link | server | ping | calibrate | range | `--rtt-is` | jitter | the capture's baseline | range |")
    print("|---|---|--:|--:|--:|---|--:|--:|--:|")
    with echo.answering():
        for rtt_ms, part in LINKS:
            lab.set_link(rtt_ms, jitter_ms=rtt_ms * part)
            ping_ms = echo.measured(PINGS)["echo_ms"]
            for server, (port, connect) in JOBS.items():
                found, baseline = calibrated(port), recorded(port, f"{connect}; {WORK}")
                link = f"{rtt_ms:g} ms" + (f" ± {rtt_ms * part:g} ms each way" if part else "")
                print(f"| {link} | {server} | {ping_ms:.3f} | {told(found)} | {baseline} |", flush=True)


def calibrated(port: int) -> dict:
    """In the client's namespace; the counters of MySQL's host cache are printed aside."""
    command = [sys.executable, "-m", "latpcap", "calibrate", f"{lab.DEBIANS}:{port}", "--json", "--quiet"]
    done = subprocess.run(lab.inside(lab.CLIENT[0], command), check=True, capture_output=True, text=True)
    if port == 3306:
        counts = lab.root_sql("select sum_connect_errors from performance_schema.host_cache")
        print(f"sum_connect_errors of the client in host_cache: {counts or 'none'}", file=sys.stderr)
    return json.loads(done.stdout)


def told(found: dict) -> str:
    jitter = f"{found['jitter_ms']:.3f}" if "--jitter" in found["options"] else "none"
    return f"{found['rtt_ms']:.3f} | {found['low_ms']:.3f} … {found['high_ms']:.3f} | {found['rtt_is']} | {jitter}"


def recorded(port: int, work: str) -> str:
    """The baseline of the job's path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.pcapng"
        with lab.capturing(lab.CLIENT, path, f"tcp port {port}"):
            subprocess.run(lab.inside(lab.CLIENT[0], [sys.executable, "-c", work]), check=True)
        rtt = latpcap.read(path).analyze().paths[0].rtt
    return f"{rtt.baseline_ms:.3f} | {rtt.low_ms:.3f} … {rtt.high_ms:.3f}"


if __name__ == "__main__":
    main()
