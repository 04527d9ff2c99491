#!/usr/bin/env python3
"""Run the clients of `runs.py`, encrypted and once in clear, with the lab up, and keep each capture with its key log.

Each run leaves NAME.pcapng, NAME.keys and NAME.json (what the application counted, what the handshake agreed on) in the folder
`keys` of the lab, or the one named with --into. Needs root and the lab, installed, up and loaded; `install.sh` for the clients.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fixtures"))

from recorder import lab, pcapng
from runs import RUNS, Run, handshakes

CAPTURED = "tcp port 3306 or tcp port 5432"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="only runs whose name matches")
    parser.add_argument("--into", type=Path, default=lab.LAB / "keys", metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    lab.set_link(rtt_ms=0)
    for run in RUNS:
        if re.search(arguments.only, run.name):
            record(run, arguments.into / f"{run.name}.pcapng")


def record(run: Run, path: Path) -> None:
    keys = path.with_suffix(".keys")
    keys.unlink(missing_ok=True)
    argv, environment = run.command(keys)
    with lab.capturing(lab.CLIENT, path, CAPTURED):
        done = subprocess.run(
            lab.inside(lab.CLIENT[0], argv), env=os.environ | environment, capture_output=True, text=True
        )
    if done.returncode:
        print(f"{run.name}: failed: {done.stderr[-600:]}", flush=True)
        return
    pcapng.forget_machine(path)
    counted = json.loads(done.stdout.strip().splitlines()[-1]) | {"tls": handshakes(path)}
    path.with_suffix(".json").write_text(json.dumps(counted) + "\n")
    logged = len(keys.read_text().splitlines()) if keys.exists() else 0
    print(f"{run.name}: {counted}, {logged} lines of keys", flush=True)


if __name__ == "__main__":
    main()
