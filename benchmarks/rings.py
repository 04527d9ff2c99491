"""A ring of captures: what `analyze` takes of one recording that lies in more and more files.

    python benchmarks/rings.py [--packets 1500000] [--files 1,64,375,750,1500] [--compress]

Sixteen connections are open from the first packet to the last, so all of them cross every file. Each run may hold 256
files open. The figures must be those of the one file; processor time is told as a ratio to it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from struct import unpack_from

from speed.traffic.wire import PCAP_HEADER
from spending import LATPCAP

CONNECTIONS = 16
OPEN_FILES = 256


@dataclass(frozen=True)
class Run:
    """What one analysis took."""

    cpu_s: float
    peak_mb: float
    most_open: int
    read_mb: float
    result: dict[str, object]


def main() -> None:
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        whole = base / "whole.pcap"
        made = [sys.executable, "-m", "benchmarks.speed.traffic", "nplus1", str(whole)]
        made += ["--packets", str(arguments.packets), "--connections", str(CONNECTIONS)]
        root = Path(__file__).resolve().parents[1]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd=root)
        one = analysed([whole])
        print("| files | processor time | peak MB | bytes read | open files at most | same result |")
        print("|--:|--:|--:|--:|--:|---|")
        for count in map(int, arguments.files.split(",")):
            files = split(whole, base / str(count), count)
            if arguments.compress:
                subprocess.run(["zstd", "-q", "--rm", *map(str, files)], check=True)
                files = [Path(f"{file}.zst") for file in files]
            run, size_mb = analysed(files), sum(file.stat().st_size for file in files) / 1e6
            same = "yes" if figures(run.result) == figures(one.result) else "NO"
            ratios = f"{run.cpu_s / one.cpu_s:.2f} × | {run.peak_mb:.0f} | {run.read_mb / size_mb:.2f} ×"
            print(f"| {count:,} | {ratios} | {run.most_open} | {same} |", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=1_500_000)
    parser.add_argument("--files", default="1,64,375,750,1500", help="separated by commas")
    parser.add_argument("--compress", action="store_true", help="each file by zstd")
    return parser.parse_args()


def split(whole: Path, folder: Path, count: int) -> list[Path]:
    """The packets of a pcap file, so many in each of `count` files."""
    folder.mkdir()
    data = whole.read_bytes()
    places = list(records(data))
    edges = [places[len(places) * number // count] for number in range(count)] + [len(data)]
    files = [folder / f"ring_{number:05}.pcap" for number in range(1, count + 1)]
    for file, (begin, end) in zip(files, pairwise(edges), strict=True):
        file.write_bytes(PCAP_HEADER + data[begin:end])
    return files


def records(data: bytes) -> Iterator[int]:
    at = len(PCAP_HEADER)
    while at < len(data):
        yield at
        at += 16 + int(unpack_from("<I", data, at + 8)[0])


def analysed(files: list[Path]) -> Run:
    """Run `latpcap analyze` over the files, and look meanwhile at what it holds open."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))

    with tempfile.TemporaryFile() as output:
        command = [*LATPCAP, "analyze", "--json", "--quiet", *map(str, files)]
        process = subprocess.Popen(command, stdout=output, preexec_fn=limit)
        watch = Watch(process.pid)
        watch.start()
        _, status, used = os.wait4(process.pid, 0)
        watch.ended.set()
        watch.join()
        if status:
            sys.exit(f"latpcap ended with status {os.waitstatus_to_exitcode(status)}")
        output.seek(0)
        result = json.load(output)
    return Run(used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3, watch.most_open, watch.read_mb, result)


class Watch(threading.Thread):
    """The open files of a process, and the bytes that it has read (Linux)."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.process = Path(f"/proc/{pid}")
        self.ended = threading.Event()
        self.most_open, self.read_mb = 0, 0.0

    def run(self) -> None:
        while not self.ended.wait(0.01):
            try:
                self.most_open = max(self.most_open, len(list((self.process / "fd").iterdir())))
                read = (self.process / "io").read_text().split()
                self.read_mb = int(read[read.index("rchar:") + 1]) / 1e6
            except OSError:
                return


def figures(result: dict[str, object]) -> dict[str, object]:
    """All but what is said of the files."""
    return {key: value for key, value in result.items() if key not in ("captures", "sign_off")}


if __name__ == "__main__":
    main()
