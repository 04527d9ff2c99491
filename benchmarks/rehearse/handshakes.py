#!/usr/bin/env python3
"""The link's echo without latpcap: `handshakes.py HOST PORT FILE` writes the median of 20 TCP handshakes, in ms."""

import socket
import statistics
import sys
import time
from pathlib import Path

TIMES = 20


def handshake_ms(host: str, port: int) -> float:
    with socket.socket() as sock:
        begin = time.perf_counter()
        sock.connect((host, port))
        return (time.perf_counter() - begin) * 1e3


if __name__ == "__main__":
    host, port, file = sys.argv[1:]
    Path(file).write_text(str(statistics.median(handshake_ms(host, int(port)) for _ in range(TIMES))))
