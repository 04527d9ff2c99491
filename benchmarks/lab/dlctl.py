#!/usr/bin/env python3
"""Set the delay link: `dlctl.py rtt=5000 loss=2`, or show it: `dlctl.py`.

Keys: rtt, jitter, spin (µs) · rate (bit/s) · loss (%) · queue (bytes) · reset (clears the counters).
"""

import json
import os
import socket
import sys
import tempfile
from pathlib import Path


def state() -> Path:
    """Where the lab keeps what it makes: `LATPCAP_LAB`, as the shell scripts have it."""
    return Path(os.environ.get("LATPCAP_LAB") or Path(__file__).resolve().parent / "state")


def control(message: str) -> dict:
    """Send one control message to the link and return its settings and counters; `ValueError` where it refuses."""
    run = state() / "run"
    with tempfile.TemporaryDirectory(dir=run) as own, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"{own}/reply")
        sock.settimeout(3)
        sock.sendto(message.encode(), str(run / "dl.sock"))
        answer = json.loads(sock.recv(4096))
    if "error" in answer:
        raise ValueError(answer["error"])
    return answer


if __name__ == "__main__":
    try:
        print(json.dumps(control(" ".join(sys.argv[1:]) or "stats")))
    except (ValueError, OSError) as error:
        sys.exit(f"the link cannot be set: {error}")
