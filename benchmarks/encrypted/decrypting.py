#!/usr/bin/env python3
"""What it costs to read inside TLS: each encrypted capture of a job, with its keys, against the clear one.

    python benchmarks/encrypted/decrypting.py FOLDER/caps [--jobs pymysql_bulk,pymysql_nplus1] [--rounds 7]

FOLDER is what run.py has recorded. Processor time, the least of some rounds in which all take turns; only the ratio
means something on another machine.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import latpcap

JOBS = ("pymysql_bulk", "psycopg3_bulk", "large_row", "pymysql_nplus1", "psycopg3_nplus1", "jdbc_mariadb_nplus1")
WAYS = ("tls12", "tls13", "cbc", "chacha20", "key_updates")
# Long enough for the clock of processor time.
LEAST_S = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    print("| job | way | suite | bytes | reading, × clear | analyze, × clear |\n|---|---|---|--:|--:|--:|")
    for job in arguments.jobs.split(","):
        compare(arguments.folder, job, arguments.rounds)


def compare(folder: Path, job: str, rounds: int) -> None:
    clear = folder / f"{job}__clear__rtt1.pcapng"
    captures = {way: folder / f"{job}__{way}__rtt1.pcapng" for way in WAYS}
    captures = {way: path for way, path in captures.items() if path.exists() and path.with_suffix(".keys").exists()}
    if not clear.exists() or not captures:
        return
    captures = {"clear": clear, **captures}
    reads = least({way: reading(path) for way, path in captures.items()}, rounds)
    whole = least({way: analysis(path) for way, path in captures.items()}, rounds)
    for way, path in captures.items():
        if way != "clear":
            ratios = f"{reads[way] / reads['clear']:.2f} | {whole[way] / whole['clear']:.2f}"
            print(f"| {job} | {way} | {suite(path)} | {path.stat().st_size:,} | {ratios} |", flush=True)


def reading(path: Path) -> Callable[[], object]:
    return lambda: latpcap.read(path, keylog=keys(path))


def analysis(path: Path) -> Callable[[], object]:
    return lambda: latpcap.read(path, keylog=keys(path)).analyze()


def keys(path: Path) -> Path | None:
    log = path.with_suffix(".keys")
    return log if log.exists() and log.stat().st_size else None


def suite(path: Path) -> str:
    connections = latpcap.read(path, keylog=keys(path)).connections.to_dicts()
    return " ".join(sorted({str(connection["tls_cipher"]) for connection in connections}))


def least(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Processor seconds of each task; all take turns, so that what else the machine does concerns all alike."""
    times = {name: times_of(task) for name, task in tasks.items()}
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, task in tasks.items():
            started = time.process_time()
            for _ in range(times[name]):
                task()
            seconds[name] = min(seconds[name], (time.process_time() - started) / times[name])
    return seconds


def times_of(task: Callable[[], object]) -> int:
    started = time.process_time()
    task()
    return 1 + int(LEAST_S / max(time.process_time() - started, 1e-4))


if __name__ == "__main__":
    main()
