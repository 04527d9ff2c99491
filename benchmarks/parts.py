"""One scan by several workers: are the bytes the same whoever does it, what does it cost, and how much sooner is it done?

    python benchmarks/parts.py same [--source 'ring/*.pcap'] [--engines threads,processes,dask,ray]
    python benchmarks/parts.py speed [--source 'ring/*.pcap'] [--rounds 5]

Without --source captures are made: 64 files, and connections that are open from the first packet to the last, so that
all of them cross every file; so many client hosts (--clients), of which one has half of the connections with --skewed.

`same` scans them in 4 parts by 2 workers of each engine, and once more with a worker that is killed when its part is
done; Linux tells what each process read and held. `speed` tells the wall time of each way in rounds, one after the
other, and ratios of the same round: what others do on the machine meets all ways. One worker reads with all processors
that it has; held to one, it shows what a second worker with a processor of its own would be worth.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from struct import unpack_from
from typing import Any

from msgspec.structs import astuple
from rings import records, split
from speed.cost import in_turn
from speed.table import table
from spending import LATPCAP

FILES = 64
PARTS = 4
WORKERS = 2
SERVER_PORT = 3306
FIRST_HOST = 10
PROBE_S = 0.02


def main() -> None:
    arguments = parse()
    if arguments.what == "part-of-same":
        done(arguments)
        return
    with captures(arguments) as files:
        (same if arguments.what == "same" else speed)(files, arguments)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["same", "speed", "part-of-same"])
    parser.add_argument("--source", action="append", default=[], help="files, globs or URLs; repeatable")
    parser.add_argument("--packets", type=int, default=2_000_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default="threads,processes,dask,ray", help="separated by commas")
    parser.add_argument("--parts", type=int, default=PARTS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--mark", help=argparse.SUPPRESS)
    return parser.parse_args()


@contextmanager
def captures(arguments: argparse.Namespace) -> Iterator[list[str]]:
    """The files that were named, or made."""
    if arguments.source:
        yield [file for each in arguments.source for file in (sorted(glob.glob(each)) or [each])]
        return
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pcap"
        made = [sys.executable, "-m", "benchmarks.speed.traffic", "nplus1", str(whole)]
        made += ["--packets", str(arguments.packets), "--connections", str(arguments.clients)]
        root = Path(__file__).resolve().parents[1]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd=root)
        whole.write_bytes(of_many_hosts(whole.read_bytes(), arguments.clients, arguments.skewed))
        yield [str(file) for file in split(whole, Path(folder) / "ring", FILES)]


def of_many_hosts(data: bytes, clients: int, skewed: bool) -> bytes:
    """The capture with a client host for each connection; `skewed`: every second connection is of the first one."""
    changed = bytearray(data)
    for at in records(data):
        source, destination = unpack_from(">HH", data, at + 16 + 34)
        port, last_byte = (destination, at + 16 + 33) if source == SERVER_PORT else (source, at + 16 + 29)
        host = port % clients
        changed[last_byte] = FIRST_HOST + (0 if skewed and host % 2 else host)
    return bytes(changed)


# --- the same, whoever does it ----------------------------------------------------------------------------------------


def same(files: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print what each engine read, held and sent, and which bytes came out."""
    size = sum(os.path.getsize(file) for file in files if os.path.exists(file))
    ways = [("threads", 1, 1, False)]
    for engine in arguments.engines.split(","):
        ways.append((engine, arguments.workers, arguments.parts, False))
        if engine != "threads":  # a thread does not die alone
            ways.append((engine, arguments.workers, arguments.parts, True))
    rows = [("workers", "wall s", "bytes read ÷ size", "bytes sent", "peak MB of a process", "SHA-256 of the JSON")]
    for engine, workers, parts, killed in ways:
        told, watch = watched(files, engine, workers, parts, killed, size)
        name = "1 worker" if workers == 1 else f"{workers} by {engine}{', one killed' if killed else ''}"
        if killed != told["died"]:
            sys.exit(f"{name}: no worker died, or one did that should not")
        read = f"{watch.read / size:.2f}" if size else "–"
        cells = (f"{told['wall_s']:.1f}", read, f"{told['sent']:,}", f"{watch.peak_mb:.0f}", told["sha256"][:16])
        rows.append((name, *cells))
    print(table(rows), end="")
    if len({row[-1] for row in rows[1:]}) > 1:
        sys.exit("they are not the same")


def watched(
    files: Sequence[str], engine: str, workers: int, parts: int, killed: bool, size: int
) -> tuple[dict[str, Any], Watch]:
    """One way in a process of its own: what that tells, and what was seen of it and its workers."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "part-of-same", "--engines", engine]
        command += ["--workers", str(workers), "--parts", str(parts)]
        command += [word for file in files for word in ("--source", file)]
        if killed:
            command += ["--mark", f"{folder}/died"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        watch = Watch(process.pid, size // 2)
        watch.start()
        out = process.communicate()[0]
        watch.ended.set()
        watch.join()
    if process.returncode:
        sys.exit(f"{engine}: ended with status {process.returncode}")
    told: dict[str, Any] = json.loads(out.splitlines()[-1])  # Ray has a line of its own
    return told, watch


def done(arguments: argparse.Namespace) -> None:
    """In that process: all parts by one engine."""
    from latpcap.scan import ScanOptions, part, reduce
    from latpcap.work.local import processors
    from latpcap.work.parts import each_part

    engine = engine_of(arguments.engines, arguments.workers, arguments.mark and Path(arguments.mark))
    asked = ScanOptions(threads=max(1, processors() // arguments.workers))
    begin = time.perf_counter()
    partials = each_part(part, arguments.source, asked, (), engine, arguments.parts, lambda line: None)
    text = reduce(partials).json()
    wall_s = time.perf_counter() - begin
    sent = sum(len(sent) for each in partials for sent in astuple(each) if isinstance(sent, bytes))
    died = bool(arguments.mark) and Path(arguments.mark).exists()
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    print(json.dumps({"wall_s": wall_s, "sent": sent, "died": died, "sha256": sha256}))


def engine_of(name: str, workers: int, mark: Path | None) -> Any:
    """Workers, of which one dies where there is a `mark` to make."""
    from latpcap.work.local import Processes, Threads
    from latpcap.work.on_dask import Dask
    from latpcap.work.on_ray import Ray

    kind: Any = {"threads": Threads, "processes": Processes, "dask": Dask, "ray": Ray}[name]
    if mark is None:
        return kind(workers)

    class Dying(kind):  # type: ignore[misc]
        def work(self, part: Callable[..., Any]) -> Callable[..., Any]:
            return partial(dies_once, str(mark), super().work(part))

    return Dying(workers)


def dies_once(mark: str, work: Callable[..., Any], files: Sequence[str], partition: Any, *more: Any) -> Any:
    """The second part dies when it has done everything, where it does so for the first time."""
    found = work(files, partition, *more)
    if partition.number == 1 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return found


class Watch(threading.Thread):
    """What a process and its children read, and the most that one of them held, of those that read captures (Linux)."""

    def __init__(self, pid: int, least: int) -> None:
        super().__init__()
        self.ended = threading.Event()
        self._pid = pid
        self._least = least
        self._seen: dict[int, tuple[int, float]] = {}

    def run(self) -> None:
        while not self.ended.wait(PROBE_S):
            for pid in family(self._pid):
                try:
                    read = Path(f"/proc/{pid}/io").read_text().split()
                    status = Path(f"/proc/{pid}/status").read_text()
                    peak_mb = int(status.split("VmHWM:")[1].split()[0]) / 1e3
                except (OSError, IndexError):
                    continue
                self._seen[pid] = int(read[read.index("rchar:") + 1]), peak_mb

    @property
    def _readers(self) -> list[tuple[int, float]]:
        """The workers; to the first process Linux adds what those read that have ended."""
        readers = {pid: each for pid, each in self._seen.items() if each[0] >= self._least}
        return [each for pid, each in readers.items() if pid != self._pid] or [*readers.values()]

    @property
    def read(self) -> int:
        return sum(read for read, _ in self._readers)

    @property
    def peak_mb(self) -> float:
        return max((peak_mb for _, peak_mb in self._readers), default=0.0)


def family(pid: int) -> Iterator[int]:
    """A process and all that it began."""
    yield pid
    try:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in children.read_text().split():
                yield from family(int(child))
    except OSError:
        return


# --- how much sooner --------------------------------------------------------------------------------------------------


def speed(files: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print what each way takes, as ratios to one worker's time in the same round."""
    one, several = ["--workers", "1"], ["--workers", str(arguments.workers)]
    ways = {
        "`analyze`": [*LATPCAP, "analyze", *files],
        "1 worker": [*LATPCAP, "scan", *files, *one],
        "1 worker that has one processor": ["taskset", "--cpu-list", "0", *LATPCAP, "scan", *files, *one],
        f"{arguments.workers} threads": [*LATPCAP, "scan", *files, *several],
        f"{arguments.workers} processes": [*LATPCAP, "scan", *files, *several, "--engine", "processes"],
    }
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    runs = in_turn({name: [*way, "--totals", "--quiet"] for name, way in ways.items()}, lambda _: arguments.rounds)
    first = runs["1 worker"]
    rows = [("", "wall s", "processor s", "times as fast as 1 worker", "peak MB of the largest process")]
    for name, run in runs.items():
        cost = run.median
        cells = (f"{cost.wall_s:.2f}", f"{cost.cpu_s:.2f}", f"{first.times(run):.2f}", f"{cost.peak_mb:.0f}")
        rows.append((name, *cells))
    print(table(rows), end="")
    if len({run.output for name, run in runs.items() if name != "`analyze`"}) > 1:
        sys.exit("they are not the same")


if __name__ == "__main__":
    main()
