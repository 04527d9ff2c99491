#!/usr/bin/env python3
"""Leave packets out of a capture at random, as a capture that could not keep up does: what it says has to hold all the same.

    python benchmarks/accuracy/thin.py LAB THINNED --part 3 --only 'nplus1$' --rtt 0.5

Copies the runs of LAB that match, without that part of their packets (in percent), and their line of the truth, to the folder THINNED; the
runs at other RTTs stay whole, as what is projected onto. `table.py THINNED` makes the table.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lab", type=Path)
    parser.add_argument("thinned", type=Path)
    parser.add_argument("--part", type=float, default=3, help="of the packets, in percent")
    parser.add_argument("--only", default=".", help="workloads that match this regular expression")
    parser.add_argument("--rtt", type=float, default=0.5, help="of the runs that lose packets, in ms")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    (arguments.thinned / "caps").mkdir(parents=True, exist_ok=True)
    chance = random.Random(arguments.seed)
    with (arguments.thinned / "truth.jsonl").open("w") as truth:
        for line in (arguments.lab / "truth.jsonl").read_text().splitlines():
            run = json.loads(line)
            if re.search(arguments.only, run["workload"]):
                part = arguments.part if run["rtt_ms"] == arguments.rtt else 0
                truth.write(json.dumps(copied(run, arguments.lab, arguments.thinned, part, chance)) + "\n")


def copied(run: dict[str, Any], lab: Path, thinned: Path, part: float, chance: random.Random) -> dict[str, Any]:
    name = f"caps/{Path(run['capture']).name.removesuffix('.gz')}"
    data = (lab / run["capture"]).read_bytes()
    with tempfile.NamedTemporaryFile(suffix=".pcapng") as whole:
        whole.write(gzip.decompress(data) if run["capture"].endswith(".gz") else data)
        whole.flush()
        subprocess.run(["editcap", whole.name, thinned / name, *lost(whole.name, part, chance)], check=True)
    return run | {"capture": name, "capture_server": None, "lost_percent": part}


def lost(path: str, part: float, chance: random.Random) -> list[str]:
    """The numbers of the packets to leave out, counted from 1; never a connection's first three, so that it stays the same job."""
    fields = ["-T", "fields", "-e", "frame.number", "-e", "tcp.flags.syn", "-e", "tcp.seq"]
    shown = subprocess.run(["tshark", "-r", path, *fields], check=True, capture_output=True, text=True).stdout
    packets = [line.split("\t") for line in shown.splitlines()]
    later = [number for number, syn, seq in packets if syn not in ("1", "True") and seq not in ("0", "1")]
    return [number for number in later if chance.random() < part / 100]


if __name__ == "__main__":
    main()
